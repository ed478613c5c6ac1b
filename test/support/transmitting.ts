// support: a daemon that transmits signals, over HTTP, to receivers with a token each; SETs are verified by the keys that it publishes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { TransmitterKeys, verifySet } from '../../src/signals/set.ts';
import { type Organization, type OrganizationOptions, startOrganization } from './organization.ts';
import { CERTIFICATE } from './receiver.ts';

export const ISSUER = 'https://trustward.example';
export const COMPLIANCE = 'https://schemas.openid.net/secevent/caep/event-type/device-compliance-change';
export const REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
export const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification';
const ADMIN = 'admin-token-of-this-test-0123';

export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';

const RECEIVERS = `
okta:
  audience: https://okta.example/ssf
  events: { device-compliance-change: all, session-revoked: [ban-compromised-device] }
  allowPrivate: true
  timeout: 2s
  caFile: CA
jamf:
  audience: [jamf, jamf-two]
  events: { device-compliance-change: all }
  device: device_id
  format: opaque
other:
  audience: other
  events: { session-revoked: [another-rule] }
`;

export function transmittingEnv(dir: string): Record<string, string> {
  const [file, ca] = [join(dir, 'receivers.yaml'), join(dir, 'ca.pem')];
  writeFileSync(ca, CERTIFICATE);
  writeFileSync(file, RECEIVERS.replace('CA', ca));
  return {
    TRUSTWARD_SIGNAL_RECEIVERS: file,
    TRUSTWARD_PUBLIC_URL: ISSUER,
    TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
    TRUSTWARD_TOKEN: ADMIN,
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '0s',
  };
}

export interface Asked {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of another, compared by the test
  body: any;
}

/** Asks in the name of a receiver. */
export type Ask = (method: string, path: string, body?: object) => Promise<Asked>;

/** `url`: of the daemon, whatever its public address is. */
export function asking(url: string, token: string): Ask {
  return async (method, path, body) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const answer = await fetch(within(url, path.startsWith('/') ? `${url}${path}` : path), {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
}

export interface Transmitting {
  org: Organization;
  url: string;
  /** With a token of scope `signals` of this name; made when it is first asked for. */
  as(name: string): Promise<Ask>;
  /** One of scope `signals`, of this name. */
  token(name: string): Promise<string>;
  verified(text: string, audience: string): ReturnType<typeof verifySet>;
  stop(): Promise<void>;
}

/** Names the platform's public address where the daemon listens. */
const within = (url: string, address: string) => address.replace(ISSUER, url);

export async function startTransmitting(options: OrganizationOptions = {}): Promise<Transmitting> {
  const org = await startOrganization(options);
  Object.assign(org.env, transmittingEnv(org.dir));
  await org.restart();
  const daemon = await startDaemon(org.composition);
  const { url } = daemon;
  const known = new Map<string, Ask>();
  const configuration = await (await fetch(`${url}/.well-known/ssf-configuration`)).json();
  const keys = new TransmitterKeys(
    async () => (await fetch(within(url, (configuration as { jwks_uri: string }).jwks_uri))).text(),
    systemClock,
  );
  const token = async (name: string): Promise<string> =>
    (await asking(url, ADMIN)('POST', '/api/tokens', { name, scope: 'signals' })).body.token;
  return {
    org,
    url,
    token,
    as: async (name) => {
      const before = known.get(name);
      if (before) return before;
      const ask = asking(url, await token(name));
      known.set(name, ask);
      return ask;
    },
    verified: (text, audience) =>
      verifySet(text, { issuer: ISSUER, audience: [audience], keys, nowMs: systemClock.nowMs() }),
    stop: async () => {
      await daemon.stop();
      await org.close();
    },
  };
}
