// system: new secrets, for people and browsers to keep.
import { randomBytes } from 'node:crypto';

/** 256 random bits as text. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** 128 random bits as numbers: a key of fingerprints. */
export function newPrintKey(): Int32Array {
  const bytes = randomBytes(16);
  return Int32Array.from([0, 4, 8, 12], (at) => bytes.readInt32LE(at));
}

/** A new token. The prefix identifies it to anybody who finds it where it should not be. */
export function newToken(): string {
  return `tw_${newSecret()}`;
}
