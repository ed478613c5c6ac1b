// operations: those that only read the record, in this process. In: a reader, a parsed input. Out: the answer as the table describes it.

import type { Asking } from '../../contract/operation.ts';
import { sinceOf } from '../../contract/operation.ts';
import { runPath } from '../../contract/plans.ts';
import type { OperationId, Output, Parsed } from '../../contract/table.ts';
import { needsOf } from '../../domain/approvals.ts';
import type { ChangeWindow } from '../../domain/change-window.ts';
import { auditedTarget, demandKnownOwner, namedDecisions, runNamed } from '../../domain/decision-filter.ts';
import { AppError } from '../../domain/errors.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { MemberReader } from '../../domain/exemption.ts';
import { demandOne, type IdentityReader, resolveName } from '../../domain/identity.ts';
import { NOTIFICATION_STATUSES } from '../../domain/notification.ts';
import { differenceFrom, liveIntentsOf, type Plan } from '../../domain/plan.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Rule } from '../../domain/rule.ts';
import { type DecisionQuery, openClaims, type RunRecord } from '../../domain/store.ts';
import {
  type AuditReader,
  nextOf,
  type PageReader,
  type RecordReader,
  type WorkReader,
} from '../../domain/store-ports.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { PackSources } from '../../engine/explain/evidence-pack.ts';
import { buildReport } from '../../faces/report/build-report.ts';
import { inboxView, readInbox } from '../../faces/report/inbox.ts';
import { views } from '../../faces/report/index.ts';

export interface Reading {
  reader: RecordReader & PageReader & IdentityReader & MemberReader & AuditReader & WorkReader;
  clock: Pick<Clock, 'nowMs'>;
  /** Kept evidence of rules; absent: none is kept. */
  evidence?: EvidenceReader | undefined;
  /** Change windows, in which nothing acts. */
  changeWindows?: readonly ChangeWindow[];
  /** The loaded ones; absent: those of the last run have a name. */
  rules?(): readonly Rule[];
  /** What evidence needs beside the record; absent: none is made here. */
  packing?(): Promise<PackSources>;
  /** An operation that takes a reference is refused without one. */
  requiresReference?: boolean;
  /** As runs are shown here: a path of another machine is of no use. */
  shownRun?(run: RunRecord): RunRecord;
}

export type Handlers<Deps, Id extends OperationId> = {
  readonly [One in Id]: (deps: Deps, input: Parsed<One>, asking: Asking) => Promise<Output<One>>;
};

export type ReadingId = Extract<
  OperationId,
  | 'listRuns'
  | 'getRun'
  | 'getReport'
  | 'listPlans'
  | 'getPlan'
  | 'listDecisions'
  | 'listSubjects'
  | 'getSubject'
  | 'listInbox'
  | 'listIntents'
  | 'listClaims'
  | 'listNotices'
  | 'listNotifications'
  | 'getSummary'
  | 'listAudit'
  | 'getEvidencePack'
  | 'listExemptions'
  | 'listRequests'
  | 'listTokens'
>;

export const READING: Handlers<Reading, ReadingId> = {
  listRuns: async (deps, { limit, before }) => {
    const runs = await deps.reader.runs(limit, before);
    const next = runs.length < limit ? null : (runs.at(-1)?.seq ?? null);
    return { runs: runs.map((run) => runView(deps, run)), next };
  },
  getRun: async (deps, { id }) => runView(deps, await runNamed(deps.reader, id)),
  getReport: async ({ reader, evidence, shownRun }, { id }) => {
    const run = await runNamed(reader, id);
    return buildReport(reader, shownRun?.(run) ?? run, evidence);
  },
  listPlans: async (deps, { status, limit, before }) => {
    const found = await deps.reader.plans(given({ status, before }), limit);
    const shown = async (plan: Plan) =>
      views.plan(
        ...([plan, await liveIntentsOf(deps.reader, plan), null, deps.evidence, null] as const),
        needsOf(plan, deps.rules?.() ?? []),
      );
    return { plans: await Promise.all(found.map(shown)), next: nextOf(found, limit) };
  },
  getPlan: async (deps, { id }) => {
    const plan = await deps.reader.plan(id);
    if (!plan) throw new AppError('not_found', `there is no plan \`${id}\``);
    return planShown(deps, plan);
  },
  listDecisions: async ({ reader, clock, rules }, asked) => {
    const { run, rule, subject, target, decision, action, owner, since, limit, before } = asked;
    const loaded = rules?.().map(({ id }) => id);
    const named = await namedDecisions(reader, { rule, subject, target }, loaded);
    const filter = given({ decision, action, owner, before });
    const query: DecisionQuery = { ...named.query, ...filter, limit, ...sinceOf(since, clock.nowMs()) };
    if (run !== undefined) query.runSeq = (await runNamed(reader, run)).seq;
    const found = await reader.decisions(query);
    if (found.length === 0 && owner !== undefined) await demandKnownOwner(reader, owner);
    return { decisions: found.map(views.decision), next: nextOf(found, limit) };
  },
  listSubjects: async ({ reader, rules }, { kind, q, rule, owner, sort, order, limit, after, ...facts }) => {
    const query = {
      kind,
      q: q?.trim() || undefined,
      facts,
      rule,
      owner,
      sort,
      isDescending: order === 'desc',
      limit,
      after,
    };
    const page = await reader.fleetPage(query);
    if (page.rows.length === 0 && rule !== undefined && after === undefined)
      await namedDecisions(
        reader,
        { rule },
        rules?.().map(({ id }) => id),
      );
    return views.fleet(page, kind);
  },
  getSubject: async ({ reader }, { kind, id: name, limit, before }) => {
    const subject = await subjectNamed(reader, kind, name);
    const found = await reader.decisions({ subjectId: subject.id, limit, ...given({ before }) });
    const own = found.filter((decision) => decision.subject.kind === kind);
    const intentIds = [...new Set(own.flatMap((decision) => decision.intentId ?? []))];
    const intents = intentIds.length === 0 ? [] : await reader.intents({ ids: intentIds });
    const claims = await openClaims(reader, { subjectId: subject.id });
    return {
      subject: { kind, id: subject.id, name: own[0]?.subjectName ?? subject.name ?? null },
      decisions: own.map((decision) => ({ ...views.decision(decision), inForce: decision.endedSeq === undefined })),
      intents: intents.map(views.intent),
      claims: claims.map(views.claim),
      next: nextOf(found, limit),
    };
  },
  listInbox: async ({ reader }, query) => {
    const { items, ...page } = await readInbox(reader, query);
    return { inbox: items.map(inboxView), ...page };
  },
  listIntents: async ({ reader }, { status, outcome, limit, before }) => {
    const { rows, total } = await reader.newestIntents(given({ status, outcome, before }), limit);
    return { intents: rows.map(views.intent), total, next: nextOf(rows, limit) };
  },
  listClaims: ({ reader }, { status, limit, before }) => views.claims(reader, { ...given({ status, before }), limit }),
  listNotices: async ({ reader }, { status, limit, before }) => {
    const asked = { ...given({ before }), ...(status && { statuses: [status] }) };
    const { rows, total } = await reader.notices(asked, limit);
    return { notices: rows.map(views.notice), total, next: nextOf(rows, limit) };
  },
  listNotifications: async ({ reader, clock }, { status, limit, before }) => {
    const statuses = status ? [status] : NOTIFICATION_STATUSES;
    const found = await reader.notifications({ statuses, ...given({ before }) }, limit);
    const nowMs = clock.nowMs();
    return { notifications: found.map((one) => views.notification(one, nowMs)), next: nextOf(found, limit) };
  },
  getSummary: async ({ reader, clock, changeWindows = [] }, asked) => {
    const nowMs = clock.nowMs();
    const { since = nowMs } = sinceOf(asked.since, nowMs);
    return views.summary(reader, since, nowMs, changeWindows);
  },
  listAudit: async ({ reader, clock }, { after, before, since, limit, target, ...filter }) => {
    const entries = await reader.audit({
      limit,
      ...given({ afterSeq: after, beforeSeq: before, ...filter }),
      ...(target !== undefined && { target: await auditedTarget(reader, target) }),
      ...sinceOf(since, clock.nowMs()),
    });
    const next = entries.length < limit ? null : (entries.at(-1)?.seq ?? null);
    return { entries: await views.auditEntries(reader, entries), head: await reader.auditHead(), next };
  },
  getEvidencePack: async ({ reader, clock, packing }, { of, format }) => {
    const sources = await packing?.();
    if (!sources) throw new AppError('not_found', 'evidence is made where the key of the database is');
    const { packEvidence, sealedText } = await import('../../engine/explain/evidence-pack.ts');
    const pack = await packEvidence(reader, sources, of, { at: clock.nowMs(), by: sources.by });
    const writer = format === 'html' ? await import('../../faces/report/html/evidence.tsx') : undefined;
    const page = await writer?.evidencePage(reader, pack);
    const { about, left, entries, rules } = pack;
    return { about, left, entries: entries.length, rules: rules.length, file: sealedText(pack, sources.sign, page) };
  },
  listExemptions: ({ reader, clock }, { inForce, limit, before }) =>
    views.exemptions(reader, { inForce: inForce === 'true', limit, ...given({ before }) }, clock.nowMs()),
  listRequests: async ({ reader, clock }, { limit, ...query }) => {
    const { rows, total } = await reader.exemptionRequests({ ...given(query), limit });
    const requests = await Promise.all(rows.map((one) => views.request(reader, one, clock.nowMs())));
    return { requests, total, next: nextOf(rows, limit) };
  },
  listTokens: async ({ reader, clock }, { limit, before }) => {
    const nowMs = clock.nowMs();
    const { rows, total } = await reader.tokenPage({ limit, ...given({ before }) });
    return { tokens: rows.map((token) => views.token(token, nowMs)), total, next: nextOf(rows, limit) };
  },
};

/** Without what is not given. */
function given<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

export function runView({ shownRun }: Pick<Reading, 'shownRun'>, run: RunRecord) {
  return views.run(shownRun?.(run) ?? run);
}

/** A run that was requested, as it is now. */
export function requestedRun(deps: Pick<Reading, 'shownRun'>, run: RunRecord): Output<'triggerRun'> {
  return { id: run.id, status: run.status, location: runPath(run.id), run: runView(deps, run) };
}

export async function planShown(
  { reader, evidence, rules }: Pick<Reading, 'reader' | 'evidence' | 'rules'>,
  plan: Plan,
) {
  const [live, difference] = [await liveIntentsOf(reader, plan), await differenceFrom(reader, plan)];
  const revisions = await reader.planRevisions(plan.id);
  return views.plan(plan, live, difference, evidence, revisions, needsOf(plan, rules?.() ?? []));
}

/** Errors: AppError `not_found` when nothing is known of it. */
async function subjectNamed(
  reader: Reading['reader'],
  kind: SubjectKind,
  name: string,
): Promise<{ id: string; name?: string }> {
  const decided = await reader.decisions({ subjectId: name, limit: 1 });
  if (decided.some(({ subject }) => subject.kind === kind)) return { id: name };
  return demandOne(await resolveName(reader, name, { kinds: [kind] }), name).subjects[0];
}
