// test: records of v2 lists in the shape of version 1: against a real console's records of both versions, and against anything at all.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Facts, own } from '../../src/domain/facts.ts';
import { V2_FACTS } from '../../src/domain/lists.ts';
import { recordOfV2 } from '../../src/platform/client/list-pieces.ts';
import { ManagementClient } from '../../src/platform/client.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemRandom } from '../../src/runtime/system/ids.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { gather } from './loopback.ts';

const SOURCES = ['devices', 'users'] as const;
const KEY = { devices: 'DeviceID', users: 'Email' } as const;
const at = (record: Facts, path: string) =>
  path.split('.').reduce<ReturnType<typeof own>>((value, key) => own(value, key), record);

let org: Organization;
const clients: ManagementClient[] = [];

beforeAll(async () => {
  org = await startOrganization({ devices: 1_500, compromised: 9 });
  const credential = { kind: 'api_key' as const, secret: org.console.credentials?.apiKey ?? '' };
  for (const lists of ['v1', 'v2'] as const)
    clients.push(
      new ManagementClient({
        address: org.console.address,
        credential,
        lists,
        clock: systemClock,
        random: systemRandom,
      }),
    );
  const { fleet } = org.console;
  fleet.addDevice({ serial: 'BANNED', banned: 'TRUE' });
  fleet.addDevice({ serial: '', banned: 'FALSE' });
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await org.close();
});

describe.each(SOURCES)('%s of v2 lists', (source) => {
  it('are those of version 1, fact by fact, as far as version 2 has them', async () => {
    const [v1, v2] = clients as [ManagementClient, ManagementClient];
    const whole = (await gather(v1.stream(source))).flat() as Facts[];
    const mapped = (await gather(v2.pages(source))).flatMap(({ records }) => records as Facts[]);
    expect(mapped.length).toBe(whole.length);
    const byKey = new Map(mapped.map((record) => [record[KEY[source]], record]));
    // The specification's record of version 1 has no field for these two.
    const facts = V2_FACTS[source].filter((fact) => fact.v1 !== 'IsMDMPresent' && fact.v1 !== 'MDMVendorName');
    for (const record of whole) {
      const other = byKey.get(record[KEY[source]] as string) as Facts;
      expect(facts.map((fact) => at(other, fact.v1))).toEqual(facts.map((fact) => at(record, fact.v1)));
    }
    const known = new Set(V2_FACTS[source].map((fact) => fact.v1.split('.')[0]));
    expect(mapped.flatMap((record) => Object.keys(record)).filter((key) => !known.has(key))).toEqual([]);
  });
});

describe('a record of a v2 list', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.bigInt(),
    fc.constantFrom<unknown>(1_795_311_988_753_912_872n, 0, 1_795_311_988, 1, 'TRUE', true, ['a'], ['a', 7], {
      emails: ['a'],
    }),
  );
  const names = [...V2_FACTS.devices, ...V2_FACTS.users].flatMap(({ v1, v2 }) => [
    v1.split('.')[0] as string,
    v2.split('.')[0] as string,
  ]);
  const record = fc.dictionary(fc.constantFrom(...names, 'MdmData', '__proto__', 'constructor'), value);
  const allowed: Record<string, (found: unknown) => boolean> = {
    text: (found) => typeof found === 'string',
    flag: (found) => found === 'TRUE' || found === 'FALSE',
    boolean: (found) => typeof found === 'boolean',
    time: (found) => found === 0 || (typeof found === 'bigint' && found >= 10n ** 17n && found < 10n ** 20n),
    texts: (found) => Array.isArray(found) && found.every((each) => typeof each === 'string'),
  };

  it('keeps exactly the facts that have the type they should have, and none under a name of version 1', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SOURCES), record, (source, given) => {
        const mapped = recordOfV2(source, given) as Facts;
        for (const { v1, v2, as } of V2_FACTS[source]) {
          const found = at(mapped, v1);
          const sent = at(given as Facts, v2);
          const isBit = typeof sent === 'boolean' || sent === 0 || sent === 1;
          if (as === 'flag' && isBit) expect(found).toBe(sent ? 'TRUE' : 'FALSE');
          else if (as === 'boolean' && isBit) expect(found).toBe(Boolean(sent));
          else if (as !== 'flag' && allowed[as]?.(sent)) expect(found).toEqual(sent);
          else expect(found).toBeUndefined();
          if (found !== undefined) expect(allowed[as]?.(found)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('that has the shape of version 1 has no key: nothing is guessed', () => {
    expect(recordOfV2('devices', { DeviceID: 'a', SerialNumber: 'S', Banned: 'TRUE' })).toEqual({});
  });

  it.each([null, 7, 'text', [1]])('that is none stays as it is: %s', (given) => {
    expect(recordOfV2('users', given)).toEqual(given);
  });

  it('has no time in another unit than nanoseconds', () => {
    const times = [1_795_311_988, 1_795_311_988_753, '1795311988753912872', 10n ** 20n, -1].map((time) =>
      recordOfV2('users', { last_login: time }),
    );
    expect(times).toEqual([{}, {}, {}, {}, {}]);
  });
});
