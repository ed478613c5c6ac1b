// fidelity: a real daemon that records, killed (kill -9) at moments that a seed chooses, often while a segment is being written. In: a seed and a
// number of kills. Out: the database, its history, and what the kills left; a last process ends as asked.
// Between two lives the history often grows older: its files are put into the folder of an earlier day, so that the next life merges them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, watch } from 'node:fs';
import { basename, join } from 'node:path';
import { verifyHistory } from '../../../src/history/files/forget.ts';
import { dayOf } from '../../../src/history/files/segment-bytes.ts';
import { historyFolderOf, listHistory } from '../../../src/history/files/segment-files.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { Dice } from '../../harness/dice.ts';
import { built } from '../../support/built.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const DEVICES = 40;
const SETTINGS = {
  TRUSTWARD_HISTORY: '30d',
  TRUSTWARD_SCHEDULE: '* * * * * *',
  TRUSTWARD_WATCH: '1s',
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_TOKEN: 'a-token-for-nobody-long-enough',
  TRUSTWARD_QUIET_PERIOD: '200ms',
  TRUSTWARD_CEILING_RUN: '10000,100%',
  TRUSTWARD_CEILING_DAY: '100000,100%',
};
const RULE = `
id: ban-compromised-device
title: Ban devices that MDM reports as compromised
severity: critical
subject: device
when: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }
then: ban_device
mode: enforce
cooldown: 0s
limits: { max: 1000, percent: 100 }
owners: all
revert: true
tests: []
`;

export interface KilledRecording {
  org: Organization;
  kills: number;
  /** Lives in which files were merged to a day. */
  merges: number;
  /** Kills that left a file unfinished, or files whose rows another one has too: it was writing, or merging. */
  unfinished: number;
  overlapping: number;
  /** What `history verify` found after a kill. */
  problems: string[];
}

const DAY_MS = 86_400_000;
/** The days of older files: as many as there may be kills, and before those that really pass. */
const DAYS_BACK = 400;

export async function recordAndDie(seed: number, kills: number): Promise<KilledRecording> {
  const org = await startOrganization({ devices: DEVICES, rules: { ban: RULE }, env: SETTINGS });
  await org.composition.close(); // the engine lives in processes of its own
  const dice = new Dice(seed, 'kills of a recording');
  const ids = Array.from({ length: 6 }, () => org.console.fleet.addDevice({ mdm_compromised: 'FALSE' }));
  const change = () => org.console.fleet.patchDevice(dice.pick(ids), { mdm_compromised: dice.pick(['TRUE', 'FALSE']) });
  const folder = historyFolderOf(org.dbFile);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found: KilledRecording = { org, kills: 0, merges: 0, unfinished: 0, overlapping: 0, problems: [] };
  for (let attempt = 0; found.kills < kills && attempt < 2 * kills; attempt += 1) {
    const before = mergedTo(folder);
    const child = start(org);
    await listening(org, child);
    change();
    await moment(org, child, dice);
    if (await killed(child)) found.kills += 1;
    note(found, folder, before);
    const isLast = found.kills >= kills;
    if (isLast || dice.chance(0.5)) growOlder(folder, dayOf(systemClock.nowMs() - (DAYS_BACK - attempt) * DAY_MS));
  }
  const [before, place] = [mergedTo(folder), lastPlace(folder)];
  await lastLife(org, change);
  note(found, folder, before);
  if (lastPlace(folder) === place) found.problems.push('the last life recorded nothing');
  return found;
}

function note(found: KilledRecording, folder: string, mergedBefore: number): void {
  const { segments } = listHistory(folder);
  const runs = segments.filter(({ level }) => level !== 'base');
  if (mergedTo(folder) > mergedBefore) found.merges += 1;
  if (readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('.new'))) found.unfinished += 1;
  if (runs.some(({ last }, at) => (runs[at + 1]?.first ?? last + 1) <= last)) found.overlapping += 1;
  // What is unfinished is no fault: the next life removes it.
  for (const { file, text } of verifyHistory(folder, undefined).problems) found.problems.push(`${file}: ${text}`);
}

/** The last place that a segment of a day has. */
function mergedTo(folder: string): number {
  const days = listHistory(folder).segments.filter(({ level }) => level === 'day');
  return Math.max(0, ...days.map(({ last }) => last));
}

function lastPlace(folder: string): number {
  return Math.max(0, ...listHistory(folder).segments.map(({ last }) => last));
}

/** What was recorded today is of that day, when it is enough to be merged. */
function growOlder(folder: string, day: string): void {
  const today = dayOf(systemClock.nowMs());
  const due = listHistory(folder).segments.filter((one) => one.day === today);
  if (due.length < 2) return;
  mkdirSync(join(folder, day), { recursive: true, mode: 0o700 });
  for (const { file } of due) renameSync(file, join(folder, day, basename(file)));
}

function start({ env }: Organization): ChildProcess {
  return spawn(process.execPath, [built('src/main.ts'), 'serve'], { env: { ...process.env, ...env }, stdio: 'ignore' });
}

/** Until it has written its address, or has ended. */
async function listening({ dbFile }: Organization, child: ChildProcess): Promise<void> {
  const said = () => (existsSync(`${dbFile}.daemon.json`) ? readFileSync(`${dbFile}.daemon.json`, 'utf8') : '');
  while (child.exitCode === null && !said().includes(`"pid":${child.pid},`)) await systemClock.sleep(20);
}

/** Mostly when something happens in the folder of the history: after some of what happens there, and a moment later or not. */
async function moment(org: Organization, child: ChildProcess, dice: Dice): Promise<void> {
  if (dice.chance(0.2)) return systemClock.sleep(dice.whole(0, 1_500));
  await changes(org, child, dice.whole(1, 12));
  if (dice.chance(0.5)) await systemClock.sleep(dice.whole(0, 30));
}

/** So many changes of the history's files; less when the process ends, or nothing more happens. */
async function changes(org: Organization, child: ChildProcess, count: number): Promise<void> {
  const over = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const watcher = watch(historyFolderOf(org.dbFile), { recursive: true }, () => {
    left -= 1;
    if (left <= 0) resolve();
  });
  child.once('exit', () => resolve());
  const tooLong = systemClock.sleep(30_000, over.signal).catch(() => {});
  await Promise.race([promise, tooLong]);
  over.abort();
  watcher.close();
}

/** Kills it; false when it had ended by itself. */
async function killed(child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) return false;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return true;
}

/** It records on, and ends when it is asked to. */
async function lastLife(org: Organization, change: () => void): Promise<void> {
  const child = start(org);
  await listening(org, child);
  change();
  await changes(org, child, 6);
  change();
  await changes(org, child, 6);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
