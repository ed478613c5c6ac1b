// store: since when the clocks agree by which the stored times were written. In and out: one row, for the whole database.
import { canonicalJson } from '../domain/canonical.ts';
import type { ClockAgreement } from '../domain/steady-time.ts';
import type { Db } from './database.ts';
import { storedJson } from './stored-json.ts';

const KEY = 'clock_agreement';

export function readClockAgreement(db: Db): ClockAgreement | undefined {
  const row = db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY);
  return row && storedJson<ClockAgreement>(row.value);
}

export function saveClockAgreement(db: Db, agreement: ClockAgreement): void {
  db.upsert('meta', { key: KEY, value: canonicalJson(agreement) }, 'key');
}
