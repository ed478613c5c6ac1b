// test: moving the write-ahead log of a large commit. In: a database file with a long log. Out: its pages in the file, or the log as it was.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { moveLog } from '../../src/store/sqlite/sqlite-store.ts';
import { built } from '../support/built.ts';

const MB = 1_048_576;
let folder: string;
let db: SqliteDb;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trustward-log-'));
  db = openDatabase(join(folder, 'trustward.db'));
  db.exec('CREATE TABLE texts (text TEXT)');
  db.exec('PRAGMA wal_autocheckpoint = 0');
  for (let row = 0; row < 8; row += 1) db.insert('texts', { text: 'x'.repeat(MB) });
});
afterEach(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

const sizeOf = (name: string) => statSync(join(folder, name)).size;

it('a long log is in the file afterwards, and is begun anew by the next commit', async () => {
  expect(sizeOf('trustward.db')).toBeLessThan(MB);
  const long = sizeOf('trustward.db-wal');
  const moving = moveLog(db);
  db.insert('texts', { text: 'meanwhile' });
  await moving;
  expect(sizeOf('trustward.db')).toBeGreaterThan(8 * MB);
  for (let row = 0; row < 100; row += 1) db.insert('texts', { text: 'after' });
  expect(sizeOf('trustward.db-wal')).toBeLessThan(long + MB);
  expect(db.get('SELECT count(*) AS n FROM texts')).toEqual({ n: 109 });
});

it('a log that cannot be moved stays, and the connection moves it itself', async () => {
  await moveLog({ file: join(folder, 'no-such.db'), exec: (sql) => db.exec(sql) });
  expect(sizeOf('trustward.db')).toBeLessThan(MB);
  db.insert('texts', { text: 'next' });
  expect(sizeOf('trustward.db')).toBeGreaterThan(8 * MB);
});

it('a connection that is closed meanwhile loses nothing', async () => {
  const moving = moveLog(db);
  db.close();
  await moving;
  db = openDatabase(join(folder, 'trustward.db'));
  expect(db.get('SELECT count(*) AS n FROM texts')).toEqual({ n: 8 });
});

it('a process that has nothing else to do waits until the log is moved, and then closes the database', () => {
  const text = `
    const { openDatabase } = await import(${JSON.stringify(built('src/store/sqlite/database.ts'))});
    const { moveLog } = await import(${JSON.stringify(built('src/store/sqlite/sqlite-store.ts'))});
    const db = openDatabase(process.argv[1]);
    await moveLog(db);
    db.close();
    process.stdout.write('closed');`;
  const args = ['--input-type=module', '--eval', text, join(folder, 'trustward.db')];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([0, 'closed', '']);
});
