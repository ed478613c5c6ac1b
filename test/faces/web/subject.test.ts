// What the page of a device, user or service shows, what its forms do, and its history.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { EVIDENCE_THRESHOLDS } from '../../../src/domain/evidence.ts';
import { timelineOf } from '../../../src/engine/explain/timeline.ts';
import { whyOf } from '../../../src/engine/explain/why.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import type { HttpDeps } from '../../../src/faces/http/deps.ts';
import { subjectPath } from '../../../src/faces/report/document.ts';
import { linkOf } from '../../../src/runtime/notify/delivery.ts';
import { evidenceOf } from '../../history/evidence/figures.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { pagesOnPlatform } from '../../support/pages-on-platform.ts';
import { Recording } from '../../support/recorded.ts';

const HOSTILE = `<script>alert(1)</script>\u202e"'&\n${'x'.repeat(10_000)}`;
const COMPROMISED = { MdmData: { CompromisedStatus: 'TRUE' } };

/** Two devices of one person; the first is banned by a run. */
async function banned() {
  const rules = [banRule(), banRule({ id: 'other', field: 'Other', mode: 'dry-run' })];
  const on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { ...COMPROMISED, DeviceFriendlyName: 'Ana’s laptop', Emails: ['ana+x@example.com'] });
  on.platform.addDevice('d2', { Emails: ['ana+x@example.com'] });
  on.platform.users.set('ana+x@example.com', {
    Email: 'ana+x@example.com',
    Name: 'Ana',
    SerialNumbers: ['S-d1', 'S-d2'],
  });
  await on.run();
  await on.clock.sleep(60_000);
  return { on, rules, ...pagesOnPlatform(on, rules) };
}

describe('the page of a device', () => {
  it('shows that it is banned, by which rule and run, on which facts, and what happens next', async () => {
    const { get } = await banned();
    const { status, text, html } = await get('/subjects/device/d1');
    expect(status).toBe(200);
    expect(text).toContain('BANNED');
    expect(text).toContain('ban_device S-d1: succeeded');
    expect(text).toContain('by rule ban in run 1');
    expect(text).toContain('because MdmData.CompromisedStatus = "TRUE"');
    expect(text).toContain('ban_device S-d1 is undone when rule ban no longer matches');
    expect(html).toContain('href="/runs/1"');
  });

  it('shows since when a banned device does not match, and when it is unbanned if that stays so', async () => {
    const rules = [banRule({ more: 'clear_for: 30m' })];
    const on = startOnPlatform({ rules });
    on.platform.addDevice('d1', COMPROMISED);
    await on.run();
    await on.clock.sleep(3_600_000);
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    const { text } = await pagesOnPlatform(on, rules).get('/subjects/device/d1');
    expect(text).toContain(
      'ban_device S-d1 is undone after 2027-01-15 09:30:00 UTC if rule ban does not match again before: it has not matched since 2027-01-15 09:00:00 UTC',
    );
  });

  it('shows the verdict of every rule with its flip, and leads to its tree', async () => {
    const { get } = await banned();
    const { text, html } = await get('/subjects/device/d1', 'read');
    expect(text).toContain('MATCHES');
    expect(text).toContain('it would not match if MdmData.CompromisedStatus were');
    expect(html).toContain('href="/subjects/device/d1/rules/ban"');
    const tree = await get('/subjects/device/d1/rules/ban', 'read');
    expect(tree.text).toContain('true MdmData.CompromisedStatus == "TRUE"');
    expect(tree.text).toContain('Decided now, for this device alone');
    expect(tree.html).toContain('id="explained"');
  });

  it('shows its record, its owner and its history with links', async () => {
    const { get } = await banned();
    const { text, html } = await get('/subjects/device/d1');
    expect(text).toContain('DeviceFriendlyName "Ana’s laptop"');
    expect(html).toContain('href="/subjects/user/ana%2Bx%40example.com"');
    expect(text).toContain('call ban_device S-d1: succeeded');
    expect(html).toContain('href="/audit?target=S-d1"');
    expect((await get('/subjects/device/d1/history')).text).toContain('Nothing older is recorded.');
  });

  it('is found by another name of it, and leads to its own address', async () => {
    const { get } = await banned();
    const { status, headers } = await get('/subjects/device/s-D1');
    expect([status, headers.get('location')]).toEqual([303, '/subjects/device/d1']);
  });

  it('shows no form to a reader, and refuses what a reader sends anyway', async () => {
    const { get, post, store } = await banned();
    const { html } = await get('/subjects/device/d1', 'read');
    expect(html).not.toMatch(/action="\/subjects/);
    const fields = { for: '1d', owner: 'ana', reason: 'x' };
    expect((await post('/subjects/device/d1/exempt', fields, 'trigger')).status).toBe(403);
    expect(await store.exemptions()).toEqual([]);
  });

  it.each(['/subjects/device/nobody', '/subjects/tree/d1', '/subjects/device/d1/rules/none'])(
    'is a 404 page for what is not known: %s',
    async (path) => {
      const { get } = await banned();
      const { status, text } = await get(path);
      expect([status, text.includes('Not found')]).toEqual([404, true]);
    },
  );
});

describe('the page of a user', () => {
  it('shows their devices with the state of each', async () => {
    const { get } = await banned();
    const { text } = await get('/subjects/user/ana%2Bx%40example.com');
    expect(text).toContain('Devices of this user');
    expect(text).toMatch(/S-d1.*BANNED/);
  });
});

describe('the forms of the page of a subject', () => {
  it('exempt its serial number for a time, in the name of who is signed in', async () => {
    const { on, get, post } = await banned();
    const fields = { for: '7d', owner: 'ana', reason: 'a test <b>device</b>' };
    const { status, headers } = await post('/subjects/device/d1/exempt', fields, 'approve');
    expect([status, headers.get('location')]).toEqual([303, '/subjects/device/d1']);
    expect(await on.store.exemptions()).toMatchObject([
      {
        selector: { field: 'SerialNumber', value: 'S-d1' },
        owner: 'ana',
        createdBy: 'approveer',
        expiresAt: on.clock.nowMs() + 7 * 86_400_000,
      },
    ]);
    const { text, html } = await get('/subjects/device/d1');
    expect(text).toContain('ana is responsible for it: a test <b>device</b>');
    expect(html).not.toContain('<b>device');
    expect(text).toContain('End exemption');
  });

  it('let the exemption that it joined later cover it', async () => {
    const { on, get, post } = await banned();
    on.platform.addDevice('late', { SerialNumber: 'S-late' });
    await on.run();
    const about = { selector: { field: 'Email', value: 'ana+x@example.com' } };
    const { exemption } = await exempt(on.engine, { ...about, owner: 'ada', reason: 'r', until: '30d' }, 'ada');
    on.platform.patch('late', { Emails: ['ana+x@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    expect((await get('/subjects/device/late')).text).toContain('Let the exemption cover it');
    await post(`/exemptions/${exemption.id}/confirm`, { subject: 'late', reason: 'hers' }, 'approve');
    const { text } = await get('/subjects/device/late');
    expect(text).toContain('End exemption');
    expect(text).not.toContain('Let the exemption cover it');
  });

  it('refuse an exemption without a reason, or until a time that is over', async () => {
    const { on, post } = await banned();
    const path = '/subjects/device/d1/exempt';
    expect((await post(path, { for: '1d', owner: 'ana' })).text).toContain('reason is required');
    const late = await post(path, { for: '1d', owner: 'ana', reason: 'x', until: '2001-01-01' });
    expect([late.status, late.text.includes('is in the past')]).toEqual([400, true]);
    expect(await on.store.exemptions()).toEqual([]);
  });

  it('release what Trustward did to it, and nothing that is in force on others', async () => {
    const { on, get, post } = await banned();
    const [claim] = await on.store.claims({ status: 'standing' });
    expect((await post('/subjects/device/d2/release', { reason: 'x' })).status).toBe(404);
    expect((await post('/subjects/device/d2/release', { reason: 'x', claim: claim?.id ?? '' })).status).toBe(409);
    expect(on.platform.devices.get('d1')?.Banned).toBe('TRUE');
    const { status } = await post('/subjects/device/d1/release', { reason: 'wrong report' });
    expect(status).toBe(303);
    expect(on.platform.devices.get('d1')?.Banned).toBe('FALSE');
    const { text } = await get('/subjects/device/d1');
    expect(text).toContain('wrong report');
    expect(text).toContain('not banned');
  });
});

describe('a release where nothing may be called', () => {
  it('shows that it is only reported', async () => {
    const { on, rules } = await banned();
    const dry = { ...on, engine: { ...on.engine, daemonMode: 'dry-run' as const } };
    const { post } = pagesOnPlatform(dry, rules);
    const { status, text } = await post('/subjects/device/d1/release', { reason: 'wrong report' });
    expect([status, text.includes('Not all was released'), text.includes('dry run')]).toEqual([200, true, true]);
    expect(on.platform.devices.get('d1')?.Banned).toBe('TRUE');
  });
});

describe('hostile names and odd ids', () => {
  it.each([
    'a/b/c',
    '100%25 & ?#',
    '<script>alert(1)</script>',
    'עברית 日本',
    "o'neil+tag@exämple.com",
    HOSTILE.slice(0, 60),
  ])('open under their own address, and are escaped: %j', async (id) => {
    const rules = [banRule()];
    const on = startOnPlatform({ rules });
    on.platform.addDevice(id, { ...COMPROMISED, DeviceFriendlyName: HOSTILE, Model: HOSTILE, Emails: [HOSTILE] });
    await on.run();
    const { get } = pagesOnPlatform(on, rules);
    const link = linkOf({ about: { subject: { kind: 'device', id } } }, 'http://127.0.0.1:8080') ?? '';
    for (const path of [subjectPath('device', id), new URL(link).pathname, `${subjectPath('device', id)}/rules/ban`]) {
      const { status, html, text } = await get(path);
      expect(status).toBe(200);
      expect(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/.test(html)).toBe(false);
      expect([html.includes('\u202e'), text.includes('x'.repeat(4_100))]).toEqual([false, false]);
      expect(text.includes('⟨U+202E⟩')).toBe(true);
    }
  });
});

describe('a platform that does not answer', () => {
  it('leaves the stored part on the page at once, and loads the rest after it', async () => {
    const { on, rules } = await banned();
    let asked = 0;
    let answer = () => {};
    const hangs = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const fast = { nowMs: () => on.clock.nowMs(), monotonicMs: () => 0, sleep: async () => {} };
    const why: HttpDeps['why'] = async (of) => {
      asked += 1;
      await hangs;
      return whyOf({ ...on.engine, reader: on.store, rules, isWhatIf: false }, of);
    };
    const { get } = pagesOnPlatform(on, rules, { clock: fast, why });
    const { status, text, html } = await get('/subjects/device/d1');
    expect(status).toBe(200);
    expect(text).toContain('the platform has not answered within 2 seconds');
    expect(text).toContain('ban_device S-d1: succeeded');
    expect(html).toContain('hx-get="/subjects/device/d1?wait=long"');
    await get('/subjects/device/d1');
    expect(asked).toBe(1);
    answer();
  });

  it('is named where it refuses, and the stored part is shown', async () => {
    const { on, get } = await banned();
    on.platform.readFault = new AppError('api_unreachable', 'the platform is gone');
    const { status, text } = await get('/subjects/device/d1');
    expect(status).toBe(200);
    expect(text).toContain('it could not be read now: the platform is gone');
    expect(text).toContain('not judged');
  });
});

describe('the pages with a history', () => {
  const HOSTILE = '<script>alert(1)</script>\u202e';

  async function pages() {
    const rules = [banRule()];
    const on = startOnPlatform({ rules });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    const recording = new Recording();
    recording.nowMs = on.clock.nowMs() - 3_600_000;
    const history = recording.device('d1').run().now('device', 'd1', { DeviceFriendlyName: HOSTILE }).run().reader();
    return pagesOnPlatform(on, rules, {
      timeline: (subject, asked) => timelineOf({ reader: on.store, history, clock: on.clock }, subject, asked),
      evidence: { thresholds: EVIDENCE_THRESHOLDS, isKept: () => true, of: () => evidenceOf() },
    });
  }

  it('the page of a subject has what changed of its facts among what was done, escaped', async () => {
    const { get } = await pages();
    const { html, text } = await get('/subjects/device/d1');
    expect(text).toContain('DeviceFriendlyName');
    expect(text).toContain('call ban_device S-d1: succeeded');
    expect(html).not.toContain('<script>alert(1)');
    expect(html).not.toContain('\u202e');
  });

  it('one part of the line of time can be chosen without JavaScript', async () => {
    const { get } = await pages();
    const facts = (await get('/subjects/device/d1/history?show=facts')).text;
    expect(facts).toContain('first recorded');
    expect(facts).not.toContain('call ban_device');
    const acts = (await get('/subjects/device/d1/history?show=acts')).text;
    expect(acts).toContain('call ban_device');
    expect(acts).not.toContain('first recorded');
  });

  it('the rules page has one line of evidence beside a rule', async () => {
    const { get } = await pages();
    expect((await get('/rules')).text).toContain('21 days of evidence: its mode is earned');
  });
});
