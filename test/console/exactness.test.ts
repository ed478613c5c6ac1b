// test console: stored values come out unchanged: 19-digit integers and hostile names, paged, whole and in events. In:
// generated digits and names. Out: properties over lists, events and service specs.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseExact } from '../../src/platform/contract.ts';
import { type Organization, openOrganization, readAnswer } from '../support/console-organization.ts';

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
