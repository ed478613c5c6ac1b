// management client: removes our own secrets, and anything else secret, from a server's text before anybody reads it.
// In: text from answers. Out: the same without credentials, in one line. It must never be skipped: servers echo
// requests, and encode what they echo.
import { patternOf } from '../../base/secret-texts.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { textWithoutSecrets } from '../../domain/secrets.ts';
import { parseExact } from '../contract/exact-json.ts';
import type { Credential } from './fault.ts';

const REMEMBERED_MAX = 16;

export class Redactor {
  #secrets: string[] = [];
  #pattern: RegExp | undefined;

  /** From now on this text is replaced. Old access tokens are forgotten in time, long-lived secrets come first. */
  add(secret: string): void {
    if (secret === '' || this.#secrets.includes(secret)) return;
    if (this.#secrets.length >= REMEMBERED_MAX) this.#secrets.splice(REMEMBERED_MAX / 2, 1);
    this.#secrets.push(secret);
    this.#pattern = patternOf(this.#secrets);
  }

  /** One line of at most `lengthMax` characters. */
  clean(text: string, lengthMax = 300): string {
    let clean = this.#pattern === undefined ? text : text.replace(this.#pattern, '[secret]');
    clean = textWithoutSecrets(clean);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a server's text must not control a terminal
    clean = clean.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
    return clean.length <= lengthMax ? clean : `${clean.slice(0, lengthMax - 1)}…`;
  }
}

// The value of the `Authorization` header, and its renewal after a 401.

/** A header's value, and which renewal it came from. */
export interface Grant {
  header: string | undefined;
  generation: number;
}

export interface Authorizer {
  /** The grant to send with. Rejects with the AppError of a failed exchange. */
  current(): Promise<Grant>;
  /** After a 401: whether another grant now exists that is worth one more attempt. */
  renew(refused: Grant): Promise<boolean>;
}

/** A fixed secret: an API key, or nothing at all. */
function fixedAuthorizer(secret: string | undefined): Authorizer {
  const grant = { header: secret === undefined ? undefined : `Bearer ${secret}`, generation: 0 };
  return { current: async () => grant, renew: async () => false };
}

/** The admin token, whose scheme word is not specified: as given first, then the other way. */
export function adminAuthorizer(token: string): Authorizer {
  const bare = token.replace(/^Bearer\s+/i, '');
  const forms = bare === token ? [token, `Bearer ${token}`] : [token, bare];
  let generation = 0;
  return {
    current: async () => ({ header: forms[generation % 2], generation }),
    renew: async (refused) => {
      if (refused.generation === generation) generation++;
      return true;
    },
  };
}

const MARGIN_MS_MAX = 30_000;

/** A refresh token, exchanged for access tokens, which are renewed shortly before they expire and after a 401. */
class TokenAuthorizer implements Authorizer {
  readonly #exchange: () => Promise<string>;
  readonly #serverNowMs: () => number;
  #grant: Grant | undefined;
  #renewAtMs = Number.POSITIVE_INFINITY;
  #renewing: Promise<Grant> | undefined;
  #generation = 0;

  /** `exchange` calls `refresh_token` once; `serverNowMs` is our clock corrected by the server's `Date`. */
  constructor(exchange: () => Promise<string>, serverNowMs: () => number) {
    this.#exchange = exchange;
    this.#serverNowMs = serverNowMs;
  }

  async current(): Promise<Grant> {
    if (this.#grant && this.#serverNowMs() < this.#renewAtMs) return this.#grant;
    return this.#renew();
  }

  async renew(refused: Grant): Promise<boolean> {
    // INVARIANT: a token that was already replaced causes no further exchange.
    if (this.#grant?.generation === refused.generation) await this.#renew();
    return true;
  }

  /** One exchange at a time; callers that come meanwhile share it. */
  #renew(): Promise<Grant> {
    this.#renewing ??= this.#take().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #take(): Promise<Grant> {
    const token = await this.#exchange();
    this.#generation++;
    this.#grant = { header: `Bearer ${token}`, generation: this.#generation };
    const expiresAtMs = expiryOf(token);
    if (expiresAtMs === undefined) this.#renewAtMs = Number.POSITIVE_INFINITY;
    else {
      const now = this.#serverNowMs();
      // A tenth of a short life; never so early that a fresh token is renewed at once, whatever the clocks show.
      const margin = Math.min(MARGIN_MS_MAX, Math.max(0, expiresAtMs - now) / 10);
      this.#renewAtMs = expiresAtMs > now ? expiresAtMs - margin : Number.POSITIVE_INFINITY;
    }
    return this.#grant;
  }
}

/** Epoch ms of a JWT's `exp`, which is read and not verified (only the server can); undefined when there is none. */
export function expiryOf(token: string): number | undefined {
  const payload = token.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const claims = parseExact(Buffer.from(payload, 'base64url').toString('utf8')) as { exp?: unknown } | null;
    return typeof claims?.exp === 'number' ? claims.exp * 1_000 : undefined;
  } catch {
    return undefined; // not a JWT: used until it is refused
  }
}

/** Errors: AppError `api_refused`, and nothing is sent. */
async function unread(): Promise<never> {
  throw new AppError(
    'api_refused',
    'the credential of the Management API cannot be read: nothing was asked; see the log',
  );
}

/** The authorizer of a credential. `exchange` and `clock` serve refresh tokens only. */
export function authorizerOf(
  credential: Credential,
  exchange: () => Promise<string>,
  clock: Clock,
  skewMs: () => number | undefined,
): Authorizer {
  if (credential.kind === 'unread') return { current: unread, renew: async () => false };
  if (credential.kind === 'refresh_token') return new TokenAuthorizer(exchange, () => clock.nowMs() + (skewMs() ?? 0));
  return fixedAuthorizer(credential.kind === 'api_key' ? credential.secret : undefined);
}
