// bench: what a backup costs the daemon that has it made: the longest turn, and the slowest commit, while the process of the backup copies and
// verifies a large database (400,000 audit entries; short: 40,000); and how soon the end of the daemon breaks it off. Compared within one
// process: the same commits without a backup come first.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AuditNote } from '../src/domain/audit-entry.ts';
import { sqliteDatabase } from '../src/domain/database.ts';
import { openForWriting } from '../src/runtime/compose/opened.ts';
import { makeBackup } from '../src/runtime/daemon/own-process.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { isShort, report } from './figures.ts';

const ENTRIES = isShort ? 40_000 : 400_000;
const BATCH = 10_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const folder = mkdtempSync(join(tmpdir(), 'bench-backup-'));
const file = join(folder, 'trustward.db');
const opening = { part: 'actor', clock: systemClock, log: silent, quietMs: 0 } as const;
const { store, openCheckpoints, close } = await openForWriting(sqliteDatabase(file), opening);
const checkpointer = await openCheckpoints();
for (let from = 0; from < ENTRIES; from += BATCH) {
  await store.appendAudit(Array.from({ length: BATCH }, (_, index) => noteOf(from + index)));
  await checkpointer.seal();
}

const alone = await measured(systemClock.sleep(3_000));
const began = performance.now();
const beside = await measured(makeBackup(file, join(folder, 'copy.db'), new AbortController().signal));
const seconds = (performance.now() - began) / 1_000;
const size = statSync(file).size / 2 ** 20;

const ending = new AbortController();
const broken = makeBackup(file, join(folder, 'broken.db'), ending.signal).catch(() => {});
await systemClock.sleep(1_000);
const asked = performance.now();
ending.abort();
await broken;
const endedMs = performance.now() - asked;

const figure = (what: string, value: number, unit: string, atMost?: number) =>
  report({ bench: 'backup', what, value, unit, ...(atMost !== undefined && { atMost }) });
figure(`a verified backup of a database of ${size.toFixed(0)} MiB`, seconds, 's');
figure('longest turn without a backup', alone.turnMs, 'ms');
figure('longest turn while one is made', beside.turnMs, 'ms', 250);
figure('slowest of the commits without a backup', alone.commitMs, 'ms');
figure('slowest of the commits while one is made', beside.commitMs, 'ms');
figure('from the end of the daemon to the end of the backup', endedMs, 'ms', 500);

await close();
rmSync(folder, { recursive: true });

/** One commit every 20 ms until the work ends. */
async function measured(work: Promise<unknown>): Promise<{ turnMs: number; commitMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let commitMs = 0;
  delay.enable();
  for (let number = 0; !isOver; number += 1) {
    const from = performance.now();
    await store.appendAudit([noteOf(number)]);
    commitMs = Math.max(commitMs, performance.now() - from);
    await systemClock.sleep(20);
  }
  delay.disable();
  await work;
  return { turnMs: delay.max / 1e6, commitMs };
}

function noteOf(number: number): AuditNote {
  const facts = { 'MdmData.CompromisedStatus': 'TRUE', 'MdmData.Timestamp': `17${number}000000000`.padEnd(19, '0') };
  return {
    kind: 'intent.planned',
    body: { intent: `01J${number}`, action: 'ban_device', target: `SN-${number}`, facts },
  };
}
