// test console: lists of both versions: their records, filters and digits come out unchanged.
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DeviceQueryV2, EnduserQueryV2, parseExact } from '../../src/platform/contract.ts';
import { type Organization, openOrganization, readAnswer, START_MS } from '../support/console-organization.ts';
import {
  expected,
  type Filters,
  filtersOf,
  NAIVE_DEVICES,
  NAIVE_USERS,
  older,
  type Row,
  valuesOf,
} from './naive-filters.ts';

describe('the lists of version 2, over HTTP', () => {
  let org: Organization;
  let devices: Row[];
  let users: Row[];
  beforeAll(async () => {
    org = await openOrganization({
      listen: { host: '127.0.0.1', port: 0 },
      seed: { seed: 11, devices: 300, users: 180, services: 2, events: 0 },
    });
    const { fleet } = org.console;
    fleet.addDevice({ serial: 'SN-NEVER', last_login: 0n, banned: 'TRUE', app_version: '' });
    await org.call('POST', '/api/v1/mdm/update_device?SerialNumber=SN-NEVER', { IsMDMPresent: false });
    for (const each of await whole('/api/v1/devices')) older.set(each.DeviceID, each);
    devices = (await get('/api/v2/devices', { limit: '5000' })).json.data.devices;
    users = (await get('/api/v2/enduser', { limit: '5000' })).json.data.endusers;
  });
  afterAll(() => org.console.close());

  async function get(path: string, query: Filters = {}): Promise<{ status: number; json: Row }> {
    const response = await fetch(`${org.console.address}${path}?${new URLSearchParams(query)}`, {
      headers: { Authorization: `Bearer ${org.apiKey}` },
    });
    return { status: response.status, json: parseExact(await response.text()) };
  }
  const whole = async (path: string) => (await get(path)).json;

  const PAGING = ['skip', 'limit', 'order', 'order_by'];

  describe.each([
    ['/api/v2/devices', 'devices', 'id', 10, () => devices, NAIVE_DEVICES, DeviceQueryV2],
    ['/api/experimental/v2/devices', 'devices', 'id', 10, () => devices, NAIVE_DEVICES, DeviceQueryV2],
    ['/api/v2/enduser', 'endusers', 'email', 100, () => users, NAIVE_USERS, EnduserQueryV2],
    ['/api/experimental/v2/enduser', 'endusers', 'email', 100, () => users, NAIVE_USERS, EnduserQueryV2],
  ] as const)('%s', (path, list, key, limit, rows, naive, schema) => {
    const keys = (found: Row[]) => found.map((each) => each[key]).sort();

    it('has a naive counterpart for every filter', () => {
      expect(Object.keys(naive).sort()).toEqual(
        Object.keys(schema.shape)
          .filter((each) => !PAGING.includes(each))
          .sort(),
      );
    });

    it('gives what a naive filter over all records gives, for any combination, and counts all of it', async () => {
      let matched = 0;
      await fc.assert(
        fc.asyncProperty(filtersOf(rows(), naive), async (filters) => {
          const { status, json } = await get(path, { ...filters, limit: '5000' });
          expect(status, json.Message).toBe(200);
          const wanted = expected(rows(), naive, filters);
          expect(keys(json.data[list])).toEqual(keys(wanted));
          expect(json.data.count).toBe(wanted.length);
          if (wanted.length > 0 && wanted.length < rows().length) matched++;
        }),
        { numRuns: 250, seed: 14 },
      );
      expect(matched, 'combinations that leave some').toBeGreaterThan(100);
    });

    it.each(Object.keys(naive))('`%s` alone leaves some records out and keeps some', async (name) => {
      const [value = ''] = fc
        .sample(valuesOf(name, fc.constantFrom(...rows())), { numRuns: 300, seed: 2 })
        .filter((each) => {
          const { length } = expected(rows(), naive, { [name]: each });
          return length > 0 && length < rows().length;
        });
      // Every user of the seeded organization has logged in.
      if (name === 'status' || (name === 'active' && list === 'endusers')) {
        const nobody: Record<string, string> = name === 'status' ? { status: 'invited' } : { active: 'false' };
        expect((await get(path, nobody)).json.data.count).toBe(0);
        return;
      }
      const wanted = expected(rows(), naive, { [name]: value });
      expect((await get(path, { [name]: value })).json.data.count).toBe(wanted.length);
      expect(wanted.length).toBeGreaterThan(0);
    });

    it('gives a page, newest first, and the total of matches', async () => {
      const { json } = await get(path);
      expect(json).toMatchObject({ error_code: 0, error_description: '', request_id: expect.stringMatching(/./) });
      expect([json.data[list].length, json.data.count]).toEqual([limit, rows().length]);
      const created = json.data[list].map((each: Row) => each.created_at);
      expect(created).toEqual(
        [...rows()]
          .map((each) => each.created_at)
          .sort()
          .reverse()
          .slice(0, limit),
      );
    });

    it('put together from pages is the whole list, also of a filter, in the order that was asked for', async () => {
      for (const order of ['asc', 'desc']) {
        const seen: Row[] = [];
        for (let skip = 0; ; skip += 70) {
          const query = {
            skip: String(skip),
            limit: '70',
            order_by: 'last_login',
            order,
            last_login_after: '1500000000',
          };
          const page = (await get(path, query)).json.data[list];
          if (page.length === 0) break;
          seen.push(...page);
        }
        expect(keys(seen)).toEqual(keys(rows().filter((each) => each.last_login > 0)));
        const times = seen.map((each) => BigInt(each.last_login));
        expect(
          times.every(
            (each, at) => at === 0 || (order === 'asc') === each >= (times[at - 1] as bigint) || each === times[at - 1],
          ),
        ).toBe(true);
      }
    });

    it.each(['9999999999', '9999999999999', '9999999999999999999'])(
      'takes the bound %s, which is later than any time, for the end of time',
      async (end) => {
        const before = await get(path, { last_login_before: end, limit: '5000' });
        expect(before.status).toBe(200);
        expect(keys(before.json.data[list])).toEqual(keys(rows().filter(({ last_login }) => last_login > 0)));
        expect((await get(path, { last_login_after: end })).json.data).toEqual({ [list]: [], count: 0 });
      },
    );

    it('refuses an unknown parameter by its name, and lists those that exist', async () => {
      for (const unknown of ['colour', 'DeviceFriendlyName', 'banned ', '']) {
        const { status, json } = await get(path, { [unknown]: 'x' });
        expect([status, json.error_code]).toEqual([400, 400]);
        expect(json.Message).toContain(`\`${unknown}\``);
        for (const name of Object.keys(schema.shape)) expect(json.Message).toContain(name);
      }
    });

    it.each(Object.keys(naive))('refuses an empty `%s`: taken for none, everybody would come back', async (name) => {
      const { status, json } = await get(path, { [name]: '' });
      expect([status, json.Message]).toEqual([400, expect.stringContaining(`\`${name}\``)]);
    });

    it.each([
      ['last_login_before', 'yesterday'],
      ['last_login_after', '0'],
      ['last_login_after', '-1'],
      ['last_login_before', '99999'],
      ['limit', '-1'],
      ['skip', 'many'],
      ['order', 'sideways'],
      ['order_by', 'shoe_size'],
    ])('refuses `%s=%s`', async (name, value) => {
      const { status, json } = await get(path, { [name]: value });
      expect([status, json.Message]).toEqual([400, expect.stringContaining(`\`${name}\``)]);
    });

    it('knows names in any case, with and without underscores', async () => {
      for (const name of ['Last_Login_After', 'lastloginafter', 'LASTLOGINAFTER']) {
        const { json } = await get(path, {
          [name]: String(START_MS - 86_400_000),
          Limit: '5000',
          OrderBy: 'CreatedAt',
        });
        expect(json.data.count).toBe(
          expected(rows(), naive, { last_login_after: String(START_MS - 86_400_000) }).length,
        );
      }
    });
  });

  describe('a device of version 2', () => {
    it('has all its fields, with their types, and times to the nanosecond', () => {
      for (const device of devices) {
        const { MdmData, Emails, ...known } = older.get(device.id);
        const isNever = device.serial_number === 'SN-NEVER';
        const trust = known.TrustData;
        expect(device).toEqual({
          id: known.DeviceID,
          name: known.DeviceFriendlyName,
          serial_number: known.SerialNumber,
          ownership: known.Ownership,
          platform: known.Platform,
          model: known.Model,
          os: known.OS,
          architecture: known.Architecture,
          app_version: known.AppVersion,
          banned: Number(known.Banned === 'TRUE'),
          mdm_present: Number(MdmData.Source !== '' && !isNever),
          mdm_vendor_name: MdmData.Source,
          mdm_vendor_udid: MdmData.Source === '' ? '' : known.DeviceID.toUpperCase(),
          mdm_compliant: MdmData.CompliantStatus === '' ? null : Number(MdmData.CompliantStatus === 'TRUE'),
          source: MdmData.Source,
          trust_level: known.TrustData.Level,
          trust_status: known.TrustData.OverrideActive === 'TRUE' ? 'Overridden' : 'Calculated',
          trust_profile_display_name: '',
          threat_profile_display_name: '',
          created_at: known.CreatedAt,
          last_login: known.LastLogin,
          extra_details: {
            emails: Emails,
            number_of_users: Emails.length,
            role_names: known.Roles,
            trust: {
              value: trust.AccessTrustscore,
              level: trust.Level,
              status: trust.OverrideActive === 'TRUE' ? 'Overridden' : 'Calculated',
              last_evaluated: { value: trust.EntityTrustscore, level: trust.Level, timestamp: trust.UpdatedAt },
              expired_at: 0,
              factors: trust.Factors.map((each: Row) => ({
                name: each.Name,
                value: each.Value,
                type: each.Type,
                source: each.Source,
                description: each.Description,
                remediation: { description: each.RemediationDescription, url: each.RemediationURL },
              })),
            },
            trustscore: {
              id: known.DeviceID,
              type: 'device',
              timestamp: trust.UpdatedAt,
              score: trust.AccessTrustscore,
            },
          },
          role_names: known.Roles,
        });
      }
      expect(
        devices.filter((each) => typeof each.created_at === 'bigint' && each.created_at % 1_000n !== 0n).length,
      ).toBeGreaterThan(100);
    });

    it.each([true, false])('is under MDM when a client marks it so: %s', async (isPresent) => {
      org.console.fleet.addDevice({ serial: 'SN-MARKED', mdm_source: '' });
      await org.call('POST', '/api/v1/mdm/update_device?SerialNumber=SN-MARKED', {
        IsMDMPresent: isPresent,
        MDMVendorName: 'JAMF',
      });
      const { json } = await get('/api/v2/devices', { serial_number: 'SN-MARKED', mdm_present: String(isPresent) });
      expect(json.data.devices[0]).toMatchObject({ mdm_present: Number(isPresent), mdm_vendor_name: 'JAMF' });
      await org.call('DELETE', '/api/v1/delete_device?SerialNumber=SN-MARKED');
    });
  });

  it('a user of version 2 has all its fields', () => {
    for (const user of users) {
      expect(Object.keys(user)).toEqual([
        'id',
        'org_id',
        'name',
        'email',
        'status',
        'created_at',
        'invited_at',
        'last_login',
        'security_roles',
      ]);
      expect([user.status, user.invited_at, Array.isArray(user.security_roles)]).toEqual(['Active', 0, true]);
      expect(user.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect([typeof user.created_at, typeof user.last_login]).toEqual(['bigint', 'bigint']);
    }
  });
});

describe('stored values come out unchanged', () => {
  let org: Organization;
  beforeEach(async () => {
    org = await openOrganization();
  });
  afterEach(() => org.console.close());

  const nanoseconds = fc.bigInt({ min: 1_000_000_000_000_000_000n, max: 9_223_372_036_854_775_807n });
  const name = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !/\p{Surrogate}/u.test(text)),
    fc.constantFrom(
      'laptop :1234567890123456789, spare',
      '"MdmData":{"Timestamp":1234567890123456789}',
      '\u2028',
      '\\u0000',
      '\u0000x',
    ),
  );

  describe('records', () => {
    it('keep every digit and every character of a device, in each form', async () => {
      let made = 0;
      await fc.assert(
        fc.asyncProperty(nanoseconds, nanoseconds, name, async (reported, login, friendlyName) => {
          made++;
          const serial = `SN-EXACT-${made}`;
          org.console.fleet.addDevice({
            serial,
            mdm_timestamp: reported,
            last_login: login,
            friendly_name: friendlyName,
          });
          for (const more of ['', '&skip=0&limit=5']) {
            const { text } = await org.call('GET', `/api/v1/devices?SerialNumber=${serial}${more}`);
            // biome-ignore lint/suspicious/noExplicitAny: a record as it came
            const parsed = parseExact(text) as any;
            const device = (Array.isArray(parsed) ? parsed : parsed.devices)[0];
            expect(BigInt(device.MdmData.Timestamp)).toBe(reported);
            expect(BigInt(device.LastLogin)).toBe(login);
            expect(device.DeviceFriendlyName).toBe(friendlyName);
          }
        }),
        { numRuns: 150 },
      );
    });

    it('have no logins in strict pages, as specified', async () => {
      const strict = await openOrganization({ strictPages: true });
      strict.console.fleet.addDevice({}, ['ada@acme.example']);
      const device = (await strict.call('GET', '/api/v1/devices?Limit=1')).json.devices[0];
      const user = (await strict.call('GET', '/api/v1/endusers?Limit=1')).json.endusers[0];
      for (const field of ['LastLogin', 'LoginCount', 'CreatedAt', 'Emails']) expect(device).not.toHaveProperty(field);
      for (const field of ['LastLogin', 'LoginCount', 'SerialNumbers']) expect(user).not.toHaveProperty(field);
      await strict.console.close();
    });
  });

  describe('events that clients submit', () => {
    it('keep their digits and their unknown fields', async () => {
      await fc.assert(
        fc.asyncProperty(nanoseconds, name, async (time, message) => {
          const text = `{"type":"Access","message":${JSON.stringify(message)},"trustscore":{"timestamp":${time}},"new_field":[${time}]}`;
          const [id] = (await org.call('POST', '/api/v1/events', text)).json.ids;
          const answer = await org.call('GET', `/api/v1/events?id=${id}`);
          // biome-ignore lint/suspicious/noExplicitAny: an event as it came
          const event = (parseExact(answer.text) as any).data[0];
          expect([event.message, event.trustscore.timestamp, event.new_field]).toEqual([message, time, [time]]);
        }),
        { numRuns: 60 },
      );
    });

    it('are kept all or not at all', async () => {
      const answer = await org.call('POST', '/api/v1/events', [{ type: 'Audit' }, { severity: 'INFO' }]);
      expect(answer.status).toBe(400);
      expect(answer.json.Message).toContain('type');
      expect((await org.call('GET', '/api/v1/events/count')).json.data).toBe(0);
    });

    it('with an id already in the log are not written twice', async () => {
      for (let time = 0; time < 2; time++) await org.call('POST', '/api/v1/events', { type: 'Audit', id: 'same' });
      expect((await org.call('GET', '/api/v1/events/count')).json.data).toBe(1);
    });
  });

  describe('a service spec', () => {
    it('comes back byte for byte, white space and digits included', async () => {
      const text = ' {"metadata": {"name":"exact","cluster":"c","n":1790000000123456789},\n "spec":{}} ';
      const created = (await org.call('POST', '/api/v1/insert_registered_service', text)).json;
      expect(created.ServiceSpec).toBe(text.trim());
    });
  });

  describe('text that could not be returned unchanged', () => {
    const service = (name: string) => JSON.stringify({ metadata: { name, cluster: 'c' } });

    it.each([
      ['a body that is not UTF-8', Buffer.concat([Buffer.from(service('a').slice(0, 22)), Buffer.of(0xff, 0xfe)])],
      ['half a character in a name', service('\ud800x')],
      ['half a character in a key', '{"metadata":{"name":"a","cluster":"c","tags":{"\\udc00":"x"}}}'],
    ])('is refused without an effect: %s', async (_, body) => {
      const before = (await org.call('GET', '/api/v1/registered_services')).text;
      const answer = await readAnswer(
        await org.console.app.request('/api/v1/insert_registered_service', {
          method: 'POST',
          headers: { authorization: `Bearer ${org.apiKey}` },
          body,
        }),
      );
      expect(answer.status).toBe(400);
      expect(answer.json.Message).toMatch(/UTF-8|half a character/);
      expect((await org.call('GET', '/api/v1/registered_services')).text).toBe(before);
    });
  });
});
