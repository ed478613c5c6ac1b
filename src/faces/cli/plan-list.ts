// cli: `plans`: the plans that wait and those before, or one with all of its actions. Reading only, also while a daemon writes.

import { needsOf } from '../../domain/approvals.ts';
import { AppError } from '../../domain/errors.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import { differenceFrom, liveIntentsOf, PLAN_STATUSES, type Plan, type PlanStatus } from '../../domain/plan.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { composeReader } from '../../runtime/compose/reader.ts';
import { withReader } from '../../runtime/compose/run-reader.ts';
import { readDatabaseAccess } from '../../runtime/config/name-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { views } from '../report/index.ts';
import { plansText, planText } from '../report/plan-text.ts';
import { evidenceOf, remoteOf, withSettings } from './config-of.ts';
import { findDaemon } from './daemon-client.ts';
import {
  type CommonOptions,
  countOf,
  databaseOf,
  flagsOf,
  type Io,
  lineWidthOf,
  outputOf,
  widthOf,
  write,
} from './io.ts';
import { rulesOfSettings } from './operations.ts';

interface PlansOptions extends CommonOptions {
  status?: string;
  limit: string;
}

/** JSON is that of `GET /api/plans`, or of `GET /api/plans/PLAN`. */
export async function plansCommand(io: Io, planId: string | undefined, options: PlansOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const limit = countOf(options.limit, '--limit', 1_000);
  const status = statusOf(options.status);
  const remote = await remoteOf(io, options);
  if (remote) return (await import('./there.ts')).plansThere(remote, io, options, { planId, status });
  const database = databaseOf(io, options);
  const evidence = await evidenceOf(await withSettings(io, options), database);
  return withReader(composeReader(database), async (reader) => {
    const text =
      planId === undefined
        ? await listed(reader, status, limit, format, options, io, evidence)
        : await shown(io, reader, planId, format, options, evidence);
    write(io, options, text);
    return 0;
  });
}

function statusOf(text: string | undefined): PlanStatus | undefined {
  // As people say it.
  const status = PLAN_STATUSES.find((known) => known === (text === 'waiting' ? 'pending' : text));
  if (text !== undefined && status === undefined)
    throw new AppError('usage', `--status is \`${text}\`: expected ${PLAN_STATUSES.join(', ')}`);
  return status;
}

type Format = 'text' | 'json';

async function listed(
  reader: RecordReader,
  status: PlanStatus | undefined,
  limit: number,
  format: Format,
  options: CommonOptions,
  io: Io,
  evidence: EvidenceReader | undefined,
): Promise<string> {
  const plans = status === undefined ? await pendingFirst(reader, limit) : await reader.plans({ status }, limit);
  if (format === 'text') return plansText(plans, systemClock.nowMs(), lineWidthOf(options));
  const rows: object[] = [];
  const needs = needsHere(io, options);
  for (const plan of plans)
    rows.push(views.plan(plan, await liveIntentsOf(reader, plan), null, evidence, null, await needs(plan)));
  return JSON.stringify({ plans: rows }, null, 2);
}

async function pendingFirst(reader: RecordReader, limit: number): Promise<Plan[]> {
  const pending = await reader.plans({ status: 'pending' }, limit);
  const others = (await reader.plans({}, limit)).filter(({ status }) => status !== 'pending');
  return [...pending, ...others].slice(0, limit);
}

type Needs = (plan: Plan) => Promise<string | undefined>;

/** As the daemon says, which has the rules in force; without one, by the rules that approving here would use. Undefined where neither can be read. */
function needsHere(io: Io, options: CommonOptions): Needs {
  let found: Promise<Needs> | undefined;
  return async (plan) => {
    if (plan.status !== 'pending') return undefined;
    try {
      found ??= needsFrom(io, options);
      return await (await found)(plan);
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  };
}

async function needsFrom(io: Io, options: CommonOptions): Promise<Needs> {
  const daemon = await findDaemon(readDatabaseAccess(io.env, flagsOf(options)), options);
  if (!daemon) {
    const { rules } = await rulesOfSettings(io, options);
    return async (plan) => needsOf(plan, rules);
  }
  const remote = (await import('../../contract/client.ts')).remoteOperations(daemon);
  return async ({ id }) => (await remote.getPlan({ id })).needs ?? undefined;
}

async function shown(
  io: Io,
  reader: RecordReader,
  planId: string,
  format: Format,
  options: CommonOptions,
  evidence: EvidenceReader | undefined,
): Promise<string> {
  const plan = await reader.plan(planId);
  if (!plan) throw new AppError('not_found', `there is no plan \`${planId}\`: \`trustward plans\` lists them`);
  const live = await liveIntentsOf(reader, plan);
  const difference = await differenceFrom(reader, plan);
  const revisions = await reader.planRevisions(plan.id);
  const needed = await needsHere(io, options)(plan);
  if (format === 'json')
    return JSON.stringify(views.plan(plan, live, difference, evidence, revisions, needed), null, 2);
  const run = (await reader.run(plan.runId))?.seq;
  const context = { nowMs: systemClock.nowMs(), run, live, difference, evidence, revisions, needed };
  return planText(plan, context, widthOf(options));
}
