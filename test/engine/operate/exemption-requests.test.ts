// test: a person asks for an exemption of a device of theirs alone, an operator answers once, and only the exemption that is made of it protects.
import { afterEach, describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/time.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import { requestWords } from '../../../src/domain/exemption-request.ts';
import { historyOf } from '../../../src/engine/explain/history-of.ts';
import { endExemption } from '../../../src/engine/operate/commands.ts';
import {
  askExemption,
  grantRequest,
  refuseRequest,
  requestsOf,
  withdrawRequest,
} from '../../../src/engine/operate/exemption-requests.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const ADA = 'ada@x.org';
const SAY = { say: 'have a good trip' };
let on: OnPlatform;
afterEach(() => on.close());

/** Ada has d1 and d2, Bo has d3; d1 is compromised, and banned in mode `enforce`. */
async function fleet(mode: 'enforce' | 'dry-run' = 'dry-run'): Promise<OnPlatform> {
  on = startOnPlatform();
  on.platform.addDevice('d1', { Emails: ['Ada@x.org'] });
  on.platform.addDevice('d2', { Emails: ['Ada@x.org', 'bo@x.org'] });
  on.platform.addDevice('d3', { Emails: ['bo@x.org'] });
  await on.run('dry-run');
  on.platform.compromised('d1', 'TRUE');
  await on.run(mode);
  return on;
}

const ask = (device = 'd1', over: object = {}) =>
  askExemption(on.engine, { person: ADA, device, reason: 'on a ship', forMs: DAY_MS, ...over });
const kinds = async () =>
  (await on.store.audit({ limit: 50, afterSeq: 0 }))
    .map(({ kind }) => kind)
    .filter((kind) => kind.startsWith('exemption.'));

describe('a request', () => {
  it('names the device, the newest match and the owner in lower case, waits, and protects nothing', async () => {
    await fleet();
    const request = await ask('d1', { person: 'ADA@X.org' });
    expect(request).toMatchObject({ person: ADA, device: 'd1', serial: 'S-d1', rule: 'ban', status: 'waiting' });
    expect(request.episodeId).toBeDefined();
    expect((await ask('d2')).rule).toBeUndefined();
    expect(await requestsOf(on.store, 'Ada@x.org')).toMatchObject([{ device: 'd2' }, { device: 'd1' }]);
    expect(await requestsOf(on.store, 'bo@x.org')).toEqual([]);
    expect(await kinds()).toEqual(['exemption.requested', 'exemption.requested']);
    await on.run('enforce');
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
  it.each<[string, string, object, { code: string; message: RegExp }]>([
    ["another's device", 'd3', {}, { code: 'not_found', message: /does not show this device as one of yours/ }],
    [
      'a device that is not there',
      'd9',
      {},
      { code: 'not_found', message: /does not show this device as one of yours/ },
    ],
    ['a DeviceID in another case', 'D1', {}, { code: 'not_found', message: /as one of yours/ }],
    ['no person', 'd1', { person: '' }, { code: 'not_found', message: /as one of yours/ }],
    ['no reason', 'd1', { reason: ' \n' }, { code: 'usage', message: /the reason is empty/ }],
    ['a long reason', 'd1', { reason: 'x'.repeat(501) }, { code: 'usage', message: /501 characters: at most 500/ }],
    ['less than an hour', 'd1', { forMs: HOUR_MS - 1 }, { code: 'usage', message: /for 1h to 30d/ }],
    ['more than 30 days', 'd1', { forMs: 30 * DAY_MS + 1 }, { code: 'usage', message: /for 1h to 30d/ }],
    ['no number', 'd1', { forMs: Number.NaN }, { code: 'usage', message: /for 1h to 30d/ }],
  ])('is refused with %s', async (_, device, over, { code, message }) => {
    await fleet();
    await expect(ask(device, over)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await kinds()).toEqual([]);
  });
  it('of the longest reason and the least and most time is taken', async () => {
    await fleet();
    await ask('d1', { reason: 'x'.repeat(500), forMs: HOUR_MS });
    await ask('d2', { forMs: 30 * DAY_MS });
  });
  it('is refused while one about the device waits, also at once, and after three in 24 hours', async () => {
    await fleet();
    const both = await Promise.allSettled([ask(), ask()]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(ask()).rejects.toMatchObject({ code: 'conflict' });
    const withdraw = async () => {
      const [newest] = await requestsOf(on.store, ADA);
      await withdrawRequest(on.engine, { person: ADA, id: newest?.id ?? '' });
    };
    await withdraw();
    await ask();
    await withdraw();
    on.clock.pass(HOUR_MS);
    await ask();
    await withdraw();
    await expect(ask()).rejects.toMatchObject({ code: 'busy', message: expect.stringContaining('ask again in 23 h') });
    on.clock.pass(23 * HOUR_MS + 1);
    await ask();
  });
  it('is withdrawn by the person who asked alone', async () => {
    await fleet();
    const { id } = await ask();
    for (const asked of [
      { person: 'bo@x.org', id },
      { person: ADA, id: id.slice(0, 6) },
      { person: ADA, id: '' },
    ])
      await expect(withdrawRequest(on.engine, asked)).rejects.toMatchObject({ code: 'not_found' });
    expect(await withdrawRequest(on.engine, { person: 'ADA@x.org', id })).toMatchObject({ status: 'withdrawn' });
    await expect(grantRequest(on.engine, id, SAY, 'ana')).rejects.toThrow(`request ${id} was withdrawn by ${ADA} at`);
  });
});

describe('an answer', () => {
  it('that grants makes an exemption of the device as it was asked for, from now on, and lifts no ban', async () => {
    await fleet('enforce');
    expect(on.platform.effects).toEqual(['ban S-d1']);
    const { id } = await ask();
    on.clock.pass(HOUR_MS);
    const request = await grantRequest(on.engine, id, { ...SAY, reference: 'CHG-7' }, 'ana');
    const exemption = (await on.store.exemption(request.exemption ?? '')) as Exemption;
    const claims = await on.store.claims({ subjectId: 'd1' });
    expect(exemption).toMatchObject({
      subject: { kind: 'device', id: 'd1' },
      owner: 'ana',
      createdBy: 'ana',
      reason: 'have a good trip (asked for: on a ship) [CHG-7]',
      expiresAt: on.clock.nowMs() + DAY_MS,
    });
    expect(exemption.members).toBeDefined();
    expect(request).toMatchObject({ status: 'granted', answeredBy: 'ana', sentence: SAY.say, exemption: exemption.id });
    expect(claims).toMatchObject([{ target: 'S-d1', status: 'standing' }]);
    expect(await requestsOf(on.store, ADA)).toEqual([request]);
    expect(requestWords(request, on.clock.nowMs())).toMatch(/^Granted until .*What was done before stays until/);
    expect(await kinds()).toEqual(['exemption.requested', 'exemption.request_granted', 'exemption.added']);
    await on.run('enforce');
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
  it('that grants before anything was done holds the ban back, for as long as the operator says', async () => {
    await fleet();
    const { id } = await ask();
    const granted = await grantRequest(on.engine, id.slice(0, 6), { ...SAY, reason: 'checked', until: '2h' }, 'ana');
    expect(await on.store.exemption(granted.exemption ?? '')).toMatchObject({
      reason: 'checked (asked for: on a ship)',
    });
    await on.run('enforce');
    expect(on.platform.effects).toEqual([]);
    on.clock.pass(2 * HOUR_MS);
    await on.run('enforce');
    expect(on.platform.effects).toEqual(['ban S-d1']);
    const [request] = await requestsOf(on.store, ADA);
    expect(request && requestWords(request, on.clock.nowMs())).toMatch(/^Granted\. The exemption ended at/);
  });
  it.each(['Ada@x.org', 'ada@x.org (page)', 'root (token ada@x.org)'])(
    'that grants is not by who asked: %s',
    async (by) => {
      await fleet();
      const { id } = await ask();
      await expect(grantRequest(on.engine, id, SAY, by)).rejects.toThrow(
        'nobody grants what they asked for themselves',
      );
      expect(await on.store.exemptions()).toEqual([]);
      await grantRequest(on.engine, id, SAY, 'ada@y.org');
    },
  );
  it('that refuses is read by the person, and changes nothing', async () => {
    await fleet();
    const { id } = await ask();
    await refuseRequest(on.engine, id, { say: 'mend it first', reason: 'third time' }, 'ana');
    expect(await requestsOf(on.store, ADA)).toMatchObject([{ status: 'refused', sentence: 'mend it first' }]);
    expect(await on.store.exemptions()).toEqual([]);
    await on.run('enforce');
    expect(on.platform.effects).toEqual(['ban S-d1']);
    const history = await historyOf(on.store, { target: 'S-d1' }, { limit: 50, nowMs: on.clock.nowMs() });
    expect(history.flatMap(({ kind, text }) => (kind === 'exemption' ? [text] : []))).toEqual([
      'ana refused the exemption that ada@x.org asked for: mend it first',
      'ada@x.org asked for an exemption: on a ship',
    ]);
  });
  it('is one of two at once, and the other one reads whose', async () => {
    await fleet();
    const { id } = await ask();
    const both = await Promise.allSettled([
      grantRequest(on.engine, id, SAY, 'ana'),
      grantRequest(on.engine, id, SAY, 'bo'),
    ]);
    const lost = both.flatMap((one) => (one.status === 'rejected' ? [String(one.reason.message)] : []));
    const [winner] = await requestsOf(on.store, ADA);
    expect(lost).toEqual([expect.stringContaining(`request ${id} was granted by ${winner?.answeredBy} at `)]);
    await expect(refuseRequest(on.engine, id, SAY, 'cy')).rejects.toMatchObject({ code: 'conflict' });
    expect(await on.store.exemptions()).toHaveLength(1);
  });
  it('after seven days is refused: the request has expired, and the person reads it', async () => {
    await fleet();
    const { id } = await ask();
    on.clock.pass(7 * DAY_MS);
    await expect(refuseRequest(on.engine, id, SAY, 'ana')).rejects.toThrow(/expired at .*nobody answered it/);
    const [request] = await requestsOf(on.store, ADA);
    expect(request?.status).toBe('expired');
    expect(request && requestWords(request, on.clock.nowMs())).toMatch(/Nobody answered in time.*You can ask again/);
    await ask();
  });
  it('that grants is refused once the device is shown with another owner or another serial number', async () => {
    await fleet();
    const { id } = await ask();
    const device = on.platform.devices.get('d1');
    Object.assign(device as object, { Emails: ['bo@x.org'] });
    await on.run('dry-run');
    await expect(grantRequest(on.engine, id, SAY, 'ana')).rejects.toMatchObject({ code: 'conflict' });
    Object.assign(device as object, { Emails: ['ada@x.org'], SerialNumber: 'OTHER' });
    await on.run('dry-run');
    await expect(grantRequest(on.engine, id, SAY, 'ana')).rejects.toThrow(
      /does not show device d1 with serial number S-d1 as one of ada/,
    );
    expect(await on.store.exemptions()).toEqual([]);
    await refuseRequest(on.engine, id, SAY, 'ana');
  });
  it.each<[string, object, RegExp]>([
    ['no sentence', { say: ' ' }, /the sentence is empty/],
    ['an end that is over', { ...SAY, until: '2020-01-01' }, /is in the past/],
    ['an end that is no time', { ...SAY, until: 'soon' }, /expected a duration/],
  ])('that grants is refused with %s, and the request waits on', async (_, answer, message) => {
    await fleet();
    const { id } = await ask();
    await expect(grantRequest(on.engine, id, answer as never, 'ana')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(message),
    });
    await expect(grantRequest(on.engine, '01nothing', SAY, 'ana')).rejects.toMatchObject({ code: 'not_found' });
    expect(await requestsOf(on.store, ADA)).toMatchObject([{ status: 'waiting' }]);
  });
  it('shows that an exemption was ended early', async () => {
    await fleet();
    const { id } = await ask();
    const { exemption = '' } = await grantRequest(on.engine, id, SAY, 'ana');
    on.clock.pass(HOUR_MS);
    await endExemption(on.engine, exemption, { by: 'ana', reason: 'back' });
    const [request] = await requestsOf(on.store, ADA);
    expect(request?.exemptUntil).toBe(on.clock.nowMs());
  });
});
