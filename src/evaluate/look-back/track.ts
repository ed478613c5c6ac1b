// evaluate: what is known of the past of one fact of one subject: the value before the present one, and since when without a gap. In: what
// runs saw, in the order of time. Out: three-valued answers. A run that saw no value says nothing of the value.
import { canonicalJson } from '../../domain/canonical.ts';
import type { Fact } from '../../domain/facts.ts';
import { LOOK_BACK_GAP_MS } from '../../domain/look-back.ts';

export interface Track {
  /** The last value that was seen; undefined: none yet. */
  value: Fact | undefined;
  /** Whether the last reading showed a value. */
  isThere: boolean;
  /** When the value was last seen, and the subject last read, with a value or without. */
  seenMs: number;
  readMs: number;
  /** Since when the value is known without a gap. */
  knownSinceMs: number;
  /** The value before; undefined: it is not known. */
  previous: Fact | undefined;
  /** When the value was first seen after another one; undefined: no change was seen. */
  changedMs: number | undefined;
  /** The change was not before this: earlier than `changedMs` only across a gap. */
  notBeforeMs: number;
  /** Since the value was last seen, there was a gap: another one may have been in between. */
  isCut: boolean;
}

/** Nothing was seen yet. `value`: what was there before, at an unknown time. */
export function newTrack(value: Fact | undefined): Track {
  return {
    value,
    isThere: value !== undefined,
    seenMs: Number.NEGATIVE_INFINITY,
    readMs: Number.NEGATIVE_INFINITY,
    knownSinceMs: Number.POSITIVE_INFINITY,
    previous: undefined,
    changedMs: undefined,
    notBeforeMs: Number.NEGATIVE_INFINITY,
    isCut: true,
  };
}

/** A reading of the subject. `value`: undefined where it showed none. INVARIANT: not before the reading before. */
export function step(track: Track, value: Fact | undefined, atMs: number): void {
  if (atMs - track.readMs > LOOK_BACK_GAP_MS) {
    track.previous = undefined;
    track.isCut = true;
  }
  track.readMs = atMs;
  track.isThere = value !== undefined;
  if (value === undefined) return;
  const isGap = atMs - track.seenMs > LOOK_BACK_GAP_MS;
  if (isGap) track.knownSinceMs = atMs;
  if (track.value !== undefined && !isSame(track.value, value)) {
    track.previous = track.isCut ? undefined : track.value;
    track.changedMs = atMs;
    track.notBeforeMs = isGap ? track.seenMs + 1 : atMs;
  }
  track.value = value;
  track.seenMs = atMs;
  track.isCut = false;
}

/** Readings up to `toMs` without a gap between them, and none that showed anything else. */
export function stay(track: Track, toMs: number): void {
  track.readMs = toMs;
  if (track.isThere) track.seenMs = toMs;
}

/** Whether the value changed after `fromMs`; undefined: that is not known. */
export function hasChanged({ changedMs, notBeforeMs, knownSinceMs }: Track, fromMs: number): boolean | undefined {
  if (changedMs !== undefined && notBeforeMs > fromMs) return true;
  return knownSinceMs <= fromMs ? false : undefined;
}

/** The value before the present one: where there is none now, the last one. Undefined: it is not known. */
export function valueBefore({ isThere, isCut, value, previous }: Track): Fact | undefined {
  if (isThere) return previous;
  return isCut ? undefined : value;
}

/** Lists have no order: the server may send the same owners in another one. */
export function isSame(a: Fact, b: Fact): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return keyOf(a) === keyOf(b);
}

function keyOf(value: Fact): string {
  return Array.isArray(value) ? [...new Set(value.map(canonicalJson))].sort().join('\n') : canonicalJson(value);
}
