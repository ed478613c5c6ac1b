// support: a real PostgreSQL cluster in a temporary folder, on loopback and a free port. In: settings. Out: a cluster that a test stops,
// kills and starts again. A process beside it watches its owner and takes it away, however the owner ends.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

/** Debian keeps the programs of the server outside of PATH. */
const DEBIAN = '/usr/lib/postgresql';
const places = [
  ...(process.env.PATH ?? '').split(delimiter),
  ...(existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : []),
];
const bin = places.find((path) => ['initdb', 'pg_ctl'].every((name) => existsSync(join(path, name))));

/** For `describe.skipIf`. */
export const hasNoPostgres = bin === undefined;
/** The end of a test's title, so that a skipped one says why. */
export const NEEDS_POSTGRES = hasNoPostgres ? ' (SKIPPED: no PostgreSQL is installed)' : '';

/** The role that owns the databases of tests: it may make roles, and nothing else that a superuser may. */
export const OWNER = 'trustward';
export const SUPERUSER = 'postgres';

export interface ClusterOptions {
  /** Whether a commit waits for the disk. Off is faster, and for tests that lose no power. */
  isDurable?: boolean;
  /** By the names of postgresql.conf. */
  settings?: Readonly<Record<string, string | number>>;
  /** The cluster is taken away when this process ends. */
  ownerPid?: number;
  /** A new, empty folder that goes with it. */
  folder?: string;
}

export class Cluster {
  constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  url(database: string, role = OWNER): string {
    return `postgres://${role}@127.0.0.1:${this.port}/${database}`;
  }

  async start(): Promise<void> {
    // After a kill, the old server may not be gone yet, and its children that still end hold the shared memory.
    for (let tries = 1; ; tries += 1) {
      try {
        await this.control('start', '-w', '-t', '60', '-l', join(this.folder, 'log'));
        return;
      } catch (error) {
        if (tries === 100 || !IS_ENDING.test(this.lastLog()))
          throw new Error(`${(error as Error).message}\n${this.lastLog()}`, { cause: error });
        await sleep(100);
      }
    }
  }

  /** `smart` waits for clients, `fast` ends their sessions, `immediate` is a crash that the next start repairs. */
  async stop(mode: 'smart' | 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.control('stop', '-w', '-t', '60', '-m', mode);
  }

  /** Ends the server as a machine does that loses its power, but for what the disk had. */
  kill(): void {
    process.kill(this.pid(), 'SIGKILL');
  }

  pid(): number {
    return Number(readFileSync(join(this.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  lastLog(): string {
    const file = join(this.folder, 'log');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-10).join('\n') : '';
  }

  async query(sql: string, database = 'postgres', role = SUPERUSER): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: this.url(database, role) });
    await client.connect();
    try {
      return await client.query(sql);
    } finally {
      await client.end();
    }
  }

  /** A database with a name of its own, owned by `OWNER`, as `template` is. */
  async createDatabase(template = 'template1'): Promise<string> {
    const name = `test_${randomBytes(6).toString('hex')}`;
    await this.query(`CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${OWNER}`);
    return name;
  }

  async dropDatabase(name: string): Promise<void> {
    await this.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }

  async close(): Promise<void> {
    await this.stop('immediate').catch(() => {});
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async control(command: string, ...args: string[]): Promise<void> {
    await asServer('pg_ctl', [command, '-s', '-D', join(this.folder, 'data'), ...args]);
  }
}

/** A cluster of its own, for a test that stops it. Others share one: `sharedCluster` in postgres.ts. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { isDurable = true, settings = {}, ownerPid = process.pid } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'trustward-postgres-'));
  const ids = await idsOfServer();
  if (ids) chownSync(folder, ids.uid, ids.gid);
  watchOwner(folder, ownerPid);
  const data = join(folder, 'data');
  // The order of the language, not of bytes: a column without COLLATE "C" is noticed.
  const order = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  await asServer('initdb', ['-D', data, '-U', SUPERUSER, '--auth=trust', '--no-sync', ...order]);
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const cluster = new Cluster(folder, port);
    const all = { ...defaultsOf(folder, port), ...(isDurable ? {} : NOT_DURABLE), ...settings };
    const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`);
    writeFileSync(join(data, 'postgresql.auto.conf'), lines.join(''));
    if (ids) chownSync(join(data, 'postgresql.auto.conf'), ids.uid, ids.gid);
    try {
      await cluster.start();
    } catch (error) {
      if (tries === 5 || !/could not create any TCP/.test(cluster.lastLog())) throw error;
      continue; // somebody else took the port meanwhile
    }
    await cluster.query(`CREATE ROLE ${OWNER} LOGIN CREATEROLE CREATEDB`);
    return cluster;
  }
}

const IS_ENDING = /shared memory|still in use|already exists/;
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off' };

function defaultsOf(folder: string, port: number): Record<string, string | number> {
  return {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    max_connections: 200,
    shared_buffers: '64MB',
    log_min_messages: 'fatal',
    log_min_error_statement: 'panic',
  };
}

async function asServer(program: string, args: string[]): Promise<void> {
  const command = join(bin as string, program);
  const [name, all] =
    process.getuid?.() === 0 ? ['runuser', ['-u', SUPERUSER, '--', command, ...args]] : [command, args];
  // INVARIANT: no pipes: the server would keep them open, and the end of the program would not be noticed.
  const child = spawn(name, all, { stdio: 'ignore', cwd: '/', env: { ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' } });
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}`);
}

/** PostgreSQL refuses to run as root. */
async function idsOfServer(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (what) => Number((await run('id', [what, SUPERUSER])).stdout)),
  );
  return { uid: uid as number, gid: gid as number };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** It ends when the folder is gone; when its owner is, it takes the server and the folder away. */
function watchOwner(folder: string, ownerPid: number): void {
  const watch = `while [ -d "$1" ] && kill -0 "$2" 2>/dev/null; do sleep 1; done
    [ -d "$1" ] || exit 0
    pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
    sleep 1; [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; rm -rf "$1"`;
  spawn('sh', ['-c', watch, 'watch', folder, String(ownerPid)], { detached: true, stdio: 'ignore', cwd: '/' }).unref();
}
