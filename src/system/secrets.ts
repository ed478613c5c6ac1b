// system: new secrets for people to keep.
import { randomBytes } from 'node:crypto';

/** 256 random bits as text. The prefix identifies it to anybody who finds it where it should not be. */
export function newToken(): string {
  return `tw_${randomBytes(32).toString('base64url')}`;
}
