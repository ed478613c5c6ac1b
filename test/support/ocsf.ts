// support: whether an event is one of OCSF 1.7.0, or an envelope of CloudEvents 1.0. In: an event as a receiver parses it. Out: what is wrong with it,
// one line each. The facts are those of github.com/ocsf/ocsf-schema at its tag v1.7.0 (events, objects, dictionary, the profile `host`) and of the
// JSON schema that github.com/cloudevents/spec publishes at v1.0: names, types, requirements, ids and captions. An attribute of OCSF that no event
// of ours has is not among the types, and is refused.

// Types by the dictionary; `[]`: a list; another name: an object.

const DICTIONARY: { readonly [attribute: string]: string } = {
  ...of('string_t', 'activity_name app_name category_name class_name command_uid correlation_uid desc event_code'),
  ...of('string_t', 'log_name message model name operation role serial_number severity status status_code'),
  ...of('string_t', 'status_detail svc_name title type type_name uid value vendor_name version'),
  ...of('string_t[]', 'labels profiles types'),
  ...of('integer_t', 'activity_id category_uid class_uid role_id sequence severity_id status_id type_id'),
  ...of('timestamp_t', 'created_time first_seen_time start_time time'),
  ...{ type_uid: 'long_t', is_alert: 'boolean_t', email_addr: 'email_t', data: 'json_t', unmapped: 'object' },
  ...of('user', 'owner user'),
  ...{ hw_info: 'device_hw_info', src_endpoint: 'network_endpoint', resources: 'resource_details[]' },
  ...{ evidences: 'evidences[]', observables: 'observable[]' },
  ...Object.fromEntries(
    'actor analytic api device finding_info metadata os product remediation request service'
      .split(' ')
      .map((name) => [name, name]),
  ),
};

function of(type: string, names: string): { [attribute: string]: string } {
  return Object.fromEntries(names.split(' ').map((name) => [name, type]));
}

type Captions = { readonly [id: number]: string };

interface Kind {
  extends?: string;
  required?: string;
  /** Recommended and optional. */
  others?: string;
  atLeastOne?: string;
  types?: { readonly [attribute: string]: string };
  enums?: { readonly [attribute: string]: Captions };
}

const UNKNOWN_OTHER: Captions = { 0: 'Unknown', 99: 'Other' };
const ENUMS: { readonly [attribute: string]: Captions } = {
  activity_id: UNKNOWN_OTHER,
  type_id: UNKNOWN_OTHER,
  role_id: UNKNOWN_OTHER,
  status_id: { ...UNKNOWN_OTHER, 1: 'Success', 2: 'Failure' },
  severity_id: {
    ...UNKNOWN_OTHER,
    ...{ 1: 'Informational', 2: 'Low', 3: 'Medium', 4: 'High', 5: 'Critical', 6: 'Fatal' },
  },
};
const SIBLINGS: { readonly [id: string]: string } = {
  ...{ activity_id: 'activity_name', category_uid: 'category_name', class_uid: 'class_name', type_uid: 'type_name' },
  ...{ severity_id: 'severity', status_id: 'status', type_id: 'type', role_id: 'role' },
};

const CLASSES: { readonly [uid: number]: Kind & { name: string; category: readonly [number, string] } } = {
  2004: {
    name: 'Detection Finding',
    category: [2, 'Findings'],
    extends: 'finding',
    others:
      'anomaly_analyses confidence confidence_id confidence_score evidences impact impact_id impact_score is_alert malware malware_scan_info remediation resources risk_details risk_level risk_level_id risk_score vulnerabilities',
  },
  6003: {
    name: 'API Activity',
    category: [6, 'Application Activity'],
    extends: 'base_event',
    required: 'actor api src_endpoint',
    others: 'dst_endpoint http_request http_response resources',
    enums: { activity_id: { 1: 'Create', 2: 'Read', 3: 'Update', 4: 'Delete' } },
  },
  7001: {
    name: 'Remediation Activity',
    category: [7, 'Remediation'],
    extends: 'base_event',
    required: 'command_uid',
    others: 'countermeasures remediation scan',
    enums: {
      activity_id: { 1: 'Isolate', 2: 'Evict', 3: 'Restore', 4: 'Harden', 5: 'Detect' },
      status_id: { 3: 'Does Not Exist', 4: 'Partial', 5: 'Unsupported', 6: 'Error' },
    },
  },
};

/** What a profile in `metadata.profiles` adds to a class. */
const PROFILES: { readonly [name: string]: string } = { host: 'device actor' };

const KINDS: { readonly [name: string]: Kind } = {
  base_event: {
    required: 'activity_id category_uid class_uid metadata severity_id time type_uid',
    others:
      'activity_name category_name class_name count duration end_time enrichments message observables raw_data raw_data_hash raw_data_size severity start_time status status_code status_detail status_id timezone_offset type_name unmapped',
  },
  finding: {
    extends: 'base_event',
    required: 'finding_info',
    others: 'comment confidence confidence_id confidence_score device vendor_attributes',
    enums: {
      activity_id: { 1: 'Create', 2: 'Update', 3: 'Close' },
      status_id: {
        ...{ 1: 'New', 2: 'In Progress', 3: 'Suppressed', 4: 'Resolved', 5: 'Archived', 6: 'Deleted' },
      },
    },
  },
  _entity: { others: 'name uid', atLeastOne: 'name uid' },
  _resource: {
    extends: '_entity',
    others: 'created_time data labels modified_time tags type uid_alt',
    types: { uid: 'resource_uid_t', uid_alt: 'resource_uid_t' },
  },
  actor: {
    others: 'app_name app_uid authorizations idp invoked_by process session user',
    atLeastOne: 'process user invoked_by session app_name app_uid',
  },
  analytic: {
    extends: '_entity',
    required: 'type_id',
    others: 'algorithm category desc related_analytics state state_id type version',
    enums: { type_id: { 1: 'Rule', 2: 'Behavioral', 3: 'Statistical', 4: 'Learning (ML/DL)', 5: 'Fingerprinting' } },
  },
  api: { required: 'operation', others: 'group request response service version' },
  device: {
    extends: 'endpoint',
    required: 'type_id',
    others:
      'autoscale_uid boot_time boot_uid created_time desc eid first_seen_time groups hypervisor iccid image imei imei_list is_backed_up is_compliant is_managed is_mobile_account_active is_personal is_shared is_supervised is_trusted last_seen_time meid model modified_time network_interfaces org os_machine_uuid region risk_level risk_level_id risk_score subnet udid uid_alt vendor_name',
  },
  device_hw_info: {
    others:
      'bios_date bios_manufacturer bios_ver chassis cpu_architecture cpu_architecture_id cpu_bits cpu_cores cpu_count cpu_speed cpu_type desktop_display keyboard_info ram_size serial_number uuid vendor_name',
  },
  endpoint: {
    extends: '_entity',
    others:
      'agent_list domain hostname hw_info instance_uid interface_name interface_uid ip location mac os owner subnet_uid type type_id vlan_uid vpc_uid zone',
    atLeastOne: 'ip uid name hostname instance_uid interface_uid interface_name',
    enums: {
      type_id: {
        ...{ 1: 'Server', 2: 'Desktop', 3: 'Laptop', 4: 'Tablet', 5: 'Mobile', 6: 'Virtual', 7: 'IOT', 8: 'Browser' },
        ...{ 9: 'Firewall', 10: 'Switch', 11: 'Hub', 12: 'Router', 13: 'IDS', 14: 'IPS', 15: 'Load Balancer' },
      },
    },
  },
  evidences: {
    extends: '_entity',
    others:
      'actor api connection_info container data database databucket device dst_endpoint email file job process query resources script src_endpoint tls url user verdict verdict_id',
    atLeastOne:
      'actor api connection_info data database databucket device dst_endpoint email file process query resources src_endpoint url user job script',
  },
  finding_info: {
    required: 'uid',
    others:
      'analytic attack_graph attacks created_time data_sources desc first_seen_time kill_chain last_seen_time modified_time product product_uid related_analytics related_events related_events_count src_url tags title traits types uid_alt',
  },
  metadata: {
    required: 'product version',
    others:
      'correlation_uid debug event_code extension extensions is_truncated labels log_format log_level log_name log_provider log_source log_version logged_time loggers modified_time original_event_uid original_time processed_time profiles reporter sequence source tags tenant_uid transformation_info_list transmit_time type uid untruncated_size',
  },
  network_endpoint: {
    extends: 'endpoint',
    others:
      'autonomous_system intermediate_ips isp isp_org network_scope network_scope_id port proxy_endpoint svc_name',
    atLeastOne: 'ip uid name hostname svc_name instance_uid interface_uid interface_name domain',
  },
  observable: {
    required: 'type_id',
    others: 'event_uid name reputation type type_uid value',
    // Of types and attributes that are observable.
    enums: {
      type_id: {
        ...{ 4: 'User Name', 5: 'Email Address', 10: 'Resource UID', 37: 'Serial Number', 47: 'Device: uid' },
      },
    },
  },
  os: {
    required: 'name type_id',
    others: 'build country cpe_name cpu_bits edition kernel_release lang sp_name sp_ver type version',
    enums: {
      type_id: {
        ...{ 100: 'Windows', 101: 'Windows Mobile', 200: 'Linux', 201: 'Android', 300: 'macOS', 301: 'iOS' },
        ...{ 302: 'iPadOS', 400: 'Solaris', 401: 'AIX', 402: 'HP-UX' },
      },
    },
  },
  product: { extends: '_entity', others: 'cpe_name feature lang path url_string vendor_name version' },
  remediation: { required: 'desc', others: 'cis_controls kb_article_list kb_articles references' },
  request: { required: 'uid', others: 'containers data flags' },
  resource_details: {
    extends: '_resource',
    others:
      'agent_list criticality group hostname ip is_backed_up namespace owner resource_relationship role role_id version',
    enums: { role_id: { 1: 'Target', 2: 'Actor', 3: 'Affected', 4: 'Related' } },
  },
  service: { extends: '_entity', others: 'labels tags version' },
  user: {
    extends: '_entity',
    others:
      'account credential_uid display_name domain email_addr forward_addr full_name groups has_mfa ldap_person org phone_number programmatic_credentials risk_level risk_level_id risk_score type type_id uid_alt',
    atLeastOne: 'account name uid',
    types: { name: 'username_t' },
    enums: { type_id: { 1: 'User', 2: 'Admin', 3: 'System', 4: 'Service' } },
  },
};

/** From the object or class itself to the one that it extends last. */
function line(kind: Kind): Kind[] {
  const parent = kind.extends === undefined ? undefined : KINDS[kind.extends];
  return [kind, ...(parent ? line(parent) : [])];
}

const words = (text = '') => text.split(' ').filter(Boolean);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const SIMPLE: { readonly [type: string]: (value: unknown) => boolean } = {
  boolean_t: (value) => typeof value === 'boolean',
  // 4 bytes are the least that a reader gives an integer.
  integer_t: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  long_t: Number.isSafeInteger,
  timestamp_t: (value) => Number.isSafeInteger(value) && Number(value) > 1e12 && Number(value) < 1e13,
  ...Object.fromEntries(
    ['string_t', 'username_t', 'resource_uid_t'].map((type) => [type, (value: unknown) => typeof value === 'string']),
  ),
  email_t: (value) => /^[a-zA-Z0-9!#$%&'*+-/=?^_`{|}~.]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$/.test(String(value)),
  json_t: (value) => value !== undefined,
  object: isObject,
};

/** What is wrong with an event of OCSF; empty when nothing is. */
export function ocsfFaults(event: unknown): string[] {
  if (!isObject(event)) return ['it is no object'];
  const found = CLASSES[Number(event.class_uid)];
  if (!found) return [`class_uid ${event.class_uid} is not among those that are sent`];
  const { name, category } = found;
  const profiles = isObject(event.metadata) && Array.isArray(event.metadata.profiles) ? event.metadata.profiles : [];
  const added = profiles.map((profile) => PROFILES[String(profile)] ?? '').join(' ');
  const activity = enumOf('activity_id', line(found))[Number(event.activity_id)];
  const expected: [string, unknown][] = [
    ['class_name', name],
    ['category_uid', category[0]],
    ['category_name', category[1]],
    ['type_uid', Number(event.class_uid) * 100 + Number(event.activity_id)],
    ['type_name', `${name}: ${activity}`],
  ];
  return [
    ...profiles.filter((one) => PROFILES[String(one)] === undefined).map((one) => `profile ${one} is not known`),
    ...expected.flatMap(([member, is]) => (event[member] === is ? [] : [`${member} is not ${is}`])),
    ...(isObject(event.metadata) && event.metadata.version === '1.7.0' ? [] : ['metadata.version is not 1.7.0']),
    ...objectFaults('', { ...found, others: `${found.others} ${added}` }, event),
  ];
}

function enumOf(attribute: string, kinds: readonly Kind[]): Captions {
  return Object.assign({}, ENUMS[attribute], ...kinds.map(({ enums }) => enums?.[attribute]).reverse());
}

function objectFaults(path: string, kind: Kind, value: Record<string, unknown>): string[] {
  const kinds = line(kind);
  const required = kinds.flatMap((one) => words(one.required));
  const known = new Set([...required, ...kinds.flatMap((one) => words(one.others))]);
  const atLeastOne = words(kinds.find((one) => one.atLeastOne)?.atLeastOne);
  const at = (name: string) => `${path}${path === '' ? '' : '.'}${name}`;
  return [
    ...required.filter((name) => value[name] === undefined).map((name) => `${at(name)} is missing`),
    ...(atLeastOne.length === 0 || atLeastOne.some((name) => value[name] !== undefined)
      ? []
      : [`${path} has none of ${atLeastOne.join(', ')}`]),
    ...Object.entries(value).flatMap(([name, member]) => {
      if (!known.has(name)) return [`${at(name)} is no attribute`];
      const type = kinds.find((one) => one.types?.[name])?.types?.[name] ?? DICTIONARY[name] ?? 'unknown';
      return [...typeFaults(at(name), type, member), ...captionFaults(at(name), name, kinds, value)];
    }),
  ];
}

function typeFaults(path: string, type: string, value: unknown): string[] {
  if (type.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((one, index) => typeFaults(`${path}[${index}]`, type.slice(0, -2), one));
  }
  const simple = SIMPLE[type];
  if (simple) return simple(value) ? [] : [`${path} is no ${type}`];
  const kind = KINDS[type];
  if (!kind) return [`${path} has a type that is not among the facts (${type})`];
  return isObject(value) ? objectFaults(path, kind, value) : [`${path} is no object`];
}

function captionFaults(path: string, name: string, kinds: readonly Kind[], value: Record<string, unknown>): string[] {
  const sibling = SIBLINGS[name];
  const ids = enumOf(name, kinds);
  if (sibling === undefined || Object.keys(ids).length === 0) return [];
  const caption = ids[Number(value[name])];
  if (caption === undefined) return [`${path} is ${value[name]}, which has no caption`];
  const given = value[sibling];
  if (value[name] === 99) return typeof given === 'string' && given !== '' ? [] : [`${path} is 99 without ${sibling}`];
  return given === undefined || given === caption ? [] : [`${path} is ${caption}, and ${sibling} is ${given}`];
}

// CloudEvents 1.0.

const REQUIRED = ['id', 'source', 'specversion', 'type'];
const ATTRIBUTES = new Set([...REQUIRED, 'datacontenttype', 'dataschema', 'subject', 'time', 'data', 'data_base64']);

/** What is wrong with a structured event of CloudEvents; empty when nothing is. */
export function cloudEventFaults(event: unknown): string[] {
  if (!isObject(event)) return ['it is no object'];
  const { data, ...attributes } = event;
  const isText = (value: unknown) => typeof value === 'string' && value !== '';
  return [
    ...REQUIRED.filter((name) => !isText(event[name])).map((name) => `${name} is missing`),
    ...(event.specversion === '1.0' ? [] : ['specversion is not 1.0']),
    ...['datacontenttype', 'dataschema', 'subject', 'time'].flatMap((name) =>
      event[name] === undefined || isText(event[name]) ? [] : [`${name} is empty`],
    ),
    ...(/^[a-z][a-z0-9+.-]*:\S+$/i.test(String(event.source)) ? [] : ['source is no URI']),
    ...(event.dataschema === undefined || URL.canParse(String(event.dataschema)) ? [] : ['dataschema is no URI']),
    ...(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(String(event.time)) ? [] : ['time is not of RFC 3339']),
    ...(data === undefined || event.data_base64 === undefined ? [] : ['data is there twice']),
    // An extension has a short name of small letters and digits, and a simple value.
    ...Object.entries(attributes).flatMap(([name, value]) => {
      if (ATTRIBUTES.has(name)) return [];
      if (!/^[a-z0-9]{1,20}$/.test(name)) return [`${name} is no name of an extension`];
      return ['string', 'boolean'].includes(typeof value) || Number.isInteger(value)
        ? []
        : [`${name} is no simple value`];
    }),
  ];
}
