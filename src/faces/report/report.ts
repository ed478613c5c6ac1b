// report: the shape of a run's report (design, section 7): the JSON document, which the other writers render. Times are
// ISO 8601 in UTC; integers over 2^53 are strings of digits; what does not apply is null, never left out.

import { isoTime } from '../../base/time.ts';
import type { ActionName, CeilingWindow, Effect } from '../../domain/action.ts';
import { type DecisionName, keyOfDecision, type Outcome, type ReasonCode } from '../../domain/decision.ts';
import type { Fact } from '../../domain/facts.ts';
import type { IntentStatus } from '../../domain/intent.ts';
import type { PlanDifference, PlanProgress, PlanStatus } from '../../domain/plan.ts';
import type { Mode } from '../../domain/rule.ts';
import type { ComparedRun, Run, RunStatus, RunTrigger } from '../../domain/run.ts';
import type { SourceReading, TrustReason } from '../../domain/snapshot.ts';
import type { DecisionOutline, EndedDecision, EndedKey } from '../../domain/store-ports.ts';
import type { Source, SubjectKind } from '../../domain/subjects.ts';
import type { Flip, VerdictName } from '../../domain/verdict.ts';
import type { ReportEvidence } from './evidence-words.ts';

// The figures of a run's report beside its decisions: what changed, what is affected, limits, ceilings and the trend.

/**
 * What differs from the last completed run of the same kind: over all rules, and a dry run like this one or a live one. A run over
 * chosen rules compares only these.
 */
interface ReportChanges {
  /** Null when there is none: then all decisions of this run are new, except those that an earlier run wrote. */
  since: { run: string; seq: number; at: string } | null;
  new: number;
  /** No longer decided. */
  gone: number;
  /** About the same rule, subject, action and target, and decided otherwise. */
  changed: number;
  still: number;
  /** At most 100. */
  goneExamples: ReportGone[];
}

type ReportChange = 'new' | 'changed' | 'still';

export interface ReportGone {
  rule: string;
  subject: { kind: SubjectKind; id: string; name: string };
  action: ActionName;
  target: string;
  decision: DecisionName;
  /** Why it ended; null where that is not known. */
  why: string | null;
}

/** What a group of decisions affects. Each device and each person counts once, however many decisions are about them. */
export interface ReportEffect {
  rule: string;
  action: ActionName;
  decision: DecisionName;
  decisions: number;
  devices: number;
  /** Owners of the devices, and users that it is about. */
  people: number;
  /** Devices whose owners are not known. */
  ownersUnknown: number;
}

/** What a rule may take at once, and in a day. */
export interface ReportLimit {
  rule: string;
  /** Subjects that match. */
  matches: number;
  /** Targets that the limit was compared with: without those that were skipped before. */
  targets: number;
  max: number;
  percent: number;
  /** The lesser of `max` and `percent` of the subjects. */
  allowed: number;
  crossed: boolean;
  /** Subjects that it newly matched or acted on within 24 hours, and how many it may; null: not known. */
  inDay: { subjects: number; allowed: number; crossed: boolean } | null;
}

/** How often an action may be attempted. */
export interface ReportCeiling {
  action: ActionName;
  window: CeilingWindow;
  /** In the run: what it acts on, or would act on. In 24 hours: that, and the attempts before. */
  used: number;
  allowed: number;
}

export interface ReportTrend {
  rule: string;
  /** The oldest first; without runs that did not judge the rule. */
  counts: { seq: number; at: string; match: number }[];
}

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

interface ReportChangeWindow {
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
interface ReportRule extends JudgedRule {
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

interface ReportExample {
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

// What differs from the run before.

const EXAMPLES_MAX = 100;

export interface Changes {
  changes: ReportChanges;
  /** By the id of a decision of this run. */
  changeOf(id: string): ReportChange;
}

/**
 * `ended`: in force in the run before, and no longer in this one. `wholeOf`: those of some ids, with their content: it is asked only for
 * what is compared or shown.
 */
export async function changesOf(
  run: Pick<Run, 'seq' | 'rules' | 'scoped'>,
  decisions: readonly DecisionOutline[],
  since: ComparedRun | undefined,
  ended: readonly EndedKey[],
  wholeOf: (ids: readonly string[]) => Promise<EndedDecision[]>,
): Promise<Changes> {
  const targets = new Set(ended.map(({ target }) => target));
  /** By what it is about: the newest run that decided it. */
  const now = new Map<string, number>();
  for (const one of decisions) {
    if (targets.has(one.target)) now.set(keyOfDecision(one), Math.max(one.runSeq, now.get(keyOfDecision(one)) ?? 0));
  }
  const gone = ended.filter((one) => !now.has(keyOfDecision(one)));
  const again = ended.filter((one) => (now.get(keyOfDecision(one)) ?? 0) > (since?.seq ?? 0));
  const whole = await wholeOf([...again, ...gone.slice(0, EXAMPLES_MAX)].map(({ id }) => id));
  const before = new Map(whole.map((decision) => [keyOfDecision(decision), decision]));
  const counts: Record<ReportChange, number> = { new: 0, changed: 0, still: 0 };
  const byId = new Map<string, ReportChange>();
  for (const decision of decisions) {
    const change = changeOf(decision, run, since, before);
    byId.set(decision.id, change);
    counts[change] += 1;
  }
  return {
    changes: {
      since: since ? { run: since.id, seq: since.seq, at: isoTime(since.startedAt) } : null,
      new: counts.new,
      gone: gone.length,
      changed: counts.changed,
      still: counts.still,
      goneExamples: whole.filter((one) => !now.has(keyOfDecision(one))).map((decision) => goneView(decision, run)),
    },
    changeOf: (id) => byId.get(id) ?? 'new',
  };
}

function changeOf(
  decision: DecisionOutline,
  run: Pick<Run, 'seq'>,
  since: ComparedRun | undefined,
  before: ReadonlyMap<string, EndedDecision>,
): ReportChange {
  if (since === undefined) return decision.runSeq === run.seq ? 'new' : 'still';
  if (decision.runSeq <= since.seq) return 'still';
  const earlier = before.get(keyOfDecision(decision));
  if (earlier === undefined) return 'new';
  return contentOf(earlier) === contentOf(decision) ? 'still' : 'changed';
}

/** What a person reads of it: between the two runs, a run of another kind may have written it twice. */
function contentOf(
  of: Pick<
    DecisionOutline,
    'ruleHash' | 'since' | 'decision' | 'reason' | 'reasonText' | 'mode' | 'cappedBy' | 'effect'
  >,
): string {
  const { ruleHash, since, decision, reason, reasonText, mode, cappedBy, effect } = of;
  return JSON.stringify([ruleHash, since, decision, reason, reasonText, mode, cappedBy ?? null, effect]);
}

const CLOSED_WORDS = {
  cleared: 'the rule no longer matches',
  gone: 'it is no longer in the list',
  adopted: 'another rule took over what was done',
};

function goneView(gone: EndedDecision, run: Pick<Run, 'rules' | 'scoped'>): ReportGone {
  const { rule, subject, subjectName, action, target, decision, episodeClosed } = gone;
  const isRuleGone = !run.scoped && !run.rules.includes(rule);
  const closed = episodeClosed === undefined ? null : CLOSED_WORDS[episodeClosed];
  return {
    rule,
    subject: { kind: subject.kind, id: subject.id, name: subjectName },
    action,
    target,
    decision,
    why: isRuleGone ? 'the rule is no longer active' : closed,
  };
}
