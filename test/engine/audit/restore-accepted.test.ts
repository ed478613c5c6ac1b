// test: what an accepted older backup must not bring back: used plans, lifted stops, accepted readings, spent ceilings.
// A real engine over loopback; the database is copied and restored as an operator would do it.

import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { answerPlan, applyPlan } from '../../../src/engine/operate/plans.ts';
import type { EngineStore } from '../../../src/engine/run/engine.ts';
import { actorHere } from '../../../src/faces/cli/daemon-client.ts';
import { commandOrThrow } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const ANA = { by: 'ana', reason: 'maintenance' };
let org: Organization;
beforeEach(async () => {
  org = await startOrganization({ devices: 60, env: { TRUSTWARD_CEILING_DAY: '2,0%' } });
});
afterEach(() => org.close());

const engine = () => org.composition.engine;
const store = (): EngineStore => org.composition.engine.store;

/** Returns their ids, which the console uses for the list of effects. */
function compromise(...serials: string[]): string[] {
  return serials.map((serial) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }));
}

async function approvedPlan(): Promise<string> {
  const { run } = await org.run('dry-run');
  return (await answerPlan(engine(), run.planId ?? '', 'approve', { by: 'ana' })).id;
}

async function backUp(): Promise<void> {
  await org.composition.close(); // the write-ahead log goes into the database itself
  copyFileSync(org.dbFile, join(org.dir, 'backup.db'));
  await org.restart();
}

/** Restores the backup, as the manual says. */
async function restore(): Promise<void> {
  await org.composition.close();
  for (const suffix of ['-wal', '-shm']) rmSync(`${org.dbFile}${suffix}`, { force: true });
  copyFileSync(join(org.dir, 'backup.db'), org.dbFile);
  await org.restart();
}

async function accept(): Promise<string> {
  await org.composition.close();
  const { out } = await commandOrThrow(['audit', 'accept-restore', '--reason', 'the disk died'], org.env);
  await org.restart();
  return out;
}

async function bodiesOf(kind: string): Promise<{ [name: string]: unknown }[]> {
  const entries = await store().audit({ kind, limit: 100 });
  return entries.map(({ bytes }) => (JSON.parse(bytes) as { body: { [name: string]: unknown } }).body);
}

describe('a plan approved before the backup', () => {
  it('is not applied a second time over a later reversal', async () => {
    const banned = compromise('USED-1');
    const plan = await approvedPlan();
    await backUp();
    await applyPlan(engine(), plan, { by: 'ana' });
    org.console.fleet.banByHand('USED-1', 'FALSE');
    // Once the quiet period after the call is over, which follows the measured latency.
    const reasons = async () => (await org.run('enforce')).decisions.map(({ reason }) => reason);
    await expect.poll(reasons, { timeout: 60_000 }).toContain('overridden');
    await restore();
    expect((await org.run('dry-run')).run.planId).toBeUndefined(); // all of it is held as `stopped`
    expect(await accept()).toMatch(/1 waiting plan expired/);
    await resumeEverything(engine(), ANA);
    await expect(applyPlan(engine(), plan, { by: 'ana' })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('expired'),
    });
    expect(org.effects('device_banned')).toEqual(banned);
  });

  it('is over, like a waiting one, and the expiry is audited', async () => {
    compromise('USED-1');
    const waiting = (await org.run('dry-run')).run.planId as string;
    await backUp();
    await org.run('dry-run');
    compromise('USED-2');
    await restore();
    expect((await store().plan(waiting))?.status).toBe('pending');
    await accept();
    await expect(answerPlan(engine(), waiting, 'approve', { by: 'ana' })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await bodiesOf('plan.expired')).toMatchObject([
      { plan: waiting, was: 'pending', why: 'a restored backup was accepted' },
    ]);
    await resumeEverything(engine(), ANA);
    await org.run('dry-run');
    expect(await store().plans({ status: 'pending' }, 10)).toHaveLength(1);
  });
});

describe('an accepted backup', () => {
  it('does not act by itself beyond a forgotten stop or ceiling', async () => {
    await org.run('dry-run');
    await backUp();
    const banned = compromise('DAY-1', 'DAY-2');
    await org.run('enforce');
    expect(org.effects('device_banned').sort()).toEqual([...banned].sort());
    await stopEverything(engine(), ANA);
    await restore();
    const said = await accept();
    expect(said).toMatch(/everything is stopped/);
    expect(said).toMatch(/resume --reason/);
    compromise('DAY-3', 'DAY-4');
    const { of } = await org.run('enforce');
    expect(of('hold', 'stopped').map(({ target }) => target)).toEqual(expect.arrayContaining(['DAY-3', 'DAY-4']));
    expect(org.effects('device_banned')).toHaveLength(2);
    expect(await store().stop()).toMatchObject({
      by: actorHere(),
      reason: expect.stringMatching(/restored backup.*the disk died/),
    });
    expect((await bodiesOf('stop.set')).map(({ by }) => by).sort()).toEqual([actorHere(), 'trustward']);
    expect(await org.composition.verifyAudit()).toMatchObject({ ok: true });
  });

  it('keeps the name of whoever had stopped everything before the backup', async () => {
    await stopEverything(engine(), ANA);
    await org.run('dry-run');
    await backUp();
    await resumeEverything(engine(), ANA);
    await org.run('enforce');
    await restore();
    await accept();
    expect((await store().stop())?.reason).toMatch(
      /restored backup.*stopped before: ana stopped everything .*maintenance/,
    );
  });

  it('continues after an operator resumed it', async () => {
    await org.run('dry-run');
    await backUp();
    await org.run('dry-run');
    await restore();
    await accept();
    const later = compromise('LATER-1');
    expect((await org.run('enforce')).of('hold', 'stopped')).toHaveLength(1);
    await resumeEverything(engine(), { by: 'ana', reason: 'the report is right' });
    await org.run('enforce');
    expect(org.effects('device_banned')).toEqual(later);
  });

  it('accepts no reading on an acceptance that was used up since', async () => {
    await org.run('dry-run');
    const taken = {
      source: 'devices',
      at: 1,
      ...ANA,
      run: (await store().latestRun())?.id ?? '',
      causes: [],
      count: 60,
    };
    await store().saveAcceptance(taken as Parameters<EngineStore['saveAcceptance']>[0], []);
    await backUp();
    await org.run('dry-run');
    expect(await store().acceptances()).toEqual([]);
    await org.composition.close();
    for (const suffix of ['-wal', '-shm']) rmSync(`${org.dbFile}${suffix}`, { force: true });
    copyFileSync(join(org.dir, 'backup.db'), org.dbFile);
    await org.restart();
    expect(await store().acceptances()).toHaveLength(1);
    await accept();
    expect(await store().acceptances()).toEqual([]);
  });
});
