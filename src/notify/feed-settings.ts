// notify: which decisions and outcomes a webhook receives, and how many at once. In: its entry of the webhooks file. Out: checked settings,
// or what is wrong with them.
import { z } from 'zod';
import { parseDuration } from '../domain/duration.ts';
import { LIVE_EVENTS, type LiveEvent } from '../domain/live-event.ts';

export interface FeedSettings {
  events: readonly LiveEvent['event'][];
  /** Undefined: of all rules. */
  rules: readonly string[] | undefined;
  /** Events of one delivery. */
  most: number;
  /** How long the first one of a delivery waits for more. */
  waitMs: number;
}

const WAIT_MAX_MS = 3_600_000;

/** Members of an entry. */
export const feedFields = {
  events: z.array(z.enum(LIVE_EVENTS)).min(1).optional(),
  rules: z.array(z.string().min(1)).min(1).optional(),
  batch: z.strictObject({ most: z.int().min(1).max(1_000).default(100), wait: z.string().default('10s') }).optional(),
};

type Given = z.infer<z.ZodObject<typeof feedFields>>;

/** Undefined: it receives none, or `fault` was called. */
export function feedOf({ events, rules, batch }: Given, fault: (text: string) => undefined): FeedSettings | undefined {
  if (!events) {
    const alone = rules ? 'rules' : 'batch';
    return rules || batch
      ? fault(`${alone} is set but events is not: add events, such as [decision, outcome]`)
      : undefined;
  }
  const { most = 100, wait = '10s' } = batch ?? {};
  const waitMs = parseDuration(wait);
  if (waitMs === undefined || waitMs > WAIT_MAX_MS)
    return fault(`batch.wait is \`${wait}\`: expected a duration of at most 1h, such as 10s`);
  return { events, rules, most, waitMs };
}
