// domain: the digest of a value. In: what canonical JSON can express. Out: SHA-256 in hex. Apart from canonical.ts, since most readers
// of stored documents need no hash, and loading one takes time.
import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical.ts';

/** SHA-256 of the canonical JSON text, in hex (64 characters). */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
