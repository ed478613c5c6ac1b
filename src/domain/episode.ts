// domain: one unbroken time in which a rule matches a subject; acting happens once an episode.
import type { ActionName } from './action.ts';
import type { SubjectRef } from './subjects.ts';

/**
 * matching: the last trusted look was a match. clearing: no match, but `clear_for` is not over.
 * frozen: the last look told nothing (unknown, error, absent, untrusted); nothing ends and nothing is undone.
 */
export type EpisodeState = 'matching' | 'clearing' | 'frozen' | 'closed';

export interface Episode {
  id: string;
  rule: string;
  subject: SubjectRef;
  /** First match, epoch ms: the report's "since". */
  since: number;
  /** Since when it has matched without a freeze, epoch ms: what `for` is counted from. */
  matchingSince: number;
  state: EpisodeState;
  /** When `state` last changed, epoch ms. */
  stateSince: number;
  /** Absent from trusted snapshots since then; undefined while it is there. */
  absentSince: number | undefined;
  /** What was once seen in the wanted state, as `seenKey`: a later change back is somebody's reversal. */
  seenSo: readonly string[];
  /** A person reversed what stood: it acts no more until the trouble itself has cleared. */
  overriddenAt: number | undefined;
  closedAt: number | undefined;
  /** `adopted`: its rule was missing or off, and another rule took over what it claimed, and it was undone. */
  closeReason: 'cleared' | 'gone' | 'adopted' | undefined;
}

/** One action on one target: a rule may wish several. */
export function seenKey(action: ActionName, target: string): string {
  return `${action} ${target}`;
}

/** The two parts of a `seenKey`: an action's name holds no space. */
export function seenOfKey(key: string): { action: ActionName; target: string } {
  const space = key.indexOf(' ');
  return { action: key.slice(0, space) as ActionName, target: key.slice(space + 1) };
}
