// test: a real daemon in a separate process, whose disk fails when the test decides, and a proxy before the console
// that checks every call against the audit in the file at that moment, and lets the test fail the disk just then.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { built } from '../support/built.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { type Started, startTrustward } from '../support/trustward.ts';

/** How a test starts a daemon: no run comes by itself after the first. */
export const DAEMON_ENV = {
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_SCHEDULE: '0 0 1 1 *',
  TRUSTWARD_LOG_LEVEL: 'info',
  // Which call the fault strikes is known.
  TRUSTWARD_ACT_CONCURRENCY: '1',
};

/** A place for the database whose disk can be made to refuse every write, and to accept writes again. */
export interface FailingDisk {
  dir: string;
  /** The expected text of `/readyz`. */
  says: RegExp;
  env: Record<string, string>;
  fail(pid: number): void;
  /** Safe to repeat. */
  mend(pid: number): void;
  remove(): void;
}

const PRELOAD = built('test/scenarios/read-only-while.ts');
const newFolder = () => mkdtempSync(join(tmpdir(), 'trustward-disk-'));
const forget = (dir: string) => rmSync(dir, { recursive: true, force: true });

/** The kernel refuses to let any file of the process grow or be written: no privilege is needed. */
export function limitedDisk(): FailingDisk {
  const dir = newFolder();
  const limit = (pid: number, bytes: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
  const says = /the disk does not answer as it should/;
  const mend = (pid: number) => void limit(pid, 'unlimited');
  return { dir, says, env: {}, fail: (pid) => void limit(pid, '0'), mend, remove: () => forget(dir) };
}

/** A file system of 6 MB, and a file that takes all of its free space. */
function fullDisk(): FailingDisk {
  const dir = newFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', dir]);
  const filler = join(dir, 'filler');
  const fill = () => {
    for (const size of [65_536, 4_096]) {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  };
  const remove = () => {
    execFileSync('umount', ['--lazy', dir]);
    forget(dir);
  };
  return {
    dir,
    says: /the disk is full: make room/,
    env: {},
    fail: fill,
    mend: () => rmSync(filler, { force: true }),
    remove,
  };
}

/**
 * SQLite itself refuses to write while a file exists: a mount under an open file cannot be made read-only on demand.
 */
export function readOnlyDisk(name = 'trustward.db'): FailingDisk {
  const dir = newFolder();
  const flag = join(dir, 'read-only');
  const env = {
    NODE_OPTIONS: `--import ${PRELOAD}`,
    READ_ONLY_WHILE: flag,
    READ_ONLY_NAME: name,
  };
  const says = /it cannot be written: check the owner and mode/;
  return {
    dir,
    says,
    env,
    fail: () => writeFileSync(flag, ''),
    mend: () => rmSync(flag, { force: true }),
    remove: () => forget(dir),
  };
}

/** Those that any user can make fail, and a full one where mounting is allowed. */
export function disks(): [name: string, make: () => FailingDisk][] {
  const limited: [string, () => FailingDisk] = ['whose files may not grow', limitedDisk];
  return mayMount() ? [limited, ['that is full', fullDisk]] : [limited];
}

function mayMount(): boolean {
  const dir = newFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir], { stdio: 'ignore' });
    execFileSync('umount', [dir], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    forget(dir);
  }
}

export interface Passing {
  method: string;
  /** Path and query. */
  address: string;
  /** False on the way in, true when the console has answered and the answer is still held back. */
  isAnswered: boolean;
}

/** A server before the console: forwards everything, after `look` has seen it. */
export async function openDoor(
  target: string,
  look: (passing: Passing) => void,
): Promise<{ url: string; server: Server }> {
  const handOn = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url: address = '/', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    look({ method, address, isAnswered: false });
    const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
    const sent = { ...(rest as Record<string, string>), 'accept-encoding': 'identity' };
    const body = chunks.length > 0 ? Buffer.concat(chunks) : null;
    const answer = await fetch(`${target}${address}`, { method, headers: sent, body });
    const bytes = Buffer.from(await answer.arrayBuffer());
    look({ method, address, isAnswered: true });
    const forwarded = [...answer.headers].filter(([name]) => !/^(connection|keep-alive|transfer-encoding)$/.test(name));
    response.writeHead(answer.status, Object.fromEntries(forwarded)).end(bytes);
  };
  const server = createServer((request, response) => void handOn(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

export interface ReadyAnswer {
  status: number;
  text: string;
  checks: { name: string; ok: boolean; text: string }[];
}

export interface RunningDaemon {
  started: Started;
  pid: number;
  ask(method: string, path: string, body?: object): Promise<{ status: number; json: never }>;
  ready(): Promise<ReadyAnswer>;
  /** Ends it by SIGTERM; returns its exit code. */
  stop(): Promise<number | null>;
}

export async function startDaemonProcess(env: Record<string, string>): Promise<RunningDaemon> {
  const started = startTrustward(['serve'], env);
  await started.says('Ctrl-C ends it.');
  const url = /HTTP endpoint\s+(\S+)/.exec(started.said().out)?.[1] as string;
  const token = readFileSync(`${env.TRUSTWARD_DB}.token`, 'utf8').trim();
  const ask: RunningDaemon['ask'] = async (method, path, body) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
    });
    return { status: answer.status, json: (await answer.json()) as never };
  };
  return {
    started,
    pid: started.child.pid as number,
    ask,
    ready: async () => {
      const answer = await fetch(`${url}/readyz`);
      const text = await answer.text();
      return { status: answer.status, text, checks: (JSON.parse(text) as ReadyAnswer).checks };
    },
    stop: async () => {
      started.child.kill('SIGTERM');
      return (await started.ended).code;
    },
  };
}

/** The committed content of the file, as any other process sees it. */
export function committed<T>(dbFile: string, sql: string, ...values: (string | number)[]): T[] {
  const db = new Database(dbFile, { readonly: true, timeout: 5_000 });
  try {
    return db
      .prepare(sql)
      .pluck()
      .all(...values) as T[];
  } finally {
    db.close();
  }
}

/**
 * `intent.*` entries about a target, in order, with their outcome; those after an entry, for a file with a damaged
 * beginning.
 */
export function intentsOf(dbFile: string, target: string, afterSeq = 0): string[] {
  const sql = `SELECT trim(kind || ' ' || coalesce(json_extract(bytes, '$.body.outcome'), '')) FROM audit
    WHERE seq > ? AND kind LIKE 'intent.%' AND json_extract(bytes, '$.body.target') = ? ORDER BY seq`;
  return committed<string>(dbFile, sql, afterSeq, target);
}

/** An organization, a daemon on a disk that can fail, and the proxy between them, which records the calls. */
export interface FailingScene {
  org: Organization;
  disk: FailingDisk;
  daemon: RunningDaemon;
  /** The environment of the daemon. */
  env: Record<string, string>;
  dbFile: string;
  /** Serial numbers of calls that arrived, in order. */
  banned: string[];
  /** Those of calls without an intent committed as sent before them. */
  unaudited: string[];
  /** The disk fails when this is first true of a passing call; undefined: no longer. */
  strikeWhen(isMoment: ((passing: Passing) => boolean) | undefined): void;
  close(): Promise<void>;
}

/** Runs until a doubt on the target is settled: the quiet period is never shorter than what was measured. Answers the last run. */
export async function runUntilSettled(daemon: RunningDaemon, dbFile: string, target: string) {
  for (;;) {
    const answer = await daemon.ask('POST', '/api/runs', { mode: 'enforce', wait: true });
    if (answer.status !== 200 || intentsOf(dbFile, target).at(-1) !== 'intent.settled unknown') return answer;
    await systemClock.sleep(100);
  }
}

export async function openScene(make: () => FailingDisk): Promise<FailingScene> {
  const disk = make();
  try {
    return await openSceneOn(disk);
  } catch (error) {
    disk.remove();
    throw error;
  }
}

async function openSceneOn(disk: FailingDisk): Promise<FailingScene> {
  const dbFile = join(disk.dir, 'trustward.db');
  const org = await startOrganization({ devices: 40 });
  await org.composition.close(); // the engine runs in a separate process here
  const banned: string[] = [];
  const unaudited: string[] = [];
  let strike: ((passing: Passing) => boolean) | undefined;
  const door = await openDoor(org.console.address, (passing) => {
    if (passing.method === 'POST' && passing.address.includes('/mdm/update_device') && !passing.isAnswered) {
      const serial = /[?&]SerialNumber=([^&]+)/.exec(passing.address)?.[1] ?? '';
      banned.push(serial);
      const sent = intentsOf(dbFile, serial).filter((entry) => entry === 'intent.sent').length;
      if (sent < banned.filter((one) => one === serial).length) unaudited.push(serial);
    }
    if (!strike?.(passing)) return;
    strike = undefined;
    disk.fail(daemon.pid);
  });
  const places = { TRUSTWARD_API_URL: door.url, TRUSTWARD_DB: dbFile };
  // A call that was under way when a process ended counts as one without an answer.
  const waits = { TRUSTWARD_REQUEST_TIMEOUT: '1s' };
  const env = { ...org.env, ...disk.env, ...places, ...DAEMON_ENV, ...waits };
  const daemon = await startDaemonProcess(env);
  return {
    org,
    disk,
    daemon,
    env,
    dbFile,
    banned,
    unaudited,
    strikeWhen: (isMoment) => {
      strike = isMoment;
    },
    close: async () => {
      daemon.started.child.kill('SIGKILL');
      await daemon.started.ended;
      door.server.closeAllConnections();
      door.server.close();
      await org.close();
      disk.remove();
    },
  };
}
