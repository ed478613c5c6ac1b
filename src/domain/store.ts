// domain: the store's port. Each method is one unit of work: one transaction, whole or not at all.
// It is asynchronous so that another database can stand behind it. Errors: AppError `store_failed`, `not_found`.
import type { ActStore, IntentTransitions } from './act-store.ts';
import type { ActionName } from './action.ts';
import type { AuditEntry, AuditNote } from './audit-entry.ts';
import type { Claim } from './claim.ts';
import type { Decision, Outcome, StoredDecision } from './decision.ts';
import type { EndpointToken } from './endpoint-token.ts';
import type { Episode } from './episode.ts';
import type { TrustEvent } from './event.ts';
import type { Exemption } from './exemption.ts';
import type { Intent, IntentStatus } from './intent.ts';
import type { NotificationStatus, StoredNotification } from './notification.ts';
import type { Acceptance, Stop } from './operator.ts';
import type { Plan, PlanStatus } from './plan.ts';
import type { Run, RunFindings } from './run.ts';
import type { Baseline, Coverage } from './snapshot.ts';
import type { ClockAgreement } from './steady-time.ts';
import type { Source } from './subjects.ts';

/** The key of `OpenState.lastAttempts`. */
export function attemptKey(rule: string, action: ActionName, target: string): string {
  return `${rule} ${action} ${target}`;
}

/** Whether their rule is there or not. */
export async function openClaims(reader: Pick<StoreReader, 'claims'>): Promise<Claim[]> {
  return [...(await reader.claims({ status: 'standing' })), ...(await reader.claims({ status: 'orphaned' }))];
}

/** All standing state that deciding needs. */
export interface OpenState {
  /** Episodes that are not closed, and closed ones that still have a claim. */
  episodes: Episode[];
  /** Claims that are standing or orphaned. */
  claims: Claim[];
  /** Decisions in force, to tell new and changed ones from carried ones. */
  decisions: StoredDecision[];
  /** Live intents (not dry ones) of these episodes and of open claims, and all that are under way or in doubt. */
  intents: Intent[];
  /** Keys of planned intents that a person rejected, with their episodes still open. */
  rejected: ReadonlySet<string>;
  /** By `rule action target`: when the last attempt was made, epoch ms. */
  lastAttempts: ReadonlyMap<string, number>;
  /** Attempts of each action in the last 24 hours, for the ceilings. */
  attempts24h: ReadonlyMap<ActionName, number>;
  /** Those in force. */
  exemptions?: readonly Exemption[];
  /** A person stopped everything. */
  stop?: Stop | undefined;
}

/** What deciding changed, committed with the run's findings before anything is called. */
export interface RunCommit {
  runId: string;
  findings: RunFindings;
  baselines: Baseline[];
  episodes: Episode[];
  claims: Claim[];
  decisions: Decision[];
  /** Decisions in force until now that this run no longer makes. */
  endedDecisions: string[];
  intents: Intent[];
  plan: Plan | undefined;
  /** Pending plans that this run's plan replaces. */
  supersededPlans: string[];
  /** Exemptions that stood in the way of a match, and those whose coming end is told for the first time. */
  exemptions?: { used: readonly string[]; warned: readonly string[] };
  notes: AuditNote[];
}

/** How many rows were taken out. */
export interface Removed {
  runs: number;
  decisions: number;
  /** The number of the last of these runs. */
  upTo: number;
}

export interface ObservedEvents {
  events: TrustEvent[];
  /** The stretch of time that this read covers without a gap. */
  coverage: Coverage | undefined;
  /** Rows older than this are no longer needed by any window. */
  forgetBeforeMs: number;
}

/** A person lets go of a target: the undo that is to be sent, or the claims that end without one. */
export interface Release {
  /** Committed as planned; undefined when nothing is to be called. */
  intent: Intent | undefined;
  claims: Claim[];
  episodes: Episode[];
  notes: AuditNote[];
}

export interface RunRecord extends Run {
  findings: RunFindings | undefined;
  planId: string | undefined;
}

export interface DecisionQuery {
  runSeq?: number;
  rule?: string;
  subjectId?: string;
  target?: string;
  decision?: string;
  limit: number;
  /** Decisions written before this one (its id), newest first. */
  before?: string;
}

/** Reading: what report/, http/ and the reading commands use. */
export interface StoreReader {
  address(): Promise<string | undefined>;
  /**
   * Where `idOrPrefix` is asked for, a beginning that several ids have is AppError `usage`, which names them. A run is also
   * known by its number (`Run.seq`), which lists and reports show.
   */
  run(idOrNumber: string): Promise<RunRecord | undefined>;
  latestRun(): Promise<RunRecord | undefined>;
  runs(limit: number, before?: number): Promise<RunRecord[]>;
  /** Decisions in force in a run: those that it wrote and those that it carried. */
  decisionsOfRun(run: RunRecord): Promise<StoredDecision[]>;
  decisions(query: DecisionQuery): Promise<StoredDecision[]>;
  /** Those in force about this target. */
  decisionsOn(target: string): Promise<StoredDecision[]>;
  /** `liveFor`: those that hold for one of these episodes; dry and withdrawn ones do not. */
  intents(filter: {
    status?: IntentStatus;
    outcome?: Outcome;
    target?: string;
    ids?: string[];
    liveFor?: string[];
  }): Promise<Intent[]>;
  /** Intents on the same target text whose last attempt came after this one's, in that order: the clock may have jumped in between. */
  sentAfter(intent: Pick<Intent, 'id' | 'target'>): Promise<Intent[]>;
  intent(idOrPrefix: string): Promise<Intent | undefined>;
  claims(filter: { status?: Claim['status'] }): Promise<Claim[]>;
  /** Open or closed, of these ids. */
  episodes(ids: readonly string[]): Promise<Episode[]>;
  /** Plans have the status that they have at this moment: `expired` from their end on. */
  plan(idOrPrefix: string): Promise<Plan | undefined>;
  plans(filter: { status?: PlanStatus }, limit: number): Promise<Plan[]>;
  /** The digest that the audit has for this plan: of its first entry of the kind, should there be several. */
  auditedDigest(kind: 'plan.sealed' | 'plan.approved', planId: string): Promise<string | undefined>;
  audit(query: { afterSeq?: number; beforeSeq?: number; kind?: string; limit: number }): Promise<AuditEntry[]>;
  auditHead(): Promise<{ seq: number; hash: string }>;
  /** All entries in order, in batches, for verification. */
  auditFrom(seq: number): AsyncIterable<AuditEntry[]>;
  openState(nowMs: number): Promise<OpenState>;
  /** Stored events from a time on, oldest first, in batches. */
  events(fromMs: number): AsyncIterable<TrustEvent[]>;
  coverage(): Promise<Coverage[]>;
  baseline(source: Source): Promise<Baseline | undefined>;
  /** Those in force at a time, or with no time all, the newest first. */
  exemptions(inForceAt?: number): Promise<Exemption[]>;
  exemption(idOrPrefix: string): Promise<Exemption | undefined>;
  /** The stop switch; undefined while it is not set. */
  stop(): Promise<Stop | undefined>;
  /** Of the outbox, the newest first; those that are over are kept for 30 days. */
  notifications(statuses: readonly NotificationStatus[], limit: number): Promise<StoredNotification[]>;
  /** Readings that a person took as they are, not used yet. */
  acceptances(): Promise<Acceptance[]>;
  /** Of the clocks that the stored times were written by; undefined before the first. */
  clockAgreement(): Promise<ClockAgreement | undefined>;
  /** Tokens of the HTTP endpoint, the newest first, revoked ones too. */
  endpointTokens(): Promise<EndpointToken[]>;
  close(): Promise<void>;
}

export interface Store extends StoreReader, ActStore, IntentTransitions {
  /** Binds the database to an API address at its first use. Another one: AppError `bound_elsewhere`. */
  bind(address: string): Promise<void>;
  beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[]): Promise<Run>;
  finishRun(run: Run, notes: AuditNote[]): Promise<void>;
  /** Runs that a dead process left `running` become `aborted`; answers how many. */
  abortStaleRuns(at: number): Promise<number>;
  commitRun(commit: RunCommit): Promise<void>;
  /**
   * Takes out, with an audit entry, some of the runs that finished so long before the newest 1,000 and that nothing rests on,
   * with the decisions that only they showed; undefined: there are none.
   */
  removeOldRuns(olderByMs: number): Promise<Removed | undefined>;
  /** Writes down and audits, once, that plans are over which waited until their end; answers how many. */
  expirePlans(): Promise<number>;
  changePlan(plan: Plan, intents: Intent[], notes: AuditNote[]): Promise<void>;
  /** Attempts in the count of a run so far, by action, for the ceilings of a run. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  observeEvents(observed: ObservedEvents): Promise<{ added: number }>;
  appendAudit(notes: AuditNote[]): Promise<void>;
  /** Of the clocks by which times are written from now on. */
  keepClockAgreement(agreement: ClockAgreement): Promise<void>;
  /** Adds an exemption, or writes it as it is now. */
  saveExemption(exemption: Exemption, notes: AuditNote[]): Promise<void>;
  /** Sets the stop switch, or with undefined takes it off. */
  setStop(stop: Stop | undefined, notes: AuditNote[]): Promise<void>;
  saveAcceptance(acceptance: Acceptance, notes: AuditNote[]): Promise<void>;
  release(release: Release): Promise<void>;
}
