// test: the one door to the outside: what is committed before a call, what each answer leads to, what stops it, and that a dry run passes it never.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { openReadOnly } from '../../../src/store/sqlite/database.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

describe('the one door to the outside', () => {
  let dir: string;
  let file: string;
  let on: OnPlatform;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-act-'));
    file = join(dir, 'trustward.db');
    on = startOnPlatform({ file });
  });
  afterEach(async () => {
    await on.close();
    rmSync(dir, { recursive: true, force: true });
  });

  function compromise(...ids: string[]): void {
    for (const id of ids) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  }

  async function auditKinds(target: string): Promise<string[]> {
    const entries = (await on.store.audit({ afterSeq: 0, limit: 1_000 })).filter(({ kind }) =>
      kind.startsWith('intent.'),
    );
    return entries.flatMap(({ kind, bytes }) => {
      const { body } = JSON.parse(bytes) as { body: { target: string; outcome?: string } };
      return body.target === target ? [`${kind} ${body.outcome ?? ''}`.trim()] : [];
    });
  }

  describe('a call', () => {
    it('is never made before its intent is sent and its audit entry is there, as another connection sees it', async () => {
      compromise('d1', 'd2');
      const seen: unknown[] = [];
      on.platform.onWrite = ({ target }) => {
        const other = openReadOnly(file);
        const { status } = other.get<{ status: string }>('SELECT status FROM intents WHERE target = ?', target) ?? {};
        const { kind, bytes } =
          other.get<{ kind: string; bytes: string }>('SELECT * FROM audit ORDER BY seq DESC LIMIT 1') ?? {};
        const attempts = other.all('SELECT * FROM attempts WHERE target = ? AND answered_at IS NULL', target).length;
        other.close();
        seen.push([target, status, kind, bytes?.includes(target), attempts]);
      };
      await on.run();
      expect(seen).toEqual([
        ['S-d1', 'sent', 'intent.sent', true, 1],
        ['S-d2', 'sent', 'intent.sent', true, 1],
      ]);
      expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
    });

    it('is not made when the store cannot commit it', async () => {
      compromise('d1', 'd2');
      const { markSent } = on.store;
      on.store.markSent = async () => {
        throw new AppError('store_failed', 'the disk is full');
      };
      await expect(on.run()).rejects.toThrow('the disk is full');
      expect(on.platform.sent).toEqual([]);
      on.store.markSent = markSent;
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
      expect(await auditKinds('S-d1')).toEqual([
        'intent.planned',
        'intent.withdrawn',
        'intent.planned',
        'intent.sent',
        'intent.settled succeeded',
      ]);
    });

    it('whose outcome cannot be committed is in doubt afterwards, and is found done without a second call', async () => {
      compromise('d1');
      const { settle } = on.store;
      on.store.settle = async () => {
        throw new AppError('store_failed', 'the disk is full');
      };
      await expect(on.run()).rejects.toThrow('the disk is full');
      on.store.settle = settle;
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(await auditKinds('S-d1')).toEqual([
        'intent.planned',
        'intent.sent',
        'intent.settled unknown',
        'intent.settled confirmed',
      ]);
    });

    it('sends what was just read of each device, and bans every device of the serial number', async () => {
      compromise('d1');
      on.platform.addDevice('d2', { SerialNumber: 'S-d1' });
      await on.run();
      expect(on.platform.isBanned('S-d1')).toBe(true);
      expect(on.platform.sent).toEqual(['ban S-d1']);
    });

    it('that reports success and does not read back as done is in doubt', async () => {
      compromise('d1');
      on.platform.answer('S-d1', 'idle');
      await on.run();
      expect(await on.intents()).toMatchObject([{ outcome: 'unknown' }]);
    });

    it('that is answered 401 ends the run: the rest is planned again by the next one', async () => {
      compromise('d1', 'd2');
      on.platform.answer('S-d1', 'unauthorized');
      await expect(on.run()).rejects.toMatchObject({ code: 'api_refused' });
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(await on.intents()).toMatchObject([
        { target: 'S-d1', status: 'settled', outcome: 'failed' },
        { target: 'S-d2', status: 'planned' },
      ]);
      await on.run();
      expect(on.platform.effects.sort()).toEqual(['ban S-d1', 'ban S-d2']);
    });
  });

  describe('preflight', () => {
    it('withdraws what was done or went away since the snapshot', async () => {
      compromise('d1', 'd2', 'd3');
      on.platform.onWrite = ({ target }) => {
        if (target !== 'S-d1') return;
        on.platform.patch('d2', { Banned: 'TRUE' });
        on.platform.devices.delete('d3');
      };
      const { decisions } = await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(decisions.map(({ target, decision, reason }) => [target, decision, reason]).sort()).toEqual([
        ['S-d1', 'act', 'rule_matches'],
        ['S-d2', 'skip', 'already_so'],
        ['S-d3', 'skip', 'drifted'],
      ]);
    });

    it('names the field that drifted', async () => {
      compromise('d1', 'd2');
      on.platform.onWrite = () => on.platform.compromised('d2', 'FALSE');
      const { decisions } = await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(decisions.find(({ target }) => target === 'S-d2')).toMatchObject({
        reason: 'drifted',
        reasonText: 'changed since it was decided: MdmData.CompromisedStatus was "TRUE" and is "FALSE"',
      });
    });

    it('does not take along a device that joined the serial number since', async () => {
      compromise('d1', 'd2');
      on.platform.onWrite = () => on.platform.addDevice('d9', { SerialNumber: 'S-d2', Model: 'another' });
      const { decisions } = await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(decisions.find(({ target }) => target === 'S-d2')).toMatchObject({
        reason: 'drifted',
        reasonText: expect.stringContaining('d9'),
      });
    });

    it('withdraws what cannot be read, and goes on', async () => {
      compromise('d1', 'd2');
      const read = on.platform.devicesOfSerial.bind(on.platform);
      on.platform.devicesOfSerial = async (serial) => {
        if (serial === 'S-d1') throw new AppError('api_unreachable', 'the connection was refused');
        return read(serial);
      };
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d2']);
    });
  });

  describe('what stops acting', () => {
    it('a ceiling: the calls of a run and of a day never cross it, retries and undoings included', async () => {
      await on.close();
      const ceilings = { run: { max: 2, percent: 0 }, day: { max: 3, percent: 0 } };
      on = startOnPlatform({
        file: join(dir, 'other.db'),
        settings: (given) => ({ ...given, act: { ...given.act, ceilings } }),
      });
      compromise('d1', 'd2', 'd3', 'd4', 'd5');
      on.platform.answer('S-d1', 'failed');
      const { decisions } = await on.run();
      expect(on.platform.sent).toHaveLength(2);
      expect(decisions.filter(({ reason }) => reason === 'ceiling')).toHaveLength(3);
      await on.run();
      expect(on.platform.sent).toHaveLength(3);
      await on.run();
      expect(on.platform.sent).toHaveLength(3);
      on.clock.pass(86_400_001);
      await on.run();
      expect(on.platform.sent).toHaveLength(5);
    });

    it.each([
      ['failed', 'failed'],
      ['doubtful', 'lost'],
    ] as const)('the breaker: after five %s attempts a run stops acting', async (_, answer) => {
      const ids = Array.from({ length: 8 }, (_, index) => `d${index}`);
      compromise(...ids);
      for (const id of ids) on.platform.answer(`S-${id}`, answer, answer, answer);
      await on.run();
      expect(on.platform.sent).toHaveLength(5);
    });

    it('the end of the process: nothing new is begun, and nothing is lost', async () => {
      compromise('d1', 'd2', 'd3');
      const stopping = new AbortController();
      Object.assign(on.engine, { signal: stopping.signal });
      on.platform.onWrite = () => stopping.abort();
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      Object.assign(on.engine, { signal: new AbortController().signal });
      on.platform.onWrite = () => {};
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3']);
    });
  });

  describe('a definite failure', () => {
    it('is tried as often as the budget allows, then parked', async () => {
      compromise('d1');
      on.platform.answer('S-d1', 'failed', 'failed', 'failed', 'failed');
      for (let round = 0; round < 6; round += 1) await on.run();
      expect(on.platform.sent).toHaveLength(3);
      expect(await on.intents()).toMatchObject([{ status: 'settled', outcome: 'parked' }]);
    });

    it('whose next try is withdrawn keeps its count of attempts', async () => {
      compromise('d1');
      on.platform.answer('S-d1', 'failed', 'failed', 'failed', 'failed', 'failed');
      await on.run();
      on.platform.readFault = new AppError('api_unreachable', 'the connection was refused');
      await on.run();
      on.platform.readFault = undefined;
      for (let round = 0; round < 6; round += 1) await on.run();
      expect(on.platform.sent).toHaveLength(3);
      expect(await on.intents()).toMatchObject([{ outcome: 'parked' }]);
    });
  });

  describe('undoing', () => {
    it('bans, unbans, and ends the claim', async () => {
      compromise('d1');
      await on.run();
      on.platform.compromised('d1', 'FALSE');
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
      expect(await on.store.claims({ status: 'standing' })).toEqual([]);
    });

    it('of two rules looks at both before the call', async () => {
      on.rules(banRule(), banRule({ id: 'other', field: 'Other' }));
      on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
      on.platform.addDevice('d0');
      await on.run();
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' } });
      const read = on.platform.devicesOfSerial.bind(on.platform);
      on.platform.devicesOfSerial = async (serial) => {
        on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
        return read(serial);
      };
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1']);
    });
  });
});

describe('what the server refuses before doing anything (401, 403) is no attempt', () => {
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
        `action ${id} failed, and it was given up or nothing is left to be done`,
      );
    });

    it.each(['failed', 'forbidden'] as const)(
      'that was %s is tried once more when a person says so',
      async (answer) => {
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
      },
    );
  });
});

describe('a dry run sends no writing request, whatever earlier live runs left behind', () => {
  let on: OnPlatform;
  beforeEach(() => {
    on = startOnPlatform();
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(() => on.close());

  describe('a dry run', () => {
    it('shows what a live run would do, and sends nothing', async () => {
      const { decisions } = await on.run('dry-run');
      expect(decisions).toMatchObject([{ decision: 'act', outcome: 'dry_run', target: 'S-d1' }]);
      expect(on.platform.sent).toEqual([]);
    });

    it('does not send again what failed in a live run before it', async () => {
      on.platform.answer('S-d1', 'failed');
      await on.run('enforce');
      expect(on.platform.sent).toEqual(['ban S-d1']);
      const { decisions } = await on.run('dry-run');
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(decisions).toMatchObject([{ decision: 'act', mode: 'dry-run' }]);
    });

    it('does not send again what a live run left in doubt; the next live run does, once', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run('enforce');
      on.clock.pass(QUIET_MS);
      await on.run('dry-run');
      expect(on.platform.sent).toEqual(['ban S-d1']);
      expect(await on.intents()).toMatchObject([{ status: 'settled', outcome: 'unknown' }]);
      await on.run('enforce');
      expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
    });

    it('is what a run becomes when the daemon has mode dry-run, and when the rule has', async () => {
      on.rules(banRule({ mode: 'dry-run' }));
      await on.run('enforce');
      const capped = startOnPlatform({ daemonMode: 'dry-run' });
      capped.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
      const { decisions } = await capped.run('enforce');
      expect(decisions).toMatchObject([{ decision: 'act', mode: 'dry-run', cappedBy: 'daemon', outcome: 'dry_run' }]);
      expect([...on.platform.sent, ...capped.platform.sent]).toEqual([]);
      await capped.close();
    });

    it('does not send a retry for a rule that was set to dry-run after its call was lost', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run('enforce');
      on.clock.pass(QUIET_MS);
      on.rules(banRule({ mode: 'dry-run' }));
      await on.run('enforce');
      expect(on.platform.sent).toEqual(['ban S-d1']);
    });
  });
});
