// check: a person approved these exact facts: if a record field changed since, the refusal names it. In: the facts and the changes as
// approved, and the target as just read. Windows, `age` and joined records are evidence, and may move.
import { canonicalJson } from '../../domain/canonical.ts';
import { type Check, skip, type TargetFacts } from '../../domain/check.ts';
import type { Drift, FieldChange } from '../../domain/drift.ts';
import { own } from '../../domain/facts.ts';
import { changedFacts, changedFields, changeText } from './changed-facts.ts';

export const changedSince: Check = {
  when: 'a record field, or the document that would be changed, differs from what was approved',
  ask(facts) {
    if (!facts.approved || facts.released) return undefined;
    const changed = [...facts.basis.flatMap(changedFacts), ...changedDocument(facts).map(changeText)];
    return changed.length === 0 ? undefined : skip('drifted', `changed since the plan was made: ${changed.join(', ')}`);
  },
};

/** What the check names, for people who have not answered yet. Two rules on one field name it once. */
export function changesSince(facts: TargetFacts): Pick<Drift, 'changed' | 'gone'> {
  const all = [...facts.basis.flatMap(changedFields), ...changedDocument(facts)];
  const changed = new Map(all.map((one) => [`${one.subject} ${one.field} ${canonicalJson(one.then)}`, one]));
  // An action without a call reads no record: none is missing.
  const missing = facts.traits.changesFleet ? facts.basis.filter(({ record }) => !record) : [];
  const gone = missing.map(({ subjectId }) => subjectId);
  return { changed: [...changed.values()], gone: [...new Set(gone)] };
}

/** The change itself is part of the approval: from another value, or to another document, it is a different change. */
function changedDocument({ traits, target, effect, settings = {}, fresh }: TargetFacts): FieldChange[] {
  if (!traits.changes || effect?.changes === undefined) return [];
  const record = fresh?.records[0];
  const now = traits.changes(record && own(record, 'ServiceSpec'), settings) ?? [];
  const then = new Map(effect.changes.map((change) => [change.path, change]));
  const paths = new Set([...then.keys(), ...now.map(({ path }) => path)]);
  return [...paths].flatMap((path) => {
    const [before, after] = [then.get(path), now.find((change) => change.path === path)];
    if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
    // A field that needs no change already has the value that it would be set to.
    const was = (before ? before.from : after?.to) ?? null;
    return [{ subject: target, field: path, then: was, now: (after ? after.from : before?.to) ?? null }];
  });
}
