// test: an installation on a real PostgreSQL: two organizations with a console each, and processes of the program. In: what to start. Out: their
// addresses, ended after the tests.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Console, startConsole } from '../../../src/console/console.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BAN_COMPROMISED, silentLog } from '../../support/organization.ts';
import { type Cluster, migratedDatabase, sharedCluster } from '../../support/postgres.ts';
import { type Started, startTrustward } from '../../support/trustward.ts';

export const PROVIDER = 'a-token-of-all-organizations';

export interface Installation {
  /** No answer names it. */
  root: string;
  env: Record<string, string>;
  consoles: Record<string, Console>;
  url: string;
  file(id: string): string;
  write(id: string, mode?: string, more?: { rules?: string; key?: string; others?: string }): void;
  /** As a superuser. */
  sql(text: string): ReturnType<Cluster['query']>;
  /** A path in its folder. */
  path(name: string): string;
  /** Returns its address. */
  serve(): Promise<string>;
  work(...args: string[]): Promise<Started>;
  close(): Promise<void>;
}

export async function install(ids: readonly string[], others: Record<string, string> = {}): Promise<Installation> {
  const root = mkdtempSync(join(tmpdir(), 'trustward-endpoint-'));
  for (const name of ['organizations', 'rules', 'state']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'rules/ban.yaml'), BAN_COMPROMISED);
  const cluster = await sharedCluster();
  const database = await migratedDatabase(cluster);
  const consoles: Record<string, Console> = {};
  const file = (id: string) => join(root, 'organizations', `${id}.yaml`);
  const write: Installation['write'] = (
    id,
    mode = 'approve',
    { rules = 'rules', key = `${id}.key`, others = '' } = {},
  ) => {
    const api = `api:\n  url: ${consoles[id]?.address}\n  api_key_file: ${key}\n`;
    writeFileSync(file(id), `id: ${id}\nname: The ${id}\nmode: ${mode}\n${api}rules: [../${rules}]\n${others}`);
  };
  for (const id of ids) {
    const console = await startConsole({
      listen: { host: '127.0.0.1', port: 0 },
      dbFile: join(root, `${id}.db`),
      seed: { seed: 7, devices: 20, users: 12, services: 2, events: 5, compromised: 2 },
      clock: systemClock,
      log: silentLog,
    });
    consoles[id] = console;
    writeFileSync(join(root, 'organizations', `${id}.key`), `${console.credentials?.apiKey}\n`);
    write(id);
  }
  const env = {
    TRUSTWARD_DB: cluster.url(database),
    TRUSTWARD_STATE: join(root, 'state'),
    TRUSTWARD_ORGANIZATIONS: join(root, 'organizations'),
    TRUSTWARD_TOKEN: PROVIDER,
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '0s',
    TRUSTWARD_QUIET_PERIOD: '0s',
    TRUSTWARD_HISTORY: '0d',
    TRUSTWARD_LOG_LEVEL: 'warn',
    ...others,
  };
  const started: Started[] = [];
  const start = async (args: string[], says: string) => {
    const one = startTrustward(args, env);
    started.push(one);
    await one.says(says);
    return one;
  };
  return {
    root,
    env,
    consoles,
    url: cluster.url(database),
    file,
    write,
    sql: (text) => cluster.query(text, database),
    path: (name) => join(root, name),
    serve: async () => {
      const one = await start(['serve', '--listen', '127.0.0.1:0'], 'Ctrl-C ends this.');
      return /HTTP endpoint\s+(\S+)/.exec(one.said().out)?.[1] as string;
    },
    work: (...args) => start(['worker', ...args], 'Ctrl-C ends it.'),
    close: async () => {
      for (const { child } of started) child.kill('SIGTERM');
      await Promise.all(started.map(({ ended }) => ended));
      for (const console of Object.values(consoles)) await console.close();
      await cluster.dropDatabase(database);
      rmSync(root, { recursive: true, force: true });
    },
  };
}
