// contract: single nouns as other programs and people see them: runs, decisions, plans, intents, claims and the rest. A view makes one of a domain noun.
import { z } from 'zod';
import { AUDIT_KINDS } from '../domain/audit-entry.ts';
import { SCOPES } from '../domain/endpoint-token.ts';
import { CLAIM_STATUSES } from '../domain/episode.ts';
import { REQUEST_STATUSES } from '../domain/exemption-request.ts';
import { INTENT_STATUSES } from '../domain/intent.ts';
import { NOTICE_STATUSES } from '../domain/notice.ts';
import { NOTIFICATION_KINDS, NOTIFICATION_STATUSES } from '../domain/notification.ts';
import { INBOX_STATES } from '../domain/operator.ts';
import { PLAN_STATUSES } from '../domain/plan.ts';
import { CHECK_VERDICTS } from '../domain/run.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import { HISTORY_KINDS } from '../domain/why.ts';
import {
  count,
  effect,
  fact,
  judgedRule,
  kind,
  mode,
  outcome,
  readingName,
  plan as reportPlan,
  run as reportRun,
  ruleEvidence,
  runDecision,
  snapshot,
  text,
  time,
  trustReason,
} from './report.ts';

export const facts = z.record(text, fact);
export const intentStatus = z.enum(INTENT_STATUSES);
export const claimStatus = z.enum(CLAIM_STATUSES);

export const run = z
  .strictObject({ ...reportRun.shape, snapshot, rulesJudged: z.array(judgedRule), planId: text.nullable() })
  .meta({ id: 'Run' });

export const decision = runDecision
  .omit({ unchanged: true, change: true, inPlan: true, intent: true })
  .meta({ id: 'Decision' });

const basis = z.array(
  z.strictObject({ rule: text, ruleHash: text, subjectId: text, episodeId: text, decisionId: text, facts }),
);
/** What an intent does. */
export const draft = { action: text, target: text, settings: facts, undo: z.boolean(), basis, effect };

/** What left a plan, and why. */
export const leftIntent = z.strictObject({ action: text, target: text, reason: text }).meta({ id: 'LeftIntent' });

const revision = z
  .strictObject({
    digest: text,
    runId: text,
    createdAt: time,
    change: z
      .strictObject({ joined: count, changed: count, left: z.array(leftIntent).readonly() })
      .describe('how the content after it differs'),
  })
  .meta({ id: 'PlanRevision' });

export const plan = z
  .strictObject({
    id: text,
    digest: text,
    runId: text.describe('the run that its present content is of'),
    mode,
    status: z.enum(PLAN_STATUSES),
    createdAt: time.describe('the date of its present content'),
    expiresAt: time,
    decidedAt: time.nullable(),
    decidedBy: text.nullable(),
    decidedReason: text.nullable(),
    breakGlass: reportPlan.shape.breakGlass,
    agreed: reportPlan.shape.agreed,
    needs: text
      .nullable()
      .describe(
        'whose yes it waits for by the rules in force; null: of one person who may approve, or it does not wait',
      ),
    releases: text.nullable().describe('the rule whose claims it undoes, if a person asked for that'),
    supersededBy: reportPlan.shape.supersededBy,
    difference: reportPlan.shape.difference,
    intents: z.array(
      z.strictObject({
        ...draft,
        released: z.boolean().optional(),
        key: text,
        held: z.boolean(),
        reason: text,
        reasonText: text,
      }),
    ),
    revisions: z
      .array(revision)
      .nullable()
      .describe('its earlier contents, which runs carried on, the oldest first; null in a list'),
    dropped: count.nullable().describe('how many intents it had, when they are no longer kept'),
    progress: reportPlan.shape.progress,
    evidence: z
      .array(z.strictObject({ rule: text, ...ruleEvidence.shape }))
      .describe('kept evidence of its rules; of those that have some'),
  })
  .meta({ id: 'Plan' });

export const rollout = z
  .strictObject({
    rule: text,
    step: count.describe('from 1'),
    steps: count,
    percent: z.number().describe('the share of its subjects that it acts on'),
    text,
    reversed: count.describe('what people reversed of what it did, since it began or was resumed'),
    exempted: count.describe('what people exempted of what it acted on'),
    stopped: z.strictObject({ at: time, why: text }).nullable().describe('what stopped it, until a person goes on'),
  })
  .meta({ id: 'Rollout' });

export const checked = z
  .strictObject({
    subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: text, name: text.nullable() }),
    isGone: z.boolean().describe('the platform has it no more: nothing was done'),
    readAt: time.describe('when the platform was asked'),
    isRepeat: z.boolean().describe('it was checked less than a minute ago: this is what was found then'),
    run: count.nullable(),
    owners: z.array(text).readonly().describe('e-mail addresses, as just read'),
    rules: z.array(
      z.strictObject({
        rule: text,
        title: text,
        subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: text }),
        verdict: z.enum(CHECK_VERDICTS).describe('`new`: it matches, and the next run begins with it'),
        facts: facts.describe('what is still wrong'),
        reportedAt: time.nullable().describe('when the report of the platform was made; null: it does not say'),
        reportAgeSeconds: count.nullable().describe('when it was read'),
        hasEnded: z.boolean().describe('the match is over, and no deadline of it is left'),
        endsAt: time.nullable().describe('when it is over if it stays mended'),
        why: text.nullable().describe('why it is unknown, or what it waits for'),
        undos: z.array(z.strictObject({ action: text, target: text, decision: text, text, outcome: text.nullable() })),
      }),
    ),
  })
  .meta({ id: 'Checked' });

export const history = z
  .strictObject({
    at: time,
    kind: z.enum(HISTORY_KINDS),
    text,
    action: text.nullable(),
    target: text.nullable(),
    rules: z.array(text).readonly(),
    run: count.nullable(),
    by: text.nullable(),
    id: text.describe('of the decision, intent, episode, claim or exemption; of a fact the number of the run'),
  })
  .meta({ id: 'HistoryLine' });

export const intent = z
  .strictObject({
    id: text,
    runId: text,
    planId: text.nullable(),
    ...draft,
    mode,
    approved: z.boolean(),
    status: intentStatus,
    outcome: outcome.nullable(),
    note: text.nullable(),
    attempts: count,
    refusals: count.describe('how often in a row the server refused it before doing anything'),
    doubtRetries: count,
    createdAt: time,
    sentAt: time.nullable(),
    settledAt: time.nullable(),
  })
  .meta({ id: 'Intent' });

export const claimed = {
  id: text,
  episodeId: text,
  rule: text,
  subjectId: text,
  action: text,
  target: text,
  intentId: text,
  status: claimStatus,
};
export const claim = z.strictObject({ ...claimed, openedAt: time, endedAt: time.nullable() }).meta({ id: 'Claim' });

export const inboxItem = z
  .strictObject({
    state: z.enum(INBOX_STATES),
    id: text.describe('of the plan, the request or the intent'),
    title: text,
    since: time,
    until: time.nullable().describe('of a plan or a request: when it expires'),
    why: text,
    next: text.describe('what happens by itself, or what a person does'),
    command: text.describe('the command of a person who decides on it'),
  })
  .meta({ id: 'InboxItem' });

const subject = z.strictObject({ kind, id: text });
export const about = {
  subject: subject.nullable(),
  selector: z.strictObject({ kind, field: text, value: text }).nullable(),
};

export const exemption = z
  .strictObject({
    id: text,
    about: text,
    ...about,
    owner: text,
    reason: text,
    expiresAt: time,
    createdAt: time,
    createdBy: text,
    endedAt: time.nullable(),
    endedBy: text.nullable(),
    endedReason: text.nullable(),
    usedAt: time.nullable().describe('when it last held back a match'),
    inForce: z.boolean(),
    acceptForgeable: z
      .boolean()
      .describe('devices report the field of the selector themselves, and a person accepted that'),
  })
  .meta({ id: 'Exemption' });

export const exemptionRequest = z
  .strictObject({
    id: text,
    person: text.describe('the e-mail address of who asks, an owner of the device'),
    device: text.describe('its DeviceID'),
    serial: text,
    name: text.describe('its name when it was asked'),
    rule: text.nullable().describe('of the newest match of the device when it was asked'),
    episodeId: text.nullable(),
    reason: text.describe('as the person wrote it'),
    forSeconds: count,
    askedAt: time,
    expiresAt: time.describe('from then on it waits no more'),
    status: z.enum(REQUEST_STATUSES),
    answeredAt: time.nullable(),
    answeredBy: text.nullable(),
    sentence: text.nullable().describe('what the operator said to the person'),
    exemption: text.nullable().describe('the id of the exemption that was made of it'),
    exemptUntil: time.nullable(),
    inForce: z
      .array(z.strictObject({ action: text, target: text, command: text.describe('the command that undoes it') }))
      .describe('what Trustward has in force on the device now: an exemption undoes none of it'),
  })
  .meta({ id: 'ExemptionRequest' });

export const stop = z.strictObject({ at: time, by: text, reason: text }).meta({ id: 'Stop' });

export const acceptance = z
  .strictObject({
    source: readingName,
    at: time,
    by: text,
    reason: text,
    run: text,
    causes: z.array(trustReason.shape.code),
    count,
  })
  .meta({ id: 'Acceptance' });

export const released = z
  .strictObject({
    target: text,
    action: text,
    state: z.enum(['released', 'dry_run', 'standing']),
    text,
    intent: z.union([intent, z.null()]).describe('the undo that was sent, if one was needed'),
  })
  .meta({ id: 'Released' });

export const auditEntry = z
  .strictObject({
    seq: count,
    at: time,
    kind: z.enum(AUDIT_KINDS),
    text: text.describe('what it says, in one sentence'),
    body: fact,
    prev: text,
    hash: text,
  })
  .meta({ id: 'AuditEntry' });

export const notification = z
  .strictObject({
    id: text,
    to: text.describe('the name of the webhook'),
    kind: z.enum(NOTIFICATION_KINDS),
    status: z.enum(NOTIFICATION_STATUSES),
    at: time,
    ageSeconds: count,
    text,
    attempts: count,
    nextAttemptAt: time.nullable(),
    lastAnswer: text.nullable().describe('the result of the last attempt; null before the first'),
    about: facts,
  })
  .meta({ id: 'Notification' });

export const notice = z
  .strictObject({
    id: text,
    rule: text,
    subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: text }),
    action: text,
    target: text,
    device: text.describe('its name'),
    to: text.describe('the address, in lower case'),
    stage: z.enum(['first', 'reminder']),
    status: z.enum(NOTICE_STATUSES),
    createdAt: time,
    dueAt: time.nullable().describe('the deadline that it names; null before the first attempt'),
    deliveredAt: time.nullable(),
    attempts: count,
    nextAttemptAt: time.nullable(),
    note: text.nullable().describe('why it was not delivered, or not yet'),
  })
  .meta({ id: 'Notice' });

export const token = z
  .strictObject({
    id: text,
    name: text,
    scope: z.enum(SCOPES),
    createdAt: time,
    createdBy: text,
    expiresAt: time.nullable(),
    revokedAt: time.nullable(),
    revokedBy: text.nullable(),
    usedAt: time.nullable(),
    good: z.boolean(),
  })
  .meta({ id: 'Token' });

export type CheckedShown = z.infer<typeof checked>;
export type RunShown = z.infer<typeof run>;
export type PlanShown = z.infer<typeof plan>;
export type HistoryLineShown = z.infer<typeof history>;
export type IntentShown = z.infer<typeof intent>;
export type InboxItemShown = z.infer<typeof inboxItem>;
export type ClaimShown = z.infer<typeof claim>;
export type ExemptionShown = z.infer<typeof exemption>;
export type ExemptionRequestShown = z.infer<typeof exemptionRequest>;
export type StopShown = z.infer<typeof stop>;
export type AcceptanceShown = z.infer<typeof acceptance>;
export type ReleasedShown = z.infer<typeof released>;
export type AuditEntryShown = z.infer<typeof auditEntry>;
export type NotificationShown = z.infer<typeof notification>;
export type NoticeShown = z.infer<typeof notice>;
export type TokenShown = z.infer<typeof token>;

const listedFlag = z.boolean().nullable().describe('null: not known');
/** A device, user or service in a list, with what its last trusted reading showed. */
export const listedSubject = z
  .strictObject({
    kind: z.enum(SUBJECT_KINDS),
    id: text,
    name: text,
    serial: text.describe('of a device'),
    platform: text.describe('of a device'),
    model: text.describe('of a device'),
    owners: z.array(text).nullable().describe('of a device; null: no reading has shown them'),
    banned: listedFlag,
    compromised: listedFlag,
    enabled: listedFlag.describe('of a service; null: not known'),
    level: text.nullable().describe('the trust level of a device or user; null: not known'),
    rules: z.array(text).describe('rules that match it now'),
    actions: z.array(text).describe('what Trustward has in force on it'),
    firstAt: time.describe('when a trusted reading showed it first'),
    changedAt: time.describe('when one of its names or of these facts changed last'),
  })
  .meta({ id: 'ListedSubject' });
export type ListedShown = z.output<typeof listedSubject>;
