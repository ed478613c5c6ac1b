// test: forgetting waits for the lock of a run that ends, and nothing of that run's process is written afterwards. In: a process whose runs end while
// they are being recorded, merged and folded; a whole composition that closes, beside the command. Out: how often each, and the rows of the forgotten
// subject that are left: none.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { forgetSubject } from '../../../src/history/files/forget.ts';
import { listHistory, readSegment } from '../../../src/history/files/segment-files.ts';
import { takeWriterLock, type WriterLock } from '../../../src/store/sqlite/writer-lock.ts';
import { built } from '../../support/built.ts';
import { command } from '../../support/in-process.ts';
import { startOrganization } from '../../support/organization.ts';

const TIMES = 200;
const COMMANDS = 20;
const SUBJECT = { kind: 'device', id: 'device-7' } as const;

/** A command that comes while a run ends is refused, and repeated. */
async function lockOf(database: string): Promise<WriterLock> {
  for (;;) {
    try {
      return takeWriterLock(database);
    } catch {
      await after(1);
    }
  }
}

it(`${TIMES} times forgotten beside a run that ends, no row of the subject is left`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-forget-'));
  try {
    const child = spawn(process.execPath, [built('test/history/record/ending-child.ts'), folder, String(TIMES)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    let removed = 0;
    const databases: string[] = [];
    for await (const database of createInterface({ input: child.stdout })) {
      const lock = await lockOf(database);
      removed += forgetSubject(`${database}.history`, { subject: SUBJECT, atMs: 0, standIn: 'forgotten' }).removed;
      lock.release();
      databases.push(database);
    }
    expect(await ended).toEqual([0, null]);
    let left = 0;
    for (const database of databases)
      for (const segment of listHistory(`${database}.history`).segments)
        for (const row of rowsOf(readSegment(segment)))
          if (row.subject === SUBJECT.id || row.value?.includes(SUBJECT.id)) left++;
    process.stdout.write(`${databases.length} times, ${removed} rows removed, ${left} rows left\n`);
    expect([databases.length, left]).toEqual([TIMES, 0]);
    expect(removed).toBeGreaterThan(TIMES);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it(`${COMMANDS} times by the command, which is refused until the run's process has closed its history, no row of the person is left`, async () => {
  const org = await startOrganization({ devices: 40, compromised: 2, env: { TRUSTWARD_HISTORY: '30d' } });
  try {
    const rows = () =>
      listHistory(`${org.dbFile}.history`).segments.flatMap((segment) => [...rowsOf(readSegment(segment))]);
    let person = '';
    const ofPerson = () =>
      rows().filter(({ kind, value, subject }) => kind !== 'rules' && `${subject} ${value}`.includes(person));
    let [refused, removed, left] = [0, 0, 0];
    for (let time = 0; time < COMMANDS; time++) {
      await org.run('enforce');
      if (time === 0) await org.composition.engine.history?.settled();
      const closed = org.composition.close();
      person ||= JSON.parse(rows().find(({ path }) => path === 'Emails')?.value ?? '[]')[0] as string;
      for (;;) {
        const { code, err, out } = await command(
          ['history', 'forget', person, '--reason', 'they asked', '--format', 'json'],
          org.env,
        );
        if (code === 0) {
          const { removed: gone, replaced } = JSON.parse(out);
          removed += gone + replaced;
          break;
        }
        expect(err).toContain('has an active writer: stop it first');
        refused++;
        await after(1);
      }
      left += ofPerson().length;
      await closed;
      left += ofPerson().length;
      await org.restart();
    }
    process.stdout.write(
      `${COMMANDS} commands, ${refused} refused before, ${removed} rows changed, ${left} rows left\n`,
    );
    expect(left).toBe(0);
    expect(refused).toBeGreaterThan(0);
    expect(removed).toBeGreaterThanOrEqual(COMMANDS);
  } finally {
    await org.close();
  }
});
