// test: whom an exemption protects, asked of the one resolver with cards of a snapshot and with records just read.
import { describe, expect, it } from 'vitest';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { summaryOf } from '../../../src/domain/subjects.ts';
import { Exemptions, type Party, partiesOfRecords, partiesOfSubject } from '../../../src/engine/decide/exemptions.ts';
import { FleetIndex } from '../../../src/engine/pull/fleet-index.ts';

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;

function exemption(over: Partial<Exemption>): Exemption {
  return {
    id: 'exemption1',
    subject: undefined,
    selector: undefined,
    owner: 'Ana',
    reason: 'travel',
    expiresAt: NOW + DAY,
    createdAt: NOW - DAY,
    createdBy: 'ada',
    endedAt: undefined,
    endedBy: undefined,
    endedReason: undefined,
    usedAt: undefined,
    warnedAt: undefined,
    ...over,
  };
}

const LAPTOP: Facts = {
  DeviceID: 'd1',
  SerialNumber: 'S-1',
  DeviceFriendlyName: 'Ana laptop',
  Platform: 'macOS',
  Model: 'M1',
  Emails: ['Ana@Example.com'],
};
const TWIN: Facts = { ...LAPTOP, DeviceID: 'd2', DeviceFriendlyName: 'twin', Emails: ['bo@example.com'] };
const ANA: Facts = { Email: 'ana@example.com', Name: 'Ana Ruiz', Groups: 'Everyone,Board' };
const OWNERS = new Map([['ana@example.com', ANA]]);

const THE_LAPTOP = [{ kind: 'device' as const, id: 'd1', serial: 'S-1' }];

/** The parties of a ban of LAPTOP, as deciding and as preflight see them. */
function waysToAsk(): [string, Party[]][] {
  const fleet = new FleetIndex();
  for (const device of [LAPTOP, TWIN]) fleet.add(device);
  return [
    ['deciding', partiesOfSubject(summaryOf('device', LAPTOP), 'S-1', fleet, OWNERS)],
    ['preflight', partiesOfRecords([LAPTOP, TWIN], OWNERS)],
  ];
}

describe.each(waysToAsk())('a ban of a serial number with two devices, at %s', (_, parties) => {
  const protects = (over: Partial<Exemption>) =>
    new Exemptions([exemption(over)], NOW).protecting(parties, THE_LAPTOP).exemption?.id;

  it.each<[string, Partial<Exemption>]>([
    ['the matched device', { subject: { kind: 'device', id: 'd1' } }],
    ['another device of the serial number', { subject: { kind: 'device', id: 'd2' } }],
    ['its owner, in another case', { subject: { kind: 'user', id: 'ANA@example.com' } }],
    ['the owner of the other device', { subject: { kind: 'user', id: 'bo@example.com' } }],
    ['the serial number', { selector: { kind: 'device', field: 'SerialNumber', value: 'S-1' } }],
    ['the serial number, in another case', { selector: { kind: 'device', field: 'SerialNumber', value: 's-1' } }],
    ['its platform', { selector: { kind: 'device', field: 'Platform', value: 'macOS' } }],
    ['its model', { selector: { kind: 'device', field: 'Model', value: 'M1' } }],
    ['the name of the other one', { selector: { kind: 'device', field: 'DeviceFriendlyName', value: 'twin' } }],
    ['a group of its owner', { selector: { kind: 'user', field: 'Groups', value: 'board' } }],
    ['the name of its owner', { selector: { kind: 'user', field: 'Name', value: 'Ana Ruiz' } }],
  ])('is kept off by an exemption of %s', (_name, over) => {
    expect(protects(over)).toBe('exemption1');
  });

  it.each<[string, Partial<Exemption>]>([
    ['a device of another serial number', { subject: { kind: 'device', id: 'd3' } }],
    ['a user who is called like the device', { subject: { kind: 'user', id: 'd1' } }],
    ['a part of a group name', { selector: { kind: 'user', field: 'Groups', value: 'Boa' } }],
    ['a field of every object', { selector: { kind: 'device', field: 'constructor', value: 'Object' } }],
    ['it that is over', { subject: { kind: 'device', id: 'd1' }, expiresAt: NOW }],
    ['it that a person ended', { subject: { kind: 'device', id: 'd1' }, endedAt: NOW - 1 }],
  ])('is not kept off by an exemption of %s', (_name, over) => {
    expect(protects(over)).toBeUndefined();
  });
});

describe('other targets', () => {
  const none = new Map<string, Facts>();
  it('a service is protected by its name', () => {
    const record: Facts = { ServiceID: 'pay.eu', ServiceName: 'pay', Enabled: 'TRUE' };
    const exemptions = new Exemptions(
      [exemption({ selector: { kind: 'service', field: 'ServiceName', value: 'pay' } })],
      NOW,
    );
    expect(
      exemptions.protecting(partiesOfSubject(summaryOf('service', record), undefined, new FleetIndex(), none), []),
    ).toMatchObject({ exemption: { id: 'exemption1' } });
    expect(exemptions.protecting(partiesOfRecords([record], none), [])).toMatchObject({
      exemption: { id: 'exemption1' },
    });
  });

  it("a user's device is protected from the user's deletion by an exemption of the device", () => {
    const fleet = new FleetIndex();
    fleet.add(LAPTOP);
    const exemptions = new Exemptions([exemption({ subject: { kind: 'device', id: 'd1' } })], NOW);
    const parties = partiesOfSubject(summaryOf('user', ANA), 'S-1', fleet, none);
    expect(exemptions.protecting(parties, [])).toMatchObject({ exemption: { id: 'exemption1' } });
  });

  it('the exemption that lasts longest is named', () => {
    const subject = { kind: 'device' as const, id: 'd1' };
    const both = [exemption({ id: 'short', subject }), exemption({ id: 'long', subject, expiresAt: NOW + 9 * DAY })];
    expect(new Exemptions(both, NOW).protecting(partiesOfRecords([LAPTOP], none), THE_LAPTOP).exemption?.id).toBe(
      'long',
    );
  });
});
