// domain: the store as acting sees it. In: a target, an intent, ids. Out: what is stored about only these.
// INVARIANT: each method reads by an index. Acting asks once per target, so it must not read the rows of other targets.
// Two targets of equal text may be about different things (`isSameTarget`): a caller that asks by text compares the answers.
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { Claim } from './claim.ts';
import type { Decision } from './decision.ts';
import type { Episode } from './episode.ts';
import type { Intent, SettledAs } from './intent.ts';
import type { Notification } from './notification.ts';
import type { Stop } from './operator.ts';
import type { KeptLatency } from './quiet-period.ts';
import type { ClockAgreement } from './steady-time.ts';

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
export interface IntentTransitions {
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
}
