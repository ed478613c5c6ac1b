// domain: the store as acting sees it. In: a target, an intent, ids. Out: what is stored about just that.
// INVARIANT: each method reads by an index. Acting asks once per target, so it must not read what concerns other targets.
// Two targets of equal text may be about different things (`isSameTarget`): whoever asks by text compares the answers.
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { Claim } from './claim.ts';
import type { Decision, Outcome } from './decision.ts';
import type { Effect } from './effect.ts';
import type { Episode } from './episode.ts';
import type { Facts } from './facts.ts';
import type { Intent, IntentBasis, IntentStatus } from './intent.ts';
import type { Notification } from './notification.ts';
import type { Stop } from './operator.ts';
import type { ClockAgreement } from './steady-time.ts';

export interface IntentChange {
  intentId: string;
  status: IntentStatus;
  outcome: Outcome | undefined;
  note: string | undefined;
  /** One request was made, or is about to be: in the count of this run, or by itself. */
  attempt?: { begun: true; run: string | undefined } | { answered: string };
  doubtRetry?: boolean;
  /** A person lets a doubt be resolved anew: it may be tried once more. */
  forgetDoubtRetries?: boolean;
  /** A person says that it is not to be done again for its episodes. */
  suppress?: boolean;
  claims?: Claim[];
  episodes?: Episode[];
  /** What it rests on now: some rules of an earlier attempt may wish it no more, and others may have come. */
  basis?: readonly IntentBasis[];
  /** What is sent now: the rule may have been edited since an earlier attempt. */
  settings?: Facts;
  /** What it does now to what was read. */
  effect?: Effect;
  /** Of the clocks that its times are written by. */
  clocks?: ClockAgreement;
  /** Put into the outbox with it. */
  notifications?: Notification[];
  /** The decision rows of this intent say the same. */
  revise?: Pick<Decision, 'decision' | 'reason' | 'reasonText'>;
  notes: AuditNote[];
}

export interface ActStore {
  /** Standing ones first, then orphaned ones. */
  openClaimsOn(target: string): Promise<Claim[]>;
  /** Of these ids, those that are not closed, and closed ones that still have an open claim. */
  episodesInForce(ids: readonly string[]): Promise<Episode[]>;
  /** Those that are not closed and have seen this target in a state that they want. */
  episodesThatSaw(target: string): Promise<Episode[]>;
  /** Live ones on this target, as deciding sees them: of its episodes and claims in force, and all that are not resolved. */
  intentsOn(target: string): Promise<Intent[]>;
  /** On every target, for what earlier runs left. */
  intentsIn(state: 'planned' | 'sent' | 'unknown'): Promise<Intent[]>;
  /** Attempts of an action since a time, for the 24 h ceilings. */
  attemptsSince(action: ActionName, sinceMs: number): Promise<number>;
  /** The stop switch; undefined while it is not set. */
  stop(): Promise<Stop | undefined>;
  changeIntent(change: IntentChange): Promise<void>;
}
