// domain: the lanes in which work of one organization waits: whose goes first, and how much of it may wait. Each lane has places of its own,
// so a flood in one lane refuses nothing in another. The queue of a daemon and the jobs of workers have the same ones.
interface LaneBounds {
  /** Work that may wait, in all and of one asker. What is under way takes no place. */
  placesMax: number;
  placesEachMax: number;
  /** After this much work of other lanes went before it, the lane is next: no lane starves another. */
  passedMax: number;
  /** What waits, in a refusal. */
  what: string;
}

/** INVARIANT: in the order in which they are served. */
export const LANES = {
  schedule: { placesMax: 1, placesEachMax: 1, passedMax: 1, what: 'scheduled runs' },
  operator: { placesMax: 20, placesEachMax: 10, passedMax: 1, what: 'operator commands' },
  watch: { placesMax: 1, placesEachMax: 1, passedMax: 2, what: 'looks at the event log' },
  request: { placesMax: 20, placesEachMax: 5, passedMax: 8, what: 'requested runs' },
} as const satisfies Record<string, LaneBounds>;

export type Lane = keyof typeof LANES;
export const LANE_NAMES = Object.keys(LANES) as readonly Lane[];

/**
 * Why `by` gets no place in a lane where `waiting` waits; undefined: there is one. Places are counted for each token; undefined is Trustward
 * itself, which is bound by those of the lane alone.
 */
export function refusalIn(
  lane: Lane,
  waiting: readonly { by: string | null | undefined }[],
  by: string | undefined,
): string | undefined {
  const { placesMax, placesEachMax, what } = LANES[lane];
  const own = by === undefined ? 0 : waiting.filter((one) => one.by === by).length;
  const isOwn = own >= placesEachMax;
  if (!isOwn && waiting.length < placesMax) return undefined;
  const whose = isOwn ? ` of the token \`${by}\`` : '';
  return `${isOwn ? own : waiting.length} ${what}${whose} are already waiting: try again later`;
}

const RETRY_MS = { min: 1_000, max: 60_000 };

/** When to ask again, ms: a place is free when the work under way has ended, which takes about as long as the last one took. */
export function retryAfterMsOf(lastTookMs: number): number {
  return Math.min(Math.max(lastTookMs, RETRY_MS.min), RETRY_MS.max);
}
