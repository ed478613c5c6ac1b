// report: parts of the schema of the JSON report: the words that it is made of, and all that is about a run as a whole. In: nothing. Out:
// zod schemas, for schema.ts.
import { z } from 'zod';
import { REASONS } from '../../domain/decision.ts';
import type { Fact } from '../../domain/facts.ts';
import { PLAN_STATUSES } from '../../domain/plan.ts';
import { MODES } from '../../domain/rule.ts';
import { SOURCES, SUBJECT_KINDS } from '../../domain/subjects.ts';
import { VERDICTS } from '../../domain/verdict.ts';
import type { Report } from './report.ts';

export const text = z.string();
export const time = z.string().describe('ISO 8601 in UTC');
export const count = z.int().min(0);
export const texts = z.array(text);
export const source = z.enum(SOURCES);
export const kind = z.enum(SUBJECT_KINDS);
export const mode = z.enum(MODES);
export const decisionName = z.enum(['act', 'hold', 'skip']);
export const outcome = z.enum(['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run']);
/** Any JSON value: an integer over 2^53 is a string of digits. */
export const fact: z.ZodType<Fact> = z.any();
/** JSON has no name for what is undefined. */
export const factOrAbsent = fact.optional() as unknown as z.ZodType<Fact | undefined>;
export const owners = z.array(text).readonly();

/** As evidence-words.ts makes it. */
export const ruleEvidence = z
  .strictObject({
    madeAt: time,
    tests: z.strictObject({
      passed: count,
      failed: count,
      coveredPercent: z.number(),
      mutants: count.describe('changes of the rule that its tests were run on'),
      survived: count.describe('those that no test notices'),
    }),
    replayed: z
      .strictObject({
        from: time,
        to: time,
        days: count.describe('whole days, without the gaps'),
        gaps: count,
        matches: count.describe('different subjects'),
        acts: count,
        mostInRun: count,
        flaps: count.describe('actions that were undone within the hour'),
        unknown: count.describe('different subjects that it could not judge at some time'),
        unknownPercent: z.number().nullable(),
      })
      .nullable()
      .describe('what it would have done over recorded time in mode enforce; null: nothing was replayed'),
    earned: z.enum(['dry-run', 'approve', 'enforce']).describe('the highest mode that the evidence allows'),
    missing: z.strictObject({ approve: texts, enforce: texts }),
    text: text.describe('all of it in one line'),
  })
  .meta({ id: 'RuleEvidence' });

export const trustReason = z.strictObject({
  source,
  code: z.enum([
    'incomplete',
    'shifted',
    'repeated_key',
    'unreadable_records',
    'empty',
    'shrunk',
    'grown',
    'too_many',
    'fact_moved',
    'fact_drifted',
    'count_drifted',
    'stands_still',
    'clock_skew',
    'contradicted',
    'unavailable',
  ]),
  text,
});

export const effect = z.strictObject({
  text,
  devices: z.array(
    z.strictObject({
      id: text,
      name: text,
      platform: text,
      model: text,
      serial: text.optional(),
      owners: owners.optional(),
    }),
  ),
  changes: z.array(z.strictObject({ path: text, from: fact, to: fact })).optional(),
  deletion: z
    .strictObject({
      devices: texts.nullable(),
      owners: texts.nullable(),
      certificates: count.nullable(),
      users: texts.nullable(),
    })
    .optional(),
  ends: texts.readonly().optional(),
  joined: texts.readonly().optional(),
});

export const run = z.strictObject({
  id: text,
  seq: count.describe('0: a what-if, which is kept nowhere'),
  mode,
  daemonMode: mode,
  trigger: z.enum(['schedule', 'http', 'command', 'watch']),
  scoped: z.boolean(),
  startedAt: time,
  finishedAt: time.nullable(),
  status: z.enum(['running', 'completed', 'aborted']),
  error: text.nullable(),
  demo: z.boolean(),
  rules: texts,
  ruleSetHash: text,
  rulesDir: text.nullable(),
  whatIf: z.boolean(),
});

const changes = z.strictObject({
  since: z.strictObject({ run: text, seq: count, at: time }).nullable(),
  new: count,
  gone: count,
  changed: count,
  still: count,
  goneExamples: z
    .array(
      z.strictObject({
        rule: text,
        subject: z.strictObject({ kind, id: text, name: text }),
        action: text,
        target: text,
        decision: decisionName,
        why: text.nullable(),
      }),
    )
    .max(100),
});

export const snapshot = z.strictObject({
  id: text.nullable(),
  at: time.nullable(),
  devices: count,
  users: count,
  services: count,
  events: count,
  trusted: z.boolean(),
  reasons: z.array(trustReason),
  sources: z.partialRecord(
    source,
    z.strictObject({
      state: z.enum(['read', 'skipped', 'unavailable', 'failed']),
      form: z.enum(['paged', 'unpaged', 'single', 'none']),
      lists: z.literal('v2').optional(),
      count,
      startedAt: time,
      finishedAt: time,
      trusted: z.boolean(),
      reasons: z.array(trustReason),
      unreadable: z.strictObject({ count, examples: texts }),
      dropped: texts,
    }),
  ),
});

export const plan = z.strictObject({
  id: text.nullable(),
  digest: text,
  intents: count,
  status: z.enum(PLAN_STATUSES).nullable(),
  createdAt: time.nullable(),
  expiresAt: time.nullable(),
  decidedAt: time.nullable(),
  decidedBy: text.nullable(),
  decidedReason: text.nullable(),
  breakGlass: z.strictObject({ at: time, by: text, reason: text }).nullable(),
  supersededBy: texts.nullable(),
  difference: z.strictObject({ added: count, removed: count, changed: count }).nullable(),
  progress: z
    .strictObject({
      outcomes: z.record(text, count),
      notBegun: z.array(z.strictObject({ action: text, target: text })),
    })
    .nullable(),
  held: z.array(
    z.strictObject({
      action: text,
      target: text,
      rules: texts,
      subjects: texts,
      reason: text,
      reasonText: text,
      effect,
    }),
  ),
});

/** JSON Schema (draft 2020-12). A later version may add names, so that a reader has to accept others. */
export function openJsonSchema(schema: z.ZodType, names: { $id: string; title: string }): object {
  const made = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return { ...made, ...names };
}

// The schema of the JSON report, from which docs/report.schema.json is made. In: nothing. Out: a zod schema and its
// JSON Schema. INVARIANT, checked by the types: it describes `Report`, no more and no less. No command loads it: only
// tests and other programs do.

export const judgedRule = z.strictObject({
  id: text,
  title: text,
  mode,
  hash: text,
  judged: z.boolean(),
  match: count,
  no_match: count,
  unknown: count,
  error: count,
  missing: z.record(text, count),
  howTo: z.record(text, text),
  examples: z.array(
    z.strictObject({
      subject: text,
      name: text.nullable(),
      serial: text.nullable(),
      owners: owners.nullable(),
      verdict: z.enum(['unknown', 'error']),
      reason: text,
    }),
  ),
});

/** As the report of a run has it. */
const reportedRule = judgedRule.extend({
  evidence: ruleEvidence.nullable().describe('kept evidence of the rule as it is judged here; null: there is none'),
});

export const runDecision = z.strictObject({
  id: text,
  rule: text,
  ruleHash: text,
  subject: z.strictObject({ kind, id: text, name: text, serial: text.nullable(), owners: owners.nullable() }),
  verdict: z.enum(VERDICTS),
  since: time,
  decision: decisionName,
  reason: z.enum(REASONS),
  reasonText: text,
  action: text,
  target: text,
  mode,
  cappedBy: z.enum(['run', 'daemon']).nullable(),
  outcome: outcome.nullable(),
  outcomeText: text.nullable(),
  facts: z.record(text, fact),
  flip: z
    .strictObject({
      verdict: z.enum(VERDICTS),
      changes: z.array(z.strictObject({ fact: text, from: factOrAbsent, to: factOrAbsent })),
    })
    .nullable(),
  effect,
  runId: text,
  runSeq: count,
  writtenAt: time,
  episodeId: text.nullable(),
  intentId: text.nullable(),
  unchanged: z.boolean(),
  change: z.enum(['new', 'changed', 'still']),
  inPlan: z.boolean(),
  intent: z
    .strictObject({
      id: text,
      status: z.enum(['planned', 'sent', 'settled', 'withdrawn']),
      outcome: outcome.nullable(),
      attempts: count,
      createdAt: time,
      sentAt: time.nullable(),
      settledAt: time.nullable(),
    })
    .nullable(),
});

const stop = z.strictObject({ at: time, by: text, reason: text }).nullable();
const exemption = { id: text, about: text, owner: text };

export const reportSchema = z.strictObject({
  sentence: text.describe('what happened, or would happen'),
  run,
  changes,
  effects: z.array(
    z.strictObject({
      rule: text,
      action: text,
      decision: decisionName,
      decisions: count,
      devices: count,
      people: count,
      ownersUnknown: count,
    }),
  ),
  snapshot,
  plan,
  rules: z.array(reportedRule),
  limits: z.array(
    z.strictObject({
      rule: text,
      matches: count,
      targets: count,
      max: count,
      percent: z.number(),
      allowed: count,
      crossed: z.boolean(),
      inDay: z
        .strictObject({ subjects: count, allowed: count, crossed: z.boolean() })
        .nullable()
        .describe('subjects that it newly matched or acted on within 24 hours'),
    }),
  ),
  ceilings: z.array(z.strictObject({ action: text, window: z.enum(['run', '24h']), used: count, allowed: count })),
  trend: z.array(
    z.strictObject({
      rule: text,
      counts: z.array(z.strictObject({ seq: count, at: time, match: count })),
    }),
  ),
  decisions: z.array(runDecision),
  summary: z.strictObject({
    act: count,
    hold: count,
    skip: count,
    succeeded: count,
    failed: count,
    unknown: count,
    parked: count,
    dry_run: count,
    pending: count,
  }),
  operator: z.strictObject({
    silentSince: time.nullable(),
    stopped: stop,
    stoppedNow: stop,
    changeWindow: z.strictObject({ window: text, endsAt: time, endsAtLocal: text, held: count }).nullable(),
    exemptionsEnding: z.array(z.strictObject({ ...exemption, expiresAt: time })),
    exemptionsUnused: z.array(z.strictObject({ ...exemption, createdAt: time })),
    accepted: z.array(
      z.strictObject({ source, by: text, reason: text, overrode: z.array(trustReason), refused: text.nullable() }),
    ),
  }),
});

type Described = z.infer<typeof reportSchema>;

/** Fails to compile when the types and the schema differ. */
export const DESCRIBES_REPORT: [Described, Report] extends [Report, Described] ? true : never = true;

export function reportJsonSchema(): object {
  return openJsonSchema(reportSchema, { $id: 'urn:trustward:report', title: 'Trustward report of a run' });
}
