// history files: what held after some runs: a base, and what changed since. In: the rows of a base, the rows of runs after it. Out: standing rows
// and events as they were then, those of one subject one after another. It holds the changes in memory, never the base; where they are very many, those
// of a part of the subjects. A history that begins with its first run has that run as its base.
import type { SubjectKind, SubjectRef } from '../../domain/subjects.ts';
import { type HistoryRow, holdOf } from '../rows.ts';
import type { RowGroup, SegmentColumns } from './segment-columns.ts';
import { decodeGroup, rowAt } from './segment-rows.ts';

interface Changed {
  /** The subject went, and everything of it that the base has. */
  wentAll: boolean;
  paths: Map<string, { at: number; value: string | undefined }>;
}

export interface StandingBase {
  columns: SegmentColumns;
  /** So many rows from its beginning on; the first run of a history has others beside those that hold. */
  rows: number;
}

/** Of so many parts, by their ids. */
export interface SubjectPart {
  no: number;
  of: number;
}

/** More changes than are to be held. */
export class TooManyChanges extends Error {}

export interface StandingOptions {
  isWanted?: ((kind: string, path: string) => boolean) | undefined;
  part?: SubjectPart | undefined;
  changesMax?: number | undefined;
}

export class Standing {
  readonly #base: StandingBase | undefined;
  /** By kind, then subject. */
  readonly #changed = new Map<string, Map<string, Changed>>();

  readonly #isWanted: (kind: string, path: string) => boolean;
  readonly #part: SubjectPart;
  readonly #changesMax: number;
  #changes = 0;

  /** Without a base nothing held before. */
  constructor(base: StandingBase | undefined, options: StandingOptions = {}) {
    const { isWanted = () => true, part = { no: 0, of: 1 }, changesMax = Number.POSITIVE_INFINITY } = options;
    this.#base = base;
    this.#isWanted = isWanted;
    this.#part = part;
    this.#changesMax = changesMax;
  }

  /** Momentary rows are of no use, nor those that nobody asks for. */
  takes(kind: string, path: string): boolean {
    return holds(kind) && this.#isWanted(kind, path);
  }

  takesSubject(subject: string): boolean {
    return this.#part.of === 1 || hashOf(subject) % this.#part.of === this.#part.no;
  }

  /** Rows of runs, in order. Errors: TooManyChanges. */
  apply(at: number, kind: string, subject: string, path: string, value: string | undefined): void {
    let ofKind = this.#changed.get(kind);
    if (!ofKind) {
      ofKind = new Map();
      this.#changed.set(kind, ofKind);
    }
    const known = ofKind.get(subject);
    if (path === '' && value === undefined) {
      ofKind.set(subject, { wentAll: true, paths: new Map() });
      return;
    }
    const changed = known ?? { wentAll: false, paths: new Map() };
    if (!known) ofKind.set(subject, changed);
    const size = changed.paths.size;
    changed.paths.set(path, { at, value });
    this.#changes += changed.paths.size - size;
    if (this.#changes > this.#changesMax) throw new TooManyChanges();
  }

  /**
   * What holds now of the chosen kinds and, of facts, paths. Errors: UnreadableSegment when the base is not what its checksum promised.
   */
  *rows(
    isChosen: (kind: string) => boolean,
    hasFact?: (kind: SubjectKind, path: string) => boolean,
  ): Generator<HistoryRow> {
    const isAsked = (kind: string, path: string) => isChosen(kind) && (!hasFact || hasFact(kind as SubjectKind, path));
    for (const row of this.#all(isChosen, isAsked)) if (isAsked(row.kind, row.path)) yield row;
  }

  /** Groups of the base, each with how many of its rows are of it. */
  *#groups(): Generator<{ group: RowGroup; rows: number }> {
    let left = this.#base?.rows ?? 0;
    for (const group of this.#base?.columns.groups ?? []) {
      if (left > 0) yield { group, rows: Math.min(left, group.rows) };
      left -= group.rows;
    }
  }

  /** What holds now of one subject: its facts. */
  *rowsOf({ kind, id }: SubjectRef): Generator<HistoryRow> {
    const changed = this.#changed.get(kind)?.get(id);
    const had = new Set<string>();
    for (const { group, rows } of changed?.wentAll ? [] : this.#groups()) {
      const subjects = group.subject();
      const code = subjects.dictionary.indexOf(id);
      if (code === -1) continue;
      const decoded = decodeGroup(group);
      for (let index = subjects.codes.indexOf(code); index !== -1; index = subjects.codes.indexOf(code, index + 1)) {
        const row = rowAt(decoded, index);
        if (row.kind !== kind || index >= rows || row.value === undefined) continue;
        had.add(row.path);
        const now = changed?.paths.get(row.path);
        if (!now) yield row;
        else if (now.value !== undefined) yield { ...row, ...now };
      }
    }
    if (changed) yield* added(kind, id, changed, had);
  }

  /** Rows of the base are left out when nobody asks for them; changes may be among them. */
  *#all(isChosen: (kind: string) => boolean, isAsked: (kind: string, path: string) => boolean): Generator<HistoryRow> {
    /** Subjects of the base whose changes were given with it. */
    const given = new Set<Changed>();
    let kind: string | undefined;
    let subject: string | undefined;
    let changed: Changed | undefined;
    /** Paths of this subject that the base has. */
    let had = new Set<string>();
    for (const { group, rows } of this.#groups()) {
      if (!group.kind().dictionary.some(isChosen)) continue;
      const decoded = decodeGroup(group);
      const { kind: kinds, subject: subjects, path: paths } = decoded;
      const asked = kinds.dictionary.map((one) => paths.dictionary.map((path) => holds(one) && isAsked(one, path)));
      const ofSubject = Uint8Array.from(subjects.dictionary, (one) => (this.takesSubject(one) ? 1 : 0));
      for (let index = 0; index < rows; index++) {
        if (ofSubject[subjects.codes[index] as number] !== 1) continue;
        const kindCode = kinds.codes[index] as number;
        const kindNow = kinds.dictionary[kindCode] as string;
        const subjectNow = subjects.dictionary[subjects.codes[index] as number] as string;
        if (kindNow !== kind || subjectNow !== subject) {
          if (changed && kind !== undefined && subject !== undefined) yield* added(kind, subject, changed, had);
          kind = kindNow;
          subject = subjectNow;
          changed = isChosen(kind) ? this.#changed.get(kind)?.get(subject) : undefined;
          if (changed) {
            given.add(changed);
            had = new Set();
          }
        }
        if (!asked[kindCode]?.[paths.codes[index] as number]) continue;
        const row = { ...rowAt(decoded, index), run: 0 };
        if (row.value === undefined) continue;
        if (!changed) yield row;
        else if (!changed.wentAll) {
          const now = changed.paths.get(row.path);
          had.add(row.path);
          if (!now) yield row;
          else if (now.value !== undefined) yield { ...row, ...now };
        }
      }
    }
    if (changed && kind !== undefined && subject !== undefined) yield* added(kind, subject, changed, had);
    for (const [newKind, ofKind] of this.#changed) {
      if (!isChosen(newKind)) continue;
      for (const [newSubject, one] of ofKind) if (!given.has(one)) yield* added(newKind, newSubject, one, NONE);
    }
  }
}

/** Whether rows of this kind hold on, or are carried on. */
function holds(kind: string): boolean {
  return (holdOf(kind) ?? 'momentary') !== 'momentary';
}

function hashOf(subject: string): number {
  let hash = 0;
  for (let at = 0; at < subject.length; at++) hash = Math.imul(hash ^ subject.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const NONE: ReadonlySet<string> = new Set();

/** What a subject has beside what the base had of it. */
function* added(kind: string, subject: string, { paths }: Changed, had: ReadonlySet<string>): Generator<HistoryRow> {
  for (const [path, { at, value }] of paths) {
    if (value !== undefined && !had.has(path))
      yield { run: 0, at, kind: kind as HistoryRow['kind'], subject, path, value };
  }
}
