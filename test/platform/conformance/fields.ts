// conformance: one line for each field of each record.
// In: the specification's tables of fields. Out: rules that look at every record of a list: a field that is there has its type, and the
// fields that must be there are.
import { fail } from 'node:assert/strict';
import { devices, events, PATHS, type Row, services, users, withBundle, withService } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

type Kind =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'strings'
  | 'flag'
  | 'object'
  | 'list'
  | 'json text'
  | 'flag or empty'
  | 'bit'
  | 'bit or null'
  | 'strings or null';

const IS: Record<Kind, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  strings: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  'strings or null': (value) => value === null || IS.strings(value),
  flag: (value) => value === 'TRUE' || value === 'FALSE',
  'flag or empty': (value) => value === 'TRUE' || value === 'FALSE' || value === '',
  bit: (value) => value === 0 || value === 1,
  'bit or null': (value) => value === null || IS.bit(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  list: Array.isArray,
  'json text': (value) => typeof value === 'string' && (value === '' || typeof JSON.parse(value) === 'object'),
};

export interface FieldTable {
  section: string;
  /** Before each line, where a section has fields of several records. */
  of?: string;
  /** Where records of this kind come from. */
  read(target: Target): Promise<Row[]>;
  fields: Record<string, Kind>;
  /** Reading needs something to be made first. */
  writes?: boolean;
}

const TRUST_FIELDS = {
  EntityTrustscore: 'integer',
  OverrideTrustscore: 'integer',
  AccessTrustscore: 'integer',
  OverrideActive: 'flag',
  Level: 'string',
  UpdatedAt: 'integer',
  Factors: 'list',
} as const;

const TABLES: FieldTable[] = [
  {
    section: 'Enduser',
    read: (target) => users(target),
    fields: {
      Name: 'string',
      Email: 'string',
      Groups: 'string',
      LastLogin: 'integer',
      LoginCount: 'integer',
      SerialNumbers: 'strings',
      TrustData: 'object',
      Roles: 'strings',
    },
  },
  {
    section: 'Device',
    read: (target) => devices(target),
    fields: {
      DeviceID: 'string',
      SerialNumber: 'string',
      DeviceFriendlyName: 'string',
      Emails: 'strings',
      LastLogin: 'integer',
      LoginCount: 'integer',
      Ownership: 'string',
      Platform: 'string',
      Model: 'string',
      Architecture: 'string',
      RegisteredStatus: 'flag',
      MdmData: 'object',
      TrustData: 'object',
      Roles: 'strings',
      Banned: 'flag',
      OS: 'string',
      AppVersion: 'string',
    },
  },
  {
    section: 'MdmData',
    read: async (target) => (await devices(target)).map((each) => each.MdmData),
    fields: { Timestamp: 'integer', Source: 'string', CompromisedStatus: 'flag', CompliantStatus: 'flag or empty' },
  },
  {
    section: 'TrustData',
    read: async (target) => [...(await devices(target)), ...(await users(target))].map((each) => each.TrustData),
    fields: TRUST_FIELDS,
  },
  {
    section: 'Factor',
    read: async (target) => (await devices(target)).flatMap((each) => each.TrustData.Factors),
    fields: {
      Name: 'string',
      Value: 'string',
      Type: 'string',
      Source: 'string',
      Description: 'string',
      RemediationDescription: 'string',
      RemediationURL: 'string',
    },
  },
  {
    section: 'Event',
    read: (target) => events(target),
    fields: {
      id: 'string',
      org_id: 'string',
      org_name: 'string',
      severity: 'string',
      action: 'string',
      type: 'string',
      sub_type: 'string',
      message: 'string',
      result: 'string',
      created_at: 'integer',
    },
  },
  {
    section: 'Event',
    read: async (target) => (await target.get(PATHS.feed + query({ limit: 100 }))).json.data,
    fields: { messages: 'string', group_id: 'string' },
  },
  {
    section: 'Event: user_principal.device',
    read: async (target) => (await events(target)).flatMap((each) => each.user_principal?.device ?? []),
    fields: {
      id: 'string',
      friendly_name: 'string',
      mac_address: 'string',
      serial_number: 'string',
      registration_status: 'string',
      compromised_status: 'string',
      compliance_status: 'string',
      oem_info: 'string',
      model: 'string',
      platform: 'string',
      ownership: 'string',
      architecture: 'string',
      udid: 'string',
      source: 'string',
      last_mdm_data_synced_at: 'integer',
    },
  },
  {
    section: 'Event: user_principal.user',
    read: async (target) => (await events(target)).flatMap((each) => each.user_principal?.user ?? []),
    fields: { email: 'string', groups: 'strings', roles: 'strings' },
  },
  {
    section: 'Registered service',
    read: (target) => services(target),
    fields: {
      ServiceID: 'string',
      ServiceName: 'string',
      FriendlyName: 'string',
      ClusterName: 'string',
      ServiceType: 'string',
      ServiceDiscovery: 'string',
      ServiceVersion: 'integer',
      Description: 'string',
      CreatedAt: 'integer',
      LastUpdatedAt: 'integer',
      DeletedAt: 'integer',
      CreatedBy: 'string',
      LastUpdatedBy: 'string',
      DeletedBy: 'string',
      External: 'string',
      OIDCEnabled: 'flag',
      OIDCClientSpec: 'json text',
      ServiceSpec: 'json text',
      UserFacing: 'flag',
      Protocol: 'string',
      Domain: 'string',
      Port: 'integer',
      Enabled: 'flag',
    },
  },
  {
    section: 'Registered service',
    writes: true,
    read: (target) => collect((keep) => withService(target, async (record) => keep([record]))),
    fields: { IsDefault: 'boolean' },
  },
  {
    section: 'Service bundle',
    writes: true,
    read: (target) => collect((keep) => withBundle(target, async (bundle) => keep([bundle]))),
    fields: {
      id: 'string',
      bundle_name: 'string',
      description: 'string',
      is_admin_created: 'boolean',
      bulk_connect: 'boolean',
      created_at: 'integer',
      updated_at: 'integer',
      service_ids: 'strings',
    },
  },
  {
    section: 'Bundled service (association of a service with a bundle)',
    writes: true,
    read: (target) =>
      collect((keep) =>
        withBundle(target, async (bundle, [one, two]) => {
          const body = { bundle_id: bundle.id, service_ids: [one, two] };
          keep((await target.call('POST', PATHS.serviceBundle, body)).json.data.bundled_services);
        }),
      ),
    fields: {
      id: 'string',
      org_id: 'string',
      bundle_id: 'string',
      service_id: 'string',
      created_at: 'integer',
      updated_at: 'integer',
    },
  },
  {
    section: 'Bundle envelope',
    writes: true,
    read: (target) =>
      collect((keep) =>
        withBundle(target, async (bundle) => keep([(await target.get(`${PATHS.bundle}/${bundle.id}`)).json])),
      ),
    fields: { request_id: 'string', error_code: 'integer', error_description: 'string', data: 'object' },
  },
];

async function collect(work: (keep: (rows: Row[]) => void) => Promise<void>): Promise<Row[]> {
  let kept: Row[] = [];
  await work((rows) => {
    kept = rows;
  });
  return kept;
}

export function fieldRules({ section, of, read, fields, writes }: FieldTable): Rule[] {
  return Object.entries(fields).map(([field, kind]) => ({
    section,
    line: `${of === undefined ? '' : `${of}: `}\`${field}\` is ${kindText(kind)}`,
    ...(writes ? { writes } : {}),
    check: async (target: Target) => {
      const rows = await read(target);
      if (rows.length === 0) fail('no record of this kind came');
      const wrong = rows.find((row) => !IS[kind](row[field]));
      if (wrong) fail(`\`${field}\` is ${JSON.stringify(wrong[field])?.slice(0, 100) ?? 'absent'}`);
    },
  }));
}

export const FIELD_RULES: Rule[] = TABLES.flatMap(fieldRules);

function kindText(kind: Kind): string {
  const texts: Partial<Record<Kind, string>> = {
    strings: 'an array of strings',
    'strings or null': 'an array of strings, or null',
    flag: '`"TRUE"` or `"FALSE"`',
    'flag or empty': '`"TRUE"`, `"FALSE"` or empty',
    bit: '0 or 1',
    'bit or null': '0, 1 or null',
    'json text': 'JSON encoded as a string',
    list: 'an array',
  };
  return texts[kind] ?? `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
}
