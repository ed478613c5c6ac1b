// test console: the habits of public clients of such an API, one short walk each, over HTTP. In: a console that is changed by the walks alone. Out: tests
// of what such a client ends up with, and of what it changed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Organization, openOrganization, readAnswer, START_MS } from '../support/console-organization.ts';

// biome-ignore lint/suspicious/noExplicitAny: records as they came
type Row = any;

let org: Organization;
beforeEach(async () => {
  org = await openOrganization({
    listen: { host: '127.0.0.1', port: 0 },
    seed: { seed: 5, devices: 1_150, users: 600, services: 3, events: 0 },
  });
});
afterEach(() => org.console.close());

async function call(method: string, path: string, body?: unknown): Promise<Row> {
  const response = await fetch(org.console.address + path, {
    method,
    headers: { Authorization: `Bearer ${org.apiKey}` },
    // As some clients do: no Content-Type of JSON.
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await readAnswer(response)).json;
}

const kindsOf = (after = 0) => org.console.effects(after).map((each) => each.kind);
const lastEffect = () => org.console.effects().at(-1)?.seq ?? 0;

/** Existing clients: a body without `Message` (and `error`) went well; one with it did so if it is the known text. */
const seemsToSucceed = (body: Row) => !('Message' in (body ?? {})) || body.Message === 'Success';

describe('a collector of events', () => {
  it('that keeps the last time and drops repeats by id gets every event once, also several of one millisecond', async () => {
    const collected: string[] = [];
    const written: string[] = [];
    let last = START_MS - 1;
    const write = (count: number) => {
      for (let each = 0; each < count; each++) {
        const event = { type: 'Threat', subType: 'Device', action: 'Found', severity: 'WARN' as const };
        written.push(org.console.fleet.addEvent(event));
      }
    };
    const poll = async () => {
      const seen = new Set(collected);
      for (let skip = 0; ; skip += 7) {
        const { data } = await call('GET', `/api/v1/events?after=${last}&order=ASC&limit=7&skip=${skip}`);
        if (data.length === 0) break;
        for (const { id } of data) if (!seen.has(id)) collected.push(id);
      }
      last = (await call('GET', '/api/v1/events?limit=1')).data[0]?.created_at ?? last;
    };
    for (let round = 0; round < 6; round++) {
      write(round * 5);
      await poll();
      // Of the millisecond that the last answer ended with: `after` is inclusive.
      write(3);
      await poll();
      await org.clock.advance(60_000);
    }
    expect(collected).toEqual(written);
  });
});

describe('a client that pages', () => {
  it('by 1,000 until an empty array gets every device once, with an access token for its API key', async () => {
    const token = (await call('POST', '/api/v1/refresh_token')).Message;
    const ids: string[] = [];
    for (let skip = 0; ; skip += 1_000) {
      const response = await fetch(`${org.console.address}/api/v1/devices?SKIP=${skip}&LIMIT=1000`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      const { devices } = (await response.json()) as Row;
      if (devices.length === 0) break;
      ids.push(...devices.map((each: Row) => each.DeviceID));
    }
    expect([ids.length, new Set(ids).size]).toEqual([1_150, 1_150]);
  });
});

describe('a client that takes a body without `Message` for a success', () => {
  it.each([
    ['a ban of an unknown device', 'POST', '/api/v1/mdm/update_device?SerialNumber=nobody', { Banned: true }],
    ['a bundle with an unknown service', 'POST', '/api/v2/bundle', { bundle_name: 'b', service_ids: ['none'] }],
    ['the removal of a bundle that is gone', 'DELETE', '/experimental/v2/bundle/gone', {}],
    ['an unknown filter', 'GET', '/api/v2/devices?risk=high', undefined],
    ['an address of another version', 'GET', '/api/v2/bundles', undefined],
    ['an event of last month', 'POST', '/api/v1/events', { type: 'Threat', created_at: START_MS - 31 * 86_400_000 }],
  ])('does not believe that %s worked', async (_, method, path, body) => {
    const before = lastEffect();
    expect(seemsToSucceed(await call(method, path, body))).toBe(false);
    expect(kindsOf(before)).toEqual([]);
  });

  it('believes what worked', async () => {
    const [{ SerialNumber: serial }] = (await call('GET', '/api/v1/devices?Model=iMac')) as Row[];
    const path = `/api/v1/mdm/update_device?SerialNumber=${serial}`;
    expect(seemsToSucceed(await call('POST', path, { Banned: true }))).toBe(true);
    expect(seemsToSucceed((await call('POST', path, [{ Banned: 'FALSE' }]))[0])).toBe(true);
    expect(seemsToSucceed(await call('POST', '/api/v2/bundle', { bundle_name: 'b' }))).toBe(true);
  });
});

describe('a client that lists with filters and bans what comes back', () => {
  async function banAll(filter: string): Promise<string[]> {
    const serials: string[] = [];
    for (let skip = 0; ; skip += 10) {
      const page = (await call('GET', `/api/v2/devices?${filter}&skip=${skip}`)).data?.devices ?? [];
      if (page.length === 0) break;
      serials.push(...page.map((each: Row) => each.serial_number));
    }
    for (const serial of serials) {
      await call('POST', `/api/v1/mdm/update_device?SerialNumber=${encodeURIComponent(serial)}`, {
        Banned: true,
        OS: '',
        IsMDMPresent: false,
        MDMVendorName: '',
      });
    }
    return serials;
  }

  it('bans those, and nobody else', async () => {
    const before: Row[] = await call('GET', '/api/v1/devices');
    const isWanted = (each: Row) =>
      each.Ownership === 'Employee Owned' && each.TrustData.Level === 'Low' && each.Banned === 'FALSE';
    const wanted = before.filter(isWanted);
    expect(wanted.length).toBeGreaterThan(2);
    await banAll('ownership=Employee+Owned&trust_level=Low&banned=false');
    const isBannedNow = new Map(
      (await call('GET', '/api/v1/devices')).map((each: Row) => [each.DeviceID, each.Banned]),
    );
    const serials = new Set(wanted.map((each) => each.SerialNumber));
    for (const each of before) {
      const shouldBe = serials.has(each.SerialNumber) ? 'TRUE' : each.Banned;
      expect(isBannedNow.get(each.DeviceID)).toBe(shouldBe);
    }
  });

  it.each(['onwership=Other', 'trust_level=', 'trust_level=Lowest', 'last_login_before=90d', 'banned=no', 'risk=high'])(
    'bans nobody when its filter is wrong: %s',
    async (filter) => {
      expect(await banAll(filter)).toEqual([]);
      expect(kindsOf()).toEqual([]);
    },
  );
});

describe('a client that keeps services as code', () => {
  it('does not overwrite an existing name, and disables before it deletes', async () => {
    const spec = { metadata: { name: 'wiki-2', cluster: 'eu-west', tags: { domain: 'a.example' } }, spec: {} };
    expect(await call('GET', '/api/v1/registered_services?ServiceName=wiki-2')).toEqual([]);
    const { ServiceID: id } = await call('POST', '/api/v1/insert_registered_service', spec);
    expect(await call('GET', '/api/v1/registered_services?ServiceName=wiki-2')).toHaveLength(1);
    await call('POST', `/api/v1/disable_registered_service?ServiceID=${id}`);
    expect((await call('DELETE', `/api/v1/delete_registered_service?ServiceID=${id}`)).Message).toContain(id);
    expect(kindsOf()).toEqual(['service_created', 'service_disabled', 'service_deleted']);
  });
});

describe('a client that marks devices by an MDM inventory', () => {
  it('finds the marked ones by the filter, and no other', async () => {
    const unmanaged = (await call('GET', '/api/v2/devices?mdm_present=false&limit=1000')).data;
    const [first, second] = unmanaged.devices.filter(
      (each: Row) => each.serial_number.length > 7 && !each.serial_number.includes(' '),
    );
    for (const { serial_number: serial } of [first, second])
      await call('POST', `/api/v1/mdm/update_device?SerialNumber=${serial}`, {
        IsMDMPresent: true,
        MDMVendorName: 'Inventory',
      });
    const marked = (await call('GET', '/api/v2/devices?mdm_vendor_name=Inventory&mdm_present=true')).data;
    expect(marked.devices.map((each: Row) => each.serial_number).sort()).toEqual(
      [first.serial_number, second.serial_number].sort(),
    );
    const left = (await call('GET', '/api/v2/devices?mdm_present=false&limit=1')).data;
    expect(left.count).toBe(unmanaged.count - marked.count);
  });
});
