// base: a text that only who has a secret reads, and of which no change goes unnoticed (AES-256-GCM). In: a secret, what it is for. Out: one text for a
// path, a cookie or a column, and back. Neither takes longer for a change in one place than in another.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;
export const NONCE_BYTES = 12;

/** `salt`, `purpose`: what was sealed for another is opened by no other key. */
export function sealingKey(secret: string | Uint8Array, salt: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, salt, purpose, 32));
}

/** `nonce`: `NONCE_BYTES` random bytes, of which none is used again with this key. */
export function sealText(key: Uint8Array, text: string, nonce: Uint8Array): string {
  const cipher = createCipheriv(CIPHER, key, nonce);
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** Undefined for whatever this key did not seal. */
export function openSealed(key: Uint8Array, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), cipher.final()]).toString();
  } catch {
    return undefined;
  }
}
