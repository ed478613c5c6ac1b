// domain: the standing wish of an episode that a target be in a state. It is undone only when the last one ends.
import type { ActionName } from './action.ts';

/**
 * standing: in force. orphaned: its rule is missing or off; nothing is undone until a person or a rule decides.
 * ended: over (undone, or nothing to undo). overridden: a person reversed it. released: a person let go of it.
 */
export type ClaimStatus = 'standing' | 'orphaned' | 'ended' | 'overridden' | 'released';

export interface Claim {
  id: string;
  episodeId: string;
  rule: string;
  subjectId: string;
  /** The action whose effect is claimed. */
  action: ActionName;
  target: string;
  /** The intent that set the state; claims adopted from another keep that one's. */
  intentId: string;
  status: ClaimStatus;
  openedAt: number;
  endedAt: number | undefined;
}
