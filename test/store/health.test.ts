// test: what a database remembers of a failing disk: reported once, over with the next change that is committed; damage stays.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { Log } from '../../src/domain/ports.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { verifyAudit } from '../../src/engine/audit/sources.ts';
import { migrate, openDatabase, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { StoreHealth } from '../../src/store/sqlite/opened-file.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { meaningOf, storeError } from '../../src/store/store-fault.ts';
import { FakeClock } from '../support/platform.ts';

let dir: string;
let file: string;
let clock: FakeClock;
let health: StoreHealth;
let db: SqliteDb;
let store: SqliteStore;
let lines: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-health-'));
  file = join(dir, 'trustward.db');
  clock = new FakeClock();
  lines = [];
  const say = (level: string) => (_fields: object, message: string) => void lines.push(`${level} ${message}`);
  const log: Log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  health = new StoreHealth(clock, log);
  db = openDatabase(file, health);
  migrate(db);
  store = new SqliteStore(db, linkEntry, clock);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

const note = () => store.appendAudit([{ kind: 'notice', body: { text: 'x'.repeat(100_000) } }]);
const fails = async (work: () => Promise<unknown>) => {
  const error = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
};

describe('a database that cannot be written', () => {
  it('is reported once with its kind and start, and ends with the next change that is committed', async () => {
    const since = clock.nowMs();
    db.exec('PRAGMA max_page_count = 1');
    expect(await fails(note)).toMatchObject({ code: 'store_failed', message: expect.stringContaining(file) });
    clock.pass(60_000);
    await fails(note);
    expect(health.fault()).toEqual({ kind: 'full', since, text: expect.stringContaining('make room') });
    expect(health.fault()?.text).not.toContain(dir);
    expect(lines).toEqual([expect.stringMatching(/^error the database fails: the disk is full/)]);
    db.exec('PRAGMA max_page_count = 100000');
    await store.auditHead();
    await store.abortStaleRuns(clock.nowMs());
    expect(health.fault()?.kind).toBe('full'); // nothing was changed: nothing was written
    await note();
    expect(health.fault()).toBeUndefined();
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^warn the database can be written again/);
  });

  it('continues when the next failure is another one: the beginning is kept, and both are reported', async () => {
    const since = clock.nowMs();
    db.exec('PRAGMA query_only = ON');
    await fails(note);
    expect(health.fault()?.kind).toBe('read_only');
    db.exec('PRAGMA query_only = OFF');
    db.exec('PRAGMA max_page_count = 1');
    clock.pass(1_000);
    await fails(note);
    expect(health.fault()).toMatchObject({ kind: 'full', since });
    expect(lines).toHaveLength(2);
  });

  it('because another process writes is busy, not broken', async () => {
    db.exec('PRAGMA busy_timeout = 0');
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    expect(await fails(note)).toMatchObject({ code: 'store_locked' });
    expect(health.fault()?.kind).toBe('busy');
    other.exec('ROLLBACK');
    other.close();
    await note();
    expect(health.fault()).toBeUndefined();
  });

  it('of a transaction that is left open takes no other for committed', async () => {
    db.exec('BEGIN');
    expect(await fails(note)).toMatchObject({ code: 'internal' });
    db.exec('ROLLBACK');
    await note();
    expect((await store.auditHead()).seq).toBe(1);
  });

  it.each([
    ['SQLITE_FULL', 'full', 'store_failed'],
    ['SQLITE_READONLY_DIRECTORY', 'read_only', 'store_failed'],
    ['EROFS', 'read_only', 'store_failed'],
    ['ENOSPC', 'full', 'store_failed'],
    ['SQLITE_BUSY_SNAPSHOT', 'busy', 'store_locked'],
    ['SQLITE_CORRUPT_INDEX', 'corrupt', 'store_damaged'],
    ['SQLITE_NOTADB', 'corrupt', 'store_damaged'],
    ['SQLITE_IOERR_FSYNC', 'io', 'store_failed'],
    ['EDQUOT', 'io', 'store_failed'],
  ])('with %s is reported as what it is', (code, kind, told) => {
    const error = storeError(Object.assign(new Error('as the library says it'), { code }), file);
    expect(error).toMatchObject({ code: told });
    expect(meaningOf(error)).toMatchObject({ kind });
  });

  it('by a rule of the tables is no failure of the disk', async () => {
    expect(
      meaningOf(storeError(Object.assign(new Error('unique'), { code: 'SQLITE_CONSTRAINT_UNIQUE' }), file)),
    ).toBeUndefined();
    expect(() => db.insert('meta', { key: null, value: 'x' })).toThrow(AppError);
    expect(health.fault()).toBeUndefined();
  });
});

describe('a database that is damaged', () => {
  /** Overwrites the page of the audit in which its middle lies, as it is read anew. */
  function damageMiddle(): void {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const { pageno } = db.all<{ pageno: number }>(
      "SELECT pageno FROM dbstat WHERE name = 'audit' AND pagetype = 'leaf' ORDER BY path",
    )[20] as { pageno: number };
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(4_096, 0xff), 0, 4_096, (pageno - 1) * 4_096);
    closeSync(handle);
  }

  beforeEach(async () => {
    for (let count = 0; count < 40; count += 1)
      await store.appendAudit([{ kind: 'notice', body: { text: 'x'.repeat(3_000) } }]);
    damageMiddle();
    db.close();
    db = openDatabase(file, health);
    store = new SqliteStore(db, linkEntry, clock);
  });

  it('stays so for this process, though another page can be written', async () => {
    await fails(async () => {
      for await (const _batch of store.auditFrom(1));
    });
    expect(health.fault()?.kind).toBe('corrupt');
    await note();
    expect(health.fault()?.kind).toBe('corrupt');
    expect(lines).toHaveLength(1);
  });

  it('is named by the first entry that cannot be read, and those before it are verified', async () => {
    const check = await verifyAudit({
      headSeq: async () => (await store.auditHead()).seq,
      entries: () => store.auditFrom(1),
      tableLines: async () => undefined,
      fileLines: () => undefined,
      fileName: '',
      hasKey: () => false,
      keys: () => new Map(),
      tableDifferences: async () => [],
      pause: async () => {},
    });
    expect(check.ok).toBe(false);
    expect(check.bad).toEqual({ seq: check.entries + 1, reason: 'it cannot be read: the database is damaged there' });
    expect(check.entries).toBeGreaterThan(10);
    expect(check.entries).toBeLessThan(40);
  });
});

describe('a value that a disk has changed', () => {
  it('is reported as damage, not as a fault of the reader', async () => {
    const run = {
      mode: 'dry-run',
      daemonMode: 'dry-run',
      trigger: 'command',
      rules: [] as string[],
      ruleSetHash: 'x',
      demo: false,
    } as const;
    const life = { startedAt: 1, finishedAt: undefined, status: 'running', error: undefined } as const;
    await store.beginRun({ id: 'r1', ...run, ...life }, []);
    db.run("UPDATE runs SET rules = '[\"a' WHERE id = 'r1'");
    const error = await fails(() => store.runs(1));
    expect(error).toMatchObject({ code: 'store_damaged', message: expect.stringContaining('restore a backup') });
    expect(meaningOf(error)?.kind).toBe('corrupt');
  });
});
