// checks: whether the rule still stands: judged, on, unchanged, over trusted data, and still proposing what it did; and whether its facts changed.
import { canonicalJson } from '../../../base/json.ts';
import {
  type BasisFacts,
  type Check,
  type CheckName,
  type Drift,
  type FieldChange,
  hold,
  type Refusal,
  skip,
  type TargetFacts,
} from '../../../domain/check.ts';
import { type Fact, type Facts, own } from '../../../domain/facts.ts';
import { allowsCall, leastMode } from '../../../domain/rule.ts';
import { redacted } from '../../../domain/secrets.ts';

// Record fields of a matched subject that have changed since an intent was decided.

function changedFacts(basis: BasisFacts): string[] {
  if (basis.isPassedOn) return [`it is no longer a device of ${basis.subjectId}`];
  return basis.record ? changedFields(basis).map(changeText) : [`${basis.subjectId} is gone`];
}

/** None for a record that is gone. */
function changedFields({ subjectId, facts = {}, record }: BasisFacts): FieldChange[] {
  if (!record) return [];
  return Object.entries(facts).flatMap(([field, before]) => {
    if (!isRecordPath(field)) return [];
    // Both values are redacted by the current rules: an older version may have stored a secret.
    const now = redacted(factAt(record, field) ?? null, field);
    const then = redacted(before ?? null, field);
    return canonicalJson(now) === canonicalJson(then) ? [] : [{ subject: subjectId, field, then, now }];
  });
}

function changeText({ field, then, now }: FieldChange): string {
  return `${field} was ${canonicalJson(then)} and is ${canonicalJson(now)}`;
}

/** Facts of events, `age` and joined records are evidence; the record's own fields are plain paths. */
function isRecordPath(path: string): boolean {
  return /^[A-Za-z_][\w.]*$/.test(path);
}

function factAt(record: Facts, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}

export const RULES = {
  'changed-since': {
    when: 'a record field, or the document that would be changed, differs from what was approved',
    ask(facts) {
      if (!facts.approved || facts.released) return undefined;
      const changed = [...facts.basis.flatMap(changedFacts), ...changedDocument(facts).map(changeText)];
      return changed.length === 0
        ? undefined
        : skip('drifted', `changed since the plan was made: ${changed.join(', ')}`);
    },
  },
  'not-proposed': {
    when: 'its rules no longer give the verdict that it is based on',
    ask({ released, approved, isDoubt, undo, basis }) {
      if (released || (approved && !isDoubt)) return undefined;
      const wanted = undo ? 'no_match' : 'match';
      const still = basis.filter(({ verdict }) => verdict === wanted).length;
      if (undo || isDoubt ? still === basis.length : still > 0) return undefined;
      const changed = basis.flatMap(changedFacts).join(', ');
      return skip('drifted', `changed since it was decided: ${changed || 'the rule no longer gives that verdict'}`);
    },
  },
  'rule-off': {
    when: 'one of its rules is missing or off, or has a lower mode now',
    ask({ released, approved = false, basis, mode = 'off' }) {
      if (released) return undefined;
      const lesser = basis.find(({ ruleNow }) => !allowsCall(leastMode(mode, ruleNow?.mode ?? 'off'), approved));
      if (!lesser) return undefined;
      const now = lesser.ruleNow ? `has mode ${lesser.ruleNow.mode} now` : 'is missing or off';
      return skip('drifted', `rule ${lesser.rule} no longer allows it: it ${now}`);
    },
  },
  'rule-changed': {
    when: 'one of its rules was changed',
    ask({ released, basis }) {
      const changed = released ? undefined : basis.find(({ ruleNow, ruleHash }) => ruleNow?.hash !== ruleHash);
      if (!changed) return undefined;
      return skip('drifted', `rule ${changed.rule} was changed meanwhile: the next run judges by its new text`);
    },
  },
  'not-judged': {
    when: 'the run does not judge one of its rules, or cannot trust a source of that rule',
    ask({ basis }) {
      const other = basis.find(({ canJudge }) => canJudge === false);
      return other && hold('untrusted_source', `this run does not judge rule ${other.rule}`);
    },
  },
  'untrusted-source': {
    when: 'a source that the rule reads was incomplete, changed too much, or could not be trusted for another reason',
    ask({ basis }) {
      const text = basis.find(({ untrusted }) => untrusted !== undefined)?.untrusted;
      return text === undefined ? undefined : skip('untrusted_source', `nothing is done on untrusted data: ${text}`);
    },
  },
} satisfies { readonly [name in CheckName]?: Check };

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

export function lastRunSaid({ basis }: TargetFacts, reason: Refusal['reason']): Refusal | undefined {
  const said = basis.find((one) => one.said?.reason === reason)?.said;
  if (!said) return undefined;
  const decision = said.decision === 'hold' ? 'hold' : 'skip';
  const did = decision === 'hold' ? 'held' : 'skipped';
  return { decision, reason, reasonText: `the last run ${did} it (${reason}): ${said.reasonText}` };
}
