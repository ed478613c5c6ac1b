// store: the latency of the API as the last attempt or outcome found it. In and out: one row, for the whole database.
import { canonicalJson } from '../domain/canonical.ts';
import type { KeptLatency } from '../domain/quiet-period.ts';
import type { Db, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

const KEY = 'latency';

export function* readKeptLatency(db: Db): Work<KeptLatency | undefined> {
  const row = yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY);
  return row && storedJson<KeptLatency>(row.value);
}

export function* keepLatency(db: Db, latency: KeptLatency): Work<void> {
  yield* db.upsert('meta', { key: KEY, value: canonicalJson(latency) }, 'key');
}
