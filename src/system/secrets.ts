// system: new secrets for people to keep.
import { randomBytes } from 'node:crypto';

/** 256 random bits as text. The beginning says what it is, to whoever finds it where it should not be. */
export function newToken(): string {
  return `tw_${randomBytes(32).toString('base64url')}`;
}
