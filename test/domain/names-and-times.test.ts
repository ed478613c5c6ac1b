// test: what a name means, what an audit entry is about, and how a time may be given.
import { describe, expect, it, test } from 'vitest';
import { entryBody } from '../../src/domain/audit-entry.ts';
import { givenTime } from '../../src/domain/given-time.ts';
import {
  demandOne,
  demandOneToChange,
  type Identity,
  isChosenName,
  type NamedBy,
  type NamedIdentity,
  resolveAmong,
} from '../../src/domain/identity.ts';
import { deviceSeen } from '../support/filled-store.ts';

const TIMES = { firstAt: 1, changedAt: 1, goneAt: undefined };
const device = (id: string, over: Partial<Identity> = {}): Identity => ({ ...deviceSeen(id), ...TIMES, ...over });
const user = (id: string, name: string, over: Partial<Identity> = {}): Identity =>
  device(id, { kind: 'user', serial: '', name, ...over });
const by = (way: NamedBy, ...identities: Identity[]): NamedIdentity[] =>
  identities.map((identity) => ({ identity, by: way }));

describe('a name', () => {
  it('in another case names the same target, and the answer shows what was found', () => {
    const mac = device('4f1c', { serial: 'C02XL', name: 'Ada’s MacBook', owners: ['ada@example.com'] });
    expect(resolveAmong(by('serial', mac), 'c02xl')).toEqual({
      found: 'one',
      named: {
        kind: 'device',
        by: 'serial',
        subjects: [mac],
        target: 'C02XL',
        text: 'Ada’s MacBook, C02XL, ada@example.com (device 4f1c)',
      },
    });
  });
  it('that several devices share as their serial number is one target', () => {
    const [first, second] = [device('a', { serial: 'C02' }), device('b', { serial: 'C02', name: '' })];
    const resolved = resolveAmong(by('serial', first, second), 'C02');
    expect(demandOne(resolved, 'C02')).toMatchObject({ target: 'C02', subjects: [first, second] });
    expect(demandOne(resolved, 'C02').text).toBe('Name of a, C02 (device a) and 1 more of this serial number');
  });
  it('means the DeviceID alone where it is one, and its serial number is the target', () => {
    expect(demandOne(resolveAmong(by('id', device('a')), 'a'), 'a')).toMatchObject({ by: 'id', target: 'S-a' });
  });
  it('that is both the id and the serial number of a device names one thing', () => {
    const one = device('C02', { serial: 'C02' });
    const resolved = resolveAmong([...by('id', one), ...by('serial', one)], 'C02');
    expect(resolved).toMatchObject({ found: 'one', named: { target: 'C02', subjects: [one] } });
  });
  it('that is the id of one device and the serial number of another may mean either', () => {
    const [one, other] = [device('X'), device('b', { serial: 'X' })];
    expect(resolveAmong([...by('id', one), ...by('serial', other)], 'X')).toMatchObject({ found: 'several' });
  });
  it('means the serial number in its own case where there is one in each', () => {
    const [lower, upper] = [device('a', { serial: 'c02' }), device('b', { serial: 'C02' })];
    expect(resolveAmong(by('serial', lower, upper), 'C02')).toMatchObject({ named: { subjects: [upper] } });
    expect(resolveAmong(by('serial', lower, upper), 'c02')).toMatchObject({ named: { subjects: [lower] } });
  });
  it('of a device that is the serial number of another one means the other one', () => {
    const [posing, real] = [device('a', { name: 'C02' }), device('b', { serial: 'C02' })];
    const resolved = resolveAmong([...by('serial', real), ...by('name', posing)], 'c02');
    expect(demandOneToChange(resolved, 'c02')).toMatchObject({ by: 'serial', subjects: [real] });
  });
  it('of a device that is the e-mail address of a user means the user, or devices of that owner', () => {
    const posing = device('a', { name: 'ada@example.com' });
    const ada = user('Ada@Example.com', 'Ada');
    const own = device('b', { owners: ['Ada@Example.com'] });
    const all = [...by('id', ada), ...by('name', posing), ...by('owner', own)];
    expect(resolveAmong(all, 'ada@example.com')).toMatchObject({ named: { kind: 'user', subjects: [ada] } });
    expect(resolveAmong(all, 'ada@example.com', ['device'])).toMatchObject({ named: { by: 'owner', subjects: [own] } });
  });
  it('that only devices have as an owner means that user', () => {
    const devices = by('owner', device('a', { owners: ['Ada@x.org'] }), device('b', { owners: ['Ada@x.org'] }));
    expect(resolveAmong(devices, 'ada@X.org')).toMatchObject({
      found: 'one',
      named: { kind: 'user', by: 'id', target: undefined, text: 'user Ada@x.org' },
    });
    expect(resolveAmong(devices, 'ada@X.org', ['user'])).toMatchObject({ named: { kind: 'user' } });
    expect(resolveAmong(devices, 'ada@X.org', ['service'])).toEqual({ found: 'none' });
  });
  it('that several targets share names all of them, one line each', () => {
    const resolved = resolveAmong(by('name', device('a', { name: 'Mac' }), device('b', { name: 'Mac' })), 'mac');
    expect(resolved.found).toBe('several');
    expect(() => demandOne(resolved, 'mac')).toThrow(
      '`mac` names 2: Mac, S-a (device a); Mac, S-b (device b); give an id, a serial number or an e-mail address',
    );
  });
  it('means what is there before what is gone', () => {
    const [gone, there] = [device('a', { name: 'Mac', goneAt: 5 }), device('b', { name: 'Mac' })];
    expect(resolveAmong(by('name', gone, there), 'Mac')).toMatchObject({ named: { subjects: [there] } });
    expect(demandOne(resolveAmong(by('name', gone), 'Mac'), 'Mac').text).toBe(
      'Mac, S-a (device a, gone since 1970-01-01 00:00:00 UTC)',
    );
  });
  it('that its user chose changes nothing by itself: the answer has the serial number to give', () => {
    const resolved = resolveAmong(by('name', device('a', { name: 'Mac' })), 'Mac');
    expect(isChosenName(demandOne(resolved, 'Mac'))).toBe(true);
    expect(() => demandOneToChange(resolved, 'Mac')).toThrow('give its serial number `S-a`');
    const people = resolveAmong(by('name', user('ada@x.org', 'Ada')), 'Ada');
    expect(() => demandOneToChange(people, 'Ada')).toThrow('give its id `ada@x.org`');
  });
  it('of a service names it, for a change too', () => {
    const service = user('svc-1', 'Web shop', { kind: 'service' });
    expect(demandOneToChange(resolveAmong(by('name', service), 'web shop'), 'web shop')).toMatchObject({
      target: 'svc-1',
    });
  });
  it('of nothing is refused with what was looked for', () => {
    expect(() => demandOne(resolveAmong([], 'X'), 'X')).toThrow(
      'nothing is known as `X`: no trusted snapshot has shown',
    );
  });
  it('of nothing names some that have it in their names', () => {
    expect(() => demandOne({ found: 'none', near: ['A X', 'B X'] }, 'X')).toThrow(
      'nothing is known as `X`; names that have it: A X; B X',
    );
    const near = ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => `${name} X`);
    expect(() => demandOne({ found: 'none', near }, 'X')).toThrow(
      'names that have it: A X; B X; C X; D X; E X; and more',
    );
  });
});

describe('the body of an audit entry', () => {
  it.each([
    ['{"at":1,"body":{"by":"ana"},"kind":"stop.set"}', { by: 'ana' }],
    ['{"at":1,"kind":"stop.set"}', {}],
    ['{"at":1,"body":"ana"}', {}],
    ['"ana"', {}],
    ['{"at":1,"bo', {}],
    ['', {}],
  ])('of %j is read without an error', (bytes, body) => {
    expect(entryBody({ bytes })).toEqual(body);
  });
});

describe('A time that a person gives', () => {
  const at = (text: string) => givenTime(text, '--at', 0, 'before');

  test.each([
    ['2026-12-01', '2026-12-01T00:00:00Z'],
    ['2026-12-01T18:00Z', '2026-12-01T18:00:00Z'],
    ['2026-12-01T18:00:30.5+01:00', '2026-12-01T17:00:30.5Z'],
    ['2026-12-01 18:00:30 UTC', '2026-12-01T18:00:30Z'],
    ['2026-12-01 18:00:30Z', '2026-12-01T18:00:30Z'],
  ])('a time as people and as reports write it is read: %s', (text, same) => {
    expect(at(text)).toBe(Date.parse(same));
  });

  test.each(['2026-12-01 18:00', '2026-13-01', '2026-12-01T25:00Z', 'yesterday', '10000-01-01', '2026-12-01 UTC'])(
    'a time without its zone, or that is none, is refused with an example: %s',
    (text) => {
      expect(() => at(text)).toThrow(/expected a duration such as 30d, or a time in UTC such as 2027-01-31/);
    },
  );
});
