// system: new secrets, for people and browsers to keep.
import { randomBytes } from 'node:crypto';

/** 256 random bits as text. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A new token. The prefix identifies it to anybody who finds it where it should not be. */
export function newToken(): string {
  return `tw_${newSecret()}`;
}
