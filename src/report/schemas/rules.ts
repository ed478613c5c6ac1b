// report: the schemas of loaded rules, of a rule that is tried out, and of an explanation. In: nothing. Out: zod schemas. Explanations and
// answers to `why` are domain data, whose times are written as text; what is not known is left out.
import { z } from 'zod';
import { REASONS } from '../../domain/decision.ts';
import type { ExplainedPart } from '../../domain/explanation.ts';
import { SEVERITIES } from '../../domain/subjects.ts';
import { isoTime } from '../../domain/time-text.ts';
import { VERDICTS } from '../../domain/verdict.ts';
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
  source,
  text,
  texts,
  time,
} from '../schema-parts.ts';
import { claimed, facts } from './nouns.ts';

/** Epoch milliseconds here, ISO 8601 in JSON. */
export const moment = z
  .codec(z.iso.datetime(), z.number(), { decode: (text) => Date.parse(text), encode: isoTime })
  .meta({ type: 'string', description: 'ISO 8601 in UTC' });

export const rule = z
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

export const triedRule = z
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

export const part: z.ZodType<ExplainedPart> = z
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
export const flip = z.strictObject({
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
export const decidedNow = z
  .strictObject({
    ...decided,
    notAsked: z
      .array(z.enum(REASONS))
      .describe('checks that weigh the subject among others: a run may answer with one'),
  })
  .meta({ id: 'DecidedNow' });

export const openClaim = z
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
  state: z.enum(['read', 'skipped', 'unavailable', 'failed']),
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
