// domain: the store as reports, the HTTP endpoint, lists and alerts read it. In: ids, filters. Out: records as stored.
// It changes nothing.

import type { PrintKey } from '../base/print-bits.ts';
import type { ClockAgreement } from '../base/time.ts';
import type { ActionName } from './action.ts';
import type { AuditedYes } from './approvals.ts';
import type { AuditEntry, AuditKind, AuditNote } from './audit-entry.ts';
import type { Decision, DecisionNow, Outcome, ReasonCode, StoredDecision } from './decision.ts';
import type { EndpointToken } from './endpoint-token.ts';
import type { Claim, Episode, OPEN_CLAIM_STATUSES } from './episode.ts';
import type { TrustEvent } from './event.ts';
import type { Exemption, ExemptionMember, MemberReader } from './exemption.ts';
import type { AnsweredRequest, ExemptionRequest, RequestStatus } from './exemption-request.ts';
import type { FleetReader } from './fleet.ts';
import type { IdentityChanges, IdentityReader, PresentPrints } from './identity.ts';
import type { Intent, IntentStatus, SettledAs } from './intent.ts';
import type { Lists } from './lists.ts';
import type { Notice, NoticeFilter, StoredNotice } from './notice.ts';
import type { Notification, NotificationStatus, StoredNotification } from './notification.ts';
import type { Acceptance, InboxState, Stop } from './operator.ts';
import type { Passkey } from './passkey.ts';
import type {
  CarriedPlan,
  Plan,
  PlanAuditKind,
  PlannedCount,
  PlanOutline,
  PlanProgress,
  PlanRevision,
  PlanStatus,
} from './plan.ts';
import type { KeptLatency } from './ports.ts';
import type { RolloutState } from './rollout.ts';
import type { ComparedRun, Run, RunCounts, RunMatches, RunQuery, RunTallies } from './run.ts';
import type { NewSignals, TransmitterState } from './signal.ts';
import type { Baseline, Coverage, Movement } from './snapshot.ts';
import type {
  DecisionQuery,
  ObservedEvents,
  OpenState,
  OpenStateAbout,
  Release,
  Removed,
  RunCommit,
  RunRecord,
} from './store.ts';
import type { ReadingName, SubjectKind, SubjectRef } from './subjects.ts';

export interface StateFilter {
  status?: IntentStatus;
  outcome?: Outcome;
  target?: string;
}

export interface ClaimFilter {
  status?: Claim['status'];
  subjectId?: string;
}

/** A page of claims; `open`: standing and orphaned ones. `before`: the id of the last one of the page before. */
export interface PagedClaims {
  status?: Claim['status'] | 'open';
  before?: string;
}

export interface NotificationFilter {
  statuses: readonly NotificationStatus[];
  /** The id of the last one of the page before. */
  before?: string;
}

export interface PlanFilter {
  status?: PlanStatus;
  /** The id of the last one of the page before. */
  before?: string;
  /** Of the newest `limit` plans, those in which one of these is a text: a target, an id. */
  naming?: readonly string[];
}

/** The first page of a list, newest first; `total` counts all that the filter lets through. */
export interface Newest<T> {
  rows: T[];
  total: number;
}

/** Where the next page begins: null at the end. A full page may have a next one, which may be empty. */
export function nextOf(rows: readonly { id: string }[], limit: number): string | null {
  return rows.length < limit ? null : (rows.at(-1)?.id ?? null);
}

export interface RequestQuery {
  status?: RequestStatus;
  person?: string;
  /** The id of the last one of the page before. */
  before?: string;
  limit: number;
}

export interface RecordReader {
  /** As receiving and polling left them. */
  transmitterStates(): Promise<TransmitterState[]>;
  /**
   * `idOrPrefix`: a beginning that several ids share is AppError `usage`, which names them. A run can also be named by its number
   * (`Run.seq`), which lists and reports show.
   */
  run(idOrNumber: string): Promise<RunRecord | undefined>;
  /** Without those of looks at the event log, which show a few subjects. */
  latestRun(): Promise<RunRecord | undefined>;
  runs(limit: number, before?: number): Promise<RunRecord[]>;
  /** The newest that read lists, and not only single subjects between two whole runs. */
  runsOverLists(limit: number): Promise<RunRecord[]>;
  /** The numbers of those that are kept, by their ids. */
  runNumbers(ids: readonly string[]): Promise<Pick<Run, 'id' | 'seq'>[]>;
  /** Without what they found, newest first. */
  runLines(query: RunQuery): Promise<Run[]>;
  /**
   * Of completed runs over all active rules, newest first: of those that were the newest at the given times, and of so many of the newest ones.
   */
  ruleTallies(times: readonly number[], newest: number): Promise<RunTallies[]>;
  /** How many of them there are from the first run on that was not over before this time. */
  wholeRunsSince(fromMs: number): Promise<{ fromSeq: number; count: number }>;
  countsOfRun(run: Pick<Run, 'seq' | 'id'>): Promise<RunCounts>;
  /** Decisions in force in a run: those that it wrote, and unchanged ones of earlier runs. */
  decisionsOfRun(run: RunRecord): Promise<StoredDecision[]>;
  /** The last completed run before this one over all rules, which was live or dry like this one. */
  comparedRun(run: Run): Promise<ComparedRun | undefined>;
  /** Decisions that were in force in one run, and are no longer in a later one; by rule and target. `rules`: only of these. */
  decisionsEnded(between: { fromSeq: number; toSeq: number; rules?: readonly string[] }): Promise<EndedKey[]>;
  /** In the order of the ids; one that was removed meanwhile is missing. */
  endedDecisions(ids: readonly string[]): Promise<EndedDecision[]>;
  /** Of the last completed runs over all rules, up to the run of this number; the oldest first, without rules that were not judged. */
  matchesOfRuns(upToSeq: number, runsMax: number): Promise<RunMatches[]>;
  decisions(query: DecisionQuery): Promise<DecisionNow[]>;
  /** `liveFor`: the live intents of one of these episodes; not dry or withdrawn ones. */
  intents(filter: StateFilter & { ids?: string[]; liveFor?: string[] }): Promise<Intent[]>;
  /** Failed intents that are still to be done: their match or claim is in force, the target is not so, and nobody gave them up. */
  openFailures(): Promise<Intent[]>;
  /** `before`: the id of the last one of the page before. */
  newestIntents(filter: StateFilter & { before?: string }, limit: number): Promise<Newest<Intent>>;
  claims(filter: ClaimFilter): Promise<Claim[]>;
  newestClaims(filter: PagedClaims, limit: number): Promise<Newest<Claim>>;
  /** Plans with their current status: `expired` from their end on. */
  plan(idOrPrefix: string): Promise<Plan | undefined>;
  plans(filter: PlanFilter, limit: number): Promise<Plan[]>;
  /** The earlier contents of a plan that runs carried on, the oldest first; empty for any other. */
  planRevisions(id: string): Promise<PlanRevision[]>;
  /** The plan with the content of this digest, or of the one that begins so; undefined: it never had it, or it is no longer kept. */
  planAt(id: string, digest: string): Promise<Plan | undefined>;
  /** Exemptions in force at a time, or all without a time; the newest first. */
  exemptions(inForceAt?: number): Promise<Exemption[]>;
  /** What persons asked for, the newest first, with the present status. `person`: in any case. */
  exemptionRequests(query: RequestQuery): Promise<Newest<ExemptionRequest>>;
  exemptionRequest(idOrPrefix: string): Promise<ExemptionRequest | undefined>;
  /** The stop switch; undefined while it is not set. */
  stop(): Promise<Stop | undefined>;
  /** How far rules with a rollout are, also those that are off by now. */
  rollouts(): Promise<RolloutState[]>;
  /** Notifications of the outbox, the newest first; ended ones are kept for 30 days. */
  notifications(filter: NotificationFilter, limit: number): Promise<StoredNotification[]>;
  /** Messages to people before something of theirs is acted on, the newest first. */
  notices(filter: NoticeFilter, limit: number): Promise<Newest<StoredNotice>>;
  /** Tokens of the HTTP endpoint, the newest first, revoked ones too. */
  endpointTokens(): Promise<EndpointToken[]>;
  /** The same, a page of them. `before`: the id of the last one of the page before. */
  tokenPage(query: { before?: string; limit: number }): Promise<Newest<EndpointToken>>;
}

/** What it was about. */
export type EndedKey = Pick<StoredDecision, 'id' | 'rule' | 'subject' | 'action' | 'target'>;

/** Without its facts and flip, and with how its episode ended, if that has ended. */
export type EndedDecision = Omit<StoredDecision, 'facts' | 'flip'> & { episodeClosed: Episode['closeReason'] };

/** The records that a run's report is made of. */
export type ReportReader = Pick<
  RecordReader,
  | 'decisionsOfRun'
  | 'comparedRun'
  | 'decisionsEnded'
  | 'endedDecisions'
  | 'matchesOfRuns'
  | 'intents'
  | 'plan'
  | 'planAt'
  | 'stop'
>;

/** Runs, and what came of them. */
export type RunReader = ReportReader &
  Pick<
    RecordReader,
    | 'run'
    | 'runNumbers'
    | 'latestRun'
    | 'runs'
    | 'runLines'
    | 'ruleTallies'
    | 'wholeRunsSince'
    | 'countsOfRun'
    | 'decisions'
  >;

// Whether all is well: what waits, what went wrong, and what was done lately.

/** How many targets an action reached with success in one day; day 0: the 24 hours before the time asked for. */
export interface DoneInDay {
  action: ActionName;
  day: number;
  targets: number;
}

/** How many of each state are in the inbox. */
export type InboxCounts = Readonly<Record<InboxState, number>>;

/** The same in one step of time; step 0: the one that ends with the time asked for. */
export type DoneInStep = Omit<DoneInDay, 'day'> & { step: number };

export interface DoneSteps {
  untilMs: number;
  steps: number;
  stepMs: number;
  /** Only for this one, alone or with others. */
  rule?: string | undefined;
}

/** What was in force over a time, by action. */
export interface InForceSince {
  /** Targets in force from its beginning until now. */
  lasting: { action: ActionName; count: number }[];
  /** Of all others: what began or ended in it. */
  changed: Pick<Claim, 'action' | 'target' | 'openedAt' | 'endedAt'>[];
}

export interface WorkNow {
  /** The newest run over lists that is not under way any more. */
  ended: Pick<Run, 'seq' | 'status'> | undefined;
  isStopped: boolean;
  inbox: InboxCounts;
  /** When the oldest run that is kept began; undefined: there is none. */
  sinceMs: number | undefined;
  done: DoneInDay[];
}

export interface WorkReader {
  inboxCounts(): Promise<InboxCounts>;
  /** What waits or went wrong now; what was done in the 24 hours before this time, and on each of the 7 days before those. */
  workNow(doneUntilMs: number): Promise<WorkNow>;
  doneInSteps(asked: DoneSteps): Promise<DoneInStep[]>;
  inForceSince(fromMs: number): Promise<InForceSince>;
}

// The store as pages for people read it: a part at a time, however much is stored.

/** A decision as counting, grouping and comparing need it. */
export type DecisionOutline = Omit<
  StoredDecision,
  'runId' | 'writtenAt' | 'endedSeq' | 'facts' | 'flip' | 'episodeId' | 'outcomeText'
>;

/** A plan without its intents. */
export type PlanHead = Omit<Plan, 'intents'>;

export interface PlanLine extends PlanHead {
  /** `createdAt` is when a run last carried it on. Where its earlier content is no longer kept, both are the same. */
  madeAt: number;
  /** How many; undefined: the row is damaged. */
  intents: number | undefined;
  /** The rule whose claims it undoes, if a person asked for that. */
  releases: string | undefined;
}

export interface PlanFilter {
  status?: PlanStatus;
  /** Of plans that wait with the same content, as after a dry run, only one. */
  once?: boolean;
}

/** Decisions of a time that hold something, by rule and reason. */
export interface HeldSince {
  /** All that proposed these actions: one that several rules propose is held once. */
  rules: string[];
  reason: string;
  count: number;
  /** Of these, still in force. */
  inForce: number;
  /** The newest of them; `run`: a number. */
  some: { target: string; run: number }[];
}

export interface ClaimQuery {
  status?: (typeof OPEN_CLAIM_STATUSES)[number];
  rule?: string;
  action?: string;
  /** On one of these targets, or of one of these subjects. */
  on?: { targets: readonly string[]; subjectIds: readonly string[] };
  /** The id of the last claim of the page before. */
  after?: string;
  limit: number;
}

/** Who was let in to each service, as far back as the event log was read without a gap. */
export interface ServiceUse {
  fromMs: number;
  toMs: number;
  /** By id; none of a service that nobody was seen to use. `isLeast`: some events name nobody. */
  services: ReadonlyMap<string, { people: number; isLeast: boolean }>;
}

export interface PageReader extends FleetReader {
  /** Undefined: the log was not read, or shows nobody at all. */
  serviceUse(): Promise<ServiceUse | undefined>;
  /** All decisions in force in a run, in the order of its report. */
  outlinesOfRun(run: RunRecord): Promise<DecisionOutline[]>;
  /** Undefined without such a plan. */
  planOutline(id: string): Promise<PlanOutline | undefined>;
  /** In the order of the ids; one that was removed meanwhile is missing. */
  decisionsById(ids: readonly string[]): Promise<StoredDecision[]>;
  /** The decisions of a rule in force in a run, in the order of its report; none of a rule that the run did not judge. */
  decisionsOfRule(run: RunRecord, rule: string, query: { after?: string; limit: number }): Promise<Newest<DecisionNow>>;
  /** The newest first. */
  planLines(filter: PlanFilter, query: { before?: string; limit: number }): Promise<PlanLine[]>;
  /** What a plan does, by rules and action; empty without such a plan. */
  countsOfPlan(id: string): Promise<readonly PlannedCount[]>;
  /** How far applying it is, also while it is under way. */
  planProgress(plan: PlanOutline): Promise<PlanProgress>;
  /** Standing and orphaned ones, the oldest first. */
  claimsInForce(query: ClaimQuery): Promise<Newest<Claim>>;
  /** Of the same ones. */
  claimCounts(): Promise<{ status: Claim['status']; rule: string; action: ActionName; count: number }[]>;
  /** The newest first; `inForceAt`, `overAt`: only those that are in force, or over, at this time. */
  exemptionPage(query: {
    inForceAt?: number;
    overAt?: number;
    before?: string;
    limit: number;
  }): Promise<Newest<Exemption>>;
  /** The most frequent first, with `named` examples each. */
  heldSince(sinceMs: number, named: number): Promise<HeldSince[]>;
  /** How many actions wait now for this reason. */
  heldInForce(reason: ReasonCode): Promise<number>;
}

// The store as the audit is read, verified, archived and appended to.

export interface AuditQuery {
  /** Oldest first. */
  afterSeq?: number;
  beforeSeq?: number;
  kind?: string;
  /** Entries that name this target. */
  target?: string;
  /** `ana`: all that `ana` did, whatever the way; `ana (token admin)`: only that way. */
  actor?: string;
  /** What was done under this ticket or change number. */
  reference?: string;
  /** Only what somebody did. */
  hasActor?: true;
  /** Written at this time or later, epoch ms. */
  since?: number;
  limit: number;
}

/** A checkpoint with the hashes of the entries after the one before it. */
export interface AuditSeal {
  after: number;
  size: number;
  line: string;
  hashes: string[];
}

export interface AuditReader {
  /** The API address that the database is bound to. */
  address(): Promise<string | undefined>;
  /** Newest first, unless `afterSeq` is given. */
  audit(query: AuditQuery): Promise<AuditEntry[]>;
  /** Entries of these kinds that name this run, plan or intent somewhere, oldest first. */
  auditNaming(kinds: readonly AuditKind[], name: string): Promise<AuditEntry[]>;
  /** What proves an entry; undefined: no checkpoint covers it yet. */
  auditSeal(seq: number): Promise<AuditSeal | undefined>;
  auditHead(): Promise<{ seq: number; hash: string }>;
  /** All entries in order, in batches, for verification. */
  auditFrom(seq: number): AsyncIterable<AuditEntry[]>;
}

export interface AuditStore extends AuditReader {
  appendAudit(notes: AuditNote[]): Promise<void>;
  /** The listener is called after each commit that appended entries, with these. It returns at once; what it throws is dropped. */
  onAudited(listener: (notes: readonly AuditNote[]) => void): void;
}

// The store as acting sees it. In: a target, an intent, ids. Out: what is stored about only these. INVARIANT: each
// method reads by an index. Acting asks once per target, so it must not read the rows of other targets. Two targets of
// equal text may be about different things (`isSameTarget`): a caller that asks by text compares the answers.

/** The effects of a transition, in the same transaction. */
export interface TransitionEffects {
  claims?: Claim[];
  episodes?: Episode[];
  /** Put into the outbox. */
  notifications?: Notification[];
  /** Clock state when these timestamps were taken. */
  clocks?: ClockAgreement;
  /** Of the API, for the quiet period of the next process. */
  latency?: KeptLatency;
  notes: AuditNote[];
}

/** A request is about to be made. */
export interface SentIntent extends Pick<TransitionEffects, 'clocks' | 'latency' | 'notes'> {
  intentId: string;
  /** The run that counts it; undefined for a release, which has its own count. */
  run: string | undefined;
}

/** It has an outcome. */
export interface SettledIntent extends TransitionEffects {
  intentId: string;
  outcome: SettledAs;
  /** For people: the answer's text, or why it is unknown or parked. */
  note: string;
  /** The server refused the request before it did anything: it is no attempt. With a mark of the credential. */
  refused?: { credential: string | undefined } | undefined;
}

/** It is withdrawn before any call, and its decisions get the reason as their new answer. */
export interface WithdrawnIntent extends Pick<TransitionEffects, 'notes'> {
  intentId: string;
  why: Pick<Decision, 'decision' | 'reason' | 'reasonText'>;
}

/** Intents that failed before are tried again, with their current basis, settings and effect. */
export interface ReopenedIntents extends Pick<TransitionEffects, 'episodes' | 'notes'> {
  intents: readonly Intent[];
}

/** A person resolves a doubt or a failure. `failed`: it is not done again for its episodes. `unknown`: it may be tried once more. */
export interface ResolvedIntent extends Pick<TransitionEffects, 'claims' | 'episodes' | 'notes'> {
  intentId: string;
  outcome: 'confirmed' | 'failed' | 'unknown';
  note: string;
}

/**
 * The transitions of an intent (`INTENT_TRANSITIONS`), each in one transaction. Errors: AppError `conflict` for a transition that the
 * table does not have, `not_found` for no such intent; then nothing is changed.
 */
interface IntentTransitions {
  markSent(sent: SentIntent): Promise<void>;
  settle(settled: SettledIntent): Promise<void>;
  withdraw(withdrawn: WithdrawnIntent): Promise<void>;
  reopen(reopened: ReopenedIntents): Promise<void>;
  resolve(resolved: ResolvedIntent): Promise<void>;
}

export interface ActStore extends Pick<IntentTransitions, 'markSent' | 'settle' | 'withdraw'> {
  /** Errors: AppError `store_edited` when a table that acting rests on differs from what the audit records of it. */
  demandIntact(): Promise<void>;
  /** Claims on the target: `standing` ones first, then orphaned ones. */
  openClaimsOn(target: string): Promise<Claim[]>;
  /** Episodes with these ids that are not closed, and closed ones that still have an open claim. */
  episodesInForce(ids: readonly string[]): Promise<Episode[]>;
  /** Those of these rules about these subjects that are not closed. */
  openEpisodes(rules: readonly string[], subjects: readonly string[]): Promise<Episode[]>;
  /** The notices of these episodes, as far as these are not closed; by episode. */
  noticesOf(episodes: readonly string[]): Promise<ReadonlyMap<string, readonly Notice[]>>;
  /** Episodes that are not closed and have seen this target in a state that they propose. */
  episodesThatSaw(target: string): Promise<Episode[]>;
  /** Live intents on this target that deciding sees: those of its episodes and claims in force, and all that are not resolved. */
  intentsOn(target: string): Promise<Intent[]>;
  /** The intents of the last attempts on this target, newest first, by their order and not by their times: also of episodes that are over. */
  attemptedOn(target: string): Promise<Intent[]>;
  /** Intents on every target, to resolve those of earlier runs. */
  intentsIn(state: 'planned' | 'sent' | 'unknown'): Promise<Intent[]>;
  /** Attempts of an action since a time, for the 24 h ceilings. */
  attemptsSince(action: ActionName, sinceMs: number): Promise<number>;
  /** The stop switch; undefined while it is not set. */
  stop(): Promise<Stop | undefined>;
  rollouts(): Promise<RolloutState[]>;
}

// The store as a run uses it, from its beginning to its end.

export interface OpenStateReader {
  openState(nowMs: number): Promise<OpenState>;
  /** What of it deciding these subjects alone needs. */
  openStateOf(nowMs: number, about: OpenStateAbout): Promise<OpenState>;
  /** Clock state when the stored timestamps were taken; undefined before the first. */
  clockAgreement(): Promise<ClockAgreement | undefined>;
  /** The latency of the API at the last attempt or outcome; undefined before the first. */
  keptLatency(): Promise<KeptLatency | undefined>;
}

export interface RunStore extends OpenStateReader, Pick<RecordReader, 'plans'>, Pick<IntentTransitions, 'reopen'> {
  /**
   * Binds the database to an API address at its first use, and notes the lists that a run read there: a change of these is audited.
   * Another address: AppError `bound_elsewhere`.
   */
  bind(address: string, lists?: Lists): Promise<void>;
  /** `onceId`: as in `RunRequest`. */
  beginRun(run: Omit<Run, 'seq'>, notes: AuditNote[], onceId?: string): Promise<Run>;
  finishRun(run: Run, notes: AuditNote[]): Promise<void>;
  /**
   * Runs that a dead process left `running` become `aborted`; returns how many. Plans that it left `applying` become
   * `interrupted`.
   */
  abortStaleRuns(at: number): Promise<number>;
  commitRun(commit: RunCommit): Promise<void>;
  /** Of the kinds that were read and are trusted. In parts, and without an audit entry: nothing that acts rests on them. */
  saveIdentities(changes: readonly IdentityChanges[]): Promise<void>;
  /**
   * Removes, with an audit entry, some of the runs that finished this long before the newest 1,000 and that nothing depends on, with
   * the decisions, intents and plans that only they show, and old closed episodes; undefined: there are none.
   */
  removeOldRuns(olderByMs: number): Promise<Removed | undefined>;
  /** Keeps of some long superseded plans only their digest, size and difference, with an audit entry. Returns how many. */
  dropPlanIntents(): Promise<number>;
  /** Attempts in the count of a run so far, by action, for the ceilings of a run. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  /** Records and audits, once, that plans waited until their end and expired; returns how many. */
  expirePlans(): Promise<number>;
  /** Stores the clock state for the timestamps taken from now on. */
  keepClockAgreement(agreement: ClockAgreement): Promise<void>;
}

/** A new plan: in the place of pending ones, or a part of one that waits on without it. */
export interface ReplacedPlans {
  superseded?: readonly string[];
  carried?: CarriedPlan;
  sealed: Plan;
}

export interface PlanStore
  extends Pick<
      RecordReader,
      'run' | 'runs' | 'latestRun' | 'plan' | 'plans' | 'planAt' | 'planRevisions' | 'intents' | 'claims' | 'stop'
    >,
    Pick<RunStore, 'openState' | 'expirePlans'>,
    Pick<IntentTransitions, 'reopen'> {
  /** The digest that the audit has for this plan; if there are several entries of the kind, that of the first. A sealed one may have been carried on. */
  auditedDigest(kind: PlanAuditKind, planId: string): Promise<string | undefined>;
  /** Who has said yes to this content of it, as the audit has it. */
  auditedYes(plan: Pick<Plan, 'id' | 'digest' | 'runId'>): Promise<AuditedYes>;
  /** Also those that were removed. Errors: AppError `store_edited` when somebody changed the table beside the engine. */
  passkeys(): Promise<Passkey[]>;
  /** One that was added, or removed. Errors: AppError `conflict` for one that was so before. */
  savePasskey(passkey: Passkey, note: AuditNote): Promise<void>;
  /** Episodes with these ids, open or closed. */
  episodes(ids: readonly string[]): Promise<Episode[]>;
  /** Errors: AppError `conflict` when the stored plan no longer has the status `was`; then nothing is changed. */
  changePlan(plan: Plan, intents: Intent[], notes: AuditNote[], was?: PlanStatus): Promise<void>;
  /** In one transaction. Errors: AppError `conflict` when a pending plan no longer waits, or has another content. */
  replacePlans(replaced: ReplacedPlans, notes: AuditNote[]): Promise<void>;
}

// The store for operator commands: stop, exempt, accept, resolve, release.

export interface OperatorStore
  extends Pick<RecordReader, 'runsOverLists' | 'exemptions' | 'stop' | 'rollouts'>,
    IdentityReader,
    MemberReader {
  exemption(idOrPrefix: string): Promise<Exemption | undefined>;
  /** Adds or updates an exemption. */
  saveExemption(exemption: Exemption, notes: AuditNote[]): Promise<void>;
  /** From now on it covers these too. */
  addExemptionMembers(exemption: string, members: readonly ExemptionMember[], notes: AuditNote[]): Promise<void>;
  /** Sets the stop switch; undefined lifts it. */
  setStop(stop: Stop | undefined, notes: AuditNote[]): Promise<void>;
  /** Sets the state of a rule's rollout; `undefined` forgets it. */
  setRollout(rule: string, state: RolloutState | undefined, notes: AuditNote[]): Promise<void>;
  saveAcceptance(acceptance: Acceptance, notes: AuditNote[]): Promise<void>;
}

/** What a person asks for, and the answer of an operator. */
export interface RequestStore
  extends IdentityReader,
    MemberReader,
    Pick<RecordReader, 'decisions' | 'claims' | 'exemptionRequest' | 'exemptionRequests'> {
  /** Errors: AppError `conflict` while one of this person about this device waits; `busy` after `REQUESTS_A_DAY` in 24 hours. */
  addRequest(request: ExemptionRequest, notes: AuditNote[]): Promise<void>;
  /** In one transaction with the exemption. Errors: AppError `conflict` that names who answered it, when it no longer waits. */
  answerRequest(answered: AnsweredRequest, notes: AuditNote[]): Promise<void>;
}

/** Resolves doubts and failures. */
export interface ResolveStore
  extends Pick<IntentTransitions, 'resolve'>,
    Pick<RecordReader, 'openFailures'>,
    Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'> {
  intent(idOrPrefix: string): Promise<Intent | undefined>;
  /** Intents on the same target text that were last attempted after this one; by order, since the clock may have jumped. */
  sentAfter(intent: Pick<Intent, 'id' | 'target'>): Promise<Intent[]>;
}

/** Releases targets. */
export interface ReleaseStore
  extends Pick<RecordReader, 'latestRun' | 'claims' | 'intents' | 'stop'>,
    Pick<IntentTransitions, 'reopen'> {
  /** The decisions in force about this target. */
  decisionsOn(target: string): Promise<StoredDecision[]>;
  release(release: Release): Promise<void>;
}

export interface PullReader {
  /** Stored events from a time on, oldest first, in batches; `type`: only those of this type. */
  events(fromMs: number, type?: string): AsyncIterable<TrustEvent[]>;
  coverage(): Promise<Coverage[]>;
  /** Signals that were received and that no run or look has taken up. */
  newSignals(): Promise<NewSignals>;
  hasNewSignals(): Promise<boolean>;
  baseline(source: ReadingName): Promise<Baseline | undefined>;
  /** Of the readings of this form. */
  movement(source: ReadingName, form: string): Promise<Movement | undefined>;
  /** Accepted readings that are not used yet. */
  acceptances(): Promise<Acceptance[]>;
  /** Made with this key, which is always the same one. */
  presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints>;
}

export interface PullStore extends PullReader {
  observeEvents(observed: ObservedEvents): Promise<{ added: number }>;
}

// The store as looks at the event log between two whole runs see it.

/** A decision that came as far as the limits. */
export interface CountedDecision
  extends Pick<StoredDecision, 'rule' | 'subject' | 'reason' | 'action' | 'target' | 'mode' | 'cappedBy'> {
  /** Of the devices that it touches, in lower case; none where its run did not read owners. */
  owners: readonly string[];
}

/** A match whose episode began after the last whole run. */
export interface NewMatch extends Pick<StoredDecision, 'facts'> {
  subject: SubjectRef;
}

export interface WatchReader {
  /** The newest completed run over all active rules and all subjects; `known`: it is returned again if it still is the newest. */
  lastWholeRun(known?: RunRecord): Promise<RunRecord | undefined>;
  /** The stored events of a time on: when each was created, by id. */
  eventTimes(fromMs: number): Promise<ReadonlyMap<string, number>>;
  /** Matches with one of these reasons that were decided in this run or since, or were in force in it: also those that were replaced. */
  countedSince(runSeq: number, reasons: readonly string[]): Promise<CountedDecision[]>;
  /** Of runs after this one: matches that began after this time. */
  newMatchesSince(runSeq: number, atMs: number): Promise<NewMatch[]>;
  /** Attempts in the count of a run so far, by action. */
  attemptsOfRun(runId: string): Promise<ReadonlyMap<ActionName, number>>;
  /** How many of these failed, were refused, or are in doubt. */
  failuresOfRun(runId: string): Promise<number>;
}
