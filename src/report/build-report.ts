// report: a run in the store → its report. It only reads the store: a report shows what was recorded, whenever it is
// requested.
import type { EvidenceReader } from '../domain/evidence.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Intent } from '../domain/intent.ts';
import type { DecisionOutline, PageReader } from '../domain/page-reader.ts';
import { hasProgress, type PlanOutline } from '../domain/plan.ts';
import { differenceFrom, liveIntentsOf } from '../domain/plan-content.ts';
import type { ReportReader } from '../domain/record-reader.ts';
import { isOfLook } from '../domain/run.ts';
import type { RunRecord } from '../domain/store.ts';
import { ceilingsOf, limitsOf, trendOf } from './bounds.ts';
import { type Changes, changesOf } from './changes.ts';
import { outlineViews, runDecisionViews, summaryOf, wholeDecision } from './decision-view.ts';
import { effectsOf } from './effects.ts';
import { evidenceView } from './evidence-words.ts';
import { operatorView } from './operator-words.ts';
import { reportPlan, reportPlanHead } from './plan-view.ts';
import type { Report, RunDecision } from './report.ts';
import { ruleViews, runView, snapshotView } from './run-view.ts';
import { sentenceOf } from './sentence.ts';

/** The whole report of one run. `evidence`: kept evidence of its rules. Errors: AppError `store_failed`. */
export async function buildReport(reader: ReportReader, run: RunRecord, evidence?: EvidenceReader): Promise<Report> {
  const stored = await reader.decisionsOfRun(run);
  const intents = await intentsOf(reader, stored);
  const plan = run.planId === undefined ? undefined : await reader.plan(run.planId);
  const live = plan ? await liveIntentsOf(reader, plan) : [];
  const { changes, changeOf } = await readChanges(reader, run, stored);
  return reportOf(reader, run, {
    changes,
    plan: reportPlan(plan, live, run.findings?.planDigest ?? '', plan && (await differenceFrom(reader, plan))),
    decisions: runDecisionViews(stored, { run, intents, plan, changeOf }),
    evidence,
  });
}

/**
 * The same figures, of which few decisions will be shown: they have no facts, flips and times, and intents only where figures need them;
 * the plan does not name what it holds. `wholeDecisions` completes the decisions that are shown.
 */
export async function buildOutline(
  reader: ReportReader & PageReader,
  run: RunRecord,
  evidence?: EvidenceReader,
): Promise<Report> {
  const outlines = await reader.outlinesOfRun(run);
  const intents = await intentsOf(
    reader,
    outlines.filter(({ reason }) => reason === 'in_doubt'),
  );
  const plan = run.planId === undefined ? undefined : await reader.planOutline(run.planId);
  const { changes, changeOf } = await readChanges(reader, run, outlines);
  return reportOf(reader, run, {
    changes,
    plan: { ...(await outlinedPlan(reader, run, plan)), held: [] },
    decisions: outlineViews(outlines, { run, intents, plan, changeOf }),
    evidence,
  });
}

async function outlinedPlan(reader: ReportReader & PageReader, run: RunRecord, plan: PlanOutline | undefined) {
  const progress = plan && hasProgress(plan) ? await reader.planProgress(plan) : null;
  const whole = plan?.supersededBy && (await reader.plan(plan.id));
  const difference = whole ? await differenceFrom(reader, whole) : null;
  return reportPlanHead(plan, progress, run.findings?.planDigest ?? '', difference);
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

async function reportOf(
  reader: ReportReader,
  run: RunRecord,
  {
    changes,
    plan,
    decisions,
    evidence,
  }: Pick<Report, 'changes' | 'plan' | 'decisions'> & { evidence: EvidenceReader | undefined },
): Promise<Report> {
  const rules = ruleViews(run).map((rule) => ({ ...rule, evidence: evidenceView(rule, evidence) }));
  const judged = rules.filter(({ judged }) => judged).map(({ id }) => id);
  return {
    sentence: sentenceOf(runView(run), decisions),
    run: runView(run),
    changes,
    effects: effectsOf(decisions),
    snapshot: snapshotView(run),
    plan,
    rules,
    limits: limitsOf(run),
    ceilings: ceilingsOf(run),
    trend: isOfLook(run) ? [] : trendOf(judged, await reader.matchesOfRuns(run.seq, TREND_RUNS_MAX)),
    decisions,
    summary: summaryOf(decisions),
    operator: operatorView(run, await reader.stop(), decisions.filter(isFrozen).length),
  };
}

function isFrozen({ decision, reason }: RunDecision): boolean {
  return decision === 'hold' && reason === 'frozen';
}

const TREND_RUNS_MAX = 30;

async function readChanges(
  reader: ReportReader,
  run: RunRecord,
  decisions: readonly DecisionOutline[],
): Promise<Changes> {
  const since = run.findings && !isOfLook(run) ? await reader.comparedRun(run) : undefined;
  const between = since && { fromSeq: since.seq, toSeq: run.seq, ...(run.scoped && { rules: run.rules }) };
  const ended = between ? await reader.decisionsEnded(between) : [];
  return changesOf(run, decisions, since, ended, (ids) => reader.endedDecisions(ids));
}

const INTENTS_AT_ONCE = 200;

async function intentsOf(reader: ReportReader, decisions: readonly DecisionOutline[]): Promise<Intent[]> {
  const ids = [...new Set(decisions.flatMap(({ intentId }) => intentId ?? []))];
  const intents: Intent[] = [];
  for (let at = 0; at < ids.length; at += INTENTS_AT_ONCE) {
    intents.push(...(await reader.intents({ ids: ids.slice(at, at + INTENTS_AT_ONCE) })));
    await giveWay();
  }
  return intents;
}
