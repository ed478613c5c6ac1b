// console faults: the faults that can be set. In: JSON, checked by zod. Out: faults with every setting filled in. Off
// unless the console was started with faults.
import { z } from 'zod';

const match = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).optional(),
  /** A prefix of the path, such as `/api/v1/devices`; or a regular expression over path and query when it begins with `^`. */
  path: z.string().max(200).refine(isReadable, 'is not a regular expression').optional(),
});

const common = {
  id: z.string().max(100).optional(),
  match: match.default({}),
  /** The share of matching requests that it affects. */
  rate: z.number().min(0).max(1).default(1),
  /** The maximum number of requests that it affects. */
  times: z.int().min(1).optional(),
  /** How many matching requests it lets pass first. */
  skip: z.int().min(0).default(0),
};
const ms = z.number().min(0).max(600_000);
/** Whether the request still has its effect before the false answer. */
const effect = z.boolean().default(false);

export const Fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('latency'), ...common, ms }),
  z.strictObject({ kind: z.literal('error'), ...common, effect, status: z.int().min(400).max(599).default(503) }),
  /** The connection breaks before the request has an effect. */
  z.strictObject({ kind: z.literal('reset_before'), ...common }),
  /** The request has its effect, and the connection breaks before the answer. */
  z.strictObject({ kind: z.literal('reset_after'), ...common }),
  /** The request has its effect `ms` later; before that its sender gets no answer, or an error. */
  z.strictObject({
    kind: z.literal('late_effect'),
    ...common,
    ms,
    answer: z.enum(['reset', 'error', 'silence']).default('reset'),
  }),
  /** Reads answer what was true when the fault was set. */
  z.strictObject({ kind: z.literal('stale_read'), ...common }),
  /** The answer ends too soon: the connection breaks, or the framing is right and the JSON or the gzip within is cut. */
  z.strictObject({
    kind: z.literal('truncated'),
    ...common,
    how: z.enum(['connection', 'json', 'gzip']).default('connection'),
    keep: z.number().min(0).max(1).default(0.5),
  }),
  /** 200 with anything: bytes that are not JSON, or the given body. */
  z.strictObject({ kind: z.literal('garbage'), ...common, effect, body: z.string().max(1_000_000).optional() }),
  z.strictObject({ kind: z.literal('unauthorized'), ...common }),
  z.strictObject({ kind: z.literal('rate_limited'), ...common, retryAfterS: z.number().min(0).max(3_600).default(1) }),
  /** Pages after the first begin `by` records later (or earlier): records are missed (or repeated). */
  z.strictObject({ kind: z.literal('shift_pages'), ...common, by: z.int().min(-1_000).max(1_000).default(1) }),
  /** Filters are ignored. */
  z.strictObject({ kind: z.literal('ignore_filter'), ...common }),
  z.strictObject({
    kind: z.literal('slow_body'),
    ...common,
    pieceBytes: z.int().min(1).default(64),
    everyMs: ms.default(50),
  }),
  /** A body that is huge when unpacked, or as sent. */
  z.strictObject({
    kind: z.literal('bomb'),
    ...common,
    megabytes: z.int().min(1).max(4_096).default(256),
    gzip: z.boolean().default(true),
  }),
  z.strictObject({
    kind: z.literal('redirect'),
    ...common,
    status: z.union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)]).default(307),
    location: z.string().max(1_000).default('/elsewhere'),
  }),
]);
export type Fault = z.output<typeof Fault>;
export type FaultInput = z.input<typeof Fault>;

/** A list, or a list with the seed that its choices repeat with. */
export const FaultPlan = z.union([
  z.array(Fault).max(100),
  z.strictObject({ seed: z.int().default(1), faults: z.array(Fault).max(100) }),
]);
export type FaultPlan = z.output<typeof FaultPlan>;
export type FaultPlanInput = z.input<typeof FaultPlan>;

function isReadable(path: string): boolean {
  if (!path.startsWith('^')) return true;
  try {
    new RegExp(path);
    return true;
  } catch {
    return false;
  }
}
