// test: the database as a file: migrations, one writer, errors that a person gets when file or disk fails, and what it remembers of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { elapsedMs } from '../../src/base/time.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Log } from '../../src/domain/ports.ts';
import { linkEntry, verifyChain } from '../../src/engine/audit/signing-key.ts';
import { verifyAudit } from '../../src/engine/audit/sources.ts';
import { steadyTime, systemClock } from '../../src/runtime/system/clock.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { readClockAgreement } from '../../src/store/run-rows.ts';
import {
  answered,
  migrate,
  openDatabase,
  openReadOnly,
  readMigrations,
  type SqliteDb,
  SqliteWork,
} from '../../src/store/sqlite/database.ts';
import { StoreHealth } from '../../src/store/sqlite/opened-file.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { readDaemonAddress, takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';
import { meaningOf, storeError } from '../../src/store/store-fault.ts';
import { built } from '../support/built.ts';
import { FakeClock } from '../support/platform.ts';
import { openStore } from '../support/stored-nouns.ts';

describe('the database as a file', () => {
  const CHILD = built('test/store/child.ts');
  let dir: string;
  let file: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-store-'));
    file = join(dir, 'trustward.db');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(dir, { recursive: true, force: true });
  });

  /** Starts a child and answers its first line. */
  async function child(what: string, before = ''): Promise<[ChildProcess, Record<string, unknown>]> {
    const command = `${before} exec "$0" "$1" "$2" "$3"`;
    const started = spawn('bash', ['-c', command, process.execPath, CHILD, what, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(started);
    const [line] = (await once(createInterface({ input: started.stdout! }), 'line')) as [string];
    return [started, JSON.parse(line)];
  }

  function errorOf(work: () => unknown): AppError {
    try {
      work();
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      const { message } = error as AppError;
      expect(message).not.toContain('\n');
      return error as AppError;
    }
    throw new Error('nothing was thrown');
  }

  describe('migrations', () => {
    const latest = readMigrations().at(-1)?.version;

    it('bring a fresh file to the latest tables, and are safe to repeat', () => {
      const db = openDatabase(file);
      expect(migrate(db)).toBe(latest);
      expect(migrate(db)).toBe(latest);
      db.close();
    });

    it('bring an older database up without losing a row', async () => {
      const db = openDatabase(file);
      expect(migrate(db, readMigrations().slice(0, 1))).toBe(1);
      db.insert('meta', { key: 'address', value: 'https://a.example' });
      db.close();
      const { store } = openStore(file);
      expect(await store.address()).toBe('https://a.example');
      await store.close();
    });

    it('leave nothing of one that breaks', () => {
      const db = openDatabase(file);
      const broken = {
        version: 2,
        name: '0002-broken.sql',
        sql: 'CREATE TABLE half (a TEXT) STRICT; CREATE TABL whole (b TEXT);',
      };
      const first = readMigrations().slice(0, 1);
      expect(() => migrate(db, [...first, broken])).toThrow();
      expect(db.all("SELECT name FROM sqlite_master WHERE name = 'half'")).toEqual([]);
      expect(migrate(db)).toBe(latest);
      db.close();
    });

    it('are safe when two processes start at once', async () => {
      const answers = await Promise.all([child('migrate'), child('migrate')]);
      expect(answers.map(([, answer]) => answer)).toEqual([{ version: latest }, { version: latest }]);
    });

    it('refuse a database that a newer version wrote', () => {
      const db = openDatabase(file);
      migrate(db);
      db.exec('PRAGMA user_version = 900');
      expect(errorOf(() => migrate(db))).toMatchObject({
        code: 'store_failed',
        message: expect.stringContaining('newer version'),
      });
      db.close();
    });
  });

  describe('the one writer', () => {
    it('refuses a second one at once, and names the holder', async () => {
      const [holder] = await child('hold');
      const error = errorOf(() => takeWriterLock(file));
      expect(error).toMatchObject({ code: 'store_locked', message: expect.stringContaining(`process ${holder.pid}`) });
      expect(readDaemonAddress(file)).toEqual({ pid: holder.pid, url: 'http://127.0.0.1:1' });
    });

    it('is free the moment its process is killed', async () => {
      const [holder] = await child('hold');
      const gone = once(holder, 'exit');
      holder.kill('SIGKILL');
      await gone;
      takeWriterLock(file).release();
    });

    it('refuses a second one in the same process, and stays held after that', async () => {
      const lock = takeWriterLock(file);
      expect(errorOf(() => takeWriterLock(file)).code).toBe('store_locked');
      expect(errorOf(() => takeWriterLock(file)).code).toBe('store_locked');
      lock.release();
      takeWriterLock(file).release();
    });

    it('is one for a database that is reached by two names', async () => {
      const other = join(dir, 'by-another-name.db');
      const lock = takeWriterLock(file);
      symlinkSync(file, other);
      expect(errorOf(() => takeWriterLock(other)).code).toBe('store_locked');
      lock.release();
    });
  });

  describe('the files of the lock', () => {
    const modeOf = (name: string) => (statSync(`${file}${name}`).mode & 0o777).toString(8);

    it('are made for their owner alone, whatever the umask', () => {
      const before = process.umask(0);
      try {
        const lock = takeWriterLock(file);
        lock.announce({ pid: process.pid, url: 'http://127.0.0.1:1' });
        expect([modeOf('.lock'), modeOf('.daemon.json')]).toEqual(['600', '600']);
        lock.release();
      } finally {
        process.umask(before);
      }
    });

    it('are narrowed when an older version made them for more people', () => {
      writeFileSync(`${file}.lock`, '');
      chmodSync(`${file}.lock`, 0o644);
      takeWriterLock(file).release();
      expect(modeOf('.lock')).toBe('600');
    });

    it('are narrowed while their lock is held, and it stays held', async () => {
      takeWriterLock(file);
      chmodSync(`${file}.lock`, 0o664);
      expect(errorOf(() => takeWriterLock(file)).code).toBe('store_locked');
      expect(modeOf('.lock')).toBe('600');
      const [, other] = await child('try');
      expect(other).toMatchObject({ code: 'store_locked' });
    });
  });

  describe('a file that is not as it should be', () => {
    it('is made for its owner alone', () => {
      openDatabase(file).close();
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });

    it('that is no database is refused as none, for writing and for reading', () => {
      writeFileSync(file, 'this is not a database, but a text of some length'.repeat(50));
      expect(errorOf(() => openDatabase(file)).message).toContain('damaged or not a database');
      expect(errorOf(() => openReadOnly(file).get('SELECT 1 FROM meta')).message).toContain(
        'damaged or not a database',
      );
    });

    it('that is damaged is reported as damaged, and a reader gets no wrong rows', async () => {
      const { store } = openStore(file);
      for (let count = 0; count < 200; count += 1)
        await store.appendAudit([{ kind: 'notice', body: { text: 'x'.repeat(500) } }]);
      await store.close();
      const bytes = readFileSync(file);
      const middle = bytes.indexOf('"kind":"notice"', Math.floor(bytes.length / 2));
      bytes.fill(0xff, middle, middle + 8_192);
      writeFileSync(file, bytes);
      const reader = new SqlReader(new SqliteWork(openReadOnly(file)), systemClock);
      const verdict = await verifyChain(reader.auditFrom(1)).catch((error: unknown) => error);
      if (verdict instanceof AppError) expect(verdict.message).toContain('damaged');
      else expect(verdict).toMatchObject({ ok: false });
      await reader.close();
    });

    it('that was cut short is reported as damaged', () => {
      openStore(file).db.close();
      truncateSync(file, 5_000);
      expect(errorOf(() => openReadOnly(file).all('SELECT * FROM runs')).message).toContain('damaged');
    });

    it('that cannot be written refuses the write, and names what to check', () => {
      openStore(file).db.close();
      const reader = openReadOnly(file);
      expect(errorOf(() => reader.run("INSERT INTO meta VALUES ('a', 'b')")).message).toContain('cannot be written');
      reader.close();
    });

    it('that is a folder, or lies in a file, is refused as no path to a database', () => {
      expect(errorOf(() => openDatabase(dir)).code).toBe('store_failed');
      writeFileSync(file, '');
      expect(errorOf(() => openDatabase(join(file, 'inside.db'))).code).toBe('store_failed');
    });

    it('that is not there is not made by reading', () => {
      expect(errorOf(() => openReadOnly(file)).code).toBe('not_found');
    });

    it('that holds no tables yet, or those of a newer version, is refused by a reader', () => {
      openDatabase(file).close();
      expect(errorOf(() => openReadOnly(file)).message).toContain('holds nothing of Trustward');
      const { db } = openStore(file);
      db.exec('PRAGMA user_version = 900');
      db.close();
      expect(errorOf(() => openReadOnly(file)).message).toContain('newer version');
    });
  });

  describe('a disk that is full', () => {
    it('fails the write with one clear line, and keeps all that was acknowledged', async () => {
      const [, answer] = await child('fill', 'ulimit -f 600;');
      expect(answer).toMatchObject({ name: 'AppError', code: 'store_failed' });
      expect(answer.message).toMatch(/the disk (is full|does not answer as it should)/);
      const reader = new SqlReader(new SqliteWork(openReadOnly(file)), systemClock);
      const verdict = await verifyChain(reader.auditFrom(1));
      expect(verdict.ok).toBe(true);
      expect(verdict.entries).toBe(answer.acknowledged);
      await reader.close();
    });
  });
});

describe('what a database remembers of a failing disk', () => {
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
});

describe("the writer's lock within one process", () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a lock is held until it is released, also when nothing refers to it', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const file = join(folder, 'trustward.db');
    takeWriterLock(file);
    for (let rounds = 0; rounds < 5; rounds += 1) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(() => takeWriterLock(file)).toThrow('has an active writer');
  });
});

describe('what was kept of the clocks, also by an earlier version', () => {
  it('of an earlier version, it lets no stretch be known or ends one early', () => {
    const db = openDatabase(':memory:');
    migrate(db);
    const kept = { boot: 'first', apartMs: 900_000, sinceMs: 1_000_000, fromMs: 100_000 };
    db.upsert('meta', { key: 'clock_agreement', value: canonicalJson(kept) }, 'key');
    const later = { nowMs: () => 4_000_000, monotonicMs: () => 60_000 };
    const reading = steadyTime(later, 'second', answered(db, readClockAgreement)).read();
    expect([elapsedMs(reading, 2_000_000), elapsedMs(reading, 500_000)]).toEqual([1_100_000, 2_100_000]);
    db.close();
  });
});
