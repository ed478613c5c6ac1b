// console seed: a whole made-up organization.
// In: a seed and counts. Out: the same organization each time for the same seed and start time, in one transaction.
import { DAY_MS } from '../../base/time.ts';
import { PolicySpec, ServiceSpec } from '../../platform/contract.ts';
import {
  type DeviceColumns,
  type EnduserColumns,
  insertDevice,
  insertEnduser,
  insertMapping,
} from '../store/device-changes.ts';
import { attachPolicy, insertPolicy } from '../store/policies.ts';
import { insertService } from '../store/services.ts';
import { type Actor, type ConsoleStore, setMeta, uuidFrom } from '../store/store.ts';
import {
  agoNs,
  type Choices,
  COMPROMISED_FACTORS,
  choicesFrom,
  DEVICE_LEVELS,
  seedHistory,
  trustOf,
  USER_LEVELS,
} from './random.ts';

// The words of a made-up organization. In: nothing. Out: lists. Some names are hostile on purpose: code
// that shows them must escape them.

const wordsOf = (text: string): string[] => text.trim().split(/\s+/);

const FIRST_NAMES = wordsOf(`
  Ada Alan Anna Ben Carla Chidi Clara Dana David Elena Emil Fatima Felix Grace Hana Hugo Ines Ivan Jonas Julia Kofi
  Lara Leo Lin Marta Max Mira Nadia Noah Olga Omar Paula Priya Rosa Sam Sofia Tariq Tom Vera Yuki Zoe Zsófia José
  Ørjan
`);
const LAST_NAMES = wordsOf(`
  Abe Almeida Bauer Becker Costa Dubois Eriksen Fischer Garcia Haddad Hansen Ivanova Jansen Kim Kovacs Lang Lopez
  Mensah Meyer Moreau Nakamura Nowak Okafor Patel Quinn Rossi Sato Schmidt Silva Tanaka Usman Vogel Weber Young Zhang
  O'Neill Müller Łukasz
`);
/** Full names in other scripts, as a directory has them. */
const OTHER_NAMES = [
  '田中 太郎',
  '李小龙',
  'מרים כהן',
  'محمد الأحمد',
  'Ирина Петрова',
  'นภา ใจดี',
  'Νίκος Παπάς',
  '김민준',
];

const GROUPS = [
  'Everyone',
  'Engineering',
  'Finance',
  'Sales',
  'Support',
  'HR',
  'IT Operations',
  'Contractors',
  'Executives',
  '開発部',
  'הנדסה',
  'R&D "core"',
  'Field <EMEA>',
];
const ROLES = ['employee', 'contractor', 'engineer', 'finance', 'admin', 'mdm-managed'];

/** Device names that a careless page, log or parser stumbles over. */
const HOSTILE_DEVICE_NAMES = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  `Robert'); DROP TABLE device;--`,
  'laptop :1234567890123456789, spare',
  '{"Banned":"TRUE"}',
  '=HYPERLINK("http://evil.example")',
  '営業部のノート💻',
  'جهاز المدير',
  '\u202Egpj.exe',
  'line\nbreak',
  'tab\there',
  'back\\slash "quoted"',
  '🧑🏽‍💻 mobile',
  '&lt;already&gt;',
  '__proto__',
  'x'.repeat(255),
];

/** Values of firmware whose fields nobody filled in. */
const PLACEHOLDER_SERIALS = ['To Be Filled By O.E.M.', '', 'Default string', '0', 'System Serial Number', 'None'];

const MDM_SOURCES = ['JAMF', 'Intune', 'WS1', 'Kandji', 'MobileIron'];

interface PlatformKind {
  platform: string;
  models: string[];
  architectures: string[];
  systems: string[];
  serialPrefix: string;
  label: string;
}

const PLATFORMS: readonly (readonly [PlatformKind, number])[] = [
  [
    {
      platform: 'macOS',
      models: ['MacBook Pro', 'MacBook Air', 'iMac', 'Mac mini', 'MacBook Pro 16"'],
      architectures: ['arm64', 'x86_64'],
      systems: ['macOS 15.5', 'macOS 14.7.1', 'macOS 26.1', 'macOS 13.6'],
      serialPrefix: 'C02',
      label: 'MacBook',
    },
    35,
  ],
  [
    {
      platform: 'Windows',
      models: ['ThinkPad T14', 'Latitude 7440', 'EliteBook 840', 'Surface Laptop 6', 'XPS 13'],
      architectures: ['x86_64', 'amd64'],
      systems: ['Windows 11 23H2', 'Windows 11 24H2', 'Windows 10 22H2', ''],
      serialPrefix: 'PF',
      label: 'LAPTOP',
    },
    30,
  ],
  [
    {
      platform: 'iOS',
      models: ['iPhone 15', 'iPhone 16 Pro', 'iPad Air'],
      architectures: ['arm64'],
      systems: ['iOS 18.5', 'iOS 17.7', 'iOS 26.0'],
      serialPrefix: 'F2L',
      label: 'iPhone',
    },
    18,
  ],
  [
    {
      platform: 'Android',
      models: ['Pixel 8', 'Galaxy S24', 'Galaxy Tab'],
      architectures: ['arm64', 'armv8'],
      systems: ['Android 15', 'Android 14', ''],
      serialPrefix: 'R5C',
      label: 'Android',
    },
    12,
  ],
  [
    {
      platform: 'Linux',
      models: ['ThinkPad X1', 'Precision 5680', 'NUC 13'],
      architectures: ['x86_64'],
      systems: ['Ubuntu 24.04', 'Fedora 42', 'Debian 12'],
      serialPrefix: 'LX',
      label: 'linux',
    },
    5,
  ],
];

const OWNERSHIP_WEIGHTS: readonly (readonly [string, number])[] = [
  ['Corporate Dedicated', 60],
  ['Employee Owned', 28],
  ['Corporate Shared', 5],
  ['Other', 2],
  ['UNKNOWN', 2],
  ['Undefined', 1],
  ['', 2],
];

// Devices, and who is registered on them.

const ROLE_SETS = ['["mdm-managed"]', '["mdm-managed","employee"]', '[]', '["contractor"]'];

interface FleetPlan {
  seed: number;
  devices: number;
  /** Exactly this many are compromised. */
  compromised: number;
}

function seedFleet(
  store: ConsoleStore,
  choices: Choices,
  plan: FleetPlan,
  people: readonly { pk: number; firstName: string }[],
): void {
  let left = plan.compromised;
  let former: DeviceColumns | undefined;
  for (let index = 0; index < plan.devices; index++) {
    const owner = people.length === 0 ? undefined : people[index < people.length ? index : choices.int(people.length)];
    const row = deviceRow(store, choices, plan.seed, index, owner?.firstName ?? 'spare');
    const isOrdinary = makeOdd(row, choices, index, former);
    // Chosen so that exactly the planned number comes out, spread over the fleet, among devices that can be banned.
    if (left > 0 && isOrdinary && choices.chance((left * 1.3) / Math.max(1, plan.devices - index))) {
      compromise(row);
      left--;
    }
    const pk = insertDevice(store, row);
    former = row;
    registerPeople(store, choices, row, pk, index, owner, people);
  }
  if (left > 0) compromiseMore(store, left);
}

export function deviceRow(
  store: ConsoleStore,
  choices: Choices,
  seed: number,
  index: number,
  ownerName: string,
): DeviceColumns {
  const kind = choices.weigh(PLATFORMS);
  const loginAgoMs = choices.chance(0.03) ? choices.between(95, 300) * DAY_MS : choices.int(6 * DAY_MS);
  return {
    device_id: uuidFrom(`device:${seed}:${index}`),
    serial: serialOf(kind, seed, index),
    friendly_name:
      kind.platform === 'Windows'
        ? `${kind.label}-${serialOf(kind, seed, index).slice(-6)}`
        : `${ownerName}'s ${kind.label}`,
    ownership: choices.weigh(OWNERSHIP_WEIGHTS),
    platform: kind.platform,
    model: choices.pick(kind.models),
    architecture: choices.pick(kind.architectures),
    registered: choices.chance(0.98) ? 'TRUE' : 'FALSE',
    banned: 'FALSE',
    os: choices.pick(kind.systems),
    app_version: choices.chance(0.03) ? '' : `3.${choices.between(15, 24)}.${choices.int(6)}`,
    roles: choices.pick(ROLE_SETS),
    last_login: agoNs(store, choices, loginAgoMs),
    login_count: choices.between(1, 3_000),
    created_at: agoNs(store, choices, loginAgoMs + choices.between(5, 900) * DAY_MS),
    mdm_timestamp: agoNs(store, choices, choices.int(6 * 3_600_000)),
    mdm_source: choices.pick(MDM_SOURCES),
    mdm_compromised: 'FALSE',
    mdm_compliant: choices.chance(0.95) ? 'TRUE' : 'FALSE',
    ...trustOf(choices, choices.weigh(DEVICE_LEVELS)),
    trust_updated: agoNs(store, choices, choices.int(DAY_MS)),
  };
}

/** Unique within the organization: 7 digits of base 36 of a permutation of the index. */
function serialOf(kind: PlatformKind, seed: number, index: number): string {
  const space = 78_364_164_096; // 36^7
  const mixed = Number((BigInt(index) * 48_271_000_003n + BigInt(seed >>> 0)) % BigInt(space));
  return kind.serialPrefix + mixed.toString(36).toUpperCase().padStart(7, '0');
}

/** Makes some rows odd, as in real fleets; returns whether this one stayed ordinary. */
function makeOdd(row: DeviceColumns, choices: Choices, index: number, former: DeviceColumns | undefined): boolean {
  if (index % 40 === 7)
    row.friendly_name = HOSTILE_DEVICE_NAMES[Math.floor(index / 40) % HOSTILE_DEVICE_NAMES.length] as string;
  if (index % 130 === 50) {
    row.serial = PLACEHOLDER_SERIALS[Math.floor(index / 130) % PLACEHOLDER_SERIALS.length] as string;
    return false;
  }
  if (index % 150 === 75 && former) {
    // Two registrations of one machine, as after a new installation.
    for (const name of ['serial', 'platform', 'model', 'architecture', 'ownership'] as const) row[name] = former[name];
    return false;
  }
  if (choices.chance(0.06)) {
    row.mdm_timestamp = 0n;
    row.mdm_source = '';
    row.mdm_compliant = '';
    return false;
  }
  if (choices.chance(0.004)) {
    row.banned = 'TRUE';
    return false;
  }
  // The next row may share this one's serial number, which would make two compromised devices out of one.
  return index % 150 !== 74 && row.registered === 'TRUE';
}

function compromise(row: DeviceColumns): void {
  Object.assign(row, {
    mdm_compromised: 'TRUE',
    mdm_compliant: 'FALSE',
    trust_entity: 0,
    trust_override: 0,
    trust_access: 0,
    override_active: 'FALSE',
    trust_level: 'Low',
    factors: COMPROMISED_FACTORS,
  });
}

/** Small fleets can run out of ordinary rows before the number is reached. */
function compromiseMore(store: ConsoleStore, count: number): void {
  store.sql.run(
    `UPDATE device SET mdm_compromised = 'TRUE', mdm_compliant = 'FALSE', trust_level = 'Low', trust_entity = 0,
      trust_access = 0, factors = ? WHERE pk IN
      (SELECT pk FROM device WHERE mdm_compromised = 'FALSE' AND mdm_timestamp > 0 AND banned = 'FALSE'
        AND serial IN (SELECT serial FROM device GROUP BY serial HAVING count(*) = 1) ORDER BY pk LIMIT ?)`,
    COMPROMISED_FACTORS,
    count,
  );
}

function registerPeople(
  store: ConsoleStore,
  choices: Choices,
  row: DeviceColumns,
  devicePk: number,
  index: number,
  owner: { pk: number } | undefined,
  people: readonly { pk: number }[],
): void {
  if (!owner) return;
  const owners = new Set([owner.pk]);
  const more = row.ownership === 'Corporate Shared' ? 2 : choices.chance(0.04) ? 1 : 0;
  for (let each = 0; each < more; each++) owners.add(choices.pick(people).pk);
  for (const pk of owners) {
    const certificate = row.banned === 'TRUE' ? '' : uuidFrom(`certificate:${index}:${pk}`).replaceAll('-', '');
    insertMapping(store, pk, devicePk, certificate, row.created_at);
  }
}

// End users.

/** Adds people; returns their keys and first names, in order. */
function seedPeople(store: ConsoleStore, choices: Choices, count: number): { pk: number; firstName: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const first = FIRST_NAMES[index % FIRST_NAMES.length] as string;
    const last = LAST_NAMES[Math.floor(index / FIRST_NAMES.length) % LAST_NAMES.length] as string;
    const round = Math.floor(index / (FIRST_NAMES.length * LAST_NAMES.length));
    const name = index % 16 === 9 ? choices.pick(OTHER_NAMES) : `${first} ${last}`;
    const email = `${ascii(first)}.${ascii(last)}${round === 0 ? '' : round + 1}@${store.org.name}.example`;
    return { pk: insertEnduser(store, personRow(store, choices, email, name)), firstName: first };
  });
}

export function personRow(store: ConsoleStore, choices: Choices, email: string, name: string): EnduserColumns {
  const loginAgoMs = choices.chance(0.03) ? choices.between(91, 200) * 86_400_000 : choices.int(5 * 86_400_000);
  const groups = [
    'Everyone',
    choices.pick(GROUPS.slice(1)),
    ...(choices.chance(0.3) ? [choices.pick(GROUPS.slice(1))] : []),
  ];
  return {
    email,
    name,
    groups: [...new Set(groups)].join(','),
    roles: JSON.stringify(
      choices.chance(0.1)
        ? ['contractor']
        : ['employee', ...(choices.chance(0.2) ? [choices.pick(ROLES.slice(2))] : [])],
    ),
    last_login: agoNs(store, choices, loginAgoMs),
    login_count: choices.between(1, 4_000),
    created_at: agoNs(store, choices, loginAgoMs + choices.between(5, 1_200) * 86_400_000),
    ...trustOf(choices, choices.weigh(USER_LEVELS)),
    trust_updated: agoNs(store, choices, choices.int(86_400_000)),
  };
}

function ascii(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase();
}

const SERVICE_NAMES = wordsOf(`
  wiki gitlab jenkins grafana vault erp crm payroll jira ssh-bastion rdp-finance k8s-prod mail-archive data-lake chat
  ldap artifacts intranet billing support-desk
`);
const CLUSTERS = ['eu-west', 'us-east', 'global-edge'];

// Registered services, with whole specs as administrators write them.

const SEEDER: Actor = { name: 'admin@acme.example', via: 'hand' };
const TEMPLATES = [
  { template: 'WEB_USER', protocol: 'https', port: '443', user_facing: 'true', type: 'origin' },
  { template: 'TCP_USER', protocol: 'tcp', port: '5432', user_facing: 'false', type: 'user-defined' },
  { template: 'TCP_USER', protocol: 'ssh', port: '22', user_facing: 'true', type: 'user-defined' },
] as const;

function seedServices(store: ConsoleStore, choices: Choices, count: number): void {
  for (let index = 0; index < count; index++) {
    const base = SERVICE_NAMES[index % SERVICE_NAMES.length] as string;
    const round = Math.floor(index / SERVICE_NAMES.length);
    const spec = specOf(
      choices,
      round === 0 ? base : `${base}-${round + 1}`,
      CLUSTERS[index % CLUSTERS.length] as string,
    );
    insertService(store, SEEDER, ServiceSpec.parse(spec), JSON.stringify(spec));
  }
  attachDefault(store);
  for (const pk of store.sql.values<number>('SELECT pk FROM service')) {
    const created = agoNs(store, choices, choices.between(20, 700) * 86_400_000);
    store.sql.run('UPDATE service SET created_at = ?, updated_at = ? WHERE pk = ?', created, created, pk);
  }
}

/** The policy that the events of an organization name, attached to all its services. */
function attachDefault(store: ConsoleStore): void {
  const services = store.sql.values<string>('SELECT service_id FROM service ORDER BY pk');
  if (services.length === 0) return;
  const spec = policySpec();
  const text = insertPolicy(store, SEEDER, PolicySpec.parse(spec), JSON.stringify(spec));
  const policy = JSON.parse(text).PolicyID as string;
  for (const service of services) attachPolicy(store, SEEDER, { policy, service }, 'TRUE');
}

function policySpec() {
  return {
    kind: 'TrustwardPolicy',
    apiVersion: 'rbac.trustward.example/v1',
    type: 'USER',
    metadata: { name: 'default-access', description: 'Who has a role may reach it', tags: { template: 'USER' } },
    spec: { access: [{ roles: ['ANY'], rules: { conditions: { trust_level: '' } } }], exception: { src_addr: [] } },
  };
}

/** A whole service spec, as the specification's table has it. */
export function specOf(choices: Choices, name: string, cluster: string) {
  const { type, ...tags } = choices.pick(TEMPLATES);
  const domain = `${name}.corp.example`;
  return {
    kind: 'TrustwardService',
    apiVersion: 'rbac.trustward.example/v1',
    type,
    metadata: {
      name,
      description: `The ${name} of everybody`,
      cluster,
      tags: { ...tags, domain, icon: '', service_app_type: tags.protocol === 'https' ? 'WEB' : 'GENERIC' },
    },
    spec: {
      attributes: {
        tls_sni: [domain],
        frontend_addresses: [{ cidr: '', port: tags.port }],
        host_tag_selector: [{ 'com.example.hostname': '*' }],
      },
      backend: {
        target: {
          name: `${name}.internal`,
          port: tags.port,
          tls: tags.protocol === 'https',
          tls_insecure: false,
          client_certificate: false,
        },
        dns_overrides: {},
        whitelist: [],
        http_connect: false,
        allow_patterns: [],
      },
      cert_settings: {
        letsencrypt: false,
        dns_names: [domain],
        custom_tls_cert: { enabled: false, cert_file: '', key_file: '' },
      },
      http_settings: {
        enabled: tags.protocol === 'https',
        oidc_settings: {
          enabled: tags.protocol === 'https',
          service_domain_name: `https://${domain}`,
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

/** Omitted counts are those of a small company: 400 devices, 250 users, 12 services, 2,000 events. */
export interface SeedOptions {
  seed: number;
  devices?: number | undefined;
  users?: number | undefined;
  services?: number | undefined;
  events?: number | undefined;
  /** Exactly this many devices are compromised; half a percent by default. */
  compromised?: number | undefined;
}

/** Above this many rows, indexes are built at the end: sorting once is cheaper than finding each row's place. */
const BULK_MIN = 20_000;

export function seedOrganization(store: ConsoleStore, options: SeedOptions): void {
  const devices = options.devices ?? 400;
  const users = options.users ?? (options.devices === undefined ? 250 : Math.ceil(devices * 0.625));
  store.sql.atomically(() => {
    const indexes = devices + users >= BULK_MIN ? dropIndexes(store) : [];
    const people = seedPeople(store, choicesFrom(options.seed), users);
    const compromised = Math.min(devices, options.compromised ?? Math.round(devices * 0.005));
    seedFleet(store, choicesFrom(options.seed + 1), { seed: options.seed, devices, compromised }, people);
    for (const text of indexes) store.sql.db.exec(text);
    seedServices(store, choicesFrom(options.seed + 2), options.services ?? 12);
    // Creating the services is not part of their history.
    store.sql.run('DELETE FROM event');
    store.sql.run('DELETE FROM effect');
    seedHistory(store, choicesFrom(options.seed + 3), options.events ?? 2_000);
    setMeta(store.sql, 'seed', String(options.seed));
  });
}

export function isEmpty(store: ConsoleStore): boolean {
  return (
    store.sql.value<number>('SELECT sum(n) FROM tally') === 0 &&
    store.sql.value<number>('SELECT count(*) FROM service') === 0
  );
}

function dropIndexes(store: ConsoleStore): string[] {
  const rows = store.sql.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('device', 'enduser', 'mapping')",
  );
  for (const { name } of rows) store.sql.db.exec(`DROP INDEX ${name}`);
  return rows.map((row) => row.sql);
}
