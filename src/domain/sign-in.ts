// domain: who is signed in to the page: links that work once, and sessions. In: hashes, never a code, a cookie or a token. Out: whom each stands
// for. In one process it is memory; where several endpoints share a database, it is there, and each of them knows all.
import type { Scope } from './endpoint-token.ts';

/** The caller: the name is recorded with what they do. It is the token's, or that of a user with it: `ana (token admin)`. */
export interface Caller {
  name: string;
  scope: Scope;
  /** The hash of the token that they hold: 64 hex digits. Undefined: the right comes from no token. */
  token?: string | undefined;
}

export type SignInKind = 'link' | 'session';

export interface KeptSignIn {
  hash: string;
  caller: Caller;
  /** Since its last recorded use, ms. */
  unusedMs: number;
}

const MINUTE_MS = 60_000;
export const LASTS_MS = { link: 10 * MINUTE_MS, session: 12 * 60 * MINUTE_MS };
export const IDLE_MS = 2 * 60 * MINUTE_MS;
/** Of one token: the oldest gives way. Whoever makes many loses their own, not those of others. */
export const KEPT_MAX = { link: 100, session: 1_000 };
/** A use is recorded when the last recorded one is older than this: not one write per request. */
export const USE_EVERY_MS = MINUTE_MS;

/** Hashes are 64 hex digits. Errors of all: AppError `store_failed`; then nobody can say who is signed in. */
export interface SignInStore {
  add(kind: SignInKind, hash: string, caller: Caller): Promise<void>;
  /** Those that are not over. It changes nothing. A token that is good no more may be known elsewhere alone: the caller's is to be asked for. */
  find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]>;
  /** Makes a session of a link. Of several who ask with one link, wherever they are, one gets it; the others get undefined. */
  redeem(link: string, session: string): Promise<Caller | undefined>;
  noteUse(session: string): Promise<void>;
  remove(session: string): Promise<void>;
}
