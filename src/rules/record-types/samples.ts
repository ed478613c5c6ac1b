// rules: one complete, fresh, unremarkable record of each kind, which rule tests start from, and examples of an event and
// a factor. In: now, and a number for each of several. Out: a record that no sensible rule matches.
import { MINUTE_MS } from '../../base/time.ts';
import type { Facts } from '../../domain/facts.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

export function sampleRecord(kind: SubjectKind, nowMs: number, number = 1): Facts {
  const hourAgo = nanoseconds(nowMs - 60 * MINUTE_MS);
  switch (kind) {
    case 'device':
      return sampleDevice(nowMs, hourAgo, number);
    case 'user':
      return {
        Name: 'Sample User',
        Email: `user${number}@example.com`,
        Groups: 'Everyone,Staff',
        LastLogin: hourAgo,
        LoginCount: 120,
        SerialNumbers: [`SAMPLE-${number}`],
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
    SerialNumber: `SAMPLE-${number}`,
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
export function sampleFactor(): Facts {
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
