// domain: one run and what it found, as the store keeps it and reports show it.

import type { Facts } from './facts.ts';
import type { RunOperatorState } from './operator.ts';
import type { AlmostValue, Mode } from './rule.ts';
import type { Snapshot } from './snapshot.ts';
import type { SubjectRef } from './subjects.ts';
import type { RuleTally } from './verdict.ts';

export const RUN_TRIGGERS = ['schedule', 'http', 'command', 'watch', 'check'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];
export const RUN_STATUSES = ['running', 'completed', 'aborted'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export interface RunRequest {
  mode: Mode;
  trigger: RunTrigger;
  /** Only these rules; undefined: the whole active set. */
  rules: string[] | undefined;
  /** A one-shot run waits once for the quiet period when something is in doubt; a daemon has a next run anyway. */
  waitForDoubts: boolean;
  /** Who asked for it, such as the name of a token; undefined for the schedule. */
  by?: string;
  /** Of a request that may be repeated: stored with the run's beginning, so that a repeat begins no second one. */
  onceId?: string;
}

/** Equal dry runs that wait have the same text, and become one. Undefined: it is one of its own. */
export function sameDryRun({ mode, rules, onceId }: Pick<RunRequest, 'mode' | 'rules' | 'onceId'>): string | undefined {
  // A request with a key has a run of its own, which is stored with the key.
  if (mode !== 'dry-run' || onceId !== undefined) return undefined;
  return JSON.stringify(rules ? [...rules].sort() : null);
}

/** Stands above whatever shows the organization of the embedded console. */
export const DEMO_WORDS = 'DEMO: a made-up organization, served by the embedded console';

export interface Run {
  id: string;
  /** Position among the runs of this database: 1, 2, 3 …; 0 for a what-if, which is not stored. */
  seq: number;
  mode: Mode;
  /** The highest mode that the daemon allows; reports name it when it lowered a rule's mode. */
  daemonMode: Mode;
  trigger: RunTrigger;
  /** Ids of the rules of this run. */
  rules: string[];
  /** Only over the rules that somebody chose or, of a look at the event log, over the subjects that it named. */
  scoped?: true;
  /** Of a look or a check between two whole runs: the id of the last whole run. Attempts of both are one count. */
  countsWith?: string;
  ruleSetHash: string;
  /** The folder that they were loaded from, by its real path; undefined in runs of earlier versions. */
  rulesDir?: string | undefined;
  startedAt: number;
  finishedAt: number | undefined;
  status: RunStatus;
  /** Why it was aborted, in one line. */
  error: string | undefined;
  /** True when it ran against the embedded console. */
  demo: boolean;
  /** When the last run before it was completed, if that made it a dry one; while it runs. */
  silentSince?: number | undefined;
  /** A run over other rules than the active set: it sends nothing, and nothing of it is stored. */
  whatIf?: true;
}

/** Over a few subjects, that new events named or somebody asked about: it shows nothing of all others. A whole run that a look asked for is none. */
export function isOfLook({ trigger, scoped }: { trigger: RunTrigger; scoped?: boolean }): boolean {
  return (trigger === 'watch' || trigger === 'check') && scoped === true;
}

/** Runs of a list, newest first. */
export interface RunQuery {
  /** Before the run of this number. */
  before?: number;
  /** Not over before this time, epoch ms. */
  since?: number;
  status?: RunStatus;
  /** Over all active rules. */
  whole?: boolean;
  /** Without those of looks at the event log. */
  overLists?: boolean;
  limit: number;
}

/** What one run did: its own decisions, and its intents as they are now; not what a person released meanwhile. */
export interface RunCounts {
  act: number;
  hold: number;
  skip: number;
  /** Skipped now, and done when its time has come if its rule matches then. */
  wait: number;
  done: number;
  failed: number;
  /** Without an outcome yet, in doubt or parked. */
  open: number;
}

/** What a run found, written with its decisions in one transaction. */
export interface RunFindings {
  snapshot: Snapshot;
  tallies: RunRuleTally[];
  /** The digest of the plan, also when nothing was planned. */
  planDigest: string;
  /** The operator commands that it saw. */
  operator?: RunOperatorState;
  /** Of a check again: what it was asked about, and what it saw. */
  check?: CheckFound;
}

// A check again: one subject that somebody asked about, read now between two whole runs.

/** `new`: it matches and has no episode yet; the next run begins one. */
export const CHECK_VERDICTS = ['mended', 'still', 'new', 'unknown'] as const;

/** One rule that has, or would have, an episode of the subject. */
export interface CheckedRule {
  rule: string;
  title: string;
  /** Several devices share a serial number: an action on one hits them all. */
  subject: SubjectRef;
  verdict: (typeof CHECK_VERDICTS)[number];
  /** Of a match: the facts that are still wrong. */
  facts: Facts;
  /** When the platform's report was made that the rule goes by, epoch ms. */
  reportedAt: number | undefined;
  /** When the match ends if it stays mended. */
  endsAt: number | undefined;
  hasEnded: boolean;
  /** Why it is unknown, or what it waits for. */
  why: string | undefined;
}

export interface CheckFound {
  subject: SubjectRef;
  /** Undefined: the platform has it no more. */
  name: string | undefined;
  /** E-mail addresses of the owners just read. */
  owners: readonly string[];
  readAt: number;
  rules: readonly CheckedRule[];
}

/** How many subjects each rule matched in one run. Rules that it did not judge are left out. */
export interface RunTallies {
  seq: number;
  /** When it began, epoch ms. */
  at: number;
  tallies: Pick<RuleTally, 'rule' | 'match' | 'no_match' | 'unknown' | 'error'>[];
}

export interface RunRuleTally extends RuleTally {
  mode: Mode;
  hash: string;
  title: string;
  /** False when a source it needs could not be read: the rule was not judged. */
  judged: boolean;
  /** Absent: none, also where the list was not read whole or is not trusted, and in runs of earlier versions. */
  almostValues?: AlmostValue[];
  /** How long a match has to last before it counts. Absent: not at all, and in runs of earlier versions. */
  forMs?: number;
  /** What was compared with its limits. Absent in runs of earlier versions. */
  limits?: RuleLimits;
}

export interface RuleLimits {
  max: number;
  percent: number;
  /** The lesser of the two, in targets. */
  allowed: number;
  targets: number;
  /** Of the last 24 hours, in subjects. Absent in runs of earlier versions, and where what was before is not known. */
  inDay?: { subjects: number; allowed: number };
}

/** A run to compare another one with. */
export type ComparedRun = Pick<Run, 'id' | 'seq' | 'startedAt' | 'rules'>;

/** What one run counted for one rule. */
export interface RunMatches {
  rule: string;
  seq: number;
  startedAt: number;
  match: number;
}

// Watch: a look at the event log between two whole runs, and what came of it.

export interface WatchRequest {
  mode: Mode;
  /** Scheduled times that passed since this time without a whole run, epoch ms. */
  missedSince(atMs: number): number;
  /** Whether a whole run may still be started between two scheduled ones. */
  mayStartWhole: boolean;
}

/** Why a look starts a whole run instead of judging single subjects. */
export type WholeReason = 'many_subjects' | 'fact_moved' | 'source_failed';

/** Why nothing is judged between whole runs; the next whole run that finds it over ends the rest. */
export type RestReason =
  | 'no_whole_run'
  | 'untrusted'
  | 'runs_missed'
  | 'events_forbidden'
  | 'nothing_to_watch'
  | WholeReason;

/**
 * The result of one look. `nothing`: no new event named a subject, or what it named changed nothing. `acted`: a run was recorded.
 * `whole`: a whole run is needed now. `rest`: nothing was asked for.
 */
export interface WatchLook {
  result: 'nothing' | 'acted' | 'whole' | 'rest';
  /** New events, the subjects that they name, and how many of these were read, were not found, or could not be read. */
  events: number;
  named: number;
  read: number;
  strangers: number;
  unread: number;
  /** When the oldest of these events was made, epoch ms by the clock of the API; absent without one. */
  oldestEventAt?: number;
  run: Run | undefined;
  reason: { code: WholeReason | RestReason; text: string } | undefined;
}

/** `rests`: nothing is judged until a whole run ends the reason. `fails`: looks break off. */
export type WatchState =
  | { kind: 'looks' }
  | { kind: 'rests'; sinceMs: number; code: RestReason }
  | { kind: 'fails'; sinceMs: number; code: string };

/** Counted since `since`. One plain object: `/readyz` reads it, and metrics can. */
export interface WatchCounters {
  since: number;
  /** The time between two looks, ms; 0: watch is off. */
  everyMs: number;
  looks: number;
  failed: number;
  /** Runs over the subjects of a look, and whole runs that a look asked for. */
  runs: number;
  wholeRuns: number;
  events: number;
  named: number;
  strangers: number;
  unread: number;
  lastLookAt: number | undefined;
  state: WatchState;
}
