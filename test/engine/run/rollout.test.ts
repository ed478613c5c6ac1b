// test: the real engine with a rule that begins with a share of its subjects, over days: it widens by itself, stops at what people reverse or exempt, has
// the undo of what it did planned, and goes on when a person says so. Nothing waits for real time.
import { afterEach, describe, expect, it } from 'vitest';
import { placeAmong } from '../../../src/domain/digest.ts';
import type { Mode } from '../../../src/domain/rule.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { addExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import { planRelease, releaseClaims } from '../../../src/engine/operate/release.ts';
import { restartRollout, resumeRollout } from '../../../src/engine/operate/rollout.ts';
import { inboxWhy, readInbox } from '../../../src/faces/report/inbox.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { pagesOnPlatform } from '../../support/pages-on-platform.ts';
import { RULE_REPORT } from '../../support/rule-samples.ts';

const HOUR = 3_600_000;
const BAD = { MdmData: { CompromisedStatus: 'TRUE' } };
const ADA = { by: 'ada', reason: 'a test' };
const ROLLOUT = 'rollout: { steps: [10%, 50%, 100%], each: 24h, brake: { reversed: 2, exempted: 3 } }';
const IDS = Array.from({ length: 40 }, (_, number) => `d${number}`);
const among = (share: number) => IDS.filter((id) => placeAmong(10_000, 'ban', id) < share).map((id) => `ban S-${id}`);
const [TENTH, HALF, EVERYBODY] = [among(1_000), among(5_000), among(10_000)];

const rolling = (more = ROLLOUT, mode: Mode = 'enforce') => banRule({ mode, more: `owners: all\n${more}` });

let on: OnPlatform;
afterEach(() => on.close());

function begin(rule = rolling()): void {
  on = startOnPlatform({ rules: [rule] });
  on.engine.settings.decide.ceilings = { run: { max: 100, percent: 100 }, day: { max: 100, percent: 100 } };
  on.engine.settings.act.ceilings = on.engine.settings.decide.ceilings;
  for (const id of IDS) on.platform.addDevice(id, BAD);
}

const sorted = (texts: readonly string[]) => texts.toSorted();
const sent = () => sorted(on.platform.sent);
/** A run every six hours, so many of them; the last one's decisions. */
async function days(count: number) {
  let round = await on.run();
  for (let hours = 0; hours < count * 24; hours += 6) {
    on.clock.pass(6 * HOUR);
    round = await on.run();
  }
  return round;
}
const state = async () => (await on.store.rollouts())[0];
const entries = async (kind: Parameters<typeof on.store.audit>[0]['kind']) =>
  (await on.store.audit({ kind, limit: 10 })).map(({ bytes }) => JSON.parse(bytes).body).reverse();
/** A person gives back what was banned. */
function reverse(acts: readonly string[]): void {
  for (const act of acts) Object.assign(on.platform.devices.get(act.replace('ban S-', '')) ?? {}, { Banned: 'FALSE' });
}
const reasonsOf = ({ decisions }: Awaited<ReturnType<typeof days>>) => [
  ...new Set(decisions.map(({ decision, reason, reasonText }) => `${decision} ${reason}: ${reasonText}`)),
];

describe('a rule with a rollout', () => {
  it('acts on the first share, reports the others, and takes more of them by itself', async () => {
    begin();
    const { decisions, plan } = await on.run();
    expect(TENTH.length).toBeGreaterThan(1);
    expect(sent()).toEqual(sorted(TENTH));
    const others = decisions.filter(({ reason }) => reason === 'rollout');
    expect(others).toHaveLength(IDS.length - TENTH.length);
    expect(others[0]).toMatchObject({
      decision: 'skip',
      reasonText: expect.stringMatching(/^step 1 of 3 \(10 %\), until .* at the earliest: not among them$/),
      intentId: undefined,
    });
    expect(plan).toBeUndefined();
    expect(reasonsOf(await days(1)).join()).toContain('step 2 of 3 (50 %)');
    expect(sent()).toEqual(sorted(HALF));
    await days(1);
    expect(sent()).toEqual(sorted(EVERYBODY));
    expect(await entries('rollout.began')).toEqual([
      { rule: 'ban', step: 1, steps: 3, percent: 10, text: 'step 1 of 3 (10 %)' },
    ]);
    expect((await entries('rollout.widened')).map(({ text }) => text)).toEqual([
      'step 2 of 3 (50 %)',
      'step 3 of 3 (100 %)',
    ]);
  });

  it('in a dry run shows what a live one would do, and begins nothing', async () => {
    begin();
    const { decisions } = await on.run('dry-run');
    expect(decisions.filter(({ decision }) => decision === 'act')).toHaveLength(TENTH.length);
    expect(await state()).toBeUndefined();
    expect(on.platform.sent).toEqual([]);
  });

  it('counts nobody for its limits who is not among the share', async () => {
    const limits = { max: TENTH.length, percent: 100, perDay: TENTH.length };
    begin({ ...rolling(), limits });
    await on.run();
    expect(sent()).toEqual(sorted(TENTH));
    await days(1);
    expect(sent()).toEqual(sorted(TENTH));
    expect(reasonsOf(await on.run()).join()).toContain('hold limits');
  });

  it('does not pass time while it is stopped, nor while no run takes place', async () => {
    begin();
    await on.run();
    await stopEverything(on.engine, ADA);
    await days(2);
    await resumeEverything(on.engine, ADA);
    on.clock.pass(72 * HOUR);
    await on.run();
    expect(await state()).toMatchObject({ step: 0, passedMs: 0 });
    await days(1);
    expect(sent()).toEqual(sorted(HALF));
  });

  it('that is changed goes on: with other steps at its own, with another condition at the first one', async () => {
    begin();
    await days(1);
    on.rules(rolling('rollout: { steps: [10%, 20%, 100%], each: 24h }'));
    expect(reasonsOf(await on.run()).join()).toContain('step 2 of 3 (20 %)');
    on.rules(rolling(`${ROLLOUT}\nfresh: { MdmData.Timestamp: 7d }`));
    expect(reasonsOf(await on.run()).join()).toContain('step 1 of 3 (10 %)');
    expect(sent()).toEqual(sorted(HALF));
  });

  it('holds back an act that was decided before its file had fewer steps', async () => {
    begin(rolling('rollout: { steps: [100%], each: 24h }'));
    const narrow = rolling('rollout: { steps: [0.01%, 100%], each: 24h }');
    on.platform.onWrite = () => on.rules({ ...narrow, hash: on.engine.active().rules[0]?.hash ?? '' });
    await on.run();
    expect(on.platform.sent.length).toBeLessThan(IDS.length / 2);
    const withdrawn = (await on.store.openState(on.clock.now)).decisions.filter(({ reason }) => reason === 'rollout');
    expect(withdrawn.length).toBe(IDS.length - on.platform.sent.length);
  });
});

describe('what is shown of it', () => {
  const whole = 'rollout: { steps: [50%, 100%], each: 24h }';

  it('is decided again by a replay, and a what-if goes through the steps by its own time', async () => {
    begin(rolling(whole));
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    await days(1);
    reverse(EVERYBODY.slice(0, 2));
    on.clock.pass(HOUR);
    await on.run();
    await resumeRollout(on.engine, 'ban', ADA);
    on.platform.addDevice('new', BAD);
    await days(1);
    await history.settled();
    const span = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    const was = await asItWas(history, { ...span, traits: ACTIONS });
    expect(was.differences).toEqual([]);
    expect(was.acts.length).toBe(on.platform.sent.length);
    const other = await whatIf(history, [rolling('rollout: { steps: [10%, 100%], each: 12h }')], {
      ...span,
      actions: ACTIONS,
    });
    const began = other.acts[0]?.atMs ?? 0;
    const early = other.acts.filter(({ atMs }) => atMs < began + 12 * HOUR).map(({ target }) => `ban ${target}`);
    expect(sorted(early)).toEqual(sorted(TENTH));
    expect(other.acts.length).toBeGreaterThan(TENTH.length);
  });

  it('names the step where a match is explained, and the stop on the page, in an alert and in the first sentence', async () => {
    const rule = rolling(whole);
    begin(rule);
    const pages = pagesOnPlatform(on, [rule], { ruleDetail: async () => ({ rule, text: '', report: RULE_REPORT }) });
    await on.run();
    const outside = EVERYBODY.find((act) => !HALF.includes(act))?.replace('ban S-', '') as string;
    const text = await pages.get(`/subjects/device/${outside}/rules/ban`);
    expect(text.text).toContain('step 1 of 2 (50 %), until');
    expect((await pages.get('/rules/ban')).text).toContain('step 1 of 2 (50 %), until');
    reverse(HALF.slice(0, 2));
    on.clock.pass(HOUR);
    await on.run();
    const page = await pages.get('/rules/ban');
    expect(page.text).toContain('It acts no more, since people reversed 2 of what it did');
    const [undo] = await on.store.plans({ status: 'pending' }, 1);
    expect(page.html).toContain(`href="/plans/${undo?.id}"`);
    expect(page.text).toContain('people reversed 2 of what it did (it stops at 2) and exempted 0');
    expect((await pages.get('/')).text).toContain(
      'Rule ban acts no more, since people reversed or exempted what it did',
    );
    const alerts = alertsOf(on);
    expect((await alerts.look()).map(({ code }) => code)).toEqual(
      expect.arrayContaining(['rollout_braked', 'plan_waits']),
    );
    expect((await pages.get('/rules/ban', 'read')).html).not.toContain('/rollout/resume');
    expect(page.html).toContain('action="/rules/ban/rollout/resume"');
    expect(page.html).toContain('action="/rules/ban/rollout/restart"');
    await pages.post('/rules/ban/rollout/resume', { reason: 'both were drills' });
    expect(await state()).toMatchObject({ step: 0, braked: undefined });
    await pages.post('/rules/ban/rollout/restart', { reason: 'once more' });
    expect(await state()).toBeUndefined();
    expect((await alerts.look()).map(({ code }) => code)).not.toContain('rollout_braked');
  });
});

describe('the brake', () => {
  const whole = 'rollout: { steps: [50%, 100%], each: 24h, brake: { reversed: 2, exempted: 3 } }';
  const first = () => HALF.slice(0, 2);
  const planned = async () => (await on.store.plans({ status: 'pending' }, 10)).flatMap(({ intents }) => intents);

  it('stops the rule at what people reversed, and plans the undo of the rest, which waits for a yes', async () => {
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    reverse(HALF.slice(0, 1));
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined, reversed: [expect.any(String)] });
    on.clock.pass(HOUR);
    reverse(HALF.slice(1, 2));
    on.platform.addDevice('new', BAD);
    on.rules(rolling(whole.replace('50%', '99.99%')));
    const round = await on.run();
    expect(on.platform.sent).not.toContain('ban S-new');
    expect(reasonsOf(round).find((text) => text.startsWith('hold'))).toMatch(
      /^hold rollout_braked: its rollout was stopped at .*: people reversed 2 of what it did; it waits for a person/,
    );
    expect(await entries('rollout.braked')).toMatchObject([{ rule: 'ban', text: 'people reversed 2 of what it did' }]);
    expect(sorted((await planned()).map(({ action, target }) => `${action} ${target}`))).toEqual(
      sorted(HALF.slice(2).map((act) => act.replace('ban ', 'unban_device '))),
    );
    const { items } = await readInbox(on.store, { limit: 10 });
    expect(items.map(inboxWhy)).toEqual(['to undo what rule ban did']);
    // Once, and nothing of it without a yes.
    on.clock.pass(6 * HOUR);
    await on.run();
    expect(await entries('rollout.planned')).toHaveLength(1);
    expect(on.platform.sent.filter((act) => act.startsWith('unban'))).toEqual([]);
    expect(await on.store.plans({ status: 'pending' }, 10)).toHaveLength(1);
  });

  it('of which the process ended before the undo was planned, the next run plans it, whoever owns the rule', async () => {
    const approvals = { approvals: [], tokens: [], owners: [{ folder: '.', groups: ['ops'], rules: ['ban'] }] };
    begin({ ...rolling(whole), guards: { ask: [], lastDevice: false, perDay: undefined, approvals, files: [] } });
    await on.run();
    on.clock.pass(HOUR);
    reverse(first());
    const { replacePlans } = on.store;
    on.store.replacePlans = () => Promise.reject(new Error('the process ended'));
    await expect(on.run()).rejects.toThrow('the process ended');
    on.store.replacePlans = replacePlans;
    expect(await planned()).toEqual([]);
    expect(await state()).toMatchObject({ braked: { why: expect.any(String) }, isPlanned: false });
    on.clock.pass(HOUR);
    await on.run();
    expect(await planned()).toHaveLength(HALF.length - 2);
    expect(await entries('rollout.braked')).toHaveLength(1);
  });

  it('stops it at what people exempted of what it did; what they exempted before does not count', async () => {
    begin(rolling(whole));
    const exempt = (id: string) =>
      addExemption(
        on.engine,
        { subject: { kind: 'device', id }, owner: 'ada', reason: 'a test', until: '30d', unseen: true },
        'ada',
      );
    const ids = HALF.map((act) => act.replace('ban S-', ''));
    await exempt(ids[0] as string);
    on.clock.pass(1);
    await on.run();
    on.clock.pass(HOUR);
    for (const id of ids.slice(1, 3)) await exempt(id);
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined });
    await exempt(ids[3] as string);
    await on.run();
    expect(await state()).toMatchObject({ braked: { why: 'people exempted 3 of those it acted on' } });
  });

  it('does not count the undo that it planned itself; resuming begins to count anew, and another reversal of two stops it again', async () => {
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    reverse(first());
    await on.run();
    on.clock.pass(HOUR);
    await resumeRollout(on.engine, 'ban', ADA);
    expect(await state()).toMatchObject({ step: 0, braked: undefined, reversed: [] });
    const [plan] = await on.store.plans({ status: 'pending' }, 10);
    await on.apply(await on.approve(plan));
    expect(on.platform.sent.filter((act) => act.startsWith('unban'))).toHaveLength(HALF.length - 2);
    on.clock.pass(HOUR);
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined, reversed: [] });
    // What was undone by a plan is left alone; what comes later is acted on.
    await days(1);
    const later = EVERYBODY.filter((act) => !HALF.includes(act));
    expect(sorted(on.platform.sent.slice(-later.length))).toEqual(sorted(later));
    reverse(later.slice(0, 2));
    on.clock.pass(HOUR);
    await on.run();
    expect((await state())?.braked?.why).toBe('people reversed 2 of what it did');
  });

  it('counts what people reversed also where a dry run saw it first, and its match is over by the next live run', async () => {
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    reverse(first());
    await on.run('dry-run');
    on.clock.pass(HOUR);
    for (const act of first()) on.platform.compromised(act.replace('ban S-', ''), 'FALSE');
    await on.run('dry-run');
    expect(await state()).toMatchObject({ braked: undefined, step: 0 });
    on.clock.pass(HOUR);
    await on.run();
    expect((await state())?.braked?.why).toBe('people reversed 2 of what it did');
  });

  it('counts a release by a person, and not one of all that the rule did', async () => {
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    for (const act of first()) await releaseClaims(on.engine, act.replace('ban ', ''), ADA);
    await on.run();
    expect((await state())?.braked?.why).toBe('people reversed 2 of what it did');
    await on.close();
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    const { plan } = await planRelease(on.engine, 'ban', ADA);
    await on.apply(await on.approve(plan));
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined, reversed: [] });
  });

  it('does not count what a release of all could not give back yet, and the next one did', async () => {
    begin(rolling(whole));
    await on.run();
    on.clock.pass(HOUR);
    const { plan } = await planRelease(on.engine, 'ban', ADA);
    on.engine.settings.act.ceilings = { run: { max: 1, percent: 1 }, day: { max: 1, percent: 1 } };
    await on.apply(await on.approve(plan));
    expect(on.platform.effects.filter((effect) => effect.startsWith('unban'))).toHaveLength(1);
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined, reversed: [] });
    on.engine.settings.act.ceilings = on.engine.settings.decide.ceilings;
    on.clock.pass(HOUR);
    const rest = await planRelease(on.engine, 'ban', ADA);
    await on.apply(await on.approve(rest.plan));
    expect(on.platform.effects.filter((effect) => effect.startsWith('unban'))).toHaveLength(HALF.length);
    on.clock.pass(HOUR);
    await on.run();
    expect(await state()).toMatchObject({ braked: undefined, reversed: [] });
  });

  it('holds until a person resumes or restarts it, or the rule is another one', async () => {
    begin(rolling(whole));
    await expect(resumeRollout(on.engine, 'ban', ADA)).rejects.toThrow('the rollout of rule `ban` is not stopped');
    await expect(resumeRollout(on.engine, 'other', ADA)).rejects.toThrow('there is no active rule `other`');
    await on.run();
    reverse(first());
    on.clock.pass(HOUR);
    await on.run();
    await days(2);
    expect(await state()).toMatchObject({ step: 0, braked: { why: expect.any(String) } });
    await restartRollout(on.engine, 'ban', ADA);
    expect(await state()).toBeUndefined();
    await on.run();
    expect(await state()).toMatchObject({ step: 0, braked: undefined, passedMs: 0 });
    expect(await entries('rollout.restarted')).toEqual([{ rule: 'ban', by: 'ada', reason: 'a test' }]);
    on.rules(banRule());
    await expect(restartRollout(on.engine, 'ban', ADA)).rejects.toThrow('has no `rollout`');
  });

  it('of a rule that is gone is over, and the rule begins anew when it is back', async () => {
    begin(rolling(whole));
    await on.run();
    reverse(first());
    on.clock.pass(HOUR);
    await on.run();
    on.rules(banRule({ id: 'other', field: 'Other' }));
    await on.run();
    expect(await on.store.rollouts()).toEqual([]);
    on.rules(rolling(whole));
    await on.run();
    expect(await state()).toMatchObject({ step: 0, braked: undefined });
  });
});
