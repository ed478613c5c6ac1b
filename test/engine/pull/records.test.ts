// pull: how single records are read: subjects of events, secrets, and the index of serial numbers.
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import { FleetIndex, readRecord } from '../../../src/engine/pull/fleet-index.ts';
import { readEvent } from '../../../src/engine/pull/pull-events.ts';
import { dropSecrets } from '../../../src/engine/pull/trust-gate.ts';

describe('an event', () => {
  const base = { id: 'e1', created_at: 1_800_000_000_000 };
  const read = (more: Facts) => {
    const answer = readEvent({ ...base, ...more }, new Set());
    if (!answer.ok) throw new Error(answer.reason);
    return answer.event;
  };

  it('belongs to its device, its person in lower case, and its service', () => {
    const device = { id: 'd', serial_number: 'S' };
    const user_principal = { device, user: { email: 'Ada@Acme.Example', groups: null } };
    const event = read({ user_principal, service: { id: 'svc.eu', name: 'svc' } });
    expect(event).toMatchObject({ deviceId: 'd', serialNumber: 'S', email: 'ada@acme.example' });
    expect(event).toMatchObject({ serviceId: 'svc.eu', serviceName: 'svc' });
  });

  it("without a service of its own belongs to the link's destination, never to its source", () => {
    const end = (name: string) => ({ service_name: name, container_id: `${name}-c` });
    const link = { source: end('from'), destination: end('to') };
    expect(read({ link })).toMatchObject({ serviceName: 'to', serviceId: 'to-c' });
    expect(read({ link: { source: end('from') } })).toMatchObject({ serviceName: undefined, serviceId: undefined });
  });

  it('with nulls, empty texts and wrong types everywhere is still read', () => {
    for (const odd of [null, '', 7, [], 'text']) {
      const event = read({ user_principal: odd, service: odd, link: odd, severity: odd, type: odd });
      expect(event.deviceId ?? event.email ?? event.serviceId).toBeUndefined();
    }
    expect(read({ service: { id: '', name: '' } }).serviceId).toBeUndefined();
  });

  it('has its severity in capitals, and its 19-digit integers as text, as the store returns them', () => {
    const event = read({ severity: 'error', trustscore: { timestamp: 1_763_700_000_123_456_789n } });
    expect(event.severity).toBe('ERROR');
    expect(event.body).toMatchObject({ trustscore: { timestamp: '1763700000123456789' } });
  });

  it.each([
    ['a number', { ...base, id: 7 }],
    ['absent', { created_at: 1 }],
    ['in nanoseconds', { id: 'e', created_at: 1_763_700_000_123_456_789n }],
    ['a fraction of a millisecond', { id: 'e', created_at: 1.5 }],
    ['513 bytes', { ...base, id: 'e'.repeat(513) }],
  ])('with %s as its key or time is unreadable', (_, value) => {
    expect(readEvent(value, new Set()).ok).toBe(false);
  });
});

describe('a name', () => {
  const device = { DeviceID: 'd', SerialNumber: 's' };

  it.each<[string, Parameters<typeof readRecord>[0], Facts]>([
    ['the id of a device', 'devices', { ...device, DeviceID: 'é'.repeat(256) }],
    ['a serial number', 'devices', { ...device, SerialNumber: '𝒳'.repeat(128) }],
    ['an address', 'users', { Email: 'a'.repeat(512), SerialNumbers: ['s'.repeat(512), 7] }],
    ['the id of a service', 'services', { ServiceID: '\ud800'.repeat(170) }],
  ])('of 512 bytes is kept: %s', (_, source, record) => {
    expect(readRecord(source, record).ok).toBe(true);
  });

  it.each<[string, Parameters<typeof readRecord>[0], Facts, RegExp]>([
    ['a device', 'devices', { ...device, DeviceID: `${'é'.repeat(256)}x` }, /^DeviceID is longer .* \(é{119}…\)$/],
    ['a serial number', 'devices', { ...device, SerialNumber: 's'.repeat(513) }, /^SerialNumber .* \(DeviceID d\)$/],
    ['one serial number of a user', 'users', { Email: 'a', SerialNumbers: ['s', 's'.repeat(513)] }, /\(Email a\)$/],
    ['an address', 'users', { Email: 'a'.repeat(513) }, /^Email is longer than 512 bytes \(a{119}…\)$/],
    ['a service', 'services', { ServiceID: '\ud800'.repeat(171) }, /^ServiceID is longer than 512 bytes/],
  ])('that is longer is a rejection of its record, which names it: %s', (_, source, record, reason) => {
    expect(readRecord(source, record)).toEqual({ ok: false, isOverlong: true, reason: expect.stringMatching(reason) });
  });
});

describe('secrets of a service', () => {
  const CANARY = 'canary-3b1f';
  function dropped(record: Facts): { text: string; names: string[]; record: Facts } {
    const names = new Set<string>();
    const clean = dropSecrets(record, names);
    return { text: JSON.stringify(clean), names: [...names], record: clean };
  }

  it.each<[string, Facts, string]>([
    [
      'the client secret in a JSON text',
      { OIDCClientSpec: `{"client_id":"a","client_secret":"${CANARY}"}` },
      'OIDCClientSpec.client_secret',
    ],
    [
      'the same, HTML-escaped',
      { OIDCClientSpec: `{&#34;client_id&#34;:&#34;a&#34;,&#34;client_secret&#34;:&#34;${CANARY}&#34;}` },
      'OIDCClientSpec.client_secret',
    ],
    [
      'deep in a spec, within lists',
      { ServiceSpec: `{"spec":{"x":[{"password":"${CANARY}"}]}}` },
      'ServiceSpec.spec.x.password',
    ],
    [
      'under a key spelled with escapes',
      { ServiceSpec: `{"spec":{"pass\\u0077ord":"${CANARY}"}}` },
      'ServiceSpec.spec.password',
    ],
    ['in a field of the record', { ApiKey: CANARY }, 'ApiKey'],
    [
      'in a header of a spec',
      { ServiceSpec: `{"headers":{"Authorization":"Bearer ${CANARY}"}}` },
      'ServiceSpec.headers.Authorization',
    ],
    ['a passphrase', { ServiceSpec: `{"key":{"passphrase":"${CANARY}"}}` }, 'ServiceSpec.key.passphrase'],
    [
      'within a JSON text within a spec',
      { ServiceSpec: JSON.stringify({ tags: { oidc: `{"client_secret":"${CANARY}"}` } }) },
      'ServiceSpec.tags.oidc.client_secret',
    ],
  ])('are dropped and named: %s', (_, record, name) => {
    const { text, names } = dropped({ ServiceID: 's', ...record });
    expect(text).not.toContain(CANARY);
    expect(names).toEqual([name]);
  });

  it('in a text that is not JSON drop the whole text', () => {
    const { text, names } = dropped({ OIDCClientSpec: `client_secret=${CANARY}` });
    expect(text).not.toContain(CANARY);
    expect(names[0]).toContain('OIDCClientSpec (whole');
  });

  it('leave specs without any unchanged to the byte', () => {
    const spec = '{"kind":"BanyanService",  "spec":{"client_cidrs":[],"n":1763700000123456789}}';
    const record = { ServiceID: 's', ServiceSpec: spec, OIDCEnabled: 'TRUE' };
    expect(dropped(record).record).toBe(record);
  });

  it('in an over-nested spec drop it whole, and the run continues', () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}{"secret":"${CANARY}"}${'}'.repeat(levels)}`;
    for (const levels of [150, 100_000]) {
      const { text, names } = dropped({ ServiceSpec: deep(levels) });
      expect(text).not.toContain(CANARY);
      expect(names[0]).toContain('(whole');
    }
  });

  it('leave the rest of their spec in place', () => {
    const { record } = dropped({
      ServiceSpec: `{"metadata":{"name":"pay"},"token":"${CANARY}","n":1763700000123456789}`,
    });
    expect(record.ServiceSpec).toContain('"name":"pay"');
    expect(record.ServiceSpec).toContain('1763700000123456789');
  });
});

describe('the index of serial numbers', () => {
  const device = (id: string, serial: string, more: Facts = {}): Facts => ({
    DeviceID: id,
    SerialNumber: serial,
    ...more,
  });

  it('returns all devices of one serial number, in the order of reading', () => {
    const index = new FleetIndex(['Banned']);
    for (const id of ['a', 'b', 'c']) index.add(device(id, 'shared', { Platform: 'macOS', Banned: 'TRUE' }));
    index.add(device('d', 'own'));
    expect(index.devicesOf('shared').map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(index.devicesOf('own')).toMatchObject([{ id: 'd', platform: '', state: { Banned: undefined } }]);
    expect(index.devicesOf('shared').map(({ state }) => state)).toEqual(Array(3).fill({ Banned: 'TRUE' }));
    expect(index.devicesOf('nobody')).toEqual([]);
  });

  it('treats the name of a built-in member like any serial number', () => {
    const index = new FleetIndex();
    expect(index.devicesOf('constructor')).toEqual([]);
    index.add(device('a', '__proto__', { Model: 'toString', Platform: 'constructor' }));
    expect(index.devicesOf('__proto__')).toMatchObject([{ id: 'a', model: 'toString', platform: 'constructor' }]);
  });
});
