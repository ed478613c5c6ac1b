// contract: answers that are made of several nouns: why, explain, a rule that is tried, a summary. Times of domain data are ISO 8601 in JSON and epoch
// milliseconds here; what is not known is left out.
import { z } from 'zod';
import { isoTime } from '../base/time.ts';
import { REASONS } from '../domain/decision.ts';
import { PLAN_STATUSES } from '../domain/plan.ts';
import { READING_STATES } from '../domain/snapshot.ts';
import { SEVERITIES } from '../domain/subjects.ts';
import { VERDICTS } from '../domain/verdict.ts';
import { type ExplainedPart, HISTORY_KINDS } from '../domain/why.ts';
import * as nouns from './nouns.ts';
import { about, claimed, draft, facts, intentStatus } from './nouns.ts';
import {
  count,
  decisionName,
  effect,
  fact,
  factOrAbsent,
  kind,
  mode,
  outcome,
  owners,
  reportSchema,
  source,
  text,
  texts,
  time,
} from './report.ts';

// The schemas of loaded rules, of a rule that is tried out, and of an explanation.

/** Epoch milliseconds here, ISO 8601 in JSON. */
const moment = z
  .codec(z.iso.datetime(), z.number(), { decode: (text) => Date.parse(text), encode: isoTime })
  .meta({ type: 'string', description: 'ISO 8601 in UTC' });

const rule = z
  .strictObject({
    id: text,
    title: text,
    severity: z.enum(SEVERITIES),
    subject: kind,
    when: fact.describe('JSON Logic'),
    then: z.array(z.strictObject({ action: text, with: facts })),
    mode,
    for: text,
    clear_for: text,
    cooldown: text,
    revert: z.boolean(),
    limits: z.strictObject({ max: count, percent: z.number(), per_day: count.optional() }),
    owners: z.enum(['one', 'all']),
    watch: z.boolean(),
    hash: text,
    file: text,
    sources: z.array(source),
  })
  .meta({ id: 'Rule' });

const triedCounts = z
  .strictObject({ match: count, unknown: count, error: count, act: count, hold: count, skip: count })
  .meta({ id: 'TriedCounts' });
const triedDecisions = z.array(
  z.strictObject({ action: text, target: text, decision: decisionName, reason: z.enum(REASONS), reasonText: text }),
);
const triedSubjects = z.array(
  z
    .strictObject({
      kind,
      id: text,
      name: text,
      serial: text.nullable(),
      owners: owners.nullable(),
      decided: triedDecisions,
      was: triedDecisions,
      facts,
    })
    .meta({ id: 'TriedSubject' }),
);

const triedRule = z
  .strictObject({
    rule,
    asOf: time,
    before: triedCounts,
    after: triedCounts,
    added: triedSubjects,
    addedTotal: count,
    gone: triedSubjects,
    goneTotal: count,
    same: count.describe('subjects that both match'),
    unknownBy: z.record(text, count).describe('subjects that cannot be judged, by missing fact'),
    untrusted: texts,
  })
  .meta({ id: 'TriedRule' });

const part: z.ZodType<ExplainedPart> = z
  .lazy(() =>
    z.strictObject({
      text,
      answer: z.enum(['true', 'false', 'unknown', 'error']).optional(),
      value: factOrAbsent,
      unit: unit.optional(),
      reason: text.optional(),
      parts: z.array(part),
    }),
  )
  .meta({ id: 'ExplainedPart' }) as unknown as z.ZodType<ExplainedPart>;
const unit = z.enum(['time', 'seconds']);

const verdict = z.enum(VERDICTS);
const flip = z.strictObject({
  verdict,
  changes: z.array(z.strictObject({ fact: text, from: factOrAbsent, to: factOrAbsent })),
});

const decided = {
  rule: text,
  action: text,
  target: text,
  decision: decisionName,
  reason: z.enum(REASONS),
  reasonText: text,
  verdict,
  mode,
  facts,
  effect,
};
const decidedNow = z
  .strictObject({
    ...decided,
    notAsked: z
      .array(z.enum(REASONS))
      .describe('checks that weigh the subject among others: a run may answer with one'),
  })
  .meta({ id: 'DecidedNow' });

const openClaim = z
  .strictObject({ ...claimed, openedAt: moment, endedAt: moment.optional() })
  .meta({ id: 'OpenClaim' });

const recorded = z.strictObject({
  ...decided,
  id: text,
  ruleHash: text,
  subject: z.strictObject({ kind, id: text }),
  subjectName: text,
  since: moment,
  cappedBy: z.enum(['run', 'daemon']).optional(),
  flip: flip.optional(),
  episodeId: text.optional(),
  intentId: text.optional(),
  outcome: outcome.optional(),
  outcomeText: text.optional(),
  runId: text,
  runSeq: count,
  writtenAt: moment,
  endedSeq: count.optional(),
});

const explanation = z.strictObject({
  rule: text,
  title: text,
  hash: text,
  subject: z.strictObject({ kind, id: text, name: text, serial: text.optional(), owners: owners.optional() }),
  at: moment,
  verdict,
  reason: text.optional(),
  missing: texts,
  tree: part,
  facts: z.array(
    z.strictObject({
      fact: text,
      value: factOrAbsent,
      unit: unit.optional(),
      reason: text.optional(),
      source,
      ageMs: z.number().optional(),
      vouchedBy: z.array(
        z.strictObject({ fact: text, value: factOrAbsent, ageMs: z.number().optional(), ageMaxMs: z.number() }),
      ),
      past: z
        .strictObject({ was: factOrAbsent, changedAt: moment.optional(), knownSince: moment.optional() })
        .optional(),
    }),
  ),
  flips: z.array(flip),
});

const basisReading = {
  state: z.enum(READING_STATES),
  trusted: z.boolean(),
  at: moment.optional(),
  reasons: texts,
};

export const explained = z
  .strictObject({
    explanation,
    mode,
    decisions: z.array(decidedNow).describe('what a run over this rule and this one subject would decide now'),
    claims: z.array(openClaim),
    recorded: z.strictObject({ decisions: z.array(recorded), none: text.optional(), differs: z.boolean() }),
    basis: z.strictObject({
      run: z
        .strictObject({
          id: text,
          seq: count,
          at: moment,
          mode,
          match: count,
          subjects: count,
          wasEdited: z.boolean(),
        })
        .optional(),
      sources: z.array(z.strictObject({ ...basisReading, source, seq: count.optional() })),
      events: z.strictObject(basisReading).optional(),
    }),
  })
  .meta({ id: 'Explained' });

const identity = z
  .strictObject({
    kind,
    id: text,
    serial: text,
    name: text,
    platform: text,
    model: text,
    owners: owners.optional(),
    firstAt: moment,
    changedAt: moment,
    goneAt: moment.optional(),
  })
  .meta({ id: 'Identity' });

const intent = z
  .strictObject({
    id: text,
    runId: text,
    mode,
    planId: text.optional(),
    approved: z.boolean(),
    status: intentStatus,
    outcome: outcome.optional(),
    attempts: count,
    refused: z.strictObject({ times: count, credential: text.optional() }).optional(),
    doubtRetries: count,
    createdAt: moment,
    sentAt: moment.optional(),
    settledAt: moment.optional(),
    note: text.optional(),
    ...draft,
    released: z.boolean().optional(),
  })
  .meta({ id: 'KnownIntent' });

const states = z.array(
  z
    .strictObject({
      action: text,
      text,
      target: text,
      isSo: z.boolean().optional(),
      last: z
        .strictObject({
          intent,
          runSeq: count.optional(),
          isOfLook: z.boolean(),
          approvedBy: text.optional(),
          breakGlass: z.strictObject({ at: moment, by: text, reason: text }).optional(),
        })
        .optional(),
      isOwn: z.boolean().describe("Trustward's last action made it as it is now"),
    })
    .meta({ id: 'TargetState' }),
);

const waiting = z.strictObject({
  plan: text,
  status: z.enum(PLAN_STATUSES),
  expiresAt: moment,
  action: text,
  target: text,
  rules: texts,
  reasonText: text,
});

/** Whom it covers stays inside: prints of identities. */
const exemption = z.object({
  id: text,
  subject: about.subject.unwrap().optional(),
  selector: about.selector.unwrap().optional(),
  owner: text,
  reason: text,
  expiresAt: moment,
  createdAt: moment,
  createdBy: text,
  endedAt: moment.optional(),
  endedBy: text.optional(),
  endedReason: text.optional(),
  usedAt: moment.optional(),
  warnedAt: moment.optional(),
  acceptForgeable: z.boolean().optional(),
});

const whyRule = z.strictObject({
  rule: text,
  title: text,
  mode,
  revert: z.boolean(),
  verdict: z.enum(VERDICTS).optional(),
  reason: text.optional(),
  flip: flip.optional(),
  tree: part.optional().describe('the condition with its values; of an answer about an earlier time'),
  decisions: z.array(decidedNow),
  clearing: z
    .strictObject({ since: moment, until: moment })
    .optional()
    .describe(
      'it has not matched since `since`; what it did is undone after `until` if it does not match again before',
    ),
});

const asOf = z.strictObject({
  askedAt: moment,
  run: count.describe('the last recorded run before it'),
  runAt: moment,
  seenAt: moment.describe('when the last recorded run before it began that read the subject'),
  notes: texts.describe('what the answer lacks'),
});

const historyLine = z.strictObject({
  at: moment,
  kind: z.enum(HISTORY_KINDS),
  text,
  action: text.optional(),
  target: text.optional(),
  rules: texts,
  run: count.optional(),
  by: text.optional(),
  id: text,
});

export const why = z
  .strictObject({
    asOf: asOf.optional().describe('of an answer about an earlier time; absent: it is about the present'),
    subject: identity,
    devices: z.array(z.strictObject({ identity, states })),
    at: moment,
    unread: text.optional().describe('why it could not be read now'),
    record: facts.optional().describe('its record as read now, without secrets'),
    states,
    claims: z.array(openClaim),
    waiting: z.array(waiting),
    unfinished: z.array(intent),
    exemption: exemption.optional(),
    joined: exemption.optional().describe('the exemption that it joined after that was made: it waits for a yes'),
    stop: z.strictObject({ at: moment, by: text, reason: text }).optional(),
    rules: z.array(whyRule),
    history: z.array(historyLine),
    next: texts.describe('what happens by itself next'),
    commands: z.array(z.strictObject({ purpose: text, command: text })).describe('how a person changes that'),
  })
  .meta({ id: 'Why' });

/** The answer to `facts WHAT --at TIME`. */
export const factsAt = z.strictObject({ subject: identity, asOf, record: facts });

// A summary of some time.

const counted = <T extends z.ZodType>(one: T) => z.strictObject({ count, some: z.array(one) });

const summaryRuns = z.strictObject({
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
});

const summaryCalls = z.strictObject({
  action: text,
  outcome: z.enum(['done', 'failed', 'in_doubt']),
  count,
  some: z.array(z.strictObject({ target: text, intent: text, run: count.nullable(), note: text })),
});

const summaryDeed = z.strictObject({
  at: time,
  by: text.nullable(),
  text,
  reason: text.nullable(),
  entry: count.nullable().describe('the audit entry; null for several'),
});

const summaryUntrusted = z.strictObject({
  source: text,
  code: text,
  text,
  readings: count,
  firstRun: count.nullable(),
  lastRun: count.nullable(),
});

const summary = z
  .strictObject({
    since: time,
    until: time,
    runs: summaryRuns,
    calls: z.array(summaryCalls),
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
    people: counted(summaryDeed),
    untrusted: z.array(summaryUntrusted),
  })
  .meta({ id: 'Summary' });

export type Summary = z.infer<typeof summary>;
export type SummaryRuns = z.infer<typeof summaryRuns>;
export type SummaryCalls = z.infer<typeof summaryCalls>;
export type SummaryDeed = z.infer<typeof summaryDeed>;
export type SummaryUntrusted = z.infer<typeof summaryUntrusted>;
export type RuleShown = z.infer<typeof rule>;
export type TriedRuleShown = z.infer<typeof triedRule>;

export const schemas = {
  report: reportSchema,
  run: nouns.run,
  summary,
  history: nouns.history,
  decision: nouns.decision,
  plan: nouns.plan,
  intent: nouns.intent,
  claim: nouns.claim,
  exemption: nouns.exemption,
  stop: nouns.stop,
  acceptance: nouns.acceptance,
  released: nouns.released,
  auditEntry: nouns.auditEntry,
  notification: nouns.notification,
  token: nouns.token,
  rule,
  triedRule,
  explained,
  why,
};
