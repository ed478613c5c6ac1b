// test: doubts: quiet period, reading back, at most one retry, when a person is needed; after a restart, and on a platform that is slow.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

describe('doubts', () => {
  let on: OnPlatform;
  let isJumped: boolean;
  beforeEach(() => {
    isJumped = false;
    on = startOnPlatform();
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(() => on.close());

  /** The wall clock is set by so much; the monotonic one goes on. */
  function jump(ms: number): void {
    const { clock } = on;
    const nowMs = clock.nowMs.bind(clock);
    clock.nowMs = () => nowMs() + ms;
  }

  /** Answers by how much less of a wait has passed. */
  function jumpOnce(): number {
    if (isJumped) return 0;
    isJumped = true;
    jump(60_000);
    return 1_000;
  }

  const outcomes = async () => (await on.intents()).map(({ outcome }) => outcome);

  describe('a call whose answer never came', () => {
    it('is not sent again within the quiet period', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS - 1);
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['unknown']);
    });

    it('and that had its effect is confirmed by reading back, and is a claim from then on', async () => {
      on.platform.answer('S-d1', 'hidden');
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['confirmed']);
      on.platform.compromised('d1', 'FALSE');
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    });

    it('and that has its effect late is confirmed, not repeated', async () => {
      on.platform.answer('S-d1', 'late');
      await on.run();
      expect(on.platform.effects).toEqual([]);
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(await outcomes()).toEqual(['confirmed']);
    });

    it('and that has its effect between the two reads is confirmed, not repeated', async () => {
      on.platform.lateMs = QUIET_MS + 1_000;
      on.platform.answer('S-d1', 'late');
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(on.platform.sent).toHaveLength(1);
    });

    it('and that had no effect is sent once more after two agreeing reads, and then parked', async () => {
      on.platform.answer('S-d1', 'lost', 'lost', 'lost');
      for (let round = 0; round < 5; round += 1) {
        await on.run();
        on.clock.pass(QUIET_MS);
      }
      expect(on.platform.sent).toHaveLength(2);
      expect(await outcomes()).toEqual(['parked']);
    });

    it.each([3_600_000, -3_600_000])('is sent again early when the wall clock jumps by %i ms', async (ms) => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(1_000);
      jump(ms);
      await on.run();
      on.clock.pass(QUIET_MS - 1);
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      on.clock.pass(1);
      await on.run();
      expect(on.platform.sent).toHaveLength(2);
    });

    it('waits in a one-shot run for what is left of the quiet period, also after the clock was set back', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(5_000);
      jump(-3_600_000);
      const beforeMs = on.clock.now;
      await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
      expect(on.platform.sent).toHaveLength(2);
      expect(on.clock.now - beforeMs).toBeLessThanOrEqual(QUIET_MS + 2_000);
    });

    it.each([
      ['its timer fires early', (ms: number) => on.clock.pass(Math.max(1, ms - 1))],
      ['the clock jumps meanwhile', (ms: number) => on.clock.pass(ms - jumpOnce())],
    ])('is left without a look by a one-shot run that waits, when %s', async (_, pass) => {
      on.clock.sleep = async (ms) => pass(ms);
      on.platform.answer('S-d1', 'hidden');
      await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
      expect(await outcomes()).toEqual(['confirmed']);
    });

    it('is waited for without an end by a one-shot run whose clock keeps jumping', async () => {
      on.clock.sleep = async (ms) => {
        on.clock.pass(ms);
        jump(60_000);
      };
      on.platform.answer('S-d1', 'hidden');
      await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
      expect(await outcomes()).toEqual(['unknown']);
    });

    it('stays in doubt while the target cannot be read', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.readFault = new AppError('api_unreachable', 'the connection was refused');
      await on.run();
      expect(await outcomes()).toEqual(['unknown']);
      on.platform.readFault = undefined;
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('is parked when the target is gone', async () => {
      on.platform.addDevice('d2');
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.devices.delete('d1');
      await on.run();
      expect(await outcomes()).toEqual(['parked']);
    });

    it('is parked, not sent again, when the match is over by then', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.compromised('d1', 'FALSE');
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['parked']);
    });

    it('is sent again for a match that was over and came back, beside that episode’s own', async () => {
      on.platform.answer('S-d1', 'lost');
      for (const trouble of ['TRUE', 'FALSE', 'TRUE'] as const) {
        on.platform.compromised('d1', trouble);
        await on.run();
      }
      on.clock.pass(QUIET_MS);
      await on.run();
      expect([on.platform.sent.length, await outcomes()]).toEqual([1, ['parked']]);
      await on.run();
      expect([on.platform.sent.length, (await outcomes()).sort()]).toEqual([2, ['parked', 'succeeded']]);
    });

    it('is not sent again when it was seen done and a person undid it', async () => {
      on.platform.answer('S-d1', 'hidden');
      await on.run();
      await on.run(); // within the quiet period: the ban is seen
      on.platform.patch('d1', { Banned: 'FALSE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['parked']);
    });

    it('of one rule is left alone by a run over another', async () => {
      on.rules(banRule(), banRule({ id: 'other', field: 'Other' }));
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run('enforce', ['other']);
      expect(await outcomes()).toEqual(['unknown']);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('is not sent again on an untrusted snapshot', async () => {
      for (let index = 0; index < 20; index += 1) on.platform.addDevice(`x${index}`);
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.skewMs = () => 3_600_000;
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['unknown']);
    });

    it('is no obstacle for the store when its episode adopted a claim meanwhile', async () => {
      on.rules(banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other' }));
      await on.run(); // a bans
      on.platform.patch('d1', { Banned: 'FALSE', MdmData: { Other: 'TRUE' } }); // a person lifts it; a is unknown, b matches
      on.clock.pass(QUIET_MS);
      on.platform.answer('S-d1', 'late');
      await on.run();
      on.clock.pass(on.platform.lateMs);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(new Set(await outcomes())).not.toContain('unknown');
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });
  });

  describe('a ban that was sent while the wall clock was wrong', () => {
    it('is taken for reversed by a stale read right after it was set right', async () => {
      on.clock.pass(3_600_000);
      const { devicesOfSerial } = on.platform;
      on.platform.devicesOfSerial = async (serial) => {
        on.platform.devicesOfSerial = devicesOfSerial;
        jump(3_600_000);
        return devicesOfSerial.call(on.platform, serial);
      };
      await on.run();
      jump(-3_600_000);
      on.clock.pass(1_000);
      on.platform.patch('d1', { Banned: 'FALSE' }); // a stale read looks the same
      const { decisions } = await on.run();
      expect(decisions.map(({ reason }) => reason)).toEqual(['already_acted']);
    });
  });

  describe('an undo in doubt', () => {
    async function banned(): Promise<void> {
      on.rules(banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other' }));
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.compromised('d1', 'FALSE');
      on.platform.answer('S-d1', 'lost');
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
    }

    it('is sent once more when it had no effect', async () => {
      await banned();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    });

    it('is not sent again when another rule proposes the ban by then', async () => {
      await banned();
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
      await on.run();
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.isBanned('S-d1')).toBe(true);
      expect(on.platform.sent).toHaveLength(2);
    });

    it('and done late does not leave a device inside whose match came back', async () => {
      on.platform.answer('S-d1');
      await on.run();
      on.clock.pass(QUIET_MS);
      on.platform.compromised('d1', 'FALSE');
      on.platform.answer('S-d1', 'late');
      await on.run();
      on.platform.compromised('d1', 'TRUE');
      await on.run();
      for (let round = 0; round < 3; round += 1) {
        on.clock.pass(QUIET_MS);
        await on.run();
      }
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });
  });

  describe('what an earlier process left', () => {
    it('before its call is withdrawn, and decided again', async () => {
      await on.run('dry-run');
      const [dry] = await on.store.intents({});
      const run = await on.store.latestRun();
      await on.store.changePlan(
        {
          id: 'p',
          digest: '',
          runId: run?.id ?? '',
          mode: 'enforce',
          status: 'applying',
          intents: [],
          createdAt: 0,
          expiresAt: 0,
          decidedAt: undefined,
          decidedBy: undefined,
          decidedReason: undefined,
        },
        [{ ...dry!, id: 'left', mode: 'enforce', status: 'planned', outcome: undefined }],
        [],
      );
      await on.run();
      expect((await on.store.intents({ ids: ['left'] }))[0]).toMatchObject({ status: 'withdrawn' });
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });

    it('in doubt is waited for once by a run that has no next one', async () => {
      on.platform.answer('S-d1', 'hidden');
      await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
      expect(await outcomes()).toEqual(['confirmed']);
    });
  });
});

describe('doubts of an earlier process, while the wall clock was set and no process ran to see it', () => {
  const HOUR_MS = 3_600_000;

  let on: OnPlatform;
  /** How far the wall clock was set. */
  let setMs: number;
  beforeEach(() => {
    on = startOnPlatform();
    setMs = 0;
    const nowMs = on.clock.nowMs.bind(on.clock);
    on.clock.nowMs = () => nowMs() + setMs;
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(() => on.close());

  /** A run right after the restart sends nothing; one after a quiet period of it sends again. */
  async function expectQuietAnew(): Promise<void> {
    await on.run();
    expect(on.platform.sent).toHaveLength(1);
    on.clock.pass(QUIET_MS - 1);
    on.restart();
    await on.run();
    expect(on.platform.sent).toHaveLength(1);
    on.clock.pass(1);
    await on.run();
    expect(on.platform.sent).toHaveLength(2);
  }

  describe('a call whose answer never came', () => {
    it.each([HOUR_MS, -HOUR_MS, QUIET_MS])(
      'is sent again early when the clock is set by %i ms meanwhile',
      async (ms) => {
        on.platform.answer('S-d1', 'lost');
        await on.run();
        on.clock.pass(1_000);
        setMs = ms;
        on.restart();
        await expectQuietAnew();
      },
    );

    it('is sent again early when the clock, wrong at the call, is set right meanwhile', async () => {
      setMs = -HOUR_MS;
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(1_000);
      setMs = 0;
      on.restart();
      await expectQuietAnew();
    });

    it('is sent again early when the machine started anew meanwhile', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(1_000);
      on.clock.boot = 'the second boot';
      on.restart();
      await expectQuietAnew();
    });

    it('is waited for anew by each process while the clock goes right', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS - 1);
      on.restart();
      on.clock.pass(1);
      on.restart();
      await on.run();
      expect(on.platform.sent).toHaveLength(2);
    });
  });

  describe('a ban that a person reverses', () => {
    it('is taken for reversed at once when the clock is set forward after it, while no process runs', async () => {
      await on.run();
      on.clock.pass(1_000);
      setMs = HOUR_MS;
      on.restart();
      on.platform.patch('d1', { Banned: 'FALSE' });
      const early = await on.run();
      expect(early.decisions.map(({ reason }) => reason)).not.toContain('overridden');
      on.clock.pass(QUIET_MS);
      const late = await on.run();
      expect(late.decisions.map(({ reason }) => reason)).toContain('overridden');
    });
  });
});

describe('effects that come later than the configured quiet period', () => {
  let on: OnPlatform;
  beforeEach(() => {
    on = startOnPlatform();
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    on.platform.timeoutMs = 10_000;
    on.restart();
    on.platform.lateMs = 30_000;
  });
  afterEach(() => on.close());

  const outcomes = async () => (await on.intents()).map(({ outcome }) => outcome);

  describe('a platform that is 30 s slow', () => {
    it('bans a device once: its effect is waited for', async () => {
      on.platform.answer('S-d1', 'slow', 'slow');
      for (let round = 0; round < 6; round += 1) {
        await on.run();
        on.clock.pass(QUIET_MS);
      }
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(on.platform.sent).toHaveLength(1);
      expect(await outcomes()).toEqual(['confirmed']);
    });
  });

  describe('a process that ends while a platform is 30 s slow', () => {
    it.each(['before', 'after'])('%s its call has an outcome: the next one bans no device twice', async (when) => {
      const { store } = on.engine;
      on.platform.answer('S-d1', 'slow', 'slow');
      const settle = store.settle.bind(store);
      store.settle = async (settled) => {
        if (when === 'before') throw new Error('the process ends here');
        return settle(settled);
      };
      await on.run().catch(() => {});
      store.settle = settle;
      for (let round = 0; round < 6; round += 1) {
        on.restart();
        await on.run();
        on.clock.pass(QUIET_MS);
      }
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(on.platform.sent).toHaveLength(1);
    });
  });

  describe('a one-shot run on a platform that is 30 s slow', () => {
    it('waits for the effect, and finds it done', async () => {
      on.platform.answer('S-d1', 'slow', 'slow');
      await runCycle(on.engine, { mode: 'enforce', trigger: 'command', rules: undefined, waitForDoubts: true });
      expect(await outcomes()).toEqual(['confirmed']);
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });
  });

  describe('an effect that comes later than the period in force', () => {
    it('is repeated once, and both calls are audited', async () => {
      on.platform.lateMs = 300_000;
      on.platform.answer('S-d1', 'slow', 'done');
      for (let round = 0; round < 30; round += 1) {
        await on.run();
        on.clock.pass(QUIET_MS);
      }
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d1']);
      const sent = await on.store.audit({ kind: 'intent.sent', limit: 10 });
      expect(sent).toHaveLength(2);
    });
  });
});
