// conformance: events as recorded ones are: their blocks are whole, and the log takes none that it does not keep.
// In: the field notes. Out: rules. Clients refuse an event in which a block that is there lacks a field.
import { deepEqual, equal, fail, match, ok } from 'node:assert/strict';
import { type FieldTable, fieldRules } from './fields.ts';
import { events, PATHS, pick, plainDevice, type Row, services, withService } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

const SECTION = 'Event';
const LIST = '5. List events';

const LINK_END = {
  service_version: 'string',
  service_id: 'string',
  service_name: 'string',
  container_id: 'string',
  container_name: 'string',
  host_name: 'string',
  ip: 'string',
} as const;

const BLOCKS: { of: string; from: (event: Row) => Row[]; fields: FieldTable['fields'] }[] = [
  {
    of: 'role',
    from: (event) => event.role ?? [],
    fields: { id: 'string', name: 'string', version: 'string', bound_by: 'string', bound_at: 'integer' },
  },
  {
    of: 'policy',
    from: (event) => (event.policy ? [event.policy] : []),
    fields: {
      id: 'string',
      name: 'string',
      version: 'string',
      attached_by: 'string',
      attached_at: 'integer',
      enabled: 'boolean',
    },
  },
  { of: 'link.source', from: (event) => (event.link?.source ? [event.link.source] : []), fields: LINK_END },
  {
    of: 'link.destination',
    from: (event) => (event.link?.destination ? [event.link.destination] : []),
    fields: LINK_END,
  },
  {
    of: 'link.destination',
    from: (event) => (event.link?.destination ? [event.link.destination] : []),
    fields: { port: 'string' },
  },
  {
    of: 'user_principal.device',
    from: (event) => (event.user_principal?.device ? [event.user_principal.device] : []),
    fields: { unregistered: 'boolean' },
  },
  { of: 'every event', from: (event) => [event], fields: { user_principal: 'object', service: 'object' } },
  {
    of: 'service',
    from: (event) => [event.service],
    fields: { id: 'string', name: 'string', type: 'string', version: 'string' },
  },
  {
    of: 'user_principal.client',
    from: (event) => (event.user_principal?.client ? [event.user_principal.client] : []),
    fields: { user_agent: 'string', ip_address: 'string' },
  },
  {
    of: 'Resource events: user_principal',
    from: (event) => (event.sub_type === 'Resource' ? [event.user_principal] : []),
    fields: { device: 'object', client: 'object' },
  },
  {
    of: 'workload_principal',
    from: (event) => (event.workload_principal ? [event.workload_principal] : []),
    fields: { workload_set: 'object', host: 'object' },
  },
  {
    of: 'workload_principal.workload_set',
    from: (event) => (event.workload_principal ? [event.workload_principal.workload_set] : []),
    fields: {
      container_name: 'string',
      container_id: 'string',
      image: 'string',
      repo: 'string',
      tag: 'string',
      labels: 'string',
      container_ips: 'string',
      app_name: 'string',
    },
  },
  {
    of: 'workload_principal.host',
    from: (event) => (event.workload_principal ? [event.workload_principal.host] : []),
    fields: { host_ips: 'string', host_name: 'string', cluster_id: 'string', port_map: 'string' },
  },
  {
    of: 'Access events',
    from: (event) => (event.type === 'Access' ? [event] : []),
    fields: { link: 'object', policy: 'object', trustscore: 'object', channel: 'object', role: 'list' },
  },
  {
    of: 'Access events: channel',
    from: (event) => (event.type === 'Access' ? [event.channel] : []),
    fields: { access_level: 'object', sni_data: 'object', request_data: 'object' },
  },
  {
    of: 'Access events: channel.sni_data',
    from: (event) => (event.type === 'Access' ? [event.channel.sni_data] : []),
    fields: { name_requested: 'string', name_matched: 'string' },
  },
  {
    of: 'Access events: channel.request_data',
    from: (event) => (event.type === 'Access' ? [event.channel.request_data] : []),
    fields: { protocol: 'string', type: 'string', query_crud_types: 'string', query_resources: 'string' },
  },
  {
    of: 'trustscore',
    from: (event) => (event.trustscore ? [event.trustscore] : []),
    fields: { id: 'string', type: 'string', timestamp: 'integer', score: 'integer' },
  },
  {
    of: 'Identity/Grant events',
    from: (event) => (event.type === 'Identity' && event.action === 'Grant' ? [event] : []),
    fields: { policy: 'object', role: 'list', trustscore: 'object', external_id: 'string' },
  },
  {
    of: 'Identity/Deny events',
    from: (event) => (event.type === 'Identity' && event.action === 'Deny' ? [event] : []),
    fields: { policy: 'object', role: 'list', external_id: 'string' },
  },
  {
    of: 'newer fields: user_principal.user',
    from: (event) => (event.user_principal.user ? [event.user_principal.user] : []),
    fields: { name: 'string' },
  },
  {
    of: 'newer fields: user_principal.device',
    from: (event) => (event.user_principal.device ? [event.user_principal.device] : []),
    fields: { os: 'string' },
  },
  {
    of: 'newer fields: user_principal.client.geo_location',
    from: (event) => (event.user_principal.client?.geo_location ? [event.user_principal.client.geo_location] : []),
    fields: { city: 'string', country: 'string', region: 'string' },
  },
  {
    of: 'newer fields: trustscore of a device',
    from: (event) => (event.trustscore?.id ? [event.trustscore] : []),
    fields: { trust_level: 'string', trust_profile_name: 'string', passed_factors: 'list' },
  },
  { of: 'newer fields', from: (event) => [event], fields: { created_at_ns: 'integer' } },
  {
    of: 'Identity events: user_principal.device',
    from: (event) => (event.type === 'Identity' && event.user_principal.device ? [event.user_principal.device] : []),
    fields: { last_ip_address: 'string', last_user_agent: 'string' },
  },
];

const BLOCK_RULES = BLOCKS.flatMap(({ of, from, fields }) =>
  fieldRules({ section: SECTION, of, read: async (target) => (await events(target)).flatMap(from), fields }),
);

const kindRule = (type: string, subType: string, actions: string[]): Rule => ({
  section: SECTION,
  line: `${type}/${subType} events are in the log, with ${actions.map((each) => `\`${each}\``).join(' and ')}`,
  async check(target) {
    const found = await events(target, { type, sub_type: subType });
    pick(found, () => true, `event of ${type}/${subType}`);
    for (const action of actions) pick(found, (each) => each.action === action, `event of the action ${action}`);
  },
});

const HOST_AND_PORT = /^[^\s:,]+:\d{1,5}$/;

/** Everything that the log holds, as readers page through it: by time, without a limit, known ids dropped, until nothing is new. */
async function readByTime(target: Target, from: number, until: number): Promise<string[]> {
  const known = new Set<string>();
  for (let after = from; ; ) {
    const page: Row[] = (await target.get(PATHS.events + query({ order: 'asc', after, before: until }))).json.data;
    const fresh = page.filter((each) => !known.has(each.id));
    if (fresh.length === 0) return [...known];
    for (const each of fresh) known.add(each.id);
    after = page.at(-1).created_at;
  }
}

const TIME_RULES: Rule[] = [
  {
    section: LIST,
    line: 'a reader that pages by time, ten events at a time, reads every event of the log',
    async check(target) {
      const all = await events(target, { order: 'asc' });
      const [from, until] = [all[0].created_at, all.at(-1).created_at];
      const expected = all.filter((each) => each.created_at < until).map((each) => each.id);
      const read = new Set(await readByTime(target, from, until));
      deepEqual(
        expected.filter((id) => !read.has(id)),
        [],
      );
    },
  },
  {
    section: LIST,
    line: 'no ten events share a `created_at`, also of those that were submitted together or with one time',
    writes: true,
    async check(target) {
      const [newest] = await events(target, { limit: 1 });
      const tag = `conformance-${process.pid}-alike`;
      const submit = (more: Row) =>
        target.call(
          'POST',
          PATHS.events,
          Array.from({ length: 30 }, () => ({ type: 'Audit', external_id: tag, ...more })),
        );
      equal((await submit({})).status, 200);
      equal((await submit({ created_at: newest.created_at })).status, 200);
      const made = await events(target, { external_id: tag, order: 'asc' });
      equal(made.length, 60);
      const times = new Map<number, number>();
      for (const { created_at: at } of await events(target, { limit: 10_000 })) times.set(at, (times.get(at) ?? 0) + 1);
      ok(Math.max(...times.values()) < 10);
      const read = new Set(await readByTime(target, made[0].created_at, made.at(-1).created_at));
      deepEqual(
        made.filter((each) => !read.has(each.id)),
        [],
      );
    },
  },
];

const ADDRESS_RULES: Rule[] = [
  {
    section: SECTION,
    line: 'addresses are `host:port`, several separated by commas, or empty',
    async check(target) {
      const all = await events(target);
      const texts = all.flatMap(({ link, user_principal: principal, workload_principal: workload }) => [
        link?.source.ip,
        link?.destination.ip,
        principal.client?.ip_address,
        workload?.workload_set.container_ips,
      ]);
      const addresses = texts.flatMap((each) => (each ? each.split(',') : []));
      pick(addresses, () => true, 'event with an address');
      deepEqual(
        addresses.filter((each) => !HOST_AND_PORT.test(each)),
        [],
      );
    },
  },
  {
    section: SECTION,
    line: '`host_name` of a link is empty or `host:port`, never the name of a device',
    async check(target) {
      const ends = (await events(target)).flatMap(({ link }) => (link ? [link.source, link.destination] : []));
      pick(ends, () => true, 'event with a link');
      for (const { host_name: name } of ends) if (name !== '') match(name, HOST_AND_PORT);
    },
  },
  {
    section: SECTION,
    line: '`service` has the ServiceID as id and name in every Access event',
    async check(target) {
      const found = await events(target, { type: 'Access' });
      const known = new Set((await services(target)).map((each) => each.ServiceID));
      pick(found, (each) => known.has(each.service.id), 'access to a service that it still has');
      for (const { service, link } of found)
        deepEqual([service.name, link.destination.service_id], [service.id, service.id]);
    },
  },
  {
    section: SECTION,
    line: '`channel.access_level.resource` is `connection` or `l7resource`',
    async check(target) {
      const found = await events(target, { type: 'Access' });
      for (const { channel, sub_type: kind } of found)
        equal(channel.access_level.resource, kind === 'Connection' ? 'connection' : 'l7resource');
    },
  },
  {
    section: LIST,
    line: 'events are also submitted as `{"data": [...]}`; the answer has a text as `data`',
    writes: true,
    async check(target) {
      const tag = `conformance-${process.pid}-batch`;
      const event = {
        type: 'Access',
        sub_type: 'Resource',
        external_id: tag,
        link: { destination: { service_id: 's' } },
      };
      const answer = await target.call('POST', PATHS.events, { data: [event, event] });
      equal(answer.status, 200, answer.text);
      equal(typeof answer.json.data, 'string');
      const stored = await events(target, { external_id: tag });
      equal(stored.length, 2);
      for (const { link, service, user_principal: principal } of stored) {
        deepEqual([service.id, service.name, link.source.service_version, link.destination.port], ['s', 's', '', '']);
        deepEqual([principal.device.id, principal.client.ip_address], ['', '']);
      }
    },
  },
  {
    section: LIST,
    line: '`GET /api/v1/event_types` is the envelope with a list of texts',
    async check(target) {
      const { json } = await target.get('/api/v1/event_types');
      equal(json.error_code, 0);
      ok(json.data.length > 0 && json.data.every((each: unknown) => typeof each === 'string'));
    },
  },
];

/** What comes back of an event that was submitted. */
async function submitted(target: Target, tag: string, event: Row): Promise<Row> {
  const id = `conformance-${process.pid}-${tag}`;
  const answer = await target.call('POST', PATHS.events, { type: 'Access', external_id: id, ...event });
  equal(answer.status, 200, answer.text);
  return (await events(target, { external_id: id, limit: 1 }))[0];
}

const BLOCK_NAMES = ['link', 'policy', 'channel', 'workload_principal', 'trustscore', 'role'];

/** What a submitted event may not have: a reader would stop at it. */
const WRONG: Row[] = [
  { role: [5] },
  { role: 'employee' },
  { policy: 5 },
  { policy: { enabled: 'TRUE' } },
  { channel: 'connection' },
  { channel: { access_level: 'connection' } },
  { channel: { request_data: { type: 5 } } },
  { trustscore: { score: '5' } },
  { service: { id: 5 } },
  { link: { source: [] } },
  { workload_principal: { workload_set: { labels: [] } } },
  { user_principal: 'somebody' },
  { user_principal: { client: { ip_address: 5 } } },
];

const SUBMITTED_RULES: Rule[] = [
  {
    section: LIST,
    line: 'a block that is submitted as null is absent, never null',
    writes: true,
    async check(target) {
      const event = await submitted(target, 'null', Object.fromEntries(BLOCK_NAMES.map((name) => [name, null])));
      for (const name of BLOCK_NAMES) equal(name in event, false, name);
    },
  },
  {
    section: LIST,
    line: 'a submitted Resource event has device and client, also where they are null',
    writes: true,
    async check(target) {
      const parts = { device: null, user: null, client: null };
      const { user_principal: principal } = await submitted(target, 'resource', {
        sub_type: 'Resource',
        user_principal: parts,
      });
      deepEqual([principal.device.id, principal.client.ip_address], ['', '']);
    },
  },
  {
    section: LIST,
    line: 'a submitted device, user, role and policy have all their fields; a role or a policy may be a name',
    writes: true,
    async check(target) {
      const event = await submitted(target, 'whole', {
        user_principal: { device: { id: 'd', registration_status: 'FALSE' }, user: { email: 'a@acme.example' } },
        role: ['employee', { name: 'engineer' }],
        policy: 'default',
      });
      const { device, user } = event.user_principal;
      deepEqual(
        [device.id, device.unregistered, device.serial_number, device.last_mdm_data_synced_at],
        ['d', true, '', 0],
      );
      deepEqual([user.email, user.groups, user.roles], ['a@acme.example', [], []]);
      deepEqual(
        event.role.map((each: Row) => [each.name, each.version, each.bound_at]),
        [
          ['employee', '', 0],
          ['engineer', '', 0],
        ],
      );
      deepEqual([event.policy.name, event.policy.attached_at, event.policy.enabled], ['default', 0, false]);
    },
  },
  {
    section: LIST,
    line: 'a submitted block of another type is 400 and named, and nothing is stored',
    writes: true,
    async check(target) {
      const id = `conformance-${process.pid}-wrong`;
      for (const wrong of WRONG) {
        const [name] = Object.keys(wrong) as [string];
        const answer = await target.call('POST', PATHS.events, {
          data: [{ type: 'Access', external_id: id, ...wrong }],
        });
        equal(answer.status, 400, JSON.stringify(wrong));
        match(answer.json.Message, new RegExp(name));
      }
      equal(await count(target, id), 0);
    },
  },
  {
    section: LIST,
    line: '`{"data": …}` of no list, of an empty one, or of what is no event is 400 with a Message',
    writes: true,
    async check(target) {
      for (const data of [undefined, null, {}, 'text', [], [5], [{}], [{ type: '' }]]) {
        const answer = await target.call('POST', PATHS.events, { data });
        equal(answer.status, 400, JSON.stringify(data));
        ok(answer.json.Message.length > 0);
      }
    },
  },
];

const OTHERS: Rule[] = [
  kindRule('Identity', 'UserPrincipal', ['Grant', 'Deny']),
  {
    section: SECTION,
    line: 'most Identity events have `external_id`, and address and program in `device`',
    async check(target) {
      const found = await events(target, { type: 'Identity' });
      const isFilled = ({ external_id: id, user_principal: { device } }: Row) =>
        id && device?.last_ip_address && device.last_user_agent;
      ok(found.filter(isFilled).length > found.length / 2);
    },
  },
  {
    section: SECTION,
    line: '`created_at_ns` is the time of `created_at`',
    async check(target) {
      const { text, json } = await target.get(PATHS.events + query({ limit: 100 }));
      const sent = [...text.matchAll(/"created_at_ns":(\d+)/g)].map(([, digits = '']) => digits.slice(0, -6));
      deepEqual(
        sent,
        json.data.map((each: Row) => String(each.created_at)),
      );
    },
  },
  {
    section: SECTION,
    line: 'a Resource event of a change has device and client too, empty ones',
    writes: true,
    async check(target) {
      await withService(target, async ({ ServiceID }) => {
        await target.call('POST', PATHS.disableService + query({ ServiceID }));
        const [event] = await events(target, { sub_type: 'Resource', type: 'Audit', limit: 1 });
        const { device, client, user } = event.user_principal;
        deepEqual([device.id, client.ip_address], ['', '']);
        ok(user.email !== '');
      });
    },
  },
  kindRule('Registration', 'Device', ['Register', 'Unregister']),
  kindRule('Access', 'Resource', ['Authorized']),
  {
    section: SECTION,
    line: 'an unregistration has `unregistered: true` and `registration_status: "FALSE"`',
    async check(target) {
      const found = await events(target, { type: 'Registration', action: 'Unregister' });
      pick(found, () => true, 'unregistration');
      for (const { user_principal: principal } of found)
        deepEqual([principal.device.unregistered, principal.device.registration_status], [true, 'FALSE']);
    },
  },
  {
    section: SECTION,
    line: 'an `Audit` event of a change has the `user_principal` of the caller',
    writes: true,
    async check(target) {
      const device = await plainDevice(target);
      const path = PATHS.updateDevice + query({ SerialNumber: device.SerialNumber });
      try {
        equal((await target.call('POST', path, [{ Banned: 'TRUE' }])).status, 200);
        const [event] = await events(target, { type: 'Audit', serialnumber: device.SerialNumber, limit: 1 });
        ok(event.user_principal.user.email !== '');
        ok(Array.isArray(event.user_principal.user.groups) && Array.isArray(event.user_principal.user.roles));
      } finally {
        await target.call('POST', path, [{ Banned: 'FALSE' }]);
      }
    },
  },
  {
    section: LIST,
    line: 'a submitted event older than the log keeps is 400, the Message names it, and nothing of the request is stored',
    writes: true,
    async check(target) {
      const id = `conformance-old-${process.pid}`;
      const body = [
        { type: 'Audit', external_id: id },
        { type: 'Audit', external_id: id, created_at: 1_000 },
      ];
      const answer = await target.call('POST', PATHS.events, body);
      equal(answer.status, 400, answer.text);
      match(answer.json.Message, /created_at.* 1\b/);
      if ((await count(target, id)) !== 0) fail('a part of it was stored');
    },
  },
];

async function count(target: Target, externalId: string): Promise<number> {
  return (await target.get(PATHS.countEvents + query({ external_id: externalId }))).json.data;
}

export const RECORDED_EVENT_RULES: Rule[] = [
  ...BLOCK_RULES,
  ...OTHERS,
  ...TIME_RULES,
  ...ADDRESS_RULES,
  ...SUBMITTED_RULES,
];
