// test: an approved plan: exactly it or less, once, in time; also when its targets were reversed, its window moved on, or its applying was killed.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planDigest } from '../../../src/domain/digest.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Plan, PlannedIntent } from '../../../src/domain/plan.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { sealedNote } from '../../../src/engine/approve/plans.ts';
import { answerPlan, applyPlan } from '../../../src/engine/operate/plans.ts';
import { views } from '../../../src/faces/report/index.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { CaseWorld } from '../../support/case-world.ts';
import { Crash, Life, mortal } from '../../support/crash.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { isThorough } from '../../support/fixed-seed.ts';

const DAY_MS = 86_400_000;

describe('an approved plan', () => {
  const held = banRule({ mode: 'approve' });
  let on: OnPlatform;

  beforeEach(() => {
    on = startOnPlatform({ rules: [held] });
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(() => on.close());

  async function approvedPlan() {
    const { plan } = await on.run();
    expect(on.platform.sent).toEqual([]);
    return on.approve(plan);
  }

  describe('an approved plan', () => {
    it('is applied once, and its claims are undone later with approval', async () => {
      const plan = await approvedPlan();
      const { intents, refused } = await on.apply(plan);
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
      expect(intents.map(({ outcome, approved }) => [outcome, approved])).toEqual([
        ['succeeded', true],
        ['succeeded', true],
      ]);
      expect(refused).toEqual([]);
      await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
      on.platform.compromised('d1', 'FALSE');
      const { plan: undo } = await on.run();
      expect(undo?.intents).toMatchObject([{ action: 'unban_device', undo: true, target: 'S-d1', held: true }]);
      await on.apply(await on.approve(undo));
      expect(on.platform.effects.at(-1)).toBe('unban S-d1');
      expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
    });

    it('refuses a target whose record drifted, with the field named, and applies the rest', async () => {
      const plan = await approvedPlan();
      on.platform.compromised('d1', 'UNSURE');
      const { intents } = await on.apply(plan);
      expect(on.platform.effects).toEqual(['ban S-d2']);
      expect(intents.find(({ target }) => target === 'S-d1')).toMatchObject({
        status: 'withdrawn',
        note: 'changed since the plan was made: MdmData.CompromisedStatus was "TRUE" and is "UNSURE"',
      });
    });

    it('that an earlier version made with two entries for one match is begun once for it, and the rest is applied', async () => {
      const { plan } = await on.run();
      const [first, second] = plan!.intents as [PlannedIntent, PlannedIntent];
      const intents = [first, { ...first, key: 'of the same match' }, second];
      const twice = { ...plan!, id: 'twice', intents, digest: planDigest(intents) };
      await on.store.replacePlans({ superseded: [plan!.id], sealed: twice }, [sealedNote(twice)]);
      const { refused } = await on.apply(await on.approve(twice));
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d2']);
      const reason = 'another entry of this plan does it for that match';
      expect(refused).toEqual([{ action: 'ban_device', target: 'S-d1', reason }]);
    });

    it('does not include a device that joined the serial number after the approval', async () => {
      const plan = await approvedPlan();
      on.platform.addDevice('d9', { SerialNumber: 'S-d1' });
      await on.apply(plan);
      expect(on.platform.effects).toEqual(['ban S-d2']);
    });

    it('is refused when it expired, whether approved before or after', async () => {
      const plan = await approvedPlan();
      on.clock.pass(DAY_MS);
      await expect(on.apply(plan)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('expired'),
      });
      const { plan: next } = await on.run();
      on.clock.pass(DAY_MS);
      await expect(on.approve(next)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('expired'),
      });
      expect(on.platform.sent).toEqual([]);
    });

    it('is refused and stays approved while the daemon may change nothing', async () => {
      const plan = await approvedPlan();
      on.engine.daemonMode = 'dry-run';
      await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
      on.engine.daemonMode = 'enforce';
      await on.apply(plan);
      expect(on.platform.effects).toHaveLength(2);
    });

    it.each([
      ['is missing', () => on.rules(banRule({ id: 'other', field: 'Other' })), 'is missing or off'],
      ['is only dry', () => on.rules(banRule({ mode: 'dry-run' })), 'has mode dry-run now'],
      ['has another text', () => on.rules(banRule({ mode: 'approve', field: 'Other' })), 'was changed meanwhile'],
    ])('changes nothing when its rule %s by then', async (_, change, reason) => {
      const plan = await approvedPlan();
      change();
      const { refused } = await on.apply(plan);
      expect(on.platform.sent).toEqual([]);
      expect(refused).toMatchObject([{ reason: expect.stringContaining(reason) }, {}]);
    });

    it('leaves out what has cleared or was reversed since', async () => {
      const plan = await approvedPlan();
      on.platform.compromised('d1', 'FALSE');
      on.platform.patch('d2', { Banned: 'TRUE' });
      await on.run();
      on.platform.compromised('d1', 'TRUE');
      on.platform.patch('d2', { Banned: 'FALSE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      const { refused } = await on.apply(plan);
      expect(on.platform.sent).toEqual([]);
      expect(refused.map(({ reason }) => reason)).toEqual([
        'rule ban has ceased to match d1 since',
        expect.stringMatching(/^a person reversed it \(seen .*\): left alone until the rule has ceased to match$/),
      ]);
    });

    it('does not repeat what a second plan of the same content did', async () => {
      const first = await approvedPlan();
      const { plan: second } = await on.run('dry-run');
      expect(second?.digest).toBe(first.digest);
      expect(second?.id).not.toBe(first.id);
      await on.apply(first);
      const { refused } = await on.apply(await on.approve(second));
      expect(on.platform.effects).toHaveLength(2);
      expect(refused.map(({ reason }) => reason)).toEqual([
        expect.stringMatching(/^done by action /),
        expect.stringMatching(/^done by action /),
      ]);
    });

    it('may retry what failed before, as the same intent with its count of attempts', async () => {
      on.platform.answer('S-d1', 'failed', 'failed', 'failed', 'failed');
      await on.apply(await approvedPlan());
      for (let round = 0; round < 2; round += 1) {
        const { plan } = await on.run();
        await on.apply(await on.approve(plan));
      }
      expect(on.platform.sent.filter((sent) => sent === 'ban S-d1')).toHaveLength(3);
      expect((await on.store.intents({ outcome: 'parked' })).map(({ target, attempts }) => [target, attempts])).toEqual(
        [['S-d1', 3]],
      );
      const { plan } = await on.run();
      expect(plan).toBeUndefined();
    });

    it('that broke off is interrupted: what was not begun returns in the next plan', async () => {
      on.platform.answer('S-d1', 'unauthorized');
      const plan = await approvedPlan();
      await expect(on.apply(plan)).rejects.toMatchObject({ code: 'api_refused' });
      expect((await on.store.plan(plan.id))?.status).toBe('interrupted');
      const { plan: next } = await on.run();
      expect(next?.intents.map(({ target }) => target)).toEqual(['S-d1', 'S-d2']);
    });

    it('may exceed a limit by what it sealed, and a ceiling by nothing', async () => {
      await on.close();
      on = startOnPlatform({
        rules: [banRule({ more: '' })].map((rule) => ({ ...rule, limits: { max: 1, percent: 100 } })),
        settings: (given) => ({
          ...given,
          act: { ...given.act, ceilings: { run: { max: 2, percent: 0 }, day: { max: 9, percent: 0 } } },
        }),
      });
      for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
      const { plan, decisions } = await on.run();
      expect(new Set(decisions.map(({ reason }) => reason))).toEqual(new Set(['limits']));
      await on.apply(await on.approve(plan));
      expect(on.platform.effects).toHaveLength(2);
    });

    it('for an undo is refused when another rule claims the target by then', async () => {
      on.rules(banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other' }));
      await on.run();
      on.rules(banRule({ id: 'a', mode: 'approve' }), banRule({ id: 'b', field: 'Other' }));
      on.platform.compromised('d1', 'FALSE');
      const approved = await on.approve((await on.run()).plan);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
      await on.run();
      await on.apply(approved);
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });

    it('for an undo leaves alone what a person banned meanwhile', async () => {
      on.rules(banRule());
      await on.run();
      on.rules(held);
      on.platform.compromised('d1', 'FALSE');
      on.clock.pass(QUIET_MS);
      const approved = await on.approve((await on.run()).plan);
      on.platform.patch('d1', { Banned: 'FALSE' });
      await on.run();
      on.platform.patch('d1', { Banned: 'TRUE' });
      await on.apply(approved);
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });
  });

  describe('a waiting plan', () => {
    it('stays as it is while nothing changes, and is carried on when something joins it', async () => {
      const { plan: first } = await on.run();
      expect((await on.run()).plan?.id).toBe(first?.id);
      on.platform.addDevice('d3', { MdmData: { CompromisedStatus: 'TRUE' } });
      const { plan: second } = await on.run();
      expect(second?.id).toBe(first?.id);
      expect(second?.digest).not.toBe(first?.digest);
      expect((await on.store.planRevisions(first?.id ?? '')).map(({ digest }) => digest)).toEqual([first?.digest]);
    });

    it('shows as changed when a device joins a serial number, though no fact changed', async () => {
      const { plan: first } = await on.run();
      on.platform.addDevice('d9', { SerialNumber: 'S-d1' });
      await on.run();
      const [revision] = await on.store.planRevisions(first?.id ?? '');
      expect(revision?.change).toEqual({ joined: 0, changed: 1, left: [] });
    });

    it('of a live run is not superseded by a dry run', async () => {
      const { plan } = await on.run();
      await on.run('dry-run');
      expect((await on.store.plan(plan?.id ?? ''))?.status).toBe('pending');
    });

    it('that is rejected does not return in the same episode', async () => {
      const { plan } = await on.run();
      await answerPlan(on.engine, plan?.id ?? '', 'reject', { by: 'a person', reason: 'known' });
      const { plan: next, decisions } = await on.run();
      expect(next).toBeUndefined();
      expect(decisions.map(({ reason }) => reason)).toEqual(['rejected', 'rejected']);
      await expect(on.approve(plan)).rejects.toBeInstanceOf(AppError);
    });

    it('for an undo that is rejected leaves the ban, and does not return', async () => {
      on.rules(banRule());
      await on.run();
      on.rules(held);
      on.platform.compromised('d1', 'FALSE');
      const { plan } = await on.run();
      await answerPlan(on.engine, plan?.id ?? '', 'reject', { by: 'a person' });
      expect((await on.run()).plan).toBeUndefined();
      expect(on.platform.isBanned('S-d1')).toBe(true);
    });
  });
});

describe('an approved plan whose target was reversed before it is applied, without a run in between that could have seen it', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const enforcing = banRule({ id: 'enforcing', field: 'Other' });
  const held = banRule({ id: 'held', mode: 'approve' });

  function startWith(mdm: { CompromisedStatus: string; Other: string }): void {
    on = startOnPlatform({ rules: [enforcing, held] });
    on.platform.addDevice('d1', { MdmData: mdm });
  }

  /** The result of the plan: its one intent, and the number of bans. */
  async function applied(plan: Awaited<ReturnType<OnPlatform['approve']>>) {
    const { intents } = await on.apply(plan);
    const bans = on.platform.sent.filter((call) => call === 'ban S-d1').length;
    return { bans, intents: intents.map(({ status, note }) => [status, note]) };
  }

  const REFUSED = [['withdrawn', 'a person reversed it: left alone until the rule has ceased to match']];

  describe('an approved plan', () => {
    it('does not repeat a ban that another rule made meanwhile and a person lifted', async () => {
      startWith({ CompromisedStatus: 'TRUE', Other: 'FALSE' });
      const { plan } = await on.run();
      const agreed = await on.approve(plan);
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
      await on.run();
      await on.run(); // the waiting rule adopts the ban
      on.platform.patch('d1', { Banned: 'FALSE' });
      expect(await applied(agreed)).toEqual({ bans: 1, intents: REFUSED });
    });

    it('does not ban what a person banned and unbanned meanwhile', async () => {
      startWith({ CompromisedStatus: 'TRUE', Other: 'FALSE' });
      const { plan } = await on.run();
      const agreed = await on.approve(plan);
      on.platform.patch('d1', { Banned: 'TRUE' });
      await on.run();
      on.platform.patch('d1', { Banned: 'FALSE' });
      expect(await applied(agreed)).toEqual({ bans: 0, intents: REFUSED });
    });

    it('bans a device that joined a serial number with another device already banned', async () => {
      startWith({ CompromisedStatus: 'TRUE', Other: 'TRUE' });
      await on.run();
      await on.run(); // the waiting rule adopts the ban
      on.platform.addDevice('d2', { SerialNumber: 'S-d1' });
      const { plan } = await on.run();
      expect(await applied(await on.approve(plan))).toMatchObject({ bans: 2, intents: [['settled', 'Success']] });
    });
  });
});

describe('an approved plan of a rule over events, applied when its window has moved on', () => {
  function failing(then: string, revert: boolean): LoadedRule {
    return parsed(`
id: failing
subject: service
when: { ">=": [{ event_count: { severity: ERROR, within: 10m } }, 2] }
then: ${then}
mode: enforce
revert: ${revert}
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, events: [{ severity: ERROR, ago: 1m, times: 2 }], expect: match }
`);
  }

  const unused = () =>
    parsed(`
id: unused
subject: service
when: { "==": [{ var: Description }, "unused"] }
then: delete_service
mode: enforce
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: unused }, expect: match }
`);

  function parsed(text: string): LoadedRule {
    const rule = parseRule(text, 'rule.yaml', { traits: ACTIONS });
    if ('problems' in rule) throw new Error(rule.problems.map(problemLine).join('\n'));
    return rule.rule;
  }

  const TEN_MINUTES_MS = 600_000;
  const SERVICE = 's1';
  let on: OnPlatform;
  let world: CaseWorld;

  beforeEach(async () => {
    on = startOnPlatform({ rules: [failing('disable_service', true)] });
    serviceIs({ Enabled: 'TRUE' });
    world = new CaseWorld(on.platform, on.clock, { devices: [], users: [], services: [], listsBundles: true });
    await on.run(); // from now on events are known
    fails();
  });
  afterEach(() => on.close());

  function serviceIs(fields: Facts): void {
    on.platform.services.set(SERVICE, { ServiceID: SERVICE, ServiceName: SERVICE, ...fields });
  }

  function fails(): void {
    on.clock.pass(1_000);
    for (let count = 0; count < 2; count += 1) world.fail(SERVICE);
    on.clock.pass(1_000);
  }

  async function approvedPlan() {
    const { plan } = await on.run('approve');
    expect(plan?.intents).toMatchObject([{ action: 'disable_service', target: SERVICE }]);
    return on.approve(plan);
  }

  async function slideOn(): Promise<void> {
    on.clock.pass(TEN_MINUTES_MS + 1_000);
    await on.run();
    await on.run(); // a second reading: nothing dates what a window counts
  }

  it('a plan is applied after its window has emptied: people answer later than errors last', async () => {
    const plan = await approvedPlan();
    await slideOn();
    expect((await on.apply(plan)).refused).toEqual([]);
    expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
  });

  it('a plan is not applied where its episode had an attempt of its own, and has cleared', async () => {
    const plan = await approvedPlan();
    on.platform.answer(SERVICE, 'failed');
    await on.run();
    expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
    await slideOn();
    const { refused } = await on.apply(plan);
    expect(refused).toEqual([
      { action: 'disable_service', target: SERVICE, reason: `rule failing has ceased to match ${SERVICE} since` },
    ]);
    expect(on.platform.sent).toHaveLength(1);
  });

  it('a plan deletes a service after the same rule disabled it, although that ended its errors', async () => {
    on.rules(failing('[disable_service, delete_service]', false));
    await on.run();
    on.clock.pass(QUIET_MS);
    const plan = await on.approve((await on.run()).plan);
    await slideOn();
    expect((await on.apply(plan)).refused).toEqual([]);
    expect(on.platform.sent).toEqual([`disable ${SERVICE}`, `drop ${SERVICE}`]);
  });

  it('a plan is not applied to a service that was deleted and created again', async () => {
    const plan = await approvedPlan();
    serviceIs({ Enabled: 'FALSE', Description: 'unused' });
    await on.run(); // sees that somebody disabled it
    on.rules(failing('disable_service', true), unused());
    await on.apply(await on.approve((await on.run()).plan));
    serviceIs({ Enabled: 'TRUE' });
    expect((await on.apply(plan)).refused).toMatchObject([
      { reason: `rule failing has ceased to match ${SERVICE} since` },
    ]);
    expect(on.platform.sent).toEqual([`drop ${SERVICE}`]);
  });
});

describe('an approved plan whose applying is killed, at every await in turn', () => {
  const IDS = ['d1', 'd2', 'd3'];
  let on: OnPlatform;
  afterEach(() => on.close());

  async function approvedPlan(): Promise<Plan> {
    on = startOnPlatform({ rules: [banRule({ mode: 'approve' })] });
    for (const id of IDS) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    return on.approve((await on.run()).plan);
  }

  /** Applies it in a process that ends at this step, and starts the next one. Returns whether it ended. */
  async function applyUntil(plan: Plan, step: number): Promise<boolean> {
    const life = new Life(step);
    await applyIn(life, plan);
    return life.ended;
  }

  async function applyIn(life: Life, plan: Plan): Promise<void> {
    const engine = { ...on.engine, store: mortal(on.engine.store, life), api: mortal(on.engine.api, life) };
    await applyPlan(engine, plan.id, { by: 'ana' }).catch((error) => {
      if (!(error instanceof Crash)) throw error;
    });
    on.restart();
    await on.store.abortStaleRuns(on.clock.nowMs());
  }

  /** Applies it in a process that ends in the middle of this call, which has its effect. */
  async function interruptedAt(call: number): Promise<Plan> {
    const plan = await approvedPlan();
    const life = new Life(undefined);
    on.platform.onWrite = () => {
      life.ended = on.platform.sent.length + 1 === call;
    };
    await applyIn(life, plan);
    on.platform.onWrite = () => {};
    expect(await statusOf(plan)).toBe('interrupted');
    return plan;
  }

  const statusOf = async ({ id }: Plan) => (await on.store.plan(id))?.status;
  const shown = async ({ id }: Plan) => {
    const plan = (await on.store.plan(id)) as Plan;
    const liveFor = plan.intents.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId));
    return views.plan(plan, await on.store.intents({ liveFor })).progress;
  };

  describe('an approved plan whose applying is killed', () => {
    it('at any await is interrupted, and applied again does the rest of it, and nothing twice', {
      timeout: 120_000,
    }, async () => {
      const seen = new Set<string | undefined>();
      for (let step = 1; ; step += isThorough ? 1 : 3) {
        const plan = await approvedPlan();
        if (!(await applyUntil(plan, step))) break;
        const status = await statusOf(plan);
        seen.add(status);
        const sent = [...on.platform.sent];
        const progress = await shown(plan);
        if (status === 'interrupted') {
          const begun = Object.values(progress?.outcomes ?? {}).reduce((sum, count) => sum + count, 0);
          expect(begun).toBeGreaterThanOrEqual(sent.length);
          expect(begun + (progress?.notBegun.length ?? 0)).toBe(IDS.length);
        }
        if (status !== 'applied') {
          const { plan: after } = await on.apply(plan);
          expect([after.status, after.digest]).toEqual(['applied', plan.digest]);
        }
        // What was in doubt stays in doubt, and is not sent by applying again.
        for (const one of new Set(sent)) expect(on.platform.sent.filter((each) => each === one)).toHaveLength(1);
        for (let round = 0; round < 2; round += 1) {
          on.clock.pass(QUIET_MS);
          await on.run();
        }
        expect({ step, sent: [...on.platform.sent].sort() }).toEqual({ step, sent: IDS.map((id) => `ban S-${id}`) });
        expect([...on.platform.effects].sort()).toEqual(IDS.map((id) => `ban S-${id}`));
        expect((await on.intents()).filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
        on.close();
      }
      expect([...seen].sort()).toEqual(['applied', 'approved', 'interrupted']);
    });

    it('shows what was done, what is in doubt and what was not begun, in JSON, in text and in Markdown', async () => {
      const plan = await interruptedAt(2);
      expect(await shown(plan)).toEqual({
        outcomes: { succeeded: 1, unknown: 1 },
        notBegun: [{ action: 'ban_device', target: 'S-d3' }],
      });
      const run = (await on.store.latestRun())!;
      for (const format of ['text', 'md'] as const) {
        const pieces = views.report(on.store, run, format, { actions: on.engine.actions });
        let report = '';
        for await (const piece of pieces) report += piece;
        const text = report.replaceAll('\\', '').replaceAll(/[\s`]+/g, ' ');
        expect(text).toContain(
          `Plan ${plan.id} was interrupted while it was applied: 1 succeeded, 1 in doubt, 1 not begun`,
        );
        expect(text).toContain('ban_device S-d3');
        expect(text).toContain(`trustward apply ${plan.id}`);
      }
      const { kind, bytes } = (await on.store.audit({ kind: 'plan.interrupted', limit: 1 }))[0]!;
      expect([kind, JSON.parse(bytes).body.plan]).toEqual(['plan.interrupted', plan.id]);
    });

    it('is continued by nothing else: no run does the rest of it, which waits in a new plan', async () => {
      const plan = await interruptedAt(1);
      on.clock.pass(QUIET_MS);
      const { plan: next } = await on.run();
      await on.run();
      expect(on.platform.sent).toHaveLength(1);
      expect(next?.intents.map(({ target }) => target)).toEqual(['S-d2', 'S-d3']);
      expect(await statusOf(plan)).toBe('interrupted');
    });

    it('does no more of it than what still holds', async () => {
      const plan = await interruptedAt(1);
      on.platform.compromised('d2', 'UNSURE');
      const { intents } = await on.apply(plan);
      expect(intents.map(({ target, status }) => [target, status])).toEqual([
        ['S-d2', 'withdrawn'],
        ['S-d3', 'settled'],
      ]);
      expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d3']);
      await expect(on.apply(plan)).rejects.toMatchObject({ code: 'conflict' });
    });

    it('is refused after its time', async () => {
      const plan = await interruptedAt(1);
      on.clock.pass(DAY_MS);
      await expect(on.apply(plan)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('expired'),
      });
      expect(on.platform.sent).toHaveLength(1);
    });

    it('in the middle of another apply is continued again', async () => {
      const plan = await interruptedAt(1);
      for (let step = 1; (await statusOf(plan)) === 'interrupted'; step += 3) await applyUntil(plan, step);
      for (const serial of ['S-d2', 'S-d3'])
        expect(on.platform.sent.filter((sent) => sent.endsWith(serial)).length).toBeLessThanOrEqual(1);
      expect(await statusOf(plan)).toBe('applied');
    });
  });
});
