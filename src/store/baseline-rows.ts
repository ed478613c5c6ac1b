// store: baselines in rows. In: a trusted reading with those of the days before it. Out: one row for each source, and the same again. The earlier
// readings are in the column of the values, under a name that no fact has: what a version that does not know them writes back is read as none.
import { canonicalJson } from '../domain/canonical.ts';
import type { Baseline, KeptReading } from '../domain/snapshot.ts';
import type { Source } from '../domain/subjects.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

const EARLIER = '…earlier';

export function* saveBaseline(db: Db, { source, takenAt, count, values, earlier = [] }: Baseline): Work<void> {
  const kept = earlier.length === 0 ? values : { ...values, [EARLIER]: { readings: earlier } };
  const row = { source, taken_at: takenAt, count, fact_values: canonicalJson(kept) };
  yield* db.upsert('baselines', row, 'source');
}

export function* readBaseline(db: Db, source: Source): Work<Baseline | undefined> {
  const row = yield* db.get('SELECT * FROM baselines WHERE source = ?', source);
  if (!row) return undefined;
  const { [EARLIER]: kept, ...values } = storedJson<Record<string, unknown>>(row.fact_values);
  const readings = (kept as { readings?: unknown } | undefined)?.readings;
  const earlier = Array.isArray(readings) ? (readings as KeptReading[]) : [];
  return {
    source,
    takenAt: row.taken_at as number,
    count: row.count as number,
    values: values as Baseline['values'],
    ...(earlier.length > 0 && { earlier }),
  };
}
