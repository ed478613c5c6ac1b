// management contract: the record of a registered service, and the spec that creates or updates one.
// In: parsed JSON. Out: checked values with unknown fields kept. A spec is checked strictly where the specification
// gives a type: it is stored whole and judged later.
import { z } from 'zod';
import { bool, flag, integer, namedSchemas, recordHistory, text, textOrNull } from './shapes.ts';

/** As list, create and update give it. */
export const RegisteredService = z
  .looseObject({
    /** `name.cluster.suffix`. */
    ServiceID: z.string(),
    ServiceName: text,
    /** `metadata.friendly_name`, otherwise the name. */
    FriendlyName: text,
    ClusterName: text,
    ServiceType: text,
    ServiceDiscovery: text,
    ServiceVersion: integer,
    Description: text,
    ...recordHistory,
    External: text,
    OIDCEnabled: flag,
    /** A JSON document encoded as text. It holds a `client_secret`: drop it before anything is kept. */
    OIDCClientSpec: text,
    /** The service spec encoded as JSON text; some servers HTML-escape it. */
    ServiceSpec: text,
    UserFacing: flag,
    Protocol: text,
    Domain: text,
    Port: integer,
    Enabled: flag,
    /** In the create/update answer only. */
    IsDefault: bool,
  })
  .register(namedSchemas, { id: 'RegisteredService' });
export type RegisteredService = z.infer<typeof RegisteredService>;

// Clients marshal empty lists, objects and texts as null, so null is taken for absent.
const anyList = z.array(z.unknown()).nullish();
const textList = z.array(z.string()).nullish();
const anyObject = z.record(z.string(), z.unknown()).nullish();

/** Free texts: the record shows what of them it understands. */
const tags = z.looseObject({
  template: textOrNull,
  user_facing: textOrNull,
  protocol: textOrNull,
  domain: textOrNull,
  port: textOrNull,
  icon: textOrNull,
  service_app_type: textOrNull,
});

const metadata = z.looseObject({
  name: z.string().trim().min(1, 'must not be empty'),
  cluster: z.string().trim().min(1, 'must not be empty'),
  description: textOrNull,
  friendly_name: textOrNull,
  tags: tags.nullish(),
  // Seen in stored specs.
  user_facing: textOrNull,
  protocol: textOrNull,
  domain: textOrNull,
  port: z.union([z.string(), z.number()]).optional(),
});

const attributes = z.looseObject({
  frontend_addresses: z.array(z.looseObject({ cidr: text, port: text })).nullish(),
  host_tag_selector: z.array(z.record(z.string(), z.string())).nullish(),
  tls_sni: textList,
});

const backend = z.looseObject({
  target: z.looseObject({ name: text, port: text, tls: bool, tls_insecure: bool, client_certificate: bool }).nullish(),
  dns_overrides: anyObject,
  whitelist: anyList,
  http_connect: bool,
  allow_patterns: anyList,
});

const certSettings = z.looseObject({
  letsencrypt: bool,
  dns_names: textList,
  custom_tls_cert: z.looseObject({ enabled: bool, cert_file: text, key_file: text }).nullish(),
});

const exemptedPattern = z.looseObject({
  hosts: z.array(z.looseObject({ origin_header: anyList, target: anyList })).nullish(),
  methods: anyList,
  mandatory_headers: anyList,
  paths: anyList,
  source_cidrs: anyList,
});

const httpSettings = z.looseObject({
  enabled: bool,
  oidc_settings: z
    .looseObject({
      enabled: bool,
      service_domain_name: text,
      post_auth_redirect_path: text,
      api_path: text,
      suppress_device_trust_verification: bool,
    })
    .nullish(),
  http_health_check: z
    .looseObject({ enabled: bool, method: text, path: text, user_agent: text, from_address: anyList, https: bool })
    .nullish(),
  http_redirect: z
    .looseObject({
      enabled: bool,
      addresses: z.unknown().optional(),
      from_address: z.unknown().optional(),
      url: text,
      status_code: integer,
    })
    .nullish(),
  exempted_paths: z
    .looseObject({ enabled: bool, paths: anyList, patterns: z.array(exemptedPattern).nullish() })
    .nullish(),
});

/** Body of create/update (endpoint 9). Only name and cluster are required: they identify the service. */
export const ServiceSpec = z
  .looseObject({
    kind: text,
    apiVersion: z
      .string()
      .regex(/^[^/\s]+\/v1$/, 'must be of the form <api_group>/v1')
      .optional(),
    type: text,
    metadata,
    spec: z
      .looseObject({
        attributes: attributes.nullish(),
        backend: backend.nullish(),
        cert_settings: certSettings.nullish(),
        http_settings: httpSettings.nullish(),
        client_cidrs: anyList,
      })
      .nullish(),
  })
  .register(namedSchemas, { id: 'ServiceSpec' });
export type ServiceSpec = z.infer<typeof ServiceSpec>;
