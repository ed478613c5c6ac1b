// test: the real engine across change windows, and across the windows in which alone a rule acts: what would act is held until the window ends, then done once; an undo is never held; one plan goes
// through with break glass, also when the process is killed between its approval and its applying. Nothing waits for real time.
import { afterEach, describe, expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import type { TouchKind } from '../../../src/domain/passkey.ts';
import type { Plan } from '../../../src/domain/plan.ts';
import { challengeOf } from '../../../src/domain/touch.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { addPasskey } from '../../../src/engine/operate/passkeys.ts';
import { answerPlan, applyPlan, approvePart } from '../../../src/engine/operate/plans.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { Authenticator } from '../../support/authenticator.ts';
import { Crash, Life, mortal } from '../../support/crash.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { isThorough } from '../../support/fixed-seed.ts';
import { compromise, lookOn } from '../../support/looks.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const BAD = { MdmData: { CompromisedStatus: 'TRUE' } };
const ADA = { by: 'ada', reason: 'a test' };
let on: OnPlatform;
afterEach(() => on.close());

interface Begun {
  windows?: string;
  at: string;
  mode?: 'approve' | 'enforce' | 'dry-run';
  rules?: Parameters<typeof banRule>[0][];
}

/** Two compromised devices, at this time. */
function begin({
  windows = 'Fri 18:00-Mon 06:00 Europe/Berlin',
  at,
  mode = 'enforce',
  rules = [{ mode }],
}: Begun): void {
  const { windows: freeze, faults } = parseWindows(windows, 'UTC');
  expect(faults).toEqual([]);
  on = startOnPlatform({
    rules: rules.map((rule) => banRule(rule)),
    settings: (settings) => ({ ...settings, freeze }),
  });
  on.clock.now = Date.parse(at);
  for (const id of ['d1', 'd2']) on.platform.addDevice(id, BAD);
}

const answers = async (mode?: 'enforce' | 'dry-run' | 'approve') =>
  (await on.run(mode)).decisions.map(({ target, decision, reason, outcome }) => [target, decision, reason, outcome]);
const moveTo = (text: string) => {
  on.clock.now = Date.parse(text);
};
const kinds = async (kind: Parameters<typeof on.store.audit>[0]['kind']) =>
  (await on.store.audit({ kind, limit: 100 })).map(({ bytes }) => JSON.parse(bytes).body);

describe('in a change window', () => {
  it('what matches is held with the end of the window, and done once, by the first run after it', async () => {
    begin({ at: '2027-11-20T12:00:00Z' });
    const { decisions, plan } = await on.run();
    expect(decisions.map(({ decision, reason, reasonText }) => [decision, reason, reasonText])).toEqual(
      [1, 2].map(() => [
        'hold',
        'frozen',
        'the change window `Fri 18:00-Mon 06:00 Europe/Berlin` is in force until Mon 2027-11-22 06:00 Europe/Berlin (2027-11-22 05:00:00 UTC)',
      ]),
    );
    expect(plan?.intents.map(({ target, held, reason }) => [target, held, reason])).toEqual([
      ['S-d1', true, 'frozen'],
      ['S-d2', true, 'frozen'],
    ]);
    on.clock.pass(HOUR);
    await on.run();
    expect(on.platform.sent).toEqual([]);
    // One of them is repaired meanwhile: what no longer matches is not done.
    on.platform.compromised('d2', 'FALSE');
    moveTo('2027-11-22T05:00:00Z');
    expect(await answers()).toEqual([['S-d1', 'act', 'rule_matches', 'succeeded']]);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it.each([
    ['the clock is set back', '2027-10-30T18:00:00Z', '2027-10-31T04:59:00Z', '2027-10-31T05:00:00Z'],
    ['the clock is set forward', '2027-03-27T22:00:00Z', '2027-03-28T03:59:00Z', '2027-03-28T04:00:00Z'],
  ])('%s while it is in force, and it ends by the clock on the wall', async (_, begun, before, after) => {
    begin({ windows: 'Sat 19:00-Sun 06:00 Europe/Berlin', at: begun });
    await on.run();
    moveTo(before);
    await on.run();
    expect(on.platform.sent).toEqual([]);
    moveTo(after);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('that begins while a run acts, what is not sent yet is held and done after it', async () => {
    begin({ at: '2027-11-19T16:59:59Z' });
    on.platform.onWrite = () => on.clock.pass(2_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    const held = (await on.store.openState(on.clock.now)).decisions.find(({ target }) => target === 'S-d2');
    expect([held?.decision, held?.reason]).toEqual(['hold', 'frozen']);
    await on.run();
    moveTo('2027-11-22T05:00:00Z');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('an undo is not held: not by a rule that no longer matches, and not by a person', async () => {
    begin({ at: '2027-11-19T12:00:00Z' });
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
    moveTo('2027-11-20T12:00:00Z');
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    expect(on.platform.sent.slice(2)).toEqual(['unban S-d1']);
    const [released] = await releaseClaims(on.engine, 'S-d2', ADA);
    expect(released?.state).toBe('released');
    expect(on.platform.sent.slice(3)).toEqual(['unban S-d2']);
  });

  it('a notification is no change of the platform, and is not held', async () => {
    begin({ at: '2027-11-20T12:00:00Z', rules: [{ id: 'tell', does: 'notify' }] });
    expect(await answers()).toEqual([
      ['d1', 'act', 'rule_matches', 'succeeded'],
      ['d2', 'act', 'rule_matches', 'succeeded'],
    ]);
  });

  it('a dry run, and a rule on trial, show what would wait', async () => {
    begin({ at: '2027-11-20T12:00:00Z', rules: [{}, { id: 'trial', mode: 'dry-run' }] });
    const { decisions } = await on.run('dry-run');
    const of = (rule: string) =>
      decisions
        .filter((one) => one.rule === rule)
        .map(({ decision, reasonText }) => [decision, reasonText.slice(0, 33)]);
    expect(of('ban')[0]).toEqual(['hold', 'the change window `Fri 18:00-Mon ']);
    expect(of('trial')[0]).toEqual(['act', 'it would wait: the change window ']);
  });

  it('a doubt is read back, and tried once more only after it', async () => {
    begin({ at: '2027-11-19T16:59:59Z' });
    on.platform.compromised('d2', 'FALSE');
    on.platform.answer('S-d1', 'lost');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    moveTo('2027-11-19T17:00:00Z');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['unknown']);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    moveTo('2027-11-22T05:00:00Z');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
  });
});

describe('an approved plan in a change window', () => {
  const approved = async (): Promise<Plan> => {
    begin({ at: '2027-11-22T03:00:00Z', mode: 'approve' });
    return on.approve((await on.run()).plan);
  };

  it('is refused, keeps its approval, and is applied after the window', async () => {
    const plan = await approved();
    await expect(on.apply(plan)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^the change window `.*` is in force until Mon .* stays approved: apply it after the window, or with `--break-glass/,
      ),
    });
    expect(await on.store.plan(plan.id)).toMatchObject({ status: 'approved' });
    moveTo('2027-11-22T05:00:00Z');
    expect((await on.apply(plan)).plan.status).toBe('applied');
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('that begins while it is applied, is interrupted; the rest is applied after the window, and nothing twice', async () => {
    begin({ at: '2027-11-19T16:59:59Z', mode: 'approve' });
    const plan = await on.approve((await on.run()).plan);
    on.platform.onWrite = () => on.clock.pass(2_000);
    expect((await on.apply(plan)).plan.status).toBe('interrupted');
    expect(on.platform.sent).toEqual(['ban S-d1']);
    on.platform.onWrite = () => {};
    await expect(on.apply(plan)).rejects.toThrow('stays interrupted');
    const settings = { ...on.engine.settings, freeze: [] };
    expect((await applyPlan({ ...on.engine, settings }, plan.id, { by: 'ana' })).plan.status).toBe('applied');
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('undoes what it undoes, and is interrupted for the rest', async () => {
    begin({ at: '2027-11-19T12:00:00Z', rules: [{ mode: 'approve' }] });
    on.platform.compromised('d2', 'FALSE');
    await on.apply(await on.approve((await on.run()).plan));
    on.platform.compromised('d1', 'FALSE');
    on.platform.compromised('d2', 'TRUE');
    moveTo('2027-11-20T12:00:00Z');
    const plan = await on.approve((await on.run()).plan);
    expect(plan.intents.map(({ action }) => action).sort()).toEqual(['ban_device', 'unban_device']);
    const applied = await on.apply(plan);
    expect(applied.plan.status).toBe('interrupted');
    expect(applied.refused.map(({ target, reason }) => [target, reason.slice(0, 13)])).toEqual([
      ['S-d2', 'the change wi'],
    ]);
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });
});

describe('break glass', () => {
  const GLASS = { reason: 'the outbreak cannot wait' };

  it('lets one plan through, and nothing else', async () => {
    begin({ at: '2027-11-20T12:00:00Z' });
    const { plan } = await on.run();
    const alerted: number[] = [];
    on.engine.afterwards = async () => void alerted.push(on.platform.sent.length);
    const { plan: part } = await approvePart(
      on.engine,
      plan?.id ?? '',
      { rules: [], only: ['S-d1'], except: [] },
      { by: 'ada', reason: GLASS.reason },
      true,
    );
    expect(part.breakGlass).toEqual({ at: on.clock.now, by: 'ada', reason: GLASS.reason });
    await on.apply(part);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    on.clock.pass(MINUTE);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await kinds('plan.glass_broken')).toEqual([
      {
        plan: part.id,
        digest: part.digest,
        by: 'ada',
        reason: GLASS.reason,
        window: 'Fri 18:00-Mon 06:00 Europe/Berlin',
      },
    ]);
  });

  it('is recorded, and people are alerted, before anything is sent', async () => {
    begin({ at: '2027-11-20T12:00:00Z', mode: 'approve' });
    const plan = await on.approve((await on.run()).plan);
    const alerted: [number, number][] = [];
    on.engine.afterwards = async () => {
      alerted.push([on.platform.sent.length, (await kinds('plan.glass_broken')).length]);
    };
    const applied = await applyPlan(on.engine, plan.id, { by: 'ada', ...GLASS }, { glass: true });
    expect(alerted[0]).toEqual([0, 1]);
    expect(applied.plan).toMatchObject({ status: 'applied', breakGlass: { by: 'ada', reason: GLASS.reason } });
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('is broken for an approved plan by the touch alone that was asked for applying it, where the person has a passkey', async () => {
    begin({ at: '2027-11-20T12:00:00Z', mode: 'approve' });
    const by = 'ada@example.com (u-ada at https://id.example.com)';
    const plan = await on.approve((await on.run()).plan);
    const key = new Authenticator('https://trust.example.com');
    const kept = { id: key.id.toString('base64url'), publicKey: key.spki, counter: 0, name: 'laptop' };
    await addPasskey(on.engine, { ...kept, origin: 'https://trust.example.com' }, { by });
    const breakGlassWith = (kind?: TouchKind, digest = plan.digest) => {
      const nonce = 'AAAA';
      const challenge = kind && challengeOf({ kind, nonce }, { of: plan.id, digest, by });
      const touch = challenge && JSON.parse(key.touch({ kind, nonce, publicKey: { challenge } }));
      return applyPlan(on.engine, plan.id, { by, touch, ...GLASS }, { glass: true });
    };
    await expect(breakGlassWith()).rejects.toThrow('has a passkey, which this answer needs');
    for (const other of ['glass', 'approve'] as const)
      await expect(breakGlassWith(other)).rejects.toThrow('was made for something else');
    await expect(breakGlassWith('apply', 'e'.repeat(64))).rejects.toThrow('was made for something else');
    expect([on.platform.sent, await kinds('plan.glass_broken')]).toEqual([[], []]);
    const applied = await breakGlassWith('apply');
    expect(applied.plan).toMatchObject({ status: 'applied', breakGlass: { by, touched: true } });
    expect(await kinds('plan.glass_broken')).toMatchObject([{ by, touch: { kind: 'apply', passkey: kept.id } }]);
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('survives a process that ends at any await between the approval and the end of applying', {
    timeout: 60_000,
  }, async () => {
    // The step after a call and the one before the next find the same rows: one of the two.
    for (let step = 1; ; step += isThorough ? 2 : 5) {
      begin({ at: '2027-11-20T12:00:00Z' });
      const { plan } = await on.run();
      const id = plan?.id ?? '';
      const life = new Life(step);
      const engine = { ...on.engine, store: mortal(on.engine.store, life), api: mortal(on.engine.api, life) };
      const work = answerPlan(engine, id, 'approve', { by: 'ada', reason: GLASS.reason }, true).then(() =>
        applyPlan(engine, id, { by: 'ada' }),
      );
      await work.catch((error) => {
        if (!(error instanceof Crash)) throw error;
      });
      on.restart();
      await on.store.abortStaleRuns(on.clock.nowMs());
      const after = await on.store.plan(id);
      if (after?.status === 'pending') expect(after.breakGlass).toBeUndefined();
      else {
        expect(after?.breakGlass).toMatchObject({ by: 'ada' });
        if (after?.status !== 'applied') expect((await on.apply(after)).plan.status).toBe('applied');
        for (const one of new Set(on.platform.sent))
          expect(on.platform.sent.filter((each) => each === one)).toHaveLength(1);
        expect((await on.intents()).filter(({ status }) => status === 'planned')).toEqual([]);
      }
      if (!life.ended) return;
      on.close();
    }
  });

  it('lifts no stop', async () => {
    begin({ at: '2027-11-20T12:00:00Z', mode: 'approve' });
    const plan = await on.approve((await on.run()).plan);
    await stopEverything(on.engine, ADA);
    await expect(applyPlan(on.engine, plan.id, { by: 'ada', ...GLASS }, { glass: true })).rejects.toThrow(
      'ada stopped everything',
    );
    expect(on.platform.sent).toEqual([]);
  });

  it('needs a reason, and a change window that it could break', async () => {
    begin({ at: '2027-11-20T12:00:00Z' });
    const { plan } = await on.run();
    const id = plan?.id ?? '';
    await expect(answerPlan(on.engine, id, 'approve', { by: 'ada' }, true)).rejects.toMatchObject({ code: 'usage' });
    const without = { ...on.engine, settings: { ...on.engine.settings, freeze: [] } };
    await expect(answerPlan(without, id, 'approve', { by: 'ada', reason: 'why' }, true)).rejects.toThrow(
      'no change window is configured',
    );
    expect(await on.store.plan(id)).toMatchObject({ status: 'pending' });
  });

  it('that the audit does not have is refused', async () => {
    begin({ at: '2027-11-20T12:00:00Z', mode: 'approve' });
    const plan = await on.approve((await on.run()).plan);
    const forged: Plan = { ...plan, breakGlass: { at: 0, by: 'mallory', reason: 'mine' } };
    await on.store.changePlan(forged, [], [], 'approved');
    await expect(on.apply(plan)).rejects.toThrow('differs from what was let through the change windows');
    expect(on.platform.sent).toEqual([]);
  });
});

it('a look at the event log holds in a change window as a run does, and the first look or run after it acts', async () => {
  begin({ at: '2027-11-19T12:00:00Z' });
  for (const id of ['d1', 'd2']) on.platform.compromised(id, 'FALSE');
  await on.run();
  moveTo('2027-11-19T17:00:00Z');
  compromise(on, 'd1');
  expect((await lookOn(on)).result).toBe('acted');
  const held = (await on.store.openState(on.clock.now)).decisions;
  expect(held.map(({ target, decision, reason }) => [target, decision, reason])).toEqual([['S-d1', 'hold', 'frozen']]);
  expect(on.platform.sent).toEqual([]);
  moveTo('2027-11-22T05:00:00Z');
  await on.run();
  await on.run();
  expect(on.platform.sent).toEqual(['ban S-d1']);
});

describe('a rule with `when_allowed`', () => {
  const NIGHTS = '22:00-02:30 Europe/Berlin';
  const nightly = (at: string, mode: 'approve' | 'enforce' = 'enforce') =>
    begin({ windows: '', at, mode, rules: [{ mode, more: `when_allowed: ${NIGHTS}` }] });
  const waits = (next: string) =>
    [1, 2].map(() => ['skip', 'outside_window', `its rule acts only in \`${NIGHTS}\`; next at ${next}`]);
  const reasons = ({ decisions }: Awaited<ReturnType<typeof on.run>>) =>
    decisions.map(({ decision, reason, reasonText }) => [decision, reason, reasonText]);

  it('waits outside of its window, says when it can act, and acts with the first run in it on what still matches', async () => {
    nightly('2027-11-20T12:00:00Z');
    const first = await on.run();
    expect(reasons(first)).toEqual(waits('2027-11-20 21:00:00 UTC'));
    expect(first.plan).toBeUndefined();
    expect((await on.store.countsOfRun(first.run)).wait).toBe(2);
    moveTo('2027-11-20T20:59:59Z');
    await on.run();
    expect(on.platform.sent).toEqual([]);
    on.platform.compromised('d2', 'FALSE');
    moveTo('2027-11-20T21:00:00Z');
    expect(await answers()).toEqual([['S-d1', 'act', 'rule_matches', 'succeeded']]);
  });

  it.each([
    ['comes twice, it acts in both', '2027-10-31T01:15:00Z', ['ban S-d1', 'ban S-d2']],
    ['is over both times, it acts no more', '2027-10-31T01:30:00Z', []],
    ['never comes, its window ends where the clock jumps over it', '2027-03-28T01:00:00Z', []],
    ['never comes, it acts until then', '2027-03-28T00:59:59Z', ['ban S-d1', 'ban S-d2']],
  ])('where the hour of its end %s', async (_, at, sent) => {
    nightly(at);
    await on.run();
    expect(on.platform.sent).toEqual(sent);
  });

  it('sends nothing more when its window ends while a run acts, and the rest in the next one', async () => {
    nightly('2027-11-20T01:29:59Z');
    on.platform.onWrite = () => on.clock.pass(2_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    moveTo('2027-11-20T21:00:00Z');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('undoes at any time', async () => {
    nightly('2027-11-20T23:00:00Z');
    await on.run();
    moveTo('2027-11-21T12:00:00Z');
    for (const id of ['d1', 'd2']) on.platform.compromised(id, 'FALSE');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2', 'unban S-d1', 'unban S-d2']);
  });

  it('keeps an approved plan until its window, and a break of the glass does not open it', async () => {
    nightly('2027-11-20T01:00:00Z', 'approve');
    const { plan } = await on.run();
    moveTo('2027-11-20T02:00:00Z');
    await on.approve(plan);
    const applying = () => on.apply(plan);
    await expect(applying()).rejects.toThrow(
      `its rule acts only in \`${NIGHTS}\`; next at 2027-11-20 21:00:00 UTC; plan ${plan?.id} stays approved: apply it then`,
    );
    await expect(applyPlan(on.engine, plan?.id as string, ADA, { glass: true })).rejects.toThrow('change window');
    expect(on.platform.sent).toEqual([]);
    moveTo('2027-11-20T21:00:00Z');
    await applying();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('waits for a change window and for the end of a stop in its own window, too', async () => {
    begin({
      windows: '23:00-24:00 Europe/Berlin',
      at: '2027-11-20T22:30:00Z',
      rules: [{ more: `when_allowed: ${NIGHTS}` }],
    });
    expect(reasons(await on.run()).map(([decision, reason]) => [decision, reason])).toEqual(
      Array(2).fill(['hold', 'frozen']),
    );
    await stopEverything(on.engine, ADA);
    moveTo('2027-11-20T23:30:00Z');
    expect(reasons(await on.run()).map(([decision, reason]) => [decision, reason])).toEqual(
      Array(2).fill(['hold', 'stopped']),
    );
    expect(on.platform.sent).toEqual([]);
  });
});
