// domain: passkeys (WebAuthn) that persons registered, and the touch of one with which a person answers a plan. What is wrong with a touch is in touch.ts,
// which needs cryptography: most commands do not load it.
import { actorText, personOf } from './actor.ts';
import type { AuditNote } from './audit-entry.ts';
import { isFacts } from './facts.ts';

export interface Passkey {
  /** The credential's id, base64url. */
  id: string;
  /** Whose it is. INVARIANT: an issuer and a subject name a person; the address is for people, and for tokens that `approvals.yaml` names. */
  issuer: string;
  sub: string;
  email: string;
  /** What the person calls it. */
  name: string;
  /** SubjectPublicKeyInfo, base64url. */
  publicKey: string;
  /** Of the pages where it was registered: it is good there alone. */
  origin: string;
  /** As the authenticator last counted; 0 for those that do not count. */
  counter: number;
  addedAt: number;
  removedAt: number | undefined;
  usedAt: number | undefined;
}

/** What an authenticator registered, and how the person calls it. */
export type FreshPasskey = Pick<Passkey, 'id' | 'publicKey' | 'origin' | 'counter' | 'name'>;

/** What a touch is for. `glass`: through change windows and without the yes of others; `apply`: the same of a plan that is approved. */
export const TOUCH_KINDS = ['approve', 'glass', 'apply', 'add', 'remove'] as const;
export type TouchKind = (typeof TOUCH_KINDS)[number];

/** What an authenticator signed, as the audit keeps it. All but `kind` is base64url. */
export type Touch = {
  kind: TouchKind;
  passkey: string;
  nonce: string;
  authenticatorData: string;
  clientDataJSON: string;
  signature: string;
};

export interface TouchedFor {
  /** The plan that is answered, also where a part of it is; or the passkey that is added or removed. */
  of: string;
  /** Of the plan, or of the part alone: what is done by it. Empty for a passkey. */
  digest: string;
  /** Who answers. */
  by: string;
}

/** More than any authenticator of the algorithms has; a longer one is none. */
export const TOUCH_MAX = {
  passkey: 1_400,
  nonce: 43,
  authenticatorData: 2_000,
  clientDataJSON: 2_000,
  signature: 1_400,
};

/** Whether a text is one that is kept, and none that means the same bytes. */
export function isBase64url(text: unknown, charactersMax: number): text is string {
  if (typeof text !== 'string' || text === '' || text.length > charactersMax) return false;
  return Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** How often the authenticator says that it was used; 0: it does not count. */
export function counterOf({ authenticatorData }: Pick<Touch, 'authenticatorData'>): number {
  const bytes = Buffer.from(authenticatorData, 'base64url');
  return bytes.length < 37 ? 0 : bytes.readUInt32BE(33);
}

export function isGoingBack(counter: number, before: number): boolean {
  return counter <= before && (counter > 0 || before > 0);
}

/** Of an entry of the audit, or one to be; undefined: nobody touched anything. */
export function touchIn({ touch }: AuditNote['body']): Touch | undefined {
  return isFacts(touch) ? (touch as unknown as Touch) : undefined;
}

/** What the touch in an entry has to be for. */
export function touchedFor(body: AuditNote['body']): TouchedFor {
  const { plan, partOf = plan, passkey = '', digest = '', by } = body;
  return { of: String(partOf ?? passkey), digest: String(digest), by: String(by) };
}

/** The passkeys of a person that may be used at a time. */
export function passkeysOf(passkeys: readonly Passkey[], by: string, at: number, email?: string): Passkey[] {
  const person = personOf(by);
  return passkeys.filter(
    (one) =>
      one.addedAt <= at &&
      (one.removedAt === undefined || at < one.removedAt) &&
      (person
        ? one.issuer === person.issuer && one.sub === person.sub
        : one.email.toLowerCase() === email?.toLowerCase()),
  );
}

/** For people, behind a name. */
export function withPasskey(isTouched: boolean | undefined): string {
  return isTouched ? ' with a passkey' : '';
}

export function passkeyNeeded(by: string): string {
  return `${actorText(by)} has a passkey, which this answer needs: answer on the page of the plan, where the browser asks for it; that needs JavaScript`;
}
