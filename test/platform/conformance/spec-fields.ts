// conformance: one line for each path of the service spec: its type is kept, and a value of another type is refused by name.
// In: the specification's table of paths. Out: rules. Nothing of a refused spec is stored.
import { deepEqual, equal, match } from 'node:assert/strict';
import { freshSpec, PATHS, type Row, services } from './fleet.ts';
import { query, type Rule } from './target.ts';

/** A value that fits, and one that does not. */
const STRING = ['text', 17];
const BOOLEAN = [true, 'text'];
const OBJECT = [{}, 'text'];
const LIST = [[], 'text'];
const STRINGS = [['text'], [17]];
const PORT = ['8443', 17];

const PATHS_OF_SPEC: Record<string, readonly unknown[]> = {
  kind: STRING,
  apiVersion: ['rbac.example/v1', 'v1'],
  type: STRING,
  'metadata.name': ['', 17],
  'metadata.description': STRING,
  'metadata.cluster': ['conformance', 17],
  'metadata.tags.template': STRING,
  'metadata.tags.user_facing': ['true', 17],
  'metadata.tags.protocol': STRING,
  'metadata.tags.domain': STRING,
  'metadata.tags.port': PORT,
  'metadata.tags.icon': STRING,
  'metadata.tags.service_app_type': STRING,
  'spec.attributes.frontend_addresses': [[{ cidr: '10.0.0.0/8', port: '443' }], [{ cidr: 17 }]],
  'spec.attributes.host_tag_selector': [[{ 'com.example.host': '*' }], [{ 'com.example.host': 17 }]],
  'spec.attributes.tls_sni': STRINGS,
  'spec.backend.target': [
    { name: 'db.internal', port: '5432', tls: true, tls_insecure: false, client_certificate: false },
    { tls: 'yes' },
  ],
  'spec.backend.dns_overrides': OBJECT,
  'spec.backend.whitelist': LIST,
  'spec.backend.http_connect': BOOLEAN,
  'spec.backend.allow_patterns': LIST,
  'spec.cert_settings.letsencrypt': BOOLEAN,
  'spec.cert_settings.dns_names': STRINGS,
  'spec.cert_settings.custom_tls_cert': [{ enabled: false, cert_file: '', key_file: '' }, { enabled: 'no' }],
  'spec.http_settings.enabled': BOOLEAN,
  'spec.http_settings.oidc_settings': [
    { enabled: true, service_domain_name: 'https://a.example', post_auth_redirect_path: '/', api_path: '' },
    { enabled: 'yes' },
  ],
  'spec.http_settings.http_health_check': [
    { enabled: true, method: 'GET', path: '/', user_agent: '', from_address: [], https: true },
    { https: 'yes' },
  ],
  'spec.http_settings.exempted_paths': [
    {
      enabled: true,
      paths: ['/open'],
      patterns: [
        { hosts: [{ origin_header: [], target: [] }], methods: [], mandatory_headers: [], paths: [], source_cidrs: [] },
      ],
    },
    { patterns: 'text' },
  ],
  'spec.client_cidrs': LIST,
  'metadata.user_facing': ['true', 17],
  'metadata.protocol': STRING,
  'metadata.domain': STRING,
  'metadata.port': PORT,
  'spec.http_settings.oidc_settings.suppress_device_trust_verification': BOOLEAN,
  'spec.http_settings.http_redirect': [{ enabled: true, url: 'https://b.example', status_code: 302 }, { url: 17 }],
};

export const SPEC_RULES: Rule[] = Object.entries(PATHS_OF_SPEC).map(([path, [good, bad]]) => ({
  section: 'Service spec (request body of create/update)',
  line: `\`${path}\` is kept as it was sent; another type is a 400 that names it`,
  writes: true,
  async check(target) {
    const spec = freshSpec();
    // A port that JSON numbers is seen in stored specs, so that only the tag refuses it.
    const wrong = path === 'metadata.port' ? [] : bad;
    const refused = await target.call('POST', PATHS.insertService, withValue(spec, path, wrong));
    equal(refused.status, 400, refused.text);
    match(refused.json.Message, new RegExp((path.split('.').at(-1) as string).slice(0, 30)));
    if (path !== 'metadata.name') {
      const id = `${spec.metadata.name}.${spec.metadata.cluster}`;
      equal(
        (await services(target)).filter((each) => each.ServiceID.startsWith(id)).length,
        0,
        'it was stored all the same',
      );
    }
    const kept = path === 'metadata.name' ? spec : withValue(spec, path, good);
    const created = await target.call('POST', PATHS.insertService, kept);
    equal(created.status, 200, created.text);
    const stored = JSON.parse((await services(target, created.json.ServiceID))[0].ServiceSpec);
    await target.call('DELETE', PATHS.deleteService + query({ ServiceID: created.json.ServiceID }));
    deepEqual(valueAt(stored, path), valueAt(kept, path));
  },
}));

function withValue(spec: Row, path: string, value: unknown): Row {
  const copy = structuredClone(spec);
  const steps = path.split('.');
  const last = steps.pop() as string;
  const parent = steps.reduce((at, step) => {
    at[step] ??= {};
    return at[step];
  }, copy);
  parent[last] = value;
  return copy;
}

function valueAt(spec: Row, path: string): unknown {
  return path.split('.').reduce((at, step) => at?.[step], spec);
}
