// harness: a daemon in a separate process, against a console with faults, killed (kill -9) at moments that a seed
// chooses. In: a seed and a number of kills. Out: the database, the console's true effects and writes, and the true
// states over time.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { sqliteDatabase } from '../../src/domain/database.ts';
import { composeReader } from '../../src/runtime/compose/reader.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { built } from '../support/built.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { Dice } from './dice.ts';
import { addCast, changeTroubles, faultsOf, LATER_RULE, RULE, reverseBans, type Troubles } from './troubles.ts';

const ENV = {
  TRUSTWARD_SCHEDULE: '*/5 * * * * *',
  TRUSTWARD_WATCH: '1s',
  TRUSTWARD_ACT_CONCURRENCY: '8',
  TRUSTWARD_LISTEN: '127.0.0.1:0',
  TRUSTWARD_TOKEN: 'a-token-for-nobody-long-enough',
  TRUSTWARD_QUIET_PERIOD: '1500ms',
  TRUSTWARD_REQUEST_TIMEOUT: '1s',
  TRUSTWARD_CEILING_RUN: '10000,100%',
  TRUSTWARD_CEILING_DAY: '100000,100%',
};
export interface KilledLife {
  org: Organization;
  kills: number;
  troubles: Troubles;
}

export async function liveAndDie(seed: number, kills: number): Promise<KilledLife> {
  const org = await startOrganization({ devices: 60, rules: { ban: RULE, later: LATER_RULE }, env: ENV });
  await org.composition.close(); // the engine lives in processes of its own
  const dice = new Dice(seed, 'kills');
  const life: KilledLife = { org, kills: 0, troubles: addCast(org.console) };
  for (let attempt = 0; life.kills < kills && attempt < kills * 2; attempt += 1) {
    reverseBans(org.console, life.troubles, dice);
    changeTroubles(org.console, life.troubles, dice);
    org.console.faults?.set({ seed: dice.whole(1, 1_000_000), faults: faultsOf(dice) });
    const child = start(org);
    // Some die while they start; the others while they run, however long a busy machine takes to start them.
    if (dice.chance(0.2)) await systemClock.sleep(dice.whole(100, 900));
    else {
      await listening(org, child);
      // Long enough for a whole run and the looks after it, or not.
      await systemClock.sleep(dice.whole(0, dice.pick([500, 2_000, 6_000])));
      reverseBans(org.console, life.troubles, dice);
      changeTroubles(org.console, life.troubles, dice);
      await systemClock.sleep(dice.whole(0, dice.pick([500, 2_000])));
    }
    if (await killed(child)) life.kills += 1;
  }
  org.console.faults?.clear();
  await settle(life);
  return life;
}

export function start(org: Organization): ChildProcess {
  return spawn(process.execPath, [built('src/main.ts'), 'serve'], {
    env: { ...process.env, ...org.env },
    stdio: 'ignore',
  });
}

/** Until it has printed its address, or has ended. */
export async function listening({ dbFile }: Organization, child: ChildProcess): Promise<void> {
  // A daemon that ends removes it.
  const said = () => readFile(`${dbFile}.daemon.json`, 'utf8').catch(() => '');
  while (child.exitCode === null && !(await said()).includes(`"pid":${child.pid},`)) await systemClock.sleep(20);
}

/** Kills it; false when it had ended by itself. */
export async function killed(child: ChildProcess): Promise<boolean> {
  const exited = child.exitCode === null ? once(child, 'exit') : undefined;
  const lived = child.exitCode === null;
  child.kill('SIGKILL');
  await exited;
  return lived;
}

/** One more life without faults, until nothing is open any more; it ends on request. */
async function settle({ org }: KilledLife): Promise<void> {
  const child = start(org);
  const exited = once(child, 'exit');
  let quiet = 0;
  for (let look = 0; look < 240 && quiet < 24; look += 1) {
    await systemClock.sleep(500);
    quiet = (await isOpen(org)) ? 0 : quiet + 1;
  }
  child.kill('SIGTERM');
  await exited;
}

async function isOpen(org: Organization): Promise<boolean> {
  const reader = await composeReader(sqliteDatabase(org.dbFile));
  try {
    const open = [
      ...(await reader.intents({ status: 'planned' })),
      ...(await reader.intents({ status: 'sent' })),
      ...(await reader.intents({ outcome: 'unknown' })),
    ];
    return open.length > 0 || (await reader.runs(1))[0]?.status !== 'completed';
  } finally {
    await reader.close();
  }
}
