// store: the keys of PostgreSQL's advisory locks. In: a text that names what is locked. Out: 64 bits of its digest.
import { createHash } from 'node:crypto';

/** As the text of a bigint: a number of JavaScript does not hold it. INVARIANT: two processes of neighbouring versions compute the same. */
export function advisoryKey(name: string): string {
  return createHash('sha256').update(name).digest().readBigInt64BE().toString();
}
