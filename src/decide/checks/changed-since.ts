// check: a person approved these exact facts: if a record field changed since, the refusal names it. In: the facts and the changes as
// approved, and the target as just read. Windows, `age` and joined records are evidence, and may move.
import { canonicalJson } from '../../domain/canonical.ts';
import { type Check, skip, type TargetFacts } from '../../domain/check.ts';
import { own } from '../../domain/facts.ts';
import { changedFacts } from './changed-facts.ts';

export const changedSince: Check = {
  when: 'a record field, or the document that would be changed, differs from what was approved',
  ask(facts) {
    if (!facts.approved || facts.released) return undefined;
    const changed = [...facts.basis.flatMap(changedFacts), ...otherChanges(facts)];
    return changed.length === 0 ? undefined : skip('drifted', `changed since it was approved: ${changed.join(', ')}`);
  },
};

/** The change itself is part of the approval: from another value, or to another document, it is a different change. */
function otherChanges({ traits, effect, settings = {}, fresh }: TargetFacts): string[] {
  if (!traits.changes || effect?.changes === undefined) return [];
  const record = fresh?.records[0];
  const now = traits.changes(record && own(record, 'ServiceSpec'), settings) ?? [];
  const then = new Map(effect.changes.map((change) => [change.path, change]));
  const paths = new Set([...then.keys(), ...now.map(({ path }) => path)]);
  return [...paths].flatMap((path) => {
    const [before, after] = [then.get(path), now.find((change) => change.path === path)];
    if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
    // A field that needs no change already has the value that it would be set to.
    const was = canonicalJson((before ? before.from : after?.to) ?? null);
    return [`${path} was ${was} and is ${canonicalJson((after ? after.from : before?.to) ?? null)}`];
  });
}
