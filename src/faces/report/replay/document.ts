// report: the document of a replay: the one form that all its writers read, and that other programs get as JSON. In: nothing. Out: types.
// Times are ISO 8601 in UTC; null: not known, or none. The schema of schema.ts describes it.

import { z } from 'zod';
import { type DecisionName, REASONS, type ReasonCode } from '../../../domain/decision.ts';
import type { GapCause } from '../../../domain/recorded-history.ts';
import type { ReplayedUnread, ReplayWay } from '../../../domain/replay.ts';
import type { Mode } from '../../../domain/rule.ts';
import type { TrustReason } from '../../../domain/snapshot.ts';
import { SOURCES, type Source, type SubjectKind } from '../../../domain/subjects.ts';
import { count, kind, mode, openJsonSchema, text, texts, time, trustReason } from '../schema-parts.ts';

export interface ReplaySubject {
  kind: SubjectKind;
  id: string;
  name: string;
  /** Null: not known. */
  owners: string[] | null;
}

export interface ReplayActView {
  at: string;
  run: number;
  rule: string;
  subject: ReplaySubject;
  action: string;
  target: string;
  undo: boolean;
  lastedMs: number | null;
  isOver: boolean;
  personDidAt: string | null;
  personUndidAt: string | null;
}

export interface ReplayHeldView {
  decision: Exclude<DecisionName, 'act'>;
  reason: ReasonCode;
  reasonText: string;
  targets: number;
  examples: { at: string; subject: ReplaySubject; action: string; target: string; reasonText: string }[];
}

export interface ReplayRuleView {
  id: string;
  title: string;
  hash: string;
  mode: Mode;
  matches: number;
  acts: number;
  undos: number;
  mostInRun: number;
  mostInRunAt: string | null;
  mostInDay: number;
  mostInDayAt: string | null;
  allowed: { limits: number; run: number; day: number } | null;
  mostTargets: number;
  flaps: number;
  lasted: { medianMs: number; longestMs: number } | null;
  personDid: number;
  personUndid: number;
  unknown: number;
  missing: { [fact: string]: number };
  held: ReplayHeldView[];
}

export interface ReplayDifferenceView {
  at: string;
  run: number;
  rule: string;
  target: string;
  was: string | null;
  is: string | null;
  reason: string;
  explained: boolean;
}

export interface ReplayBucketView {
  from: string;
  to: string;
  runs: number;
  rules: { [rule: string]: { matches: number; acts: number; undos: number; unknown: number } };
}

export interface ReplayDocument {
  sentence: string;
  way: ReplayWay;
  /** The folder of the replayed rules; null: those that were active. */
  rulesDir: string | null;
  from: string;
  to: string;
  askedFrom: string;
  /** The first and the last run of the whole history; null: not asked. */
  recorded: { from: string; to: string } | null;
  everyMs: number | null;
  runs: number;
  wholeRuns: number;
  decidedRuns: number;
  gaps: { from: string; to: string; cause: GapCause; text: string }[];
  rules: ReplayRuleView[];
  acts: ReplayActView[];
  differences: ReplayDifferenceView[];
  /** Stretches of whole runs in which a list was not trusted. Of a what-if: would not have been. */
  untrusted: {
    source: Source;
    code: TrustReason['code'];
    text: string;
    from: string;
    to: string;
    runs: number;
    rules: string[];
  }[];
  /** What was taken for true where the record does not show it. */
  notes: string[];
  /** What the rules or their actions need, and recorded runs did not read. */
  unread: {
    list: ReplayedUnread['list'];
    rules: string[];
    runs: number;
    of: number;
    from: string;
    to: string;
    text: string;
  }[];
  neverRecorded: { path: string; rules: string[] }[];
  buckets: ReplayBucketView[];
}

// The schema of a replay as JSON, from which docs/replay.schema.json is made. In: nothing. Out: a zod schema and its
// JSON Schema. INVARIANT, checked by the types: it describes `ReplayDocument`, no more and no less.

const subject = z.strictObject({
  kind,
  id: text,
  name: text,
  owners: texts.nullable().describe('null: not known'),
});
const counts = z.strictObject({ matches: count, acts: count, undos: count, unknown: count });

const rule = z.strictObject({
  id: text,
  title: text,
  hash: text,
  mode: mode.describe('in its file'),
  matches: count.describe('different subjects that it matched'),
  acts: count.describe('without undos'),
  undos: count,
  mostInRun: count,
  mostInRunAt: time.nullable(),
  mostInDay: count.describe('in any 24 hours'),
  mostInDayAt: time.nullable(),
  allowed: z.strictObject({ limits: count, run: count, day: count }).nullable(),
  mostTargets: count.describe('the most that its limits were asked about in one run'),
  flaps: count.describe('undone within the hour'),
  lasted: z.strictObject({ medianMs: z.number(), longestMs: z.number() }).nullable(),
  personDid: count,
  personUndid: count,
  unknown: count.describe('different subjects that it could not judge at some time'),
  missing: z.record(text, count),
  held: z.array(
    z.strictObject({
      decision: z.enum(['hold', 'skip']),
      reason: z.enum(REASONS),
      reasonText: text,
      targets: count,
      examples: z.array(z.strictObject({ at: time, subject, action: text, target: text, reasonText: text })),
    }),
  ),
});

export const replaySchema = z.strictObject({
  sentence: text,
  way: z.enum(['as_was', 'what_if']),
  rulesDir: text.nullable().describe('of a what-if; null: the rules that were active'),
  from: time,
  to: time,
  askedFrom: time,
  recorded: z.strictObject({ from: time, to: time }).nullable().describe('the whole history'),
  everyMs: z.number().nullable(),
  runs: count,
  wholeRuns: count,
  decidedRuns: count,
  gaps: z.array(
    z.strictObject({
      from: time,
      to: time,
      cause: z.enum(['not_recorded', 'damaged', 'foreign', 'version', 'forgotten']),
      text,
    }),
  ),
  rules: z.array(rule),
  acts: z.array(
    z.strictObject({
      at: time,
      run: count,
      rule: text,
      subject,
      action: text,
      target: text,
      undo: z.boolean(),
      lastedMs: z.number().nullable(),
      isOver: z.boolean(),
      personDidAt: time.nullable(),
      personUndidAt: time.nullable(),
    }),
  ),
  differences: z
    .array(
      z.strictObject({
        at: time,
        run: count,
        rule: text,
        target: text,
        was: text.nullable(),
        is: text.nullable(),
        reason: text,
        explained: z.boolean().describe('false: a fault of Trustward'),
      }),
    )
    .describe('from what the runs decided; of the way `as_was` only'),
  untrusted: z
    .array(trustReason.extend({ from: time, to: time, runs: count, rules: texts.describe('that read it') }))
    .describe('whole runs in which a list was not trusted; of a what-if: would not have been by its rules'),
  notes: texts.describe('what was taken for true where the record does not show it'),
  unread: z
    .array(
      z.strictObject({
        list: z.enum([...SOURCES, 'Emails', 'SerialNumbers', 'bundles']),
        rules: texts,
        runs: count.describe('whole runs that did not read it'),
        of: count.describe('so many whole runs'),
        from: time,
        to: time,
        text,
      }),
    )
    .describe('what the rules or their actions need, and recorded runs did not read; of a what-if only'),
  neverRecorded: z.array(z.strictObject({ path: text, rules: texts })),
  buckets: z.array(z.strictObject({ from: time, to: time, runs: count, rules: z.record(text, counts) })),
});

type Described = z.infer<typeof replaySchema>;

/** Fails to compile when the types and the schema differ. */
export const DESCRIBES_REPLAY: [Described, ReplayDocument] extends [ReplayDocument, Described] ? true : never = true;

export function replayJsonSchema(): object {
  return openJsonSchema(replaySchema, { $id: 'urn:trustward:replay', title: 'Trustward replay' });
}
