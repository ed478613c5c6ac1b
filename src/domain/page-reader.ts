// domain: the store as pages for people read it: a part at a time, however much is stored. In: ids, filters, the last row of the page before.
// Out: rows with counts. A page begins after the row that `after` or `before` names; a row that does not exist has nothing after it.
import type { ActionName } from './action.ts';
import type { Claim } from './claim.ts';
import type { ReasonCode, StoredDecision } from './decision.ts';
import type { Exemption } from './exemption.ts';
import type { Plan, PlanOutline, PlanProgress, PlanStatus } from './plan.ts';
import type { PlannedCount } from './planned-counts.ts';
import type { Newest } from './record-reader.ts';
import type { RunRecord } from './store.ts';

/** A decision as counting, grouping and comparing need it. */
export type DecisionOutline = Omit<
  StoredDecision,
  'runId' | 'writtenAt' | 'endedSeq' | 'facts' | 'flip' | 'episodeId' | 'outcomeText'
>;

/** A plan without its intents. */
export type PlanHead = Omit<Plan, 'intents'>;

export interface PlanLine extends PlanHead {
  /** How many; undefined: the row is damaged. */
  intents: number | undefined;
  /** The rule whose claims it undoes, if a person asked for that. */
  releases: string | undefined;
}

/** Decisions of a time that hold something, by rule and reason. */
export interface HeldSince {
  rule: string;
  reason: string;
  count: number;
  /** Of these, still in force. */
  inForce: number;
  /** The newest of them; `run`: a number. */
  some: { target: string; run: number }[];
}

export interface ClaimQuery {
  status?: 'standing' | 'orphaned';
  rule?: string;
  action?: string;
  /** On one of these targets, or of one of these subjects. */
  on?: { targets: readonly string[]; subjectIds: readonly string[] };
  /** The id of the last claim of the page before. */
  after?: string;
  limit: number;
}

export interface PageReader {
  /** All decisions in force in a run, in the order of its report. */
  outlinesOfRun(run: RunRecord): Promise<DecisionOutline[]>;
  /** Undefined without such a plan. */
  planOutline(id: string): Promise<PlanOutline | undefined>;
  /** In the order of the ids; one that was removed meanwhile is missing. */
  decisionsById(ids: readonly string[]): Promise<StoredDecision[]>;
  /** The decisions of a rule in force in a run, in the order of its report; none of a rule that the run did not judge. */
  decisionsOfRule(
    run: RunRecord,
    rule: string,
    query: { after?: string; limit: number },
  ): Promise<Newest<StoredDecision>>;
  /** The newest first. */
  planLines(filter: { status?: PlanStatus }, query: { before?: string; limit: number }): Promise<PlanLine[]>;
  /** What a plan does, by rules and action; empty without such a plan. */
  countsOfPlan(id: string): Promise<PlannedCount[]>;
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
