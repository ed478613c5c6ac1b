// report: the shape of a run's report (design, section 7): the JSON document, which the other writers render. Times are
// ISO 8601 in UTC; integers over 2^53 are strings of digits; what does not apply is null, never left out.
import type { ActionName } from '../domain/action.ts';
import type { DecisionName, Outcome, ReasonCode } from '../domain/decision.ts';
import type { Effect } from '../domain/effect.ts';
import type { Fact } from '../domain/facts.ts';
import type { IntentStatus } from '../domain/intent.ts';
import type { Mode } from '../domain/mode.ts';
import type { PlanDifference, PlanProgress, PlanStatus } from '../domain/plan.ts';
import type { RunStatus, RunTrigger } from '../domain/run.ts';
import type { SourceReading, TrustReason } from '../domain/snapshot.ts';
import type { Source, SubjectKind } from '../domain/subjects.ts';
import type { Flip, VerdictName } from '../domain/verdict.ts';
import type { ReportEvidence } from './evidence-words.ts';
import type { ReportCeiling, ReportChange, ReportChanges, ReportEffect, ReportLimit, ReportTrend } from './figures.ts';

export interface Report {
  /** What happened, or would happen, in one sentence. */
  sentence: string;
  run: ReportRun;
  changes: ReportChanges;
  /** By rule, action and decision. */
  effects: ReportEffect[];
  snapshot: ReportSnapshot;
  plan: ReportPlan;
  rules: ReportRule[];
  /** Empty in runs of earlier versions. */
  limits: ReportLimit[];
  /** Of each action that the run had to do with; empty in runs of earlier versions. */
  ceilings: ReportCeiling[];
  /** Of the last 30 completed runs over all rules, this one included; empty in a run over the subjects of new events. */
  trend: ReportTrend[];
  decisions: RunDecision[];
  summary: ReportSummary;
  operator: ReportOperatorState;
}

/** The operator commands that the run saw. */
export interface ReportOperatorState {
  /** When the last run before it was completed, if so long ago that this one was a dry run. */
  silentSince: string | null;
  /** Everything was stopped when it began. */
  stopped: { at: string; by: string; reason: string } | null;
  /** Everything is stopped now, when the report is read. */
  stoppedNow: { at: string; by: string; reason: string } | null;
  /** The change window in force when it decided, its end, and how many actions wait for that. */
  changeWindow: ReportChangeWindow | null;
  /** Exemptions whose end comes soon. */
  exemptionsEnding: { id: string; about: string; owner: string; expiresAt: string }[];
  /** Exemptions that never stood in the way of anything. */
  exemptionsUnused: { id: string; about: string; owner: string; createdAt: string }[];
  /** Readings that an operator accepted; `refused` is why one did not apply. */
  accepted: { source: Source; by: string; reason: string; overrode: TrustReason[]; refused: string | null }[];
}

export interface ReportChangeWindow {
  window: string;
  endsAt: string;
  /** The end by the clock of its zone. */
  endsAtLocal: string;
  held: number;
}

export interface ReportRun {
  id: string;
  seq: number;
  mode: Mode;
  /** The highest mode that the daemon allowed. */
  daemonMode: Mode;
  trigger: RunTrigger;
  /** True: over chosen rules only; with the trigger `watch` over the subjects that new events named. */
  scoped: boolean;
  startedAt: string;
  finishedAt: string | null;
  status: RunStatus;
  /** Why it was aborted. */
  error: string | null;
  /** True when it ran against the embedded console. */
  demo: boolean;
  rules: string[];
  ruleSetHash: string;
  /** The folder that the rules were loaded from; null in runs of earlier versions. */
  rulesDir: string | null;
  /** True: over other rules than the active set. It sent nothing, and exists only in this report. */
  whatIf: boolean;
}

export interface ReportSource {
  state: SourceReading['state'];
  form: SourceReading['form'];
  /** Absent: version 1, and for services and events. */
  lists?: 'v2';
  count: number;
  startedAt: string;
  finishedAt: string;
  trusted: boolean;
  reasons: TrustReason[];
  unreadable: { count: number; examples: string[] };
  /** Names of secrets that were dropped before anything was kept. */
  dropped: string[];
}

export interface ReportSnapshot {
  /** Null when the run broke off before it had one; all counts are then 0. */
  id: string | null;
  at: string | null;
  devices: number;
  users: number;
  services: number;
  events: number;
  /** Every source that was read is trusted; one that this edition does not have (403) does not count. */
  trusted: boolean;
  reasons: TrustReason[];
  sources: Partial<Record<Source, ReportSource>>;
}

export interface ReportPlan {
  /** Null when nothing was planned. */
  id: string | null;
  digest: string;
  intents: number;
  /** Its current status, not that at the end of the run. */
  status: PlanStatus | null;
  createdAt: string | null;
  expiresAt: string | null;
  decidedAt: string | null;
  decidedBy: string | null;
  decidedReason: string | null;
  /** Who let it through the change windows, and why. */
  breakGlass: { at: string; by: string; reason: string } | null;
  /** Ids of the plans in the place of a superseded one, and how they differ from it. */
  supersededBy: string[] | null;
  difference: PlanDifference | null;
  /** Of a plan that was applied or interrupted: what was done, and what was not begun. */
  progress: PlanProgress | null;
  /** Intents that wait for an operator. */
  held: ReportHeldIntent[];
}

export interface ReportHeldIntent {
  action: ActionName;
  target: string;
  rules: string[];
  subjects: string[];
  reason: string;
  reasonText: string;
  effect: Effect;
}

/** A rule as the run judged it, and what is known of it now. */
export interface ReportRule extends JudgedRule {
  /** Null: there is none yet, or no history is kept. */
  evidence: ReportEvidence | null;
}

export interface JudgedRule {
  id: string;
  title: string;
  mode: Mode;
  hash: string;
  /** False when a source that it needs could not be read. */
  judged: boolean;
  match: number;
  no_match: number;
  unknown: number;
  error: number;
  /** By missing fact: how many subjects. */
  missing: { [fact: string]: number };
  /** By missing fact: what a person can do about it. */
  howTo: { [fact: string]: string };
  /** At most 100 subjects whose verdict was unknown or error, with the reason. */
  examples: ReportExample[];
}

export interface ReportExample {
  subject: string;
  /** These three are null where they are not known, and in runs of earlier versions. */
  name: string | null;
  serial: string | null;
  owners: readonly string[] | null;
  verdict: 'unknown' | 'error';
  reason: string;
}

/** `serial` and `owners`: of a device, as it was read when this was decided; null where they are not known. */
export interface ReportSubject {
  kind: SubjectKind;
  id: string;
  name: string;
  serial: string | null;
  owners: readonly string[] | null;
}

export interface ReportDecision {
  id: string;
  rule: string;
  ruleHash: string;
  subject: ReportSubject;
  verdict: VerdictName;
  /** When the rule began to match this subject. */
  since: string;
  decision: DecisionName;
  reason: ReasonCode;
  reasonText: string;
  action: ActionName;
  target: string;
  mode: Mode;
  cappedBy: 'run' | 'daemon' | null;
  outcome: Outcome | null;
  outcomeText: string | null;
  facts: { [path: string]: Fact };
  /** The smallest change that would have given another verdict when it was first decided. Null: none was found, or not looked for. */
  flip: Flip | null;
  effect: Effect;
  /** The run that first wrote it. */
  runId: string;
  runSeq: number;
  writtenAt: string;
  episodeId: string | null;
  intentId: string | null;
}

/** A decision within one run's report: with what only a run can add. */
export interface RunDecision extends ReportDecision {
  /** True when an earlier run wrote it, and it was still in force in this one. */
  unchanged: boolean;
  change: ReportChange;
  /** True when the run's plan has an intent for it: for what waits, and in a dry run also for what would be done. */
  inPlan: boolean;
  intent: ReportIntent | null;
}

export interface ReportIntent {
  id: string;
  status: IntentStatus;
  outcome: Outcome | null;
  attempts: number;
  createdAt: string;
  sentAt: string | null;
  settledAt: string | null;
}

/**
 * Counted in decisions. `succeeded` includes what a read-back confirmed; `unknown`, `parked` and refused ones (`failed`)
 * include those that an earlier run left, since they still wait.
 */
export interface ReportSummary {
  act: number;
  hold: number;
  skip: number;
  succeeded: number;
  failed: number;
  unknown: number;
  parked: number;
  dry_run: number;
  /** Decided to act, without an outcome (yet). */
  pending: number;
}
