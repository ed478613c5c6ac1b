// contract: what a person commands: exemptions, stop and resume, accepting a reading, resolving intents, releasing claims, tokens.
import { z } from 'zod';
import { SCOPES } from '../domain/endpoint-token.ts';
import { FORGEABLE_FIELDS } from '../domain/exemption.ts';
import { RESOLUTIONS } from '../domain/intent.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import { acceptance, exemption, intent, plan, released, stop, token } from './nouns.ts';
import {
  entry,
  givenText,
  idParam,
  nameField,
  nothing,
  pageFields,
  pageSchema,
  REASON,
  REFERENCE,
  referenceField,
  total,
} from './operation.ts';
import { count, text, texts } from './report.ts';

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
    command: {
      line: 'exempt add [kind] [name]',
      summary: 'leave one subject, or every subject of a selector, alone',
      options: [
        REASON,
        REFERENCE,
        {
          flag: '--selector <field=value>',
          text: 'instead of a name, such as SerialNumber=C02… or Groups=Staff',
        },
        { flag: '--owner <who>', text: 'who is responsible for it', isRequired: true },
        { flag: '--until <when>', text: 'a duration such as 30d, or a date (UTC)', isRequired: true },
        { flag: '--unseen', text: 'it is meant, though no trusted snapshot has shown it' },
        { flag: '--release', text: 'also undo what is in force on it' },
        {
          flag: '--accept-forgeable',
          text: 'accept a selector of what devices report themselves: their name, platform or model',
        },
      ],
      examples: [
        '# one device, by its serial number',
        'trustward exempt add C02MQHAHEA --owner "Ana Ruiz" --reason "on a ship until May" --until 30d',
        '# every device of a group of people',
        'trustward exempt add --selector Groups=Board --owner CISO --reason travel --until 2027-01-31',
      ],
    },
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
    command: {
      line: 'exempt end <id>',
      summary: 'end an exemption early',
      options: [REASON],
      examples: [
        '# by the beginning of the id in `trustward exempt list`',
        'trustward exempt end 01m7ysaj --reason "back in the office"',
      ],
    },
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
    command: {
      line: 'exempt confirm <id>',
      summary: 'say yes to what joined an exemption after it was made',
      options: [REASON, { flag: '--subject <id>', text: 'only this one of those that wait: its id or serial number' }],
      examples: [
        '# the new laptop of an exempt person',
        'trustward exempt confirm 01m7ysaj --subject C02NEW --reason "Ana got it today"',
      ],
    },
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
    command: {
      line: 'stop',
      summary: 'stop all calls, from the next one on',
      options: [REASON, REFERENCE],
      examples: ['# at once, also while a daemon runs', 'trustward stop --reason "too many devices are banned"'],
    },
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
    command: {
      line: 'resume',
      summary: 'act again after a stop',
      options: [REASON, REFERENCE],
      examples: ['# after a dry run has shown what comes', 'trustward resume --reason "the rule is corrected"'],
    },
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
    command: {
      line: 'snapshot accept <source>',
      summary: 'accept an untrusted reading as the new baseline (devices, …)',
      options: [REASON],
      examples: ['# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'],
    },
  }),
};

/** As a record has it, which may be long. */
const targetField = z.string().min(1).max(10_000);

const kept = z
  .array(z.strictObject({ action: text, target: text, rules: texts.readonly() }))
  .describe('targets that stay, since other rules claim them too');

export const DOUBTS = {
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
    command: {
      line: 'intents resolve <id>',
      summary: 'record what an intent in doubt or parked did (by id or its beginning), retry it, or give it up',
      options: [
        REASON,
        {
          flag: '--as <done|not-done|retry>',
          text: 'what it did, or retry; not-done gives up what failed',
          isRequired: true,
        },
      ],
      examples: [
        '# you looked, and it was done',
        'trustward intents resolve 01m7ysaj --as done --reason "seen banned in the console"',
        '# it was refused, and the next run may try again at once',
        'trustward intents resolve 01m7ysaj --as retry --reason "the key may write now"',
      ],
    },
  }),
  releaseClaims: entry({
    id: 'releaseClaims',
    method: 'POST',
    path: '/api/claims/release',
    scope: 'approve',
    tag: 'operator',
    summary: 'Undo what is in force on a target, or plan the undo of all that a rule has in force',
    description: 'Give `target` and `reason`, or `rule`.',
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
    command: {
      line: 'claims release [target]',
      summary: 'undo now what is in force on a target, or plan the undo of a rule',
      options: [
        { flag: '--rule <id>', text: 'instead of a target: a plan that undoes all that this rule has in force' },
        { flag: '--reason <text>', text: 'why, for the audit; required with a target' },
        REFERENCE,
      ],
      examples: [
        '# unban the device of a serial number',
        'trustward claims release C02MQHAHEA --reason "replaced by a new laptop"',
        '# plan the undo of all that a rule has in force',
        'trustward claims release --rule ban-compromised-device --reason "a wrong rule"',
      ],
    },
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
    command: {
      line: 'tokens add <name>',
      summary: 'make a token and print it to standard output, once',
      options: [
        {
          flag: '--scope <scope>',
          text: 'read, trigger, approve or admin; each includes those before it',
          isRequired: true,
        },
        { flag: '--expires <when>', text: 'a duration such as 90d, or a date (UTC); by default valid until revoked' },
      ],
      examples: [
        '# a dashboard that reads',
        'trustward tokens add dashboard --scope read --expires 90d',
        '# into a file, which only its owner reads',
        'trustward tokens add ci --scope trigger --out ci.token',
      ],
    },
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
    command: {
      line: 'tokens revoke <name>',
      summary: 'refuse a token from the next request on',
      examples: ['# a token that is no longer needed', 'trustward tokens revoke dashboard'],
    },
  }),
};
