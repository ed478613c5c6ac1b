// domain: what is wrong with the touch of a passkey. In: what a browser brought, the key as it was registered, what the touch has to be for. Out: words, or
// nothing. INVARIANT: one function judges a touch: when it is given, when it is counted, when the audit is verified.
import { createHash, createPublicKey, hash, verify } from 'node:crypto';
import { personOf } from './actor.ts';
import { isBase64url, type Passkey, TOUCH_MAX, type Touch, type TouchedFor } from './passkey.ts';

/** What the authenticator signs. A yes to a part is none to the whole, and one of another person, plan or page is none at all. */
export function challengeOf({ kind, nonce }: Pick<Touch, 'kind' | 'nonce'>, { of, digest, by }: TouchedFor): string {
  const person = personOf(by);
  const text = JSON.stringify(['trustward touch 1', kind, of, digest, person?.issuer ?? '', person?.sub ?? '', nonce]);
  return createHash('sha256').update(text).digest('base64url');
}

const PRESENT = 0x01;
const VERIFIED = 0x04;

/** In words that follow "the passkey's answer"; undefined: nothing is wrong with it. The counter is the store's to compare. */
export function touchFault(
  touch: Touch,
  about: TouchedFor,
  { id, issuer, sub, publicKey, origin }: Pick<Passkey, 'id' | 'issuer' | 'sub' | 'publicKey' | 'origin'>,
): string | undefined {
  if (!isTouch(touch)) return 'cannot be read';
  const person = personOf(about.by);
  if (touch.passkey !== id || person?.issuer !== issuer || person.sub !== sub) return 'is of a key of another person';
  const clientData = Buffer.from(touch.clientDataJSON, 'base64url');
  const authenticatorData = Buffer.from(touch.authenticatorData, 'base64url');
  const said = jsonOf(clientData);
  if (said?.type !== 'webauthn.get') return 'cannot be read';
  if (said.origin !== origin || said.crossOrigin === true) return `was made for another page than \`${origin}\``;
  if (said.challenge !== challengeOf(touch, about)) return 'was made for something else';
  const flags = authenticatorData[32] ?? 0;
  const isHere = authenticatorData.subarray(0, 32).equals(hash('sha256', new URL(origin).hostname, 'buffer'));
  if (authenticatorData.length < 37 || !isHere) return `was made for another host than that of \`${origin}\``;
  if (!(flags & PRESENT) || !(flags & VERIFIED))
    return 'was given without asking who is there (a PIN, a finger, a face)';
  const signed = Buffer.concat([authenticatorData, hash('sha256', clientData, 'buffer')]);
  return isSigned(signed, publicKey, touch.signature) ? undefined : 'is not signed with the key that was registered';
}

function isSigned(signed: Buffer, publicKey: string, signature: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64url'), format: 'der', type: 'spki' });
    const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
    return verify(digest, signed, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}

function jsonOf(bytes: Buffer): { [name: string]: unknown } | undefined {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function isTouch(touch: Touch): boolean {
  return Object.entries(TOUCH_MAX).every(([name, max]) => isBase64url(touch[name as keyof typeof TOUCH_MAX], max));
}
