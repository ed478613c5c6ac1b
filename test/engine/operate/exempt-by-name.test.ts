// test: an exemption protects what a person named: a serial number in any case, through new registrations; and a name that a user chose
// never decides alone. In: a platform in memory, runs in enforce. Out: what was banned.
import { describe, expect, it } from 'vitest';
import { aboutText, coveredBy, coveredText } from '../../../src/domain/exemption.ts';
import type { AboutRequest } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const WHY = { owner: 'Ada', reason: 'travel', until: '30d' };

/** Devices that were read once, with nothing wrong. */
async function seen(...devices: [id: string, fields: object][]): Promise<OnPlatform> {
  const on = startOnPlatform();
  for (const [id, fields] of devices) on.platform.addDevice(id, fields as never);
  await on.run();
  return on;
}

const add = ({ engine }: OnPlatform, about: AboutRequest) => exempt(engine, { ...about, ...WHY }, 'ana');

async function banned(on: OnPlatform, ...ids: string[]): Promise<string[]> {
  for (const id of ids) on.platform.compromised(id, 'TRUE');
  await on.run('enforce');
  return on.platform.effects;
}

describe('an exemption', () => {
  it.each([[{ kind: 'device', id: 'PFE112IXO' }], [{ id: 'pfe112ixo' }], [{ kind: 'device', id: ' Pfe112IXO ' }]])(
    'of a serial number protects it in the next run, however it is written: %j',
    async (subject) => {
      const on = await seen(['d1', { SerialNumber: 'PFE112IXO' }], ['d2', {}]);
      const { exemption, covers } = await add(on, { subject });
      expect(aboutText(exemption)).toBe('SerialNumber = PFE112IXO');
      expect(covers && coveredText(covers)).toBe('covers 1 device: device d1, PFE112IXO (device d1)');
      expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
    },
  );
  it('of a serial number outlives a new registration of it', async () => {
    const on = await seen(['d1', { SerialNumber: 'C02' }]);
    await add(on, { subject: { id: 'c02' } });
    on.platform.devices.delete('d1');
    on.platform.addDevice('d9', { SerialNumber: 'C02' });
    expect(await banned(on, 'd9')).toEqual([]);
  });
  it('of a DeviceID keeps the DeviceID', async () => {
    const on = await seen(['d1', {}], ['d2', {}]);
    const { exemption, covers } = await add(on, { subject: { kind: 'device', id: 'D1' } });
    expect(exemption).toMatchObject({ subject: { kind: 'device', id: 'd1' }, selector: undefined });
    expect(covers).toMatchObject({ count: 1 });
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
  });
  it('of an e-mail address in another case protects the devices of that owner', async () => {
    const on = await seen(['d1', { Emails: ['Ada@x.org'] }], ['d2', { Emails: ['bo@x.org'] }]);
    const { exemption, covers } = await add(on, { subject: { id: 'ADA@X.ORG' } });
    expect(exemption.subject).toEqual({ kind: 'user', id: 'Ada@x.org' });
    expect(covers).toEqual({ kind: 'user', count: 1, examples: ['user Ada@x.org'] });
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
  });
  it('of the serial number of one device does not protect another one that is called like it', async () => {
    const on = await seen(['d1', { DeviceFriendlyName: 'C02' }], ['d2', { SerialNumber: 'C02' }]);
    const { exemption } = await add(on, { subject: { id: 'C02' } });
    expect(aboutText(exemption)).toBe('SerialNumber = C02');
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d1']);
  });
  it('of a device by the name that its user chose is refused with its serial number', async () => {
    const on = await seen(['d1', { DeviceFriendlyName: 'CEO laptop' }]);
    await expect(add(on, { subject: { id: 'ceo laptop' } })).rejects.toThrow(
      '`ceo laptop` is only the name of CEO laptop, S-d1 (device d1), and names are chosen by their users: give its serial number `S-d1`',
    );
    expect(await on.store.exemptions()).toEqual([]);
  });
  it('of a name that several things have is refused with all of them', async () => {
    const on = await seen(['d1', { SerialNumber: 'X' }], ['X', {}]);
    await expect(add(on, { subject: { id: 'X' } })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/names 2: .*\(device d1\).*\(device X\)/),
    });
  });
  it('of something that nothing is known of is refused, unless it is meant', async () => {
    const on = await seen(['d1', {}], ['d3', { DeviceFriendlyName: 'd8' }]);
    await expect(add(on, { subject: { kind: 'device', id: 'd7' } })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/^nothing is known as `d7`: no trusted snapshot has shown it.*--unseen/),
    });
    await expect(add(on, { subject: { id: 'd7' }, unseen: true })).rejects.toThrow('give its kind too');
    const { covers } = await add(on, { subject: { kind: 'device', id: 'd7' }, unseen: true });
    expect(covers && coveredText(covers)).toBe('covers nothing that is known now');
    const eighth = await add(on, { subject: { kind: 'device', id: 'd8' }, unseen: true });
    expect(eighth.exemption.subject).toEqual({ kind: 'device', id: 'd8' });
    on.platform.addDevice('d7');
    expect(await banned(on, 'd7')).toEqual([]);
  });
  it('of a device that nothing is known of protects it once it is there, whether its DeviceID or its serial number was given', async () => {
    const on = await seen(['d1', {}]);
    const { exemption } = await add(on, { subject: { kind: 'device', id: 'c02new' }, unseen: true });
    on.platform.addDevice('d7', { SerialNumber: 'C02NEW' });
    on.platform.addDevice('d8', { SerialNumber: 'C02OTHER' });
    expect(await banned(on, 'd7', 'd8')).toEqual(['ban C02OTHER']);
    const covers = await coveredBy(on.engine.store, exemption);
    expect(covers && coveredText(covers)).toBe('covers 1 device: device d7, C02NEW (device d7)');
  });
  it('by a selector shows how many it covers, and three of them', async () => {
    const on = await seen(...(['a', 'b', 'c', 'd'].map((id) => [id, {}]) as [string, object][]));
    const { covers } = await add(on, { selector: { field: 'Platform', value: 'macOS' }, acceptForgeable: true });
    expect(covers && coveredText(covers)).toBe(
      'covers 4 devices: device a, S-a (device a); device b, S-b (device b); device c, S-c (device c) and 1 more',
    );
    const other = await add(on, { selector: { field: 'Platform', value: 'macos' }, acceptForgeable: true });
    expect(other.covers).toMatchObject({ count: 0 });
    expect((await add(on, { selector: { field: 'Groups', value: 'Staff' } })).covers).toBeUndefined();
  });
});
