// domain: the data that the ports of the store exchange: open state for deciding, a run's commit, observed events, queries.
// The ports themselves are in store-ports.ts.
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { Decision, DecisionNow, StoredDecision } from './decision.ts';
import type { Claim, Episode } from './episode.ts';
import type { TrustEvent } from './event.ts';
import type { Exemption } from './exemption.ts';
import type { Intent } from './intent.ts';
import type { EndedNotices, NewNotice, Notice } from './notice.ts';
import type { AlertCode } from './notification.ts';
import type { Stop } from './operator.ts';
import type { CarriedPlan, Plan } from './plan.ts';
import type { RolloutState } from './rollout.ts';
import type { CheckFound, Run, RunFindings } from './run.ts';
import type { NewSignals, TransmitterState } from './signal.ts';
import type { Baseline, Coverage, Movement } from './snapshot.ts';
import type { Source, SubjectKind } from './subjects.ts';
import type { VerdictName } from './verdict.ts';

/** The key of `OpenState.lastAttempts`. */
export function attemptKey(rule: string, action: ActionName, target: string): string {
  return `${rule} ${action} ${target}`;
}

/** The parts of an `attemptKey`: neither a rule's id nor an action's name holds a space. The rule is empty for a person's release. */
export function attemptOfKey(key: string): { rule: string; action: ActionName; target: string } {
  const first = key.indexOf(' ');
  const second = key.indexOf(' ', first + 1);
  const action = key.slice(first + 1, second) as ActionName;
  return { rule: key.slice(0, first), action, target: key.slice(second + 1) };
}

/** Whether their rule is loaded or not; of one subject, or of all. */
export async function openClaims(
  reader: { claims(filter: { status: Claim['status']; subjectId?: string }): Promise<Claim[]> },
  of: { subjectId?: string } = {},
): Promise<Claim[]> {
  const standing = await reader.claims({ ...of, status: 'standing' });
  return [...standing, ...(await reader.claims({ ...of, status: 'orphaned' }))];
}

/** The key of `OpenState.lately`. */
export function latelyKey(rule: string, subjectId: string): string {
  return `${rule} ${subjectId}`;
}

/** A rule's id has no space. */
export function partsOfLatelyKey(key: string): [rule: string, subjectId: string] {
  const space = key.indexOf(' ');
  return [key.slice(0, space), key.slice(space + 1)];
}

export function latelyOf({ since, closedAt }: Pick<Episode, 'since' | 'closedAt'>): MatchedLately {
  return { since, ...(closedAt !== undefined && { until: closedAt }) };
}

/** An episode of the last 24 hours, epoch ms; the longest, if there were several. */
export interface MatchedLately {
  since: number;
  /** Absent: it is not over. */
  until?: number;
  /** The rule was acted for, within these hours. */
  acted?: true;
}

/** All open state that deciding needs. */
export interface OpenState {
  /** Episodes that are not closed, and closed ones that still have a claim. */
  episodes: Episode[];
  /** Claims that are standing or orphaned. */
  claims: Claim[];
  /** Decisions in force, to separate new and changed ones from unchanged ones. */
  decisions: StoredDecision[];
  /** Live intents (not dry ones) of these episodes and of open claims, and all that are under way or in doubt. */
  intents: Intent[];
  /** Keys of planned intents that an operator rejected, with their episodes still open. */
  rejected: ReadonlySet<string>;
  /** The time of the last attempt by `rule action target`, epoch ms. A person's release has no rule. */
  lastAttempts: ReadonlyMap<string, number>;
  /** Attempts of each action in the last 24 hours, for the ceilings. */
  attempts24h: ReadonlyMap<ActionName, number>;
  /**
   * Subjects that a rule newly matched or acted on within the last 24 hours, by `latelyKey`, beside those of `episodes`. Undefined in records of
   * earlier versions: nothing is weighed against a day then.
   */
  lately?: ReadonlyMap<string, MatchedLately> | undefined;
  /** Exemptions in force. */
  exemptions?: readonly Exemption[];
  /** An operator stopped everything. */
  stop?: Stop | undefined;
  /** Of episodes that are not closed, by episode. Absent in records of earlier versions: there are none. */
  notices?: ReadonlyMap<string, readonly Notice[]> | undefined;
  /** How far rules with a rollout are. */
  rollouts?: readonly RolloutState[];
}

/** Subjects of these kinds whose open state is asked for, with their targets. */
export interface OpenStateAbout {
  kinds: readonly SubjectKind[];
  subjects: readonly string[];
  targets: readonly string[];
}

/** The changes of deciding, committed with the run's findings before anything is called. */
export interface RunCommit {
  runId: string;
  findings: RunFindings;
  /** The events that made it look at these subjects: what is read of the log and what was decided on it are one unit. */
  observed?: ObservedEvents | undefined;
  baselines: Baseline[];
  /** Of the sources that it read whole, trusted or not. */
  movements: readonly Movement[];
  episodes: Episode[];
  claims: Claim[];
  decisions: Decision[];
  /** Decisions in force until now that this run does not repeat. */
  endedDecisions: string[];
  intents: Intent[];
  plan: Plan | undefined;
  /** Pending plans that this run gave another content, `plan` among them. */
  carriedPlans: CarriedPlan[];
  /** Pending plans of which it plans nothing. */
  supersededPlans: string[];
  /** Exemptions that held back a match, and those whose coming end is announced for the first time. */
  exemptions?: { used: readonly string[]; warned: readonly string[] };
  notices?: { begun: readonly NewNotice[]; ended: readonly EndedNotices[] };
  /** Rollouts that began, moved or were stopped. */
  rollouts?: readonly RolloutState[];
  notes: AuditNote[];
}

/** The number of removed rows. */
export interface Removed {
  runs: number;
  decisions: number;
  intents: number;
  plans: number;
  /** Closed ones, of any run. */
  episodes: number;
  /** The number of the last of these runs; 0 without any. */
  upTo: number;
}

export interface ObservedEvents {
  events: TrustEvent[];
  /** Signals that are taken up as events, and what is known of their transmitters. */
  signals?: NewSignals | undefined;
  /** The stretch of time that this read covers without a gap. */
  coverage: Coverage | undefined;
  /** Rows older than this are no longer needed by any window. */
  forgetBeforeMs: number;
  /** Those of a higher number stay, however old: the history has not read them yet. Undefined: it has read all that it is to read. */
  unreadAfterNo?: number | undefined;
}

/** An operator releases a target: the undo to send, or the claims that end without one. */
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

/** What came of a check again. */
export interface Checked {
  found: CheckFound;
  /** It was checked just before: this is what was found then. */
  isRepeat: boolean;
  /** Its number; undefined: the subject is gone, and nothing was recorded. */
  run: number | undefined;
  /** The newest decision about each undo. */
  undos: readonly DecisionNow[];
}

export interface DecisionQuery {
  runSeq?: number;
  /** In force in the run of this number: written by it, or by an earlier one and unchanged since. */
  inForceIn?: number;
  rule?: string;
  subjectId?: string;
  /** One of these. */
  subjectIds?: readonly string[];
  target?: string;
  decision?: string;
  action?: string;
  /** About this user, or a device that a trusted reading showed to be theirs: an e-mail address, in any case. */
  owner?: string;
  /** Written at this time or later, epoch ms. */
  since?: number;
  limit: number;
  /** Decisions written before this one (its id), newest first. */
  before?: string;
}

// What the database shows at one moment, in numbers: what waits for a person, what is in doubt, what is stopped, when
// each source was last trusted.

/** How many there are, and since when the oldest of them is so, epoch ms; undefined without any. */
export interface Waiting {
  count: number;
  oldestAt: number | undefined;
}

/** Cheap to read: each is found in an index, or in a table of a few rows. */
export interface StoreFigures {
  /** When everything was stopped, epoch ms; undefined: it is not. */
  stoppedAt: number | undefined;
  plans: Waiting;
  /** Approved, not applied yet. */
  approvedPlans: Waiting;
  /** Committed and not sent yet. */
  plannedIntents: Waiting;
  inDoubt: Waiting;
  parked: Waiting;
  notifications: Waiting;
  alerts: { code: AlertCode; count: number }[];
  /** Standing and orphaned ones. */
  claims: { status: string; count: number }[];
  exemptions: number;
  /** Of lists: when the last trusted reading of each ended. Of the event log: until when it is known. Epoch ms. */
  lastTrusted: { source: Source; at: number; count: number | undefined }[];
  /** When the newest completed run over all active rules ended. */
  lastCompletedAt: number | undefined;
  auditEntries: number;
  transmitters: TransmitterState[];
}

/** What the newest run over lists that has findings found. */
export interface LastFindings {
  seq: number;
  /** Of the sources that its rules read. */
  sources: { source: Source; isUsable: boolean }[];
  /** Of the rules that it judged. */
  rules: ({ rule: string } & Record<VerdictName, number>)[];
}

/** Sizes in bytes. */
export interface DiskUse {
  database: number;
  /** The write-ahead log. */
  log: number;
  /** Of the file system: what a process without special rights may still write, and all of it. */
  free: number;
  size: number;
}
