// contract: what belongs to the endpoint itself and is no operation of the engine: its health, the stream, links to sign in, its organizations.
import { z } from 'zod';
import { AUDIT_KINDS, familyOf } from '../domain/audit-entry.ts';
import { EVENT_SCHEMAS, LIVE_EVENTS } from '../domain/live-event.ts';
import { entry, limitField, nameField, nothing, pageSchema, positionField, total } from './operation.ts';
import { text } from './report.ts';

const readiness = z
  .strictObject({
    status: z.enum(['ready', 'not ready']),
    demo: z.boolean(),
    checks: z.array(z.strictObject({ name: text, ok: z.boolean(), text })),
  })
  .meta({ id: 'Readiness' });

export const HEALTHZ = entry({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  scope: undefined,
  tag: 'health',
  summary: 'Show whether the process lives',
  answers: { 200: { description: 'it lives', schema: z.strictObject({ status: z.literal('ok') }) } },
});

export const READYZ = entry({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  scope: undefined,
  tag: 'health',
  summary: 'Show whether it can do its work',
  answers: {
    200: { description: 'every check is ok', schema: readiness },
    503: { description: 'a check is not ok', schema: readiness },
  },
});

export const METRICS_PATH = '/metrics';

export const METRICS = entry({
  id: 'getMetrics',
  method: 'GET',
  path: METRICS_PATH,
  scope: 'read',
  tag: 'health',
  summary: 'Read the metrics',
  description: 'Text for Prometheus. docs/metrics.md lists the names. What is not known is absent, not 0.',
  answers: { 200: { description: 'the metrics', types: ['text/plain'] } },
});

export const OPENAPI = entry({
  id: 'getOpenapi',
  method: 'GET',
  path: '/openapi.json',
  scope: undefined,
  tag: 'health',
  summary: 'Read this document',
  answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: text }) } },
});

const FAMILIES = [...new Set([...AUDIT_KINDS.map(familyOf), 'outcome', 'progress'])];
const KNOWN = new Set<string>([...FAMILIES, ...AUDIT_KINDS]);

/** What is wrong with the text; undefined: nothing. */
function unknownKind(text: string): string | undefined {
  const unknown = text.split(',').find((name) => !KNOWN.has(name));
  if (unknown === undefined) return undefined;
  const ofFamily = AUDIT_KINDS.filter((kind) => familyOf(kind) === familyOf(unknown));
  const allowed = ofFamily.length > 0 ? [...new Set([familyOf(unknown), ...ofFamily])] : FAMILIES;
  return `must be one or more of ${allowed.join(', ')}, separated by commas`;
}

/** Whether all of these kinds have rules. */
function areOfRules(kinds: string): boolean {
  return kinds.split(',').every((kind) => (LIVE_EVENTS as readonly string[]).includes(familyOf(kind)));
}

/** The one answer under `/api` that a session opens as well: a browser sends no header of ours with it. */
export const STREAM_PATH = '/api/stream';

export const STREAM = entry({
  id: 'stream',
  method: 'GET',
  path: STREAM_PATH,
  scope: 'read',
  isEndless: true,
  tag: 'audit',
  summary: 'Receive audit entries as they are committed',
  description: 'The answer has no end: reconnect with `Last-Event-ID`. A session of the page opens it, too.',
  query: z
    .strictObject({
      after: positionField
        .optional()
        .describe('entries after this number first; without it, only those that are new from now on'),
      kind: z
        .string()
        .max(1_000)
        .superRefine((given, context) => {
          const message = unknownKind(given);
          if (message !== undefined) context.addIssue({ code: 'custom', message });
        })
        .optional()
        .describe('families or kinds of entries, `outcome` or `progress`, separated by commas'),
      rule: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe('ids of rules, separated by commas: only their decisions and outcomes'),
      schema: z
        .enum(EVENT_SCHEMAS)
        .optional()
        .describe(
          'events as OCSF or in envelopes of CloudEvents; what the schema has no class for, and progress, is left out',
        ),
    })
    .refine(({ kind, rule }) => rule === undefined || kind === undefined || areOfRules(kind), {
      path: ['kind'],
      message: 'must be `decision`, `outcome` or both beside `rule`: nothing else is of a rule',
    }),
  /** A client that connects again sends it with the address of the first time: it counts more than `after`. */
  headers: z.object({
    'Last-Event-ID': positionField
      .optional()
      .describe('the id of the last event that came; it counts more than `after`'),
  }),
  refusals: [404],
  answers: { 200: { description: 'server-sent events', types: ['text/event-stream'] } },
});

export const SIGN_IN_LINK = entry({
  id: 'addSignInLink',
  method: 'POST',
  path: '/api/sign-in-links',
  scope: 'read',
  tag: 'tokens',
  summary: 'Make a link that signs in to the page once',
  description: 'Whoever opens it has the name and the scope of the token that made it.',
  body: nothing,
  answers: {
    201: {
      description: 'the link, and when it expires',
      schema: z.strictObject({ url: text, expiresAt: text }).meta({ id: 'SignInLink' }),
    },
  },
});

// A command on another machine signs in: open to anybody, since nothing is given before a person says yes at the provider. The endpoint is the
// provider's client, so that no secret of it is elsewhere.
const seconds = z.int().min(0);
const DEVICE_PATH = '/sign-in/device';
const device = { method: 'POST', scope: undefined, tag: 'tokens' } as const;

export const LOGIN_BEGIN = entry({
  ...device,
  id: 'beginLogin',
  path: DEVICE_PATH,
  summary: 'Begin to sign in a command on another machine',
  description: 'The device authorization grant of the identity provider (RFC 8628). `trustward login` does it.',
  body: nothing,
  refusals: [404, 429, 503],
  answers: {
    201: {
      description: 'what a person enters where, and what the command asks with whether they did',
      schema: z
        .strictObject({
          code: text.describe('a secret of the command'),
          userCode: text,
          verificationUri: text,
          completeUri: text.nullable().describe('the same page with the code in it'),
          expiresInSeconds: seconds,
          intervalSeconds: seconds,
        })
        .meta({ id: 'BegunLogin' }),
    },
  },
});

export const LOGIN_POLL = entry({
  ...device,
  id: 'pollLogin',
  path: `${DEVICE_PATH}/poll`,
  summary: 'Ask whether the person has said yes',
  body: z.strictObject({ code: z.string().max(2_100) }),
  refusals: [401, 403, 404, 429, 503],
  answers: {
    200: {
      description: 'a session: a bearer token, which no cookie is',
      schema: z.strictObject({ session: text.describe('shown this once'), person: text }).meta({ id: 'Login' }),
    },
    202: { description: 'nobody has yet', schema: z.strictObject({ intervalSeconds: seconds }) },
  },
});

export const LOGIN_END = entry({
  ...device,
  id: 'endLogin',
  path: `${DEVICE_PATH}/end`,
  summary: 'End the session of a command',
  body: z.strictObject({ session: z.string().max(512) }),
  refusals: [404],
  answers: { 200: { description: 'whether it was open', schema: z.strictObject({ ended: z.boolean() }) } },
});

/** The name of the refusal of a path that needs that of an organization. */
export const NO_ORGANIZATION = 'no-organization';

export const ORGANIZATIONS_PATH = '/api/orgs';

export const ORGANIZATIONS = entry({
  id: 'listOrganizations',
  method: 'GET',
  path: ORGANIZATIONS_PATH,
  scope: 'read',
  tag: 'organizations',
  summary: 'List the organizations of the token',
  description: 'A token of one organization lists that one. By id.',
  query: z.strictObject({
    limit: limitField,
    after: nameField.optional().describe('`next` of the page before'),
    q: z.string().max(200).optional().describe('a part of the id or the name'),
  }),
  answers: {
    200: {
      description: 'a page of organizations',
      schema: pageSchema(
        'organizations',
        z
          .strictObject({
            id: text.describe('as paths name it: `/api/orgs/ID/…`'),
            name: text,
            ok: z.boolean(),
            problem: z.union([text, z.null()]).describe('what is wrong with it; null: nothing'),
          })
          .meta({ id: 'Organization' }),
        { total },
      ),
    },
  },
});
