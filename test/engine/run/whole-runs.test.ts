// test: whole runs over random fleets and answers; on boots of their own; how they give way and show their progress.
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ProgressStep } from '../../../src/domain/replay.ts';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import type { Answer } from '../../support/platform.ts';

const DEVICES = ['d1', 'd2', 'd3'];

const step = fc.record({
  facts: fc.array(
    fc.tuple(fc.constantFrom(...DEVICES), fc.constantFrom('TRUE', 'FALSE', null), fc.constantFrom('TRUE', 'FALSE')),
    { maxLength: 3 },
  ),
  answer: fc.constantFrom<Answer>('done', 'done', 'lost', 'hidden', 'late', 'failed', 'idle'),
  passMs: fc.constantFrom(1_000, QUIET_MS, 60_000),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(steps: Step[], look: (on: OnPlatform) => Promise<void>): Promise<void> {
  const on = startOnPlatform({ rules: [banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other', more: 'for: 30s' })] });
  for (const id of DEVICES) on.platform.addDevice(id);
  for (const { facts, answer, passMs } of steps) {
    for (const [id, status, other] of facts) {
      on.platform.patch(id, { MdmData: { ...(status === null ? {} : { CompromisedStatus: status }), Other: other } });
    }
    for (const id of DEVICES) on.platform.answer(`S-${id}`, answer);
    on.clock.pass(passMs);
    await look(on);
  }
  for (const id of DEVICES) on.platform.answer(`S-${id}`);
  for (let round = 0; round < 4; round += 1) {
    on.clock.pass(QUIET_MS);
    await on.run();
  }
  expect(await on.store.intents({ outcome: 'unknown' })).toEqual([]); // every doubt is confirmed, done or parked
  expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  await on.close();
}

async function runAsForetold(on: OnPlatform): Promise<void> {
  const before = on.platform.sent.length;
  const dry = await on.run('dry-run');
  expect(on.platform.sent.length).toBe(before);
  const live = await on.run();
  const acts = ({ decisions }: typeof dry) =>
    decisions
      .filter(({ decision }) => decision === 'act')
      .map(({ rule, action, target }) => `${rule} ${action} ${target}`);
  expect(acts(live).sort()).toEqual(acts(dry).sort());
}

const histories = fc.array(step, { minLength: 2, maxLength: 8 });

describe('whole runs', () => {
  it('call nothing without an audit entry, and each target once for each doubt', () =>
    fc.assert(
      fc.asyncProperty(histories, (steps) =>
        play(steps, async (on) => {
          await on.run();
          const entries = await on.store.audit({ afterSeq: 0, limit: 10_000 });
          const audited = entries
            .filter(({ kind }) => kind === 'intent.sent')
            .map(({ bytes }) => JSON.parse(bytes) as { body: { action: string; target: string } })
            .map(({ body }) => `${body.action.replace('_device', '')} ${body.target}`);
          expect(audited).toEqual(on.platform.sent);
          for (const { attempts, doubtRetries } of await on.store.intents({})) {
            expect(doubtRetries).toBeLessThanOrEqual(1);
            expect(attempts).toBeLessThanOrEqual(4);
          }
        }),
      ),
      { numRuns: 20 },
    ));

  it('do what the dry run before them named, and the dry run itself sends nothing', () =>
    fc.assert(
      fc.asyncProperty(histories, (steps) => play(steps, runAsForetold)),
      { numRuns: 20 },
    ));

  it('do what the dry run before them showed, including an undo that is parked for one of two claims', () =>
    play(
      [
        { facts: [['d3', 'TRUE', 'TRUE']], answer: 'done', passMs: 1_000 }, // a bans
        { facts: [['d3', 'FALSE', 'TRUE']], answer: 'idle', passMs: 1_000 }, // a's undo is in doubt
        { facts: [], answer: 'done', passMs: 60_000 }, // b adopts the ban: a's undo is parked
        { facts: [['d3', 'FALSE', 'FALSE']], answer: 'done', passMs: 1_000 }, // b clears as well
      ],
      runAsForetold,
    ));
});

describe('one-shot runs, each on another boot', () => {
  const HOUR_MS = 3_600_000;

  let on: OnPlatform;
  let boots: number;
  beforeEach(() => {
    on = startOnPlatform({ rules: [banRule({ cooldown: '1h' })] });
    boots = 0;
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(() => on.close());

  /** An hour later. */
  async function runOnNextBoot(): Promise<Round> {
    boots += 1;
    on.clock.pass(HOUR_MS);
    on.clock.boot = `boot ${boots}`;
    on.restart();
    return on.run();
  }

  const said = ({ decisions }: Round) => decisions.map(({ decision, reason }) => `${decision} ${reason}`).join(', ');

  describe('with each run on another boot', () => {
    it('a failed ban is retried', async () => {
      on.platform.answer('S-d1', 'failed');
      await on.run();
      expect(said(await runOnNextBoot())).toBe('act rule_matches');
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });

    it('a person’s reversal of a ban is recognized', async () => {
      await on.run();
      on.platform.patch('d1', { Banned: 'FALSE' });
      expect(said(await runOnNextBoot())).toBe('skip overridden');
    });

    it('a device that is compromised again is banned again', async () => {
      await on.run();
      on.platform.compromised('d1', 'FALSE');
      await runOnNextBoot();
      await runOnNextBoot();
      on.platform.compromised('d1', 'TRUE');
      await runOnNextBoot();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
    });

    it('a doubt is read back by a run that does not wait', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      await runOnNextBoot();
      expect(on.platform.sent).toHaveLength(2);
    });

    it('an attempt by a clock a year ahead does not block later ones for a year', async () => {
      on.platform.answer('S-d1', 'failed');
      on.clock.now += 365 * 24 * HOUR_MS;
      on.restart();
      await on.run();
      on.clock.now -= 365 * 24 * HOUR_MS;
      expect(said(await runOnNextBoot())).toBe('skip cooldown');
      on.platform.answer('S-d1', 'failed');
      expect(said(await runOnNextBoot())).toBe('act rule_matches');
      on.clock.pass(HOUR_MS - 1);
      expect(said(await on.run())).toBe('skip cooldown');
      on.clock.pass(1);
      expect(said(await on.run())).toBe('act rule_matches');
    });

    it('a doubt of a missing rule is not resolved early by a clock that differs from the server’s', async () => {
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.rules();
      on.platform.skewMs = () => -HOUR_MS;
      await runOnNextBoot();
      expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['unknown']);
    });
  });
});

describe('a run gives way to other work between its long steps, so that a stop is answered', () => {
  /** Counts the turns of the event loop until it is ended. */
  function countTurns(): { now(): number; end(): void } {
    let turns = 0;
    const turn = () => {
      turns += 1;
      immediate = setImmediate(turn);
    };
    let immediate = setImmediate(turn);
    return { now: () => turns, end: () => clearImmediate(immediate) };
  }

  it('the event loop turns before a run commits what it decided', async () => {
    const on = startOnPlatform();
    for (let number = 0; number < 600; number += 1)
      on.platform.addDevice(`d${number}`, { MdmData: { CompromisedStatus: 'TRUE' } });
    const turns = countTurns();
    try {
      const { store } = on.engine;
      const { plans, commitRun } = store;
      const [atPlans, atCommit, atDeciding]: number[][] = [[], [], []];
      on.engine.progress = ({ phase }) => void (phase === 'deciding' && atDeciding?.push(turns.now()));
      store.plans = (...given) => {
        atPlans?.push(turns.now());
        return plans.apply(store, given);
      };
      store.commitRun = (...given) => {
        atCommit?.push(turns.now());
        return commitRun.apply(store, given);
      };
      await on.run('dry-run');
      const [deciding = 0, sealing = 0, committing = 0] = [atDeciding?.[0], atPlans?.[0], atCommit?.[0]];
      expect(sealing - deciding).toBeGreaterThan(20);
      expect(committing - sealing).toBeGreaterThan(1); // a ceiling leaves a hundred to seal
    } finally {
      turns.end();
      await on.close();
    }
  });
});

describe('how far a run shows to be', () => {
  let org: Organization;
  const steps: ProgressStep[] = [];

  beforeAll(async () => {
    org = await startOrganization({ devices: 40, compromised: 2, rules: { ban: BAN_COMPROMISED } });
    org.composition.engine.progress = (step) => steps.push(step);
    await org.run('enforce');
  });
  afterAll(() => org.close());

  it('a run shows each of its phases in order', () => {
    const phases = steps.map(({ phase }) => phase);
    const changes = phases.filter((phase, index) => phase !== phases[index - 1]);
    expect(changes).toEqual(['reading', 'deciding', 'recording', 'acting', 'settling doubts', 'sealing the audit']);
  });

  it('a run shows the records of each source, up to the last one', () => {
    const devices = steps.filter(({ what }) => what === 'devices').map(({ done }) => done);
    expect([devices[0], devices.at(-1)]).toEqual([0, 40]);
  });

  it('a run shows each action before it is attempted, with how many of all are over', async () => {
    const acting = steps.filter(({ phase }) => phase === 'acting');
    const targets = (await org.composition.engine.store.intents({}))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ target }) => `ban_device ${target}`);
    expect(targets).toHaveLength(2);
    expect(acting).toEqual(targets.map((what) => ({ phase: 'acting', what, done: 0, total: 2 }))); // both at once
  });
});
