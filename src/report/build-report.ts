// report: a run in the store → its report. It only reads the store: a report shows what was recorded, whenever it is
// requested.
import { giveWay } from '../domain/give-way.ts';
import type { Intent } from '../domain/intent.ts';
import { episodesOf, hasProgress } from '../domain/plan.ts';
import type { ReportReader } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import { runDecisionViews, summaryOf } from './decision-view.ts';
import { operatorView } from './operator-words.ts';
import { reportPlan } from './plan-view.ts';
import type { Report } from './report.ts';
import { ruleViews, runView, snapshotView } from './run-view.ts';

/** The whole report of one run. Errors: AppError `store_failed`. */
export async function buildReport(reader: ReportReader, run: RunRecord): Promise<Report> {
  const stored = await reader.decisionsOfRun(run);
  const ids = [...new Set(stored.flatMap(({ intentId }) => intentId ?? []))];
  const intents = await intentsOf(reader, ids);
  const plan = run.planId === undefined ? undefined : await reader.plan(run.planId);
  const live = plan && hasProgress(plan) ? await reader.intents({ liveFor: episodesOf(plan) }) : [];
  const decisions = runDecisionViews(run, stored, intents, plan);
  return {
    run: runView(run),
    snapshot: snapshotView(run),
    plan: reportPlan(plan, live, run.findings?.planDigest ?? ''),
    rules: ruleViews(run),
    decisions,
    summary: summaryOf(decisions),
    operator: operatorView(run, await reader.stop()),
  };
}

const INTENTS_AT_ONCE = 200;

async function intentsOf(reader: ReportReader, ids: readonly string[]): Promise<Intent[]> {
  const intents: Intent[] = [];
  for (let at = 0; at < ids.length; at += INTENTS_AT_ONCE) {
    intents.push(...(await reader.intents({ ids: ids.slice(at, at + INTENTS_AT_ONCE) })));
    await giveWay();
  }
  return intents;
}
