// bench: one process that does nothing but record: a large fleet, ten runs over midnight, in each of which 3 % of the devices change, and one restart
// between them. argv: devices, runs, decisions of each run; `floor`: the same records are read and nothing is recorded; `late`: the recorder is busy when
// it is asked what it has, as while it merges a day, so that each run sends every record. Prints what is recorded, and the most memory that the kernel
// counted (VmHWM) after each run. The thread is the built one: run some test before, which builds it.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Decision, StoredDecision } from '../../src/domain/decision.ts';
import { formOf, type RecordForm, type SeenRun, type SeenSubjects } from '../../src/domain/recorded-history.ts';
import { RecordPass } from '../../src/engine/pull/record-pass.ts';
import { historyDays, verifyHistory } from '../../src/history/files/forget.ts';
import { RunRecorder } from '../../src/history/record/run-recorder.ts';
import { built } from '../../test/support/built.ts';
import { silent, startOnPlatform } from '../../test/support/engine-on-platform.ts';
import { PRINT_KEY } from '../../test/support/print-key.ts';
import { deviceTextAt } from '../cycle/fleet.ts';

const isFloor = process.argv.includes('floor');
const isLate = process.argv.includes('late');
const [devices = 200_000, runs = 10, decisions = 0] = process.argv
  .slice(2)
  .filter((one) => /^\d+$/.test(one))
  .map(Number);
const folder = join(mkdtempSync(join(tmpdir(), 'trustward-large-')), 'x.history');
const settings = {
  folder,
  address: 'http://platform.test',
  program: 'bench',
  keepMs: 30 * 86_400_000,
  printKey: PRINT_KEY,
};
const STEP_MS = 20 * 60_000;
const START_MS = Date.UTC(2026, 5, 2) - (Math.floor(runs / 2) + 0.5) * STEP_MS;

const { ThreadDesk } = (await import(
  built('src/history/record/desk-thread.ts')
)) as typeof import('../../src/history/record/desk-thread.ts');

const peakMb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_000;
const say = (text: string) => void process.stdout.write(`${text}\n`);

/** The form of a run, from one over a fleet in memory. */
async function templateOf(): Promise<SeenRun> {
  const on = startOnPlatform();
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  let seen: SeenRun | undefined;
  on.engine.history = {
    presentPrints: async () => new Int32Array(0),
    record: (run) => {
      seen = run;
    },
    unreadAfterNo: undefined,
    settled: async () => {},
    fault: undefined,
    close: async () => {},
  };
  await on.run();
  if (!seen) throw new Error('no run was seen');
  return seen;
}

const template = await templateOf();
const form = formOf((template.seen[0] as SeenSubjects).reading) as RecordForm;
let nowMs = START_MS;
const clock = { nowMs: () => nowMs, monotonicMs: () => 0, sleep: () => new Promise<void>(() => {}) };
const store = { lastEventNo: async () => 0, eventsBetween: async function* () {} };
const open = () => new RunRecorder(new ThreadDesk(settings), store, clock, silent);
let recorder = open();
const [sample] = template.written;
/** The same one under other ids: the second run writes them, and they stay in force. */
const decided = Array.from({ length: decisions }, (_, at): StoredDecision => {
  const id = `decision-${String(at).padStart(17, '0')}`;
  return { ...(sample as Decision), id, runId: 'run-2', runSeq: 2, writtenAt: START_MS, endedSeq: undefined };
});
say(`${devices} devices, ${runs} runs; before the first ${peakMb().toFixed(0)} MB`);
for (let run = 1; run <= runs; run += 1) {
  nowMs = START_MS + run * STEP_MS;
  const began = performance.now();
  const present = isFloor ? undefined : isLate ? new Int32Array(0) : await recorder.presentPrints('device', form);
  const pass = new RecordPass(present, 'device', nowMs, PRINT_KEY);
  for (let index = 0; index < devices; index += 1) pass.accept(JSON.parse(deviceTextAt(index, undefined, run - 1)));
  const [first] = template.seen;
  if (!first) throw new Error('nothing was seen');
  const frame = { ...template.frame, run: { ...template.frame.run, seq: run, startedAt: nowMs, id: `run-${run}` } };
  const read = performance.now();
  const { records } = pass.finish();
  const written = run === 2 ? decided : [];
  const openState = { ...template.openState, decisions: run > 2 ? decided : [] };
  if (records)
    recorder.record({ ...template, written, openState, frame, isClockRight: true, seen: [{ ...first, ...records }] });
  await recorder.settled();
  const { recorded, lost, fault } = recorder.state;
  const times = `read ${((read - began) / 1_000).toFixed(1)} s, recorded in ${((performance.now() - read) / 1_000).toFixed(1)} s`;
  say(
    `run ${run}: ${times}, ${recorded} recorded, ${lost} lost${fault ? ` (${fault.text})` : ''}, peak ${peakMb().toFixed(0)} MB`,
  );
  if (run !== Math.ceil(runs / 2) + 2) continue;
  // What was recorded last is read from the folder again.
  await recorder.close();
  recorder = open();
}
await recorder.close();
if (!isFloor) told();

function told(): void {
  for (const day of historyDays(folder)) say(JSON.stringify(day));
  say(
    `peak ${peakMb().toFixed(0)} MB; bytes ${readdirSync(folder, { recursive: true, withFileTypes: true }).reduce((sum, one) => sum + (one.isFile() ? statSync(join(one.parentPath, one.name)).size : 0), 0)}`,
  );
  const { ok, runs: kept, problems } = verifyHistory(folder, settings.address);
  say(
    `whole: ${ok}, ${kept} runs${problems.map(({ text }) => `; ${text}`).join('')}; after verifying ${peakMb().toFixed(0)} MB`,
  );
}
rmSync(join(folder, '..'), { recursive: true });
