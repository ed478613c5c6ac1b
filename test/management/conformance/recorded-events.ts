// conformance: events as recorded ones are: their blocks are whole, and the log takes none that it does not keep.
// In: the field notes. Out: rules. Clients refuse an event in which a block that is there lacks a field.
import { deepEqual, equal, fail, match, ok } from 'node:assert/strict';
import { type FieldTable, fieldRules } from './fields.ts';
import { events, PATHS, pick, plainDevice, type Row } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

const SECTION = 'Event';
const LIST = '5. List events';

const LINK_END = {
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
    of: 'user_principal.device',
    from: (event) => (event.user_principal?.device ? [event.user_principal.device] : []),
    fields: { unregistered: 'boolean' },
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

const OTHERS: Rule[] = [
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

export const RECORDED_EVENT_RULES: Rule[] = [...BLOCK_RULES, ...OTHERS];
