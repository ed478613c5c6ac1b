// The contract: requests are refused by name, the OpenAPI document says what the table says, and records of version 2 become those of version 1.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type Facts, own } from '../../src/domain/facts.ts';
import { V2_FACTS } from '../../src/domain/lists.ts';
import { recordOfV2 } from '../../src/platform/client/list-pieces.ts';
import { ManagementClient } from '../../src/platform/client.ts';
import {
  BundleInput,
  DeleteDeviceQuery,
  Device,
  DeviceQuery,
  DeviceUpdateBody,
  ENDPOINT_IDS,
  ENDPOINTS,
  type Endpoint,
  Event,
  EventListQuery,
  fillPath,
  openApiDocument,
  readBody,
  readQuery,
  ServiceSpec,
} from '../../src/platform/contract.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemRandom } from '../../src/runtime/system/ids.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { gather } from './loopback.ts';

describe('The contract', () => {
  const query = (text: string) => new URLSearchParams(text);

  describe('query parameters', () => {
    test('are known in any case, and unknown ones ignored', () => {
      const read = readQuery(
        EventListQuery,
        query('LIMIT=5&severity=info&Type=Access|Registration&ORDER=Asc&foo=1&action='),
      );
      expect(read).toEqual({
        ok: true,
        value: { limit: 5, severity: 'INFO', type: ['Access', 'Registration'], order: 'asc', action: undefined },
      });
    });

    test.each([
      [DeviceQuery, 'skip=-1', '`Skip` must be a whole number, 0 or more'],
      [DeviceQuery, 'LIMIT=', '`Limit` must be a whole number, 0 or more'],
      [DeviceQuery, 'Limit=1e3', '`Limit` must be a whole number, 0 or more'],
      [DeviceQuery, 'order=up', '`Order` must be one of `asc`, `desc`'],
      [EventListQuery, 'severity=LOUD', '`severity` must be one of `DEBUG`, `INFO`, `WARN`, `ERROR`'],
      [EventListQuery, 'before=now', '`before` must be a time in whole milliseconds since 1970'],
      [DeleteDeviceQuery, '', '`SerialNumber` is required: the serial number of the device'],
      [DeleteDeviceQuery, 'serialnumber=', '`SerialNumber` must not be empty: the serial number of the device'],
      [DeleteDeviceQuery, 'serialnumber=a&SerialNumber=b', '`SerialNumber` is given twice with different values'],
      [
        DeleteDeviceQuery,
        'serialnumber=a&email=',
        '`Email` must not be empty: leave it out to delete the mappings of all users',
      ],
    ])('with a bad value are refused by name: %#', (schema, text, message) => {
      expect(readQuery(schema, query(text))).toMatchObject({ ok: false, message });
    });
  });

  describe('bodies', () => {
    test.each([
      [DeviceUpdateBody, [{ Banned: 'yes' }], '`[0].Banned` must be "TRUE" or "FALSE"'],
      [DeviceUpdateBody, [], 'the body must not be empty'],
      [DeviceUpdateBody, { Model: 3 }, '`Model` must be a string'],
      [ServiceSpec, {}, '`metadata` is required'],
      [ServiceSpec, { metadata: { name: ' ', cluster: 'c' } }, '`metadata.name` must not be empty'],
      [
        ServiceSpec,
        { metadata: { name: 'n', cluster: 'c', tags: { port: 443 } } },
        '`metadata.tags.port` must be a string',
      ],
      [
        ServiceSpec,
        { metadata: { name: 'n', cluster: 'c' }, spec: { backend: { target: { tls: 'no' } } } },
        '`spec.backend.target.tls` must be a boolean',
      ],
      [BundleInput, undefined, 'the body is required'],
      [BundleInput, { bundle_name: 'b', service_ids: [1] }, '`service_ids[0]` must be a string'],
    ])('that are wrong are refused by field: %#', (schema, body, message) => {
      expect(readBody(schema, body)).toMatchObject({ ok: false, message });
    });

    test('that ban are taken as an array of words and as one object with a boolean', () => {
      expect(readBody(DeviceUpdateBody, [{ Banned: 'FALSE' }])).toEqual({ ok: true, value: [{ Banned: 'FALSE' }] });
      expect(readBody(DeviceUpdateBody, { Banned: true, OS: 'x', Extra: 1 })).toEqual({
        ok: true,
        value: { Banned: 'TRUE', OS: 'x', Extra: 1 },
      });
    });
  });

  test('records keep what they do not know, lack what they may, and hold integers of any size', () => {
    const device = { DeviceID: 'd', SerialNumber: '', Emails: null, LastLogin: 1763700000123456789n, New: { a: [1n] } };
    expect(Device.parse(device)).toEqual(device);
    const event = {
      id: 'e',
      created_at: 5,
      user_principal: { user: null, device: { unregistered: true } },
      policy: [],
    };
    expect(Event.parse(event)).toEqual(event);
    expect(Device.safeParse({ ...device, LoginCount: 1.5 }).success).toBe(false);
  });

  test('a value in a path is one segment, and no dot segment', () => {
    expect(fillPath('/bundle/{bundle_id}/service', { bundle_id: 'a/b?c' })).toBe('/bundle/a%2Fb%3Fc/service');
    for (const value of ['', '.', '..'])
      expect(() => fillPath('/x/{id}', { id: value })).toThrow('`id` is empty or cannot stand in a path');
  });

  test('the endpoints 1 to 19 are all there, once', () => {
    const numbers = ENDPOINT_IDS.map((id) => ENDPOINTS[id].number).filter((each) => each !== undefined);
    expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  });

  describe('the OpenAPI document', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document is looked into here, not typed
    const document = openApiDocument() as any;

    test('has every endpoint with its parameters, body and answers', () => {
      for (const id of ENDPOINT_IDS) {
        const endpoint: Endpoint = ENDPOINTS[id];
        const operation = document.paths[endpoint.path][endpoint.method.toLowerCase()];
        expect(operation.operationId).toBe(id);
        expect(Object.keys(operation.responses)).toEqual(endpoint.statuses.map(String));
        expect('requestBody' in operation).toBe(endpoint.body !== undefined || endpoint.takesForm === true);
        const named = operation.parameters.map((each: { name: string }) => each.name);
        for (const name of Object.keys(endpoint.query.shape)) expect(named).toContain(name);
        expect(operation.parameters.filter((each: { in: string }) => each.in === 'path')).toHaveLength(
          endpoint.path.split('{').length - 1,
        );
      }
    });

    test('shows parameters that may come as a form in both places, and requires them in neither', () => {
      const { parameters, requestBody } = document.paths['/api/v1/insert_security_attach_policy'].post;
      expect(parameters.map((each: { required: boolean }) => each.required)).toEqual([false, false, false]);
      const { schema } = requestBody.content['application/x-www-form-urlencoded'];
      expect(Object.keys(schema.properties).sort()).toEqual(['Enabled', 'PolicyID', 'ServiceID']);
      expect(requestBody.required).toBe(false);
    });

    test('describes the meaning of parameters', () => {
      const { parameters } = document.paths['/api/v1/events'].get;
      const byName = Object.fromEntries(
        parameters.map((each: { name: string; schema: unknown }) => [each.name, each.schema]),
      );
      expect(byName.limit).toEqual({ type: 'integer', minimum: 0 });
      expect(byName.severity).toEqual({ type: 'string', enum: ['DEBUG', 'INFO', 'WARN', 'ERROR'] });
      expect(document.components.schemas.TrustData.properties.UpdatedAt).toEqual({ type: 'integer' });
    });

    test('refers only to existing parts, and is the same each time', () => {
      const text = JSON.stringify(document);
      for (const [, target] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
        const [root, ...path] = (target as string).split('/');
        expect(root).toBe('#');
        expect(
          path.reduce((value, key) => value?.[key], document),
          target,
        ).toBeTypeOf('object');
      }
      expect(text).not.toMatch(/\$defs|\$schema|__shared/);
      expect(JSON.stringify(openApiDocument())).toBe(text);
    });
  });
});

describe('records of v2 lists in the shape of version 1', () => {
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
});
