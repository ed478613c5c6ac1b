// fidelity: a real daemon that records, killed (kill -9) at moments that a seed chooses, often while a segment is being written. In: a seed and a
// number of kills. Out: the database, its history, and how often it was killed; a last process ends as asked.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { historyFolderOf } from '../../../src/history/files/segment-files.ts';
import { systemClock } from '../../../src/system/clock.ts';
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
}

export async function recordAndDie(seed: number, kills: number): Promise<KilledRecording> {
  const org = await startOrganization({ devices: DEVICES, rules: { ban: RULE }, env: SETTINGS });
  await org.composition.close(); // the engine lives in processes of its own
  const dice = new Dice(seed, 'kills of a recording');
  const ids = Array.from({ length: 6 }, () => org.console.fleet.addDevice({ mdm_compromised: 'FALSE' }));
  const change = () => org.console.fleet.patchDevice(dice.pick(ids), { mdm_compromised: dice.pick(['TRUE', 'FALSE']) });
  await mkdir(historyFolderOf(org.dbFile), { recursive: true, mode: 0o700 });
  let done = 0;
  for (let attempt = 0; done < kills && attempt < 2 * kills; attempt += 1) {
    const child = start(org);
    await listening(org, child);
    change();
    await moment(org, child, dice);
    if (await killed(child)) done += 1;
  }
  await lastLife(org, change);
  return { org, kills: done };
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
  const tooLong = systemClock.sleep(6_000, over.signal).catch(() => {});
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
