// support: one PostgreSQL for all test files of a run, and databases for each of them. In: nothing. Out: an empty database, gone after the
// test. The first file that asks starts the cluster; it ends with the run.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { migratePostgres } from '../../src/store/postgres/organization.ts';
import { Cluster, startCluster } from './postgres-cluster.ts';

export { Cluster, hasNoPostgres, NEEDS_POSTGRES, OWNER, startCluster } from './postgres-cluster.ts';

/** All workers of a run have the same parent. */
const RUN = process.ppid;
const FOLDER = join(tmpdir(), `trustward-postgres-of-${RUN}`);
const STARTING_MS = 120_000;

let known: Promise<Cluster> | undefined;

/** INVARIANT: nobody stops it, for other files work on it. Its commits do not wait for the disk. */
export function sharedCluster(): Promise<Cluster> {
  known ??= startOrFind();
  return known;
}

const TEMPLATE = 'trustward_tables';

/** A database with this version's tables, made from a template. */
export async function migratedDatabase(cluster: Cluster): Promise<string> {
  const { rowCount } = await cluster.query(`SELECT 1 FROM pg_database WHERE datname = '${TEMPLATE}'`);
  if (rowCount === 0) await makeTemplate(cluster);
  return cluster.createDatabase(TEMPLATE);
}

/** Another worker may make it at the same time: the first one stays. */
async function makeTemplate(cluster: Cluster): Promise<void> {
  const name = await cluster.createDatabase();
  const client = new pg.Client({ connectionString: cluster.url(name) });
  await client.connect();
  try {
    await migratePostgres(client, name);
  } finally {
    await client.end();
  }
  await cluster.query(`ALTER DATABASE ${name} RENAME TO ${TEMPLATE}`).catch(() => cluster.dropDatabase(name));
}

/** Two workers may ask at the same time: the one that makes the folder starts the cluster. */
async function startOrFind(): Promise<Cluster> {
  const ready = join(FOLDER, 'ready');
  if (isNew(FOLDER)) {
    const cluster = await startCluster({ isDurable: false, ownerPid: RUN, folder: FOLDER });
    writeFileSync(`${ready}.new`, String(cluster.port));
    renameSync(`${ready}.new`, ready);
    return cluster;
  }
  for (const until = Date.now() + STARTING_MS; Date.now() < until; await sleep(50)) {
    const port = portIn(ready);
    if (port !== undefined) return new Cluster(FOLDER, port);
  }
  throw new Error(`no PostgreSQL was started in ${FOLDER}`);
}

function isNew(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function portIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
