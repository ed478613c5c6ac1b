// console live: moves the times of a database that lay still up to the present.
// In: the time at which life last moved. Out: logins, MDM reports and scores as fresh as they were then.
import { type ConsoleStore, readMeta, setMeta } from '../store/store.ts';

const STILL_MS_MIN = 10 * 60_000;

export function catchUpWithTime(store: ConsoleStore): void {
  const nowMs = Math.floor(store.clock.nowMs());
  const still = nowMs - Number(readMeta(store.sql, 'alive_at_ms') ?? nowMs);
  setMeta(store.sql, 'alive_at_ms', String(nowMs));
  if (still < STILL_MS_MIN) return;
  const shift = BigInt(still) * 1_000_000n;
  store.sql.atomically(() => {
    store.sql.run(
      `UPDATE device SET last_login = last_login + ?, trust_updated = trust_updated + ?,
        mdm_timestamp = iif(mdm_timestamp = 0, 0, mdm_timestamp + ?)`,
      shift,
      shift,
      shift,
    );
    store.sql.run('UPDATE enduser SET last_login = last_login + ?, trust_updated = trust_updated + ?', shift, shift);
  });
}
