// conformance: the server under test, and what a rule is.
// In: a base address and credentials. Out: calls, and rules that check one line of the specification each. It knows nothing of the
// console: any server of the Management API can be the target.

export interface Credentials {
  baseUrl: string;
  apiKey: string;
  refreshToken: string | undefined;
  adminToken: string | undefined;
  /** A key whose scope permits neither events nor bundles. */
  limitedKey: string | undefined;
  /** Without it, no rule that changes something is checked. */
  mayWrite: boolean;
}

export interface Answer {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: rules read whatever came
  json: any;
  headers: Headers;
}

export type As = 'key' | 'admin' | 'refresh' | 'limited' | 'nobody' | 'wrong' | { authorization: string };

export interface Target {
  credentials: Credentials;
  /** `body`: text is sent unchanged, anything else as JSON. Bundles are called as `admin` by default. */
  call(method: string, path: string, body?: unknown, as?: As): Promise<Answer>;
  get(path: string, as?: As): Promise<Answer>;
}

export interface Rule {
  /** The specification's heading. */
  section: string;
  /** What the specification says (or what field notes suggest where it is silent), in one line. */
  line: string;
  writes?: boolean;
  check(target: Target): Promise<void>;
}

/** A rule that can't be checked on this target, and why. */
export class NotChecked extends Error {}

export function openTarget(credentials: Credentials): Target {
  const call = async (method: string, path: string, body?: unknown, as?: As): Promise<Answer> => {
    const authorization = authorizationOf(credentials, as ?? (isBundle(path) ? 'admin' : 'key'));
    const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(credentials.baseUrl + path, {
      method,
      redirect: 'error',
      headers: {
        ...(authorization === undefined ? {} : { Authorization: authorization }),
        ...(text === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const received = await response.text();
    return { status: response.status, text: received, json: parsed(received), headers: response.headers };
  };
  return { credentials, call, get: (path, as) => call('GET', path, undefined, as) };
}

function isBundle(path: string): boolean {
  return /\/(service_)?bundle(\/|\?|$)/.test(path);
}

function authorizationOf(credentials: Credentials, as: As): string | undefined {
  if (typeof as === 'object') return as.authorization;
  switch (as) {
    case 'key':
      return `Bearer ${credentials.apiKey}`;
    case 'admin':
      return needed(credentials.adminToken, 'an admin token');
    case 'refresh':
      return `Bearer ${needed(credentials.refreshToken, 'a refresh token')}`;
    case 'limited':
      return `Bearer ${needed(credentials.limitedKey, 'a key of a limited scope')}`;
    case 'wrong':
      return 'Bearer wrong-credential';
    case 'nobody':
      return undefined;
  }
}

export function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotChecked(`needs ${what}`);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function query(values: Record<string, string | number>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) params.set(name, String(value));
  return `?${params}`;
}
