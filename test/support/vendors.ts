// Small servers that speak the formats of vendors' public APIs: paging, envelope, credential. In: a request. Out: what the vendor's documentation shows,
// for a few devices or users; a request that the vendor would refuse is refused.
import type { IncomingMessage, RequestListener } from 'node:http';

interface Asked {
  path: string;
  query: URLSearchParams;
  authorization: string | undefined;
  form: URLSearchParams;
  /** Of this server. */
  origin: string;
}
type Answered = { status?: number; headers?: Record<string, string | string[]>; body: unknown };
type Vendor = (asked: Asked) => Answered;

const REFUSED: Answered = { status: 401, body: { error: 'invalid token' } };
const UNKNOWN: Answered = { status: 404, body: { error: 'no such resource' } };

/** Two rows, one on each page. */
const page = <T>(rows: readonly T[], number: number): T[] => rows.slice(number, number + 1);

function tokenFor({ form }: Asked, scope: string | null, status: number): Answered {
  const isClient = form.get('client_id') === 'trustward' && form.get('client_secret') === 'se:cret';
  if (!isClient || form.get('grant_type') !== 'client_credentials' || form.get('scope') !== scope)
    return { ...REFUSED, status: 400 };
  return { status, body: { access_token: 'granted', token_type: 'Bearer', expires_in: 1_799 } };
}

const HOSTS = [
  {
    id: 1,
    seen_time: '2026-11-28T11:03:39Z',
    hostname: 'annas-mac',
    uuid: '392547dc',
    platform: 'darwin',
    os_version: 'macOS 15.1',
    hardware_serial: 'C0124FXASD6G',
    disk_encryption_enabled: true,
    issues: { failing_policies_count: 2, total_issues_count: 2 },
    mdm: { enrollment_status: 'On (automatic)', server_url: 'https://mdm.example.com', name: 'Fleet' },
  },
  {
    id: 2,
    seen_time: '2026-11-28T10:00:00Z',
    hostname: '2ceca32fe484',
    hardware_serial: '',
    disk_encryption_enabled: null,
    issues: { failing_policies_count: 0 },
    mdm: { enrollment_status: null },
  },
];
const fleet: Vendor = ({ path, query, authorization }) => {
  if (authorization !== 'Bearer fleet-token') return REFUSED;
  if (path !== '/api/v1/fleet/hosts') return UNKNOWN;
  return { body: { hosts: query.get('per_page') === '500' ? page(HOSTS, Number(query.get('page') ?? 0)) : [] } };
};

const COMPUTERS = [
  {
    id: '1',
    udid: '123',
    general: { name: 'Mac 1', lastContactTime: '2026-11-28T11:04:13.123Z', remoteManagement: { managed: true } },
    hardware: { make: 'Apple', serialNumber: 'C02Q7KHTGFWF' },
    security: { firewallEnabled: false, sipStatus: 'ENABLED' },
    diskEncryption: {
      bootPartitionEncryptionDetails: {
        partitionName: 'main',
        partitionFileVault2State: 'ENCRYPTED',
        partitionFileVault2Percent: 100,
      },
    },
    operatingSystem: { name: 'macOS', version: '15.1.1', build: '24B91' },
  },
  {
    id: '2',
    udid: '124',
    general: { name: 'Mac 2', lastContactTime: null, remoteManagement: { managed: false } },
    hardware: { serialNumber: 'C02Q7KHTGFWG' },
    security: null,
    diskEncryption: null,
    operatingSystem: null,
  },
];
const jamf: Vendor = (asked) => {
  if (asked.path === '/api/v1/oauth/token') return tokenFor(asked, null, 200);
  if (asked.authorization !== 'Bearer granted') return REFUSED;
  if (asked.path !== '/api/v1/computers-inventory') return UNKNOWN;
  const sections = asked.query.getAll('section');
  const rows = page(COMPUTERS, Number(asked.query.get('page') ?? 0)).map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(([name]) =>
        [
          'id',
          'udid',
          ...sections.map((one) => one.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())),
        ].includes(name),
      ),
    ),
  );
  return { body: { totalCount: COMPUTERS.length, results: rows } };
};

const MANAGED = [
  {
    id: 'a',
    serialNumber: 'PF0ABCDE',
    complianceState: 'noncompliant',
    isEncrypted: false,
    jailBroken: 'Unknown',
    osVersion: '10.0.26100.2314',
    lastSyncDateTime: '2026-11-28T09:00:00Z',
    deviceName: 'PC-1',
  },
  {
    id: 'b',
    serialNumber: 'PF0FGHIJ',
    complianceState: 'compliant',
    isEncrypted: true,
    jailBroken: 'False',
    osVersion: '18.1.1',
    lastSyncDateTime: '0001-01-01T00:00:00Z',
    deviceName: 'Phone',
  },
];
const intune: Vendor = (asked) => {
  if (asked.path === '/TENANT/oauth2/v2.0/token') return tokenFor(asked, 'https://graph.microsoft.com/.default', 200);
  if (asked.authorization !== 'Bearer granted') return REFUSED;
  if (asked.path !== '/v1.0/deviceManagement/managedDevices') return UNKNOWN;
  const at = Number(asked.query.get('$skiptoken') ?? 0);
  const names = (asked.query.get('$select') ?? '').split(',');
  const value = page(MANAGED, at).map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name === 'id' || names.includes(name))),
  );
  const next =
    at === 0 ? { '@odata.nextLink': `${asked.origin}${asked.path}?$select=${names.join(',')}&$skiptoken=1` } : {};
  return {
    body: {
      '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#deviceManagement/managedDevices',
      '@odata.count': 1,
      ...next,
      value,
    },
  };
};

const SENSORS = [
  {
    device_id: 'd1',
    serial_number: 'VMware-56 4d',
    status: 'normal',
    reduced_functionality_mode: 'no',
    agent_version: '7.19.18913.0',
    last_seen: '2026-11-28T11:59:00Z',
    device_policies: { prevention: { policy_id: 'p', applied: true } },
  },
  {
    device_id: 'd2',
    serial_number: 'C02Q7KHTGFWG',
    status: 'contained',
    reduced_functionality_mode: 'yes',
    agent_version: '7.10.1',
    last_seen: '2026-11-20T11:59:00Z',
    device_policies: { prevention: { policy_id: 'p', applied: false } },
  },
];
const crowdstrike: Vendor = (asked) => {
  if (asked.path === '/oauth2/token') return tokenFor(asked, null, 201);
  if (asked.authorization !== 'Bearer granted')
    return { status: 403, body: { errors: [{ code: 403, message: 'access denied' }] } };
  if (asked.path !== '/devices/combined/devices/v1') return UNKNOWN;
  const at = asked.query.get('offset') === 'next-page' ? 1 : 0;
  const pagination = {
    total: SENSORS.length,
    limit: Number(asked.query.get('limit')),
    next: at === 0 ? 'next-page' : '',
  };
  return { body: { meta: { query_time: 0.01, pagination, trace_id: 't' }, resources: page(SENSORS, at), errors: [] } };
};

const USERS = [
  {
    id: '00ub0',
    status: 'ACTIVE',
    created: '2013-07-02T21:36:25.344Z',
    lastLogin: '2026-11-27T08:00:00.000Z',
    passwordChanged: '2026-01-02T21:36:25.344Z',
    profile: { login: 'isaac.brock@example.com', email: 'Isaac.Brock@example.com', department: 'Sales' },
  },
  {
    id: '00ub1',
    status: 'LOCKED_OUT',
    created: '2013-07-02T21:36:25.344Z',
    lastLogin: null,
    passwordChanged: null,
    profile: { login: 'eric.judy', email: 'eric.judy@example.com', department: null },
  },
];
const okta: Vendor = ({ path, query, authorization, origin }) => {
  if (authorization !== 'SSWS okta-token')
    return { status: 401, body: { errorCode: 'E0000011', errorSummary: 'Invalid token provided' } };
  if (path !== '/api/v1/users' || query.get('limit') !== '200') return UNKNOWN;
  const at = query.get('after') === '00ub0' ? 1 : 0;
  const self = `<${origin}/api/v1/users?limit=200>; rel="self"`;
  return {
    headers: { link: at === 0 ? [self, `<${origin}/api/v1/users?after=00ub0&limit=200>; rel="next"`] : [self] },
    body: page(USERS, at),
  };
};

export const VENDORS = { fleet, jamf, intune, crowdstrike, okta } as const satisfies Record<string, Vendor>;

export function listening(vendor: Vendor): RequestListener {
  return async (request, response) => {
    const { status = 200, headers = {}, body } = vendor(await asked(request));
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

async function asked(request: IncomingMessage): Promise<Asked> {
  let text = '';
  for await (const part of request) text += part;
  const origin = `http://${request.headers.host}`;
  const { pathname: path, searchParams: query } = new URL(`${origin}${request.url}`);
  return { path, query, authorization: request.headers.authorization, form: new URLSearchParams(text), origin };
}
