// console seed: registered services, with whole specs as administrators write them.
// In: choices and how many. Out: rows, made by the same code that the API uses, and moved into the past.
import { PolicySpec, ServiceSpec } from '../../management/contract.ts';
import { attachPolicy, insertPolicy } from '../store/policies.ts';
import { insertService } from '../store/services.ts';
import type { Actor, ConsoleStore } from '../store/store.ts';
import { CLUSTERS, SERVICE_NAMES } from './names.ts';
import type { Choices } from './random.ts';
import { agoNs } from './when.ts';

const SEEDER: Actor = { name: 'admin@acme.example', via: 'hand' };
const TEMPLATES = [
  { template: 'WEB_USER', protocol: 'https', port: '443', user_facing: 'true', type: 'origin' },
  { template: 'TCP_USER', protocol: 'tcp', port: '5432', user_facing: 'false', type: 'user-defined' },
  { template: 'TCP_USER', protocol: 'ssh', port: '22', user_facing: 'true', type: 'user-defined' },
] as const;

export function seedServices(store: ConsoleStore, choices: Choices, count: number): void {
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
