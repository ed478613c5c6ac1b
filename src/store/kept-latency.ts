// store: the latency of the API as the last attempt or outcome found it. In and out: one row, for the whole database.
import { canonicalJson } from '../domain/canonical.ts';
import type { KeptLatency } from '../domain/quiet-period.ts';
import type { Db } from './database.ts';
import { storedJson } from './stored-json.ts';

const KEY = 'latency';

export function readKeptLatency(db: Db): KeptLatency | undefined {
  const row = db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY);
  return row && storedJson<KeptLatency>(row.value);
}

export function keepLatency(db: Db, latency: KeptLatency): void {
  db.upsert('meta', { key: KEY, value: canonicalJson(latency) }, 'key');
}
