// test: the real engine warns before it acts: a fake mailer takes what is sent, by a clock that tests move. Nothing waits for real time.
import { afterEach, describe, expect, it } from 'vitest';
import { freeFrom, parseWindows } from '../../../src/domain/change-window.ts';
import type { MessageEnd, Notice, PersonMailer, PersonMessage } from '../../../src/domain/notice.ts';
import { checkAgain } from '../../../src/engine/operate/check-again.ts';
import { addExemption, resumeEverything, stopEverything } from '../../../src/engine/operate/commands.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { NoticeDeliveries } from '../../../src/runtime/notify/notices.ts';
import { banRule, countingIds, type OnPlatform, silent, startOnPlatform } from '../../support/engine-on-platform.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ADA = { by: 'ada', reason: 'a test' };
const NOTICE = 'notice: { before: 24h, remind: [4h, 30m] }\nfix: { text: Turn it off and on again }';
const BAD = { MdmData: { CompromisedStatus: 'TRUE' }, Emails: ['Ana@example.com'] };

let on: OnPlatform;
afterEach(() => on.close());

interface Post {
  /** How the next messages end; delivered when nothing is said. */
  ends: MessageEnd[];
  sent: PersonMessage[];
  hasServer: boolean;
  deliver(): Promise<void>;
}

function begin(rule: Parameters<typeof banRule>[0] = {}, options: Parameters<typeof startOnPlatform>[0] = {}): Post {
  on = startOnPlatform({ rules: [banRule({ more: NOTICE, ...rule })], ...options });
  const post: Post = { ends: [], sent: [], hasServer: true, deliver: async () => {} };
  const mailer: PersonMailer = {
    send: async (message) => {
      post.sent.push(message);
      return post.ends.shift() ?? { how: 'delivered' };
    },
  };
  const deps = {
    box: on.store.noticeBox(),
    freeFrom: (id: string, atMs: number) => {
      const allowed = on.engine.active().rules.find((one) => one.id === id)?.whenAllowed;
      return freeFrom({ freeze: on.engine.settings.freeze ?? [], allowed }, atMs);
    },
    reader: on.store,
    maySend: () => true,
    ids: countingIds(),
    clock: on.clock,
    random: { next: () => 1 },
    log: silent,
  };
  const never = new AbortController().signal;
  post.deliver = async () => {
    // As after a restart with other settings.
    const loop = new NoticeDeliveries({ ...deps, mailer: post.hasServer ? mailer : undefined });
    expect(await loop.round(never)).not.toBe('failed');
  };
  return post;
}

const reasons = async (mode?: 'enforce' | 'dry-run') =>
  (await on.run(mode)).decisions.map(({ decision, reason, reasonText }) => [decision, reason, reasonText]);
const kinds = async () =>
  (await on.store.audit({ limit: 500 })).map(({ kind }) => kind).filter((kind) => kind.startsWith('notice.'));
const notices = async (): Promise<Notice[]> => (await on.store.notices({}, 100)).rows;
const stages = ({ sent }: Post) => sent.map(({ stage, to }) => `${stage} ${to}`);

/** A run at this time, and what is sent after it. */
async function round(post: Post, ms = 0): Promise<void> {
  on.clock.pass(ms);
  await post.deliver();
  await on.run();
  await post.deliver();
}

describe('a rule that warns first', () => {
  it('sends one notice, reminds, and acts once after the deadline that it named', async () => {
    const post = begin();
    on.platform.addDevice('d1', {
      ...BAD,
      TrustData: { Factors: [{ RemediationDescription: 'Update it', RemediationURL: 'javascript:1' }] },
    });
    expect(await reasons()).toEqual([['skip', 'notice', 'ana@example.com is warned first: 1d after the delivery']]);
    await post.deliver();
    const [message] = post.sent;
    const dueAt = on.clock.now + DAY;
    expect(message).toMatchObject({
      stage: 'first',
      to: 'ana@example.com',
      rule: { id: 'ban', fix: { text: 'Turn it off and on again' } },
      device: { id: 'd1', serial: 'S-d1' },
      dueAt,
      action: 'ban_device',
      factors: [{ text: 'Update it' }],
    });
    expect((await on.run()).decisions[0]?.reasonText).toContain('ana@example.com was warned at');
    await round(post, 20 * HOUR);
    await round(post, 3 * HOUR + 30 * MINUTE);
    await round(post, 29 * MINUTE);
    expect(stages(post)).toEqual(['first ana@example.com', 'reminder ana@example.com', 'reminder ana@example.com']);
    expect(on.platform.sent).toEqual([]);
    await round(post, MINUTE);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(post.sent).toHaveLength(3);
    expect(new Set(post.sent.map(({ id }) => id)).size).toBe(3);
    expect((await notices()).map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('keeps its deadline over a check of what is still wrong, and is mended by a check of what is not', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    await round(post, HOUR);
    const check = () => checkAgain(on.engine, 'device', 'd1', 'person ana@example.com');
    const inForce = async () => (await on.store.openState(on.clock.now)).decisions.map(({ reason }) => reason);
    const [told, before] = [await notices(), await inForce()];
    expect((await check()).found.rules).toMatchObject([{ verdict: 'still', hasEnded: false }]);
    expect(await notices()).toEqual(told);
    expect(await inForce()).toEqual(before);
    on.clock.pass(MINUTE);
    on.platform.compromised('d1', 'FALSE');
    expect((await check()).found.rules).toMatchObject([{ verdict: 'mended', hasEnded: true }]);
    expect((await notices()).map(({ status }) => status)).toEqual(['mended', 'cancelled', 'cancelled']);
    expect(await inForce()).toEqual([]);
    expect(await kinds()).toContain('notice.mended');
    await round(post, DAY);
    expect(post.sent).toHaveLength(1);
    expect(on.platform.sent).toEqual([]);
  });

  it('does nothing about what is mended in time, and records that', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    on.platform.compromised('d1', 'FALSE');
    await round(post, HOUR);
    await round(post, DAY);
    expect(on.platform.sent).toEqual([]);
    expect(post.sent).toHaveLength(1);
    expect(await kinds()).toEqual(['notice.mended', 'notice.delivered', 'notice.sending', 'notice.begun']);
    expect((await notices()).map(({ status }) => status).sort()).toEqual(['cancelled', 'cancelled', 'mended']);
    // It matches again: a new match, with a notice and a time of its own.
    on.platform.compromised('d1', 'TRUE');
    await round(post, HOUR);
    expect(post.sent).toHaveLength(2);
    await round(post, 23 * HOUR);
    expect(on.platform.sent).toEqual([]);
  });

  it.each<[string, MessageEnd]>([
    ['is refused', { how: 'refused', why: '550 no such user' }],
    ['is in doubt', { how: 'doubt', why: 'the connection broke' }],
  ])('waits for a person when the notice %s, and never sends it again', async (_, end) => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    post.ends = [end];
    await round(post);
    const { decisions, plan } = await on.run();
    expect(decisions.map(({ decision, reason }) => [decision, reason])).toEqual([['hold', 'notice_undelivered']]);
    expect(decisions[0]?.reasonText).toContain('ana@example.com could not be warned first');
    await round(post, 3 * DAY);
    expect(on.platform.sent).toEqual([]);
    expect(post.sent).toHaveLength(1);
    expect(plan?.intents[0]?.effect.unwarned).toEqual(['ana@example.com']);
    const waiting = (await on.run()).plan;
    await on.approve(waiting);
    await on.apply(waiting);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('tries again what was not sent, counts from the delivery, and waits for a person once the deadline is over', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    const refused: MessageEnd = { how: 'not_sent', why: 'ECONNREFUSED' };
    post.ends = [refused, refused];
    await round(post);
    await round(post, 6_000);
    await round(post, HOUR);
    expect(post.sent.map(({ stage }) => stage)).toEqual(['first', 'first', 'first']);
    expect(new Set(post.sent.map(({ id }) => id)).size).toBe(1);
    await round(post, 23 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);

    on.platform.addDevice('d2', { ...BAD, Emails: ['bo@example.com'] });
    post.ends = Array.from({ length: 100 }, () => refused);
    await round(post);
    for (let hour = 0; hour < 25; hour += 1) await round(post, HOUR);
    post.ends = [];
    const tried = post.sent.length;
    await round(post, 5 * DAY);
    expect(post.sent).toHaveLength(tried);
    const [held] = (await on.run()).decisions.filter(({ target }) => target === 'S-d2');
    expect([held?.reason, held?.reasonText]).toEqual([
      'notice_undelivered',
      'bo@example.com could not be warned first: it was not delivered by the deadline: ECONNREFUSED',
    ]);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('waits for a person while no mail server is configured, and warns with the whole time once one is', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    post.hasServer = false;
    await round(post);
    const held = [
      'hold',
      'notice_undelivered',
      'ana@example.com could not be warned first: no mail server is configured',
    ];
    expect(await reasons()).toEqual([held]);
    await round(post, 3 * DAY);
    expect(await reasons()).toEqual([held]);
    expect(await kinds()).toEqual(['notice.failed', 'notice.begun']);
    post.hasServer = true;
    await round(post, HOUR);
    expect(post.sent).toMatchObject([{ stage: 'first', dueAt: on.clock.now + DAY }]);
    await round(post, 23 * HOUR);
    expect([on.platform.sent, (await on.run()).plan]).toEqual([[], undefined]);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('waits for a person from the first run on, dry or live, where nobody can be warned, and warns when somebody can', async () => {
    const post = begin();
    const { decide, act } = on.engine.settings;
    on.engine.settings = {
      ...on.engine.settings,
      decide: { ...decide, hasNoMailer: true },
      act: { ...act, hasNoMailer: true },
    };
    on.platform.addDevice('d1', BAD);
    on.platform.addDevice('d2', { ...BAD, Emails: ['bo@example.com'] });
    for (const mode of ['dry-run', 'enforce'] as const)
      expect((await on.run(mode)).decisions.map(({ decision, reasonText }) => [decision, reasonText])).toEqual([
        ['hold', 'ana@example.com could not be warned first: no mail server is configured'],
        ['hold', 'bo@example.com could not be warned first: no mail server is configured'],
      ]);
    const { plan } = await on.run();
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2']);
    on.engine.settings = { ...on.engine.settings, decide, act };
    on.platform.addDevice('d3', { ...BAD, Emails: ['cy@example.com'] });
    await round(post);
    expect(post.sent).toMatchObject([{ stage: 'first', to: 'cy@example.com' }]);
  });

  it('names no deadline that a change window will not let it keep, also when the window is set after the delivery', async () => {
    const windows = (text: string) => parseWindows(text, 'UTC').windows;
    const post = begin(
      {},
      { settings: (settings) => ({ ...settings, freeze: windows('2027-01-20 00:00-2027-01-22 00:00') }) },
    );
    on.clock.now = Date.parse('2027-01-19T12:00:00Z');
    on.platform.addDevice('d1', BAD);
    await round(post);
    const times = () => post.sent.map(({ stage, dueAt }) => `${stage} ${new Date(dueAt).toISOString().slice(8, 16)}`);
    expect(times()).toEqual(['first 22T00:00']);
    on.engine.settings.freeze = windows('2027-01-20 00:00-2027-01-23 06:00');
    await round(post, 56 * HOUR);
    await round(post, 23 * HOUR);
    expect(times()).toEqual(['first 22T00:00']);
    await round(post, 7 * HOUR);
    await round(post, 3 * HOUR + 30 * MINUTE);
    expect(times()).toEqual(['first 22T00:00', 'reminder 23T06:00', 'reminder 23T06:00']);
    on.engine.settings.freeze = [];
    await round(post, 29 * MINUTE);
    expect(on.platform.sent).toEqual([]);
    await round(post, MINUTE);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it.each<[string, () => LoadedRule[]]>([
    ['only reports', () => [banRule({ more: NOTICE, mode: 'dry-run' })]],
    ['is switched off', () => [banRule({ more: NOTICE, mode: 'off' })]],
    ['is removed', () => [banRule({ id: 'other', field: 'Other' })]],
  ])('sends nothing any more when the rule %s, and warns anew when it acts again', async (_, rules) => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    on.platform.addDevice('d2', { ...BAD, Emails: ['bo@example.com'] });
    post.ends = [{ how: 'delivered' }, { how: 'not_sent', why: 'ECONNREFUSED' }];
    await round(post);
    on.rules(...rules());
    await round(post, HOUR);
    post.sent.length = 0;
    await round(post, 20 * HOUR);
    await round(post, 4 * HOUR);
    expect([post.sent, on.platform.sent]).toEqual([[], []]);
    on.rules(banRule({ more: NOTICE }));
    await round(post, HOUR);
    await round(post, 23 * HOUR);
    expect(stages(post)).toContain('first ana@example.com');
    expect(on.platform.sent).toEqual([]);
  });

  it.each([
    ['no owner', { Emails: [] }, 'nobody can be warned first: it has no owner'],
    ['an address that is none', { Emails: ['a@x\nBcc: b@x'] }, 'could not be warned first: the address holds'],
  ])('waits for a person at once where there is %s', async (_, fields, text) => {
    const post = begin();
    on.platform.addDevice('d1', { ...BAD, ...fields });
    const [answer] = await reasons();
    expect(answer?.slice(0, 2)).toEqual(['hold', 'notice_undelivered']);
    expect(answer?.[2]).toContain(text);
    await post.deliver();
    expect(post.sent).toEqual([]);
  });

  it('warns a new owner anew with the whole time, and acts for none before that', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    on.platform.patch('d1', { Emails: ['bo@example.com'] });
    await round(post, HOUR);
    expect(stages(post)).toEqual(['first ana@example.com', 'first bo@example.com']);
    await round(post, 23 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('keeps a notice when the rule changes otherwise, and warns anew when its deadline does', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    on.rules(banRule({ more: `${NOTICE}\ndescription: other words` }));
    await round(post, HOUR);
    expect(post.sent).toHaveLength(1);
    on.rules(banRule({ more: 'notice: { before: 48h }' }));
    await round(post, HOUR);
    expect(stages(post)).toEqual(['first ana@example.com', 'first ana@example.com']);
    await round(post, 47 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('sends nothing in a dry run, by a rule in dry-run, for what is exempt, or while everything is stopped', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    expect((await reasons('dry-run'))[0]?.slice(0, 2)).toEqual(['skip', 'notice']);
    on.rules(banRule({ more: NOTICE, mode: 'dry-run' }));
    await round(post);
    expect(await notices()).toEqual([]);
    on.rules(banRule({ more: NOTICE }));
    await on.run();
    await stopEverything(on.engine, ADA);
    await post.deliver();
    expect(post.sent).toEqual([]);
    await resumeEverything(on.engine, ADA);
    await addExemption(on.engine, { subject: { id: 'd1' }, owner: 'ada', reason: 'a test', until: '1h' }, 'ada');
    await round(post, 0);
    expect(post.sent).toHaveLength(1); // it was due before a run saw the exemption
    // After the exemption people are warned anew.
    await round(post, 30 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, DAY);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is stopped at the deadline by a stop, and acts when that is lifted', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    await stopEverything(on.engine, ADA);
    await round(post, 2 * DAY);
    expect(on.platform.sent).toEqual([]);
    await resumeEverything(on.engine, ADA);
    await round(post);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('begins with the approval where a person is asked, and is done by the first run after the deadline', async () => {
    const post = begin({ mode: 'approve' });
    on.platform.addDevice('d1', BAD);
    const { plan } = await on.run();
    await post.deliver();
    expect(post.sent).toEqual([]);
    await on.approve(plan);
    await expect(on.apply(plan)).rejects.toThrow('is warned first');
    await round(post);
    expect(post.sent).toHaveLength(1);
    await round(post, 23 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, 2 * HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('tries nothing of its plan again that was refused: a person does', async () => {
    const post = begin({ mode: 'approve' });
    on.rules(banRule({ mode: 'approve', more: NOTICE }), banRule({ id: 'other', mode: 'approve', field: 'Other' }));
    on.platform.addDevice('d1', BAD);
    on.platform.addDevice('d2', { MdmData: { Other: 'TRUE' } });
    const plan = await on.approve((await on.run()).plan);
    on.platform.answers.set('S-d2', ['forbidden', 'done']);
    await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d2']);
    for (let runs = 0; runs < 3; runs += 1) await round(post);
    expect(on.platform.sent).toEqual(['ban S-d2']);
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-d2']);
    await round(post, 25 * HOUR);
    expect(on.platform.effects).toEqual(['ban S-d2', 'ban S-d1']);
  });

  it('does not wait for an owner who has it no longer, and was never warned, where a person approved it', async () => {
    const post = begin({ mode: 'approve' });
    on.platform.addDevice('d1', { ...BAD, Emails: ['ana@example.com', 'bo@example.com'] });
    const { plan } = await on.run();
    await on.approve(plan);
    on.platform.addDevice('d1', BAD);
    await round(post);
    expect(stages(post)).toEqual(['first ana@example.com']);
    await round(post, 25 * HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is not due sooner by a clock that jumps ahead', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    let aheadMs = 0;
    on.clock.monotonicMs = () => on.clock.now - aheadMs;
    await round(post);
    aheadMs = 2 * DAY;
    await round(post, aheadMs);
    expect(on.platform.sent).toEqual([]);
    await round(post, DAY);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('a notice that was being sent when the process ended is in doubt: not sent again, and a person decides', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await on.run();
    await on.store.noticeBox().claim(on.clock.now, on.clock.now + MINUTE, 16);
    await round(post, 2 * MINUTE);
    expect(post.sent).toEqual([]);
    expect((await reasons())[0]?.slice(0, 2)).toEqual(['hold', 'notice_undelivered']);
    expect(await kinds()).toEqual(['notice.failed', 'notice.sending', 'notice.begun']);
  });

  it('waits for all owners of a device, each with the whole time', async () => {
    const post = begin();
    on.platform.addDevice('d1', { ...BAD, Emails: ['ana@example.com', 'bo@example.com'] });
    post.ends = [{ how: 'not_sent', why: 'ECONNREFUSED' }];
    await round(post);
    await round(post, 10 * HOUR);
    expect(stages(post).sort()).toEqual(['first ana@example.com', 'first ana@example.com', 'first bo@example.com']);
    await round(post, 23 * HOUR);
    expect(on.platform.sent).toEqual([]);
    await round(post, HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('warns nobody in a change window, and holds what is due in one until its end', async () => {
    const { windows: freeze } = parseWindows('2027-01-20 00:00-2027-01-22 00:00 UTC', 'UTC');
    const post = begin({}, { settings: (settings) => ({ ...settings, freeze }) });
    on.clock.now = Date.parse('2027-01-19T12:00:00Z');
    on.platform.addDevice('d1', BAD);
    await round(post);
    on.platform.addDevice('d2', { ...BAD, Emails: ['bo@example.com'] });
    await round(post, 36 * HOUR);
    expect(stages(post)[0]).toBe('first ana@example.com');
    expect(stages(post)).not.toContain('first bo@example.com');
    expect(on.platform.sent).toEqual([]);
    await round(post, 24 * HOUR);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(stages(post)).toContain('first bo@example.com');
  });

  it('does not act on a device that another person has by the time of the call', async () => {
    const post = begin();
    on.platform.addDevice('d1', BAD);
    await round(post);
    on.clock.pass(DAY);
    const lists = on.platform.devicesOfSerial.bind(on.platform);
    on.platform.devicesOfSerial = async (...of) => {
      on.platform.patch('d1', { Emails: ['bo@example.com'] });
      return lists(...of);
    };
    expect((await reasons())[0]?.slice(0, 2)).toEqual(['skip', 'notice']);
    expect(on.platform.sent).toEqual([]);
  });

  it('lets another rule that warns nobody act at once', async () => {
    const post = begin();
    on.rules(banRule({ more: NOTICE }), banRule({ id: 'now', field: 'Other' }));
    on.platform.addDevice('d1', { ...BAD, MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await round(post);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(post.sent).toEqual([]);
  });
});
