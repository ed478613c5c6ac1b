// test: a process of its own, for what only another process can show: holding the writer's lock or asking for it, migrating at the same time,
// and writing until the disk is full. Arguments: what to do, and the database. Answers on standard output, one JSON a line.
import { writeSync } from 'node:fs';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { migrate, openDatabase } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { takeWriterLock } from '../../src/store/sqlite/writer-lock.ts';
import { FakeClock } from '../support/platform.ts';

const ROUNDS_MAX = 100_000;
const [, , what, file] = process.argv as [string, string, string, string];

function say(value: object): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

if (what === 'hold') {
  const lock = takeWriterLock(file);
  lock.announce({ pid: process.pid, url: 'http://127.0.0.1:1' });
  say({ held: true });
  setInterval(() => lock, 60_000); // until it is killed; a lock that nothing refers to any more is collected, and free
} else if (what === 'try') {
  try {
    takeWriterLock(file).release();
    say({ code: undefined });
  } catch (error) {
    say({ code: (error as { code: string }).code });
  }
} else if (what === 'migrate') {
  const db = openDatabase(file);
  say({ version: migrate(db) });
  db.close();
} else if (what === 'fill') {
  const db = openDatabase(file);
  migrate(db);
  const store = new SqliteStore(db, linkEntry, new FakeClock());
  let acknowledged = 0;
  try {
    for (; acknowledged < ROUNDS_MAX; acknowledged += 1)
      await store.appendAudit([{ kind: 'notice', body: { text: 'x'.repeat(2_000) } }]);
    say({ acknowledged });
  } catch (error) {
    const { name, code, message } = error as { name: string; code: string; message: string };
    say({ acknowledged, name, code, message });
  }
}
