// report: a run in the store → its report. It only reads the store: a report shows what was recorded, whenever it is
// requested.
import type { StoredDecision } from '../domain/decision.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Intent } from '../domain/intent.ts';
import type { PageReader } from '../domain/page-reader.ts';
import { episodesOf, hasProgress } from '../domain/plan.ts';
import { differenceFrom } from '../domain/plan-content.ts';
import type { ReportReader } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import { ceilingsOf, limitsOf, trendOf } from './bounds.ts';
import { type Changes, changesOf } from './changes.ts';
import { runDecisionViews, summaryOf, wholeDecision } from './decision-view.ts';
import { effectsOf } from './effects.ts';
import { operatorView } from './operator-words.ts';
import { reportPlan } from './plan-view.ts';
import type { Report, RunDecision } from './report.ts';
import { ruleViews, runView, snapshotView } from './run-view.ts';
import { sentenceOf } from './sentence.ts';

/** The whole report of one run. Errors: AppError `store_failed`. */
export async function buildReport(reader: ReportReader, run: RunRecord): Promise<Report> {
  const stored = await reader.decisionsOfRun(run);
  return reportOf(reader, run, stored, stored);
}

/**
 * The same, of which few decisions will be shown: they have no facts and flips, and intents only where figures need them.
 * `wholeDecisions` completes those that are shown.
 */
export async function buildOutline(reader: ReportReader & PageReader, run: RunRecord): Promise<Report> {
  const stored = await reader.outlinesOfRun(run);
  return reportOf(
    reader,
    run,
    stored,
    stored.filter(({ reason }) => reason === 'in_doubt'),
  );
}

/** Decisions of an outline as the whole report has them. */
export async function wholeDecisions(
  reader: ReportReader & PageReader,
  outlines: readonly RunDecision[],
): Promise<RunDecision[]> {
  const stored = await reader.decisionsById(outlines.map(({ id }) => id));
  const intents = new Map((await intentsOf(reader, stored)).map((intent) => [intent.id, intent]));
  const byId = new Map(outlines.map((outline) => [outline.id, outline]));
  return stored.flatMap((decision) => {
    const outline = byId.get(decision.id);
    return outline ? [wholeDecision(outline, decision, intents.get(decision.intentId ?? ''))] : [];
  });
}

/** `lived`: the decisions whose intents are read. */
async function reportOf(
  reader: ReportReader,
  run: RunRecord,
  stored: readonly StoredDecision[],
  lived: readonly StoredDecision[],
): Promise<Report> {
  const intents = await intentsOf(reader, lived);
  const plan = run.planId === undefined ? undefined : await reader.plan(run.planId);
  const live = plan && hasProgress(plan) ? await reader.intents({ liveFor: episodesOf(plan) }) : [];
  const { changes, changeOf } = await readChanges(reader, run, stored);
  const decisions = runDecisionViews(run, stored, intents, plan, changeOf);
  const rules = ruleViews(run);
  const judged = rules.filter(({ judged }) => judged).map(({ id }) => id);
  return {
    sentence: sentenceOf(runView(run), decisions),
    run: runView(run),
    changes,
    effects: effectsOf(decisions),
    snapshot: snapshotView(run),
    plan: reportPlan(plan, live, run.findings?.planDigest ?? '', plan && (await differenceFrom(reader, plan))),
    rules,
    limits: limitsOf(run),
    ceilings: ceilingsOf(run),
    trend: trendOf(judged, await reader.matchesOfRuns(run.seq, TREND_RUNS_MAX)),
    decisions,
    summary: summaryOf(decisions),
    operator: operatorView(run, await reader.stop()),
  };
}

const TREND_RUNS_MAX = 30;

async function readChanges(
  reader: ReportReader,
  run: RunRecord,
  decisions: readonly StoredDecision[],
): Promise<Changes> {
  const since = run.findings && (await reader.comparedRun(run));
  const between = since && { fromSeq: since.seq, toSeq: run.seq, ...(run.scoped && { rules: run.rules }) };
  const ended = between ? await reader.decisionsEnded(between) : [];
  return changesOf(run, decisions, since, ended, (ids) => reader.endedDecisions(ids));
}

const INTENTS_AT_ONCE = 200;

async function intentsOf(reader: ReportReader, decisions: readonly StoredDecision[]): Promise<Intent[]> {
  const ids = [...new Set(decisions.flatMap(({ intentId }) => intentId ?? []))];
  const intents: Intent[] = [];
  for (let at = 0; at < ids.length; at += INTENTS_AT_ONCE) {
    intents.push(...(await reader.intents({ ids: ids.slice(at, at + INTENTS_AT_ONCE) })));
    await giveWay();
  }
  return intents;
}
