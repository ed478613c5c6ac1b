// console seed: a whole made-up organization.
// In: a seed and counts. Out: the same organization each time for the same seed and start time, in one transaction.
import type { ConsoleStore } from '../store/store.ts';
import { setMeta } from '../store/store.ts';
import { seedFleet } from './fleet.ts';
import { seedHistory } from './history.ts';
import { seedPeople } from './people.ts';
import { choicesFrom } from './random.ts';
import { seedServices } from './services.ts';

/** Omitted counts are those of a small company: 400 devices, 250 users, 12 services, 2,000 events. */
export interface SeedOptions {
  seed: number;
  devices?: number | undefined;
  users?: number | undefined;
  services?: number | undefined;
  events?: number | undefined;
  /** Exactly this many devices are compromised; half a percent by default. */
  compromised?: number | undefined;
}

/** Above this many rows, indexes are built at the end: sorting once is cheaper than finding each row's place. */
const BULK_MIN = 20_000;

export function seedOrganization(store: ConsoleStore, options: SeedOptions): void {
  const devices = options.devices ?? 400;
  const users = options.users ?? (options.devices === undefined ? 250 : Math.ceil(devices * 0.625));
  store.sql.atomically(() => {
    const indexes = devices + users >= BULK_MIN ? dropIndexes(store) : [];
    const people = seedPeople(store, choicesFrom(options.seed), users);
    const compromised = Math.min(devices, options.compromised ?? Math.round(devices * 0.005));
    seedFleet(store, choicesFrom(options.seed + 1), { seed: options.seed, devices, compromised }, people);
    for (const text of indexes) store.sql.db.exec(text);
    seedServices(store, choicesFrom(options.seed + 2), options.services ?? 12);
    // Creating the services is not part of their history.
    store.sql.run('DELETE FROM event');
    store.sql.run('DELETE FROM effect');
    seedHistory(store, choicesFrom(options.seed + 3), options.events ?? 2_000);
    setMeta(store.sql, 'seed', String(options.seed));
  });
}

export function isEmpty(store: ConsoleStore): boolean {
  return (
    store.sql.value<number>('SELECT sum(n) FROM tally') === 0 &&
    store.sql.value<number>('SELECT count(*) FROM service') === 0
  );
}

function dropIndexes(store: ConsoleStore): string[] {
  const rows = store.sql.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('device', 'enduser', 'mapping')",
  );
  for (const { name } of rows) store.sql.db.exec(`DROP INDEX ${name}`);
  return rows.map((row) => row.sql);
}
