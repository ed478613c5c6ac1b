// What the page of a plan and the list of plans show before an answer, what each answer does, and what a person sees whose answer comes late.

import { describe, expect, it } from 'vitest';
import type { Output } from '../../../src/contract/table.ts';
import type { Drift } from '../../../src/domain/check.ts';
import { planDigest } from '../../../src/domain/digest.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { PlannedIntent } from '../../../src/domain/plan.ts';

import { planView } from '../../../src/faces/report/plan-view.ts';
import type { Doubles } from '../../support/endpoint.ts';
import { banRule } from '../../support/engine-on-platform.ts';
import { addRun, decision, intent, plan, START_MS, tally } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { openPlan, type PlanPages, planned } from '../../support/plan-pages.ts';
import { event } from '../../support/stored-nouns.ts';

const HOSTILE = '<script>alert(1)</script>\u202e\n';
const both = () => [planned(1), planned(2), planned(3, { basis: [{ ...planned(3).basis[0]!, rule: 'other' }] })];
const shutdown = (at: number, target = 'crm.eu') =>
  planned(at, {
    action: 'disable_service',
    target,
    effect: { text: `disable service ${target} for everybody`, devices: [] },
  });
const keysOf = (...at: number[]) => at.map((one) => planned(one).key);
const targetsOf = async (pages: PlanPages, id: string) => (await pages.stored(id)).intents.map(({ target }) => target);
type Fields = Record<string, string | readonly string[]>;
/** All of it, unless the fields have other ticks. */
const approve = ({ plan: { id, digest, intents }, post }: PlanPages, fields: Fields = {}, scope?: 'read') =>
  post(`/plans/${id}/approve`, { digest, target: intents.map(({ key }) => key), ...fields }, scope);
const idIn = ({ headers }: { headers: Headers }) => (headers.get('location') as string).replace('/plans/', '');

function linkIn(html: string, link: RegExp): string {
  return String(link.exec(html)?.[1]).replaceAll('&amp;', '&');
}

describe('the page of a plan', () => {
  it('names what approving allows, by rule and action, with each target, its facts and why it is held', async () => {
    const { get } = await openPlan(both());
    const { status, text } = await get('/plans/plan1', 'read');
    expect(status).toBe(200);
    expect(text).toContain('Approving it allows Trustward to ban 3 devices of 3 people.');
    expect(text).toContain(
      'Ban 2 devices ban_device , asked for by ban-compromised-device · only these 2 of 10 devices (20 %) waits the rule has mode approve',
    );
    expect(text).toMatch(
      /Ban 1 device ban_device , asked for by other · only these .* waits the rule has mode approve/,
    );
    expect(text.match(/waits the rule has mode approve/g)).toHaveLength(2);
    expect(text).toContain('Laptop 1 owner-1@example.com SERIAL-1');
    // Once for the two of the first group, once for the one of the second.
    expect(text.match(/MdmData.CompromisedStatus = "TRUE"/g)).toHaveLength(2);
    expect(text).toContain('of a live run');
    expect(text).toContain('run 1');
    expect((await get('/plans/plan1')).text).toContain('What you approve is applied at once.');
  });

  it('promises nothing of one yes where more are asked, and breaks the glass for who is alone', async () => {
    const asked = { people: 2, groups: ['security'], notSelf: true, rules: [], actions: [], severities: [], from: 1 };
    const guards = { ask: [], lastDevice: false, perDay: undefined, files: [] };
    const rule = { ...banRule({ id: 'other' }), guards: { ...guards, approvals: { approvals: [asked], tokens: [] } } };
    const { get } = await openPlan(both(), { deps: { rules: () => [rule] } });
    const { text } = await get('/plans/plan1');
    expect(text).toContain('With the yes that it needs, it allows Trustward to ban 3 devices of 3 people.');
    expect(text).toContain('needs 2 yeses of security');
    expect(text).toContain('It is applied when everybody who is asked has said yes.');
    expect(text).toContain('Break glass: without the yes of others, with a reason');
    for (const promise of ['Approving it', 'applied at once']) expect(text).not.toContain(promise);
  });

  it('names how many people use each service that goes off, and until when that is known', async () => {
    const pages = await openPlan(['crm.eu', 'erp.eu', 'wiki.eu'].map((target, at) => shutdown(at, target)));
    const { store } = pages;
    expect((await pages.get('/plans/plan1')).text).toContain('How many people use it is not known.');
    const use = (id: string, serviceId: string, email?: string) =>
      ({ ...event, id, serviceId, email, action: 'Authorized', createdAtMs: START_MS - 60_000 }) as const;
    const events = [use('1', 'crm.eu', 'ana@a.b'), use('2', 'crm.eu', 'bo@a.b'), use('3', 'erp.eu')];
    await store.observeEvents({
      events,
      coverage: { fromMs: START_MS - 3_600_000, toMs: START_MS },
      forgetBeforeMs: 0,
    });
    const { text } = await pages.get('/plans/plan1');
    expect(text).toContain('The event log of the 1 h until 2026-11-21 09:00:00 UTC shows who used it.');
    expect(text).toMatch(/crm.eu 2 people .*erp.eu not known .*wiki.eu nobody seen/);
  });

  it('shows how much of the fleet it is, with the limit of its rule', async () => {
    const { store, get } = await openPlan([planned(1), planned(2)]);
    const limits = { max: 1, percent: 10, allowed: 1, targets: 2 };
    await addRun(store, { id: 'run2', tallies: [tally({ limits })] });
    const { text, html } = await get('/plans/plan1');
    expect(text).toContain('2 of 10 devices (20 %); the limit of its rule is 1 in a run');
    expect(html).toMatch(/class="bar over".*width="20".*d="M10 0V8"/s);
  });

  it('is found by the beginning of its id, and is 404 without such a plan', async () => {
    const { get } = await openPlan(both());
    expect((await get('/plans/plan')).text).toContain('plan plan1 kind');
    expect((await get('/plans/nothing')).status).toBe(404);
  });

  it('shows hostile names as text, shortened and without hidden characters', async () => {
    const effect = {
      text: `ban ${HOSTILE}`,
      devices: [{ ...planned(1).effect.devices[0]!, name: HOSTILE.repeat(500) }],
    };
    const basis = [{ ...planned(1).basis[0]!, subjectId: HOSTILE, facts: { Name: HOSTILE } }];
    const { get } = await openPlan([planned(1, { target: HOSTILE, effect, basis }), planned(2)]);
    const { html, text } = await get('/plans/plan1');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/);
    expect(text).toContain('<script>alert(1)</script>⟨U+202E⟩');
    expect(html.length).toBeLessThan(30_000);
  });

  it('has no forms for a reader, and refuses what a reader sends', async () => {
    const pages = await openPlan(both());
    const { html } = await pages.get('/plans/plan1', 'trigger');
    expect(html).not.toContain('name="target"');
    expect(html).not.toContain('/approve"');
    expect((await approve(pages, {}, 'read')).status).toBe(403);
    expect((await pages.stored()).status).toBe('pending');
  });

  it('says that a dry run made it, what a daemon of mode dry-run does, and that everything is stopped', async () => {
    const { get, store } = await openPlan(both(), { deps: { daemonMode: () => 'dry-run' }, over: { mode: 'dry-run' } });
    const { text } = await get('/plans/plan1');
    expect(text).toContain('of a dry run: it holds everything that a live run would do');
    expect(text).toContain('The configured mode is dry-run : nothing is applied');
    await store.setStop({ by: 'ada', reason: 'nonsense', at: START_MS }, []);
    expect((await get('/plans/plan1')).text).toContain('It is applied after resuming.');
  });

  it('says that a release undoes what a rule did, and how many still match', async () => {
    const undo = { action: 'unban_device', undo: true, released: true, reason: 'rule_matches' };
    const { get } = await openPlan([planned(1, undo), planned(2, { ...undo, reason: 'cleared' })]);
    const { text } = await get('/plans/plan1');
    expect(text).toContain('undoes what rule ban-compromised-device did');
    expect(text).toContain('1 of 2 targets still match rule ban-compromised-device');
  });

  it.each([
    ['pending', /expires in/],
    ['expired', /expired/],
  ] as const)('says of one that is %s when it ends', async (status, words) => {
    const { get } = await openPlan([planned(1)], { over: { status } });
    expect((await get('/plans/plan1')).text).toMatch(words);
  });

  it.each(['applied', 'rejected'] as const)('says of one that is %s no end', async (status) => {
    const { get } = await openPlan([planned(1)], { over: { status } });
    expect((await get('/plans/plan1')).text).not.toMatch(/expire/);
  });

  it('counts in its title each device of a serial number', async () => {
    const twin = planned(1);
    const devices = [...twin.effect.devices, { ...twin.effect.devices[0], id: 'device-twin' }];
    const { get } = await openPlan([{ ...twin, effect: { ...twin.effect, devices } } as typeof twin]);
    expect((await get('/plans/plan1')).html).toContain('<h1>Ban 2 devices</h1>');
    expect((await get('/inbox')).text).toContain('Ban 2 devices');
  });

  it('says which holds no approval lifts', async () => {
    const { get } = await openPlan([planned(1, { reason: 'ceiling', reasonText: '50 of 50 calls are used' })]);
    expect((await get('/plans/plan1')).text).toMatch(
      /waits 50 of 50 calls are used \. Approving does not lift a ceiling/,
    );
  });

  it('shows 50 targets of a group, leads to the others, and finds one by a part of its name', async () => {
    const { get } = await openPlan(Array.from({ length: 120 }, (_, at) => planned(at)));
    const { html, text } = await get('/plans/plan1');
    expect(html.match(/data-ticked-by/g)).toHaveLength(50);
    expect(text).toContain('1 to 50 of 120');
    expect(text).toContain('and 70 more that this page does not show');
    const next = linkIn(html, /href="([^"]*)" rel="next"/);
    expect((await get(next)).text).toContain('51 to 100 of 120');
    const found = await get('/plans/plan1?q=LAPTOP%20117');
    expect(found.html.match(/data-ticked-by/g)).toHaveLength(1);
    expect(found.text).toContain('SERIAL-117');
  });
});

describe('an answer on the page', () => {
  it('approves all of it, in the name and with the reason of who is signed in', async () => {
    const pages = await openPlan(both());
    const answer = await approve(pages, { reason: 'looked at each' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/plans/plan1']);
    expect(await pages.stored()).toMatchObject({
      status: 'approved',
      decidedBy: 'adminer',
      decidedReason: 'looked at each',
    });
    expect((await pages.get('/plans/plan1')).text).toContain('approved by adminer');
  });

  it('approves what is ticked, and the rest waits on', async () => {
    const pages = await openPlan(both());
    const answer = await approve(pages, { target: keysOf(2) });
    expect(answer.status).toBe(303);
    expect(await targetsOf(pages, idIn(answer))).toEqual(['SERIAL-2']);
    const rest = await pages.stored();
    expect([rest.status, rest.intents.length]).toEqual(['pending', 2]);
    const { text } = await pages.get('/plans/plan1');
    expect(text).toContain('1 action left it');
    expect(text).toContain(`SERIAL-2 : it is approved in plan ${idIn(answer)}`);
  });

  it.each<[string, Fields, number]>([
    ['of the page', {}, 50],
    ['of the page, and of what it does not show', { rest: 'yes', typed: '120' }, 120],
    ['of what a text names, and nothing beyond it', { rest: 'yes', q: 'serial-11', target: keysOf(11, 110) }, 2],
    ['of a group, but for one', { rest: 'yes', group: '0', target: keysOf(...Array(49).keys()), typed: '119' }, 119],
  ])('of a long plan approves what is ticked %s', async (_, fields, count) => {
    const pages = await openPlan(Array.from({ length: 120 }, (_, at) => planned(at)));
    const answer = await approve(pages, { target: keysOf(...Array(50).keys()), typed: String(count), ...fields });
    expect([answer.status, (await pages.stored(idIn(answer))).intents.length]).toEqual([303, count]);
  });

  it('approves only the ticked action of a target that has two', async () => {
    const pages = await openPlan([planned(1), planned(2, { target: 'SERIAL-1', action: 'notify' })]);
    const answer = await approve(pages, { target: keysOf(1) });
    expect((await pages.stored(idIn(answer))).intents.map(({ action }) => action)).toEqual(['ban_device']);
  });

  const SAID = { reason: 'seen "all"', reference: 'T-1', digest: 'x'.repeat(64) };

  /** What the form of a page has: the words, and which boxes are ticked. */
  function formIn(html: string) {
    const value = (name: string) => new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1];
    const boxes = [...html.matchAll(/<input type="checkbox" name="target" value="([^"]+)"[^>]*>/g)];
    return {
      reason: value('reason'),
      reference: value('reference'),
      ticked: boxes.filter(([tag]) => tag.includes(' checked')).map(([, key]) => key),
    };
  }

  it.each<[string, Fields, number, RegExp, PlannedIntent[]?]>([
    ['nothing is ticked', { target: [] }, 400, /Nothing is ticked: tick what you approve/],
    ['the plan has no such action', { target: 'x' }, 400, /Nothing is ticked/],
    ['its page showed another plan', { digest: SAID.digest }, 409, /is not what your page showed/],
    ['a service goes off and is not named', {}, 400, /type crm.eu , the name of what is ticked/, [shutdown(1)]],
    ['another word is typed', { typed: '3' }, 400, /type 2 , how many are ticked/, [shutdown(1), planned(2)]],
  ])('is refused in place when %s: ticks and words are kept', async (_, fields, status, words, intents = both()) => {
    const pages = await openPlan(intents);
    const given = { ...SAID, digest: pages.plan.digest, ...fields };
    const answer = await approve(pages, given);
    expect([answer.status, (await pages.stored()).status]).toEqual([status, 'pending']);
    expect(answer.text).toMatch(words);
    expect(answer.html).toContain(`<h1>`);
    const asked = fields.target === undefined ? pages.plan.intents.map(({ key }) => key) : [];
    expect(formIn(answer.html)).toEqual({ reason: 'seen &quot;all&quot;', reference: 'T-1', ticked: asked });
  });

  it('is refused in place for a token that may not give it', async () => {
    const pages = await openPlan(both());
    const { status, text, html } = await approve(pages, { reason: 'seen "all"', target: keysOf(2) }, 'read');
    expect([status, (await pages.stored()).status]).toEqual([403, 'pending']);
    expect(text).toContain('Scope approve is needed');
    expect(formIn(html)).toMatchObject({ reason: 'seen &quot;all&quot;', ticked: keysOf(2) });
  });

  it.each<[string, Fields, PlannedIntent[]]>([
    ['the name of the one service', { typed: ' CRM.eu ' }, [shutdown(1)]],
    ['how many are ticked', { typed: '2' }, [shutdown(1), planned(2)]],
    ['nothing for what is neither large nor off', { target: keysOf(2) }, [shutdown(1), planned(2)]],
  ])('of a plan that switches a service off asks to type %s', async (_, fields, intents) => {
    const pages = await openPlan(intents);
    expect((await pages.get('/plans/plan1')).text).toMatch(intents.length === 1 ? /Type crm.eu/ : /Type 2/);
    expect((await approve(pages, fields)).status).toBe(303);
  });

  it('rejects with a reason, and not without one', async () => {
    const pages = await openPlan(both());
    const { digest } = pages.plan;
    const without = await pages.post('/plans/plan1/reject', { digest, target: keysOf(1) });
    expect([without.status, formIn(without.html).ticked]).toEqual([400, keysOf(1)]);
    expect(without.text).toContain('Rejecting needs a reason');
    expect((await pages.post('/plans/plan1/reject', { digest, reason: 'theirs' })).status).toBe(303);
    expect((await pages.get('/plans/plan1')).text).toContain('rejected by adminer');
  });

  it('that comes second names who answered, when and how, with a link', async () => {
    const pages = await openPlan(both());
    await approve(pages, { reason: '<i>first</i>' });
    const { digest } = pages.plan;
    const { status, text, html } = await pages.post('/plans/plan1/reject', { digest, reason: 'second' }, 'approve');
    expect(status).toBe(409);
    expect(text).toMatch(/Plan plan1 is approved by now and no longer waits: nothing was changed/);
    expect(text).toMatch(/answered approved by adminer , 2026-11-21 09:00:00 UTC : <i>first<\/i>/);
    expect(html).not.toContain('name="target"');
    expect((await pages.stored()).status).toBe('approved');
  });

  it('to a plan of which a part was approved meanwhile covers the rest of what was read', async () => {
    const pages = await openPlan(both());
    await approve(pages, { target: keysOf(1) });
    expect((await approve(pages)).status).toBe(303);
    expect(await pages.stored()).toMatchObject({ status: 'approved', intents: [{}, {}] });
  });
});

describe('a plan that a run carries on while it is read', () => {
  /** The first leaves it, the second changes, the fourth joins. */
  async function carriedOn(): Promise<PlanPages> {
    const pages = await openPlan(both());
    const changed = planned(2, { basis: [{ ...planned(2).basis[0]!, facts: { 'MdmData.CompromisedStatus': 'NO' } }] });
    const intents = [changed, both()[2]!, planned(4)];
    const now = { ...pages.plan, intents, digest: planDigest(intents), runId: 'run2', createdAt: START_MS + 60_000 };
    const left = [{ action: 'ban_device' as const, target: 'SERIAL-1', reason: 'the rule has ceased to match' }];
    const carried = { plan: now, from: pages.plan.digest, change: { joined: 1, changed: 1, left } };
    await addRun(pages.store, { id: 'run2', mode: 'enforce', startedAt: START_MS + 60_000, carried });
    await pages.store.appendAudit([{ kind: 'plan.carried', body: { plan: now.id, digest: now.digest } }]);
    return pages;
  }
  const reading = (pages: PlanPages) => pages.get(`/plans/plan1?seen=${pages.plan.digest}`);

  it('waits since it was made in every list, not since a run last carried it on', async () => {
    const { get, store, clock } = await carriedOn();
    clock.advance(3_600_000);
    const made = 'datetime="2026-11-21T09:00:00.000Z"';
    for (const path of ['/', '/inbox', '/plans', '/plans/plan1']) expect((await get(path)).html).toContain(made);
    expect(await store.planLines({}, { limit: 1 })).toMatchObject([{ madeAt: START_MS }]);
  });

  it('shows beside what was read who carried it on and when, and what left, changed and joined', async () => {
    const { text, html } = await reading(await carriedOn());
    expect(text).toContain(
      'Carried on by run 2 2026-11-21 09:01:00 UTC , while you read it: 1 joined, 1 left, 1 changed.',
    );
    expect(text).toContain('Your answer covers the 1 action that you read and that stayed the same.');
    expect(text).toContain('left: ban_device SERIAL-1 : the rule has ceased to match');
    expect(text).toContain('changed: ban_device SERIAL-2 : MdmData.CompromisedStatus: "TRUE" → "NO"');
    expect(text).toContain('joined: ban_device SERIAL-4 by ban-compromised-device');
    expect(html.match(/data-ticked-by/g)).toHaveLength(3);
    expect(html).not.toContain(keysOf(4)[0]);
  });

  it('keeps asking for what changed since the same reading', async () => {
    const pages = await carriedOn();
    for (const { html } of [await pages.get('/plans/plan1'), await reading(pages)]) {
      const digest = /name="digest" value="([0-9a-f]+)"/.exec(html)?.[1];
      expect(html).toContain(`hx-get="/plans/plan1?seen=${digest}"`);
    }
    expect((await pages.get('/plans/plan1')).text).not.toContain('while you read it');
  });

  it('is approved as far as it was read and is still so; what joined waits on', async () => {
    const pages = await carriedOn();
    const answer = await approve(pages);
    expect(await targetsOf(pages, idIn(answer))).toEqual(['SERIAL-3']);
    expect(await targetsOf(pages, 'plan1')).toEqual(['SERIAL-2', 'SERIAL-4']);
  });

  it('is read again with the ticks and the words that were there', async () => {
    const pages = await carriedOn();
    const typed = { digest: pages.plan.digest, reason: 'seen "all"', reference: 'T-1', target: keysOf(1, 3) };
    const { status, html } = await pages.post('/plans/plan1/again', typed);
    expect(status).toBe(200);
    expect(html).toMatch(/name="reason"[^>]*value="seen &quot;all&quot;"/);
    expect(html).toMatch(/name="reference"[^>]*value="T-1"/);
    const boxes = [...html.matchAll(/<input type="checkbox" name="target" value="([^"]+)"[^>]*>/g)];
    expect(boxes.map(([tag, key]) => [key, tag.includes(' checked')])).toEqual([
      [keysOf(2)[0], false],
      [keysOf(4)[0], false],
      [keysOf(3)[0], true],
    ]);
    expect((await pages.stored()).status).toBe('pending');
  });
});

describe('a plan that is applied', () => {
  /** The first is done, the second is sent, the third was refused before it began, the fourth is withdrawn. */
  async function applying(): Promise<PlanPages> {
    const pages = await openPlan([planned(1), planned(2), planned(3), planned(4)]);
    await approve(pages);
    const { store } = pages;
    const intents = [1, 2, 4].map((at) =>
      intent({ id: `i${at}`, planId: 'plan1', approved: true, target: `SERIAL-${at}`, basis: planned(at).basis }),
    );
    const refused = [{ action: 'ban_device', target: 'SERIAL-3', reason: 'the rule has changed' }];
    const body = { plan: 'plan1', intents: intents.map(({ id }) => id), refused };
    await store.changePlan({ ...(await pages.stored()), status: 'applying' }, intents, [
      { kind: 'plan.applying', body },
    ]);
    for (const id of ['i1', 'i2']) await store.markSent({ intentId: id, run: 'run1', notes: [] });
    await store.settle({ intentId: 'i1', outcome: 'succeeded', note: 'Success', notes: [] });
    const why = { decision: 'skip', reason: 'drifted', reasonText: 'Name has changed' } as const;
    await store.withdraw({ intentId: 'i4', why, notes: [] });
    return pages;
  }

  it('shows each target with its outcome, while it lasts and after it', async () => {
    const pages = await applying();
    const during = await pages.get('/plans/plan1');
    expect(during.text).toContain('2 of 4 begun: 1 succeeded, 1 under way or in doubt, 2 not begun or refused.');
    expect(during.text).toMatch(/Laptop 1 .* succeeded .*Laptop 2 .* under way .*Laptop 3/);
    expect(during.text).toContain('refused the rule has changed');
    expect(during.text).toContain('refused Name has changed');
    expect(during.html).toContain('live-intent from:body');
    expect(during.html).not.toContain('action="/plans/plan1/apply"');
    await pages.store.settle({ intentId: 'i2', outcome: 'failed', note: '<u>no</u>', notes: [] });
    await pages.store.changePlan({ ...(await pages.stored()), status: 'applied' }, [], []);
    expect((await pages.get('/plans/plan1')).text).toContain('1 of 4 done, 1 failed, 2 refused.');
  });

  it('can be continued when it was interrupted, by who may answer', async () => {
    const pages = await applying();
    await pages.store.settle({ intentId: 'i2', outcome: 'unknown', note: 'no answer', notes: [] });
    await pages.store.changePlan({ ...(await pages.stored()), status: 'interrupted' }, [], []);
    const { text, html } = await pages.get('/plans/plan1');
    expect(text).toContain('in doubt no answer');
    expect(text).toContain('Applying it again continues it');
    expect(html).toContain('action="/plans/plan1/apply"');
    expect((await pages.get('/plans/plan1', 'read')).html).not.toContain('action="/plans/plan1/apply"');
  });

  it('is applied by the button of an approved one, and leads back to it', async () => {
    const asked: string[][] = [];
    const apply: Doubles['applyPlan'] = async ({ id }, { by }) => {
      asked.push([id, by]);
      return { ...planView(await pages.stored()), applied: null };
    };
    const pages: PlanPages = await openPlan(both(), { apply });
    await approve(pages);
    expect((await pages.get('/plans/plan1')).text).toContain('Nothing of it was begun yet.');
    const answer = await pages.post('/plans/plan1/apply', { digest: pages.plan.digest });
    expect([answer.status, idIn(answer), asked]).toEqual([303, 'plan1', [['plan1', 'adminer']]]);
  });

  it('shows what was done to a target before', async () => {
    const { get, store } = await openPlan(both(), { over: { createdAt: START_MS + 60_000 } });
    const basis = [{ ...planned(1).basis[0]!, episodeId: 'earlier', subjectId: 'device-99' }];
    const done = intent({
      id: 'before',
      basis,
      target: 'SERIAL-1',
      status: 'settled',
      outcome: 'succeeded',
      settledAt: START_MS,
    });
    await addRun(store, { id: 'run2', intents: [{ ...done, runId: 'run2' }] });
    expect((await get('/plans/plan1')).text).toContain('before: ban_device 2026-11-21 09:00:00 UTC');
    // Nothing came of a rejected one: what was before it is not its outcome.
    await addRun(store, {
      id: 'run3',
      plan: plan(decision({ target: 'SERIAL-1' }), { id: 'no', status: 'rejected', createdAt: START_MS + 60_000 }),
    });
    const { html } = await get('/plans/no');
    expect(html).toContain('data-label="Before"');
    expect(html).not.toContain('data-label="Outcome"');
  });
});

describe('the facts of a target', () => {
  it('come with what would end the match, as it was found when it began, whatever was decided since', async () => {
    const { get, store } = await openPlan(both());
    const changes = [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' }];
    const flip = { verdict: 'no_match', changes } as const;
    const decided = { id: 'decision-2', subject: { kind: 'device', id: 'device-2' } } as const;
    await addRun(store, {
      id: 'run2',
      decisions: [decision({ ...decided, flip: { ...flip, changes: [...changes] } })],
    });
    const later = Array.from({ length: 25 }, (_, at) =>
      decision({ ...decided, id: `later-${at}`, rule: `rule-${at}` }),
    );
    await addRun(store, { id: 'run3', decisions: later });
    const { text } = await get('/plans/plan1');
    expect(text).toContain('it would not match if MdmData.CompromisedStatus were "FALSE"');
  });
});

describe('an answer that takes long', () => {
  const soon = { nowMs: () => START_MS, monotonicMs: () => 0, sleep: async () => {} };

  it('leads to the plan, which shows that it is under way, and later why it failed', async () => {
    let fail: (error: Error) => void = () => {};
    const work = new Promise<Output<'approvePlan'>>((_, reject) => {
      fail = reject;
    });
    const pages = await openPlan(both(), { deps: { clock: soon, operations: { approvePlan: () => work } } });
    expect((await approve(pages)).headers.get('location')).toBe('/plans/plan1');
    expect((await pages.get('/plans/plan1')).text).toContain('The approval by adminer');
    expect((await pages.get('/plans/plan1')).text).toContain('is under way');
    const second = await approve(pages);
    expect([second.status, second.text.includes('approve by adminer')]).toEqual([409, true]);
    fail(new AppError('api_unreachable', 'the API does not answer'));
    await work.catch(() => {});
    const { text } = await pages.get('/plans/plan1');
    expect(text).toContain('failed: the API does not answer');
    expect(pages.complaints).toHaveLength(1);
  });
});

describe('targets compared with now', () => {
  const drift = (at: number, over: Partial<Drift> = {}): Drift => ({
    key: planned(at).key,
    action: 'ban_device',
    target: `SERIAL-${at}`,
    changed: [],
    gone: [],
    refused: undefined,
    unread: undefined,
    ...over,
  });

  it('name each field that differs, then and now, what applying refuses, and what cannot be read', async () => {
    const asked: string[][] = [];
    const changed = [{ subject: 'device-1', field: 'Name', then: 'a', now: HOSTILE }];
    const refused = { check: 'changed-since', reason: 'drifted', reasonText: 'Name has changed' } as const;
    const planDrift = async (_: string, targets: readonly string[]) => {
      asked.push([...targets]);
      return [drift(1, { changed, refused }), drift(2, { unread: 'the API does not answer' })];
    };
    const { get } = await openPlan([planned(1), planned(2), planned(4)], { deps: { planDrift } });
    const page = await get('/plans/plan1');
    const path = linkIn(page.html, /hx-get="(\/plans\/plan1\/drift[^"]*)"/);
    const { text, html } = await get(path, 'read');
    expect(asked).toEqual([['SERIAL-1', 'SERIAL-2', 'SERIAL-4']]);
    expect(text).toContain('Name: "a" → "<script>alert(1)</script>⟨U+202E⟩');
    expect(text).toContain('refused: Name has changed');
    expect(text).toContain('cannot be read now: the API does not answer');
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('id="drift-0-0"');
  });

  it('are asked for 25 at a time', async () => {
    const asked: number[] = [];
    const planDrift = async (_: string, targets: readonly string[]) => {
      asked.push(targets.length);
      return [];
    };
    const { get } = await openPlan(
      Array.from({ length: 40 }, (_, at) => planned(at)),
      { deps: { planDrift } },
    );
    const { html } = await get('/plans/plan1');
    for (const [, path] of html.matchAll(/hx-get="(\/plans\/plan1\/drift[^"]*)"/g))
      await get((path as string).replaceAll('&amp;', '&'));
    expect(asked).toEqual([25, 15]);
  });

  it('are those that the page shows, also where many groups share it', async () => {
    const asked: string[][] = [];
    const planDrift = async (_: string, targets: readonly string[]) => {
      asked.push([...targets]);
      return [];
    };
    const [basis] = planned(1).basis;
    const ofRule = (at: number) => planned(at, { basis: [{ ...basis!, rule: `rule-${at % 20}` }] });
    const { get } = await openPlan(
      Array.from({ length: 1_000 }, (_, at) => ofRule(at)),
      { deps: { planDrift } },
    );
    const { html } = await get('/plans/plan1');
    const shown = new Set(html.match(/SERIAL-\d+/g));
    expect(shown.size).toBe(100);
    for (const [, path] of html.matchAll(/hx-get="(\/plans\/plan1\/drift[^"]*)"/g))
      await get((path as string).replaceAll('&amp;', '&'));
    expect(new Set(asked.flat())).toEqual(shown);
    expect(asked.flat()).toHaveLength(100);
  });
});

describe('the list of plans', () => {
  it('has those that wait, which the inbox has too with what they do, and the others with who answered', async () => {
    const { get, store } = openPages();
    const said = { decidedAt: START_MS, decidedBy: '<b>eve</b>', decidedReason: 'no' };
    await addRun(store, { plan: plan(decision(), { id: 'answered', status: 'rejected', ...said }) });
    await addRun(store, { id: 'run2', plan: plan(decision(), { id: 'waits', runId: 'run2' }) });
    const { text, html } = await get('/plans', 'read');
    const inbox = (await get('/inbox', 'read')).text;
    expect(inbox).toMatch(/Plans that wait for a yes: 1 .* Ban 1 device .* proposed by rule ban-compromised-device/);
    expect(inbox).not.toContain('answered');
    expect(text).toMatch(/Ban 1 device pending .* Ban 1 device rejected .* <b>eve<\/b>/);
    expect(html.indexOf('/plans/waits')).toBeLessThan(html.indexOf('/plans/answered'));
    expect(html).not.toContain('<b>eve');
  });

  it('shows one status alone, and refuses one that there is not', async () => {
    const { get, store } = openPages();
    await addRun(store, { plan: plan(decision(), { id: 'answered', status: 'rejected' }) });
    await addRun(store, { id: 'run2', plan: plan(decision(), { id: 'waits', runId: 'run2' }) });
    const { html } = await get('/plans?status=rejected');
    expect(html).toContain('/plans/answered');
    expect(html).not.toContain('/plans/waits');
    expect((await get('/plans?status=lost')).status).toBe(400);
  });

  it('leads to older plans, a page at a time', async () => {
    const { get, store } = openPages();
    for (let at = 1; at <= 51; at += 1) {
      const id = `plan-${String(at).padStart(2, '0')}`;
      const over = { id, runId: `run${at}`, status: 'applied', createdAt: START_MS + at } as const;
      await addRun(store, { id: `run${at}`, plan: plan(decision(), over) });
    }
    const first = await get('/plans');
    expect(first.html).toContain('/plans/plan-51');
    expect(first.html).not.toContain('/plans/plan-01"');
    const older = /href="([^"]*)" rel="next"/.exec(first.html)?.[1] as string;
    const second = await get(older.replaceAll('&amp;', '&'));
    expect(second.html).toContain('/plans/plan-01"');
    expect(second.html).not.toContain('rel="next"');
  });

  it('says when there is none', async () => {
    expect((await openPages().get('/plans')).text).toContain('There is none.');
  });
});
