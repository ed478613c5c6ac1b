// domain: the store as reports, the HTTP endpoint, lists and alerts read it. In: ids, filters. Out: records as stored.
// It changes nothing.
import type { Claim } from './claim.ts';
import type { Outcome, StoredDecision } from './decision.ts';
import type { EndpointToken } from './endpoint-token.ts';
import type { Episode } from './episode.ts';
import type { Exemption } from './exemption.ts';
import type { Intent, IntentStatus } from './intent.ts';
import type { NotificationStatus, StoredNotification } from './notification.ts';
import type { Stop } from './operator.ts';
import type { Plan, PlanStatus } from './plan.ts';
import type { ComparedRun, Run, RunCounts, RunMatches, RunQuery, RunTallies } from './run.ts';
import type { DecisionQuery, RunRecord } from './store.ts';

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

export interface RecordReader {
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
  /** Without what they found, newest first. */
  runLines(query: RunQuery): Promise<Run[]>;
  /** Of completed runs over all active rules, newest first. */
  ruleTallies(limit: number): Promise<RunTallies[]>;
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
  decisions(query: DecisionQuery): Promise<StoredDecision[]>;
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
  /** Exemptions in force at a time, or all without a time; the newest first. */
  exemptions(inForceAt?: number): Promise<Exemption[]>;
  /** The stop switch; undefined while it is not set. */
  stop(): Promise<Stop | undefined>;
  /** Notifications of the outbox, the newest first; ended ones are kept for 30 days. */
  notifications(filter: NotificationFilter, limit: number): Promise<StoredNotification[]>;
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
  'decisionsOfRun' | 'comparedRun' | 'decisionsEnded' | 'endedDecisions' | 'matchesOfRuns' | 'intents' | 'plan' | 'stop'
>;

/** Runs, and what came of them. */
export type RunReader = ReportReader &
  Pick<RecordReader, 'run' | 'latestRun' | 'runs' | 'runLines' | 'ruleTallies' | 'countsOfRun' | 'decisions'>;
