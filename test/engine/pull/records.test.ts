// pull: single records: how they are read, their fingerprints by bytes, and what a part of a list sums up to.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AS_VALUES } from '../../../src/base/packed-list.ts';
import { textsOf, unpackChanged } from '../../../src/domain/fact-packs.ts';
import { FactPaths } from '../../../src/domain/fact-prints.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { SeenPrints } from '../../../src/domain/recorded-history.ts';
import { FleetIndex, readRecord } from '../../../src/engine/pull/fleet-index.ts';
import { readEvent } from '../../../src/engine/pull/pull-events.ts';
import {
  FACTS_AT,
  IDENTITY_AT,
  RecordBytes,
  RecordPartReader,
  RecordPass,
} from '../../../src/engine/pull/record-pass.ts';
import { dropSecrets } from '../../../src/engine/pull/trust-gate.ts';
import { factOf } from '../../../src/history/codec/run-encoder.ts';
import { stringifyExact } from '../../../src/platform/contract.ts';
import { identityOfRecord, PRINT_KEY, printOfFacts } from '../../support/print-key.ts';

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

const id = fc.constantFrom('a', 'b', 'c', 'd', 'é', '"', 'a"}');
/** Some hold what looks like the beginning of a record, in a text or as an object. */
const rest = fc.dictionary(
  fc.constantFrom('Name', 'Other', 'Nested'),
  fc.oneof(
    fc.constantFrom('x', 'y', '{"DeviceID":"b"', 1),
    fc.record({ DeviceID: id, x: fc.nat(1) }, { requiredKeys: ['DeviceID'] }),
  ),
  { noNullPrototype: false },
);
const page = fc.record({
  records: fc.uniqueArray(fc.record({ DeviceID: id, rest }), { selector: ({ DeviceID }) => DeviceID, maxLength: 4 }),
  isKeyFirst: fc.boolean(),
  spaces: fc.constantFrom('', '', ' '),
  overlaps: fc.boolean(),
});

function recordOf({ DeviceID, rest: more }: { DeviceID: string; rest: Facts }, isKeyFirst: boolean): Facts {
  return isKeyFirst ? { DeviceID, ...more } : { ...more, DeviceID };
}

/** Of its facts, and of its identity. */
function partsOf(prints: Int32Array, at: number): [Int32Array, Int32Array] {
  return [prints.slice(at + FACTS_AT, at + FACTS_AT + 4), prints.slice(at + IDENTITY_AT, at + IDENTITY_AT + 4)];
}

describe('a fingerprint by bytes', () => {
  it('is that of the values, page after page', () => {
    fc.assert(
      fc.property(fc.array(page, { maxLength: 12 }), (pages) => {
        const [bytesOf, paths] = [
          new RecordBytes('device', new FactPaths(PRINT_KEY), 'DeviceID', false),
          new FactPaths(PRINT_KEY),
        ];
        for (const { records: all, isKeyFirst, spaces, overlaps } of pages) {
          const records = all.map((one) => recordOf(one, isKeyFirst));
          const texts = records.map((one) => JSON.stringify(one, undefined, spaces));
          bytesOf.begin(Buffer.from(`{"devices":[${texts.join(',')}],"count":${records.length}}`));
          const accepted = overlaps ? records.slice(1) : records;
          for (const one of accepted) bytesOf.accept(one, String(one.DeviceID));
          const found: [Facts, Int32Array, Int32Array][] = [];
          bytesOf.end((record, prints, at) => found.push([record, ...partsOf(prints, at)]));
          expect(found).toEqual(
            accepted.map((one) => [one, printOfFacts(one, paths), identityOfRecord('device', one)]),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is another one after a change that keeps the length, also where what came before is unchanged', () => {
    const lists = [
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 1 },
        { DeviceID: 'c', x: 1 },
      ],
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 2 },
        { DeviceID: 'c', x: 1 },
      ],
      [
        { DeviceID: 'a', x: 1 },
        { DeviceID: 'b', x: 2 },
        { DeviceID: 'c', x: 3 },
      ],
    ];
    expectPrintsOfValues(lists);
  });

  it('is that of a record that has the beginning of the last one in it', () => {
    const nested = (x: number): Facts[] => [
      { DeviceID: 'a', Nested: { DeviceID: 'b', x } },
      { DeviceID: 'b', x: 1 },
    ];
    expectPrintsOfValues([nested(1), nested(2), nested(1)]);
  });
});

function expectPrintsOfValues(lists: Facts[][]): void {
  const [bytesOf, paths] = [
    new RecordBytes('device', new FactPaths(PRINT_KEY), 'DeviceID', false),
    new FactPaths(PRINT_KEY),
  ];
  for (const list of lists) {
    bytesOf.begin(Buffer.from(list.map((one) => JSON.stringify(one)).join(',')));
    for (const one of list) bytesOf.accept(one, String(one.DeviceID));
    const found: Int32Array[] = [];
    bytesOf.end((_, prints, at) => found.push(partsOf(prints, at)[0]));
    expect(found).toEqual(list.map((one) => printOfFacts(one, paths)));
  }
}

const device = (no: number, LoginCount: number): Facts => ({ DeviceID: `d-${no}`, Name: 'é日本', LoginCount });
const fleet = (loginCount: (no: number) => number) => Array.from({ length: 60 }, (_, no) => device(no, loginCount(no)));
const known = (records: readonly Facts[]) => {
  const paths = new FactPaths(PRINT_KEY);
  return SeenPrints.of(Int32Array.from(records.flatMap((record) => [...printOfFacts(record, paths)])));
};

function read(reader: RecordPartReader, records: readonly Facts[], batchSize: number): void {
  for (let from = 0; from < records.length; from += batchSize) {
    const batch = records.slice(from, from + batchSize);
    reader.begin(Buffer.from(batch.map((record) => stringifyExact(record)).join(',')));
    for (const record of batch) reader.accept(record, String(record.DeviceID));
    reader.end(() => {});
  }
}

function changedIn(part: Uint8Array | undefined): Facts[] {
  if (part === undefined) return [];
  const pack = unpackChanged(part);
  if ('records' in pack) return [...AS_VALUES.unpack<Facts>(pack.records)];
  const { ids, ends, facts, pathOf, paths } = pack;
  const textOf = textsOf(pack);
  return ids.map((_, at) => {
    const own = [...facts.subarray(at === 0 ? 0 : ends[at - 1], ends[at])];
    return Object.fromEntries(own.map((fact) => [paths[pathOf[fact] as number], factOf(textOf(fact))]));
  });
}

function readerOver(records: readonly Facts[]): RecordPartReader {
  const reader = new RecordPartReader('device', PRINT_KEY);
  reader.follow(known(records).shared, NOW);
  return reader;
}

const NOW = 1_800_000_000_000;

describe('the records of a part that are not as they were recorded', () => {
  it.each([1, 7, 60])('are those that changed, reading after reading, in batches of %i', (batchSize) => {
    const before = fleet(() => 1);
    const now = fleet((no) => (no % 7 === 0 ? 2 : 1));
    const reader = readerOver([]);
    read(reader, before, batchSize);
    expect(changedIn(reader.part().changed)).toEqual(before);

    const prints = known(before);
    reader.follow(prints.shared, NOW);
    read(reader, now, batchSize);
    expect(changedIn(reader.part().changed)).toEqual(now.filter((_, no) => no % 7 === 0));
    expect(prints.seenCount).toBe(51);
    expect(reader.part().changed).toBeUndefined();
  });

  it('are not those of a piece that failed in the pass before', () => {
    const reader = readerOver([]);
    read(
      reader,
      fleet(() => 1),
      7,
    );
    const same = fleet(() => 2);
    reader.follow(known(same).shared, NOW);
    read(reader, same, 7);
    expect(changedIn(reader.part().changed)).toEqual([]);
  });
});

describe('what a list sums up to', () => {
  const times = (no: number) => BigInt(NOW - 1_000 * no) * 1_000_000n;
  const records: Facts[] = fleet((no) => no).map((record, no) => ({
    ...record,
    MdmData: { Timestamp: times(no + 1) },
  }));
  const seen = (list: readonly Facts[]) => {
    const pass = new RecordPass(undefined, 'device', NOW, PRINT_KEY);
    for (const record of list) pass.accept(record);
    return pass.finish().sight;
  };

  it.each([1, 7, 60])(
    'is the same read in parts, in batches of %i, whether or not anything is recorded',
    (batchSize) => {
      const pass = new RecordPass(undefined, 'device', NOW, PRINT_KEY);
      const reader = new RecordPartReader('device', PRINT_KEY);
      for (const recorded of [known([]).shared, undefined]) {
        reader.follow(recorded, NOW);
        for (const half of [records.slice(0, 30), records.slice(30)]) {
          read(reader, half, batchSize);
          const { changed, sight } = reader.part();
          if (recorded === undefined) pass.acceptPart(changed, sight);
        }
      }
      expect(pass.finish()).toEqual({ records: undefined, sight: seen(records) });
    },
  );

  it('is the same in any order, and another one when any fact is', () => {
    expect(seen(records.toReversed())).toEqual(seen(records));
    const contents = records.map(
      (_, no) => seen(records.with(no, { ...(records[no] as Facts), LoginCount: -1 })).content,
    );
    expect(new Set([...contents, seen(records).content]).size).toBe(61);
  });

  it('is another one when two devices swap a fact', () => {
    const swapped = records
      .with(0, { ...(records[0] as Facts), LoginCount: 1 })
      .with(1, { ...(records[1] as Facts), LoginCount: 0 });
    expect(seen(swapped).content).not.toBe(seen(records).content);
  });

  it('has the newest report of any kind, and none from the future: a device may send any time', () => {
    expect(seen(records).newestMs).toBe(NOW - 1_000);
    const hostile = [times(-1), 'soon', -1n, 10n ** 25n, Number.NaN].map((Timestamp) => ({ MdmData: { Timestamp } }));
    expect(seen([...records, ...(hostile as unknown as Facts[])]).newestMs).toBe(NOW - 1_000);
    expect(seen([...records, { TrustData: { UpdatedAt: times(0) } }]).newestMs).toBe(NOW);
    expect(seen(fleet(() => 1)).newestMs).toBeUndefined();
  });
});

describe('a table of fingerprints that a recorded run leaves', () => {
  it('is used again by the next reading, which knows nothing of it', () => {
    const before = known(fleet(() => 1));
    const seenOnce = printOfFacts(device(1, 1));
    before.see(seenOnce, 0);
    SeenPrints.release(before.shared);
    const next = known(fleet(() => 2));
    expect(next.shared.slots).toBe(before.shared.slots);
    expect([next.seenCount, next.see(seenOnce, 0), next.see(printOfFacts(device(1, 2)), 0)]).toEqual([0, false, true]);
    expect(known(fleet(() => 3)).shared.slots).not.toBe(next.shared.slots);
  });
});
