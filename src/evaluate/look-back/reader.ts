// evaluate: the operators that look back, for the record that is judged: what runs saw before, and the record itself as what is
// seen now. In: a fact that looks back, the tracks. Out: a value, unknown where a gap may hide another answer. Nothing moves by it.
import type { ExplainedPast } from '../../domain/explanation.ts';
import { ownText } from '../../domain/facts.ts';
import { ID_FIELD, type SubjectKind } from '../../domain/subjects.ts';
import { isYoung } from '../facts/fact-reader.ts';
import type { LookedBack } from '../language/expression.ts';
import type { Frame } from '../language/frame.ts';
import type { Reasons, Unknown, Value } from '../language/three-valued.ts';
import { isOfType, ownAt } from '../language/typed-value.ts';
import { hasChanged, newTrack, step, type Track, valueBefore } from './track.ts';
import type { LookBackTracks } from './tracks.ts';

export interface LookBackReader {
  value(frame: Frame): Value;
  /** For people; undefined: nothing is known. */
  past(frame: Frame): ExplainedPast | undefined;
}

/** `tracks`: undefined where no past is known. */
export function lookBackReader(
  kind: SubjectKind,
  past: LookedBack,
  label: string,
  tracks: LookBackTracks | undefined,
  reasons: Reasons,
): LookBackReader {
  const { asks, present, withinMs } = past;
  const at = tracks?.register(kind, past) ?? -1;
  const path = `\`${present.label}\``;
  const of = {
    notKept: reasons.unknown(label, `the past of ${path} is not known: no history is kept (TRUSTWARD_HISTORY)`),
    noChange: reasons.unknown(label, `no change of ${path} was seen that has no gap after it`),
    gap: reasons.unknown(label, `${path} was not seen for all of the time that \`${label}\` asks about`),
    missing: reasons.unknown(present.label, `${path} is missing`),
    isNull: reasons.unknown(present.label, `${path} is null`),
    wrongType: reasons.unknown(present.label, `${path} is not of the type it should be`),
    stale: reasons.unknown(
      present.label,
      `${path} is stale: ${present.fresh.map((each) => `\`${each.label}\``).join(' or ')} is too old, or was never set`,
      'stale',
    ),
  };
  const scratch = newTrack(undefined);

  const doubtOf = (frame: Frame): Unknown | undefined => {
    if (present.fresh.some((each) => !isYoung(frame.record, each, frame.nowMs))) return of.stale;
    const value = ownAt(frame.record, present.path);
    if (value === undefined) return of.missing;
    if (value === null) return of.isNull;
    return isOfType(value, present.type) ? undefined : of.wrongType;
  };

  const seenNow = (frame: Frame): Track | undefined => {
    if (!tracks?.isFilled) return undefined;
    const track = tracks.track(kind, ownText(frame.record, ID_FIELD[kind]) ?? '', at);
    const value = ownAt(frame.record, present.path);
    const known = value !== undefined && value !== null && isOfType(value, present.type) ? value : undefined;
    Object.assign(scratch, track && track.readMs <= frame.nowMs ? track : newTrack(undefined));
    step(scratch, known, frame.nowMs);
    return scratch;
  };

  return {
    value(frame) {
      const doubt = doubtOf(frame);
      if (doubt && (asks !== 'before' || doubt === of.stale)) return doubt;
      const track = seenNow(frame);
      if (!track) return of.notKept;
      if (asks === 'before') return valueBefore(track) ?? of.noChange;
      const changed = hasChanged(track, frame.nowMs - withinMs);
      return changed === undefined ? of.gap : changed === (asks === 'changed');
    },
    past(frame) {
      const track = seenNow(frame);
      if (!track) return undefined;
      const { changedMs, knownSinceMs } = track;
      const sinceMs = Number.isFinite(knownSinceMs) ? knownSinceMs : undefined;
      return { was: valueBefore(track), changedAt: track.isThere ? changedMs : undefined, knownSince: sinceMs };
    },
  };
}
