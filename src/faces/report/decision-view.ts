// report: one stored decision → what a reader sees of it.

import { isoTime } from '../../base/time.ts';
import type { RunShown } from '../../contract/nouns.ts';
import type {
  JudgedRule,
  ReportDecision,
  ReportIntent,
  ReportRun,
  ReportSnapshot,
  ReportSource,
  ReportSubject,
  ReportSummary,
  RunDecision,
} from '../../contract/report.ts';
import type { DecisionNow, StoredDecision } from '../../domain/decision.ts';
import type { Intent } from '../../domain/intent.ts';
import type { PlanOutline } from '../../domain/plan.ts';
import { isOfLook, type Run } from '../../domain/run.ts';
import type { SourceReading } from '../../domain/snapshot.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { DecisionOutline } from '../../domain/store-ports.ts';
import { SOURCES, type Source } from '../../domain/subjects.ts';
import { howToGet, type RuleTally } from '../../domain/verdict.ts';
import type { Changes } from './changes.ts';

export function isoOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : isoTime(epochMs);
}

export function decisionView(decision: DecisionNow): ReportDecision {
  return {
    id: decision.id,
    rule: decision.rule,
    ruleHash: decision.ruleHash,
    subject: subjectView(decision),
    verdict: decision.verdict,
    since: isoTime(decision.since),
    decision: decision.decision,
    reason: decision.reason,
    reasonText: decision.reasonText,
    action: decision.action,
    target: decision.target,
    mode: decision.mode,
    cappedBy: decision.cappedBy ?? null,
    outcome: decision.outcome ?? null,
    outcomeText: decision.outcomeText ?? null,
    facts: decision.facts,
    flip: decision.flip ?? null,
    effect: decision.effect,
    runId: decision.runId,
    runSeq: decision.runSeq,
    writtenAt: isoTime(decision.writtenAt),
    episodeId: decision.episodeId ?? null,
    intentId: decision.intentId ?? null,
    ...(decision.isRejected && { isRejected: true }),
  };
}

/** A device's serial number and owners are among what its action affects. */
function subjectView({ subject: { kind, id }, subjectName, effect }: DecisionOutline): ReportSubject {
  const device = kind === 'device' ? effect.devices.find((one) => one.id === id) : undefined;
  return { kind, id, name: subjectName, serial: device?.serial ?? null, owners: device?.owners ?? null };
}

/** What the decisions of one run have in common. */
interface RunContext {
  run: RunRecord;
  intents: readonly Intent[];
  plan: PlanOutline | undefined;
  changeOf: Changes['changeOf'];
}

type OfRun = Pick<RunDecision, 'unchanged' | 'change' | 'inPlan' | 'intent'>;

/** The decisions in force in a run, each with its intent and whether it is in the run's plan. */
export function runDecisionViews(decisions: readonly StoredDecision[], context: RunContext): RunDecision[] {
  const ofRun = ofRunIn(context);
  return decisions.map((decision) => ({ ...decisionView(decision), ...ofRun(decision) }));
}

/** The same without what only rows show: of ten thousand, few are shown, and `wholeDecision` completes those. */
export function outlineViews(outlines: readonly DecisionOutline[], context: RunContext): RunDecision[] {
  const ofRun = ofRunIn(context);
  // Field by field: copying each into another object takes four times as long.
  return outlines.map((outline) => {
    const { unchanged, change, inPlan, intent } = ofRun(outline);
    return {
      id: outline.id,
      rule: outline.rule,
      ruleHash: outline.ruleHash,
      subject: subjectView(outline),
      verdict: outline.verdict,
      since: '',
      decision: outline.decision,
      reason: outline.reason,
      reasonText: outline.reasonText,
      action: outline.action,
      target: outline.target,
      mode: outline.mode,
      cappedBy: outline.cappedBy ?? null,
      outcome: outline.outcome ?? null,
      outcomeText: null,
      facts: {},
      flip: null,
      effect: outline.effect,
      runId: '',
      runSeq: outline.runSeq,
      writtenAt: '',
      episodeId: null,
      intentId: outline.intentId ?? null,
      unchanged,
      change,
      inPlan,
      intent,
    };
  });
}

function ofRunIn({ run, intents, plan, changeOf }: RunContext): (decision: DecisionOutline) => OfRun {
  const byId = new Map(intents.map((intent) => [intent.id, intent]));
  const planned = plannedKeys(plan);
  return (decision) => {
    const intent = decision.intentId === undefined ? undefined : byId.get(decision.intentId);
    return {
      unchanged: decision.runSeq !== run.seq,
      change: changeOf(decision.id),
      inPlan: planned.has(keyOf(plannedAs(decision))),
      intent: intent ? intentLife(intent) : null,
    };
  };
}

/** A decision of an outline, with all that was stored of it. */
export function wholeDecision(outline: RunDecision, decision: StoredDecision, intent: Intent | undefined): RunDecision {
  return { ...outline, ...decisionView(decision), intent: intent ? intentLife(intent) : null };
}

/**
 * A plan holds what waits for an operator; a dry run's plan also what a live run would do by itself. A plan kept from
 * an earlier run names that run's decisions, so its content is matched by rule, action and target.
 */
function plannedKeys(plan: PlanOutline | undefined): Set<string> {
  const intents = plan?.intents ?? [];
  return new Set(
    intents.flatMap(({ action, target, basis }) =>
      basis.map(({ rule, subjectId }) => keyOf({ action, target, rule, subjectId })),
    ),
  );
}

function plannedAs({ action, target, rule, subject }: DecisionOutline): PlannedKey {
  return { action, target, rule, subjectId: subject.id };
}

interface PlannedKey {
  action: string;
  target: string;
  rule: string;
  subjectId: string;
}

function keyOf({ action, target, rule, subjectId }: PlannedKey): string {
  return `${action}\u0000${target}\u0000${rule}\u0000${subjectId}`;
}

function intentLife({ id, status, outcome, attempts, createdAt, sentAt, settledAt }: Intent): ReportIntent {
  return {
    id,
    status,
    outcome: outcome ?? null,
    attempts,
    createdAt: isoTime(createdAt),
    sentAt: isoOrNull(sentAt),
    settledAt: isoOrNull(settledAt),
  };
}

export function summaryOf(decisions: readonly RunDecision[]): ReportSummary {
  const summary: ReportSummary = {
    act: 0,
    hold: 0,
    skip: 0,
    succeeded: 0,
    failed: 0,
    unknown: 0,
    parked: 0,
    dry_run: 0,
    pending: 0,
  };
  for (const decision of decisions) {
    summary[decision.decision] += 1;
    const counted = countedAs(decision);
    if (counted) summary[counted] += 1;
  }
  return summary;
}

function countedAs({ decision, reason, outcome, intent }: RunDecision): keyof ReportSummary | undefined {
  if (reason === 'in_doubt') return intent?.outcome === 'parked' ? 'parked' : 'unknown';
  if (reason === 'refused') return 'failed';
  if (decision !== 'act') return undefined;
  if (outcome === null) return 'pending';
  return outcome === 'confirmed' ? 'succeeded' : outcome;
}

// A stored run → its part of a report: the run, its snapshot and its rules.

export function runView(run: Run): ReportRun {
  return {
    id: run.id,
    seq: run.seq,
    mode: run.mode,
    daemonMode: run.daemonMode,
    trigger: run.trigger,
    scoped: run.scoped ?? false,
    startedAt: isoTime(run.startedAt),
    finishedAt: isoOrNull(run.finishedAt),
    status: run.status,
    error: run.error ?? null,
    demo: run.demo,
    rules: run.rules,
    ruleSetHash: run.ruleSetHash,
    rulesDir: run.rulesDir ?? null,
    whatIf: run.whatIf ?? false,
  };
}

/** A run by itself: with its counts, and without its decisions. */
export function runSummaryView(run: RunRecord): RunShown {
  return { ...runView(run), snapshot: snapshotView(run), rulesJudged: ruleViews(run), planId: run.planId ?? null };
}

const NO_SNAPSHOT: ReportSnapshot = {
  id: null,
  at: null,
  devices: 0,
  users: 0,
  services: 0,
  events: 0,
  trusted: false,
  reasons: [],
  sources: {},
};

export function snapshotView(run: RunRecord): ReportSnapshot {
  const snapshot = run.findings?.snapshot;
  if (!snapshot) return NO_SNAPSHOT;
  const readings = SOURCES.map((source) => snapshot.sources[source]);
  const all = [...readings, ...(snapshot.given ?? [])];
  // What a look did not read was named by no event: a rule may still need it.
  const isShown = ({ state }: SourceReading) => state !== 'skipped' || !isOfLook(run);
  const count = (source: Source) => snapshot.sources[source].count;
  return {
    id: snapshot.id,
    at: isoTime(snapshot.nowMs),
    devices: count('devices'),
    users: count('users'),
    services: count('services'),
    events: count('events'),
    trusted: all.every(({ state, trusted }) => trusted || state === 'skipped' || state === 'unavailable'),
    reasons: all.flatMap((reading) => reading.reasons),
    sources: Object.fromEntries(all.filter(isShown).map((reading) => [reading.source, sourceView(reading)])),
  };
}

function sourceView(reading: SourceReading): ReportSource {
  const { state, form, lists, count, trusted, reasons, unreadable, dropped } = reading;
  return {
    state,
    form,
    ...(lists && { lists }),
    count,
    startedAt: isoTime(reading.startedAt),
    finishedAt: isoTime(reading.finishedAt),
    trusted,
    reasons,
    unreadable,
    dropped,
  };
}

export function ruleViews(run: RunRecord): JudgedRule[] {
  const readings = run.findings?.snapshot.sources;
  const unavailable = SOURCES.filter((source) => readings?.[source].state === 'unavailable');
  return (run.findings?.tallies ?? []).map((tally) => ({
    id: tally.rule,
    title: tally.title,
    mode: tally.mode,
    hash: tally.hash,
    judged: tally.judged,
    match: tally.match,
    no_match: tally.no_match,
    unknown: tally.unknown,
    error: tally.error,
    missing: tally.missing,
    howTo: howToOf(tally, unavailable),
    ...(tally.almostValues && { almostValues: tally.almostValues }),
    examples: tally.examples.map(({ subject, name, serial, owners, verdict, reason }) => ({
      subject,
      name: name ?? null,
      serial: serial ?? null,
      owners: owners ?? null,
      verdict,
      reason,
    })),
  }));
}

function howToOf({ missing, whys = {} }: RuleTally, unavailable: readonly Source[]): { [fact: string]: string } {
  const ways = Object.keys(missing).map((fact) => [fact, howToGet({ fact, whys: whys[fact] ?? [], unavailable })]);
  return Object.fromEntries(ways);
}
