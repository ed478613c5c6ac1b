// history: the attempts of a what-if: those of the 24 hours before its beginning, as recorded, and its own. In: an open state, acts. Out: what
// ceilings and cooldowns count with at a time.
import type { ActionName } from '../../domain/action.ts';
import type { Intent } from '../../domain/intent.ts';
import { attemptKey, type OpenState } from '../../domain/store.ts';

const DAY_MS = 86_400_000;

interface Attempt {
  action: ActionName;
  atMs: number;
}

export class OwnAttempts {
  readonly last: Map<string, number>;
  private recent: Attempt[];

  constructor({ lastAttempts, attempts24h }: Pick<OpenState, 'lastAttempts' | 'attempts24h'>, atMs: number) {
    this.last = new Map(lastAttempts);
    this.recent = [...attempts24h].flatMap(([action, count]) => timesOf(action, count, lastAttempts, atMs));
  }

  add({ action, target, basis }: Pick<Intent, 'action' | 'target' | 'basis'>, atMs: number): void {
    this.recent.push({ action, atMs });
    // A replay releases nothing by itself.
    for (const { rule } of basis) this.last.set(attemptKey(rule, action, target), atMs);
  }

  /** In the 24 hours before. */
  inDayBefore(nowMs: number): Map<ActionName, number> {
    this.recent = this.recent.filter(({ atMs }) => atMs >= nowMs - DAY_MS);
    const counts = new Map<ActionName, number>();
    for (const { action } of this.recent) counts.set(action, (counts.get(action) ?? 0) + 1);
    return counts;
  }
}

/** The record has a number, and the time of each rule's last attempt at each target: one whose time is not known counts for a whole day. */
function timesOf(
  action: ActionName,
  count: number,
  last: ReadonlyMap<string, number>,
  nowMs: number,
): readonly Attempt[] {
  const known = new Map<string, number>();
  for (const [key, atMs] of last) {
    const [, name, ...target] = key.split(' ');
    if (name === action && atMs >= nowMs - DAY_MS) known.set(`${atMs} ${target.join(' ')}`, atMs);
  }
  const times = [...known.values()].sort((a, b) => b - a).slice(0, count);
  const unknown = new Array<number>(count - times.length).fill(nowMs);
  return [...times, ...unknown].map((atMs) => ({ action, atMs }));
}
