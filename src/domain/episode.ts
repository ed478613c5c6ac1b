// domain: an episode's open claim that a target stays in a state. The state is undone only when the last claim ends.
import type { ActionName } from './action.ts';
import type { SubjectRef } from './subjects.ts';

/**
 * standing: in force. orphaned: its rule is missing or off; nothing is undone until an operator or a rule decides.
 * ended: over (undone, or nothing to undo). overridden: somebody reversed the state. released: an operator released it.
 */
export const CLAIM_STATUSES = ['standing', 'orphaned', 'ended', 'overridden', 'released'] as const;
export type ClaimStatus = (typeof CLAIM_STATUSES)[number];

/** Of those in force. */
export const OPEN_CLAIM_STATUSES = ['standing', 'orphaned'] as const satisfies readonly ClaimStatus[];

export function isOpenClaim({ status }: Pick<Claim, 'status'>): boolean {
  return status === 'standing' || status === 'orphaned';
}

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

// One unbroken time in which a rule matches a subject; acting happens once an episode.

/**
 * matching: the last trusted verdict was a match. clearing: no match, but `clear_for` is not over. frozen: the last
 * verdict decided nothing (unknown, error, absent, untrusted); nothing ends and nothing is undone.
 */
type EpisodeState = 'matching' | 'clearing' | 'frozen' | 'closed';

/** When the reports were made that one verdict rests on, epoch ms by the path of the time; null: this report has none. */
export type ReportTimes = { readonly [path: string]: number | null };

/** The newest reports that an episode has seen, epoch ms: among those that matched, and among all. */
interface SeenReport {
  matched: number;
  newest: number;
}

export interface Episode {
  id: string;
  rule: string;
  subject: SubjectRef;
  /** First match, epoch ms: the report's "since". */
  since: number;
  /** Start of the match without a freeze, epoch ms: `for` is counted from here. */
  matchingSince: number;
  state: EpisodeState;
  /** When `state` last changed, epoch ms. */
  stateSince: number;
  /** Absent from trusted snapshots since then; undefined while it is present. */
  absentSince: number | undefined;
  /** Targets once read in the intended state, as `seenKey`: a later change back is somebody's reversal. */
  seenSo: readonly string[];
  /**
   * Claimed states that a list showed reversed while the target's own record could not be read, as `seenKey`. Read as ours again, they may be
   * somebody's: they are undone with a person's yes. Absent: none.
   */
  shownReversed?: readonly string[];
  /** By the path of the time: only a newer report ends it. Absent: no report that matched has a time, or the rule undoes nothing. */
  reports?: { readonly [path: string]: SeenReport };
  /** Somebody reversed the state: the episode acts again only after its match has cleared. */
  overriddenAt: number | undefined;
  closedAt: number | undefined;
  /** `adopted`: its rule was missing or off, another rule took over its claims, and the state was undone. */
  closeReason: 'cleared' | 'gone' | 'adopted' | undefined;
}

export function closeEpisode(
  episode: Episode,
  closeReason: NonNullable<Episode['closeReason']>,
  nowMs: number,
): Episode {
  return { ...episode, state: 'closed', stateSince: nowMs, closedAt: nowMs, closeReason };
}

/** One action on one target: a rule may propose several. */
export function seenKey(action: ActionName, target: string): string {
  return `${action} ${target}`;
}

/** The two parts of a `seenKey`: an action's name holds no space. */
export function seenOfKey(key: string): { action: ActionName; target: string } {
  const space = key.indexOf(' ');
  return { action: key.slice(0, space) as ActionName, target: key.slice(space + 1) };
}
