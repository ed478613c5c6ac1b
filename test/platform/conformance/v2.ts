// conformance: the lists of version 2: their addresses, records and filters.
// In: the field notes. Out: rules, which only read: every filter is held against all records of the list. A filter that is ignored makes clients act
// on everybody.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { type FieldTable, fieldRules } from './fields.ts';
import { pick, type Row } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

const SECTION = 'Versioning';

interface ListTable {
  /** In lines: "v2 devices". */
  what: string;
  addresses: string[];
  list: string;
  key: string;
  limit: number;
  /** By a filter: the value of a record that it is about; undefined for a record that the filter cannot be tried with. */
  filters: Record<string, (row: Row) => string | number | undefined>;
  fields: FieldTable['fields'];
}

const text = (field: string) => (row: Row) => row[field] || undefined;

const DEVICES: ListTable = {
  what: 'v2 devices',
  addresses: ['/api/v2/devices', '/api/experimental/v2/devices'],
  list: 'devices',
  key: 'id',
  limit: 10,
  filters: {
    ...Object.fromEntries(
      [
        ...['id', 'name', 'serial_number', 'platform', 'model', 'ownership', 'os', 'architecture', 'app_version'],
        ...['mdm_vendor_name', 'trust_level'],
      ].map((name) => [name, text(name)]),
    ),
    trustscore_status: text('trust_status'),
    source: text('source'),
    banned: (row) => row.banned,
    mdm_present: (row) => row.mdm_present,
  },
  fields: {
    id: 'string',
    name: 'string',
    serial_number: 'string',
    ownership: 'string',
    platform: 'string',
    model: 'string',
    os: 'string',
    architecture: 'string',
    app_version: 'string',
    banned: 'bit',
    mdm_present: 'bit',
    mdm_vendor_name: 'string',
    mdm_vendor_udid: 'string',
    mdm_compliant: 'bit or null',
    source: 'string',
    trust_level: 'string',
    trust_status: 'string',
    trust_profile_display_name: 'string',
    threat_profile_display_name: 'string',
    created_at: 'integer',
    last_login: 'integer',
    extra_details: 'object',
    role_names: 'strings',
  },
};

const ENDUSERS: ListTable = {
  what: 'v2 end users',
  addresses: ['/api/v2/enduser', '/api/experimental/v2/enduser'],
  list: 'endusers',
  key: 'email',
  limit: 100,
  filters: { name: text('name'), email: text('email'), status: text('status') },
  fields: {
    id: 'string',
    org_id: 'string',
    name: 'string',
    email: 'string',
    status: 'string',
    created_at: 'integer',
    invited_at: 'integer',
    last_login: 'integer',
    security_roles: 'strings or null',
  },
};

async function page(target: Target, path: string, params: Record<string, string | number> = {}): Promise<Row> {
  const { status, json, text: sent } = await target.get(path + query(params));
  equal(status, 200, sent.slice(0, 300));
  equal(json.error_code, 0);
  return json.data;
}

async function whole(target: Target, { addresses, list }: ListTable): Promise<Row[]> {
  const all: Row[] = [];
  for (let skip = 0; ; skip += 1_000) {
    const data = await page(target, addresses[0] as string, {
      skip,
      limit: 1_000,
      order_by: 'created_at',
      order: 'asc',
    });
    all.push(...data[list]);
    if (data[list].length === 0) return all;
  }
}

function rulesOf(table: ListTable): Rule[] {
  const { what, list, key, addresses, limit } = table;
  const [path = ''] = addresses;
  const rule = (line: string, check: Rule['check']): Rule => ({ section: SECTION, line: `${what}: ${line}`, check });
  const found = async (target: Target, params: Record<string, string | number>): Promise<string[]> => {
    const data = await page(target, path, { limit: 100_000, ...params });
    equal(data.count, data[list].length, '`count` is not that of the matches');
    return data[list].map((each: Row) => each[key]).sort();
  };
  const keysOf = (rows: Row[]): string[] => rows.map((each) => each[key]).sort();
  const refused = async (target: Target, params: Record<string, string>, named: string) => {
    const { status, json } = await target.get(path + query(params));
    equal(status, 400);
    match(json.Message, new RegExp(named));
    equal(json.error_description, json.Message);
    ok(json.error_code !== 0);
  };
  return [
    ...addresses.map(
      (address): Rule => ({
        section: SECTION,
        line: `\`GET ${address}\` gives a page inside the envelope; the limit defaults to ${limit}`,
        async check(target) {
          const data = await page(target, address);
          equal(data[list].length, Math.min(limit, data.count));
        },
      }),
    ),
    rule('newest first by default, by creation', async (target) => {
      const times = (await page(target, path))[list].map((each: Row) => each.created_at);
      deepEqual(
        times,
        [...times].sort((a, b) => b - a),
      );
    }),
    rule('times are integers of 19 digits', async (target) => {
      match((await target.get(path)).text, /"created_at":\d{19}[,}]/);
    }),
    rule('pages put together are the whole list, each record once', async (target) => {
      const all = await whole(target, table);
      equal(new Set(keysOf(all)).size, (await page(target, path)).count);
    }),
    ...Object.entries(table.filters).map(([name, valueIn]) =>
      rule(`\`${name}\` gives the records of this value and no other, and counts them`, async (target) => {
        const all = await whole(target, table);
        const one = pick(all, (each) => valueIn(each) !== undefined, `record with ${name}`);
        const value = valueIn(one);
        deepEqual(
          await found(target, { [name]: String(value) }),
          keysOf(all.filter((each) => valueIn(each) === value)),
        );
      }),
    ),
    rule('`last_login_before` and `last_login_after` are bounds, in nanoseconds too', async (target) => {
      const all = await whole(target, table);
      const ms = 1_000_000;
      const logins = all
        .map((each) => Math.floor(each.last_login / ms))
        .filter((each) => each > 0)
        .sort((a, b) => a - b);
      const middle = pick(logins.slice(Math.floor(logins.length / 2)), () => true, 'login') + 1;
      const isBefore = (each: Row) => Math.floor(each.last_login / ms) < middle;
      for (const unit of [String(middle), `${middle}000000`]) {
        const rest = all.filter((each) => each.last_login > 0);
        deepEqual(await found(target, { last_login_before: unit }), keysOf(rest.filter(isBefore)));
        deepEqual(await found(target, { last_login_after: unit }), keysOf(rest.filter((each) => !isBefore(each))));
      }
    }),
    rule('several filters must all match', async (target) => {
      const all = await whole(target, table);
      const [one, two] = Object.keys(table.filters) as [string, string];
      const [first, second] = [all[0], all.at(-1)];
      const both = { [one]: String(table.filters[one]?.(first)), [two]: String(table.filters[two]?.(second)) };
      deepEqual(await found(target, both), []);
    }),
    rule('a filter that nothing matches gives an empty array and a count of 0', async (target) => {
      deepEqual(await found(target, { [key]: 'no-such-one' }), []);
    }),
    rule('an unknown filter is 400 and named: ignored, it would give everybody', async (target) => {
      for (const name of ['shoe_size', 'colour']) await refused(target, { [name]: '1' }, name);
    }),
    ...[...Object.keys(table.filters), 'last_login_before', 'last_login_after'].map((name) =>
      rule(`an empty \`${name}\` is 400 and named`, (target) => refused(target, { [name]: '' }, name)),
    ),
    ...['last_login_before=yesterday', 'limit=-1', 'skip=x', 'order=up', 'order_by=shoe_size'].map((bad) =>
      rule(`\`${bad}\` is 400 and named`, (target) =>
        refused(target, Object.fromEntries([bad.split('=')]), bad.split('=')[0] as string),
      ),
    ),
    rule('a missing or wrong credential is 401 with the envelope and a Message', async (target) => {
      for (const as of ['nobody', 'wrong'] as const) {
        const { status, json } = await target.get(path, as);
        deepEqual([status, json.error_code !== 0, json.Message], [401, true, json.error_description]);
      }
    }),
    ...fieldRules({ section: SECTION, of: what, read: (target) => whole(target, table), fields: table.fields }),
  ];
}

/** A record of another kind, inside that of a device. */
const within = (of: string, read: (row: Row) => Row[], fields: FieldTable['fields']): Rule[] =>
  fieldRules({
    section: SECTION,
    of: `v2 devices, ${of}`,
    read: async (target) => (await whole(target, DEVICES)).flatMap(read),
    fields,
  });

const DETAIL_RULES: Rule[] = [
  ...within('extra_details', (row) => [row.extra_details], {
    emails: 'strings',
    number_of_users: 'integer',
    role_names: 'strings',
    trust: 'object',
    trustscore: 'object',
  }),
  ...within('extra_details.trust', (row) => [row.extra_details.trust], {
    value: 'integer',
    level: 'string',
    status: 'string',
    last_evaluated: 'object',
    expired_at: 'integer',
    factors: 'list',
  }),
  ...within('extra_details.trust.factors', (row) => row.extra_details.trust.factors, {
    name: 'string',
    value: 'string',
    type: 'string',
    source: 'string',
    description: 'string',
    remediation: 'object',
  }),
  ...within('extra_details.trust.last_evaluated', (row) => [row.extra_details.trust.last_evaluated], {
    value: 'integer',
    level: 'string',
    timestamp: 'integer',
  }),
  ...within(
    'extra_details.trust.factors.remediation',
    (row) => row.extra_details.trust.factors.map((each: Row) => each.remediation),
    { description: 'string', url: 'string' },
  ),
  ...within('extra_details.trustscore', (row) => [row.extra_details.trustscore], {
    id: 'string',
    type: 'string',
    timestamp: 'integer',
    score: 'integer',
  }),
];

/** Lists are parted in two, and a word of version 1 is as good as an integer. */
const parted = ({ what, addresses: [path = ''] }: ListTable, name: string): Rule => ({
  section: SECTION,
  line: `${what}: \`${name}\` parts the list in two; \`true\` is \`1\`, and \`false\` is \`0\``,
  async check(target) {
    const count = async (value?: string) =>
      (await page(target, path, { limit: 1, ...(value ? { [name]: value } : {}) })).count as number;
    equal((await count('true')) + (await count('false')), await count());
    deepEqual([await count('1'), await count('0')], [await count('true'), await count('false')]);
  },
});

const ENDUSER_RULES: Rule[] = [
  parted(ENDUSERS, 'active'),
  {
    section: SECTION,
    line: 'v2 end users: `active=true` gives those whose status is `Active`',
    async check(target) {
      const all = await whole(target, ENDUSERS);
      const data = await page(target, '/api/v2/enduser', { active: 'true', limit: 1 });
      equal(data.count, all.filter((each) => each.status === 'Active').length);
    },
  },
  {
    section: SECTION,
    line: 'v2 end users: `id` is unique, and `org_id` that of the events',
    async check(target) {
      const all = await whole(target, ENDUSERS);
      equal(new Set(all.map((each) => each.id)).size, all.length);
      const [event] = (await target.get('/api/v1/events?limit=1')).json.data;
      ok(all.every((each) => each.org_id === event.org_id));
    },
  },
  ...['role_names', 'security_roles'].map(
    (name): Rule => ({
      section: SECTION,
      line: `v2 end users: \`${name}\` gives the users that have any of these roles, separated by a pipe`,
      async check(target) {
        const all = await whole(target, ENDUSERS);
        const names = [...new Set(all.flatMap((each) => each.security_roles as string[]))].slice(0, 2);
        pick(names, () => true, 'user with a role');
        const data = await page(target, '/api/v2/enduser', { [name]: names.join('|'), limit: 1 });
        equal(
          data.count,
          all.filter((each) => each.security_roles.some((role: string) => names.includes(role))).length,
        );
      },
    }),
  ),
];

const DEVICE_RULES: Rule[] = [
  ...['mdm_present', 'banned'].map(
    (name): Rule => ({
      section: SECTION,
      line: `v2 devices: \`${name}=yes\` is 400 and named`,
      async check(target) {
        const { status, json } = await target.get(`${DEVICES.addresses[0]}?${name}=yes`);
        equal(status, 400);
        match(json.Message, new RegExp(name));
      },
    }),
  ),
  {
    section: SECTION,
    line: 'v2 devices: `role_names` gives the devices that have any of these roles, separated by a pipe',
    async check(target) {
      const all = await whole(target, DEVICES);
      const names = [...new Set(all.flatMap((each) => each.role_names as string[]))].slice(0, 2);
      pick(names, () => true, 'device with a role');
      const data = await page(target, '/api/v2/devices', { role_names: names.join('|'), limit: 1 });
      equal(data.count, all.filter((each) => each.role_names.some((name: string) => names.includes(name))).length);
    },
  },
  ...['active', 'banned', 'mdm_present'].map((name) => parted(DEVICES, name)),
  {
    section: SECTION,
    line: 'v2 devices: `extra_details.emails` are the addresses that version 1 has',
    async check(target) {
      const all = await whole(target, DEVICES);
      const one = pick(all, (each) => each.extra_details.emails.length > 0, 'device with an e-mail address');
      const older = (await target.get(`/api/v1/devices${query({ Serialnumber: one.serial_number })}`)).json as Row[];
      const same = older.find((each) => each.DeviceID === one.id);
      deepEqual([...one.extra_details.emails].sort(), [...same.Emails].sort());
    },
  },
];

export const V2_RULES: Rule[] = [
  ...rulesOf(DEVICES),
  ...rulesOf(ENDUSERS),
  ...DEVICE_RULES,
  ...DETAIL_RULES,
  ...ENDUSER_RULES,
];
