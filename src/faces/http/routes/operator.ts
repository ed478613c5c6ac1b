// http: the operator commands: exemptions, stop and resume, accepting a reading, resolving intents, releasing claims.
// In: requests. Out: the resulting state. The token's name is recorded as the operator. The ports of deps do the work.
import { z } from 'zod';
import { isoTime } from '../../../base/time.ts';
import type { TriedRule, TriedSubject } from '../../../domain/decision.ts';
import { ruleNamed } from '../../../domain/decision-filter.ts';
import { AppError } from '../../../domain/errors.ts';
import { FORGEABLE_FIELDS } from '../../../domain/exemption.ts';
import { RESOLUTIONS } from '../../../domain/intent.ts';
import { tokenOf } from '../../../domain/operator.ts';
import { nextOf } from '../../../domain/store-ports.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps } from '../deps.ts';
import { STREAM_PATH } from '../mount.ts';
import {
  type Ctx,
  givenText,
  idParam,
  json,
  limitField,
  nameField,
  operation,
  pageFields,
  pageSchema,
  positionField,
  type Route,
  ruleView,
  total,
} from '../route.ts';
import { EventFeed, EventStream } from '../stream/event-feed.ts';
import { areOfRules, kindFilter, unknownKind } from '../stream/kind-filter.ts';

const why = z.strictObject({ reason: givenText });
const listQuery = z.strictObject({
  ...pageFields,
  inForce: z.enum(['true', 'false']).default('false').describe('`true`: only those in force'),
});
const exemptBody = z.strictObject({
  subject: z
    .strictObject({ kind: nameField.optional(), id: nameField })
    .optional()
    .describe('any name of it: an id, a serial number, an e-mail address, or the name of a service'),
  selector: z.strictObject({ field: nameField, value: nameField }).optional(),
  owner: givenText,
  reason: givenText,
  until: z.string().min(1).max(100).describe('a duration such as `30d`, or a date'),
  unseen: z.boolean().default(false).describe('the subject is meant, though no trusted snapshot has shown it'),
  release: z.boolean().default(false).describe('also undo what is in force on the protected targets'),
  acceptForgeable: z
    .boolean()
    .default(false)
    .describe(`required with a selector of ${FORGEABLE_FIELDS.join(', ')}: devices report these themselves`),
});
const confirmBody = z.strictObject({
  subject: nameField.optional().describe('the id or serial number of one that waits; all that wait when it is absent'),
  reason: givenText,
});
const resolveBody = z.strictObject({ as: z.enum(RESOLUTIONS), reason: givenText });
const releaseBody = z
  .strictObject({ target: nameField.optional(), rule: nameField.optional(), reason: givenText.optional() })
  .refine(
    ({ target, rule }) => (target === undefined) !== (rule === undefined),
    'needs `target` or `rule`, one of the two',
  )
  .refine(({ target, reason }) => target === undefined || reason !== undefined, {
    path: ['reason'],
    message: 'is required with a target',
  });
const acceptBody = z.strictObject({ source: nameField, reason: givenText });

const covered = z.strictObject({ kind: z.enum(SUBJECT_KINDS), count: z.int().min(0), examples: z.array(z.string()) });
const kept = z
  .array(z.strictObject({ action: z.string(), target: z.string(), rules: z.array(z.string()) }))
  .describe('targets that stay, since other rules claim them too');

export function operatorRoutes(deps: HttpDeps): Route[] {
  return [...exemptionRoutes(deps), ...switchRoutes(deps), ...doubtRoutes(deps)];
}

function exemptionRoutes({ reader, views, schemas, operator, clock }: HttpDeps): Route[] {
  const covers = covered.nullable().describe('null: it cannot be known');
  const joinedLater = z
    .strictObject({ count: z.int().min(0), examples: z.array(z.string()) })
    .describe('what it is about now and did not cover when it was made: it waits for a person');
  const listed = z.strictObject({ ...schemas.exemption.shape, covers, joinedLater }).meta({ id: 'ListedExemption' });
  const confirmed = z
    .strictObject({
      ...schemas.exemption.shape,
      confirmed: z.array(z.string()).describe('what it covers from now on, too'),
    })
    .meta({ id: 'ConfirmedExemption' });
  const added = z
    .strictObject({ ...schemas.exemption.shape, covers, released: z.array(schemas.released) })
    .meta({ id: 'AddedExemption' });
  return [
    operation({
      method: 'GET',
      path: '/api/exemptions',
      scope: 'read',
      operationId: 'listExemptions',
      tag: 'operator',
      summary: 'List exemptions',
      query: listQuery,
      answers: {
        200: {
          description: 'a page of exemptions, the newest first',
          schema: pageSchema('exemptions', listed, { total }),
        },
      },
      handle: async (_context, { query: { inForce, limit, before } }) => {
        const page = { inForce: inForce === 'true', limit, ...(before !== undefined && { before }) };
        return json(await views.exemptions(reader, page, clock.nowMs()));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions',
      scope: 'approve',
      operationId: 'addExemption',
      tag: 'operator',
      summary: 'Exempt a subject, or all that a selector names, until a time',
      description: 'Give `subject` or `selector`.',
      body: exemptBody,
      answers: { 201: { description: 'the exemption, what it covers now, and what was released', schema: added } },
      refusals: [404, 409],
      handle: async (context, { body }) => {
        const { exemption, covers, released } = await operator.exempt(body, context.var.caller.name);
        const shown = { ...views.exemption(exemption, clock.nowMs()), covers: covers ?? null };
        return json({ ...shown, released: released.map(views.released) }, 201);
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions/:id/end',
      scope: 'approve',
      operationId: 'endExemption',
      tag: 'operator',
      summary: 'End an exemption',
      params: idParam('an exemption'),
      body: why,
      answers: { 200: { description: 'the exemption, which has ended', schema: schemas.exemption } },
      refusals: [409],
      handle: async (context, { params, body }) => {
        const who = { by: context.var.caller.name, reason: body.reason };
        return json(views.exemption(await operator.endExemption(params.id, who), clock.nowMs()));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/exemptions/:id/confirm',
      scope: 'approve',
      operationId: 'confirmExemption',
      tag: 'operator',
      summary: 'Say yes to what joined an exemption later',
      params: idParam('an exemption'),
      body: confirmBody,
      answers: { 200: { description: 'the exemption, and what it covers from now on', schema: confirmed } },
      refusals: [409],
      handle: async (context, { params, body }) => {
        const who = { by: context.var.caller.name, ...body };
        const { exemption, confirmed } = await operator.confirmJoined(params.id, who);
        return json({ ...views.exemption(exemption, clock.nowMs()), confirmed });
      },
    }),
  ];
}

function switchRoutes({ views, schemas, operator }: HttpDeps): Route[] {
  return [
    operation({
      method: 'POST',
      path: '/api/stop',
      scope: 'approve',
      operationId: 'stop',
      tag: 'operator',
      summary: 'Stop everything: nothing is called from now on',
      body: why,
      answers: { 200: { description: 'the stop in force', schema: z.strictObject({ stopped: schemas.stop }) } },
      refusals: [409],
      handle: async (context, { body }) => {
        const stop = await operator.stop({ by: context.var.caller.name, reason: body.reason });
        return json({ stopped: views.stop(stop) });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/resume',
      scope: 'approve',
      operationId: 'resume',
      tag: 'operator',
      summary: 'Lift the stop',
      body: why,
      answers: {
        200: {
          description: 'the stop that was lifted',
          schema: z.strictObject({ stopped: z.null(), lifted: schemas.stop }),
        },
      },
      refusals: [409],
      handle: async (context, { body }) => {
        const lifted = await operator.resume({ by: context.var.caller.name, reason: body.reason });
        return json({ stopped: null, lifted: views.stop(lifted) });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/snapshot/accept',
      scope: 'approve',
      operationId: 'acceptSnapshot',
      tag: 'operator',
      summary: 'Accept a reading of a source that is not trusted',
      body: acceptBody,
      answers: { 200: { description: 'what was accepted, and for which reading', schema: schemas.acceptance } },
      refusals: [404, 409],
      handle: async (context, { body: { source, reason } }) =>
        json(views.acceptance(await operator.accept(source, { by: context.var.caller.name, reason }))),
    }),
  ];
}

function doubtRoutes({ views, schemas, operator }: HttpDeps): Route[] {
  const undone = z.strictObject({ released: z.array(schemas.released) });
  const planned = z.strictObject({ plan: schemas.plan, matching: z.int().min(0), kept });
  return [
    operation({
      method: 'POST',
      path: '/api/intents/:id/resolve',
      scope: 'approve',
      operationId: 'resolveIntent',
      tag: 'operator',
      summary: 'Resolve an intent that is in doubt, parked or failed',
      params: idParam('an intent'),
      body: resolveBody,
      answers: { 200: { description: 'the intent as it is now', schema: schemas.intent } },
      refusals: [409, 502],
      handle: async (context, { params, body: { as, reason } }) => {
        const who = { by: context.var.caller.name, reason };
        return json(views.intent(await operator.resolve(params.id, as, who)));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/claims/release',
      scope: 'approve',
      operationId: 'releaseClaims',
      tag: 'operator',
      summary: 'Undo what is in force on a target, or plan the undo of all that a rule has in force',
      body: releaseBody,
      answers: {
        200: {
          description: 'with a target: what was released; with a rule: the plan',
          schema: z.union([undone, planned]),
        },
      },
      description: 'Give `target` and `reason`, or `rule`.',
      refusals: [404, 409, 502],
      handle: async (context, { body: { target, rule, reason } }) => {
        const by = context.var.caller.name;
        if (rule !== undefined) {
          const { plan, ...others } = await operator.releaseRule(rule, by, reason);
          return json({ plan: views.plan(plan), ...others });
        }
        const released = await operator.release(target as string, { by, reason: reason as string });
        return json({ released: released.map(views.released) });
      },
    }),
  ];
}

// The audit as a stream of server-sent events.

const SCOPE = 'read';

const streamQuery = z.strictObject({
  after: positionField
    .optional()
    .describe('entries after this number first; without it, only those that are new from now on'),
  kind: z
    .string()
    .max(1_000)
    .superRefine((text, context) => {
      const message = unknownKind(text);
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
});
const filterQuery = streamQuery.refine(
  ({ kind, rule }) => rule === undefined || kind === undefined || areOfRules(kind),
  {
    path: ['kind'],
    message: 'must be `decision`, `outcome` or both beside `rule`: nothing else is of a rule',
  },
);
/** A client that connects again sends it with the address of the first time: it counts more than `after`. */
const streamHeaders = z.object({
  'Last-Event-ID': positionField.optional().describe('the id of the last event that came; it counts more than `after`'),
});

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // Proxies pass on each event at once.
  'X-Accel-Buffering': 'no',
  // At shutdown nothing waits for a connection that has no request any more.
  Connection: 'close',
};

export function streamRoutes(deps: HttpDeps): Route[] {
  const feed = new EventFeed(deps);
  return [
    operation({
      method: 'GET',
      path: STREAM_PATH,
      scope: SCOPE,
      isEndless: true,
      operationId: 'stream',
      tag: 'audit',
      summary: 'Receive audit entries as they are committed',
      description: 'The answer has no end: reconnect with `Last-Event-ID`. A session of the page opens it, too.',
      query: filterQuery,
      headers: streamHeaders,
      refusals: [404],
      answers: { 200: { description: 'server-sent events', types: ['text/event-stream'] } },
      handle: async (context, { query: { after, kind, rule }, headers: { 'Last-Event-ID': lastEventId } }) => {
        const { caller, callerNow, session } = context.var;
        const token = tokenOf(caller.name);
        const position = lastEventId ?? after;
        // Whoever connects again was right the first time.
        const rules = lastEventId === undefined && rule !== undefined ? await knownRules(deps, rule) : rule;
        const head = await feed.readHead();
        feed.demandPlace(token);
        const parts = {
          feed,
          after: position,
          filter: kindFilter(kind, rules),
          token,
          isAllowed: () => (session === undefined ? mayRead(callerNow) : deps.signIn.isOpen(session)),
          cut: () => context.env?.outgoing?.destroy(),
          clock: deps.clock,
          log: deps.log,
        };
        return new Response(new EventStream(parts, head).body, { headers: HEADERS });
      },
    }),
  ];
}

/** Errors: AppError `not_found`: a stream of a rule that is not there would stay silent for ever. */
async function knownRules({ reader, rules }: HttpDeps, asked: string): Promise<string> {
  const loaded = rules().map(({ id }) => id);
  const known: string[] = [];
  for (const name of asked.split(',')) known.push(await ruleNamed(reader, name, loaded));
  return known.join(',');
}

function mayRead(callerNow: Ctx['var']['callerNow']): boolean {
  try {
    demandScope(callerNow(), SCOPE);
    return true;
  } catch {
    return false;
  }
}

// The loaded rules, and trying out a changed one.

const ruleListQuery = z.strictObject({
  limit: limitField,
  after: nameField.optional().describe('`next` of the page before'),
});
const tryBody = z.strictObject({
  text: z
    .string()
    .min(1)
    .describe("the whole text of the file, as YAML or JSON by the end of the rule's own file name"),
});

export function ruleRoutes({ rules: all, ruleRefusal, tryRule, schemas }: HttpDeps): Route[] {
  const rules = () => loaded(all(), ruleRefusal());
  return [
    operation({
      method: 'GET',
      path: '/api/rules',
      scope: 'read',
      operationId: 'listRules',
      tag: 'rules',
      summary: 'List the loaded rules',
      query: ruleListQuery,
      answers: {
        200: {
          description: 'a page of rules by their ids, also of those that are off',
          schema: pageSchema('rules', schemas.rule, { total }),
        },
      },
      refusals: [409],
      handle: (_context, { query: { limit, after = '' } }) => {
        const sorted = [...rules()].sort((one, other) => (one.id < other.id ? -1 : 1));
        const page = sorted.filter(({ id }) => id > after).slice(0, limit);
        return json({ rules: page.map(ruleView), total: sorted.length, next: nextOf(page, limit) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/rules/:id',
      scope: 'read',
      operationId: 'getRule',
      tag: 'rules',
      summary: 'Read a rule',
      params: idParam('a rule'),
      answers: { 200: { description: 'the rule', schema: schemas.rule } },
      refusals: [409],
      handle: (_context, { params: { id } }) => {
        const rule = rules().find((one) => one.id === id);
        if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
        return json(ruleView(rule));
      },
    }),
    operation({
      method: 'POST',
      path: '/api/rules/:id/try',
      scope: 'trigger',
      operationId: 'tryRule',
      tag: 'rules',
      summary: 'Try a changed text of a rule over the present fleet',
      description: 'Nothing is sent, and nothing is kept.',
      params: idParam('a rule'),
      body: tryBody,
      answers: {
        200: { description: 'what it would match and do, beside the rule in force', schema: schemas.triedRule },
      },
      refusals: [409, 502],
      handle: async (context, { params, body }) =>
        json(triedView(await tryRule(params.id, body.text, context.var.caller.name))),
    }),
  ];
}

/** A folder that was refused and never had a good set is no empty list. Errors: AppError `rules`. */
function loaded<T>(all: readonly T[], refusal: readonly string[] | undefined): readonly T[] {
  if (all.length > 0 || refusal === undefined) return all;
  throw new AppError('rules', ['no rules are loaded, since the folder was refused:', ...refusal].join('\n'));
}

function triedView({ rule, asOf, added, gone, ...rest }: TriedRule) {
  return {
    rule: ruleView(rule),
    asOf: isoTime(asOf),
    ...rest,
    added: added.map(subjectView),
    gone: gone.map(subjectView),
  };
}

function subjectView({ serial, owners, ...rest }: TriedSubject) {
  return { ...rest, serial: serial === '' ? null : serial, owners: owners ?? null };
}
