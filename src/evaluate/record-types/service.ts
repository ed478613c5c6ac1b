// evaluate: the schema of a registered-service record and of the spec inside it (management-api.md, "Registered service",
// "Service spec"). OIDCClientSpec is left out: it contains a secret and is dropped before anything is judged.
import type { ValueType } from './field-types.ts';
import { ANY, BOOLEAN, FLAG, listOf, NUMBER, recordOf, TEXT, TIME_NS, textOf } from './field-types.ts';

export const SERVICE: ValueType & { kind: 'record' } = recordOf({
  ServiceID: TEXT,
  ServiceName: TEXT,
  ClusterName: TEXT,
  ServiceType: textOf('user-defined', 'unknown', 'origin'),
  ServiceDiscovery: TEXT,
  ServiceVersion: NUMBER,
  Description: TEXT,
  CreatedAt: TIME_NS,
  LastUpdatedAt: TIME_NS,
  DeletedAt: TIME_NS,
  CreatedBy: TEXT,
  LastUpdatedBy: TEXT,
  DeletedBy: TEXT,
  External: TEXT,
  OIDCEnabled: FLAG,
  ServiceSpec: TEXT,
  UserFacing: FLAG,
  Protocol: TEXT,
  Domain: TEXT,
  Port: NUMBER,
  Enabled: FLAG,
  IsDefault: BOOLEAN,
});

const TEXTS = listOf(TEXT);
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
    service_domain_name: TEXT,
    post_auth_redirect_path: TEXT,
    api_path: TEXT,
    suppress_device_trust_verification: BOOLEAN,
  }),
  http_health_check: recordOf({
    enabled: BOOLEAN,
    method: TEXT,
    path: TEXT,
    user_agent: TEXT,
    from_address: TEXTS,
    https: BOOLEAN,
  }),
  http_redirect: recordOf({ enabled: BOOLEAN, addresses: ANY, from_address: ANY, url: TEXT, status_code: NUMBER }),
  exempted_paths: recordOf({ enabled: BOOLEAN, paths: TEXTS, patterns: listOf(PATTERN) }),
});

/** `$spec`: the ServiceSpec text, parsed. */
export const SERVICE_SPEC: ValueType & { kind: 'record' } = recordOf({
  kind: TEXT,
  apiVersion: TEXT,
  type: TEXT,
  metadata: recordOf({
    name: TEXT,
    description: TEXT,
    cluster: TEXT,
    user_facing: TEXT,
    protocol: TEXT,
    domain: TEXT,
    port: TEXT,
    tags: recordOf({
      template: TEXT,
      user_facing: TEXT,
      protocol: TEXT,
      domain: TEXT,
      port: TEXT,
      icon: TEXT,
      service_app_type: TEXT,
    }),
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
