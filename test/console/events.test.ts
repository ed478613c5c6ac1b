// test console: events as clients read them: whole blocks, callers, registrations; and what the log refuses to take. In: a seeded organization, and one
// that is changed by the API. Out: tests over the list, as a client of recorded events would check each of them.
import { afterEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { readEvent } from '../../src/engine/pull/pull-events.ts';
import { type Organization, openOrganization, START_MS } from '../support/console-organization.ts';

// biome-ignore lint/suspicious/noExplicitAny: events as they came
type Row = any;

const DAY_MS = 86_400_000;
let org: Organization;
afterEach(() => org.console.close());

const events = async (query = ''): Promise<Row[]> =>
  (await org.call('GET', `/api/v1/events?limit=10000${query}`)).json.data;

const LINK_END = ['container_id', 'container_name', 'host_name', 'ip', 'service_id', 'service_name', 'service_version'];

/** What a client that reads recorded events demands of each: a block that is there has all its fields, with their types. */
function expectRecorded(event: Row): void {
  const texts = (holder: Row, names: string[]) => names.map((name) => [name, typeof holder[name]]);
  const areTexts = (names: string[]) => names.map((name) => [name, 'string']);
  for (const end of [event.link?.source, event.link?.destination]) {
    if (end) expect(texts(end, LINK_END)).toEqual(areTexts(LINK_END));
  }
  for (const role of event.role ?? []) {
    expect(role).toEqual({ ...role, bound_at: expect.any(Number) });
    expect(texts(role, ['id', 'name', 'version', 'bound_by'])).toEqual(areTexts(['id', 'name', 'version', 'bound_by']));
  }
  if (event.policy) {
    const names = ['id', 'name', 'version', 'attached_by'];
    expect(texts(event.policy, names)).toEqual(areTexts(names));
    expect([typeof event.policy.attached_at, typeof event.policy.enabled]).toEqual(['number', 'boolean']);
  }
  const { device, user } = event.user_principal ?? {};
  // A Resource event that no device causes has an empty one.
  if (device && device.id !== '') expect(device.unregistered).toBe(device.registration_status !== 'TRUE');
  if (user)
    expect([typeof user.email, Array.isArray(user.groups), Array.isArray(user.roles)]).toEqual(['string', true, true]);
  if (event.type === 'Audit') expect(user?.email).toMatch(/./);
}

describe('the seeded log', () => {
  it('has events of all common kinds, each with whole blocks', async () => {
    org = await openOrganization({ seed: { seed: 1 } });
    const all = await events();
    for (const event of all) expectRecorded(event);
    const kinds = new Set(all.map((each) => `${each.type}/${each.sub_type}/${each.action}`));
    for (const kind of [
      'Registration/Device/Register',
      'Registration/Device/Register Failed',
      'Registration/Device/Unregister',
      'Access/Resource/Authorized',
      'Access/Resource/Unauthorized',
      'Access/Connection/Authorized',
      'Access/Connection/Unauthorized',
      'Identity/UserPrincipal/Grant',
      'TrustScoring/Device/TrustScoreCalculate',
    ])
      expect(kinds).toContain(kind);
    const access = all.filter((each) => each.type === 'Access');
    expect(access.every((each) => each.policy.enabled && each.link.destination.service_id !== '')).toBe(true);
    expect(access.filter((each) => each.role.length > 0 && each.link.source.ip !== '').length).toBeGreaterThan(100);
  });

  it('has no unregistration of a device that is registered', async () => {
    org = await openOrganization({ seed: { seed: 1 } });
    const all = await events('&type=Registration&action=Unregister');
    expect(all.length).toBeGreaterThan(0);
    for (const { user_principal: principal } of all)
      expect(principal.device).toMatchObject({ unregistered: true, registration_status: 'FALSE' });
  });
});

describe('a living organization', () => {
  it('registers and unregisters devices, and reaches services, with whole blocks', async () => {
    org = await openOrganization({ seed: { seed: 1, events: 0 }, live: true });
    for (let second = 0; second < 400; second++) await org.clock.advance(1_000);
    const all = await events();
    for (const event of all) expectRecorded(event);
    const actions = new Set(all.filter((each) => each.type === 'Registration').map((each) => each.action));
    expect([...actions].sort()).toEqual(expect.arrayContaining(['Register', 'Unregister']));
    expect(all.some((each) => each.sub_type === 'Resource' && each.action === 'Authorized')).toBe(true);
    // What the events say is so in the lists.
    const [last] = await events('&type=Registration');
    const [device] = (await org.call('GET', `/api/v1/devices?SerialNumber=${last.user_principal.device.serial_number}`))
      .json;
    expect(device.RegisteredStatus).toBe(last.action === 'Register' ? 'TRUE' : 'FALSE');
  });
});

/** As readers page: by time, ten at a time, known ids dropped, until nothing is new. */
async function readByTime(): Promise<string[]> {
  const known = new Set<string>();
  for (let after = 0; ; ) {
    const page: Row[] = (await org.call('GET', `/api/v1/events?order=asc&after=${after}`)).json.data;
    const fresh = page.filter((each) => !known.has(each.id));
    if (fresh.length === 0) return [...known];
    for (const each of fresh) known.add(each.id);
    after = page.at(-1).created_at;
  }
}

describe('a reader that pages by time, ten events at a time', () => {
  const expectAll = async () => {
    const all = await events();
    expect((await readByTime()).sort()).toEqual(all.map((each) => each.id).sort());
    const times = all.map((each) => each.created_at);
    expect(new Set(times).size).toBeGreaterThan(times.length * 0.9);
  };

  it('reads all of a seeded log, and all that a large living organization adds in each moment', async () => {
    org = await openOrganization({ seed: { seed: 1, devices: 4_000, events: 300 }, live: true });
    await expectAll();
    for (let second = 0; second < 20; second++) await org.clock.advance(1_000);
    await expectAll();
  });

  it('reads all of a fleet that is banned at one moment, and of what was submitted at once', async () => {
    org = await openOrganization({ seed: { seed: 1, devices: 60, events: 0 } });
    for (const { SerialNumber: serial } of (await org.call('GET', '/api/v1/devices')).json)
      org.console.fleet.banByHand(serial, 'TRUE');
    await org.call('POST', '/api/v1/events', { data: Array.from({ length: 300 }, () => ({ type: 'Audit' })) });
    await expectAll();
  });

  it('that has read up to the newest event misses none that comes in the same moment', async () => {
    org = await openOrganization();
    const submit = () => org.call('POST', '/api/v1/events', { type: 'Audit' });
    for (let each = 0; each < 15; each++) await submit();
    const [newest] = await events();
    await submit();
    const after = await events(`&after=${newest.created_at}&order=asc`);
    expect(after).toHaveLength(2);
  });

  it('reads thousands of events that were submitted with one time, in bounded time', async () => {
    org = await openOrganization();
    const data = Array.from({ length: 4_000 }, () => ({ type: 'Audit', created_at: START_MS }));
    expect((await org.call('POST', '/api/v1/events', { data })).status).toBe(200);
    const all = await events();
    expect(all).toHaveLength(4_000);
    expect(new Set(all.map((each) => each.created_at)).size).toBe(2_000);
  });
});

describe('an audit event', () => {
  it('names who called, and keeps the device that it is about', async () => {
    org = await openOrganization({ seed: { seed: 1, devices: 20, users: 10, services: 2, events: 0 } });
    org.console.fleet.addDevice({ serial: 'SN-AUDIT' }, ['ada@acme.example']);
    const key = org.console.issueApiKey('soc', 'Admin');
    const [service] = (await org.call('GET', '/api/v1/registered_services')).json;
    const id = encodeURIComponent(service.ServiceID);
    await org.call('POST', '/api/v1/mdm/update_device?SerialNumber=SN-AUDIT', [{ Banned: 'TRUE' }], `Bearer ${key}`);
    await org.call('POST', `/api/v1/disable_registered_service?ServiceID=${id}`, undefined, `Bearer ${key}`);
    await org.call('POST', '/api/v2/bundle', { bundle_name: 'b' }, `Bearer ${key}`);
    const all = await events('&type=Audit');
    expect(all.map((each) => [each.action, each.user_principal.user])).toEqual(
      ['BundleCreate', 'Disable', 'Ban'].map((action) => [action, { name: '', email: 'soc', groups: [], roles: [] }]),
    );
    expect(all[2].user_principal.device.serial_number).toBe('SN-AUDIT');
    expect(await events('&user_email=soc')).toHaveLength(3);
    for (const event of all) expectRecorded(event);
  });
});

describe('an audit event of a ban or a switch', () => {
  it('is read as the act that it is: of which subject, and by whom', async () => {
    org = await openOrganization({ seed: { seed: 1, devices: 20, users: 10, services: 1, events: 0 } });
    const device = org.console.fleet.addDevice({ serial: 'SN-1' });
    const [{ ServiceID: service }] = (await org.call('GET', '/api/v1/registered_services')).json;
    const key = `Bearer ${org.console.issueApiKey('soc', 'Admin')}`;
    for (const Banned of ['TRUE', 'FALSE'])
      await org.call('POST', '/api/v1/mdm/update_device?SerialNumber=SN-1', [{ Banned }], key);
    for (const verb of ['disable', 'enable'])
      await org.call('POST', `/api/v1/${verb}_registered_service?ServiceID=${service}`, undefined, key);
    const made = (await events('&type=Audit&order=asc')).map((event) => {
      const read = readEvent(event, new Set());
      if (!read.ok) throw new Error(read.reason);
      const { deviceId, serviceId, action, email } = read.event;
      return [deviceId ?? serviceId, action, email];
    });
    const words = (name: string) => ACTIONS.get(name)?.auditedAs;
    expect(made).toEqual([
      [device, words('ban_device'), 'soc'],
      [device, words('unban_device'), 'soc'],
      [service, words('disable_service'), 'soc'],
      [service, words('enable_service'), 'soc'],
    ]);
  });
});

describe('an unregistration', () => {
  it('by deleting the device has it unregistered, in both spellings', async () => {
    org = await openOrganization();
    org.console.fleet.addDevice({ serial: 'SN-GONE', registered: 'TRUE' }, ['ada@acme.example']);
    await org.call('DELETE', '/api/v1/delete_device?SerialNumber=SN-GONE');
    const all = await events('&action=Unregister');
    expect(all).toHaveLength(2);
    for (const { user_principal: principal } of all)
      expect(principal.device).toMatchObject({
        unregistered: true,
        registration_status: 'FALSE',
        serial_number: 'SN-GONE',
      });
  });
});

describe('a submitted event', () => {
  it('comes back with whole blocks, and with everything else as it was sent', async () => {
    org = await openOrganization();
    const sent = {
      type: 'Access',
      role: [{ name: 'employee', more: 1 }, 'a name'],
      policy: { name: 'p' },
      link: { destination: { service_name: 's' } },
      user_principal: { device: { id: 'd', registration_status: 'FALSE' }, user: null },
      new_field: { link: {} },
    };
    expect((await org.call('POST', '/api/v1/events', sent)).status).toBe(200);
    const [event] = await events();
    expect(event).toMatchObject({
      ...sent,
      role: [sent.role[0], { name: 'a name', version: '' }],
      link: { destination: { service_name: 's', ip: '', port: '' } },
      user_principal: { device: { id: 'd', registration_status: 'FALSE', unregistered: true, serial_number: '' } },
    });
    expect(event.user_principal).not.toHaveProperty('user');
    expect(Object.keys(event.link).sort()).toEqual(['destination', 'source']);
    expect(event.service).toEqual({ id: '', name: '', type: '', version: '' });
    expectRecorded(event);
  });

  const refused = async (body: unknown) => {
    const effects = org.console.effects().length;
    const before = (await org.call('GET', '/api/v1/events/count')).json.data;
    const answer = await org.call('POST', '/api/v1/events', body);
    expect([answer.status, (await org.call('GET', '/api/v1/events/count')).json.data]).toEqual([400, before]);
    expect(org.console.effects()).toHaveLength(effects);
    return answer.json.Message as string;
  };

  it('that is older than the log keeps is refused with the reason, not swallowed', async () => {
    org = await openOrganization();
    const oldest = START_MS - 14 * DAY_MS;
    const message = await refused({ type: 'Audit', created_at: oldest - 1 });
    expect(message).toBe(
      `\`created_at\` of event 0 is before ${oldest}: the log keeps events for 14 days; no event of the request was stored`,
    );
    expect((await org.call('POST', '/api/v1/events', { type: 'Audit', created_at: oldest })).status).toBe(200);
    expect(await events()).toHaveLength(1);
  });

  it('that is old refuses the whole request, which names it by its place', async () => {
    org = await openOrganization();
    const at = (created_at: number) => ({ type: 'Audit', created_at });
    const some = [at(START_MS), at(5), at(START_MS), at(6)];
    expect(await refused(some)).toMatch(/of events 1, 3 is before/);
    const many = Array.from({ length: 40 }, () => at(5));
    expect(await refused(many)).toMatch(/of events 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 30 more is before/);
  });

  it('that is older than all that a full log has is refused: it would be dropped at once', async () => {
    org = await openOrganization({ retention: { eventsMax: 5 } });
    const at = (created_at: number) => ({ type: 'Audit', created_at });
    await org.call(
      'POST',
      '/api/v1/events',
      [1, 2, 3, 4, 5].map((each) => at(START_MS + each)),
    );
    expect(await refused(at(START_MS))).toMatch(/the log keeps the last 5 events, and has as many newer ones/);
    expect((await org.call('POST', '/api/v1/events', at(START_MS + 2))).status).toBe(200);
    expect((await events('&order=ASC')).map((each) => each.created_at - START_MS)).toEqual([2, 2, 3, 4, 5]);
  });
});
