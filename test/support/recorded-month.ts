// A month of history beside a database, as files: real runs of the real engine over the platform in memory, at injected times that end now. In: a
// folder for the database, rules. Out: the file of the database; no process has it open.
import { join } from 'node:path';
import { TRUST_DEFAULT } from '../../src/engine/pull/trust-gate.ts';
import { eachOf, RunEncoder } from '../../src/history/codec/run-encoder.ts';
import { historyFolderOf } from '../../src/history/files/segment-files.ts';
import { HistoryWriter } from '../../src/history/files/tidy.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { banRule, type OnPlatform, startOnPlatform } from './engine-on-platform.ts';
import { MemoryHistory } from './memory-history.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The rule of this month's runs: it reads devices and matches nobody. */
const ACTIVE = banRule({ id: 'ban-compromised-device' });

export interface MonthOptions {
  devices?: number;
  /** From the oldest run to the newest, ms; 29 days by default. */
  lastingMs?: number;
  everyMs?: number;
  /** Before each run: what changes on the platform. `atMs`: since the first run. */
  happens?(on: OnPlatform, atMs: number): void;
}

export async function recordMonth(dir: string, options: MonthOptions = {}): Promise<string> {
  const { devices = 60, lastingMs = 29 * DAY_MS, everyMs = 2 * HOUR_MS, happens = () => {} } = options;
  const file = join(dir, 'trustward.db');
  const on = startOnPlatform({ rules: [ACTIVE], file, settings: (usual) => ({ ...usual, trust: TRUST_DEFAULT }) });
  on.clock.now = systemClock.nowMs() - lastingMs - HOUR_MS;
  on.restart();
  const history = new MemoryHistory(on.store);
  on.engine.history = history;
  for (let n = 1; n <= devices; n += 1)
    on.platform.addDevice(`d${n}`, { MdmData: { CompliantStatus: 'TRUE' }, Emails: [`person${n}@example.com`] });
  for (let atMs = 0; atMs <= lastingMs; atMs += everyMs) {
    happens(on, atMs);
    await on.run('dry-run');
    on.clock.pass(everyMs);
  }
  await history.settled();
  writeFiles(file, history, on.platform.address);
  await on.close();
  return file;
}

function writeFiles(file: string, { runs }: MemoryHistory, address: string): void {
  const writer = new HistoryWriter(historyFolderOf(file), { program: 'test', address });
  const encoder = new RunEncoder();
  for (const [at, run] of runs.entries()) {
    if (at === 0) writer.writeBase([], run.frame.run.startedAt);
    const shows = () => run.frame.shows;
    writer.writeAdded(({ add }) => encoder.encode({ ...run, changes: eachOf(run.changes), shows }, add));
  }
}

/** Forty devices are not compliant for one afternoon, three for days. */
export function wrongAfternoon({ platform }: OnPlatform, atMs: number): void {
  const isAfternoon = atMs >= 10 * DAY_MS && atMs < 10 * DAY_MS + 2 * HOUR_MS;
  const isBad = (n: number) =>
    (isAfternoon && n <= 40) ||
    (n > 50 && n <= 53 && atMs >= n * DAY_MS - 33 * DAY_MS && atMs < n * DAY_MS - 28 * DAY_MS);
  for (const id of platform.devices.keys()) {
    const status = isBad(Number(id.slice(1))) ? 'FALSE' : 'TRUE';
    const { MdmData } = platform.devices.get(id) as { MdmData: { CompliantStatus: string } };
    if (MdmData.CompliantStatus !== status)
      platform.patch(id, { MdmData: { CompromisedStatus: 'FALSE', CompliantStatus: status } });
  }
}
