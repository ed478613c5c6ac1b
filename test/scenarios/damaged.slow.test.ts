// scenario: pages of the database are overwritten, under a stopped daemon and under a running one: it is reported,
// nothing is called without an audit entry, verification names the entry, and nothing is repaired silently.
import { closeSync, openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Organization, startOrganization } from '../support/organization.ts';
import { trustward } from '../support/trustward.ts';
import { DAEMON_ENV, intentsOf, type RunningDaemon, startDaemonProcess } from './failing-disk.ts';

/** Entries of the audit before a daemon starts, at least. */
const FILLED = 300;

let org: Organization;
let env: Record<string, string>;
let daemon: RunningDaemon | undefined;

beforeEach(async () => {
  org = await startOrganization({ devices: 40 });
  const { store } = org.composition.engine;
  for (let count = 0; count < FILLED; count += 5)
    await store.appendAudit(Array.from({ length: 5 }, () => ({ kind: 'notice', body: { text: 'x'.repeat(300) } })));
  await org.composition.engine.checkpointer?.seal(); // a start reads what no checkpoint covers
  await org.composition.close(); // the engine runs in a separate process here
  env = { ...org.env, ...DAEMON_ENV };
}, 300_000);
afterEach(async () => {
  daemon?.started.child.kill('SIGKILL');
  await daemon?.started.ended;
  daemon = undefined;
  await org.close();
});

/** Everything in the file, and the pages of a table in the order of its rows. */
function pagesOf(table: string): { pages: number[]; size: number } {
  const db = new Database(org.dbFile);
  try {
    db.pragma('wal_checkpoint(TRUNCATE)'); // makes a running daemon reread its pages
    const sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path";
    return {
      pages: db.prepare(sql).pluck().all(table) as number[],
      size: db.pragma('page_size', { simple: true }) as number,
    };
  } finally {
    db.close();
  }
}

/** Overwrites one page: a share of the way through the table. */
function damage(table: string, share: number): { at: number; size: number } {
  const { pages, size } = pagesOf(table);
  const page = pages[Math.floor(pages.length * share)] as number;
  const handle = openSync(org.dbFile, 'r+');
  writeSync(handle, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
  closeSync(handle);
  return { at: (page - 1) * size, size };
}

const addBad = (serial: string) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
const run = () => (daemon as RunningDaemon).ask('POST', '/api/runs', { mode: 'enforce', wait: true });
const checkOf = async (name: string) => {
  const { checks, status, text } = await (daemon as RunningDaemon).ready();
  expect(text).not.toContain(org.dir);
  return { status, ...checks.find((check) => check.name === name) };
};

describe('a damaged page', { timeout: 120_000 }, () => {
  it('of the audit is named by verification, and nothing is changed from then on', async () => {
    damage('audit', 0.5);
    daemon = await startDaemonProcess(env);
    // Nobody has read the damaged page yet: each call has its entry.
    addBad('PAGE-1');
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    expect(intentsOf(org.dbFile, 'PAGE-1', FILLED)).toEqual([
      'intent.planned',
      'intent.sent',
      'intent.settled succeeded',
    ]);
    expect(org.console.writes()).toHaveLength(1);

    const verified = await trustward(['audit', 'verify'], env);
    expect(verified.code).toBe(1);
    const seq = Number(
      /^the audit is broken at entry (\d+): it cannot be read: the database is damaged there/.exec(verified.out)?.[1],
    );
    expect(seq).toBeGreaterThan(50);
    expect(seq).toBeLessThan(FILLED);
    const { json } = await daemon.ask('POST', '/api/audit/verify', {});
    expect(json).toMatchObject({ ok: false, bad: { seq } });

    expect(await checkOf('database')).toMatchObject({ status: 503, ok: false });
    expect((await checkOf('database')).text).toMatch(/damaged.*restore a backup.*nothing is changed until/);
    addBad('PAGE-2');
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed', run: { daemonMode: 'dry-run' } } });
    expect(org.console.writes()).toHaveLength(1);
    expect(await checkOf('database')).toMatchObject({ status: 503, ok: false });
    expect(await daemon.stop()).toBe(0);
  });

  it('that each run reads, under a running daemon, prevents every call', async () => {
    daemon = await startDaemonProcess(env);
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    addBad('PAGE-3');
    damage('episodes', 0);
    expect(await run()).toMatchObject({ status: 200, json: { status: 'aborted' } });
    expect(await checkOf('last run')).toMatchObject({ status: 503, ok: false });
    expect(await checkOf('database')).toMatchObject({ ok: false });
    expect(await run()).toMatchObject({ json: { status: 'aborted' } });
    expect(org.console.writes()).toEqual([]);
    expect(intentsOf(org.dbFile, 'PAGE-3')).toEqual([]);
    expect(await daemon.stop()).toBe(0);
  });

  it('that the start reads prevents it with one line, and nothing is repaired', async () => {
    const { at, size } = damage('audit', 0.9999);
    const ended = await trustward(['serve'], env);
    expect(ended).toMatchObject({ code: 1, out: '' });
    const lines = ended.err.split('\n').filter((line) => line.startsWith('trustward: '));
    expect(lines).toEqual([
      expect.stringMatching(/`.*trustward\.db` \(SQLITE_CORRUPT.*\): it is damaged.*: restore a backup$/),
    ]);
    expect(ended.err).not.toMatch(/\n\s+at /);
    expect(readFileSync(org.dbFile).subarray(at, at + size)).toEqual(Buffer.alloc(size, 0xff));
  });

  it('of the newest entries is noticed by the checkpoints outside: no acknowledged run is lost silently', async () => {
    daemon = await startDaemonProcess(env);
    addBad('PAGE-4');
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    daemon.started.child.kill('SIGKILL');
    await daemon.started.ended;
    const wal = `${org.dbFile}-wal`;
    truncateSync(wal, Math.floor(statSync(wal).size / 2));
    daemon = await startDaemonProcess(env);
    expect(await checkOf('restored database')).toMatchObject({ status: 503, ok: false });
    addBad('PAGE-5');
    await run();
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(await daemon.stop()).toBe(0);
  });
});
