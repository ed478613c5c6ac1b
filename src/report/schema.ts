// report: the schema of the JSON report, from which docs/report.schema.json is made. In: nothing. Out: a zod schema and its JSON Schema.
// INVARIANT, checked by the types: it describes `Report`, no more and no less. No command loads it: only tests and other programs do.
import { z } from 'zod';
import { REASONS } from '../domain/decision.ts';
import { VERDICTS } from '../domain/verdict.ts';
import type { Report } from './report.ts';
import {
  changes,
  count,
  decisionName,
  effect,
  fact,
  factOrAbsent,
  kind,
  mode,
  openJsonSchema,
  outcome,
  owners,
  plan,
  ruleEvidence,
  run,
  snapshot,
  source,
  text,
  time,
  trustReason,
} from './schema-parts.ts';

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
