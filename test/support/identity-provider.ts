// support: a real identity provider on loopback (oidc-provider) with two persons, which a test can make lie, fail or forget; and a browser without
// scripts that keeps cookies. In: nothing. Out: settings for Trustward, and levers.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import type { ProviderSettings } from '../../src/faces/http/provider.ts';

// The library has no types of its own: what is used of it.
type Serving = (request: IncomingMessage, response: ServerResponse) => void;
interface Context {
  path: string;
  body: Record<string, unknown>;
}
interface Provider {
  callback(): Serving;
  use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ uid: string }>;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  Client: { find(id: string): Promise<{ backchannelLogout(sub: string, sid: string | undefined): Promise<void> }> };
  Grant: new (of: {
    clientId: string;
    accountId: string;
  }) => {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  };
}
const { Provider } = (await import('oidc-provider' as string)) as {
  Provider: new (issuer: string, configuration: object) => Provider;
};

export interface Account {
  email: string;
  email_verified: boolean | undefined;
  groups: string[] | undefined;
}

/** In place of an answer of the provider. */
type Lie = (body: Record<string, unknown>) => Promise<Record<string, unknown>> | Record<string, unknown>;

export interface IdentityProvider {
  settings: ProviderSettings;
  /** The same for a process, with what two of the groups may do. */
  env: Record<string, string>;
  accounts: Map<string, Account>;
  /** By path. */
  lies: Map<string, Lie>;
  /** By path, in place of answering at all. */
  failures: Map<string, Serving>;
  /** How often a path was asked. */
  asked(path: string): number;
  /** A token as the provider signs it, or not quite. */
  signed(
    claims: object,
    over?: { header?: Partial<JWTHeaderParameters>; key?: CryptoKey | Uint8Array },
  ): Promise<string>;
  /** The keys it signs with from now on, until what is returned is called. */
  rotate(): Promise<() => void>;
  /** Sends what ends sessions to Trustward, as the provider itself does it. */
  logsOut(sub: string, sid: string | undefined): Promise<void>;
  endsHere: { send: (url: string, options: RequestInit) => Promise<Response> };
  close(): Promise<void>;
}

export const CLIENT = { id: 'trustward', secret: 'a-secret-of-the-client-0123456789' };
const GRANTS = ['authorization_code', 'refresh_token'];
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SCOPES: ProviderSettings['scopes'] = [
  { group: 'admins', scope: 'admin', organization: undefined },
  { group: 'security', scope: 'approve', organization: undefined },
  { group: 'staff', scope: 'read', organization: undefined },
];

interface Options {
  /** Where Trustward is. */
  base?: string;
  scopes?: ProviderSettings['scopes'];
  /** Without one, groups are asked for at the page about the person. */
  hasRefresh?: boolean;
  /** False: no command can sign in there. */
  hasDevices?: boolean;
}

export async function openIdentityProvider(options: Options = {}): Promise<IdentityProvider> {
  const { base = 'http://127.0.0.1:8080', scopes = SCOPES, hasRefresh = true, hasDevices = true } = options;
  const accounts = new Map<string, Account>([
    ['u-ana', { email: 'ana@example.com', email_verified: true, groups: ['security', 'staff', 'chess'] }],
    ['u-ben', { email: 'ben@example.com', email_verified: true, groups: ['staff'] }],
  ]);
  const [lies, failures, counts] = [new Map<string, Lie>(), new Map<string, Serving>(), new Map<string, number>()];
  const endsHere: IdentityProvider['endsHere'] = {
    // It would refuse an address on loopback.
    send: (url, { method = 'POST', headers = {}, body = null }) => fetch(url, { method, headers, body }),
  };
  let keys = await generateKeyPair('RS256', { extractable: true });
  let kid = 'first';
  const jwk = async (key: CryptoKey) => ({ ...(await exportJWK(key)), kid, alg: 'RS256', use: 'sig' });
  let handle: Serving = () => {};
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1);
    const failure = failures.get(pathname);
    if (failure) failure(request, response);
    else if (pathname.startsWith('/interaction/')) void interact(request, response);
    else handle(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [`${base}/sign-in/back`] },
        ...{ grant_types: hasDevices ? [...GRANTS, DEVICE_GRANT] : GRANTS, response_types: ['code'] },
        ...{ backchannel_logout_uri: `${base}/sign-in/ended`, backchannel_logout_session_required: true },
      },
    ],
    jwks: { keys: [await jwk(keys.privateKey)] },
    cookies: { keys: ['of-a-test'] },
    claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups', 'offline_access'],
    features: {
      ...{ devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      deviceFlow: { enabled: hasDevices },
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => hasRefresh,
    // Each is good once, and a second use takes all of them back: the strictest that a provider may be.
    rotateRefreshToken: () => true,
    findAccount: (_: unknown, sub: string) =>
      accounts.has(sub) ? { accountId: sub, claims: () => ({ sub, ...accounts.get(sub) }) } : undefined,
    loadExistingGrant: async (context: { oidc: { client: { clientId: string }; session: { accountId: string } } }) => {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid email groups offline_access');
      await grant.save();
      return grant;
    },
    ttl: {
      DeviceCode: 600,
      IdToken: 600,
      AccessToken: 600,
      RefreshToken: 3_600,
      Grant: 7_200,
      Interaction: 600,
      Session: 7_200,
    },
    fetch: (url: string | URL, init: RequestInit) => endsHere.send(String(url), init),
  });
  provider.use(async (context, next) => {
    await next();
    const lie = lies.get(context.path);
    if (lie) context.body = await lie(context.body);
  });
  handle = provider.callback();

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid } = await provider.interactionDetails(request, response);
    const accountId = new URL(request.url ?? '', issuer).searchParams.get('as');
    if (accountId) return provider.interactionFinished(request, response, { login: { accountId } });
    const links = [...accounts.keys()].map((sub) => `<p><a href="/interaction/${uid}?as=${sub}">${sub}</a></p>`);
    response.setHeader('content-type', 'text/html');
    response.end(`<title>Example ID</title><h1>Who are you?</h1>${links.join('')}`);
  }

  return {
    settings: {
      ...{ issuer, clientId: CLIENT.id, secret: CLIENT.secret, groupsClaim: 'groups', scopes },
      asks: ['openid', 'email', 'profile', 'groups'],
    },
    env: {
      ...{ TRUSTWARD_OIDC_ISSUER: issuer, TRUSTWARD_OIDC_CLIENT_ID: CLIENT.id },
      ...{ TRUSTWARD_OIDC_CLIENT_SECRET: CLIENT.secret, TRUSTWARD_OIDC_SCOPES: 'security=approve, staff=read' },
    },
    ...{ accounts, lies, failures, endsHere },
    asked: (path) => counts.get(path) ?? 0,
    signed: (claims, { header, key = keys.privateKey } = {}) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(key),
    rotate: async () => {
      const before = { keys, kid };
      keys = await generateKeyPair('RS256', { extractable: true });
      kid = 'second';
      const published = { keys: [await jwk(keys.publicKey)] };
      lies.set('/jwks', () => published);
      return () => {
        ({ keys, kid } = before);
        lies.delete('/jwks');
      };
    },
    logsOut: async (sub, sid) => (await provider.Client.find(CLIENT.id)).backchannelLogout(sub, sid),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Keeps cookies of the host, whichever port they are of, and follows where it is led. */
export class Visitor {
  readonly jar = new Map<string, string>();
  /** Where it was led to, the last one at the end. */
  readonly been: string[] = [];

  constructor(private readonly ours: { origin: string; request(path: string, init: RequestInit): Promise<Response> }) {}

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const whole = new URL(url, this.ours.origin);
    this.been.push(whole.href);
    if (this.been.length > 200) throw new Error('led in a circle');
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = { ...init, headers: { host: whole.host, cookie, ...init.headers }, redirect: 'manual' as const };
    const isOurs = whole.origin === this.ours.origin;
    const answer = isOurs
      ? await this.ours.request(`${whole.pathname}${whole.search}`, sent)
      : await fetch(whole, sent);
    for (const line of answer.headers.getSetCookie()) this.keep(line);
    return answer;
  }

  /** Until a page is shown, at most `steps` times. */
  async follow(url: string, steps = 20): Promise<Response> {
    let answer = await this.open(url);
    for (let count = 1; count < steps; count += 1) {
      const to = answer.headers.get('location');
      if (to === null) return answer;
      answer = await this.open(new URL(to, this.been.at(-1)).href);
    }
    return answer;
  }

  /** Up to the address that leads back to Trustward with a code, which is not opened. */
  async leadBack(sub: string, to = '/'): Promise<string> {
    let url = `${this.ours.origin}/sign-in/provider?to=${encodeURIComponent(to)}`;
    for (let count = 0; count < 12; count += 1) {
      const answer = await this.open(url);
      const next = answer.headers.get('location');
      const page = next === null ? await answer.text() : '';
      const link = new RegExp(`/interaction/[\\w-]+\\?as=${sub}`).exec(page)?.[0];
      if (next === null && link === undefined) throw new Error(`${url} was answered with ${answer.status}: ${page}`);
      url = new URL(next ?? (link as string), url).href;
      if (url.startsWith(`${this.ours.origin}/sign-in/back`)) return url;
    }
    throw new Error('never led back');
  }

  async signIn(sub: string, to = '/'): Promise<Response> {
    return this.open(await this.leadBack(sub, to));
  }

  /** Enters the code of a command at the provider. Out: the page at the end. */
  async entersCode(sub: string, completeUri: string, says: 'confirm' | 'abort' = 'confirm'): Promise<string> {
    const { origin, pathname, searchParams } = new URL(completeUri);
    const form = await (await this.open(completeUri)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const fields = { xsrf, user_code: searchParams.get('user_code') ?? '', [says]: 'yes' };
    const init = { method: 'POST', headers, body: new URLSearchParams(fields).toString() };
    let answer = await this.open(`${origin}${pathname}`, init);
    for (let count = 0; count < 8; count += 1) {
      const text = await answer.text();
      const next = answer.headers.get('location') ?? new RegExp(`/interaction/[\\w-]+\\?as=${sub}`).exec(text)?.[0];
      if (next === undefined) return text;
      answer = await this.open(new URL(next, origin).href);
    }
    throw new Error('never came to an end');
  }

  post(path: string, fields: Record<string, string> | [string, string][] = {}): Promise<Response> {
    const headers = { origin: this.ours.origin, 'content-type': 'application/x-www-form-urlencoded' };
    return this.open(path, { method: 'POST', headers, body: new URLSearchParams(fields).toString() });
  }

  private keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) this.jar.delete(name);
    else this.jar.set(name, value);
  }
}
