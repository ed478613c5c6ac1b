// contract: the report of a run: the JSON document, which the other writers render, and the words that its schema is made of. Times are ISO 8601 in
// UTC; integers over 2^53 are strings of digits; what does not apply is null, never left out.
import { z } from 'zod';
import { DECISION_NAMES, OUTCOMES, REASONS } from '../domain/decision.ts';
import { EARNED_MODES } from '../domain/evidence.ts';
import type { Fact } from '../domain/facts.ts';
import { INTENT_STATUSES } from '../domain/intent.ts';
import { PLAN_STATUSES } from '../domain/plan.ts';
import { MODES } from '../domain/rule.ts';
import { RUN_STATUSES, RUN_TRIGGERS } from '../domain/run.ts';
import { READING_STATES, TRUST_REASONS } from '../domain/snapshot.ts';
import { SOURCES, SUBJECT_KINDS } from '../domain/subjects.ts';
import { VERDICTS } from '../domain/verdict.ts';

export const text = z.string();
export const time = z.string().describe('ISO 8601 in UTC');
export const count = z.int().min(0);
export const texts = z.array(text);
export const source = z.enum(SOURCES);
export const kind = z.enum(SUBJECT_KINDS);
export const mode = z.enum(MODES);
export const decisionName = z.enum(DECISION_NAMES);
export const outcome = z.enum(OUTCOMES);
/** Any JSON value: an integer over 2^53 is a string of digits. */
export const fact: z.ZodType<Fact> = z.any();
/** What may be undefined here, and is left out of JSON, which has no name for it. */
export function absent<T extends z.ZodType>(one: T) {
  return one.optional() as unknown as z.ZodType<z.output<T> | undefined, z.input<T> | undefined>;
}
export const factOrAbsent = absent(fact);
export const owners = z.array(text).readonly();

const seconds = z.number().optional();
const ageRange = z.strictObject({
  of: z.enum(['time', 'seconds']).describe('`time`: how long ago it is; `seconds`: how long it is, of a span'),
  moreThan: seconds,
  atLeast: seconds,
  lessThan: seconds,
  atMost: seconds,
});

/** The smallest change that gives another verdict. */
export const flip = z.strictObject({
  verdict: z.enum(VERDICTS),
  changes: z.array(
    z.strictObject({
      fact: text,
      from: factOrAbsent,
      to: factOrAbsent,
      range: ageRange
        .optional()
        .describe('in seconds, of a time or a span: all that give that verdict; `to` is one of them'),
    }),
  ),
});

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
    earned: z.enum(['dry-run', ...EARNED_MODES]).describe('the highest mode that the evidence allows'),
    missing: z.strictObject({ approve: texts, enforce: texts }),
    text: text.describe('all of it in one line'),
  })
  .meta({ id: 'RuleEvidence' });

/** A source of the platform, or of facts from elsewhere. */
export const readingName = z.union([source, z.templateLiteral(['$facts.', z.string()])]);

export const trustReason = z.strictObject({
  source: readingName,
  code: z.enum(TRUST_REASONS),
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
  unwarned: texts.readonly().optional().describe('whom its rules could not warn first'),
});

export const run = z.strictObject({
  id: text,
  seq: count.describe('0: a what-if, which is kept nowhere'),
  mode,
  /** The highest mode that the daemon allowed. */
  daemonMode: mode,
  trigger: z.enum(RUN_TRIGGERS),
  /** True: over chosen rules only; with the trigger `watch` over the subjects that new events named. */
  scoped: z.boolean(),
  startedAt: time,
  finishedAt: time.nullable(),
  status: z.enum(RUN_STATUSES),
  /** Why it was aborted. */
  error: text.nullable(),
  /** True when it ran against the embedded console. */
  demo: z.boolean(),
  rules: texts,
  ruleSetHash: text,
  /** The folder that the rules were loaded from; null in runs of earlier versions. */
  rulesDir: text.nullable(),
  /** True: over other rules than the active set. It sent nothing, and exists only in this report. */
  whatIf: z.boolean(),
});

const gone = z.strictObject({
  rule: text,
  subject: z.strictObject({ kind, id: text, name: text }),
  action: text,
  target: text,
  decision: decisionName,
  /** Why it ended; null where that is not known. */
  why: text.nullable(),
});

/**
 * What differs from the last completed run of the same kind: over all rules, and a dry run like this one or a live one. A run over
 * chosen rules compares only these.
 */
const changes = z.strictObject({
  /** Null when there is none: then all decisions of this run are new, except those that an earlier run wrote. */
  since: z.strictObject({ run: text, seq: count, at: time }).nullable(),
  new: count,
  byNewRules: count.optional().describe('of the new ones, those by rules that the run before did not have'),
  /** No longer decided. */
  gone: count,
  /** About the same rule, subject, action and target, and decided otherwise. */
  changed: count,
  still: count,
  /** At most 100. */
  goneExamples: z.array(gone).max(100),
});

const sourceReading = z.strictObject({
  state: z.enum(READING_STATES),
  form: z.enum(['paged', 'unpaged', 'single', 'none']),
  /** Absent: version 1, and for services and events. */
  lists: z.literal('v2').optional(),
  count,
  startedAt: time,
  finishedAt: time,
  trusted: z.boolean(),
  reasons: z.array(trustReason),
  unreadable: z.strictObject({ count, examples: texts }),
  /** Names of secrets that were dropped before anything was kept. */
  dropped: texts,
});

export const snapshot = z.strictObject({
  /** Null when the run broke off before it had one; all counts are then 0. */
  id: text.nullable(),
  at: time.nullable(),
  devices: count,
  users: count,
  services: count,
  events: count,
  /** Every source that was read is trusted; one that this edition does not have (403) does not count. */
  trusted: z.boolean(),
  reasons: z.array(trustReason),
  sources: z
    .record(text, sourceReading)
    .describe('by what was read: `devices`, `users`, `services`, `events`, and `$facts.NAME` of each source of facts'),
});

const heldIntent = z.strictObject({
  action: text,
  target: text,
  rules: texts,
  subjects: texts,
  reason: text,
  reasonText: text,
  effect,
});

export const plan = z.strictObject({
  /** Null when nothing was planned. */
  id: text.nullable(),
  digest: text,
  intents: count,
  /** Its current status, not that at the end of the run. */
  status: z.enum(PLAN_STATUSES).nullable(),
  createdAt: time.nullable(),
  expiresAt: time.nullable(),
  decidedAt: time.nullable(),
  decidedBy: text.nullable(),
  decidedReason: text.nullable(),
  /** Who let it through the change windows, and why. */
  breakGlass: z.strictObject({ at: time, by: text, reason: text, touched: z.boolean() }).nullable(),
  /** Where more than one person is asked: who has said yes, and what it waits for. */
  agreed: z
    .strictObject({
      given: z.array(
        z.strictObject({ at: time, by: text, groups: texts, reason: text.nullable(), touched: z.boolean() }),
      ),
      missing: text.nullable(),
    })
    .nullable(),
  /** Ids of the plans in the place of a superseded one, and how they differ from it. */
  supersededBy: texts.nullable(),
  difference: z.strictObject({ added: count, removed: count, changed: count }).nullable(),
  /** When later runs changed it: its present content, and how that differs from the one of this run; no counts when that is no longer kept. */
  carriedOn: z
    .strictObject({
      digest: text,
      at: time,
      intents: count,
      change: z.strictObject({ joined: count, changed: count, left: count }).nullable(),
    })
    .nullable(),
  /** Of a plan that was applied or interrupted: what was done, and what was not begun. */
  progress: z
    .strictObject({
      outcomes: z.record(text, count),
      notBegun: z.array(z.strictObject({ action: text, target: text })),
    })
    .nullable(),
  /** Intents that wait for an operator. */
  held: z.array(heldIntent),
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

export const judgedRule = z.strictObject({
  id: text,
  title: text,
  mode,
  hash: text,
  /** False when a source that it needs could not be read. */
  judged: z.boolean(),
  match: count,
  no_match: count,
  unknown: count,
  error: count,
  /** By missing fact: how many subjects. */
  missing: z.record(text, count),
  /** By missing fact: what a person can do about it. */
  howTo: z.record(text, text),
  almostValues: z
    .array(z.strictObject({ path: text, value: text, meant: text, count: count.optional() }))
    .optional()
    .describe('texts that it compares with and that no subject has, while one that is spelt almost so is had'),
  /** At most 100 subjects whose verdict was unknown or error, with the reason. */
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
/** A rule as the run judged it, and what is known of it now. */
const reportedRule = judgedRule.extend({
  evidence: ruleEvidence.nullable().describe('kept evidence of the rule as it is judged here; null: there is none'),
});

/** `serial` and `owners`: of a device, as it was read when this was decided; null where they are not known. */
const reportSubject = z.strictObject({
  kind,
  id: text,
  name: text,
  serial: text.nullable(),
  owners: owners.nullable(),
});

const intentLife = z.strictObject({
  id: text,
  status: z.enum(INTENT_STATUSES),
  outcome: outcome.nullable(),
  attempts: count,
  createdAt: time,
  sentAt: time.nullable(),
  settledAt: time.nullable(),
});

/** A decision within one run's report: with what only a run can add. */
export const runDecision = z.strictObject({
  id: text,
  rule: text,
  ruleHash: text,
  subject: reportSubject,
  verdict: z.enum(VERDICTS),
  /** When the rule began to match this subject. */
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
  /** The smallest change that would have given another verdict when it was first decided. Null: none was found, or not looked for. */
  flip: flip.nullable(),
  effect,
  /** The run that first wrote it. */
  runId: text,
  runSeq: count,
  writtenAt: time,
  episodeId: text.nullable(),
  intentId: text.nullable(),
  isRejected: z.literal(true).optional().describe('a person said no to it, and no run has decided again'),
  /** True when an earlier run wrote it, and it was still in force in this one. */
  unchanged: z.boolean(),
  change: z.enum(['new', 'changed', 'still']),
  /** True when the run's plan has an intent for it: for what waits, and in a dry run also for what would be done. */
  inPlan: z.boolean(),
  intent: intentLife.nullable(),
});

const stop = z.strictObject({ at: time, by: text, reason: text }).nullable();
const exemption = { id: text, about: text, owner: text };

/** What a group of decisions affects. Each device and each person counts once, however many decisions are about them. */
const reportEffect = z.strictObject({
  rule: text,
  action: text,
  decision: decisionName,
  decisions: count,
  devices: count,
  /** Owners of the devices, and users that it is about. */
  people: count,
  /** Devices whose owners are not known. */
  ownersUnknown: count,
});

/** What a rule may take at once, and in a day. */
const limit = z.strictObject({
  rule: text,
  /** Subjects that match. */
  matches: count,
  /** Targets that the limit was compared with: without those that were skipped before. */
  targets: count,
  max: count,
  percent: z.number(),
  /** The lesser of `max` and `percent` of the subjects. */
  allowed: count,
  crossed: z.boolean(),
  /** Subjects that it newly matched or acted on within 24 hours, and how many it may; null: not known. */
  inDay: z
    .strictObject({ subjects: count, allowed: count, crossed: z.boolean() })
    .nullable()
    .describe('subjects that it newly matched or acted on within 24 hours'),
});

/** How often an action may be attempted. */
const ceiling = z.strictObject({ action: text, window: z.enum(['run', '24h']), used: count, allowed: count });

const trend = z.strictObject({
  rule: text,
  /** The oldest first; without runs that did not judge the rule. */
  counts: z.array(z.strictObject({ seq: count, at: time, match: count })),
});

/**
 * Counted in decisions. `succeeded` includes what a read-back confirmed; `unknown`, `parked` and refused ones (`failed`)
 * include those that an earlier run left, since they still wait.
 */
const summary = z.strictObject({
  act: count,
  hold: count,
  skip: count,
  succeeded: count,
  failed: count,
  unknown: count,
  parked: count,
  dry_run: count,
  /** Decided to act, without an outcome (yet). */
  pending: count,
});

/** The operator commands that the run saw. */
const operatorState = z.strictObject({
  /** When the last run before it was completed, if so long ago that this one was a dry run. */
  silentSince: time.nullable(),
  /** Everything was stopped when it began. */
  stopped: stop,
  /** Everything is stopped now, when the report is read. */
  stoppedNow: stop,
  /** The change window in force when it decided, its end, and how many actions wait for that. */
  changeWindow: z.strictObject({ window: text, endsAt: time, endsAtLocal: text, held: count }).nullable(),
  /** Exemptions whose end comes soon. */
  exemptionsEnding: z.array(z.strictObject({ ...exemption, expiresAt: time })),
  /** Exemptions that never stood in the way of anything. */
  exemptionsUnused: z.array(z.strictObject({ ...exemption, createdAt: time })),
  /** Readings that an operator accepted; `refused` is why one did not apply. */
  accepted: z.array(
    z.strictObject({
      source: readingName,
      by: text,
      reason: text,
      overrode: z.array(trustReason),
      refused: text.nullable(),
    }),
  ),
});

export const reportSchema = z.strictObject({
  sentence: text.describe('what happened, or would happen'),
  run,
  changes,
  /** By rule, action and decision. */
  effects: z.array(reportEffect),
  snapshot,
  plan,
  rules: z.array(reportedRule),
  /** Empty in runs of earlier versions. */
  limits: z.array(limit),
  /** Of each action that the run had to do with; empty in runs of earlier versions. */
  ceilings: z.array(ceiling),
  /** Of the last 30 completed runs over all rules, this one included; empty in a run over the subjects of new events. */
  trend: z.array(trend),
  decisions: z.array(runDecision),
  summary,
  operator: operatorState,
});

export type ReportChanges = z.infer<typeof changes>;
export type ReportGone = z.infer<typeof gone>;
export type ReportEffect = z.infer<typeof reportEffect>;
export type ReportLimit = z.infer<typeof limit>;
export type ReportCeiling = z.infer<typeof ceiling>;
export type ReportTrend = z.infer<typeof trend>;
export type Report = z.infer<typeof reportSchema>;
export type ReportOperatorState = z.infer<typeof operatorState>;
export type ReportRun = z.infer<typeof run>;
export type ReportSource = z.infer<typeof sourceReading>;
export type ReportSnapshot = z.infer<typeof snapshot>;
export type ReportPlan = z.infer<typeof plan>;
export type ReportHeldIntent = z.infer<typeof heldIntent>;
export type JudgedRule = z.infer<typeof judgedRule>;
export type ReportSubject = z.infer<typeof reportSubject>;
export type RunDecision = z.infer<typeof runDecision>;
export type ReportIntent = z.infer<typeof intentLife>;
export type ReportSummary = z.infer<typeof summary>;
export type ReportRule = z.infer<typeof reportedRule>;
export type ReportDecision = Omit<RunDecision, 'unchanged' | 'change' | 'inPlan' | 'intent'>;
export type ReportEvidence = z.infer<typeof ruleEvidence>;
export type ReportChange = RunDecision['change'];

export function reportJsonSchema(): object {
  return openJsonSchema(reportSchema, { $id: 'urn:trustward:report', title: 'Trustward report of a run' });
}
