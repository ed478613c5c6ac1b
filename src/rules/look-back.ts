// rules: what a rule set knows of the past: a track for each subject and fact that some rule looks back on. In: what runs saw, first from the
// history, then as it is judged. Out: tracks. It never asks for the history: what it was not given is not known.
import { canonicalJson } from '../base/json.ts';
import { type Fact, type Facts, ownText } from '../domain/facts.ts';
import {
  type FactChange,
  LOOK_BACK_GAP_MS,
  type LookBack,
  type LookBackItem,
  type LookBackPass,
  type LookBackRun,
} from '../domain/look-back.ts';
import { ID_FIELD, SUBJECT_KINDS, type SubjectKind, type SubjectRef } from '../domain/subjects.ts';
import type { ExplainedPast } from '../domain/why.ts';
import {
  type Frame,
  isOfType,
  isYoung,
  type LookedBack,
  ownAt,
  type PathFact,
  type Reasons,
  type Unknown,
  type Value,
} from './language/expression.ts';
import type { LoadedRule } from './language/loaded-rule.ts';

// What is known of the past of one fact of one subject: the value before the present one, and since when without a gap.

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
function stay(track: Track, toMs: number): void {
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
function isSame(a: Fact, b: Fact): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return keyOf(a) === keyOf(b);
}

function keyOf(value: Fact): string {
  return Array.isArray(value) ? [...new Set(value.map(canonicalJson))].sort().join('\n') : canonicalJson(value);
}

/** One fact whose past is kept: a path, read as a type. */
type Kept = Pick<PathFact, 'label' | 'path' | 'type'>;

/** The tracks of one subject, by fact. `turn`: the last pass that saw the subject. */
interface Entry {
  tracks: (Track | undefined)[];
  turn: number;
}

function valueIn(record: Facts, kept: Kept): Fact | undefined {
  return typedValue(ownAt(record, kept.path), kept);
}

function typedValue(value: Fact | undefined, { type }: Kept): Fact | undefined {
  return value !== undefined && value !== null && isOfType(value, type) ? value : undefined;
}

// One reading of a list, or of a few subjects, as rules that look back take it over: what changed of each, and who is
// gone. In: records. Out: one run's worth of changes. INVARIANT: nothing moves before `takeOver`: an untrusted or
// repeated reading leaves no trace.

interface Tracks extends Pick<LookBack, 'isFilled' | 'observe'> {
  keptOf(kind: SubjectKind): readonly Kept[];
  entriesOf(kind: SubjectKind): ReadonlyMap<string, Entry>;
}

class Pass implements LookBackPass {
  private readonly changes: FactChange[] = [];
  private readonly subjects: SubjectRef[] = [];

  constructor(
    private readonly tracks: Tracks,
    private readonly kind: SubjectKind,
    private readonly atMs: number,
    private readonly form: 'whole' | 'single',
    private readonly turn: number,
  ) {}

  accept(record: Facts): void {
    const { tracks, kind } = this;
    const id = ownText(record, ID_FIELD[kind]) ?? '';
    const entry = tracks.entriesOf(kind).get(id);
    if (entry) entry.turn = this.turn;
    if (this.form === 'single') this.subjects.push({ kind, id });
    tracks.keptOf(kind).forEach((kept, at) => {
      const track = entry?.tracks[at];
      const before = track?.isThere ? track.value : undefined;
      const value = valueIn(record, kept);
      const same = before === undefined || value === undefined ? before === value : isSame(before, value);
      if (!same) this.changes.push({ kind, subject: id, path: kept.label, value });
    });
  }

  takeOver(): void {
    const { tracks, kind, atMs, form, turn } = this;
    if (!tracks.isFilled) return;
    const gone: FactChange[] = [];
    if (form === 'whole') {
      for (const [subject, entry] of tracks.entriesOf(kind))
        if (entry.turn !== turn) gone.push({ kind, subject, path: '', value: undefined });
    }
    const read = form === 'whole' ? [kind] : [];
    tracks.observe({ kind: 'run', run: { atMs, read, singly: this.subjects, changes: [...gone, ...this.changes] } });
  }
}

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

// The operators that look back, for the record that is judged: what runs saw before, and the record itself as what is
// seen now.

interface LookBackReader {
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
    if (present.fresh.some((each) => !isYoung(ownAt(frame.record, each.path), each.ms, frame.nowMs))) return of.stale;
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

interface BeyondHistory {
  rule: string;
  subject: LoadedRule['subject'];
  facts: string[];
}

/** `previous` looks back as far as there is a history. */
export function rulesBeyondHistory(rules: readonly LoadedRule[], keepMs: number): BeyondHistory[] {
  const isBeyond = ({ lookBack, lookBackMs }: LoadedRule['reads']) =>
    lookBack.size > 0 && (keepMs === 0 || (Number.isFinite(lookBackMs) && lookBackMs > keepMs));
  return rules
    .filter(({ reads }) => isBeyond(reads))
    .map(({ id, subject, reads }) => ({ rule: id, subject, facts: [...reads.lookBack].sort() }));
}
