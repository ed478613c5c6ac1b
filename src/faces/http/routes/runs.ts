// http: runs: triggering one, listing them, reading one and its report. In: requests. Out: runs as JSON, reports as
// JSON, Markdown, text, CSV or HTML.
import { z } from 'zod';
import { auditedTarget, demandKnownOwner, namedDecisions } from '../../../domain/decision-filter.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { demandOne, resolveName } from '../../../domain/identity.ts';
import { NOTIFICATION_STATUSES } from '../../../domain/notification.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../../domain/replay.ts';
import type { Run, RunRequest } from '../../../domain/run.ts';
import { type DecisionQuery, openClaims, type RunRecord } from '../../../domain/store.ts';
import { nextOf, type RecordReader } from '../../../domain/store-ports.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../../domain/subjects.ts';
import { TIMELINE_PARTS } from '../../../domain/why.ts';
import type { HttpDeps } from '../deps.ts';
import { sentAs } from '../mount.ts';
import { keyHeaders } from '../problem.ts';
import {
  type Ctx,
  idParam,
  json,
  limitField,
  nameField,
  nothing,
  operation,
  pageFields,
  pageSchema,
  positionField,
  type Route,
  sinceField,
  sinceOf,
  Turns,
  total,
  written,
} from '../route.ts';

const runBody = z.strictObject({
  mode: z.enum(['dry-run', 'approve', 'enforce']),
  rules: z.array(nameField).min(1).max(1_000).optional().describe('only these rules; without it, the whole active set'),
  wait: z.boolean().default(false).describe('answer when it has finished, not when it has begun'),
});
const listQuery = z.strictObject({ limit: limitField, before: positionField.optional() });
const reportQuery = z.strictObject({ format: z.enum(REPORT_FORMATS).default('json') });
const runParam = idParam('a run, or its number, or `latest`');

const CONTENT_TYPES: Record<ReportFormat, string> = {
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

const OTHER_TYPES = Object.values(CONTENT_TYPES).filter((type) => type !== CONTENT_TYPES.json);

function triggered(run: z.ZodType) {
  return z
    .strictObject({
      id: z.string(),
      status: z.enum(['running', 'completed', 'aborted']),
      location: z.string().describe('the path of the run'),
      run,
    })
    .meta({ id: 'TriggeredRun' });
}

export function runRoutes(deps: HttpDeps): Route[] {
  const { reader, views, schemas } = deps;
  const begun = { schema: triggered(schemas.run), headers: { Location: 'the path of the run' } };
  return [
    operation({
      method: 'POST',
      path: '/api/runs',
      scope: 'trigger',
      operationId: 'triggerRun',
      tag: 'runs',
      summary: 'Request a run',
      description: 'Runs go one at a time: it may begin after others. Equal dry runs that wait become one.',
      headers: keyHeaders,
      body: runBody,
      answers: {
        200: { ...begun, description: 'with `wait`: it has finished; an aborted one shows that in its status' },
        202: { ...begun, description: 'it has begun' },
      },
      refusals: [502],
      handle: (context, { body }) => triggerRun(deps, context, body),
    }),
    operation({
      method: 'GET',
      path: '/api/runs',
      scope: 'read',
      operationId: 'listRuns',
      tag: 'runs',
      summary: 'List runs',
      query: listQuery,
      answers: {
        200: {
          description: 'a page of runs, the newest first',
          schema: pageSchema('runs', schemas.run, { next: z.int().min(1) }),
        },
      },
      handle: async (_context, { query: { limit, before } }) => {
        const runs = await reader.runs(limit, before);
        return json({ runs: runs.map(views.run), next: runs.length < limit ? null : (runs.at(-1)?.seq ?? null) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/runs/:id',
      scope: 'read',
      operationId: 'getRun',
      tag: 'runs',
      summary: 'Read a run',
      params: runParam,
      answers: { 200: { description: 'the run', schema: schemas.run } },
      handle: async (_context, { params }) => json(views.run(await runOf(reader, params.id))),
    }),
    operation({
      method: 'GET',
      path: '/api/runs/:id/report',
      scope: 'read',
      operationId: 'getReport',
      tag: 'runs',
      summary: 'Read the report of a run',
      params: runParam,
      query: reportQuery,
      answers: { 200: { description: 'the report', schema: schemas.report, types: OTHER_TYPES } },
      handle: async (_context, { params, query }) => writtenReport(deps, await runOf(reader, params.id), query.format),
    }),
  ];
}

/** With the policy that an HTML file has in itself, so that it is the same wherever it is opened. */
export async function writtenReport(
  { views, reader }: Pick<HttpDeps, 'views' | 'reader'>,
  run: RunRecord,
  format: ReportFormat,
  headers: Record<string, string> = {},
): Promise<Response> {
  const policy = format === 'html' && {
    'Content-Security-Policy': `${await views.reportFilePolicy()}; frame-ancestors 'none'`,
  };
  return written(views.report(reader, run, format), {
    headers: { 'Content-Type': CONTENT_TYPES[format], ...policy, ...headers },
  });
}

/** 202 when it has begun, or 200 when it has finished; an aborted one shows that in its status. */
async function triggerRun(
  deps: HttpDeps,
  context: Ctx,
  { mode, rules, wait }: z.infer<typeof runBody>,
): Promise<Response> {
  const unique = rules && [...new Set(rules)];
  const { run, ended } = await beginRun(deps, context, { mode, rules: unique });
  const failure = wait ? await ended : undefined;
  const record = await runOf(deps.reader, run.id);
  // Its end could not be recorded: the waiting caller must not read that it is still under way.
  if (failure !== undefined && record.status === 'running') throw failure;
  return runAnswered(deps, context, run.id, wait);
}

/** A run that was requested, as it is now. `wait`: the answer was to wait for its end. */
export async function runAnswered(
  deps: Pick<HttpDeps, 'reader' | 'views'>,
  context: Ctx,
  id: string,
  wait: boolean,
): Promise<Response> {
  const record = await runOf(deps.reader, id);
  const location = sentAs(context, `/api/runs/${encodeURIComponent(id)}`);
  const body = { id, status: record.status, location, run: deps.views.run(record) };
  return json(body, wait ? 200 : 202, { Location: location });
}

/** `ended` resolves with the error that aborted it, which is logged and recorded in its row. Errors: those of `trigger`. */
export async function beginRun(
  { trigger, log }: Pick<HttpDeps, 'trigger' | 'log'>,
  context: Ctx,
  { mode, rules }: Pick<RunRequest, 'mode' | 'rules'>,
): Promise<{ run: Run; ended: Promise<unknown> }> {
  const { onceId, caller } = context.var;
  const by = caller.name;
  const request = { mode, rules, trigger: 'http', waitForDoubts: false, by } as const;
  const { run, finished } = await trigger(onceId === undefined ? request : { ...request, onceId });
  const aborted = (error: unknown) => {
    log.warn({ run: run.id, by }, `a run was aborted: ${lineOf(error)}`);
    return error;
  };
  return { run, ended: finished.then(() => undefined, aborted) };
}

const RECENT = 20;

/** `latest`: the last run that has ended, or otherwise the one under way. Errors: AppError `not_found`. */
export async function runOf(reader: Pick<RecordReader, 'run' | 'runs'>, id: string): Promise<RunRecord> {
  if (id === 'latest') {
    const recent = await reader.runs(RECENT);
    const latest = recent.find((run) => run.status !== 'running') ?? recent[0];
    if (latest) return latest;
    throw new AppError('not_found', 'there is no run yet: POST /api/runs makes one');
  }
  const run = await reader.run(id);
  if (!run) throw new AppError('not_found', `there is no run \`${id}\``);
  return run;
}

// What was decided, and what is in force: decisions, one subject's history, intents, claims, notifications.

const decisionQuery = z.strictObject({
  run: nameField.optional().describe('decisions that this run wrote: its id, or `latest`'),
  rule: nameField.optional(),
  subject: nameField.optional(),
  target: nameField.optional(),
  decision: z.enum(['act', 'hold', 'skip']).optional(),
  action: nameField.optional(),
  owner: nameField.optional().describe('the e-mail address of the user, or of the owner of the device'),
  since: sinceField,
  ...pageFields,
});
const pageQuery = z.strictObject(pageFields);
const intentQuery = z.strictObject({
  status: z.enum(['planned', 'sent', 'settled', 'withdrawn']).optional(),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run']).optional(),
  ...pageFields,
});
const claimQuery = z.strictObject({
  status: z
    .enum(['standing', 'orphaned', 'ended', 'overridden', 'released', 'open'])
    .optional()
    .describe('`open`: standing or orphaned'),
  ...pageFields,
});

const subjectParams = z.object({ kind: z.enum(SUBJECT_KINDS), id: z.string().describe('any name of the subject') });
const notificationQuery = z.strictObject({
  status: z.enum(NOTIFICATION_STATUSES).optional(),
  ...pageFields,
});

export function recordRoutes(deps: HttpDeps): Route[] {
  const { reader, views, schemas } = deps;
  const inForce = z.boolean();
  const described = pageSchema('decisions', z.strictObject({ ...schemas.decision.shape, inForce }), {
    subject: z.strictObject({ ...subjectParams.shape, name: z.string().nullable() }),
    intents: z.array(schemas.intent),
    claims: z.array(schemas.claim),
  });
  return [
    operation({
      method: 'GET',
      path: '/api/decisions',
      scope: 'read',
      operationId: 'listDecisions',
      tag: 'decisions',
      summary: 'List decisions',
      query: decisionQuery,
      answers: {
        200: {
          description: 'a page of decisions, the newest first',
          schema: pageSchema('decisions', schemas.decision),
        },
      },
      refusals: [404],
      handle: (_context, { query }) => listDecisions(deps, query),
    }),
    operation({
      method: 'GET',
      path: '/api/subjects/:kind/:id',
      scope: 'read',
      operationId: 'getSubject',
      tag: 'decisions',
      summary: 'Read what was decided about a subject, and what is in force on it',
      params: subjectParams,
      query: pageQuery,
      answers: {
        200: { description: 'the subject, with a page of its decisions, the newest first', schema: described },
      },
      handle: (_context, { params, query }) => describeSubject(deps, params, query),
    }),
    operation({
      method: 'GET',
      path: '/api/intents',
      scope: 'read',
      operationId: 'listIntents',
      tag: 'in force',
      summary: 'List intents',
      query: intentQuery,
      answers: {
        200: {
          description: 'a page of intents, the newest first',
          schema: pageSchema('intents', schemas.intent, { total }),
        },
      },
      handle: async (_context, { query: { status, outcome, limit, before } }) => {
        const filter = {
          ...(status && { status }),
          ...(outcome && { outcome }),
          ...(before !== undefined && { before }),
        };
        const { rows, total } = await reader.newestIntents(filter, limit);
        return json({ intents: rows.map(views.intent), total, next: nextOf(rows, limit) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/claims',
      scope: 'read',
      operationId: 'listClaims',
      tag: 'in force',
      summary: 'List claims',
      query: claimQuery,
      answers: {
        200: {
          description: 'a page of claims, the newest first',
          schema: pageSchema('claims', schemas.claim, { total }),
        },
      },
      handle: async (_context, { query: { status, limit, before } }) => {
        const filter = { ...(status && { status }), ...(before !== undefined && { before }) };
        return json(await views.claims(reader, { ...filter, limit }));
      },
    }),
    operation({
      method: 'GET',
      path: '/api/notifications',
      scope: 'read',
      operationId: 'listNotifications',
      tag: 'notifications',
      summary: 'List notifications',
      query: notificationQuery,
      answers: {
        200: {
          description: 'a page of notifications, the newest first',
          schema: pageSchema('notifications', schemas.notification),
        },
      },
      handle: async (_context, { query: { status, limit, before } }) => {
        const statuses = status ? [status] : NOTIFICATION_STATUSES;
        const found = await reader.notifications({ statuses, ...(before !== undefined && { before }) }, limit);
        const nowMs = deps.clock.nowMs();
        const notifications = found.map((one) => views.notification(one, nowMs));
        return json({ notifications, next: nextOf(found, limit) });
      },
    }),
  ];
}

async function listDecisions(
  { reader, views, clock, rules }: HttpDeps,
  asked: z.infer<typeof decisionQuery>,
): Promise<Response> {
  const { run, rule, subject, target, decision, action, owner, since, limit, before } = asked;
  const loaded = rules().map(({ id }) => id);
  const named = await namedDecisions(reader, { rule, subject, target }, loaded);
  const query: DecisionQuery = { ...named.query, limit, ...sinceOf(since, clock.nowMs()) };
  if (run !== undefined) query.runSeq = (await runOf(reader, run)).seq;
  if (decision !== undefined) query.decision = decision;
  if (action !== undefined) query.action = action;
  if (owner !== undefined) query.owner = owner;
  if (before !== undefined) query.before = before;
  const found = await reader.decisions(query);
  if (found.length === 0 && owner !== undefined) await demandKnownOwner(reader, owner);
  return json({ decisions: found.map(views.decision), next: nextOf(found, limit) });
}

/** Everything known about one subject, by any of its names. Errors: AppError `not_found` when nothing is known of it. */
async function describeSubject(
  { reader, views }: HttpDeps,
  { kind, id: given }: z.infer<typeof subjectParams>,
  { limit, before }: z.infer<typeof pageQuery>,
): Promise<Response> {
  const { id, name } = await subjectNamed(reader, kind, given);
  const found = await reader.decisions({ subjectId: id, limit, ...(before !== undefined && { before }) });
  const own = found.filter((decision) => decision.subject.kind === kind);
  const intentIds = [...new Set(own.flatMap((decision) => decision.intentId ?? []))];
  const intents = intentIds.length === 0 ? [] : await reader.intents({ ids: intentIds });
  const claims = await openClaims(reader, { subjectId: id });
  return json({
    subject: { kind, id, name: own[0]?.subjectName ?? name ?? null },
    decisions: own.map((decision) => ({ ...views.decision(decision), inForce: decision.endedSeq === undefined })),
    intents: intents.map(views.intent),
    claims: claims.map(views.claim),
    next: nextOf(found, limit),
  });
}

async function subjectNamed(
  reader: HttpDeps['reader'],
  kind: SubjectKind,
  given: string,
): Promise<{ id: string; name?: string }> {
  const decided = await reader.decisions({ subjectId: given, limit: 1 });
  if (decided.some(({ subject }) => subject.kind === kind)) return { id: given };
  return demandOne(await resolveName(reader, given, { kinds: [kind] }), given).subjects[0];
}

// The audit chain: reading its entries, and verifying it.

const auditQuery = z
  .strictObject({
    after: positionField.optional().describe('entries after this number, oldest first'),
    before: positionField.optional().describe('entries before this number, newest first'),
    kind: nameField.optional().describe('entries of this kind, such as `decision.made`'),
    target: nameField.optional().describe('entries that name this target, by any of its names'),
    actor: nameField.optional().describe('who did it, in whatever way, such as `ana`'),
    since: sinceField,
    limit: limitField,
  })
  .refine((query) => query.after === undefined || query.before === undefined, {
    message: 'has both `after` and `before`: give one of them',
  });

const count = z.int().min(0);
const head = z.strictObject({ seq: count, hash: z.string() }).describe('the last entry');
const verified = z
  .strictObject({
    ok: z.boolean(),
    entries: count.describe('entries that were verified, before the first bad one'),
    head: z.string().describe('the hash of the last of them'),
    bad: z.strictObject({ seq: count, checkpoint: count.optional(), reason: z.string() }).nullable(),
  })
  .meta({ id: 'Verified' });

export function auditRoutes({ reader, views, schemas, verifyAudit, clock }: HttpDeps): Route[] {
  return [
    operation({
      method: 'GET',
      path: '/api/audit',
      scope: 'read',
      operationId: 'listAudit',
      tag: 'audit',
      summary: 'List audit entries',
      query: auditQuery,
      answers: {
        200: {
          description: 'a page of entries, and the head of the chain',
          schema: pageSchema('entries', schemas.auditEntry, { head, next: count }),
        },
      },
      refusals: [404],
      handle: async (_context, { query }) => {
        const { after, before, kind, target, actor, since, limit } = query;
        const entries = await reader.audit({
          limit,
          ...(after !== undefined && { afterSeq: after }),
          ...(before !== undefined && { beforeSeq: before }),
          ...(kind !== undefined && { kind }),
          ...(target !== undefined && { target: await auditedTarget(reader, target) }),
          ...(actor !== undefined && { actor }),
          ...sinceOf(since, clock.nowMs()),
        });
        const next = entries.length < limit ? null : (entries.at(-1)?.seq ?? null);
        return json({ entries: entries.map(views.auditEntry), head: await reader.auditHead(), next });
      },
    }),
    operation({
      method: 'POST',
      path: '/api/audit/verify',
      scope: 'read',
      operationId: 'verifyAudit',
      tag: 'audit',
      summary: 'Verify the audit chain',
      body: nothing,
      answers: { 200: { description: 'whether the whole chain is intact', schema: verified } },
      handle: async () => {
        const { ok, entries, head, bad } = await verifyAudit();
        return json({ ok, entries, head, bad: bad ?? null });
      },
    }),
  ];
}

// What happened to a subject, and what changed of its facts, in one line of time.

const params = z.object({ kind: z.enum(SUBJECT_KINDS), id: z.string().describe('any name of the subject') });
const query = z.strictObject({
  limit: limitField,
  part: z.enum(TIMELINE_PARTS).default('all').describe('`facts`: what changed of its facts; `acts`: all but that'),
});

const BOUNDS = { what: 'readings of the history', underWayMax: 2, waitingMax: 8 };

export function timelineRoutes({ reader, views, schemas, timeline, history }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  const schema = z.strictObject({
    subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: z.string() }),
    timeline: z.array(schemas.history),
  });
  return [
    operation({
      method: 'GET',
      path: '/api/subjects/:kind/:id/timeline',
      scope: 'read',
      operationId: 'getTimeline',
      tag: 'decisions',
      summary: 'Read what happened to a subject, and what changed of its facts',
      description: 'Facts are in it where a history is kept. Changes of time stamps alone are left out.',
      params,
      query,
      answers: { 200: { description: 'the newest lines, the newest first', schema } },
      refusals: [404],
      handle: async (_context, { params: { kind, id }, query: { limit, part } }) => {
        const subject = demandOne(await resolveName(reader, id, { kinds: [kind] }), id).subjects[0];
        const read = async () => {
          if (timeline) return timeline(subject, { limit, part });
          return part === 'facts' ? [] : history(subject, limit);
        };
        const lines = await turns.take(read);
        return json({ subject: { kind: subject.kind, id: subject.id }, timeline: lines.map(views.history) });
      },
    }),
  ];
}

const BY_DEFAULT = '12h';
const summaryQuery = z.strictObject({ since: sinceField.default(BY_DEFAULT) });
const SUMMARY_BOUNDS = { what: 'summaries', underWayMax: 4, waitingMax: 8 };

export function summaryRoutes({ reader, views, schemas, clock }: HttpDeps): Route[] {
  const turns = new Turns(SUMMARY_BOUNDS);
  return [
    operation({
      method: 'GET',
      path: '/api/summary',
      scope: 'read',
      operationId: 'getSummary',
      tag: 'decisions',
      summary: 'Summarize what happened since a time',
      query: summaryQuery,
      answers: { 200: { description: 'the summary', schema: schemas.summary } },
      handle: async (_context, { query }) => {
        const nowMs = clock.nowMs();
        const { since = nowMs } = sinceOf(query.since, nowMs);
        return json(await turns.take(() => views.summary(reader, since, nowMs)));
      },
    }),
  ];
}
