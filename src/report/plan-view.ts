// report: plans, intents and claims as readers see them: times as text, nothing left out.
import type { Claim } from '../domain/claim.ts';
import type { EvidenceReader } from '../domain/evidence.ts';
import { type Intent, timesRefused } from '../domain/intent.ts';
import {
  hasProgress,
  type Plan,
  type PlanDifference,
  type PlannedIntent,
  type PlanOutline,
  type PlanProgress,
  progressOf,
  releasedRule,
  sizeOf,
} from '../domain/plan.ts';
import { isoTime } from '../domain/time-text.ts';
import { breakGlassView } from './change-window-view.ts';
import { evidenceOfPlan } from './evidence-words.ts';
import { isoOrNull } from './iso-or-null.ts';
import type { ReportHeldIntent, ReportPlan } from './report.ts';

/** A run's plan. A run that planned nothing still has a digest. */
export function reportPlan(
  plan: Plan | undefined,
  live: readonly Intent[],
  digest: string,
  difference: PlanDifference | null = null,
): ReportPlan {
  const held = (plan?.intents ?? []).filter((intent) => intent.held).map(heldView);
  return { ...reportPlanHead(plan, progressView(plan, live), digest, difference), held };
}

/** The same without the intents that it holds. */
export function reportPlanHead(
  plan: PlanOutline | undefined,
  progress: PlanProgress | null,
  digest: string,
  difference: PlanDifference | null,
): Omit<ReportPlan, 'held'> {
  return {
    id: plan?.id ?? null,
    digest: plan?.digest ?? digest,
    intents: plan ? sizeOf(plan) : 0,
    status: plan?.status ?? null,
    createdAt: isoOrNull(plan?.createdAt),
    expiresAt: isoOrNull(plan?.expiresAt),
    decidedAt: isoOrNull(plan?.decidedAt),
    decidedBy: plan?.decidedBy ?? null,
    decidedReason: plan?.decidedReason ?? null,
    breakGlass: breakGlassView(plan?.breakGlass),
    supersededBy: idsOrNull(plan?.supersededBy),
    difference,
    progress,
  };
}

function heldView({ action, target, basis, reason, reasonText, effect }: PlannedIntent): ReportHeldIntent {
  return {
    action,
    target,
    rules: [...new Set(basis.map((item) => item.rule))],
    subjects: [...new Set(basis.map((item) => item.subjectId))],
    reason,
    reasonText,
    effect,
  };
}

function idsOrNull(ids: readonly string[] | undefined): string[] | null {
  return ids ? [...ids] : null;
}

/** Null unless it was applied or interrupted. */
function progressView(plan: Plan | undefined, live: readonly Intent[]): PlanProgress | null {
  return plan && hasProgress(plan) ? progressOf(plan, live) : null;
}

/**
 * A plan by itself, with all of its intents. `live`: the live intents of its episodes, if it has a progress. `difference`: of the plans in the
 * place of a superseded one; null in a list.
 */
export function planView(
  plan: Plan,
  live: readonly Intent[] = [],
  difference: PlanDifference | null = null,
  evidence?: EvidenceReader,
) {
  return {
    id: plan.id,
    digest: plan.digest,
    runId: plan.runId,
    mode: plan.mode,
    status: plan.status,
    createdAt: isoTime(plan.createdAt),
    expiresAt: isoTime(plan.expiresAt),
    decidedAt: isoOrNull(plan.decidedAt),
    decidedBy: plan.decidedBy ?? null,
    decidedReason: plan.decidedReason ?? null,
    breakGlass: breakGlassView(plan.breakGlass),
    /** The rule whose claims it undoes, if a person asked for that. */
    releases: releasedRule(plan) ?? null,
    supersededBy: idsOrNull(plan.supersededBy),
    difference,
    intents: plan.intents,
    /** How many intents it had, when they are no longer kept. */
    dropped: plan.dropped?.intents ?? null,
    progress: progressView(plan, live),
    /** Of its rules, as kept now. */
    evidence: evidenceOfPlan(plan, evidence),
  };
}

export function intentView(intent: Intent) {
  return {
    id: intent.id,
    runId: intent.runId,
    planId: intent.planId ?? null,
    action: intent.action,
    target: intent.target,
    settings: intent.settings,
    undo: intent.undo,
    mode: intent.mode,
    approved: intent.approved,
    status: intent.status,
    outcome: intent.outcome ?? null,
    note: intent.note ?? null,
    attempts: intent.attempts,
    refusals: timesRefused(intent),
    doubtRetries: intent.doubtRetries,
    createdAt: isoTime(intent.createdAt),
    sentAt: isoOrNull(intent.sentAt),
    settledAt: isoOrNull(intent.settledAt),
    basis: intent.basis,
    effect: intent.effect,
  };
}

export function claimView(claim: Claim) {
  return { ...claim, openedAt: isoTime(claim.openedAt), endedAt: isoOrNull(claim.endedAt) };
}
