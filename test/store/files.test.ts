// test: the database as a file: migrations, one writer, and the errors that a person gets when the file or the disk fails.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { migrate, openDatabase, openReadOnly, readMigrations, SqliteWork } from '../../src/store/sqlite/database.ts';
import { readDaemonAddress, takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';
import { built } from '../support/built.ts';
import { openStore } from '../support/stored-nouns.ts';

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
    expect(errorOf(() => openReadOnly(file).get('SELECT 1 FROM meta')).message).toContain('damaged or not a database');
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
