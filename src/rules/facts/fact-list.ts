// rules: every fact that a rule can read, made from the record schemas, each with its type, its unit, known values and an
// example. In: a kind of record, and perhaps some records. Out: rows; with records, how often each fact has no value in
// them, and the texts that it has in many.

import { MINUTE_MS } from '../../base/time.ts';
import { type Fact, type Facts, isFacts, ownText, ownTexts, unescapeHtml } from '../../domain/facts.ts';
import { GIVEN_KEYS } from '../../domain/given-facts.ts';
import { doubtAt, type GivenDoubt, givenKeyOf, REPEATED, rowOf } from '../../domain/given-table.ts';
import { nameInV2 as nameOfV2 } from '../../domain/lists.ts';
import { SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import type { JudgeContext } from '../../domain/verdict.ts';
import { type Frame, GIVEN, isAbsent, isOfType, ownPart, type Reasons, type Value } from '../language/expression.ts';
import { SAMPLE_NAME } from '../language/loaded-rule.ts';
import {
  NOW_TYPE,
  recordType,
  UNIT_NAMES,
  type ValueType,
  VIRTUAL_NAMES,
  virtualType,
} from '../record-types/field-types.ts';

// One complete, fresh, unremarkable record of each kind, which rule tests start from, and examples of an event and
// a factor. In: now, and a number for each of several. Out: a record that no sensible rule matches.

export function sampleRecord(kind: SubjectKind, nowMs: number, number = 1): Facts {
  const hourAgo = nanoseconds(nowMs - 60 * MINUTE_MS);
  switch (kind) {
    case 'device':
      return sampleDevice(nowMs, hourAgo, number);
    case 'user':
      return {
        Name: 'Sample User',
        Email: SAMPLE_NAME.user(number),
        Groups: 'Everyone,Staff',
        LastLogin: hourAgo,
        LoginCount: 120,
        SerialNumbers: [SAMPLE_NAME.device(number)],
        TrustData: sampleTrust(hourAgo),
        Roles: ['employee'],
        CreatedAt: nanoseconds(nowMs - 365 * 1_440 * MINUTE_MS),
      };
    case 'service':
      return sampleService(nowMs);
  }
}

function sampleDevice(nowMs: number, hourAgo: bigint, number: number): Facts {
  return {
    DeviceID: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    SerialNumber: SAMPLE_NAME.device(number),
    DeviceFriendlyName: 'Sample device',
    Emails: ['user1@example.com'],
    LastLogin: hourAgo,
    LoginCount: 42,
    Ownership: 'Corporate Dedicated',
    Platform: 'macOS',
    Model: 'MacBook Pro',
    Architecture: 'arm64',
    RegisteredStatus: 'TRUE',
    MdmData: { Timestamp: hourAgo, Source: 'mdm', CompromisedStatus: 'FALSE', CompliantStatus: 'TRUE' },
    TrustData: sampleTrust(hourAgo),
    Roles: ['employee'],
    Banned: 'FALSE',
    OS: 'macOS 14.5',
    AppVersion: '3.20.1',
    CreatedAt: nanoseconds(nowMs - 365 * 1_440 * MINUTE_MS),
  };
}

function sampleTrust(updatedAt: bigint): Facts {
  return {
    EntityTrustscore: 90,
    OverrideTrustscore: 0,
    AccessTrustscore: 90,
    OverrideActive: 'FALSE',
    Level: 'High',
    UpdatedAt: updatedAt,
    Factors: [],
  };
}

function sampleService(nowMs: number): Facts {
  const created = nanoseconds(nowMs - 365 * 1_440 * MINUTE_MS);
  return {
    ServiceID: 'sample.cluster1.svc',
    ServiceName: 'sample',
    ClusterName: 'cluster1',
    ServiceType: 'user-defined',
    ServiceDiscovery: '',
    ServiceVersion: 1,
    Description: 'A sample service',
    CreatedAt: created,
    LastUpdatedAt: created,
    DeletedAt: 0,
    CreatedBy: 'admin@example.com',
    LastUpdatedBy: 'admin@example.com',
    DeletedBy: '',
    External: 'FALSE',
    OIDCEnabled: 'TRUE',
    ServiceSpec: JSON.stringify(sampleSpec()),
    UserFacing: 'TRUE',
    Protocol: 'https',
    Domain: 'sample.example.com',
    Port: 443,
    Enabled: 'TRUE',
    IsDefault: false,
  };
}

/** The spec inside the sample service. */
export function sampleSpec(): Facts {
  const tags = {
    template: 'WEB_USER',
    user_facing: 'true',
    protocol: 'https',
    domain: 'sample.example.com',
    port: '443',
  };
  return {
    kind: 'Service',
    apiVersion: 'example/v1',
    type: 'origin',
    metadata: {
      name: 'sample',
      description: 'A sample service',
      cluster: 'cluster1',
      tags: { ...tags, icon: '', service_app_type: 'WEB' },
    },
    spec: {
      attributes: {
        frontend_addresses: [{ cidr: '', port: '443' }],
        host_tag_selector: [{ 'com.example.hosttag': '*' }],
        tls_sni: ['sample.example.com'],
      },
      backend: {
        target: { name: 'sample.internal', port: '8080', tls: true, tls_insecure: false, client_certificate: false },
        dns_overrides: {},
        whitelist: [],
        http_connect: false,
        allow_patterns: [],
      },
      cert_settings: {
        letsencrypt: false,
        dns_names: ['sample.example.com'],
        custom_tls_cert: { enabled: false, cert_file: '', key_file: '' },
      },
      http_settings: {
        enabled: true,
        oidc_settings: {
          enabled: true,
          service_domain_name: 'https://sample.example.com',
          post_auth_redirect_path: '',
          api_path: '',
        },
        http_health_check: { enabled: false, method: '', path: '', user_agent: '', from_address: [], https: false },
        exempted_paths: { enabled: false, paths: [], patterns: [] },
      },
      client_cidrs: [],
    },
  };
}

/** An entry of `TrustData.Factors`; unremarkable records have none. */
function sampleFactor(): Facts {
  return {
    Name: 'Disk Encryption',
    Value: 'Disabled',
    Type: 'internal',
    Source: 'internal',
    Description: 'the disk is not encrypted',
    RemediationDescription: 'turn on disk encryption',
    RemediationURL: 'https://help.example.com/disk',
  };
}

export function sampleEvent(nowMs: number): Facts {
  return {
    id: '00000000-0000-4000-8000-00000000e001',
    external_id: 'edr-4711',
    org_id: '00000000-0000-4000-8000-0000000000aa',
    org_name: 'acme',
    group_id: 'group-1',
    severity: 'ERROR',
    action: 'Unauthorized',
    type: 'Access',
    sub_type: 'Connection',
    message: 'access was refused',
    messages: 'access was refused',
    result: 'ERROR',
    channel: 'desktop',
    role: [{ id: 'role-1', name: 'employee', version: '1', bound_by: 'admin@example.com', bound_at: 0 }],
    created_at: nowMs - 5 * MINUTE_MS,
    user_principal: {
      device: {
        id: '00000000-0000-4000-8000-000000000001',
        friendly_name: 'Sample device',
        mac_address: '00:00:5e:00:53:01',
        serial_number: 'SAMPLE-1',
        registration_status: 'TRUE',
        compromised_status: 'FALSE',
        compliance_status: 'TRUE',
        oem_info: 'Example Inc.',
        model: 'MacBook Pro',
        platform: 'macOS',
        ownership: 'Corporate Dedicated',
        architecture: 'arm64',
        udid: '00008103-000000000000001E',
        source: 'mdm',
        unregistered: false,
        last_mdm_data_synced_at: nanoseconds(nowMs - 60 * MINUTE_MS),
      },
      user: { email: 'user1@example.com', groups: ['Everyone', 'Staff'], roles: ['employee'] },
      client: { user_agent: 'agent/3.20.1', ip_address: '192.0.2.1' },
    },
    workload_principal: { workload_set: { container_id: 'container-1', app_name: 'sample' } },
    service: { id: 'sample.cluster1.svc', name: 'sample', type: 'origin', version: '1' },
    trustscore: { id: 'score-1', type: 'device', timestamp: nanoseconds(nowMs - 60 * MINUTE_MS), score: 90 },
    link: {
      source: linkEnd({ host_name: 'Sample device', ip: '192.0.2.1' }),
      destination: linkEnd({
        service_id: 'sample.cluster1.svc',
        service_name: 'sample',
        container_id: 'sample.cluster1.svc',
      }),
    },
  };
}

/** All fields, empty where unknown. */
function linkEnd(known: { [name: string]: string }) {
  return {
    ...{ service_id: '', service_name: '', container_id: '', container_name: '', host_name: '', ip: '' },
    ...known,
  };
}

export function nanoseconds(epochMs: number): bigint {
  return BigInt(Math.trunc(epochMs)) * 1_000_000n;
}

// What `$owners`, `$devices` and `$spec` are for a record.

const SPEC_MAX = 1_000_000;

export function virtualReader(
  context: Pick<JudgeContext, 'joins' | 'unavailable' | 'given'>,
  reasons: Reasons,
): Frame['readVirtual'] {
  const unknown = (name: string, why: string): Value => reasons.unknown(name, `\`${name}\` ${why}`);
  return (name, frame, of) => {
    if (name.startsWith(GIVEN)) return givenRow(name, { ...context, nowMs: frame.nowMs }, of ?? frame.record, reasons);
    if (name === '$spec')
      return specOf(frame.record) ?? unknown(name, 'cannot be read: ServiceSpec is missing or no JSON object');
    const source = name === '$owners' ? 'users' : 'devices';
    if (context.unavailable.has(source)) return unknown(name, `cannot be known: ${source} are unavailable`);
    const keys = ownPart(frame.record, name === '$owners' ? 'Emails' : 'SerialNumbers');
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) {
      return unknown(name, `cannot be known: \`${name === '$owners' ? 'Emails' : 'SerialNumbers'}\` is missing`);
    }
    const found: Fact[] = [];
    for (const key of keys as string[]) {
      const records =
        name === '$owners'
          ? listed(context.joins.users.get(key.toLowerCase()))
          : (context.joins.devices.get(key) ?? []);
      if (records.length === 0)
        return unknown(name, `cannot be known whole: one of the ${source} is not in the snapshot`);
      const own = name === '$owners' ? records : ownOf(records, frame.record);
      if (own.length === 0)
        return unknown(
          name,
          'cannot be known whole: several devices share a serial number of theirs, and all name other owners',
        );
      found.push(...own);
    }
    return found;
  };
}

const DOUBT_WORDS: Record<GivenDoubt['why'], string> = {
  unread: 'its source has not been read',
  stale: 'its source is too old',
  untrusted: 'its source is not trusted',
};

/** `name`: `$facts.NAME`. Null: the source is trusted and fresh, and has no row of the record. */
function givenRow(
  name: string,
  { given, nowMs }: Pick<JudgeContext, 'given' | 'nowMs'>,
  record: Facts,
  reasons: Reasons,
): Value {
  const table = given?.get(name.slice(GIVEN.length + 1));
  const why = table ? doubtAt(table, nowMs)?.why : 'unread';
  const unknown = (because: string) =>
    reasons.unknown(name, `\`${name}\` cannot be known: ${because}`, why === 'stale' ? 'stale' : undefined);
  if (!table || why) return unknown(DOUBT_WORDS[why ?? 'unread']);
  const key = givenKeyOf(table.key, record);
  if (key === undefined) return unknown(`\`${GIVEN_KEYS[table.key].field}\` is missing`);
  const row = rowOf(table.rows, key);
  if (row === REPEATED) return unknown('several rows have its key');
  // As a value of another type is.
  return row && table.lacking
    ? { ...row, ...Object.fromEntries(table.lacking.map((field) => [field, {}])) }
    : (row ?? null);
}

/** Devices that have nothing to do with each other may share a serial number: those that name other owners alone are not this user's. */
function ownOf(devices: readonly Facts[], user: Facts): readonly Facts[] {
  const email = ownText(user, 'Email')?.toLowerCase();
  if (devices.length < 2 || email === undefined) return devices;
  return devices.filter((device) => {
    const owners = ownTexts(device, 'Emails') ?? [];
    return owners.length === 0 || owners.some((owner) => owner.toLowerCase() === email);
  });
}

const listed = (record: Facts | undefined): Facts[] => (record ? [record] : []);

/** The ServiceSpec text parsed; some servers send it HTML-escaped. Undefined unless it is a JSON object. */
function specOf(record: Facts): Facts | undefined {
  const text = ownPart(record, 'ServiceSpec');
  if (isFacts(text as Fact)) return text as Facts;
  if (typeof text !== 'string' || text.length > SPEC_MAX) return undefined;
  return parsed(text) ?? (text.includes('&') ? parsed(unescapeHtml(text)) : undefined);
}

function parsed(text: string): Facts | undefined {
  try {
    const value: Fact = JSON.parse(text);
    return isFacts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const FACT_KINDS = ['device', 'user', 'service', 'event'] as const satisfies readonly (SubjectKind | 'event')[];
export type FactKind = (typeof FACT_KINDS)[number];

export interface FactRow extends Seen {
  /** As a rule writes it. What stands behind `[]` is read of an element, inside `some`, `count`, … */
  fact: string;
  type: string;
  /** Of a number or a time; else undefined. */
  unit: string | undefined;
  /** Known ones; those of a text are not a closed set. */
  values: readonly string[];
  /** Undefined where there is nothing typical, and for lists of records. */
  example: Fact | undefined;
  /** Only the unpaged list has it, as the specification says. */
  unpagedOnly: boolean;
  /** Of a device or a user: its name in v2 lists; null when they do not have it. */
  v2?: string | null;
}

/** Undefined: nothing was looked at. */
interface Seen {
  missing: MissingCount | undefined;
  /** Texts and how many records have each, most frequent first; none where few repeat. */
  found: { value: string; count: number }[] | undefined;
}

/** In how many of the places where a fact can be, it has no value that a rule can use. */
interface MissingCount {
  count: number;
  of: number;
}

/** The time of the examples: 2026-01-15T12:00:00Z. */
const EXAMPLE_NOW_MS = 1_768_478_400_000;
const ELEMENT = '[]';
const FOUND_MAX = 5;

interface Leaf {
  path: string[];
  type: ValueType;
  unpagedOnly: boolean;
}

/** `sample`: records without secrets; undefined: none were read. */
export function factRows(kind: FactKind, sample: readonly Facts[] | undefined): FactRow[] {
  const example = exampleRecord(kind);
  const records = sample && (kind === 'service' ? sample.map(withSpec) : sample);
  return leavesOfKind(kind).map((leaf): FactRow => {
    const { path, type, unpagedOnly } = leaf;
    const fact = path.join('.').replaceAll(`.${ELEMENT}`, ELEMENT);
    return {
      fact,
      ...typeWords(path, type),
      example: exampleOf(valuesAt(example, path)[0], type),
      unpagedOnly,
      ...((kind === 'device' || kind === 'user') && fact !== '$now' && { v2: nameInV2(kind, fact) ?? null }),
      ...seenIn(records, leaf),
    };
  });
}

/** Owners are found by the addresses in a device's record, a user's devices by the serial numbers in the user's. */
function nameInV2(kind: 'device' | 'user', fact: string): string | undefined {
  const path = fact === '$owners' ? 'Emails' : fact === '$devices' ? 'SerialNumbers' : fact;
  return nameOfV2(SOURCE_OF[kind] as 'devices' | 'users', path);
}

function leavesOfKind(kind: FactKind): Leaf[] {
  const virtual = VIRTUAL_NAMES[kind].flatMap((name): Leaf[] => {
    const type = virtualType(kind, name);
    // Owners and devices have the facts of users and devices, which are listed there.
    return type?.kind === 'record'
      ? leavesOf(type, [name])
      : [{ path: [name], type: type ?? NOW_TYPE, unpagedOnly: false }];
  });
  return [...leavesOf(recordType(kind), []), ...virtual];
}

function leavesOf(type: ValueType, path: string[], unpagedOnly = false): Leaf[] {
  if (type.kind === 'record') {
    return [...type.fields].flatMap(([name, field]) =>
      leavesOf(field.type, [...path, name], unpagedOnly || field.unpagedOnly === true),
    );
  }
  const leaf: Leaf = { path, type, unpagedOnly };
  return type.kind === 'list' && type.of.kind === 'record'
    ? [leaf, ...leavesOf(type.of, [...path, ELEMENT], unpagedOnly)]
    : [leaf];
}

function typeWords([first]: readonly string[], type: ValueType): Pick<FactRow, 'type' | 'unit' | 'values'> {
  const joined = { $owners: 'list of users', $devices: 'list of devices' }[first ?? ''];
  return { type: joined ?? wordOf(type), unit: unitOf(type), values: valuesOf(type) };
}

function wordOf(type: ValueType): string {
  if (type.kind === 'text') return type.style ?? 'text';
  if (type.kind === 'list') return type.of.kind === 'any' ? 'list' : `list of ${wordOf(type.of)}s`;
  return type.kind;
}

function unitOf(type: ValueType): string | undefined {
  if (type.kind === 'time') return UNIT_NAMES[type.unit];
  return type.kind === 'score' ? '0 to 100' : undefined;
}

function valuesOf(type: ValueType): readonly string[] {
  if (type.kind === 'flag') return ['TRUE', 'FALSE'];
  if (type.kind === 'boolean') return ['true', 'false'];
  return type.kind === 'text' ? (type.values ?? []) : [];
}

function exampleRecord(kind: FactKind): Facts {
  if (kind === 'event') return sampleEvent(EXAMPLE_NOW_MS);
  const record: Facts = { ...sampleRecord(kind, EXAMPLE_NOW_MS), $now: EXAMPLE_NOW_MS };
  if (kind === 'service') return withSpec(record);
  const TrustData = { ...(record.TrustData as Facts), Factors: [sampleFactor()] };
  return { ...record, TrustData };
}

/** Its spec is parsed once, not for each fact. */
function withSpec(record: Facts): Facts {
  return { ...record, $spec: specOf(record) ?? null };
}

/** The sample's value, or one of the type where the sample has none. */
function exampleOf(value: Fact | undefined, type: ValueType): Fact | undefined {
  if (type.kind === 'any' || (type.kind === 'list' && type.of.kind === 'record')) return undefined;
  const isUsable = value !== undefined && !isAbsent(value, type.kind === 'time') && isOfType(value, type);
  return isUsable && !(Array.isArray(value) && value.length === 0) ? value : exampleOfType(type);
}

function exampleOfType(type: ValueType): Fact | undefined {
  switch (type.kind) {
    case 'boolean':
      return true;
    case 'number':
    case 'score':
      return 50;
    case 'time':
      return nanoseconds(EXAMPLE_NOW_MS);
    case 'list': {
      const element = exampleOfType(type.of);
      return element === undefined ? undefined : [element];
    }
    case 'text':
      return type.values?.[0];
    default:
      return valuesOf(type)[0];
  }
}

function seenIn(sample: readonly Facts[] | undefined, { path, type, unpagedOnly }: Leaf): Seen {
  if (!sample || (path[0]?.startsWith('$') && path[0] !== '$spec')) return { missing: undefined, found: undefined };
  const found = sample.flatMap((record) => valuesAt(record, path));
  const usable = found.filter((value) => !isAbsent(value, type.kind === 'time') && isOfType(value as Fact, type));
  // A sample of pages says nothing about what the specification gives in the unpaged list alone.
  if (found.length === 0 || (unpagedOnly && usable.length === 0)) return { missing: undefined, found: undefined };
  return { missing: { count: found.length - usable.length, of: found.length }, found: textsOf(usable) };
}

/** The elements of lists count. */
function textsOf(values: readonly (Fact | undefined)[]): { value: string; count: number }[] {
  const texts = values.flat().filter((value) => typeof value === 'string');
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  if (counts.size > texts.length / 2) return [];
  const all = [...counts].map(([value, count]) => ({ value, count }));
  return all.sort((one, other) => other.count - one.count).slice(0, FOUND_MAX);
}

/** The value at a path, undefined where there is none; behind `[]` the values of all elements. */
function valuesAt(record: Facts, path: readonly string[]): (Fact | undefined)[] {
  let values: (Fact | undefined)[] = [record];
  for (const key of path) {
    values = values.flatMap((value): (Fact | undefined)[] => {
      if (key === ELEMENT) return Array.isArray(value) ? value : [];
      return [ownPart(value, key)];
    });
  }
  return values;
}
