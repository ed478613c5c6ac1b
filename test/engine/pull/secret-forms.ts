// test: the forms of secrets in services' specs, at any depth and in JSON within JSON, for fast-check. Nothing here is
// a secret.
import fc from 'fast-check';
import type { Fact, Facts } from '../../../src/domain/facts.ts';

export const CANARY = 'canary-9f3c-7720';

const NAMES = [
  ...['password', 'DB_PASSWORD', 'pwd', 'userPwd', 'db-pass', 'passphrase', 'pass-phrase', 'credential', 'Credentials'],
  ...['client_secret', 'client-secret', 'PrivateKey', 'private-key', 'private key', 'api-key', 'X-Api-Key', 'apiKey'],
  ...['access_key', 'signing-key', 'token', 'bearerToken', 'access_token', 'X-Auth-Token', 'Tokens', 'token_value'],
  ...['Authorization', 'Proxy-Authorization', 'authorization', 'Set-Cookie', 'jwt', 'connection-string'],
];
const TEXTS = [
  `-----BEGIN PRIVATE KEY-----\n${CANARY}\n-----END PRIVATE KEY-----`,
  `the old one:\n-----BEGIN ENCRYPTED PRIVATE KEY-----\r\n${CANARY}`,
  `-----BEGIN OPENSSH PRIVATE KEY-----\\n${CANARY}`,
  ...[`Bearer ${CANARY}`, `bearer  ${CANARY}`, `Basic ${CANARY}`, `send it as Bearer ${CANARY}, please`],
  ...[
    `https://user:${CANARY}@host.example/`,
    `postgres://${CANARY}@db:5432/x`,
    `see https://a:b/${CANARY}@host/?x=1 now`,
  ],
  ...[`X-Api-Key: ${CANARY}`, `Authorization: Basic ${CANARY}`, `Server=db;Password=${CANARY};Port=1`],
  ...[
    `https://host.example/?a=1&access_token=${CANARY}`,
    `# of old\npwd: ${CANARY}\n`,
    `it has {"api-key":"${CANARY}"}`,
  ],
];

const name = fc.constantFrom(...NAMES);
const text = fc.constantFrom(...TEXTS);
const pairName = fc.constantFrom('name', 'Name', 'key', 'header');

/** One value that contains the canary in one of the forms. */
const form: fc.Arbitrary<Fact> = fc.oneof(
  fc.tuple(name, fc.constantFrom<Fact>(CANARY, [CANARY], { old: CANARY })).map(([key, value]) => ({ [key]: value })),
  text,
  text.map((key) => ({ [key]: 1 })),
  fc.tuple(pairName, name).map(([key, header]) => [{ [key]: header, value: CANARY, enabled: true }]),
);

/** What is around it; `json` is a text that has to be parsed to see inside. */
const WRAPS: Record<string, (value: Fact) => Fact> = {
  member: (value) => ({ kind: 'x', inner: value }),
  list: (value) => ['a', value],
  json: (value) => JSON.stringify(value),
  escaped: (value) => JSON.stringify({ deep: value }).replaceAll('"', '&#34;'),
};
const wraps = fc
  .array(fc.constantFrom(...Object.keys(WRAPS)), { maxLength: 6 })
  .filter((list) => list.filter((wrap) => wrap === 'json' || wrap === 'escaped').length <= 3);

export const hostile: fc.Arbitrary<Fact> = fc
  .tuple(form, wraps)
  .map(([value, list]) => list.reduce((inner, wrap) => (WRAPS[wrap] as (value: Fact) => Fact)(inner), value));

/** A service as the API sends it, with that in the middle of its spec. */
export function serviceWith(service: string, value: Fact): Facts {
  const spec = {
    kind: 'x',
    metadata: { name: service, cluster: 'eu' },
    spec: { backend: { target: { port: '80' } }, hostile: value },
  };
  return {
    ServiceID: `${service}.eu.tw`,
    ServiceName: service,
    ClusterName: 'eu',
    Enabled: 'TRUE',
    OIDCEnabled: 'FALSE',
    OIDCClientSpec: '{"client_id":"x"}',
    ServiceSpec: JSON.stringify(spec),
  };
}
