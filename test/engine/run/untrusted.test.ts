// test: sources that drift, stand still or cannot be used: nothing is done on them, and nothing is taken away; fields that only sound like secrets count.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { LIMITS_DEFAULT } from '../../../src/domain/rule.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { acceptSnapshot, addExemption } from '../../../src/engine/operate/commands.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { sourceChecks } from '../../../src/runtime/daemon/readiness.ts';
import { migrate, readMigrations, type SqliteDb } from '../../../src/store/sqlite/database.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';
import { compromise, lookOn } from '../../support/looks.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import { reportText } from '../../support/readable.ts';

describe('a fleet that drifts by a little in each run', () => {
  const FLEET = 200;
  const RUN_MS = 300_000;
  const DAY_MS = 86_400_000;

  let on: OnPlatform;
  let flipped: number;

  beforeEach(async () => {
    flipped = 0;
    on = startOnPlatform({
      rules: [banRule()],
      settings: (settings) => ({
        ...settings,
        trust: TRUST_DEFAULT,
        act: { ...settings.act, ceilings: { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } } },
        decide: {
          ...settings.decide,
          ceilings: { run: { max: 1_000, percent: 100 }, day: { max: 1_000, percent: 100 } },
        },
      }),
    });
    for (let number = 1; number <= FLEET; number += 1) on.platform.addDevice(`d${number}`);
    await on.run();
  });
  afterEach(() => on.close());

  async function runWith(flips: number): Promise<string[]> {
    flip(flips);
    const { run } = await on.run();
    return (run.findings?.snapshot.sources.devices.reasons ?? []).map(({ code }) => code);
  }

  /** A run's time later. */
  function flip(flips: number): void {
    for (let more = 0; more < flips; more += 1) {
      flipped += 1;
      on.platform.compromised(`d${flipped}`, 'TRUE');
    }
    on.clock.pass(RUN_MS);
  }

  describe('a fleet that drifts by a little in each run', () => {
    it('loses trust before more than a quarter of it is acted on', async () => {
      const codes: string[] = [];
      for (let run = 0; run < 12; run += 1) codes.push(...(await runWith(10)));
      expect(on.platform.effects).toHaveLength(50);
      // From the tenth run on it differs that much from the last trusted reading, too.
      expect(codes).toEqual([...Array(4).fill('fact_drifted'), ...Array(3).fill('fact_moved')]);
    });

    it('is trusted again when a person accepts it, and is compared from there on', async () => {
      for (let run = 0; run < 6; run += 1) await runWith(10);
      expect(on.platform.effects).toHaveLength(50);
      await acceptSnapshot(on.engine, 'devices', { by: 'ada', reason: 'a real outbreak' });
      expect(await runWith(0)).toEqual([]);
      expect(on.platform.effects).toHaveLength(60);
      for (let run = 0; run < 5; run += 1) expect(await runWith(10)).toEqual([]);
      expect(await runWith(1)).toEqual(['fact_drifted']);
    });
  });

  describe('a rule without limits for a day', () => {
    /** As many as one run may have: 10 of 200 are 5 %. */
    async function drifting(limits: LoadedRule['limits'], flips: number, runs: number): Promise<Round[]> {
      on.rules({ ...banRule(), limits });
      on.engine.settings.trust = { ...TRUST_DEFAULT, driftDayPercent: 100, driftWeekPercent: 100 };
      const rounds: Round[] = [];
      for (let run = 0; run < runs; run += 1) {
        flip(flips);
        rounds.push(await on.run());
      }
      return rounds;
    }

    it.each([
      ['12 runs that flip ten each', 10, 12],
      ['60 runs that flip one each', 1, 60],
    ])('acts on twice what one run may take within 24 hours, and holds the rest, in %s', async (_, flips, runs) => {
      const rounds = await drifting(LIMITS_DEFAULT, flips, runs);
      expect(on.platform.effects).toHaveLength(20);
      const held = rounds.flatMap(({ decisions }) => decisions).filter(({ decision }) => decision === 'hold');
      expect(held.length).toBeGreaterThan(0);
      expect(new Set(held.map(({ reason }) => reason))).toEqual(new Set(['limits']));
      expect(held[0]?.reasonText).toMatch(/^\d+ subjects within 24 hours cross the rule's limit \(per_day 20\)$/);
    });
  });

  describe('`limits.per_day`', () => {
    const limits = { max: 25, percent: 100, perDay: 3 };

    beforeEach(() => {
      on.rules({ ...banRule(), limits });
    });

    it('holds what newly matches beyond it, until 24 hours have passed', async () => {
      for (let run = 0; run < 5; run += 1) await runWith(1);
      expect(on.platform.effects).toHaveLength(3);
      on.clock.pass(DAY_MS);
      await on.run(); // silent for a day: dry
      await on.run();
      expect(on.platform.effects).toHaveLength(5);
    });

    it('is in the report of the run that it holds, with what is used of it', async () => {
      for (let run = 0; run < 3; run += 1) await runWith(1);
      flip(1);
      const report = await buildReport(on.store, (await on.run()).run);
      expect(report.limits).toMatchObject([
        { targets: 1, crossed: false, inDay: { subjects: 4, allowed: 3, crossed: true } },
      ]);
      expect(reportText(report)).toMatch(/ban +│ per_day 3 +│ 4 of 3, crossed +│/);
    });

    it('counts one that clears and matches again once', async () => {
      await runWith(2);
      for (let again = 0; again < 5; again += 1) {
        on.platform.compromised('d1', 'FALSE');
        on.clock.pass(RUN_MS);
        await on.run();
        on.platform.compromised('d1', 'TRUE');
        on.clock.pass(RUN_MS);
        await on.run();
      }
      await runWith(1);
      expect(on.platform.effects.filter((effect) => effect === 'ban S-d1')).toHaveLength(6);
      expect(on.platform.effects.at(-1)).toBe('ban S-d3');
    });

    it('counts those that have cleared, and what looks did', async () => {
      await runWith(2);
      for (const id of ['d1', 'd2']) on.platform.compromised(id, 'FALSE');
      on.clock.pass(RUN_MS);
      await on.run();
      flipped = 2;
      on.clock.pass(30_000);
      compromise(on, 'd3');
      await lookOn(on);
      compromise(on, 'd4');
      await lookOn(on);
      expect(on.platform.effects.filter((effect) => effect.startsWith('ban'))).toHaveLength(3);
      const [last] = await on.store.decisions({ limit: 1 });
      expect(last).toMatchObject({ decision: 'hold', reason: 'limits', target: 'S-d4' });
    });

    it('is lifted by an approval, for exactly what the plan has', async () => {
      for (let run = 0; run < 4; run += 1) await runWith(1);
      const { plan } = await on.run();
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toHaveLength(4);
      await runWith(1);
      expect(on.platform.effects).toHaveLength(4);
    });

    it('counts no match that was over before `for`', async () => {
      on.rules({ ...banRule(), limits, forMs: 2 * RUN_MS });
      await runWith(10);
      for (let number = 1; number <= 10; number += 1) on.platform.compromised(`d${number}`, 'FALSE');
      await runWith(3);
      for (let run = 0; run < 3; run += 1) await runWith(0);
      expect(on.platform.effects).toHaveLength(3);
    });
  });
});

describe('the life of a fleet under a feed that stands still', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const EVERY = 20 * MINUTE;
  const ADA = { by: 'ada', reason: 'maintenance of the platform' };

  let on: OnPlatform;
  let frozen: Facts[] | undefined;

  beforeEach(async () => {
    frozen = undefined;
    on = startOnPlatform({ rules: [banRule()] });
    const { platform } = on;
    const { pages, stream } = platform;
    platform.pages = async function* (source) {
      if (frozen) yield { records: frozen, total: frozen.length };
      else yield* pages.call(platform, source);
    };
    platform.stream = async function* (source) {
      if (frozen) yield frozen;
      else yield* stream.call(platform, source);
    };
    for (let no = 0; no < 20; no += 1) platform.addDevice(`d${no}`);
    await live(30 * HOUR);
  });

  afterEach(() => on.close());

  /** Each run, every device has reported. A frozen list does not show it. */
  async function step(): Promise<Round> {
    on.clock.pass(EVERY);
    for (const [id, device] of on.platform.devices) {
      const MdmData = { ...(device.MdmData as Facts), Timestamp: BigInt(on.clock.now - MINUTE) * 1_000_000n };
      on.platform.patch(id, { MdmData });
    }
    return on.run();
  }

  async function live(ms: number): Promise<Round[]> {
    const rounds: Round[] = [];
    for (const until = on.clock.now + ms; on.clock.now < until; ) rounds.push(await step());
    return rounds;
  }

  const listNow = () => [...on.platform.devices.values()].map((device) => ({ ...device }));
  const causes = ({ run }: Round) => run.findings?.snapshot.sources.devices.reasons.map(({ code }) => code);
  const reported = (id: string, CompromisedStatus: string) => {
    const { MdmData } = on.platform.devices.get(id) as { MdmData: Facts };
    on.platform.patch(id, { MdmData: { ...MdmData, CompromisedStatus } });
  };

  describe('a feed that stands still', () => {
    it.each<[string, () => Promise<Facts[]>]>([
      [
        'as it was before our own ban',
        async () => {
          reported('d1', 'TRUE');
          const before = listNow();
          await on.run();
          return before;
        },
      ],
      [
        'with a list that was read before it',
        async () => {
          const before = listNow();
          await on.run();
          reported('d1', 'TRUE');
          await step();
          await step();
          return before;
        },
      ],
      [
        'with a list of the day before',
        async () => {
          const before = listNow();
          await live(24 * HOUR);
          reported('d1', 'TRUE');
          await step();
          return before;
        },
      ],
    ])(
      '%s is named at once; our ban is not taken for lifted, and afterwards all goes on as before',
      async (_, freeze) => {
        frozen = await freeze();
        expect(on.platform.isBanned('S-d1')).toBe(true);
        const sent = on.platform.sent.length;
        const rounds = await live(12 * HOUR);
        expect(new Set(rounds.map((round) => causes(round)?.join()))).toEqual(new Set(['stands_still']));
        expect(on.platform.sent).toHaveLength(sent);
        expect((await on.store.openState(on.clock.now)).claims).toMatchObject([{ target: 'S-d1', status: 'standing' }]);

        frozen = undefined;
        reported('d1', 'FALSE');
        reported('d2', 'TRUE');
        expect(causes(await step())).toEqual([]);
        await live(2 * HOUR);
        expect([on.platform.isBanned('S-d1'), on.platform.isBanned('S-d2')]).toEqual([false, true]);
        reported('d1', 'TRUE');
        await live(2 * HOUR);
        expect(on.platform.isBanned('S-d1')).toBe(true);
        expect(on.platform.effects.filter((effect) => effect.endsWith('d1'))).toEqual([
          'ban S-d1',
          'unban S-d1',
          'ban S-d1',
        ]);
      },
    );

    it('without any act of ours is named within two runs after eight times its longest rest, and after three in the second week', async () => {
      const runsUntilNamed = async () => {
        frozen = listNow();
        const rounds = await live(6 * HOUR);
        frozen = undefined;
        await live(HOUR);
        return rounds.findIndex((round) => causes(round)?.includes('stands_still')) + 1;
      };
      // Its longest rest is the time between two runs.
      const first = await runsUntilNamed();
      await live(7 * 24 * HOUR);
      expect([first, await runsUntilNamed()].map((runs, week) => runs - ([8, 3][week] as number))).toEqual([
        expect.toBeOneOf([0, 1, 2]),
        expect.toBeOneOf([0, 1, 2]),
      ]);
    });

    it('is shown with its time by `/readyz` and in an alert, once', async () => {
      const alerts = alertsOf(on);
      frozen = listNow();
      await live(8 * HOUR);
      const text = /devices are not trusted.*stands still: its newest report is of 2027-01-\d\d \d\d:\d\d:\d\d UTC/;
      expect(await alerts.look()).toMatchObject([{ code: 'untrusted', text: expect.stringMatching(text) }]);
      await step();
      expect(await alerts.look()).toEqual([]);
      expect(await sourceChecks(on.store)).toEqual([
        {
          name: 'sources',
          ok: true,
          text: expect.stringMatching(/^devices are not trusted in run \d+ \(stands still: its newest report is of/),
        },
      ]);
      frozen = undefined;
      await step();
      expect(await sourceChecks(on.store)).toEqual([]);
    });

    it('that a person accepts is trusted, and is learned', async () => {
      frozen = listNow();
      await live(8 * HOUR);
      await acceptSnapshot(on.engine, 'devices', ADA);
      const { run } = await step();
      expect(run.findings?.snapshot.sources.devices).toMatchObject({
        trusted: true,
        accepted: { ...ADA, overrode: [{ code: 'stands_still' }] },
      });
      expect((await live(8 * HOUR)).flatMap(causes)).toEqual([]);
    });

    it('is known again after a restart', async () => {
      frozen = listNow();
      await live(8 * HOUR);
      on.restart();
      expect(causes(await step())).toEqual(['stands_still']);
    });
  });
});

describe('a source that cannot be used for a while takes nothing away', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const forbidden = () => new AppError('api_forbidden', 'the server answered 403');
  const unreachable = () => new AppError('api_unreachable', 'the server did not answer');
  const outcomes = async () => (await on.intents()).map(({ outcome }) => outcome);

  function start(rule: LoadedRule): void {
    on = startOnPlatform({ rules: [rule] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' }, Emails: ['ann@example.com'] });
  }

  /** Compromised, or with errors in the event log. */
  function ruleWithEvents(): LoadedRule {
    const parsed = parseRule(
      `
id: ban
title: Ban
severity: critical
subject: device
when:
  or:
    - "==": [{ var: MdmData.CompromisedStatus }, "TRUE"]
    - ">=": [{ event_count: { severity: ERROR, within: 10m } }, 5]
then: ban_device
mode: enforce
cooldown: 0s
limits: { max: 1000, percent: 100 }
tests:
  - { name: compromised, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }
`,
      'ban.yaml',
      { traits: ACTIONS },
    );
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  describe('a doubt', () => {
    it('is resolved although the server offers no event log, as its rule is judged without it', async () => {
      start(ruleWithEvents());
      on.platform.events = () => Promise.reject(forbidden());
      on.platform.answer('S-d1', 'lost');
      await on.run();
      expect(await outcomes()).toEqual(['unknown']);
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect(await outcomes()).toEqual(['succeeded']);
    });

    it('stays a doubt while it cannot be read whether its target is exempt, and is resolved later', async () => {
      start(banRule());
      on.platform.users.set('ann@example.com', { Email: 'ann@example.com', Groups: 'staff' });
      const request = { selector: { field: 'Groups', value: 'board' }, owner: 'ops', reason: 'a test', until: '30d' };
      await addExemption(on.engine, request, 'ann');
      on.platform.answer('S-d1', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      const user = on.platform.user.bind(on.platform);
      let isReadable = true;
      on.platform.onRead = (what) => {
        // After the list: when the doubt is looked at.
        if (what === 'target') isReadable = false;
      };
      on.platform.user = async (email) => {
        if (!isReadable) throw unreachable();
        return user(email);
      };
      await on.run();
      expect(await outcomes()).toEqual(['unknown']);
      on.platform.onRead = () => {};
      on.platform.user = user;
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
    });
  });

  describe('a plan that waits', () => {
    it('is still the one to answer after a run that could not read the devices', async () => {
      start(banRule({ mode: 'approve' }));
      const { plan } = await on.run();
      on.platform.onRead = (what) => {
        if (what === 'devices') throw unreachable();
      };
      await expect(on.run()).rejects.toThrow('nothing was judged');
      expect((await on.store.plan(plan?.id ?? ''))?.status).toBe('pending');
      on.platform.onRead = () => {};
      expect((await on.run()).plan).toMatchObject({ id: plan?.id, status: 'pending' });
    });
  });
});

describe('fields with the name of a secret (`PasscodeStatus`) and no secret in them', () => {
  const FIELD = 'PasscodeStatus';
  const DEVICES = Array.from({ length: 40 }, (_, index) => `d${index}`);

  /** Bans what has the field so. */
  function rule(mode: string, value = 'NON_COMPLIANT'): LoadedRule {
    const text = `
id: ban
title: Ban
severity: critical
subject: device
when: { "==": [{ var: MdmData.${FIELD} }, "${value}"] }
then: ban_device
mode: ${mode}
cooldown: 0s
limits: { max: 1000, percent: 100 }
owners: all
declares: { MdmData.${FIELD}: text }
tests:
  - { name: trouble, given: { MdmData: { ${FIELD}: "${value}" } }, expect: match }
`;
    const parsed = parseRule(text, 'ban.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  let on: OnPlatform;
  let db: SqliteDb;
  afterEach(() => on.close());

  function start(given: LoadedRule): void {
    db = freshDatabase();
    on = startOnPlatform({ rules: [given], db, settings: (settings) => ({ ...settings, trust: TRUST_DEFAULT }) });
  }
  const all = (value: string, of: readonly string[] = DEVICES) => {
    for (const id of of) on.platform.patch(id, { MdmData: { [FIELD]: value } });
  };
  const fleet = (value: string) => {
    for (const id of DEVICES) on.platform.addDevice(id, { MdmData: { [FIELD]: value } });
  };
  const storedValues = async () => (await on.store.baseline('devices'))?.values[`MdmData.${FIELD}`];

  describe('a field with the name of a secret', () => {
    it.each([
      ['from one state to another', 'COMPLIANT', 'NON_COMPLIANT'],
      ['from one secret to another', 'a1b2-c3d4-e5f6', 'f6e5-d4c3-b2a1'],
    ])('makes the reading untrusted when it turns everywhere at once %s', async (_, before, after) => {
      start(rule('enforce', after));
      fleet(before);
      await on.run();
      const stored = await storedValues();
      on.clock.pass(QUIET_MS);
      all(after);
      const { decisions } = await on.run();
      expect([...new Set(decisions.map(({ reason }) => reason))]).toEqual(['untrusted_source']);
      expect(on.platform.sent).toEqual([]);
      expect(await storedValues()).toEqual(stored);
      expect(Object.values(stored ?? {})).toEqual([40]);
    });

    it('prevents the ban when it recovers before an approved plan is applied', async () => {
      start(rule('approve'));
      on.platform.addDevice('d1', { MdmData: { [FIELD]: 'NON_COMPLIANT' } });
      const { plan } = await on.run();
      expect(plan?.intents[0]?.basis[0]?.facts).toEqual({ [`MdmData.${FIELD}`]: 'NON_COMPLIANT' });
      const approved = await on.approve(plan);
      all('COMPLIANT', ['d1']);
      const { intents } = await on.apply(approved);
      expect(intents).toMatchObject([
        { status: 'withdrawn', note: expect.stringContaining('was "NON_COMPLIANT" and is "COMPLIANT"') },
      ]);
      expect(on.platform.sent).toEqual([]);
    });
  });

  describe('a baseline of an older version', () => {
    it.each(['COMPLIANT', 'a1b2-c3d4-e5f6'])(
      'that kept `%s` unredacted does not make the source untrusted forever',
      async (value) => {
        start(rule('enforce'));
        fleet(value);
        await on.run();
        const told = await storedValues();
        const asItCame = JSON.stringify({
          [`MdmData.${FIELD}`]: { [value]: 40 },
          'MdmData.AuthToken': { [`${value}9`]: 40 },
        });
        db.run('UPDATE baselines SET fact_values = ?', asItCame);
        const { run } = await on.run();
        expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, reasons: [] });
        expect(await storedValues()).toEqual(told);
        on.clock.pass(QUIET_MS);
        db.run('UPDATE baselines SET fact_values = ?', asItCame);
        all('NON_COMPLIANT');
        expect((await on.run()).run.findings?.snapshot.sources.devices).toMatchObject({ trusted: false });
        expect(on.platform.sent).toEqual([]);
      },
    );

    it('that hid the field is not compared for it, and still is for other fields', async () => {
      start(rule('enforce'));
      fleet('COMPLIANT');
      await on.run();
      const told = await storedValues();
      const isHidden = { [`MdmData.${FIELD}`]: { '[dropped]': 40 }, Model: { M1: 30, '∅': 10 } };
      db.run('UPDATE baselines SET fact_values = ?', JSON.stringify(isHidden));
      db.exec('PRAGMA user_version = 10');
      migrate(db, readMigrations().slice(0, 11));
      expect((await on.store.baseline('devices'))?.values).toEqual({ Model: { M1: 30, '∅': 10 } });
      const { run } = await on.run();
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, reasons: [] });
      expect(await storedValues()).toEqual(told);
    });

    it('leaves no kept secret in the database under a field that is no longer read', async () => {
      start(rule('enforce'));
      fleet('COMPLIANT');
      await on.run();
      db.run('UPDATE baselines SET fact_values = ?', JSON.stringify({ 'MdmData.AuthToken': { 'a1b2-c3d4-e5f6': 40 } }));
      await on.run();
      expect(JSON.stringify(db.all('SELECT * FROM baselines'))).not.toContain('a1b2-c3d4-e5f6');
    });
  });
});
