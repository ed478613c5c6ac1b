// test: what the server refuses before doing anything (401, 403) is no attempt: nothing waits for a cooldown, nothing is parked or
// counted, and it stays visible until it is done or given up.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const MINUTE = 60_000;
const ANA = { by: 'ana', reason: 'looked at it' };

let dir: string;
let on: OnPlatform;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-refused-'));
  on = startOnPlatform({ file: join(dir, 'trustward.db'), rules: [banRule({ cooldown: '6h' })] });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
});
afterEach(async () => {
  await on.close();
  rmSync(dir, { recursive: true, force: true });
});

/** The next calls for the target are refused. */
function refuse(times: number, answer: 'forbidden' | 'unauthorized' = 'forbidden'): void {
  on.platform.answer('S-d1', ...Array.from({ length: times }, () => answer));
}

/** A run a minute, for so long: at which minutes a call was made. */
async function minutesOfCalls(minutes: number): Promise<number[]> {
  const called: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    const before = on.platform.sent.length;
    await on.run();
    if (on.platform.sent.length > before) called.push(minute);
    on.clock.pass(MINUTE);
  }
  return called;
}

/** The credential that the engine runs with, as another process would have it. */
function useCredential(credential: string): void {
  Object.assign(on.engine.settings.decide, { credential });
  Object.assign(on.engine.settings.act, { credential });
}

describe('a refused call', () => {
  it('is tried again by the next run, well before the cooldown of its rule', async () => {
    refuse(1);
    const { decisions } = await on.run();
    expect(decisions).toMatchObject([{ decision: 'act', outcome: 'failed' }]);
    expect(decisions[0]?.outcomeText).toBe('forbidden (refused before anything was done: no attempt)');
    expect(await on.store.intents({})).toMatchObject([{ outcome: 'failed', attempts: 0, refused: { times: 1 } }]);
    on.clock.pass(MINUTE);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(await on.store.intents({})).toMatchObject([{ outcome: 'succeeded', attempts: 1, refused: undefined }]);
    expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  });

  it('is tried again ever more rarely, but at least once an hour, and is never parked', async () => {
    refuse(1_000);
    expect(await minutesOfCalls(250)).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 124, 184, 244]);
    expect(await on.store.intents({})).toMatchObject([{ outcome: 'failed', attempts: 0, refused: { times: 11 } }]);
  });

  it('shows why nothing is done now, and when it is tried again', async () => {
    refuse(2);
    await on.run();
    await on.run();
    const { decisions } = await on.run();
    expect(decisions).toMatchObject([{ decision: 'skip', reason: 'refused' }]);
    expect(decisions[0]?.reasonText).toBe(
      'the server refused it 2 times in a row, nothing was done; next at 2027-01-15 08:01:00 UTC',
    );
  });

  it('takes no place under a ceiling', async () => {
    refuse(100);
    await minutesOfCalls(20);
    const dayMs = 24 * 60 * MINUTE;
    expect(await on.store.attemptsSince('ban_device', on.clock.nowMs() - dayMs)).toBe(0);
    const { attempts24h, lastAttempts } = await on.store.openState(on.clock.nowMs());
    expect([...attempts24h, ...lastAttempts]).toEqual([]);
    const run = await on.store.latestRun();
    expect((await on.store.attemptsOfRun(run?.id ?? '')).size).toBe(0);
  });

  it('is tried at once with another credential, also by the next process', async () => {
    useCredential('aaaa');
    refuse(8);
    await minutesOfCalls(70);
    expect((await on.run()).decisions).toMatchObject([{ decision: 'skip', reason: 'refused' }]);
    on.restart();
    expect((await on.run()).decisions).toMatchObject([{ decision: 'skip', reason: 'refused' }]);
    useCredential('bbbb');
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });

  it('with 401 ends its run, and what was refused keeps nothing else waiting in the next one', async () => {
    on.platform.addDevice('d2', { MdmData: { CompromisedStatus: 'TRUE' } });
    refuse(2, 'unauthorized');
    await expect(on.run()).rejects.toThrow('unauthorized');
    expect(on.platform.sent).toEqual(['ban S-d1']);
    await expect(on.run()).rejects.toThrow('unauthorized');
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d1']);
    expect(on.platform.effects).toEqual(['ban S-d2']);
  });

  it('of an undo is spaced as well', async () => {
    await on.run();
    on.clock.pass(QUIET_MS);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
    refuse(100);
    expect(await minutesOfCalls(20)).toEqual([0, 1, 2, 4, 8, 16]);
  });
});

describe('a failed intent', () => {
  it('is open until it is done', async () => {
    refuse(1);
    await on.run();
    expect(await on.store.openFailures()).toMatchObject([{ target: 'S-d1', outcome: 'failed' }]);
    await on.run();
    expect(await on.store.openFailures()).toEqual([]);
  });

  it('is open until its match is over', async () => {
    refuse(1);
    await on.run();
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
    await on.run();
    expect(await on.store.openFailures()).toEqual([]);
  });

  it('is open until somebody else has done it', async () => {
    on.platform.answer('S-d1', 'failed');
    await on.run();
    expect(await on.store.openFailures()).toHaveLength(1);
    on.clock.pass(QUIET_MS);
    on.platform.patch('d1', { Banned: 'TRUE' });
    await on.run();
    expect(await on.store.openFailures()).toEqual([]);
  });

  it('that a person gives up is not tried again for its episode', async () => {
    refuse(1);
    await on.run();
    const [failed] = await on.store.openFailures();
    const id = failed?.id ?? '';
    await resolveIntent(on.engine, id, 'not-done', ANA);
    expect(await on.store.openFailures()).toEqual([]);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    await expect(resolveIntent(on.engine, id, 'retry', ANA)).rejects.toThrow(
      `intent ${id} failed, and it was given up or nothing is left to be done`,
    );
  });

  it.each(['failed', 'forbidden'] as const)('that was %s is tried once more when a person says so', async (answer) => {
    on.platform.answer('S-d1', answer, answer);
    await on.run();
    await on.run();
    on.clock.pass(QUIET_MS);
    const [failed] = await on.store.openFailures();
    await resolveIntent(on.engine, failed?.id ?? '', 'retry', ANA);
    on.platform.answer('S-d1', 'done');
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(await on.store.intents({})).toMatchObject([{ outcome: 'succeeded' }]);
  });
});
