// test: what rules propose together: opposite actions, an undo beside an equal proposal, the basis of a retry, the ceiling of a run, flips.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoredDecision } from '../../../src/domain/decision.ts';
import type { Mode } from '../../../src/domain/rule.ts';
import { FLIPS_MAX, type Flip } from '../../../src/domain/verdict.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { whatIf } from '../../../src/engine/run/what-if.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };

describe('rules that propose opposite actions on one device', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  function said({ decisions }: Round): string[] {
    return decisions.map(({ rule, target, reason }) => `${rule} ${target}: ${reason}`).sort();
  }

  async function overridden(): Promise<string[]> {
    const { episodes } = await on.store.openState(on.clock.now);
    return episodes.filter(({ overriddenAt }) => overriddenAt !== undefined).map(({ rule }) => rule);
  }

  describe('a ban and an unban that both match', () => {
    const ban = banRule({ id: 'ban' });
    const unban = banRule({ id: 'unban', field: 'Other', does: 'unban_device' });

    it('are held where one of them is already in effect, naming the other, run after run', async () => {
      on = startOnPlatform({ rules: [ban, unban] });
      on.platform.addDevice('free', BOTH);
      on.platform.addDevice('banned', { ...BOTH, Banned: 'TRUE' });
      for (let round = 0; round < 3; round += 1) {
        const seen = await on.run();
        expect(said(seen)).toEqual([
          'ban S-banned: already_so',
          'ban S-free: conflict',
          'unban S-banned: conflict',
          'unban S-free: already_so',
        ]);
        expect(
          seen.decisions
            .filter(({ reason }) => reason === 'conflict')
            .map(({ reasonText }) => reasonText)
            .sort(),
        ).toEqual([
          'rule ban wants ban_device for the same target, and the target is already in that state',
          'rule unban wants unban_device for the same target, and the target is already in that state',
        ]);
        on.clock.pass(QUIET_MS);
      }
      expect(on.platform.sent).toEqual([]);
      expect(await overridden()).toEqual([]);
    });

    it.each([
      ['whose `for` is not reached', banRule({ id: 'ban', more: 'for: 1h' })],
      ['on trial', banRule({ id: 'ban', mode: 'dry-run' })],
    ])('do not hold each other for a rule %s, and our own unban does not count as a person’s', async (_, waiting) => {
      on = startOnPlatform({ rules: [waiting, unban] });
      on.platform.addDevice('d1', { ...BOTH, Banned: 'TRUE' });
      await on.run();
      expect(on.platform.effects).toEqual(['unban S-d1']);
      on.clock.pass(QUIET_MS);
      expect(said(await on.run())).not.toContain('ban S-d1: overridden');
      expect(await overridden()).toEqual([]);
    });

    it('do not count an unban that an operator resolved as done as a person’s', async () => {
      on = startOnPlatform({ rules: [banRule({ id: 'ban', more: 'for: 1h' }), unban] });
      on.platform.addDevice('d1', { ...BOTH, Banned: 'TRUE' });
      on.platform.answer('S-d1', 'hidden');
      await on.run();
      const [doubt] = await on.store.intents({ outcome: 'unknown' });
      await resolveIntent(on.engine, String(doubt?.id), 'done', { by: 'ada', reason: 'seen' });
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(await overridden()).toEqual([]);
    });

    it('end the claim of a ban that only waits for its undo, without naming a reversal', async () => {
      on = startOnPlatform({ rules: [ban] });
      on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
      await on.run();
      on.rules(banRule({ id: 'ban', mode: 'approve' }), unban);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
      on.clock.pass(QUIET_MS);
      await on.run();
      expect((await on.store.claims({})).map(({ status }) => status)).toEqual(['standing']);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
      on.clock.pass(QUIET_MS);
      await on.run();
      expect((await on.store.claims({})).map(({ rule, status }) => `${rule}: ${status}`)).toEqual(['ban: ended']);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' } });
      await on.run();
      expect(on.platform.isBanned('S-d1')).toBe(false);
    });

    it('are not held against an unban after a person lifted the ban', async () => {
      on = startOnPlatform({ rules: [ban] });
      on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
      await on.run();
      on.platform.patch('d1', { Banned: 'FALSE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      on.platform.patch('d1', { Banned: 'TRUE', ...BOTH });
      on.rules(ban, unban);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    });
  });

  describe('a released ban', () => {
    it('is not set again by another rule that waited meanwhile', async () => {
      on = startOnPlatform({
        rules: [banRule({ id: 'ban' }), banRule({ id: 'later', field: 'Other', more: 'for: 1h' })],
      });
      on.platform.addDevice('d1', BOTH);
      await on.run();
      await on.run();
      await releaseClaims(on.engine, 'S-d1', { by: 'ada', reason: 'she needs it' });
      on.clock.pass(QUIET_MS);
      await on.run();
      on.clock.pass(3_600_000);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
      expect(await overridden()).toEqual(['ban', 'later']);
    });
  });
});

describe('an undo that waits for an approval, beside an equal proposal of another rule', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  /** Rule ban has banned d1 and no longer matches, so its undo waits; rule unban proposes the same by itself. */
  async function waitingBeside(mode: Mode): Promise<void> {
    on = startOnPlatform();
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.clock.pass(QUIET_MS);
    on.rules(banRule({ mode: 'approve' }), banRule({ id: 'unban', field: 'Other', does: 'unban_device', mode }));
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
  }

  async function explained(rule: string) {
    const { engine } = on;
    const { settings, store } = engine;
    const { rules } = engine.active();
    const deps = { ...engine, reader: store, rules, settings: { ...settings, ...settings.decide } };
    const { decisions, recorded } = await explainSubject(deps as unknown as ExplainDeps, rule, 'S-d1');
    return { recorded: recorded.decisions, unasked: decisions.flatMap(({ notAsked }) => notAsked) };
  }

  const claims = async () => (await on.store.claims({})).map(({ rule, status }) => `${rule}: ${status}`);

  describe('an undo that waits for approval', () => {
    it.each([['approve'], ['dry-run']] as const)(
      'beside an equal proposal of mode %s is done once it is approved',
      async (mode) => {
        await waitingBeside(mode);
        const { plan } = await on.run();
        const applied = await on.apply(await on.approve(plan));
        expect(applied.refused).toEqual([]);
        expect(applied.intents).toMatchObject([{ undo: true, outcome: 'succeeded', basis: [{ rule: 'ban' }] }]);
        expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
        expect(await claims()).toEqual(['ban: ended']);
        on.clock.pass(QUIET_MS);
        const after = await on.run();
        expect(after.plan).toBeUndefined();
        expect(after.decisions.map(({ rule, reason }) => `${rule}: ${reason}`)).toEqual(['unban: already_so']);
      },
    );

    it('beside a proposal that may act is not sent a second time by its plan, nor by a dry run’s plan with both', async () => {
      await waitingBeside('enforce');
      const dry = await on.run('dry-run');
      expect(dry.plan?.intents.map(({ undo, held }) => ({ undo, held }))).toEqual([
        { undo: true, held: true },
        { undo: false, held: false },
      ]);
      const { plan } = await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
      for (const one of [plan, dry.plan]) await on.apply(await on.approve(one));
      expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
    });

    it.each([['approve'], ['enforce']] as const)(
      'is left by `explain` to the recorded decision of an equal wish of mode %s',
      async (mode) => {
        await waitingBeside(mode);
        const { decisions } = await on.run('dry-run');
        const { recorded, unasked } = await explained('unban');
        expect(recorded).toEqual(decisions.filter(({ rule }) => rule === 'unban'));
        expect(unasked).toContain('cleared');
      },
    );
  });
});

describe('a retried intent has the proposals of now as its basis, in the row and in the audit', () => {
  let on: OnPlatform;
  afterEach(() => on.close());
  const [first, second] = [banRule({ id: 'first' }), banRule({ id: 'second', field: 'Other' })];

  async function rulesOf(): Promise<string[]> {
    return (await on.store.intents({})).flatMap(({ basis }) => basis.map(({ rule }) => rule));
  }

  describe('an intent of two rules that failed and is tried again when one of them is gone', () => {
    it('has only the remaining rule as its basis, and claims only for it', async () => {
      on = startOnPlatform({ rules: [first, second] });
      on.platform.addDevice('d1', BOTH);
      on.platform.answer('S-d1', 'failed');
      await on.run();
      expect(await rulesOf()).toEqual(['first', 'second']);
      on.rules(second);
      on.platform.answer('S-d1');
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
      expect(await rulesOf()).toEqual(['second']);
      expect((await on.store.claims({})).map(({ rule }) => rule)).toEqual(['second']);
    });

    it('does not block the other rule when it is back', async () => {
      on = startOnPlatform({ rules: [first, second] });
      on.platform.addDevice('d1', BOTH);
      on.platform.answer('S-d1', 'failed');
      await on.run();
      on.rules(second);
      on.clock.pass(QUIET_MS);
      await on.run();
      on.rules(first, second);
      on.platform.answer('S-d1');
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1']);
      expect((await on.store.claims({})).map(({ rule }) => rule).sort()).toEqual(['first', 'second']);
    });
  });

  it('a failed intent is not retried where another rule’s succeeded and a person reversed that', async () => {
    const held = banRule({ id: 'held', field: 'Other', mode: 'approve' });
    on = startOnPlatform({ rules: [first, held] });
    on.platform.addDevice('d1', BOTH);
    const { plan } = await on.run('approve', ['held']);
    on.platform.answer('S-d1', 'failed');
    await on.run();
    await on.apply(await on.approve(plan));
    await on.run(); // the first rule adopts the ban
    on.platform.patch('d1', { Banned: 'FALSE' });
    await on.run(); // this may still be a stale reading
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect((await on.store.claims({})).map(({ status }) => status)).toEqual(['overridden', 'overridden']);
  });
});

describe('the ceiling of a run', () => {
  const PERSON = { by: 'ana', reason: 'known' };
  const held = banRule({ id: 'held', mode: 'approve', field: 'Other' });
  let on: OnPlatform;
  afterEach(() => on.close());

  function start(run: number, day: number): OnPlatform {
    const ceilings = { run: { max: run, percent: 0 }, day: { max: day, percent: 0 } };
    return startOnPlatform({
      rules: [banRule(), held],
      settings: (given) => ({
        ...given,
        decide: { ...given.decide, ceilings },
        act: { ...given.act, ceilings },
      }),
    });
  }

  function add(field: 'CompromisedStatus' | 'Other', ...ids: string[]): void {
    for (const id of ids) on.platform.addDevice(id, { MdmData: { [field]: 'TRUE' } });
  }

  async function sentByRun(): Promise<number[]> {
    const sent = await on.store.audit({ kind: 'intent.sent', limit: 100 });
    const counts = new Map<string, number>();
    for (const { bytes } of sent) {
      const { run } = (JSON.parse(bytes) as { body: { run: string } }).body;
      counts.set(run, (counts.get(run) ?? 0) + 1);
    }
    return [...counts.values()];
  }

  describe('a plan that a run made', () => {
    beforeEach(() => {
      on = start(2, 100);
    });

    it('counts together with its run for the ceiling of a run', async () => {
      add('CompromisedStatus', 'd1', 'd2');
      add('Other', 'd3', 'd4');
      const { plan } = await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
      const { intents } = await on.apply(await on.approve(plan));
      expect(on.platform.effects).toHaveLength(2);
      expect(intents.map(({ status, note }) => [status, note])).toEqual([
        ['withdrawn', 'the ceiling of ban_device (in a run, or in 24 hours) is reached'],
        ['withdrawn', 'the ceiling of ban_device (in a run, or in 24 hours) is reached'],
      ]);
      expect(await sentByRun()).toEqual([2]);
    });

    it('is not held forever by the ceiling that another run reached', async () => {
      add('CompromisedStatus', 'd1', 'd2');
      add('Other', 'd3', 'd4');
      await on.apply(await on.approve((await on.run()).plan));
      await on.apply(await on.approve((await on.run()).plan));
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d3', 'ban S-d4']);
      expect(await sentByRun()).toEqual([2, 2]);
    });

    it('counts what its run retried for an earlier one', async () => {
      add('CompromisedStatus', 'd1', 'd2');
      on.platform.answer('S-d1', 'lost');
      on.platform.answer('S-d2', 'lost');
      await on.run();
      on.clock.pass(QUIET_MS);
      add('Other', 'd3');
      const { plan } = await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
      await on.apply(await on.approve(plan));
      expect(await sentByRun()).toEqual([2, 2]);
    });
  });

  describe('a release', () => {
    it('has a count of its own beside that of a run and its plan', async () => {
      on = start(1, 100);
      add('CompromisedStatus', 'd1');
      await on.run();
      add('CompromisedStatus', 'd2');
      await on.run();
      for (const target of ['S-d1', 'S-d2'])
        expect(await releaseClaims(on.engine, target, PERSON)).toMatchObject([{ state: 'released' }]);
      expect(await on.store.attemptsOfRun((await on.store.latestRun())?.id ?? '')).toEqual(
        new Map([['ban_device', 1]]),
      );
    });

    it('stays within the ceiling of a day', async () => {
      on = start(2, 2);
      add('CompromisedStatus', 'd1', 'd2');
      await on.run();
      on.clock.pass(86_400_001);
      add('CompromisedStatus', 'd3');
      await on.run();
      const states = [];
      for (const target of ['S-d1', 'S-d2', 'S-d3'])
        states.push((await releaseClaims(on.engine, target, PERSON))[0]?.state);
      expect(states).toEqual(['released', 'released', 'standing']);
      expect(on.platform.effects.filter((effect) => effect.startsWith('unban'))).toHaveLength(2);
    });
  });
});

describe("the flips of a run's decisions", () => {
  const HOUR_MS = 3_600_000;
  const CLEAN: Flip = {
    verdict: 'no_match',
    changes: [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' }],
  };
  const COMPROMISED: Flip = {
    verdict: 'match',
    changes: [{ fact: 'MdmData.CompromisedStatus', from: 'FALSE', to: 'TRUE' }],
  };

  let on: OnPlatform;
  afterEach(() => on.close());

  function withCompromised(count: number, ...rules: Parameters<typeof banRule>): void {
    on = startOnPlatform({ rules: [banRule(...rules)] });
    for (let at = 1; at <= count; at += 1) compromise(`d${at}`);
    on.platform.addDevice('clean', { MdmData: { CompromisedStatus: 'FALSE' } });
  }

  const compromise = (id: string) => on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  const flipsOf = (decisions: readonly StoredDecision[]) =>
    decisions.map(({ target, reason, flip }) => [target, reason, flip]);

  /** How many flips each run looks for from now on. */
  function looked(): number[] {
    const counts: number[] = [];
    const { active } = on.engine;
    on.engine.active = () => {
      const { evaluator, ...rest } = active();
      return {
        ...rest,
        evaluator: {
          ...evaluator,
          judge: (kind, context) => {
            const judge = evaluator.judge(kind, context);
            const before = context.flips?.budget.flips;
            return {
              accept: (record) => judge.accept(record),
              finish: () => {
                if (before !== undefined) counts.push(before - (context.flips?.budget.flips ?? 0));
                return judge.finish();
              },
            };
          },
        },
      };
    };
    return counts;
  }

  describe('the flip of a decision', () => {
    it('is found once, by the run that decides first, and stays while the decision is in force', async () => {
      withCompromised(2);
      const counts = looked();
      const first = await on.run('dry-run');
      const second = await on.run('dry-run');
      expect(second.decisions).toEqual(first.decisions);
      expect(flipsOf(second.decisions)).toEqual([
        ['S-d1', 'rule_matches', CLEAN],
        ['S-d2', 'rule_matches', CLEAN],
      ]);
      compromise('d3');
      await on.run('dry-run');
      expect(counts).toEqual([2, 0, 1]);
    });

    it('is kept by the decision that replaces it, without another look', async () => {
      withCompromised(1, { more: 'for: 1h' });
      const counts = looked();
      const waiting = await on.run();
      expect(flipsOf(waiting.decisions)).toEqual([['S-d1', 'for_not_reached', CLEAN]]);
      on.clock.pass(HOUR_MS);
      const acting = await on.run();
      expect(flipsOf(acting.decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
      expect(acting.decisions[0]?.id).not.toBe(waiting.decisions[0]?.id);
      expect(counts).toEqual([1, 0]);
    });

    it('is found again when the rule was edited', async () => {
      withCompromised(1);
      const counts = looked();
      await on.run('dry-run');
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
      on.rules(banRule({ field: 'Other' }));
      const { decisions } = await on.run('dry-run');
      expect(decisions.map(({ flip }) => flip?.changes[0]?.fact)).toEqual(['MdmData.Other']);
      expect(counts).toEqual([1, 1]);
    });

    it('of an undo shows what would make the rule match again', async () => {
      withCompromised(1);
      await on.run();
      on.clock.pass(HOUR_MS);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
      const { decisions } = await on.run();
      expect(flipsOf(decisions)).toEqual([['S-d1', 'cleared', COMPROMISED]]);
    });

    it('is the same in a dry run, a live run and a what-if', async () => {
      withCompromised(1);
      const { run, reader } = await whatIf({ ...on.engine, reader: on.store }, { rules: undefined });
      expect(flipsOf(await reader.decisionsOfRun(run))).toEqual([['S-d1', 'rule_matches', CLEAN]]);
      expect(flipsOf((await on.run('dry-run')).decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
      expect(flipsOf((await on.run()).decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
    });

    it('is looked for at most so often a run, and the decisions beyond are made without one', async () => {
      withCompromised(FLIPS_MAX + 5);
      const { decisions } = await on.run('dry-run');
      expect(decisions).toHaveLength(FLIPS_MAX + 5);
      expect(decisions.filter(({ flip }) => flip)).toHaveLength(FLIPS_MAX);
    });

    it('is no part of a plan: its digest is the same whether one was found or not', async () => {
      withCompromised(1);
      const { active } = on.engine;
      const found = await on.run('dry-run');
      on.engine.active = () => {
        const { evaluator, ...rest } = active();
        const judge: typeof evaluator.judge = (kind, { flips: _, ...context }) => evaluator.judge(kind, context);
        return { ...rest, evaluator: { ...evaluator, judge } };
      };
      const plain = await whatIf({ ...on.engine, reader: on.store }, { rules: undefined });
      expect(plain.run.findings?.planDigest).toBe(found.run.findings?.planDigest);
      expect(found.plan).toBeDefined();
    });
  });
});
