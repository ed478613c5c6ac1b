// evaluate: the tracks of all subjects in one window, by the two names that a subject has. In: events with one key or both. Out: the tracks
// of a subject, so that an event with both keys counts once. Nearly always the two keys go together; then they share one track.
import { Track } from './track.ts';

/** The two names a subject's events are found by: DeviceID and serial number, ServiceID and name; a user has its e-mail. */
export interface SubjectKeys {
  first: string | undefined;
  second: string | undefined;
}

export class Tracks {
  private readonly first = new Map<string, Track>();
  private readonly second = new Map<string, Track>();
  /** Events that have both keys, so that they are not counted twice; not of keys that share a track. */
  private readonly both = new Map<string, Track>();
  /** The keys of each track that two keys share. INVARIANT: every event of one of them has both. */
  private readonly shared = new Map<Track, { first: string; second: string }>();

  add({ first, second }: SubjectKeys, timeMs: number, value: string): void {
    const byFirst = first === undefined ? undefined : this.first.get(first);
    const bySecond = second === undefined ? undefined : this.second.get(second);
    if (first !== undefined && second !== undefined) {
      if (byFirst === bySecond) {
        (byFirst ?? this.beginShared(first, second)).add(timeMs, value);
        return;
      }
      this.part(byFirst);
      this.part(bySecond);
      trackIn(this.both, bothKey(first, second)).add(timeMs, value);
    } else this.part(byFirst ?? bySecond);
    if (first !== undefined) trackIn(this.first, first).add(timeMs, value);
    if (second !== undefined) trackIn(this.second, second).add(timeMs, value);
  }

  /** The events of the first key, of the second one, and of both. */
  find(keys: SubjectKeys, fromMs: number, toMs: number): (Track | undefined)[] {
    const first = keys.first === undefined ? undefined : this.first.get(keys.first);
    const second = keys.second === undefined ? undefined : this.second.get(keys.second);
    first?.slide(fromMs, toMs);
    if (first === second) return [first];
    second?.slide(fromMs, toMs);
    const both = first && second ? this.both.get(bothKey(keys.first, keys.second)) : undefined;
    both?.slide(fromMs, toMs);
    return [first, second, both];
  }

  forget(beforeMs: number): void {
    for (const tracks of [this.first, this.second, this.both]) {
      for (const [key, track] of tracks) if (!track.forget(beforeMs)) tracks.delete(key);
    }
    for (const track of this.shared.keys()) if (track.isEmpty) this.shared.delete(track);
  }

  private beginShared(first: string, second: string): Track {
    const track = new Track();
    this.first.set(first, track);
    this.second.set(second, track);
    this.shared.set(track, { first, second });
    return track;
  }

  /** Gives the keys of a shared track one each: an event has one of them without the other. */
  private part(track: Track | undefined): void {
    const keys = track && this.shared.get(track);
    if (!keys) return;
    this.shared.delete(track);
    this.second.set(keys.second, track.copy());
    this.both.set(bothKey(keys.first, keys.second), track.copy());
  }
}

const bothKey = (first: string | undefined, second: string | undefined): string => `${first}\u0000${second}`;

function trackIn(tracks: Map<string, Track>, key: string): Track {
  let track = tracks.get(key);
  if (!track) {
    track = new Track();
    tracks.set(key, track);
  }
  return track;
}
