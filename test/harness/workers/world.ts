// harness: a few organizations in one PostgreSQL, each with a console of its own, and a way to that database which can be cut for each place of a
// worker. In: how many. Out: a world for processes; `close` takes it away.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addApiKeys, type Console, startConsole } from '../../../src/console/console.ts';
import type { PostgresDatabase } from '../../../src/domain/database.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { COMPILED } from '../../support/built.ts';
import { silentLog } from '../../support/organization.ts';
import { type Cluster, migratedDatabase, startCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { addCast, RULE, type Troubles } from '../troubles.ts';
import { beginFenceLog, SETTINGS_OF_LOG } from './fence-log.ts';

export const QUIET_MS = 1_500;
/** Enough that there is something to do at any time. */
const SERIALS = Array.from({ length: 24 }, (_, index) => `CHAOS-${index + 1}`);
/** As the consoles know them all. */
export const PERSON = 'person';

export interface ChaosOrganization {
  id: string;
  console: Console;
  consoleFile: string;
  troubles: Troubles;
}

export interface WorkersWorld {
  folder: string;
  cluster: Cluster;
  database: string;
  organizations: ChaosOrganization[];
  /** One for each place of a worker. */
  proxies: TcpProxy[];
  /** The settings of persons' commands. */
  person: Record<string, string>;
  close(): Promise<void>;
}

export async function openWorld(places: number, count: number): Promise<WorkersWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-workers-'));
  const cluster = await startCluster({ settings: SETTINGS_OF_LOG });
  const database = await migratedDatabase(cluster);
  await beginFenceLog(cluster, database);
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'ban.yaml'), RULE);
  const organizations: ChaosOrganization[] = [];
  for (let each = 1; each <= count; each += 1) organizations.push(await addOrganization(folder, `org-${each}`, each));
  const proxies: TcpProxy[] = [];
  for (let place = 0; place < places; place += 1) proxies.push(await TcpProxy.start(cluster.port));
  const parts = { folder, cluster, database, organizations, proxies };
  return {
    ...parts,
    person: settingsFor(parts, PERSON),
    close: async () => {
      for (const proxy of proxies) await proxy.close();
      await cluster.close();
      for (const { console } of organizations) await console.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function addOrganization(folder: string, id: string, seed: number): Promise<ChaosOrganization> {
  const consoleFile = join(folder, `${id}.console.db`);
  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: consoleFile,
    seed: { seed, devices: 40, users: 20, services: 3, events: 20, compromised: 0 },
    faults: true,
    clock: systemClock,
    log: silentLog,
  });
  return { id, console, consoleFile, troubles: addCast(console, SERIALS) };
}

/** As a reader of the test sees it, past all proxies. */
export function databaseOf({ cluster, database, folder }: WorkersWorld, organization: string): PostgresDatabase {
  const beside = join(folder, 'state', organization, 'trustward');
  return { kind: 'postgres', url: cluster.url(database), password: undefined, organization, beside };
}

/**
 * The settings of a process. INVARIANT: each process has API keys of its own, called after it: so a console notes who wrote a request.
 */
export function settingsFor(
  world: Omit<WorkersWorld, 'person' | 'close'>,
  name: string,
  port = world.cluster.port,
): Record<string, string> {
  const folder = join(world.folder, name);
  mkdirSync(join(folder, 'secrets'), { recursive: true });
  for (const { id, console, consoleFile } of world.organizations) {
    const [key] = addApiKeys(consoleFile, [{ name, scope: 'Admin' }], systemClock);
    writeFileSync(join(folder, 'secrets', `${id}.key`), `${key}\n`);
    writeFileSync(join(folder, `${id}.yaml`), organizationFile(id, console.address));
  }
  return {
    TRUSTWARD_ORGANIZATIONS: folder,
    TRUSTWARD_DB: world.cluster.url(world.database).replace(`:${world.cluster.port}/`, `:${port}/`),
    TRUSTWARD_STATE: join(world.folder, 'state'),
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_LOG_LEVEL: 'warn',
    NODE_COMPILE_CACHE: COMPILED,
  };
}

function organizationFile(id: string, url: string): string {
  return `id: ${id}
name: The ${id}
api:
  url: ${url}
  api_key_file: secrets/${id}.key
rules: ../rules
mode: enforce
schedule: '*/4 * * * * *'
watch: 1s
act_concurrency: 8
history: 0d
ceilings:
  run: { max: 10000, percent: 100 }
  day: { max: 100000, percent: 100 }
timing:
  quiet_period: ${QUIET_MS}ms
  request_timeout: 1s
`;
}
