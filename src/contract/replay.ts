// contract: the document of a replay: the one form that all its writers read, and that other programs get as JSON. Times are ISO 8601 in UTC; null:
// not known, or none.

import { z } from 'zod';
import { REASONS } from '../domain/decision.ts';
import { GAP_CAUSES } from '../domain/recorded-history.ts';
import { SOURCES } from '../domain/subjects.ts';
import { entry, idParam, nameField } from './operation.ts';
import { count, kind, mode, openJsonSchema, ruleEvidence, text, texts, time, trustReason } from './report.ts';

const REPLAY_WAYS = ['as_was', 'what_if'] as const;

const subject = z.strictObject({
  kind,
  id: text,
  name: text,
  owners: texts.nullable().describe('null: not known'),
});
const counts = z.strictObject({ matches: count, acts: count, undos: count, unknown: count });

const held = z.strictObject({
  decision: z.enum(['hold', 'skip']),
  reason: z.enum(REASONS),
  reasonText: text,
  targets: count,
  examples: z.array(z.strictObject({ at: time, subject, action: text, target: text, reasonText: text })),
});

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
  mostTargets: count.describe(
    'the most that its limits were asked about in one run; if any run crossed them, in one that did',
  ),
  flaps: count.describe('undone within the hour'),
  lasted: z.strictObject({ medianMs: z.number(), longestMs: z.number() }).nullable(),
  personDid: count,
  personUndid: count,
  unknown: count.describe('different subjects that it could not judge at some time'),
  missing: z.record(text, count),
  held: z.array(held),
  notice: z
    .strictObject({
      warned: count.describe('matches of which an owner was warned; those in neither of the next two still waited'),
      mended: count.describe('over before anything was done, as the record shows'),
      acted: count.describe('acted on after the deadline'),
      avoided: count.nullable().describe('actions that would not have been done, by what is assumed of people'),
      undelivered: count.describe('targets that waited for a person, since somebody could not be warned'),
    })
    .nullable()
    .describe('null: it warns nobody'),
});

const act = z.strictObject({
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
  avoided: z.boolean().describe('a warning would have avoided it, by what is assumed of people'),
});

const difference = z.strictObject({
  at: time,
  run: count,
  rule: text,
  target: text,
  was: text.nullable(),
  is: text.nullable(),
  reason: text,
  explained: z.boolean().describe('false: a fault of Trustward'),
});

const bucket = z.strictObject({ from: time, to: time, runs: count, rules: z.record(text, counts) });

export const replaySchema = z.strictObject({
  sentence: text,
  way: z.enum(REPLAY_WAYS),
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
      cause: z.enum(GAP_CAUSES),
      text,
    }),
  ),
  rules: z.array(rule),
  acts: z.array(act),
  differences: z.array(difference).describe('from what the runs decided; of the way `as_was` only'),
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
  buckets: z.array(bucket),
});

export type ReplayDocument = z.infer<typeof replaySchema>;
export type ReplaySubject = z.infer<typeof subject>;
export type ReplayActView = z.infer<typeof act>;
export type ReplayHeldView = z.infer<typeof held>;
export type ReplayRuleView = z.infer<typeof rule>;
export type ReplayDifferenceView = z.infer<typeof difference>;
export type ReplayBucketView = z.infer<typeof bucket>;

export function replayJsonSchema(): object {
  return openJsonSchema(replaySchema, { $id: 'urn:trustward:replay', title: 'Trustward replay' });
}

// Replays over HTTP: one at a time, in a process of its own; the last one is kept.

const asked = z
  .strictObject({
    ...{ way: z.enum(REPLAY_WAYS), since: text, rule: text.nullable(), by: text },
    startedAt: time,
    finishedAt: time.nullable().describe('null: it is under way'),
    notes: texts.describe('what stands in the way of an exact answer, said before the work'),
    found: replaySchema.nullable(),
    fault: text.nullable().describe('why it failed'),
  })
  .meta({ id: 'Replay' });

export const REPLAYS = {
  beginReplay: entry({
    id: 'beginReplay',
    method: 'POST',
    path: '/api/replays',
    scope: 'trigger',
    tag: 'rules',
    summary: 'Send recorded time once more through the rules',
    description:
      'Nothing is sent, and it takes minutes: `GET /api/replays/latest` has what it finds, until the next one.',
    body: z.strictObject({
      way: z.enum(REPLAY_WAYS).default('what_if').describe('`what_if`: the present rules, as if enforced'),
      since: z.string().min(1).max(40).default('30d').describe('a duration back from now such as `30d`, or a date'),
      rule: nameField.optional().describe('only this rule'),
    }),
    answers: { 202: { description: 'it has begun', schema: asked } },
  }),
  getReplay: entry({
    id: 'getReplay',
    method: 'GET',
    path: '/api/replays/latest',
    scope: 'read',
    tag: 'rules',
    summary: 'Read the replay under way, or the last one',
    query: z.strictObject({}) as z.ZodObject as z.ZodType<object, object>,
    answers: { 200: { description: 'what was asked, and what was found', schema: asked } },
    refusals: [404],
  }),
  getEvidence: entry({
    id: 'getEvidence',
    method: 'GET',
    path: '/api/rules/:id/evidence',
    scope: 'read',
    tag: 'rules',
    summary: 'Read the kept evidence of a rule',
    params: idParam('a rule'),
    answers: {
      200: {
        description: 'what its tests and recorded time show, and which mode that earns; null: there is none yet',
        schema: z.strictObject({ rule: text, mode, evidence: ruleEvidence.nullable() }),
      },
    },
    refusals: [409],
  }),
};
