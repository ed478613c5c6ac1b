// test: what a person asks for waits in the inbox, on a page and in an alert that leads there; hostile words are shown as text everywhere.
import { afterEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/base/time.ts';
import { askExemption, requestsOf } from '../../../src/engine/operate/exemption-requests.ts';
import { inboxText, inboxView, readInbox } from '../../../src/faces/report/inbox.ts';
import { operatorAlerts } from '../../../src/runtime/notify/alerts.ts';
import { bodyOf, linkOf } from '../../../src/runtime/notify/delivery.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { pagesOnPlatform } from '../../support/pages-on-platform.ts';

const HOSTILE = '<script>alert(1)</script> [here](https://evil.example) \u202e & "x"';
const ADA = 'ada@x.org';
let on: OnPlatform;
afterEach(() => on.close());

/** d1 is banned, and its owner asks. */
async function asked(count = 1) {
  on = startOnPlatform();
  for (let at = 1; at <= count; at += 1)
    on.platform.addDevice(`d${at}`, { Emails: [at === 1 ? ADA : `p${at}@x.org`], DeviceFriendlyName: HOSTILE });
  on.platform.compromised('d1', 'TRUE');
  await on.run('enforce');
  const ids: string[] = [];
  for (let at = 1; at <= count; at += 1) {
    const person = at === 1 ? ADA : `p${at}@x.org`;
    ids.push((await askExemption(on.engine, { person, device: `d${at}`, reason: HOSTILE, forMs: 7 * DAY_MS })).id);
  }
  return { id: ids[0] as string, path: `/exemptions/requests/${ids[0]}`, ...pagesOnPlatform(on, [banRule()]) };
}

const alertsNow = () => operatorAlerts(on.store, { warnMs: 0, unusedMs: Number.POSITIVE_INFINITY }, on.clock.now);

function expectNothingOfTheirs(html: string): void {
  for (const markup of ['<script>alert', 'href="https://evil', '\u202e']) expect(html).not.toContain(markup);
}

describe('a request for an exemption', () => {
  it('is in the inbox, with who, why, until when and the command', async () => {
    const { id, get } = await asked();
    const { text, html } = await get('/inbox');
    for (const words of [
      'Exemptions that people ask for: 1',
      'for 7 days',
      ADA,
      'Grant or refuse it until',
      'Inbox 1 waiting',
    ])
      expect(text).toContain(words);
    expect(text).toContain('1 request for an exemption waits for an answer');
    expect(html).toContain(`href="/exemptions/requests/${id}"`);
    expectNothingOfTheirs(html);
    const inbox = await readInbox(on.store, { limit: 50 });
    const shown = inbox.items.map(inboxView);
    expect(shown).toMatchObject([{ state: 'asked', command: `trustward requests grant ${id} --say SENTENCE` }]);
    expect(inbox).toMatchObject({ total: 1, counts: { asked: 1 }, next: null });
    const lines = inboxText({ ...inbox, inbox: shown }, on.clock.now, { width: 200 } as never);
    expect(lines).toContain('`trustward requests refuse REQUEST --say SENTENCE`');
    expect(lines).not.toContain('intents resolve');
    on.clock.pass(7 * DAY_MS);
    expect((await readInbox(on.store, { limit: 50 })).total).toBe(0);
  });
  it('has a page, in which no word is a link or markup of theirs, and forms only for who may answer', async () => {
    const { path, get, post } = await asked();
    const { status, text, html } = await get(path);
    expect(status).toBe(200);
    expectNothingOfTheirs(html);
    expect(text).toContain('alert(1)');
    expect(text).toContain('ban_device S-d1 : trustward claims release S-d1 --reason TEXT');
    expect(text).toContain('stays in force until its rule no longer matches or an operator releases it');
    expect(html).toContain('href="/rules/ban"');
    expect(html).toContain(`action="${path}/grant"`);
    expect((await get(path, 'read')).html).not.toContain('/grant"');
    expect((await post(`${path}/grant`, { say: 'yes' }, 'read')).status).toBe(403);
    expect((await get('/exemptions/requests/nothing')).status).toBe(404);
    expect((await get(path, 'none')).status).toBe(303);
  });
  it('is granted by a form, for as long as it says, once, and the ban stays', async () => {
    const { id, path, get, post } = await asked();
    expect((await post(`${path}/grant`, { until: '1d' })).status).toBe(400);
    expect((await post(`${path}/grant`, { say: 'x'.repeat(401) })).status).toBe(400);
    const fields = { say: 'bring <b>it</b> in', until: '1d', reason: 'seen', reference: 'CHG-7' };
    const { status, headers } = await post(`${path}/grant`, fields, 'approve');
    expect([status, headers.get('location')]).toEqual([303, path]);
    const [request] = await requestsOf(on.store, ADA);
    expect(request).toMatchObject({ id, status: 'granted', answeredBy: 'approveer', sentence: 'bring <b>it</b> in' });
    expect(request?.exemptUntil).toBe(on.clock.now + DAY_MS);
    const { text, html } = await get(path);
    for (const words of ['granted', 'approveer', 'bring <b>it</b> in', 'In force on this device'])
      expect(text).toContain(words);
    expect(html).not.toContain('/grant"');
    const again = await post(`${path}/refuse`, { say: 'no' });
    expect(again.status).toBe(409);
    expect(again.text).toContain(`Request ${id} was granted by approveer at`);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect((await get('/exemptions')).text).toContain('seen (asked for: <script>');
    const sent = await on.store.audit({ kind: 'exemption.request_granted', limit: 1 });
    expect(sent[0]?.bytes).toContain('"reference":"CHG-7"');
  });
  it('is refused by a form, with a sentence', async () => {
    const { path, get, post } = await asked();
    expect((await post(`${path}/refuse`, {})).status).toBe(400);
    expect((await post(`${path}/refuse`, { say: 'mend it' })).status).toBe(303);
    expect((await get(path)).text).toContain('mend it');
    expect(await on.store.exemptions()).toEqual([]);
  });
});

describe('the alert exemption_requested', () => {
  it('leads to the request, has no word of the person in its sentence, and ends with the answer', async () => {
    const { id, path, post } = await asked();
    const [alert, ...others] = await alertsNow();
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      code: 'exemption_requested',
      key: `request ${id}`,
      about: { reason: HOSTILE, person: ADA },
    });
    expect(alert?.text).toMatch(
      /^ada@x\.org asks for an exemption of device S-d1 for 7 days: grant or refuse it until /,
    );
    const about = alert?.about ?? {};
    expect(linkOf({ about }, 'https://t.example')).toBe(`https://t.example${path}`);
    const body = bodyOf({ id: 'n', to: 'ops', kind: 'alert', at: 1, text: alert?.text ?? '', about });
    expect(JSON.parse(body).about.reason).toBe(HOSTILE);
    await post(`${path}/refuse`, { say: 'no' });
    expect(await alertsNow()).toEqual([]);
  });
  it('is one each of the first twenty, and one for all of more', async () => {
    await asked(22);
    const alerts = await alertsNow();
    expect(alerts).toHaveLength(21);
    expect(alerts.at(-1)).toMatchObject({ key: 'requests by many', about: { count: 22 } });
  });
});
