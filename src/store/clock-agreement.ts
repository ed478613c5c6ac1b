// store: since when the clocks behind the stored times agree. In and out: one row, for the whole database.
import { canonicalJson } from '../domain/canonical.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

const KEY = 'clock_agreement';

type Later = 'seenMs' | 'jumpedMs' | 'setBackMs';
type Stored = Omit<ClockAgreement, Later> & Partial<Pick<ClockAgreement, Later>>;

export function* readClockAgreement(db: Db): Work<ClockAgreement | undefined> {
  const row = yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY);
  if (row === undefined) return undefined;
  const kept = storedJson<Stored>(row.value);
  // Written by an earlier version, which looked back only to its last jump or boot.
  return { seenMs: kept.sinceMs, jumpedMs: kept.sinceMs, setBackMs: kept.sinceMs, ...kept };
}

export function* saveClockAgreement(db: Db, agreement: ClockAgreement): Work<void> {
  yield* db.upsert('meta', { key: KEY, value: canonicalJson(agreement) }, 'key');
}
