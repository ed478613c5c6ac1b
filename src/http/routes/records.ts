// http: what was decided, and what is in force: decisions, one subject's history, intents, claims, notifications,
// rules. In: requests with filters. Out: JSON lists, newest first, with `next` when there may be more.
import { z } from 'zod';
import { namedDecisions } from '../../domain/decision-filter.ts';
import { AppError } from '../../domain/errors.ts';
import { demandOne, resolveName } from '../../domain/resolve-name.ts';
import { type DecisionQuery, openClaims } from '../../domain/store.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { HttpDeps } from '../deps.ts';
import { limitField, nameField, readQuery } from '../input.ts';
import { type Ctx, json, param, type Route } from '../route.ts';
import { ruleView } from '../rule-view.ts';
import { runOf } from './runs.ts';

const decisionQuery = z.strictObject({
  /** Decisions that this run wrote: its id, or `latest`. */
  run: nameField.optional(),
  rule: nameField.optional(),
  subject: nameField.optional(),
  target: nameField.optional(),
  decision: z.enum(['act', 'hold', 'skip']).optional(),
  limit: limitField,
  /** The id of the last decision of the previous page. */
  before: nameField.optional(),
});
const pageQuery = decisionQuery.pick({ limit: true, before: true });
const intentQuery = z.strictObject({
  status: z.enum(['planned', 'sent', 'settled', 'withdrawn']).optional(),
  outcome: z.enum(['succeeded', 'failed', 'unknown', 'confirmed', 'parked', 'dry_run']).optional(),
  limit: limitField,
});
const claimQuery = z.strictObject({
  status: z.enum(['standing', 'orphaned', 'ended', 'overridden', 'released']).optional(),
  limit: limitField,
});

const notificationQuery = z.strictObject({
  status: z.enum(['waiting', 'given_up', 'delivered']).optional(),
  limit: limitField,
});

export function recordRoutes(deps: HttpDeps): Route[] {
  const { reader, views } = deps;
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, scope: 'read', handle });
  return [
    get('/api/decisions', (context) => listDecisions(deps, context)),
    get('/api/subjects/:kind/:id', (context) => describeSubject(deps, context)),
    get('/api/intents', async (context) => {
      const { status, outcome, limit } = readQuery(context, intentQuery);
      const filter = { ...(status && { status }), ...(outcome && { outcome }) };
      const { rows, total } = await reader.newestIntents(filter, limit);
      return json({ intents: rows.map(views.intent), total });
    }),
    get('/api/claims', async (context) => {
      const { status, limit } = readQuery(context, claimQuery);
      const { rows, total } = await reader.newestClaims(status === undefined ? {} : { status }, limit);
      return json({ claims: rows.map(views.claim), total });
    }),
    get('/api/notifications', async (context) => {
      const { status, limit } = readQuery(context, notificationQuery);
      const found = await reader.notifications(status ? [status] : ['waiting', 'given_up', 'delivered'], limit);
      const nowMs = deps.clock.nowMs();
      return json({ notifications: found.map((one) => views.notification(one, nowMs)) });
    }),
    get('/api/rules', () => json({ rules: deps.rules().map(ruleView) })),
    get('/api/rules/:id', (context) => {
      const id = param(context, 'id');
      const rule = deps.rules().find((one) => one.id === id);
      if (!rule) throw new AppError('not_found', `there is no rule \`${id}\``);
      return json(ruleView(rule));
    }),
  ];
}

async function listDecisions({ reader, views, rules }: HttpDeps, context: Ctx): Promise<Response> {
  const { run, rule, subject, target, decision, limit, before } = readQuery(context, decisionQuery);
  const loaded = rules().map(({ id }) => id);
  const named = await namedDecisions(reader, { rule, subject, target }, loaded);
  const query: DecisionQuery = { ...named.query, limit };
  if (run !== undefined) query.runSeq = (await runOf(reader, run)).seq;
  if (decision !== undefined) query.decision = decision;
  if (before !== undefined) query.before = before;
  const found = await reader.decisions(query);
  return json({ decisions: found.map(views.decision), next: nextOf(found, limit) });
}

/** A full page may have a next one: `before` is then its last row. */
function nextOf(rows: readonly { id: string }[], limit: number): string | null {
  return rows.length < limit ? null : (rows.at(-1)?.id ?? null);
}

/** Everything known about one subject, by any of its names. Errors: AppError `not_found` when nothing is known of it. */
async function describeSubject({ reader, views }: HttpDeps, context: Ctx): Promise<Response> {
  const kind = SUBJECT_KINDS.find((known) => known === param(context, 'kind'));
  const given = param(context, 'id');
  if (!kind) {
    const kinds = SUBJECT_KINDS.join(', ');
    throw new AppError('not_found', `there is no kind of subject \`${param(context, 'kind')}\`: ${kinds}`);
  }
  const { limit, before } = readQuery(context, pageQuery);
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
