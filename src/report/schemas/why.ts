// report: the schema of the answer to `why`: all that is known of one subject. In: nothing. Out: a zod schema. It is domain data,
// whose times are written as text; what is not known is left out.
import { z } from 'zod';
import { HISTORY_KINDS } from '../../domain/history.ts';
import { PLAN_STATUSES } from '../../domain/plan.ts';
import { VERDICTS } from '../../domain/verdict.ts';
import { count, kind, mode, outcome, owners, text, texts } from '../schema-parts.ts';
import { about, draft, facts, intentStatus } from './nouns.ts';
import { decidedNow, flip, moment, openClaim, part } from './rules.ts';

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

const rule = z.strictObject({
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
    rules: z.array(rule),
    history: z.array(historyLine),
    next: texts.describe('what happens by itself next'),
    commands: z.array(z.strictObject({ purpose: text, command: text })).describe('how a person changes that'),
  })
  .meta({ id: 'Why' });

/** The answer to `facts WHAT --at TIME`. */
export const factsAt = z.strictObject({ subject: identity, asOf, record: facts });
