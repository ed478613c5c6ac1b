// checks: record fields of a matched subject that have changed since an intent was decided. In: one basis with its record as just
// read. Out: each field with both values, for people. Not a check itself: two checks use it to name what changed.
import { canonicalJson } from '../../domain/canonical.ts';
import type { BasisFacts } from '../../domain/check.ts';
import type { FieldChange } from '../../domain/drift.ts';
import { type Fact, type Facts, own } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';

export function changedFacts(basis: BasisFacts): string[] {
  return basis.record ? changedFields(basis).map(changeText) : [`${basis.subjectId} is gone`];
}

/** None for a record that is gone. */
export function changedFields({ subjectId, facts = {}, record }: BasisFacts): FieldChange[] {
  if (!record) return [];
  return Object.entries(facts).flatMap(([field, before]) => {
    if (!isRecordPath(field)) return [];
    // Both values are redacted by the current rules: an older version may have stored a secret.
    const now = redacted(factAt(record, field) ?? null, field);
    const then = redacted(before ?? null, field);
    return canonicalJson(now) === canonicalJson(then) ? [] : [{ subject: subjectId, field, then, now }];
  });
}

export function changeText({ field, then, now }: FieldChange): string {
  return `${field} was ${canonicalJson(then)} and is ${canonicalJson(now)}`;
}

/** Facts of events, `age` and joined records are evidence; the record's own fields are plain paths. */
function isRecordPath(path: string): boolean {
  return /^[A-Za-z_][\w.]*$/.test(path);
}

function factAt(record: Facts, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}
