// checks: record fields of a matched subject that differ from those that an intent rests on. In: one basis with its record as just
// read. Out: each field with both values, for people. No check of its own: two name what changed.
import { canonicalJson } from '../../domain/canonical.ts';
import type { BasisFacts } from '../../domain/check.ts';
import { type Fact, type Facts, own } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';

export function changedFacts({ subjectId, facts = {}, record }: BasisFacts): string[] {
  if (!record) return [`${subjectId} is gone`];
  return Object.entries(facts).flatMap(([path, then]) => {
    if (!isRecordPath(path)) return [];
    // As facts are told now, both: an older version may have kept a secret in it.
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
