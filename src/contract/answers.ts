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
  absent,
  count,
  decisionName,
  effect,
  fact,
  factOrAbsent,
  flip,
  kind,
  mode,
  outcome,
  owners,
  readingName,
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

/** What a person commanded. */
const said = z.strictObject({ at: moment, by: text, reason: text });

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
    when_allowed: z.array(text).optional(),
    notice: z
      .strictObject({ before: text, remind: z.array(text), to: z.literal('owner') })
      .optional()
      .describe('it warns people first, and acts after the deadline'),
    fix: z
      .strictObject({ problem: text.optional(), text, url: text.nullable() })
      .optional()
      .describe('what is wrong and what people can do, in their notice'),
    rollout: z
      .strictObject({
        steps: z.array(text),
        each: text,
        brake: z.strictObject({ reversed: count, exempted: count }),
      })
      .optional(),
    rolloutNow: nouns.rollout.optional().describe('how far it is'),
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
      answer: absent(z.enum(['true', 'false', 'unknown', 'error'])),
      value: factOrAbsent,
      unit: unit.optional(),
      reason: absent(text),
      parts: z.array(part),
    }),
  )
  .meta({ id: 'ExplainedPart' });
const unit = z.enum(['time', 'seconds']);

const verdict = z.enum(VERDICTS);

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
      .readonly()
      .describe('checks that weigh the subject among others: a run may answer with one'),
  })
  .meta({ id: 'DecidedNow' });

const openClaim = z.strictObject({ ...claimed, openedAt: moment, endedAt: absent(moment) }).meta({ id: 'OpenClaim' });

const recorded = z.strictObject({
  ...decided,
  id: text,
  ruleHash: text,
  subject: z.strictObject({ kind, id: text }),
  subjectName: text,
  since: moment,
  cappedBy: absent(z.enum(['run', 'daemon'])),
  flip: flip.optional(),
  episodeId: absent(text),
  intentId: absent(text),
  outcome: absent(outcome),
  outcomeText: absent(text),
  runId: text,
  runSeq: count,
  writtenAt: moment,
  endedSeq: absent(count),
});

const explanation = z.strictObject({
  rule: text,
  title: text,
  hash: text,
  subject: z.strictObject({ kind, id: text, name: text, serial: text.optional(), owners: owners.optional() }),
  at: moment,
  verdict,
  reason: absent(text),
  missing: texts,
  tree: part,
  facts: z.array(
    z.strictObject({
      fact: text,
      value: factOrAbsent,
      unit: unit.optional(),
      reason: absent(text),
      source: readingName,
      ageMs: absent(z.number()),
      vouchedBy: z.array(
        z.strictObject({ fact: text, value: factOrAbsent, ageMs: absent(z.number()), ageMaxMs: z.number() }),
      ),
      past: z.strictObject({ was: factOrAbsent, changedAt: absent(moment), knownSince: absent(moment) }).optional(),
    }),
  ),
  flips: z.array(flip),
});

const basisReading = {
  state: z.enum(READING_STATES),
  trusted: z.boolean(),
  at: absent(moment),
  reasons: texts,
};

export const explained = z
  .strictObject({
    explanation,
    mode,
    decisions: z.array(decidedNow).describe('what a run over this rule and this one subject would decide now'),
    claims: z.array(openClaim),
    recorded: z.strictObject({ decisions: z.array(recorded), none: absent(text), differs: z.boolean() }),
    basis: z.strictObject({
      run: absent(
        z.strictObject({
          id: text,
          seq: count,
          at: moment,
          mode,
          match: count,
          subjects: count,
          wasEdited: z.boolean(),
        }),
      ),
      sources: z.array(z.strictObject({ ...basisReading, source, seq: absent(count) })),
      events: absent(z.strictObject(basisReading)),
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
    owners: absent(owners),
    firstAt: moment,
    changedAt: moment,
    goneAt: absent(moment),
  })
  .meta({ id: 'Identity' });

const intent = z
  .strictObject({
    id: text,
    runId: text,
    mode,
    planId: absent(text),
    approved: z.boolean(),
    status: intentStatus,
    outcome: absent(outcome),
    attempts: count,
    refused: z.strictObject({ times: count, credential: absent(text) }).optional(),
    doubtRetries: count,
    createdAt: moment,
    sentAt: absent(moment),
    settledAt: absent(moment),
    note: absent(text),
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
      isSo: absent(z.boolean()),
      last: absent(
        z.strictObject({
          intent,
          runSeq: absent(count),
          isOfLook: z.boolean(),
          approvedBy: absent(text),
          breakGlass: absent(said),
        }),
      ),
      isOwn: z.boolean().describe("Trustward's last action made it as it is now"),
    })
    .meta({ id: 'TargetState' }),
);

const waiting = z.strictObject({
  plan: text,
  digest: text,
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
  subject: absent(about.subject.unwrap()),
  selector: absent(about.selector.unwrap()),
  owner: text,
  reason: text,
  expiresAt: moment,
  createdAt: moment,
  createdBy: text,
  endedAt: absent(moment),
  endedBy: absent(text),
  endedReason: absent(text),
  usedAt: absent(moment),
  warnedAt: absent(moment),
  acceptForgeable: z.boolean().optional(),
});

const whyRule = z.strictObject({
  rule: text,
  of: text.optional().describe('the owner that it is about, where a rule about users acts on their devices'),
  title: text,
  mode,
  revert: z.boolean(),
  verdict: absent(verdict),
  reason: absent(text),
  flip: absent(flip),
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
  action: absent(text),
  target: absent(text),
  rules: texts.readonly(),
  run: absent(count),
  by: absent(text),
  id: text,
});

export const why = z
  .strictObject({
    asOf: asOf.optional().describe('of an answer about an earlier time; absent: it is about the present'),
    subject: identity,
    devices: z.array(z.strictObject({ identity, states })),
    at: moment,
    unread: absent(text).describe('why it could not be read now'),
    record: absent(facts).describe('its record as read now, without secrets'),
    states,
    claims: z.array(openClaim),
    waiting: z.array(waiting),
    unfinished: z.array(intent),
    exemption: absent(exemption),
    joined: absent(exemption).describe('the exemption that it joined after that was made: it waits for a yes'),
    stop: absent(said),
    rules: z.array(whyRule),
    history: z.array(historyLine),
    next: texts.describe('what happens by itself next'),
    commands: z.array(z.strictObject({ purpose: text, command: text })).describe('how a person changes that'),
  })
  .meta({ id: 'Why' });

/** The answer to `facts WHAT --at TIME`. */
export const factsAt = z.strictObject({ subject: identity, asOf, record: facts });
export const factsNow = z.strictObject({ subject: identity, at: moment, record: facts });

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
  entry: count.nullable().describe('the audit entry, the first of an act on several rules; null for several acts'),
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
        rules: texts.describe('all that propose the same for these targets'),
        reason: text,
        count,
        inForce: count,
        some: z.array(z.strictObject({ target: text, run: count })),
      }),
    ),
    mended: counted(z.strictObject({ target: text, rule: text, at: time })).describe('before the deadline of a notice'),
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
export type RolloutShown = z.infer<typeof nouns.rollout>;
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
