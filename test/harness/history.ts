// harness: the events of a simulation: in order for a person who examines a failing seed, and as a digest to compare.
import { createHash } from 'node:crypto';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SimPlatform } from './platform.ts';
import { START_MS } from './sim-clock.ts';
import type { World } from './world.ts';

interface Happened {
  db: SqliteDb;
  world: World;
  platform: SimPlatform;
}

export function historyOf({ db, world, platform }: Happened): string[] {
  const entries = db.all<{ at: number; bytes: string }>('SELECT * FROM audit ORDER BY seq');
  const effects = world.effects.map(({ atMs, ...effect }) => `${atMs - START_MS} effect ${JSON.stringify(effect)}`);
  const requests = platform.requests.map(
    ({ atMs, ...request }) => `${atMs - START_MS} request ${JSON.stringify(request)}`,
  );
  return [...entries.map(({ at, bytes }) => `${at - START_MS} ${bytes}`), ...effects, ...requests];
}

/** SHA-256 over all effects and audited bytes. */
export function digestOf({ db, world }: Happened): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(world.effects));
  for (const { bytes } of db.all<{ bytes: string }>('SELECT bytes FROM audit ORDER BY seq')) hash.update(bytes);
  return hash.digest('hex');
}
