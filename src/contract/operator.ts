// contract: what a person commands: exemptions, stop and resume, accepting a reading, resolving intents, releasing claims, tokens.
import { z } from 'zod';
import { SCOPES } from '../domain/endpoint-token.ts';
import { FORGEABLE_FIELDS } from '../domain/exemption.ts';
import { REQUEST_STATUSES } from '../domain/exemption-request.ts';
import { RESOLUTIONS } from '../domain/intent.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import {
  acceptance,
  checked,
  exemption,
  exemptionRequest,
  intent,
  plan,
  released,
  rollout,
  stop,
  token,
} from './nouns.ts';
import {
  entry,
  givenText,
  idParam,
  nameField,
  nothing,
  pageFields,
  pageSchema,
  referenceField,
  total,
} from './operation.ts';
import { count, text, texts, time } from './report.ts';

const why = z.strictObject({ reason: givenText });
const switching = z.strictObject({ reason: givenText, reference: referenceField });
const covers = z
  .strictObject({ kind: z.enum(SUBJECT_KINDS), count, examples: texts })
  .nullable()
  .describe('null: it cannot be known');
const joinedLater = z
  .strictObject({ count, examples: texts })
  .describe('what it is about now and did not cover when it was made: it waits for a person');

export const listedExemption = z
  .strictObject({ ...exemption.shape, covers, joinedLater })
  .meta({ id: 'ListedExemption' });
const addedExemption = z
  .strictObject({ ...exemption.shape, covers, released: z.array(released) })
  .meta({ id: 'AddedExemption' });
const confirmedExemption = z
  .strictObject({
    ...exemption.shape,
    confirmed: texts.describe('what it covers from now on, too'),
  })
  .meta({ id: 'ConfirmedExemption' });

export const EXEMPTIONS = {
  listExemptions: entry({
    id: 'listExemptions',
    method: 'GET',
    path: '/api/exemptions',
    scope: 'read',
    tag: 'operator',
    summary: 'List exemptions',
    query: z.strictObject({
      ...pageFields,
      inForce: z.enum(['true', 'false']).default('false').describe('`true`: only those in force'),
    }),
    answers: {
      200: {
        description: 'a page of exemptions, the newest first',
        schema: pageSchema('exemptions', listedExemption, { total }),
      },
    },
    needs: 'record',
  }),
  addExemption: entry({
    id: 'addExemption',
    method: 'POST',
    path: '/api/exemptions',
    scope: 'approve',
    tag: 'operator',
    summary: 'Exempt a subject, or all that a selector names, until a time',
    description: 'Give `subject` or `selector`.',
    body: z.strictObject({
      subject: z
        .strictObject({ kind: nameField.optional(), id: nameField })
        .optional()
        .describe('any name of it: an id, a serial number, an e-mail address, or the name of a service'),
      selector: z.strictObject({ field: nameField, value: nameField }).optional(),
      owner: givenText,
      reason: givenText,
      reference: referenceField,
      until: z.string().min(1).max(100).describe('a duration such as `30d`, or a date'),
      unseen: z.boolean().default(false).describe('the subject is meant, though no trusted snapshot has shown it'),
      release: z.boolean().default(false).describe('also undo what is in force on the protected targets'),
      acceptForgeable: z
        .boolean()
        .default(false)
        .describe(`required with a selector of ${FORGEABLE_FIELDS.join(', ')}: devices report these themselves`),
    }),
    answers: {
      201: { description: 'the exemption, what it covers now, and what was released', schema: addedExemption },
    },
    refusals: [404, 409],
    needs: 'engine',
  }),
  endExemption: entry({
    id: 'endExemption',
    method: 'POST',
    path: '/api/exemptions/:id/end',
    scope: 'approve',
    tag: 'operator',
    summary: 'End an exemption',
    params: idParam('an exemption'),
    body: why,
    answers: { 200: { description: 'the exemption, which has ended', schema: exemption } },
    refusals: [409],
    needs: 'database',
  }),
  confirmExemption: entry({
    id: 'confirmExemption',
    method: 'POST',
    path: '/api/exemptions/:id/confirm',
    scope: 'approve',
    tag: 'operator',
    summary: 'Say yes to what joined an exemption later',
    params: idParam('an exemption'),
    body: z.strictObject({
      subject: nameField
        .optional()
        .describe('the id or serial number of one that waits; all that wait when it is absent'),
      reason: givenText,
    }),
    answers: { 200: { description: 'the exemption, and what it covers from now on', schema: confirmedExemption } },
    refusals: [409],
    needs: 'database',
  }),
};

/** What an operator says to a person, who asked in few words; both are in the reason of the exemption. */
const say = z.string().trim().min(1).max(400).describe('the sentence that the person reads');
const noted = z.string().trim().min(1).max(400).optional().describe('for the records; the person does not read it');

export const REQUESTS = {
  listRequests: entry({
    id: 'listRequests',
    method: 'GET',
    path: '/api/exemption-requests',
    scope: 'read',
    tag: 'operator',
    summary: 'List the exemptions that persons ask for',
    query: z.strictObject({ ...pageFields, status: z.enum(REQUEST_STATUSES).optional(), person: nameField.optional() }),
    answers: {
      200: {
        description: 'a page of them, the newest first',
        schema: pageSchema('requests', exemptionRequest, { total }),
      },
    },
    needs: 'record',
  }),
  grantRequest: entry({
    id: 'grantRequest',
    method: 'POST',
    path: '/api/exemption-requests/:id/grant',
    scope: 'approve',
    tag: 'operator',
    summary: 'Grant what a person asks for: exempt the device until a time',
    description: 'What is in force on the device stays.',
    params: idParam('a request'),
    body: z.strictObject({
      say,
      until: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe('a duration such as `30d`, or a date; as long as was asked for when it is absent'),
      reason: noted,
      reference: referenceField,
    }),
    answers: { 200: { description: 'the request, with the exemption that was made of it', schema: exemptionRequest } },
    refusals: [409],
    needs: 'database',
  }),
  refuseRequest: entry({
    id: 'refuseRequest',
    method: 'POST',
    path: '/api/exemption-requests/:id/refuse',
    scope: 'approve',
    tag: 'operator',
    summary: 'Refuse what a person asks for',
    params: idParam('a request'),
    body: z.strictObject({ say, reason: noted, reference: referenceField }),
    answers: { 200: { description: 'the request, with its answer', schema: exemptionRequest } },
    refusals: [409],
    needs: 'database',
  }),
};

export const SWITCHES = {
  stop: entry({
    id: 'stop',
    method: 'POST',
    path: '/api/stop',
    scope: 'approve',
    tag: 'operator',
    summary: 'Stop everything: nothing is called from now on',
    body: switching,
    answers: { 200: { description: 'the stop in force', schema: z.strictObject({ stopped: stop }) } },
    refusals: [409],
    needs: 'database',
  }),
  resume: entry({
    id: 'resume',
    method: 'POST',
    path: '/api/resume',
    scope: 'approve',
    tag: 'operator',
    summary: 'Lift the stop',
    body: switching,
    answers: {
      200: {
        description: 'the stop that was lifted',
        schema: z.strictObject({ stopped: z.null(), lifted: stop }),
      },
    },
    refusals: [409],
    needs: 'database',
  }),
  acceptSnapshot: entry({
    id: 'acceptSnapshot',
    method: 'POST',
    path: '/api/snapshot/accept',
    scope: 'approve',
    tag: 'operator',
    summary: 'Accept a reading of a source that is not trusted',
    body: z.strictObject({ source: nameField, reason: givenText }),
    answers: { 200: { description: 'what was accepted, and for which reading', schema: acceptance } },
    refusals: [404, 409],
    needs: 'database',
  }),
};

export const ROLLOUTS = {
  resumeRollout: entry({
    id: 'resumeRollout',
    method: 'POST',
    path: '/api/rules/:id/rollout/resume',
    scope: 'approve',
    tag: 'operator',
    summary: 'Let a rule go on that was stopped by what people reversed or exempted',
    params: idParam('a rule'),
    body: switching,
    answers: { 200: { description: 'how far its rollout is', schema: rollout } },
    refusals: [409],
    needs: 'engine',
  }),
  restartRollout: entry({
    id: 'restartRollout',
    method: 'POST',
    path: '/api/rules/:id/rollout/restart',
    scope: 'approve',
    tag: 'operator',
    summary: 'Begin the rollout of a rule anew, with its first step',
    params: idParam('a rule'),
    body: switching,
    answers: { 200: { description: 'how far its rollout is', schema: rollout } },
    refusals: [409],
    needs: 'engine',
  }),
};

/** As a record has it, which may be long. */
const targetField = z.string().min(1).max(10_000);

const kept = z
  .array(z.strictObject({ action: text, target: text, rules: texts.readonly() }))
  .describe('targets that stay, since other rules claim them too');

export const DOUBTS = {
  checkSubject: entry({
    id: 'checkSubject',
    method: 'POST',
    path: '/api/subjects/:kind/:id/check',
    scope: 'trigger',
    tag: 'operator',
    summary: 'Read a subject now, judge it, and end and undo what it mended',
    description: 'It begins nothing. A subject is read once a minute at most: a repeat has what was found then.',
    params: z.object({ kind: z.enum(SUBJECT_KINDS), id: text.describe('any name of the subject') }),
    body: z.strictObject({
      owner: text
        .optional()
        .describe('an e-mail address: refused, and nothing done, if the platform does not say that it is theirs'),
    }),
    answers: { 200: { description: 'what each rule says now, and what was done', schema: checked } },
    refusals: [404, 409, 502],
    needs: 'engine',
  }),
  resolveIntent: entry({
    id: 'resolveIntent',
    method: 'POST',
    path: '/api/intents/:id/resolve',
    scope: 'approve',
    tag: 'operator',
    summary: 'Resolve an intent that is in doubt, parked or failed',
    params: idParam('an intent'),
    body: z.strictObject({ as: z.enum(RESOLUTIONS), reason: givenText }),
    answers: { 200: { description: 'the intent as it is now', schema: intent } },
    refusals: [409, 502],
    needs: 'engine',
  }),
  releaseClaims: entry({
    id: 'releaseClaims',
    method: 'POST',
    path: '/api/claims/release',
    scope: 'approve',
    tag: 'operator',
    summary: 'Undo what is in force on a target, or plan the undo of all that a rule has in force',
    description:
      'Give `target` and `reason`, or `rule`. A target that rules of several owners claim is planned, too, and waits for a yes of each.',
    body: z
      .strictObject({
        target: targetField.optional(),
        rule: nameField.optional(),
        reason: givenText.optional(),
        reference: referenceField,
      })
      .refine(
        ({ target, rule }) => (target === undefined) !== (rule === undefined),
        'needs `target` or `rule`, one of the two',
      )
      .refine(({ target, reason }) => target === undefined || reason !== undefined, {
        path: ['reason'],
        message: 'is required with a target',
      }),
    answers: {
      200: {
        description: 'with a target: what was released; with a rule: the plan',
        schema: z.union([
          z.strictObject({ released: z.array(released) }),
          z.strictObject({ plan, matching: count, kept }),
        ]),
      },
    },
    refusals: [404, 409, 502],
    needs: 'engine',
  }),
};

const ofPerson = z.object({ person: text.describe('the e-mail address of an owner') });

export const PEOPLE = {
  linkPerson: entry({
    id: 'linkPerson',
    method: 'POST',
    path: '/api/people/:person/link',
    scope: 'approve',
    tag: 'operator',
    summary: "Make a link to a person's own page",
    description: 'About the newest match of their devices that is open: the link opens the page until that is over.',
    params: ofPerson,
    body: nothing,
    answers: {
      201: {
        description: 'the link, which is shown only here',
        schema: z.strictObject({ person: text, url: text, rule: text, since: time }).meta({ id: 'PersonLink' }),
      },
    },
    refusals: [404],
    needs: 'database',
  }),
  revokePersonLinks: entry({
    id: 'revokePersonLinks',
    method: 'POST',
    path: '/api/people/:person/revoke',
    scope: 'approve',
    tag: 'operator',
    summary: "Revoke every link to a person's own page that was made until now",
    params: z.object({
      person: text.describe('the e-mail address of an owner; `everybody`: all links, which get another secret'),
    }),
    body: why,
    answers: {
      200: { description: 'from when on links count', schema: z.strictObject({ person: text, before: time }) },
    },
    needs: 'database',
  }),
};

export const TOKENS = {
  listTokens: entry({
    id: 'listTokens',
    method: 'GET',
    path: '/api/tokens',
    scope: 'admin',
    tag: 'tokens',
    summary: 'List tokens',
    query: z.strictObject(pageFields),
    answers: {
      200: {
        description: 'a page of tokens without their text, the newest first',
        schema: pageSchema('tokens', token, { total }),
      },
    },
    needs: 'record',
  }),
  addToken: entry({
    id: 'addToken',
    method: 'POST',
    path: '/api/tokens',
    scope: 'admin',
    tag: 'tokens',
    summary: 'Make a token',
    body: z.strictObject({
      name: nameField,
      scope: z.enum(SCOPES),
      expires: z.string().min(1).max(100).optional().describe('a duration such as `90d`, or a date; without it, never'),
    }),
    answers: {
      201: {
        description: 'its properties, and its text, which is shown only here',
        schema: z.strictObject({ ...token.shape, token: text }).meta({ id: 'MadeToken' }),
      },
    },
    refusals: [409],
    needs: 'database',
  }),
  revokeToken: entry({
    id: 'revokeToken',
    method: 'POST',
    path: '/api/tokens/:name/revoke',
    scope: 'admin',
    tag: 'tokens',
    summary: 'Revoke a token',
    params: z.object({ name: text.describe('the name of a token') }),
    body: nothing,
    answers: { 200: { description: 'the token, which no longer opens anything', schema: token } },
    refusals: [409],
    needs: 'database',
  }),
};
