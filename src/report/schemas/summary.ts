// report: the schema of a summary of some time. In: nothing. Out: a zod schema. INVARIANT, checked by the types: it describes `Summary`.
import { z } from 'zod';
import { count, text, time } from '../schema-parts.ts';
import type { Summary } from '../summary/summary.ts';

const counted = <T extends z.ZodType>(one: T) => z.strictObject({ count, some: z.array(one) });

export const summary = z
  .strictObject({
    since: time,
    until: time,
    runs: z.strictObject({
      completed: count,
      aborted: count,
      running: count,
      afterEvents: count.describe('of these, only over the subjects that new events named'),
      first: count.nullable(),
      last: count.nullable(),
      usualMs: z.number().nullable().describe('the usual time between two scheduled runs'),
      aborts: counted(z.strictObject({ run: count, at: time, error: text })),
      outages: counted(z.strictObject({ from: time, to: time.nullable(), after: count })),
      isCut: z.boolean().describe('older runs of this time are not counted'),
    }),
    calls: z.array(
      z.strictObject({
        action: text,
        outcome: z.enum(['done', 'failed', 'in_doubt']),
        count,
        some: z.array(z.strictObject({ target: text, intent: text, run: count.nullable(), note: text })),
      }),
    ),
    held: z.array(
      z.strictObject({
        rule: text,
        reason: text,
        count,
        inForce: count,
        some: z.array(z.strictObject({ target: text, run: count })),
      }),
    ),
    expired: z.strictObject({
      plans: counted(z.strictObject({ id: text, at: time })),
      exemptions: counted(z.strictObject({ id: text, about: text, at: time })),
    }),
    changeWindow: text.nullable().describe('the change window in force, or the next one; null: none is configured'),
    people: counted(
      z.strictObject({
        at: time,
        by: text.nullable(),
        text,
        reason: text.nullable(),
        entry: count.nullable().describe('the audit entry; null for several'),
      }),
    ),
    untrusted: z.array(
      z.strictObject({
        source: text,
        code: text,
        text,
        readings: count,
        firstRun: count.nullable(),
        lastRun: count.nullable(),
      }),
    ),
  })
  .meta({ id: 'Summary' });

type Described = z.infer<typeof summary>;

/** Fails to compile when the types and the schema differ. */
export const DESCRIBES_SUMMARY: [Described, Summary] extends [Summary, Described] ? true : never = true;
