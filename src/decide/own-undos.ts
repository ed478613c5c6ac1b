// decide: what Trustward itself undid, and did before. In: the last attempts by rule, action and target. Out: whether an undo of ours came
// after an attempt; whether a target goes back and forth. A person's release is no undo of ours: it is kept without a rule. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { seenKey } from '../domain/episode.ts';
import { attemptOfKey, type OpenState } from '../domain/store.ts';
import type { Proposal } from './proposal.ts';

const DAY_MS = 86_400_000;

export class OwnUndos {
  /** The last attempt of any rule by action and target, as `seenKey`. */
  private readonly last = new Map<string, number>();

  constructor(lastAttempts: OpenState['lastAttempts']) {
    for (const [key, atMs] of lastAttempts) {
      const { rule, action, target } = attemptOfKey(key);
      const about = seenKey(action, target);
      if (rule !== '') this.last.set(about, Math.max(this.last.get(about) ?? atMs, atMs));
    }
  }

  /** When it was undone, if that was after the attempt. */
  since({ inverse }: ActionTraits, target: string, attemptMs: number | undefined): number | undefined {
    const undoneMs = inverse === undefined ? undefined : this.last.get(seenKey(inverse, target));
    return undoneMs !== undefined && attemptMs !== undefined && undoneMs >= attemptMs ? undoneMs : undefined;
  }

  /** When it was undone, if it was done, undone, and is done again within 24 hours. */
  flap({ traits, target }: Proposal, nowMs: number): number | undefined {
    const doneMs = this.last.get(seenKey(traits.name, target));
    if (doneMs === undefined || nowMs - doneMs > DAY_MS) return undefined;
    return this.since(traits, target, doneMs);
  }
}
