// checks: record fields of a matched subject that have changed since an intent was decided. In: one basis with its record as just
// read. Out: each field with both values, for people. Not a check itself: two checks use it to name what changed.
import { canonicalJson } from '../../domain/canonical.ts';
import type { BasisFacts } from '../../domain/check.ts';
import { type Fact, type Facts, own } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';

export function changedFacts({ subjectId, facts = {}, record }: BasisFacts): string[] {
  if (!record) return [`${subjectId} is gone`];
  return Object.entries(facts).flatMap(([path, then]) => {
    if (!isRecordPath(path)) return [];
    // Both values are redacted by the current rules: an older version may have stored a secret.
    const now = redacted(factAt(record, path) ?? null, path);
    const before = redacted(then ?? null, path);
    if (canonicalJson(now) === canonicalJson(before)) return [];
    return [`${path} was ${canonicalJson(before)} and is ${canonicalJson(now)}`];
  });
}

/** Facts of events, `age` and joined records are evidence; the record's own fields are plain paths. */
function isRecordPath(path: string): boolean {
  return /^[A-Za-z_][\w.]*$/.test(path);
}

function factAt(record: Facts, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}
