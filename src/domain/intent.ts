// domain: one action of a plan: rules, action, target, episodes, and the facts it was based on; and the table of how its state
// may change. In: an intent as it is stored. Out: whether a change is allowed. Pure.
import type { ActionName, ActionTraits, Effect } from './action.ts';
import type { Outcome } from './decision.ts';
import type { Fact, Facts } from './facts.ts';
import type { Mode } from './rule.ts';

/**
 * planned: committed, nothing called. sent: committed before the call. settled: has an outcome. withdrawn: refused
 * before any call; the note has the reason. A `sent` one found at a start is in doubt.
 */
export const INTENT_STATUSES = ['planned', 'sent', 'settled', 'withdrawn'] as const;
export type IntentStatus = (typeof INTENT_STATUSES)[number];

/** The status, and for a settled one its outcome. */
export type IntentState = Exclude<IntentStatus, 'settled'> | Outcome;

export type SettledAs = Exclude<Outcome, 'dry_run'>;

/**
 * How an intent changes: by each transition, from which state to which. A live one begins as `planned`, a dry one as `dry_run`.
 * settle: from `sent` by the answer, or as `unknown` when the answer never came; from `planned` when the state was there before any call;
 * from `unknown` by reading back. markSent of an `unknown` one: a doubt is tried once more. withdraw: an intent that was sent
 * before stays `failed`, so that its attempts count. resolve: a person records the result of a doubt, or what becomes of a failure.
 * INVARIANT: nothing leaves `succeeded`, `confirmed`, `withdrawn` or `dry_run`: an intent does nothing twice.
 */
export const INTENT_TRANSITIONS = {
  markSent: { planned: ['sent'], unknown: ['sent'] },
  settle: {
    planned: ['confirmed'],
    sent: ['succeeded', 'failed', 'unknown', 'parked'],
    unknown: ['confirmed', 'parked'],
  },
  withdraw: { planned: ['withdrawn', 'failed'] },
  reopen: { failed: ['planned'], parked: ['planned'] },
  resolve: {
    failed: ['confirmed', 'failed', 'unknown'],
    unknown: ['confirmed', 'failed', 'unknown'],
    parked: ['confirmed', 'failed', 'unknown'],
  },
} as const satisfies { [transition: string]: { [from in IntentState]?: readonly IntentState[] } };

export type IntentTransition = keyof typeof INTENT_TRANSITIONS;

export function stateOf({ status, outcome }: { status: IntentStatus; outcome?: Outcome | undefined }): IntentState {
  return status === 'settled' ? (outcome as Outcome) : status;
}

export function mayChange(transition: IntentTransition, from: IntentState, to: IntentState): boolean {
  const row: { [state in IntentState]?: readonly IntentState[] } = INTENT_TRANSITIONS[transition];
  return row[from]?.includes(to) ?? false;
}

/** The basis of a proposal: one matched subject of one rule. */
export interface IntentBasis {
  rule: string;
  ruleHash: string;
  subjectId: string;
  episodeId: string;
  decisionId: string;
  /** The facts of the match; only those of the record itself are compared for drift. */
  facts: { [path: string]: Fact };
}

/** An intent as decide/ proposes it and a plan seals it. */
export interface IntentDraft {
  action: ActionName;
  target: string;
  settings: Facts;
  /** True when it undoes what Trustward did: the inverse of the claims' action. */
  undo: boolean;
  /** A person asked for this undo: it does not wait until the match has cleared, and its claims end as `released`. */
  released?: boolean;
  basis: IntentBasis[];
  effect: Effect;
}

/** Done: the answer, a read-back or an operator confirmed it. */
export function isDone({ outcome }: { outcome?: Outcome | undefined }): boolean {
  return outcome === 'succeeded' || outcome === 'confirmed';
}

/** Whether a subject that it was about is no longer in the state that it set: a stale read, or somebody changed it. */
export function contradicts(
  { basis, effect }: Pick<Intent, 'basis' | 'effect'>,
  { valueWritten }: ActionTraits,
  stateOf: (subjectId: string) => string | undefined,
): boolean {
  const about = new Set([...basis.map(({ subjectId }) => subjectId), ...effect.devices.map(({ id }) => id)]);
  return [...about].some((id) => (stateOf(id) ?? valueWritten) !== valueWritten);
}

/** How often in a row the server refused it before doing anything. */
export function timesRefused({ refused }: Pick<Intent, 'refused'>): number {
  return refused?.times ?? 0;
}

/** Not sent yet, without an outcome, or in doubt: its effect is not known yet. */
export function isUnresolved({ status, outcome }: Pick<Intent, 'status' | 'outcome'>): boolean {
  return status === 'planned' || status === 'sent' || outcome === 'unknown';
}

/** It was sent, and its effect is not known (yet). */
export function isInDoubt({ status, outcome }: Pick<Intent, 'status' | 'outcome'>): boolean {
  return status === 'sent' || outcome === 'unknown';
}

export interface Intent extends IntentDraft {
  id: string;
  runId: string;
  /** The lowest of the modes that applied when it was made; `dry-run`: nothing is ever called for it. */
  mode: Mode;
  planId: string | undefined;
  /** An operator approved it, with a plan or by asking for a release: that covers limits, but not ceilings. */
  approved: boolean;
  status: IntentStatus;
  outcome: Outcome | undefined;
  /** Number of requests made for it; one that the server refused does not count. */
  attempts: number;
  /** The server refused its last requests before it did anything (401, 403): how many in a row, and a mark of the credential. */
  refused?: { times: number; credential: string | undefined } | undefined;
  /** Attempts after a doubt was resolved as "not done": at most one. */
  doubtRetries: number;
  createdAt: number;
  sentAt: number | undefined;
  settledAt: number | undefined;
  note: string | undefined;
}

/** The time from which reads show its effect: a clock that was set back meanwhile dates its end before it was sent. */
export function settledMs({ sentAt = 0, settledAt }: Pick<Intent, 'sentAt' | 'settledAt'>): number | undefined {
  return settledAt === undefined ? undefined : Math.max(sentAt, settledAt);
}

/** What a person knows of an intent in doubt, or wants of it. */
export const RESOLUTIONS = ['done', 'not-done', 'retry'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

export const NEXT_OF_DOUBT = 'the next run reads it back';
export const NEXT_OF_FAILURE = 'a later run tries again while its rule matches';

/** Undefined: nothing is to come. */
export function nextText(intent: Pick<Intent, 'status' | 'outcome'>): string | undefined {
  if (isInDoubt(intent)) return NEXT_OF_DOUBT;
  if (intent.outcome === 'parked') return 'it waits for a person: nothing happens by itself';
  if (intent.outcome === 'failed') return NEXT_OF_FAILURE;
  return intent.status === 'planned' ? 'it is under way' : undefined;
}
