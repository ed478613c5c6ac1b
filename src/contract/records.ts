// contract: what is read: decisions, subjects, what is in force, the audit, rules, explanations, summaries.
import { z } from 'zod';
import { AUDIT_KINDS } from '../domain/audit-entry.ts';
import { LISTED_NAMES, UNKNOWN } from '../domain/listed-facts.ts';
import { NOTICE_STATUSES } from '../domain/notice.ts';
import { NOTIFICATION_STATUSES } from '../domain/notification.ts';
import { INBOX_STATES, type InboxState } from '../domain/operator.ts';
import { PLATFORMS, TRUST_LEVELS } from '../domain/platform-values.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import { TIMELINE_PARTS } from '../domain/why.ts';
import { schemas } from './answers.ts';
import {
  auditEntry,
  claim,
  claimStatus,
  decision,
  history,
  inboxItem,
  intent,
  intentStatus,
  listedSubject,
  notice,
  notification,
} from './nouns.ts';
import {
  entry,
  idParam,
  limitField,
  nameField,
  nothing,
  pageFields,
  pageSchema,
  positionField,
  sinceField,
  total,
} from './operation.ts';
import { count, decisionName, outcome, text, time } from './report.ts';

const { explained, rule, summary, triedRule, why } = schemas;
type InboxShape = Record<InboxState, typeof count>;
const subjectParams = z.object({ kind: z.enum(SUBJECT_KINDS), id: text.describe('any name of the subject') });

const flagFilter = z.enum(['true', 'false', UNKNOWN]).optional();

/** What a list of subjects is filtered and sorted by. */
export const fleetQuery = z.strictObject({
  q: nameField
    .optional()
    .describe(
      'words of its name, each in full or its beginning; or an id, a serial number or an e-mail address in full',
    ),
  banned: flagFilter.describe('of devices'),
  compromised: flagFilter.describe('of devices: what device management reports'),
  platform: z
    .enum([...PLATFORMS.map((one) => one.toLowerCase()), 'other', UNKNOWN])
    .optional()
    .describe('of devices'),
  level: z
    .enum([...TRUST_LEVELS, UNKNOWN])
    .optional()
    .describe('the trust level, of devices and users'),
  enabled: flagFilter.describe('of services'),
  rule: nameField.optional().describe('those that this rule matches now'),
  owner: nameField.optional().describe('of devices: the e-mail address of an owner'),
  sort: z.enum(['name', ...LISTED_NAMES]).default('name'),
  order: z.enum(['asc', 'desc']).default('asc'),
  limit: limitField,
  after: nameField.optional().describe('`next` of the page before'),
});

/** Both hold the same: the page has the JSON in it. */
export const EVIDENCE_FORMATS = ['json', 'html'] as const;

export const RECORDS = {
  listDecisions: entry({
    id: 'listDecisions',
    method: 'GET',
    path: '/api/decisions',
    scope: 'read',
    tag: 'decisions',
    summary: 'List decisions',
    query: z.strictObject({
      run: nameField.optional().describe('decisions that this run wrote: its id, or `latest`'),
      rule: nameField.optional(),
      subject: nameField.optional(),
      target: nameField.optional(),
      decision: decisionName.optional(),
      action: nameField.optional(),
      owner: nameField.optional().describe('the e-mail address of the user, or of the owner of the device'),
      since: sinceField,
      ...pageFields,
    }),
    answers: {
      200: { description: 'a page of decisions, the newest first', schema: pageSchema('decisions', decision) },
    },
    refusals: [404],
  }),
  listSubjects: entry({
    id: 'listSubjects',
    method: 'GET',
    path: '/api/subjects/:kind',
    scope: 'read',
    tag: 'decisions',
    summary: 'List devices, users or services as the last trusted reading showed them',
    description: `More than 2,000 that a search, an owner or a rule finds are listed as they are found, without a total: such a page may be short, and \`next\` goes on.`,
    params: z.object({ kind: z.enum(SUBJECT_KINDS) }),
    query: fleetQuery,
    answers: {
      200: {
        description: 'a page of subjects',
        schema: pageSchema('subjects', listedSubject, {
          readAt: time.nullable().describe('when that reading ended; null: there is none yet'),
          total: count.nullable().describe('on all pages; null: not counted'),
          isSorted: z.boolean().describe('false: too many are found to be sorted'),
          counts: z
            .record(z.string(), z.record(z.string(), count))
            .describe('of all of this kind: how many have each value of each filter'),
        }),
      },
    },
    refusals: [404],
    needs: 'record',
  }),
  getSubject: entry({
    id: 'getSubject',
    method: 'GET',
    path: '/api/subjects/:kind/:id',
    scope: 'read',
    tag: 'decisions',
    summary: 'Read what was decided about a subject, and what is in force on it',
    params: subjectParams,
    query: z.strictObject(pageFields),
    answers: {
      200: {
        description: 'the subject, with a page of its decisions, the newest first',
        schema: pageSchema('decisions', z.strictObject({ ...decision.shape, inForce: z.boolean() }), {
          subject: z.strictObject({ ...subjectParams.shape, name: text.nullable() }),
          intents: z.array(intent),
          claims: z.array(claim),
        }),
      },
    },
  }),
  listInbox: entry({
    id: 'listInbox',
    method: 'GET',
    path: '/api/inbox',
    scope: 'read',
    tag: 'operator',
    summary: 'List what waits for a person',
    description:
      'Plans without an answer or not applied whole, exemptions that persons ask for, and actions that are parked, in doubt, failed or refused and still to be done.',
    query: z.strictObject({ state: z.enum(INBOX_STATES).optional(), ...pageFields }),
    answers: {
      200: {
        description: 'a page of it, state by state',
        schema: pageSchema('inbox', inboxItem, {
          counts: z.strictObject(Object.fromEntries(INBOX_STATES.map((state) => [state, count])) as InboxShape),
          total,
        }),
      },
    },
    needs: 'record',
  }),
  listIntents: entry({
    id: 'listIntents',
    method: 'GET',
    path: '/api/intents',
    scope: 'read',
    tag: 'in force',
    summary: 'List intents',
    query: z.strictObject({ status: intentStatus.optional(), outcome: outcome.optional(), ...pageFields }),
    answers: {
      200: { description: 'a page of intents, the newest first', schema: pageSchema('intents', intent, { total }) },
    },
    needs: 'record',
  }),
  listClaims: entry({
    id: 'listClaims',
    method: 'GET',
    path: '/api/claims',
    scope: 'read',
    tag: 'in force',
    summary: 'List claims',
    query: z.strictObject({
      status: z
        .enum([...claimStatus.options, 'open'])
        .optional()
        .describe('`open`: standing or orphaned'),
      ...pageFields,
    }),
    answers: {
      200: { description: 'a page of claims, the newest first', schema: pageSchema('claims', claim, { total }) },
    },
    needs: 'record',
  }),
  listNotices: entry({
    id: 'listNotices',
    method: 'GET',
    path: '/api/notices',
    scope: 'read',
    tag: 'notifications',
    summary: 'List what people were warned of, and whether it was delivered',
    query: z.strictObject({ status: z.enum(NOTICE_STATUSES).optional(), ...pageFields }),
    answers: {
      200: { description: 'a page of notices, the newest first', schema: pageSchema('notices', notice, { total }) },
    },
    needs: 'record',
  }),
  listNotifications: entry({
    id: 'listNotifications',
    method: 'GET',
    path: '/api/notifications',
    scope: 'read',
    tag: 'notifications',
    summary: 'List notifications',
    query: z.strictObject({ status: z.enum(NOTIFICATION_STATUSES).optional(), ...pageFields }),
    answers: {
      200: {
        description: 'a page of notifications, the newest first',
        schema: pageSchema('notifications', notification),
      },
    },
  }),
};

export const PAST = {
  getTimeline: entry({
    id: 'getTimeline',
    method: 'GET',
    path: '/api/subjects/:kind/:id/timeline',
    scope: 'read',
    tag: 'decisions',
    summary: 'Read what happened to a subject, and what changed of its facts',
    description: 'Facts are in it where a history is kept. Changes of time stamps alone are left out.',
    params: subjectParams,
    query: z.strictObject({
      limit: limitField,
      part: z.enum(TIMELINE_PARTS).default('all').describe('`facts`: what changed of its facts; `acts`: all but that'),
    }),
    answers: {
      200: {
        description: 'the newest lines, the newest first',
        schema: z.strictObject({
          subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: text }),
          timeline: z.array(history),
        }),
      },
    },
    refusals: [404],
    atOnce: { what: 'readings of the history', underWayMax: 2, waitingMax: 8 },
  }),
  getSummary: entry({
    id: 'getSummary',
    method: 'GET',
    path: '/api/summary',
    scope: 'read',
    tag: 'decisions',
    summary: 'Summarize what happened since a time',
    query: z.strictObject({ since: sinceField.default('12h') }),
    answers: { 200: { description: 'the summary', schema: summary } },
    atOnce: { what: 'summaries', underWayMax: 4, waitingMax: 8 },
  }),
};

const head = z.strictObject({ seq: count, hash: text }).describe('the last entry');

export const AUDIT = {
  listAudit: entry({
    id: 'listAudit',
    method: 'GET',
    path: '/api/audit',
    scope: 'read',
    tag: 'audit',
    summary: 'List audit entries',
    query: z
      .strictObject({
        after: positionField.optional().describe('entries after this number, oldest first'),
        before: positionField.optional().describe('entries before this number, newest first'),
        kind: z.enum(AUDIT_KINDS).optional().describe('entries of this kind'),
        target: nameField.optional().describe('entries that name this target, by any of its names'),
        actor: nameField.optional().describe('who did it, in whatever way, such as `ana`'),
        reference: nameField.optional().describe('what was done under this ticket or change number'),
        since: sinceField,
        limit: limitField,
      })
      .refine((query) => query.after === undefined || query.before === undefined, {
        message: 'has both `after` and `before`: give one of them',
      }),
    answers: {
      200: {
        description: 'a page of entries, and the head of the chain',
        schema: pageSchema('entries', auditEntry, { head }, count),
      },
    },
    refusals: [404],
    needs: 'record',
  }),
  getEvidencePack: entry({
    id: 'getEvidencePack',
    method: 'GET',
    path: '/api/audit/evidence/:of',
    scope: 'read',
    tag: 'audit',
    summary: 'Make evidence of a plan, an action or a subject, for an auditor',
    description:
      'One file with the facts, the rule, who said yes, the calls and the proof of each entry, signed. `trustward verify-evidence FILE` judges it offline.',
    params: z.object({ of: nameField.describe('the id of a plan or an intent, or any name of a subject') }),
    query: z.strictObject({ format: z.enum(EVIDENCE_FORMATS).default('json') }),
    answers: {
      200: {
        description: 'the file, as one text',
        schema: z
          .strictObject({
            about: z.strictObject({ kind: z.enum(['plan', 'intent', 'subject']), id: text, text }),
            entries: count,
            rules: count,
            left: z.array(text).describe('what is not in it'),
            file: text.describe('to be written byte by byte: another byte is noticed'),
          })
          .meta({ id: 'EvidencePack' }),
      },
    },
    refusals: [404, 409],
    needs: 'record',
    atOnce: { what: 'evidence', underWayMax: 2, waitingMax: 8 },
  }),
  verifyAudit: entry({
    id: 'verifyAudit',
    method: 'POST',
    path: '/api/audit/verify',
    scope: 'read',
    tag: 'audit',
    summary: 'Verify the audit chain',
    body: nothing,
    answers: {
      200: {
        description: 'whether the whole chain is intact',
        schema: z
          .strictObject({
            ok: z.boolean(),
            entries: count.describe('entries that were verified, before the first bad one'),
            head: text.describe('the hash of the last of them'),
            bad: z.strictObject({ seq: count, checkpoint: count.optional(), reason: text }).nullable(),
          })
          .meta({ id: 'Verified' }),
      },
    },
  }),
};

const EXPLAINING = { what: 'explanations', underWayMax: 4, waitingMax: 8 };

export const EXPLANATIONS = {
  explainRule: entry({
    id: 'explainRule',
    method: 'POST',
    path: '/api/rules/:id/explain',
    scope: 'read',
    tag: 'rules',
    summary: 'Explain why a rule matches a subject or not',
    description: 'It reads the subject from the platform now. Nothing is sent, and nothing is kept.',
    params: idParam('a rule'),
    body: z.strictObject({
      subject: nameField.describe(
        'any name of it: a DeviceID, a serial number, an e-mail address, a ServiceID, a name',
      ),
    }),
    answers: {
      200: { description: 'the verdict with its reasons, and what would be decided now', schema: explained },
    },
    refusals: [409, 502],
    isCoded: true,
    atOnce: EXPLAINING,
    needs: 'engine',
  }),
  why: entry({
    id: 'why',
    method: 'GET',
    path: '/api/why',
    scope: 'read',
    tag: 'decisions',
    summary: 'Show all that is known of a subject, and what happens next',
    query: z.strictObject({
      of: nameField.describe('any name of a device, user or service'),
      at: nameField
        .optional()
        .describe(
          'an earlier time, as a duration back from now or as a date: it is answered from the history, without the platform',
        ),
    }),
    answers: {
      200: { description: 'its state, its rules, what waits, its history, and the ways out', schema: why },
    },
    refusals: [404, 409, 502],
    isCoded: true,
    atOnce: EXPLAINING,
    needs: 'engine',
  }),
};

export const RULES = {
  listRules: entry({
    id: 'listRules',
    method: 'GET',
    path: '/api/rules',
    scope: 'read',
    tag: 'rules',
    summary: 'List the loaded rules',
    query: z.strictObject({
      limit: limitField,
      after: nameField.optional().describe('`next` of the page before'),
    }),
    answers: {
      200: {
        description: 'a page of rules by their ids, also of those that are off',
        schema: pageSchema('rules', rule, { total }),
      },
    },
    refusals: [409],
  }),
  getRule: entry({
    id: 'getRule',
    method: 'GET',
    path: '/api/rules/:id',
    scope: 'read',
    tag: 'rules',
    summary: 'Read a rule',
    params: idParam('a rule'),
    answers: { 200: { description: 'the rule', schema: rule } },
    refusals: [409],
  }),
  tryRule: entry({
    id: 'tryRule',
    method: 'POST',
    path: '/api/rules/:id/try',
    scope: 'trigger',
    tag: 'rules',
    summary: 'Try a changed text of a rule over the present fleet',
    description: 'Nothing is sent, and nothing is kept.',
    params: idParam('a rule'),
    body: z.strictObject({
      text: z
        .string()
        .min(1)
        .describe("the whole text of the file, as YAML or JSON by the end of the rule's own file name"),
    }),
    answers: {
      200: { description: 'what it would match and do, beside the rule in force', schema: triedRule },
    },
    refusals: [409, 502],
  }),
};
