// rules: the types that facts and expressions have, and how a path is looked up in a record's schema.
// In: a schema and a path. Out: the field's type, or undefined. Nothing here looks at data.

import type { GivenSource, GivenType } from '../../domain/given-facts.ts';
import {
  EVENT_ACTION_NAMES,
  EVENT_SEVERITIES,
  EVENT_SUB_TYPES,
  EVENT_TYPES,
  OWNERSHIPS,
  PLATFORMS,
  TRUST_LEVELS,
} from '../../domain/platform-values.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

/** The unit of a timestamp. `any`: known by its magnitude when it is read. */
export type TimeUnit = 'ns' | 'ms' | 's' | 'any';

export type ValueType =
  | { kind: 'boolean' }
  /** The result of `and` and `or` over lists. Can only stand where a condition is expected. */
  | { kind: 'condition' }
  /**
   * `values`: the known ones; another one is a mistake of a rule. `isClosed`: and unknown in a record. `usual`: others are no mistake. `style`: texts that must
   * not be compared as plain text.
   */
  | {
      kind: 'text';
      values?: readonly string[];
      isClosed?: true;
      usual?: readonly string[];
      style?: 'version' | 'groups' | 'level';
    }
  /** `"TRUE"` or `"FALSE"`. An empty flag is unknown. */
  | { kind: 'flag' }
  | { kind: 'number' }
  /** A trust score, 0 to 100. */
  | { kind: 'score' }
  | { kind: 'time'; unit: TimeUnit }
  /** Seconds, as `age` and `since_last_event` give. */
  | { kind: 'seconds' }
  | { kind: 'list'; of: ValueType }
  | { kind: 'record'; fields: RecordFields }
  /** Not known yet: takes the type that its use expects. */
  | { kind: 'any' }
  /** The type of a part that was refused: silences errors that only follow from it. */
  | { kind: 'refused' };

export interface Field {
  type: ValueType;
  /** The specification gives it in the unpaged list only. */
  unpagedOnly?: true;
}
type RecordFields = ReadonlyMap<string, Field>;

export const BOOLEAN: ValueType = { kind: 'boolean' };
export const TEXT: ValueType = { kind: 'text' };
export const FLAG: ValueType = { kind: 'flag' };
export const NUMBER: ValueType = { kind: 'number' };
export const SCORE: ValueType = { kind: 'score' };
export const SECONDS: ValueType = { kind: 'seconds' };
export const ANY: ValueType = { kind: 'any' };
export const REFUSED: ValueType = { kind: 'refused' };
const TIME_NS: ValueType = { kind: 'time', unit: 'ns' };

export const listOf = (of: ValueType): ValueType => ({ kind: 'list', of });
const textOf = (...values: string[]): ValueType => ({ kind: 'text', values });
export const recordOf = (fields: { [name: string]: ValueType }): ValueType & { kind: 'record' } => ({
  kind: 'record',
  fields: fieldsOf(fields),
});
const fieldsOf = (fields: { [name: string]: ValueType }): RecordFields =>
  new Map(Object.entries(fields).map(([name, type]) => [name, { type }]));

/** The field at a path inside a type; list elements by number (`Roles.0`). Undefined when there is none. */
export function fieldAt(type: ValueType, segments: readonly string[]): Field | undefined {
  let field: Field = { type };
  let unpagedOnly = false;
  for (const segment of segments) {
    const next = childOf(field.type, segment);
    if (!next) return undefined;
    unpagedOnly ||= next.unpagedOnly === true;
    field = next;
  }
  return unpagedOnly ? { type: field.type, unpagedOnly: true } : field;
}

function childOf(type: ValueType, segment: string): Field | undefined {
  if (type.kind === 'record') return type.fields.get(segment);
  if (type.kind === 'list' && /^(0|[1-9]\d{0,5})$/.test(segment)) return { type: type.of };
  if (type.kind === 'any') return { type: ANY };
  return undefined;
}

/** Every path of a type, for suggestions: `MdmData`, `MdmData.Timestamp`, … Lists are not entered. */
export function pathsOf(type: ValueType, prefix = ''): string[] {
  if (type.kind !== 'record') return [];
  const paths: string[] = [];
  for (const [name, field] of type.fields) {
    paths.push(prefix + name, ...pathsOf(field.type, `${prefix}${name}.`));
  }
  return paths;
}

/** A type in the words that messages use. */
export function typeName(type: ValueType): string {
  switch (type.kind) {
    case 'text':
      return type.style === 'version'
        ? 'a version'
        : type.style === 'groups'
          ? 'a list of groups in one text'
          : 'a text';
    case 'flag':
      return 'a flag ("TRUE" or "FALSE")';
    case 'boolean':
    case 'condition':
      return 'a boolean';
    case 'number':
      return 'a number';
    case 'score':
      return 'a trust score (0 to 100)';
    case 'time':
      return type.unit === 'any' ? 'a timestamp' : `a timestamp in ${UNIT_NAMES[type.unit]}`;
    case 'seconds':
      return 'a time span in seconds';
    case 'list':
      return `a list${type.of.kind === 'any' || type.of.kind === 'refused' ? '' : ` (of ${typeName(type.of).replace(/^an? /, '')}s)`}`;
    case 'record':
      return 'a record';
    default:
      return 'of unknown type';
  }
}

export const UNIT_NAMES = { ns: 'nanoseconds', ms: 'milliseconds', s: 'seconds', any: 'any unit' } as const;

/** Fields of one text each. */
const texts = (names: string): { [name: string]: ValueType } =>
  Object.fromEntries(names.split(' ').map((name) => [name, TEXT]));

const FACTOR = recordOf(texts('Name Value Type Source Description RemediationDescription RemediationURL'));

const TRUST_DATA = recordOf({
  EntityTrustscore: SCORE,
  OverrideTrustscore: SCORE,
  AccessTrustscore: SCORE,
  OverrideActive: FLAG,
  Level: { kind: 'text', values: TRUST_LEVELS, style: 'level' },
  UpdatedAt: TIME_NS,
  Factors: listOf(FACTOR),
});

// The schema of a device record (management-api.md, "Device" and "MdmData"; field-notes.md).

const VERSION: ValueType = { kind: 'text', style: 'version' };

/** Fields that only unpaged lists have. */
const unpaged = (fields: { [name: string]: ValueType }): [string, Field][] =>
  Object.entries(fields).map(([name, type]) => [name, { type, unpagedOnly: true }]);

const DEVICE: ValueType & { kind: 'record' } = {
  kind: 'record',
  fields: new Map([
    ...fieldsOf({
      ...texts('DeviceID SerialNumber DeviceFriendlyName'),
      Ownership: textOf(...OWNERSHIPS),
      Platform: { kind: 'text', usual: PLATFORMS },
      ...texts('Model Architecture'),
      RegisteredStatus: FLAG,
      MdmData: recordOf({ Timestamp: TIME_NS, Source: TEXT, CompromisedStatus: FLAG, CompliantStatus: FLAG }),
      TrustData: TRUST_DATA,
      Roles: listOf(TEXT),
      Banned: FLAG,
      OS: VERSION,
      AppVersion: VERSION,
      CreatedAt: TIME_NS,
    }),
    ...unpaged({ Emails: listOf(TEXT), LastLogin: TIME_NS, LoginCount: NUMBER }),
  ]),
};

// The schema of one event, which `where` and `of` read (management-api.md, "Event"; field-notes.md, "Events carry more
// than the example").

const TEXTS = listOf(TEXT);
const ENDPOINT = recordOf(
  texts('service_id service_name service_version container_id container_name host_name ip port'),
);

const PRINCIPAL = recordOf({
  device: recordOf({
    ...texts('id friendly_name mac_address serial_number registration_status compromised_status compliance_status'),
    ...texts('oem_info model platform ownership architecture udid source'),
    unregistered: BOOLEAN,
    last_mdm_data_synced_at: { kind: 'time', unit: 'any' },
  }),
  user: recordOf({ email: TEXT, groups: TEXTS, roles: TEXTS }),
  client: recordOf({ user_agent: TEXT, ip_address: TEXT }),
});

const EVENT: ValueType & { kind: 'record' } = recordOf({
  ...texts('id external_id org_id org_name group_id'),
  severity: textOf(...EVENT_SEVERITIES),
  action: textOf(...EVENT_ACTION_NAMES),
  type: textOf(...EVENT_TYPES),
  sub_type: textOf(...EVENT_SUB_TYPES),
  ...texts('message messages result'),
  channel: ANY,
  policy: ANY,
  /** Records with a name; names from some servers. */
  role: listOf(ANY),
  created_at: { kind: 'time', unit: 'ms' },
  user_principal: PRINCIPAL,
  workload_principal: recordOf({ workload_set: recordOf({ container_id: TEXT, app_name: TEXT }) }),
  service: recordOf({ id: TEXT, name: TEXT, type: TEXT, version: TEXT }),
  trustscore: recordOf({ id: TEXT, type: TEXT, timestamp: { kind: 'time', unit: 'ns' }, score: SCORE }),
  link: recordOf({ source: ENDPOINT, destination: ENDPOINT }),
});

// The schema of a registered-service record and of the spec inside it (management-api.md, "Registered service",
// "Service spec").

const SERVICE: ValueType & { kind: 'record' } = recordOf({
  ...texts('ServiceID ServiceName ClusterName'),
  ServiceType: textOf('user-defined', 'unknown', 'origin'),
  ServiceDiscovery: TEXT,
  ServiceVersion: NUMBER,
  Description: TEXT,
  CreatedAt: TIME_NS,
  LastUpdatedAt: TIME_NS,
  DeletedAt: TIME_NS,
  ...texts('CreatedBy LastUpdatedBy DeletedBy External'),
  OIDCEnabled: FLAG,
  ServiceSpec: TEXT,
  UserFacing: FLAG,
  Protocol: TEXT,
  Domain: TEXT,
  Port: NUMBER,
  Enabled: FLAG,
  IsDefault: BOOLEAN,
});
const ADDRESSES = listOf(recordOf({ cidr: TEXT, port: TEXT }));
const PATTERN = recordOf({
  hosts: listOf(recordOf({ origin_header: TEXTS, target: TEXTS })),
  methods: TEXTS,
  mandatory_headers: TEXTS,
  paths: TEXTS,
  source_cidrs: TEXTS,
});

const HTTP_SETTINGS = recordOf({
  enabled: BOOLEAN,
  oidc_settings: recordOf({
    enabled: BOOLEAN,
    ...texts('service_domain_name post_auth_redirect_path api_path'),
    suppress_device_trust_verification: BOOLEAN,
  }),
  http_health_check: recordOf({
    enabled: BOOLEAN,
    ...texts('method path user_agent'),
    from_address: TEXTS,
    https: BOOLEAN,
  }),
  http_redirect: recordOf({ enabled: BOOLEAN, addresses: ANY, from_address: ANY, url: TEXT, status_code: NUMBER }),
  exempted_paths: recordOf({ enabled: BOOLEAN, paths: TEXTS, patterns: listOf(PATTERN) }),
});

/** `$spec`: the ServiceSpec text, parsed. */
const SERVICE_SPEC: ValueType & { kind: 'record' } = recordOf({
  ...texts('kind apiVersion type'),
  metadata: recordOf({
    ...texts('name description cluster user_facing protocol domain port'),
    tags: recordOf(texts('template user_facing protocol domain port icon service_app_type')),
  }),
  spec: recordOf({
    attributes: recordOf({ frontend_addresses: ADDRESSES, host_tag_selector: listOf(ANY), tls_sni: TEXTS }),
    backend: recordOf({
      target: recordOf({ name: TEXT, port: TEXT, tls: BOOLEAN, tls_insecure: BOOLEAN, client_certificate: BOOLEAN }),
      dns_overrides: ANY,
      whitelist: TEXTS,
      http_connect: BOOLEAN,
      allow_patterns: listOf(ANY),
    }),
    cert_settings: recordOf({
      letsencrypt: BOOLEAN,
      dns_names: TEXTS,
      custom_tls_cert: recordOf({ enabled: BOOLEAN, cert_file: TEXT, key_file: TEXT }),
    }),
    http_settings: HTTP_SETTINGS,
    client_cidrs: listOf(ANY),
  }),
});

const USER: ValueType & { kind: 'record' } = {
  kind: 'record',
  fields: new Map([
    ...fieldsOf({
      Name: TEXT,
      Email: TEXT,
      Groups: { kind: 'text', style: 'groups' },
      TrustData: TRUST_DATA,
      Roles: listOf(TEXT),
      CreatedAt: TIME_NS,
    }),
    ...unpaged({ LastLogin: TIME_NS, LoginCount: NUMBER, SerialNumbers: listOf(TEXT) }),
  ]),
};

/** The schema of a subject's record, or of an event. */
export function recordType(subject: SubjectKind | 'event'): ValueType & { kind: 'record' } {
  return { device: DEVICE, user: USER, service: SERVICE, event: EVENT }[subject];
}

/** The names beyond the record that a rule of this subject can read. */
export const VIRTUAL_NAMES: Record<SubjectKind | 'event', readonly string[]> = {
  device: ['$now', '$owners'],
  user: ['$now', '$devices'],
  service: ['$now', '$spec'],
  event: [],
};

/** `$now`: the time of the run. */
export const NOW_TYPE: ValueType = { kind: 'time', unit: 'ms' };

/** The type of a name that begins with `$` in a rule of this subject; `$now` is not a record, and `var` handles it. */
export function virtualType(subject: SubjectKind | 'event', name: string): ValueType | undefined {
  if (subject === 'device' && name === '$owners') return listOf(USER);
  if (subject === 'user' && name === '$devices') return listOf(DEVICE);
  if (subject === 'service' && name === '$spec') return SERVICE_SPEC;
  return undefined;
}

const GIVEN_VALUES: Record<GivenType, ValueType> = {
  text: TEXT,
  version: { kind: 'text', style: 'version' },
  number: NUMBER,
  boolean: BOOLEAN,
  flag: FLAG,
  time: { kind: 'time', unit: 'ms' },
  texts: listOf(TEXT),
};

/** The type of `$facts.NAME`. */
export function givenType({ fields }: Pick<GivenSource, 'fields'>): ValueType & { kind: 'record' } {
  return recordOf(Object.fromEntries(fields.map(({ name, type }) => [name, GIVEN_VALUES[type]])));
}
