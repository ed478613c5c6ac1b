// test: an exemption covers what it covered when it was made. What joins it later is neither acted on nor exempt: it waits for a person. In: a
// platform in memory, runs in enforce. Out: decisions and calls.
import { describe, expect, it } from 'vitest';
import type { Exemption } from '../../../src/domain/exemption.ts';
import { whyOf } from '../../../src/engine/explain/why.ts';
import type { AboutRequest } from '../../../src/engine/operate/commands.ts';
import { confirmJoined, exempt } from '../../../src/engine/operate/exempt.ts';
import { operatorAlerts } from '../../../src/runtime/notify/alerts.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const ANA = { by: 'ana', reason: 'hers' };
const WHY = { owner: 'Ada', reason: 'travel', until: '30d' };

/** `ceo` is a device of an exempt person; `spoof` is one that becomes compromised. Both were read, with nothing wrong. */
async function seen(): Promise<OnPlatform> {
  const on = startOnPlatform();
  on.platform.users.set('ceo@x.org', { Email: 'ceo@x.org', Name: 'Cleo', Groups: 'vip' });
  on.platform.users.set('eve@x.org', { Email: 'eve@x.org', Name: 'Eve', Groups: 'staff' });
  on.platform.addDevice('ceo', { SerialNumber: 'C02', Emails: ['ceo@x.org'], DeviceFriendlyName: 'KIOSK' });
  on.platform.addDevice('spoof', { Emails: ['eve@x.org'] });
  await on.run();
  return on;
}

const add = ({ engine }: OnPlatform, about: AboutRequest) => exempt(engine, { ...about, ...WHY }, 'ana');

/** Each way in: what is exempt, and what the device does to become it. */
const WAYS: [way: string, about: AboutRequest, (on: OnPlatform) => void][] = [
  [
    'gets an exempt person as a second owner',
    { subject: { id: 'ceo@x.org' } },
    (on) => on.platform.patch('spoof', { Emails: ['eve@x.org', 'ceo@x.org'] }),
  ],
  [
    'takes an exempt serial number',
    { subject: { id: 'C02' } },
    (on) => on.platform.patch('spoof', { SerialNumber: 'c02' }),
  ],
  [
    'takes the serial number of a device that is exempt by its DeviceID',
    { subject: { kind: 'device', id: 'ceo' } },
    (on) => on.platform.patch('spoof', { SerialNumber: 'C02' }),
  ],
  [
    'renames itself to what a selector names',
    { selector: { field: 'DeviceFriendlyName', value: 'KIOSK' }, acceptForgeable: true },
    (on) => on.platform.patch('spoof', { DeviceFriendlyName: 'KIOSK' }),
  ],
];

const whySpoof = (on: OnPlatform) =>
  whyOf({ ...on.engine, reader: on.store, rules: [banRule()], isWhatIf: false }, { kind: 'device', id: 'spoof' });
const seeSpoof = (on: OnPlatform) => on.platform.compromised('spoof', 'TRUE');
const held = { decision: 'hold', reason: 'joined_later' };

describe('a device that', () => {
  it.each(WAYS)('%s waits for a person, and is done once a plan with it is approved', async (_way, about, joins) => {
    const on = await seen();
    await add(on, about);
    joins(on);
    seeSpoof(on);
    const { decisions, plan } = await on.run('enforce');
    expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
    expect(on.platform.effects).toEqual([]);
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toEqual([`ban ${on.platform.devices.get('spoof')?.SerialNumber}`]);
  });

  it.each(WAYS)('%s is exempt once a person said yes to it', async (_way, about, joins) => {
    const on = await seen();
    const { exemption } = await add(on, about);
    joins(on);
    seeSpoof(on);
    await on.run('enforce');
    const why = await whySpoof(on);
    expect([why.exemption, why.joined?.id]).toEqual([undefined, exemption.id]);
    expect(why.commands.map(({ command }) => command)).toContain(
      `trustward exempt confirm ${exemption.id} --subject ${why.subject.serial} --reason TEXT`,
    );
    const { confirmed } = await confirmJoined(on.engine, exemption.id, { ...ANA, subject: 'spoof' });
    expect(await whySpoof(on)).toMatchObject({ exemption: { id: exemption.id }, joined: undefined });
    expect(confirmed).toHaveLength(1);
    const { decisions } = await on.run('enforce');
    expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, decision: 'skip', reason: 'exempt' }]);
    const [entry] = await on.store.audit({ kind: 'exemption.confirmed', limit: 9 });
    expect(JSON.parse(entry?.bytes ?? '{}').body).toMatchObject({ by: 'ana', reason: 'hers', count: 1 });
    await expect(confirmJoined(on.engine, exemption.id, ANA)).rejects.toThrow('nothing waits');
  });

  it.each(WAYS)('%s between deciding and the call is neither called nor exempt', async (_way, about, joins) => {
    const on = await seen();
    await add(on, about);
    seeSpoof(on);
    on.platform.onRead = (what) => {
      if (what === 'target') joins(on);
    };
    await on.run('enforce');
    const { decisions } = await on.run('enforce');
    expect(on.platform.effects).toEqual([]);
    expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
  });

  it('gets an owner who is exempt by address waits, although no list of users was read and another device names no owner', async () => {
    const on = startOnPlatform();
    on.platform.addDevice('ceo', { SerialNumber: 'C02', Emails: ['ceo@x.org'] });
    on.platform.addDevice('spoof', { Emails: ['eve@x.org'] });
    on.platform.addDevice('silent');
    await on.run();
    await add(on, { selector: { field: 'Email', value: 'ceo@x.org' } });
    on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
    seeSpoof(on);
    const { decisions } = await on.run('enforce');
    expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
  });

  it('joins a group through its new member waits', async () => {
    const on = await seen();
    await add(on, { selector: { field: 'Groups', value: 'vip' } });
    await on.run(); // shows who is in the group
    on.platform.users.set('eve@x.org', { Email: 'eve@x.org', Name: 'Eve', Groups: 'staff,vip' });
    seeSpoof(on);
    on.platform.compromised('ceo', 'TRUE');
    const { decisions } = await on.run('enforce');
    expect(decisions.map(({ subject, reason }) => [subject.id, reason]).sort()).toEqual([
      ['ceo', 'exempt'],
      ['spoof', 'joined_later'],
    ]);
  });

  it('joins after its plan was approved is not done by that plan', async () => {
    const on = await seen();
    on.rules(banRule({ mode: 'approve' }));
    await add(on, { subject: { id: 'ceo@x.org' } });
    seeSpoof(on);
    const { plan } = await on.run();
    await on.approve(plan);
    on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
    await on.apply(plan);
    expect(on.platform.effects).toEqual([]);
    expect(await on.intents()).toMatchObject([{ status: 'withdrawn' }]);
  });

  it('joined, and is already banned, stays banned without another question', async () => {
    const on = await seen();
    seeSpoof(on);
    await on.run('enforce');
    on.clock.pass(QUIET_MS);
    await add(on, { subject: { id: 'ceo@x.org' } });
    on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
    const { decisions } = await on.run('enforce');
    expect(decisions).toMatchObject([{ reason: 'already_so' }]);
    expect(on.platform.effects).toEqual(['ban S-spoof']);
  });
});

describe('what an exemption covered when it was made', () => {
  it.each(WAYS)('stays covered: with a device that %s', async (_way, about, joins) => {
    const on = await seen();
    await add(on, about);
    joins(on);
    on.platform.compromised('ceo', 'TRUE');
    const { decisions } = await on.run('enforce');
    expect(decisions).toMatchObject([{ subject: { id: 'ceo' }, decision: 'skip', reason: 'exempt' }]);
    // It is away for a while, and comes back as it was.
    const ceo = on.platform.devices.get('ceo') as object;
    on.platform.devices.delete('ceo');
    await on.run('enforce');
    on.platform.addDevice('ceo', ceo as never);
    expect((await on.run('enforce')).decisions).toMatchObject([{ subject: { id: 'ceo' }, reason: 'exempt' }]);
    expect(on.platform.effects).toEqual([]);
  });

  it('is not inherited with its serial number changed: the device waits', async () => {
    const on = await seen();
    await add(on, { subject: { id: 'ceo@x.org' } });
    on.platform.patch('ceo', { SerialNumber: 'OTHER' });
    on.platform.compromised('ceo', 'TRUE');
    expect((await on.run('enforce')).decisions).toMatchObject([{ subject: { id: 'ceo' }, ...held }]);
  });

  it('is taken from the first trusted reading where nobody knew it', async () => {
    const on = startOnPlatform();
    on.platform.addDevice('ceo', { Emails: ['ceo@x.org'] });
    const { exemption } = await add(on, { subject: { kind: 'user', id: 'ceo@x.org' }, unseen: true });
    expect(exemption.members).toBeUndefined();
    await on.run();
    expect((await on.store.exemption(exemption.id))?.members).toBeDefined();
    on.platform.addDevice('later', { Emails: ['ceo@x.org'] });
    on.platform.compromised('ceo', 'TRUE');
    on.platform.compromised('later', 'TRUE');
    const { decisions } = await on.run('enforce');
    expect(decisions.map(({ subject, reason }) => [subject.id, reason]).sort()).toEqual([
      ['ceo', 'exempt'],
      ['later', 'joined_later'],
    ]);
    expect((await on.store.joinedLater((await on.store.exemption(exemption.id)) as Exemption, 9)).some).toMatchObject([
      { kind: 'device', id: 'later' },
    ]);
  });
});

describe('a selector over what devices report themselves', () => {
  it.each(['DeviceFriendlyName', 'Platform', 'Model'])('%s is refused unless a person accepts that', async (field) => {
    const on = await seen();
    const selector = { field, value: 'KIOSK' };
    await expect(add(on, { selector })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('--accept-forgeable'),
    });
    const { exemption } = await add(on, { selector, acceptForgeable: true });
    expect(await on.store.exemption(exemption.id)).toMatchObject({ acceptForgeable: true });
    const [entry] = await on.store.audit({ kind: 'exemption.added', limit: 1 });
    expect(JSON.parse(entry?.bytes ?? '{}').body).toMatchObject({ acceptForgeable: true });
  });
});

describe('an alert', () => {
  it('names each that joined an exemption, whether a rule matches it or not', async () => {
    const on = await seen();
    const { exemption } = await add(on, { subject: { id: 'ceo@x.org' } });
    const joined = async () => {
      const alerts = await operatorAlerts(on.store, { warnMs: 0, unusedMs: Number.POSITIVE_INFINITY }, on.clock.now);
      return alerts.map(({ key, code }) => [code, key]);
    };
    expect(await joined()).toEqual([]);
    on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
    await on.run();
    const one = [['exemption_joined', `exemption ${exemption.id} joined by device spoof S-spoof`]];
    expect(await joined()).toEqual(one);
    await on.run();
    expect(await joined()).toEqual(one);
    await confirmJoined(on.engine, exemption.id, ANA);
    expect(await joined()).toEqual([]);
  });
});
