// scenarios: everything that has a secret, each another one: credentials in files and in the environment, addresses, records, answers of the
// platform and of receivers. In: nothing. Out: an environment, and the secrets.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formsOf } from '../../src/base/secret-texts.ts';
import { type Console, startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { Canaries, canaryOf } from '../support/canaries.ts';
import { type EchoingPlatform, startEchoing } from '../support/echoing-platform.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, silentLog } from '../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../support/receiver.ts';

const BAN = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 100, percent: 100 }');
/** Keeps a spec as a fact. */
export const DISABLE_OPEN = `
id: disable-open-service
title: Disable services that let everybody in
severity: high
subject: service
when:
  and:
    - { "==": [{ var: OIDCEnabled }, "TRUE"] }
    - { "!=": [{ var: ServiceSpec }, "none"] }
then: disable_service
mode: enforce
limits: { max: 50, percent: 100 }
tests:
  - { name: open, given: { OIDCEnabled: "TRUE" }, expect: match }
`;
const NOTIFY = DISABLE_OPEN.replace('disable-open-service', 'name-open-service').replace(
  'then: disable_service',
  'then: { action: notify, with: { to: ops } }',
);

export interface CanaryWorld {
  dir: string;
  /** What Trustward keeps. */
  data: string;
  env: Record<string, string>;
  /** Instead of the refresh token. */
  withKey: Record<string, string>;
  console: Console;
  platform: EchoingPlatform;
  receiver: Receiver;
  canaries: Canaries;
  /** By name. */
  secrets: Record<string, string>;
  /** Access tokens that the platform issued. */
  issued: string[];
  /** Where the address of the heartbeat and the token of the endpoint are. */
  files: Record<'refresh' | 'admin' | 'token' | 'heartbeat' | 'webhook', string>;
  close(): Promise<void>;
}

const NAMES = {
  'the API key': '"\\%/+=&<',
  'the refresh token': '"\\%/+=&<',
  'the next refresh token': '/+=',
  'a refused refresh token': '/+=',
  'the admin token': '"/+=',
  'the token of the endpoint': '/+=',
  'the next token of the endpoint': '/+=',
  'the secret of a webhook': '"/+=&',
  'the secret of a webhook in the environment': '"/+=&',
  'the path of a webhook': '',
  'the path of the heartbeat': '',
  'the query of the heartbeat': '',
  'the secret of a client in a record': '"/+=&<',
  'the password of a spec': '"/+=&<',
  'the header of a spec': '/+=',
  'the password of an address': '',
  'a foreign token': '/+=',
};

export async function startCanaryWorld(): Promise<CanaryWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-canary-'));
  const data = join(dir, 'data');
  for (const folder of [data, join(dir, 'rules')]) mkdirSync(folder);
  const canaries = new Canaries();
  const secrets = Object.fromEntries(
    Object.entries(NAMES).map(([name, middle]) => [name, canaries.add(name, canaryOf(name, middle))]),
  );
  const of = (name: keyof typeof NAMES) => secrets[name] as string;
  const write = (name: string, text: string) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  for (const [name, text] of Object.entries({
    ban: BAN,
    disable: DISABLE_OPEN,
    failing: DISABLE_FAILING,
    notify: NOTIFY,
  }))
    write(`rules/${name}.yaml`, text);

  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: join(dir, 'console.db'),
    seed: { seed: 7, devices: 30, users: 20, services: 3, events: 20, compromised: 0 },
    faults: true,
    clock: systemClock,
    log: silentLog,
  });
  const { apiKey = '' } = console.credentials ?? {};
  const platform = await startEchoing(console);
  const receiver = await startReceiver();
  receiver.echo = ({ path, headers, body }) =>
    JSON.stringify({ path, headers, body, secrets: [of('the secret of a webhook'), of('the path of the heartbeat')] });
  platform.takes.set(of('the API key'), apiKey).set(of('the admin token'), apiKey);
  const issued: string[] = [];
  platform.exchange = (token) => {
    if (![of('the refresh token'), of('the next refresh token')].includes(token)) return undefined;
    const name = `access token ${issued.length}`;
    const access = canaries.add(name, canaryOf(name, '/+='));
    issued.push(access);
    platform.takes.set(access, apiKey);
    return access;
  };
  console.faults?.set([
    {
      kind: 'garbage',
      match: { path: '/api/v1/registered_services' },
      body: JSON.stringify(['one', 'two'].map((name) => serviceWith(name, of))),
    },
  ]);

  const files = {
    refresh: write('refresh', `${of('the refresh token')}\n`),
    admin: write('admin', `${of('the admin token')}\n`),
    token: write('token', `${of('the token of the endpoint')}\n`),
    heartbeat: write(
      'heartbeat',
      `https://localhost:${receiver.port}/beat/${of('the path of the heartbeat')}?key=${of('the query of the heartbeat')}\n`,
    ),
    webhook: write('webhook', `${of('the secret of a webhook')}\n`),
  };
  const caFile = write('ca.pem', CERTIFICATE);
  const hook = {
    url: `https://localhost:${receiver.port}/hook/${of('the path of a webhook')}`,
    allowPrivate: true,
    caFile,
  };
  const webhooks = {
    ops: { ...hook, secretFile: files.webhook },
    feed: { ...hook, secretEnv: 'FEED_SECRET', events: ['decision', 'outcome'], batch: { most: 20, wait: '0s' } },
  };
  const env = {
    TRUSTWARD_API_URL: platform.address,
    TRUSTWARD_REFRESH_TOKEN_FILE: files.refresh,
    TRUSTWARD_ADMIN_TOKEN_FILE: files.admin,
    TRUSTWARD_TOKEN_FILE: files.token,
    TRUSTWARD_DB: join(data, 'trustward.db'),
    TRUSTWARD_RULES: join(dir, 'rules'),
    TRUSTWARD_MODE: 'enforce',
    TRUSTWARD_LOG_LEVEL: 'debug',
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '1s',
    TRUSTWARD_BACKUP: '1h',
    TRUSTWARD_QUIET_PERIOD: '0s',
    TRUSTWARD_RUN_FAILURES_MAX: '1000',
    TRUSTWARD_CEILING_RUN: '1000,100%',
    TRUSTWARD_CEILING_DAY: '1000,100%',
    TRUSTWARD_WEBHOOKS: write('webhooks.json', JSON.stringify(webhooks)),
    TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
    TRUSTWARD_ALERTS_TO: 'ops',
    TRUSTWARD_HEARTBEAT_URL_FILE: files.heartbeat,
    TRUSTWARD_HEARTBEAT_CA: caFile,
    TRUSTWARD_HEARTBEAT_PRIVATE: 'yes',
    FEED_SECRET: of('the secret of a webhook in the environment'),
  };
  const { TRUSTWARD_REFRESH_TOKEN_FILE: _, ...rest } = env;
  return {
    ...{ dir, data, env, console, platform, receiver, canaries, secrets, issued, files },
    withKey: { ...rest, TRUSTWARD_API_KEY: of('the API key') },
    close: async () => {
      await platform.close();
      await receiver.close();
      await console.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function serviceWith(name: string, of: (name: keyof typeof NAMES) => string) {
  const spec = {
    kind: 'BanyanService',
    metadata: { name, tags: { note: `{"api_key":${JSON.stringify(of('the password of a spec'))}}` } },
    spec: {
      backend: { password: of('the password of a spec'), url: `postgres://x:${of('the password of an address')}@db/x` },
      http_settings: { headers: { Authorization: `Bearer ${of('the header of a spec')}` } },
    },
  };
  const client = { client_id: name, client_secret: of('the secret of a client in a record') };
  return {
    ...{ ServiceID: `${name}.eu.tw`, ServiceName: name, ClusterName: 'eu', Enabled: 'TRUE', OIDCEnabled: 'TRUE' },
    OIDCClientSpec: JSON.stringify(client).replaceAll('"', '&#34;'),
    ServiceSpec: JSON.stringify(spec),
  };
}

/** Refuses each of these requests by a text with another form of the credential, and with another status. */
export function refuseWithEchoes(
  platform: EchoingPlatform,
  isMeant: (method: string, path: string) => boolean,
): () => number {
  const statuses = [200, 400, 403, 404, 409, 500];
  const words = ['Message', 'error', 'error_description', 'message'];
  let count = 0;
  platform.refuse = (method, path, credential) => {
    if (!isMeant(method, path)) return undefined;
    const forms = formsOf(credential);
    const form = forms[count % forms.length] as string;
    const text = { [words[count % words.length] as string]: `refused: you sent ${form} with ${method}`, error_code: 7 };
    const status = statuses[count % statuses.length] as number;
    count += 1;
    return { status, body: JSON.stringify(count % 5 === 0 ? `you sent ${form}` : text) };
  };
  return () => count;
}
