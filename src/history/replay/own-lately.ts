// history: the subjects that the rules of a what-if newly matched or acted on within 24 hours: those of its beginning, as recorded, and its own. In:
// an open state, episodes that are over, acts. Out: what limits of a day count with at a time, beside open episodes.
import type { Episode } from '../../domain/episode.ts';
import { latelyKey, latelyOf, type MatchedLately, type OpenState } from '../../domain/store.ts';

const DAY_MS = 86_400_000;

export class OwnLately {
  private readonly known = new Map<string, { one: MatchedLately; untilMs: number }>();

  /** The record has no time of an act: it counts for a whole day. */
  constructor({ lately }: Pick<OpenState, 'lately'>, atMs: number) {
    for (const [key, one] of lately ?? [])
      this.known.set(key, { one, untilMs: DAY_MS + (one.acted ? atMs : one.since) });
  }

  /** Of these episodes those that are over. */
  add(episodes: Iterable<Episode>): void {
    for (const episode of episodes) if (episode.state === 'closed') this.put(episode, latelyOf(episode), episode.since);
  }

  /** For these episodes. */
  did(episodes: readonly Episode[], atMs: number): void {
    for (const episode of episodes) this.put(episode, { ...latelyOf(episode), acted: true }, atMs);
  }

  inDayBefore(nowMs: number): ReadonlyMap<string, MatchedLately> {
    for (const [key, { untilMs }] of this.known) if (untilMs <= nowMs) this.known.delete(key);
    return new Map([...this.known].map(([key, { one }]) => [key, one]));
  }

  private put({ rule, subject }: Episode, one: MatchedLately, fromMs: number): void {
    const key = latelyKey(rule, subject.id);
    const known = this.known.get(key);
    const isLonger = known === undefined || lasted(one) > lasted(known.one);
    const longest = isLonger ? one : known.one;
    const acted = one.acted ?? known?.one.acted;
    const untilMs = Math.max(known?.untilMs ?? 0, fromMs + DAY_MS);
    this.known.set(key, { one: acted ? { ...longest, acted } : longest, untilMs });
  }
}

/** One that is not over lasts on. */
function lasted({ since, until = Number.POSITIVE_INFINITY }: MatchedLately): number {
  return until - since;
}
