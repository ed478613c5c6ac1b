// domain: a bearer token of the HTTP endpoint: its owner, scope and end. The token itself is not stored: it is shown
// once when it is made, and its hash is kept.

import { hash } from 'node:crypto';
import { MINUTE_MS } from '../base/time.ts';
import type { AuditNote } from './audit-entry.ts';

/** Each scope includes the ones before it. `signals`: of a receiver, which may have its own stream and read nothing else. */
export const SCOPES = ['signals', 'read', 'trigger', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface EndpointToken {
  id: string;
  /** Recorded with everything done by it. No two tokens that are not revoked share a name. */
  name: string;
  scope: Scope;
  /** SHA-256 of the token, 64 hex digits. */
  hash: string;
  createdAt: number;
  createdBy: string;
  /** Refused from this time on; undefined: never. */
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  revokedBy: string | undefined;
  /** The last recorded use, which may be a minute late; undefined: never used. */
  usedAt: number | undefined;
}

/** SHA-256 is enough: nobody guesses 256 random bits. 64 hex digits. */
export function hashOfToken(text: string): string {
  return hash('sha256', text, 'hex');
}

export function isGood({ expiresAt, revokedAt }: EndpointToken, nowMs: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || nowMs < expiresAt);
}

/** Tokens as the store keeps them. Errors: AppError `store_failed`. */
export interface TokenStore {
  /** Tokens that were not revoked, expired ones included. */
  inUse(): Promise<EndpointToken[]>;
  /** Adds a token, or updates it. */
  save(token: EndpointToken, notes: AuditNote[]): Promise<void>;
  /** Not audited: what was done by it is. */
  noteUse(id: string, at: number): Promise<void>;
}

// Who is signed in to the page: links that work once, and sessions.

/** The caller: the name is recorded with what they do. It is the token's, that of a user with it (`ana (token admin)`), or of a person (`asPerson`). */
export interface Caller {
  name: string;
  scope: Scope;
  /** Of a person: the groups that the identity provider named, of those that settings or rules name. */
  groups?: string[] | undefined;
  /** The hash of the token that they hold: 64 hex digits. Undefined: the right comes from no token. */
  token?: string | undefined;
}

/**
 * `begun`: a sign-in at the identity provider is under way. `ended`: the id of a token that ended sessions, which counts once. `touch`: what a passkey
 * is asked to sign, also once.
 */
export type SignInKind = 'link' | 'session' | 'begun' | 'ended' | 'touch';

/** What a group of the identity provider may do. `organization`: undefined means each. */
export interface GroupScope {
  group: string;
  scope: Scope;
  organization: string | undefined;
}

/** The session of a person for whom an identity provider vouches. */
export interface PersonSession {
  issuer: string;
  sub: string;
  /** The provider's name of the session there, if it has one. */
  sid: string | undefined;
  /** As the provider last named them. */
  groups: string[];
  /** So long the provider vouches for them, epoch ms. */
  endsAt: number;
  /** When they signed in there; absent in sessions of an earlier version. */
  begunAt?: number;
  /** When the groups were asked for, epoch ms. */
  askedAt: number;
  /** What they are asked for again with, sealed with the session's cookie, which is not kept. */
  sealed: string;
  /** The organizations whose audits have this session; an empty name where there is one alone. */
  seen: string[];
  /** Until then, epoch ms, one endpoint asks the provider for all. */
  askingUntil: number;
}

/** What names a person's sessions, as a hash of a token names those of it. */
export function holderOf({ issuer, sub }: Pick<PersonSession, 'issuer' | 'sub'>): string {
  return hashOfToken(`person ${issuer} ${sub}`);
}

export interface KeptSignIn {
  hash: string;
  /** Of a person: with the least scope, since their groups say what they may do. */
  caller: Caller;
  person?: PersonSession | undefined;
  /** Since its last recorded use, ms. */
  unusedMs: number;
}

const BRIEF_MS = 10 * MINUTE_MS;
export const LASTS_MS = {
  link: BRIEF_MS,
  session: 12 * 60 * MINUTE_MS,
  begun: BRIEF_MS,
  ended: BRIEF_MS,
  touch: BRIEF_MS,
};
export const IDLE_MS = 2 * 60 * MINUTE_MS;
/** Of one token: the oldest gives way. Whoever makes many loses their own, not those of others. */
export const KEPT_MAX = { link: 100, session: 1_000, begun: 10_000, ended: 10_000, touch: 100 };
/** A use is recorded when the last recorded one is older than this: not one write per request. */
export const USE_EVERY_MS = MINUTE_MS;

/** Hashes are 64 hex digits. Errors of all: AppError `store_failed`; then nobody can say who is signed in. */
export interface SignInStore {
  /** False: it is there already, and stays as it is. */
  add(kind: SignInKind, hash: string, caller: Caller, person?: PersonSession): Promise<boolean>;
  /** Those that are not over. It changes nothing. A token that is good no more may be known elsewhere alone: the caller's is to be asked for. */
  find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]>;
  /** Makes a session of a link. Of several who ask with one link, wherever they are, one gets it; the others get undefined. */
  redeem(link: string, session: string): Promise<Caller | undefined>;
  noteUse(session: string): Promise<void>;
  /** Of several who ask at once, wherever they are, one gets true, and none for what is over. */
  remove(kind: SignInKind, hash: string): Promise<boolean>;
  /** What changed of a person's session. */
  keep(session: string, changes: Partial<PersonSession>): Promise<void>;
  /** Whether this organization sees the session first: of several at once, one is told so. */
  see(session: string, organization: string): Promise<boolean>;
  /** The right to ask the provider about this session, until then. False: another one has it. */
  takeTurn(session: string, nowMs: number, untilMs: number): Promise<boolean>;
  /** Ends the session of this name at the provider, or without a name all of the person. Out: how many. */
  endOfPerson(of: EndedSession): Promise<number>;
}

/** What a provider says has ended: `sub`, `sid` or both are there. */
export interface EndedSession extends Pick<PersonSession, 'issuer' | 'sid'> {
  sub: string | undefined;
}

/** A session whose name at the provider is not known ends with any of the person. */
export function isEnded(person: PersonSession, { issuer, sub, sid }: EndedSession): boolean {
  const isTheirs = sub === undefined || person.sub === sub;
  const isNamed = sid === undefined || person.sid === sid || (person.sid === undefined && sub !== undefined);
  return person.issuer === issuer && isTheirs && isNamed;
}

// Requests that a client may repeat: what became of the first one.

export interface KeptAnswer {
  status: number;
  headers: { [name: string]: string };
  body: Uint8Array;
}

export interface KeyedRequest {
  /** A hash of all that must be the same in a repeat. */
  request: string;
  /** Epoch ms. */
  begunAt: number;
  /** The run that it began. */
  run: string | undefined;
  /** Undefined: the process ended before, or it could not be stored. */
  answer: KeptAnswer | undefined;
}

/** Each method but `hold` is one unit of work. Errors: AppError `store_failed`. */
export interface AnswerStore {
  /**
   * The right to answer this request, until what is returned is called, which never rejects. Undefined: another one answers it now, here or in
   * another process.
   */
  hold(id: string): Promise<(() => Promise<void>) | undefined>;
  /** Undefined also for one that is older than a day. */
  find(id: string): Promise<KeyedRequest | undefined>;
  /** INVARIANT: before anything is done for it. */
  begin(id: string, request: string): Promise<void>;
  keep(id: string, answer: KeptAnswer): Promise<void>;
  /** It changed nothing: a repeat is a new request. One that began a run is never forgotten. */
  forget(id: string): Promise<void>;
}
