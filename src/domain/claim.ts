// domain: an episode's open claim that a target stays in a state. The state is undone only when the last claim ends.
import type { ActionName } from './action.ts';

/**
 * standing: in force. orphaned: its rule is missing or off; nothing is undone until an operator or a rule decides.
 * ended: over (undone, or nothing to undo). overridden: somebody reversed the state. released: an operator released it.
 */
export const CLAIM_STATUSES = ['standing', 'orphaned', 'ended', 'overridden', 'released'] as const;
export type ClaimStatus = (typeof CLAIM_STATUSES)[number];

export interface Claim {
  id: string;
  episodeId: string;
  rule: string;
  subjectId: string;
  /** The action whose effect is claimed. */
  action: ActionName;
  target: string;
  /** The intent that set the state; an adopted claim keeps the intent of the claim before it. */
  intentId: string;
  status: ClaimStatus;
  openedAt: number;
  endedAt: number | undefined;
}
