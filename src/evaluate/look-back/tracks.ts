// evaluate: what a rule set knows of the past: a track for each subject and fact that some rule looks back on. In: what runs saw, first from the
// history, then as it is judged. Out: tracks. It never asks for the history: what it was not given is not known.

import type { FactChange } from '../../domain/fact-change.ts';
import { LOOK_BACK_GAP_MS, type LookBack, type LookBackItem, type LookBackRun } from '../../domain/look-back.ts';
import { SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import type { LookedBack } from '../language/expression.ts';
import { type Entry, type Kept, typedValue } from './kept.ts';
import { Pass } from './pass.ts';
import { newTrack, stay, step, type Track } from './track.ts';

/** Readings of one list, each at most a gap after the one before. */
interface Stretch {
  fromMs: number;
  toMs: number;
}

const STRETCHES_MAX = 100;

export class LookBackTracks implements LookBack {
  readonly paths = new Map<SubjectKind, Set<string>>();
  withinMs = 0;
  isFilled = false;
  private readonly kept: Record<SubjectKind, Kept[]> = { device: [], user: [], service: [] };
  private readonly spans: Record<SubjectKind, Set<number>> = { device: new Set(), user: new Set(), service: new Set() };
  private readonly entries: Record<SubjectKind, Map<string, Entry>> = {
    device: new Map(),
    user: new Map(),
    service: new Map(),
  };
  /** By fact: subjects of which nothing is said were read at these times, too. */
  private stretches: Record<SubjectKind, Stretch[][]> = { device: [], user: [], service: [] };
  private lastMs = Number.NEGATIVE_INFINITY;
  private turns = 0;

  /** Before anything is observed. Returns where the tracks of the fact are. */
  register(kind: SubjectKind, { present, withinMs }: LookedBack): number {
    const kept = this.kept[kind];
    this.withinMs = Math.max(this.withinMs, withinMs);
    if (Number.isFinite(withinMs)) this.spans[kind].add(withinMs);
    const found = kept.findIndex(({ label, type }) => label === present.label && type.kind === present.type.kind);
    if (found >= 0) return found;
    const paths = this.paths.get(kind) ?? new Set();
    this.paths.set(kind, paths.add(present.label));
    return kept.push({ label: present.label, path: present.path, type: present.type }) - 1;
  }

  filled(): void {
    this.isFilled = true;
  }

  /** INVARIANT: an earlier time than before, of a clock set back, makes everything from before unknown. */
  observe(item: LookBackItem): void {
    if (item.kind === 'anew') this.forget();
    else if (item.kind === 'state') for (const fact of item.facts) this.begin(fact);
    else this.observeRun(item.run);
  }

  pass(kind: SubjectKind, atMs: number, form: 'whole' | 'single'): Pass {
    this.turns += 1;
    return new Pass(this, kind, atMs, form, this.turns);
  }

  /** Up to the last reading of its list; undefined: nothing is known of it. */
  track(kind: SubjectKind, id: string, at: number): Track | undefined {
    const track = this.entries[kind].get(id)?.tracks[at];
    if (track) this.catchUp(track, kind, at);
    return track;
  }

  entriesOf(kind: SubjectKind): ReadonlyMap<string, Entry> {
    return this.entries[kind];
  }

  keptOf(kind: SubjectKind): readonly Kept[] {
    return this.kept[kind];
  }

  nextChangeMs({ kind, id }: SubjectRef, nowMs: number): number | undefined {
    const moments = this.kept[kind].flatMap((_, at) => {
      const track = this.track(kind, id, at);
      if (!track) return [];
      return [...this.spans[kind]].flatMap((ms) => [track.notBeforeMs + ms, track.knownSinceMs + ms]);
    });
    const next = Math.min(...moments.filter((ms) => ms > nowMs));
    return Number.isFinite(next) ? next : undefined;
  }

  private forget(): void {
    for (const kind of SUBJECT_KINDS) this.entries[kind].clear();
    this.stretches = { device: [], user: [], service: [] };
    this.lastMs = Number.NEGATIVE_INFINITY;
  }

  private begin({ kind, subject, path, value }: FactChange): void {
    this.keptAt(kind, path, (kept, at) => {
      const known = typedValue(value, kept);
      if (known !== undefined) this.entryOf(kind, subject).tracks[at] = newTrack(known);
    });
  }

  private observeRun({ atMs, read, singly, changes, unseen }: LookBackRun): void {
    // A run without a trusted reading leaves nothing, not even its time.
    if (read.length + singly.length + changes.length === 0) return;
    if (atMs < this.lastMs) this.cut();
    this.lastMs = atMs;
    for (const change of changes) this.change(change, atMs);
    const isSeen = (kind: SubjectKind, { label }: Kept) => !unseen?.get(kind)?.has(label);
    for (const { kind, id } of singly) {
      this.kept[kind].forEach((kept, at) => {
        const track = isSeen(kind, kept) ? this.track(kind, id, at) : undefined;
        if (track) step(track, track.isThere ? track.value : undefined, atMs);
      });
    }
    for (const kind of read) {
      this.kept[kind].forEach((kept, at) => {
        const stretches = this.stretches[kind][at] ?? [];
        this.stretches[kind][at] = stretches;
        if (isSeen(kind, kept)) this.extend(stretches, atMs);
      });
    }
  }

  private extend(stretches: Stretch[], atMs: number): void {
    const last = stretches.at(-1);
    if (last && atMs - last.toMs <= LOOK_BACK_GAP_MS) last.toMs = atMs;
    else if (stretches.push({ fromMs: atMs, toMs: atMs }) > STRETCHES_MAX) stretches.shift();
  }

  private change({ kind, subject, path, value }: FactChange, atMs: number): void {
    if (path === '') {
      if (value === undefined) this.entries[kind].delete(subject);
      return;
    }
    this.keptAt(kind, path, (kept, at) => {
      const known = typedValue(value, kept);
      let track = this.track(kind, subject, at);
      if (!track) {
        if (known === undefined) return;
        track = newTrack(undefined);
        this.entryOf(kind, subject).tracks[at] = track;
      }
      step(track, known, atMs);
    });
  }

  /** Of every subject, nothing is known from before; the values stay, to compare the next ones with. */
  private cut(): void {
    for (const kind of SUBJECT_KINDS) {
      for (const { tracks } of this.entries[kind].values())
        tracks.forEach((track, at) => {
          if (track) tracks[at] = newTrack(track.isThere ? track.value : undefined);
        });
    }
    this.stretches = { device: [], user: [], service: [] };
  }

  private catchUp(track: Track, kind: SubjectKind, at: number): void {
    for (const { fromMs, toMs } of this.stretches[kind][at] ?? []) {
      if (toMs <= track.readMs) continue;
      if (fromMs > track.readMs) step(track, track.isThere ? track.value : undefined, fromMs);
      stay(track, toMs);
    }
  }

  private entryOf(kind: SubjectKind, id: string): Entry {
    let entry = this.entries[kind].get(id);
    if (!entry) {
      entry = { tracks: [], turn: 0 };
      this.entries[kind].set(id, entry);
    }
    return entry;
  }

  private keptAt(kind: SubjectKind, path: string, use: (kept: Kept, at: number) => void): void {
    this.kept[kind].forEach((kept, at) => {
      if (kept.label === path) use(kept, at);
    });
  }
}
