// http: the header that lets a request be repeated, as a schema. In: nothing. Out: what a route takes that may be repeated: its document shows
// it, and `idempotency.ts` answers such a route once.
import { z } from 'zod';

export const KEY_HEADER = 'Idempotency-Key';

/** A route with these headers may be repeated. */
export const keyHeaders = z.object({
  [KEY_HEADER]: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .describe('a repeat with the same key within 24 hours gets the same answer, and nothing is done twice'),
});
