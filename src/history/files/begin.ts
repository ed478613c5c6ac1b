// history files: what held before a place: the newest base before it that can be read, and the runs between. In: a place, and a time. Out: what held
// before the first run from that time on, and its place; or what is lost before it.
import { textHash } from '../../base/text.ts';
import { giveWay } from '../../base/turns.ts';
import { lineOf } from '../../domain/errors.ts';
import type { HistoryGap } from '../../domain/recorded-history.ts';
import type { SubjectKind, SubjectRef } from '../../domain/subjects.ts';
import { type HistoryRow, holdOf, type NewRunDecoder, type RowKind } from '../codec/run-encoder.ts';
import {
  type CodedColumn,
  type CodedTexts,
  type RowGroup,
  type SegmentColumns,
  UnreadableSegment,
} from './segment-bytes.ts';
import { listHistory, type NewSegment, readSegment, type SegmentFile } from './segment-files.ts';
import { stepDone } from './steps.ts';

// What held after some runs: a base, and what changed since.

interface Changed {
  /** The subject went, and everything of it that the base has. */
  wentAll: boolean;
  paths: Map<string, { at: number; value: string | undefined }>;
}

interface StandingBase {
  columns: SegmentColumns;
  /** So many rows from its beginning on; the first run of a history has others beside those that hold. */
  rows: number;
}

/** Of so many parts, by their ids. */
interface SubjectPart {
  no: number;
  of: number;
}

/** More changes than are to be held. */
class TooManyChanges extends Error {}

interface StandingOptions {
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
    return this.#part.of === 1 || textHash(subject) % this.#part.of === this.#part.no;
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
export function holds(kind: string): boolean {
  return (holdOf(kind) ?? 'momentary') !== 'momentary';
}

const NONE: ReadonlySet<string> = new Set();

/** What a subject has beside what the base had of it. */
function* added(kind: string, subject: string, { paths }: Changed, had: ReadonlySet<string>): Generator<HistoryRow> {
  for (const [path, { at, value }] of paths) {
    if (value !== undefined && !had.has(path))
      yield { run: 0, at, kind: kind as HistoryRow['kind'], subject, path, value };
  }
}

// The segments of a history from one place on, each opened once and checked.

export interface WalkedSegment {
  kind: 'segment';
  segment: SegmentFile;
  columns: SegmentColumns;
  /** So many of its runs are before the place that was asked for. */
  skip: number;
  next: number;
}

export interface Lost extends HistoryGap {
  kind: 'lost';
  /** The first place after it. */
  next: number;
}

export class Walk {
  readonly #folder: string;
  #address: string | undefined;
  #segments: SegmentFile[];
  #bases: SegmentFile[];

  constructor(folder: string, address: string | undefined) {
    this.#folder = folder;
    this.#address = address;
    this.#segments = [];
    this.#bases = [];
    this.#list();
  }

  /** Those with runs, as the folder was listed last; in the order of recording. */
  get segments(): readonly SegmentFile[] {
    return this.#segments;
  }

  /** In the order of recording. */
  get bases(): readonly SegmentFile[] {
    return this.#bases;
  }

  get lastPlace(): number {
    return this.#segments.reduce((last, segment) => Math.max(last, segment.last), 0);
  }

  /** The segment that has this place; undefined after the last one. */
  at(place: number): WalkedSegment | Lost | undefined {
    for (let tries = 0; ; tries++) {
      const candidates = this.#segments.filter(({ first, last }) => first <= place && place <= last);
      let lost: { segment: SegmentFile; fault: UnreadableSegment } | undefined;
      for (const segment of candidates) {
        const opened = this.open(segment);
        if (!(opened instanceof UnreadableSegment)) {
          return { kind: 'segment', segment, columns: opened, skip: place - segment.first, next: segment.last + 1 };
        }
        if (!lost || lost.fault.reason === 'gone') lost = { segment, fault: opened };
      }
      if (lost?.fault.reason === 'gone' && tries < 3) {
        this.#list();
        continue;
      }
      return lost ? this.#unreadable(place, lost.segment, lost.fault) : this.#missing(place);
    }
  }

  open(segment: SegmentFile): SegmentColumns | UnreadableSegment {
    try {
      const columns = readSegment(segment);
      this.#address ??= this.#newestAddress();
      if (this.#address !== undefined && columns.about.address !== this.#address) {
        return new UnreadableSegment('foreign', 'it is of another API address');
      }
      return columns;
    } catch (error) {
      if (error instanceof UnreadableSegment) return error;
      throw error;
    }
  }

  /** Records of two addresses are two pasts: without a database to ask, the newest one counts. */
  #newestAddress(): string | undefined {
    for (const segment of [...this.#segments].reverse()) {
      try {
        return readSegment(segment).about.address;
      } catch (error) {
        if (!(error instanceof UnreadableSegment)) throw error;
      }
    }
    return undefined;
  }

  #unreadable(place: number, segment: SegmentFile, { reason, message }: UnreadableSegment): Lost {
    const { day, file, fromMs, toMs } = segment;
    // Smaller ones that it was made of may be there for some of its places.
    const inside = this.#segments
      .filter(({ first }) => first > place && first <= segment.last)
      .map(({ first }) => first);
    const next = Math.min(segment.last + 1, ...inside);
    const cause = reason === 'gone' ? 'damaged' : reason;
    return { kind: 'lost', fromMs, toMs, cause, text: `${day}/${baseName(file)}: ${message}`, next };
  }

  #missing(place: number): Lost | undefined {
    const before = this.#segments.findLast(({ last }) => last < place);
    const after = this.#segments.find(({ first }) => first > place);
    if (!after) return undefined;
    const text = `the segments of ${after.first - place === 1 ? 'one run are' : `${after.first - place} runs are`} missing`;
    return {
      kind: 'lost',
      fromMs: before?.toMs ?? after.fromMs,
      toMs: after.fromMs,
      cause: 'damaged',
      text,
      next: after.first,
    };
  }

  #list(): void {
    const { segments } = listHistory(this.#folder);
    this.#segments = segments.filter(({ level }) => level !== 'base');
    this.#bases = segments.filter(({ level }) => level === 'base');
  }
}

/** A segment that was opened, and whose rows cannot be read after all. */
export function undecoded({ segment, next }: WalkedSegment, error: unknown): Lost {
  const { day, file, fromMs, toMs } = segment;
  const text = `${day}/${baseName(file)}: it cannot be decoded (${causeOf(error)})`;
  return { kind: 'lost', fromMs, toMs, cause: 'damaged', text, next };
}

/** Why a row could not be read, without where that is seen. */
export function causeOf(error: unknown): string {
  return lineOf(error instanceof UnreadableSegment ? (error.cause ?? error) : error);
}

/** As it is shown: the checksum is long, and says nothing to a person. */
function baseName(file: string): string {
  return (file.split('/').at(-1) as string).replace(/\.[0-9a-f]{64}\./, '.');
}

export interface Begun {
  standing: Standing;
  place: number;
}

export class Begin {
  readonly #walk: Walk;
  readonly #fromMs: number;

  readonly #options: StandingOptions;

  /** `isWanted`: rows of no use to whoever asks are left out, as far as it costs nothing. */
  constructor(walk: Walk, fromMs: number, options: StandingOptions = {}) {
    this.#walk = walk;
    this.#fromMs = fromMs;
    this.#options = options;
  }

  /** `place`: that of a segment which has runs from the time on. Errors: TooManyChanges. */
  async at(place: number): Promise<Begun | { lost: Lost }> {
    let fault: string | undefined;
    for (const base of this.#walk.bases.filter(({ last }) => last < place).reverse()) {
      const columns = this.#walk.open(base);
      if (!(columns instanceof UnreadableSegment))
        return this.#from({ columns, rows: columns.rows }, base.last + 1, place);
      fault ??= `the base of ${base.day}: ${columns.message}`;
    }
    const first = this.#walk.segments[0];
    if (first?.first === 1) return this.#from(undefined, 1, place);
    const { fromMs, toMs } = this.#walk.segments.find(({ last }) => last >= place) ?? {
      fromMs: this.#fromMs,
      toMs: this.#fromMs,
    };
    const text = fault ?? 'what held before it is not kept';
    return { lost: { kind: 'lost', fromMs, toMs, cause: 'damaged', text, next: place + 1 } };
  }

  async #from(base: StandingBase | undefined, first: number, place: number): Promise<Begun | { lost: Lost }> {
    let standing = new Standing(base, this.#options);
    for (let at = first; ; ) {
      const walked = this.#walk.at(at);
      if (!walked) return { standing, place: at };
      if (walked.kind === 'lost') return { lost: walked };
      const isLast = walked.next > place;
      const isEnd = (atMs: number) => isLast && atMs >= this.#fromMs;
      const began = at === 1 && !base ? this.#firstRun(walked, isEnd) : undefined;
      if (began && 'lost' in began) return began;
      if (began?.standing) standing = began.standing;
      const applied = this.#applied(walked, standing, began?.standing ? 1 : walked.skip, isEnd);
      if (typeof applied !== 'number') return { lost: applied };
      if (isLast) return { standing, place: walked.segment.first + applied };
      at = walked.next;
      await giveWay();
    }
  }

  /** The first run of a history shows everything, each fact once: it is the base of what comes after it. */
  #firstRun(walked: WalkedSegment, isEnd: (atMs: number) => boolean): { standing?: Standing } | { lost: Lost } {
    try {
      const { atMs, rows } = firstRunOf(walked.columns);
      return isEnd(atMs) ? {} : { standing: new Standing({ columns: walked.columns, rows }, this.#options) };
    } catch (error) {
      if (!(error instanceof UnreadableSegment)) throw error;
      return { lost: undecoded(walked, error) };
    }
  }

  /** Its checksum and its form held: what cannot be decoded now was written wrong. */
  #applied(walked: WalkedSegment, standing: Standing, skip: number, isEnd: (atMs: number) => boolean): number | Lost {
    try {
      return applyRuns(walked.columns, standing, skip, isEnd);
    } catch (error) {
      if (!(error instanceof UnreadableSegment)) throw error;
      return undecoded(walked, error);
    }
  }
}

/** So many facts that changed take about 100 MB. */
const CHANGES_MAX = 400_000;

/**
 * What holds before a place, in parts: each of some of the subjects, so that no more changes than these are held at once. All files are read again for
 * each part. The first one shows what is lost.
 */
export async function* standingInParts(
  walk: Walk,
  place: number,
  changesMax = CHANGES_MAX,
): AsyncGenerator<Standing | { lost: Lost }> {
  const open = (no: number, of: number, max?: number) =>
    new Begin(walk, Number.NEGATIVE_INFINITY, { part: { no, of }, changesMax: max }).at(place);
  for (let of = 1; ; of *= 2) {
    try {
      // The others are about as large as the first one.
      const first = await open(0, of, changesMax);
      yield 'lost' in first ? first : first.standing;
      if ('lost' in first) return;
    } catch (error) {
      if (!(error instanceof TooManyChanges)) throw error;
      continue;
    }
    for (let no = 1; no < of; no++) {
      const begun = await open(no, of);
      if ('lost' in begun) throw new UnreadableSegment('damaged', begun.lost.text);
      yield begun.standing;
    }
    return;
  }
}

// What lies beside the runs of a query: the run before the first one, the run after the last one.

export interface RunBeside {
  run: number;
  atMs: number;
}

type Beside = RunBeside | { lost: Lost } | undefined;

/** Undefined: it is in the segment of that place, too, or none before it is kept. */
export function runBefore(walk: Walk, place: number): Beside {
  const walked = walk.segments.some(({ last }) => last < place) ? walk.at(place - 1) : undefined;
  if (!walked) return undefined;
  if (walked.kind === 'lost') return { lost: walked };
  return walked.next === place ? edgeOf(walked, 'last') : undefined;
}

export function runAfter(walk: Walk, place: number): Beside {
  const walked = walk.at(place + 1);
  if (!walked) return undefined;
  return walked.kind === 'lost' ? { lost: walked } : edgeOf(walked, 'first');
}

/** The run of a place that is recorded. Errors: UnreadableSegment. */
export function runAt(walk: Walk, place: number): RunBeside | undefined {
  const walked = walk.at(place);
  if (walked?.kind !== 'segment') return undefined;
  if (walked.next === place + 1) return edgeOf(walked, 'last');
  let at = walked.segment.first;
  for (const { run, atMs } of runsOf(walked.columns)) if (at++ === place) return { run, atMs };
  return undefined;
}

/**
 * Standing rows of the runs after a place, in their order, into a sink. Returns the place of the last run; undefined: something is lost.
 */
export async function applyAfter(walk: Walk, place: number, sink: RowSink): Promise<number | undefined> {
  for (let at = place + 1; ; ) {
    const walked = walk.at(at);
    if (!walked) return at - 1;
    if (walked.kind === 'lost') return undefined;
    applyRuns(walked.columns, sink, walked.skip, () => false);
    at = walked.next;
    await giveWay();
  }
}

/** Its checksum and its form held: what cannot be decoded now was written wrong, and is named where its runs are read. */
function edgeOf({ columns: { groups }, segment }: WalkedSegment, edge: 'first' | 'last'): RunBeside | undefined {
  const [at, atMs] = edge === 'first' ? [0, segment.fromMs] : [-1, segment.toMs];
  try {
    const column = groups.at(at)?.run();
    const run = column?.dictionary[column.codes.at(at) ?? -1];
    return run === undefined ? undefined : { run, atMs };
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}

export interface HistoryFolder {
  folder: string;
  /** What the records must be of; undefined: the same as the newest of them. */
  address: string | undefined;
  newDecoder: NewRunDecoder;
  /** The newest run of the database that is over; absent: nobody knows it. Runs after the newest one of the record are a gap. */
  newestRun?: (() => Promise<RunBeside | undefined>) | undefined;
}

// The rows of a segment, one by one, and which of them are of one run. In: columns. Out: rows, in the order in which they were written.
// For what is not in a hurry: whoever reads millions of rows reads columns.

/** All columns of one group, decoded. */
export interface DecodedGroup {
  rows: number;
  run: CodedColumn<number>;
  at: CodedColumn<number>;
  kind: CodedColumn<string>;
  subject: CodedColumn<string>;
  path: CodedColumn<string>;
  value: CodedTexts;
}

export function decodeGroup(group: RowGroup): DecodedGroup {
  stepDone();
  return {
    rows: group.rows,
    run: group.run(),
    at: group.at(),
    kind: group.kind(),
    subject: group.subject(),
    path: group.path(),
    value: group.value(),
  };
}

export function* rowsOf({ groups }: SegmentColumns): Generator<HistoryRow> {
  for (const group of groups) {
    const decoded = decodeGroup(group);
    for (let row = 0; row < group.rows; row++) yield rowAt(decoded, row);
  }
}

export function rowAt(group: DecodedGroup, row: number): HistoryRow {
  return {
    run: at(group.run, row) as number,
    at: at(group.at, row) as number,
    kind: at(group.kind, row) as RowKind,
    subject: at(group.subject, row) as string,
    path: at(group.path, row) as string,
    value: valueAt(group.value, row),
  };
}

function valueAt({ codes, text }: CodedTexts, row: number): string | undefined {
  const code = codes[row] as number;
  return code === -1 ? undefined : text(code);
}

function at<T>({ codes, dictionary }: CodedColumn<T>, row: number): T | undefined {
  const code = codes[row] as number;
  return code === -1 ? undefined : dictionary[code];
}

/** Whether a row is the first one of a run: its frame begins, or the run is another one. Numbers repeat after a database was restored. */
export class RunBoundaries {
  #run: number | undefined;
  #at: number | undefined;
  #wasFrame = false;

  begins(run: number, atMs: number, isFrame: boolean): boolean {
    const begins = run !== this.#run || atMs !== this.#at || (isFrame && !this.#wasFrame);
    this.#run = run;
    this.#at = atMs;
    this.#wasFrame = isFrame;
    return begins;
  }
}

/** What rows of runs are applied to. */
export interface RowSink {
  /** Whether rows of this kind and path are of any use. */
  takes(kind: string, path: string): boolean;
  takesSubject(subject: string): boolean;
  apply(at: number, kind: string, subject: string, path: string, value: string | undefined): void;
}

/** Applies runs of a segment, from `skip` on up to the first one that is the end. Returns how many came before that, skipped ones too. */
function applyRuns({ groups }: SegmentColumns, sink: RowSink, skip: number, isEnd: (atMs: number) => boolean): number {
  const boundaries = new RunBoundaries();
  let runs = 0;
  for (const group of groups) {
    const decoded = decodeGroup(group);
    const { run, at, kind, path } = decoded;
    const taken = kind.dictionary.map((one) =>
      Uint8Array.from(path.dictionary, (name) => (sink.takes(one, name) ? 1 : 0)),
    );
    const isFrame = kind.dictionary.map((one) => one === 'run');
    const ofSubject = Uint8Array.from(decoded.subject.dictionary, (one) => (sink.takesSubject(one) ? 1 : 0));
    for (let row = 0; row < decoded.rows; row++) {
      const kindCode = kind.codes[row] as number;
      const atMs = at.dictionary[at.codes[row] as number] as number;
      const runNow = run.dictionary[run.codes[row] as number] as number;
      if (boundaries.begins(runNow, atMs, isFrame[kindCode] as boolean)) {
        if (runs >= skip && isEnd(atMs)) return runs;
        runs++;
      }
      if (runs <= skip || taken[kindCode]?.[path.codes[row] as number] !== 1) continue;
      if (ofSubject[decoded.subject.codes[row] as number] !== 1) continue;
      const { kind: name, subject, path: fact, value } = rowAt(decoded, row);
      sink.apply(atMs, name, subject, fact, value);
    }
  }
  return runs;
}

/** Where each run of a segment begins. */
function* runsOf({ groups }: SegmentColumns): Generator<RunBeside & { row: number }> {
  const boundaries = new RunBoundaries();
  let before = 0;
  for (const group of groups) {
    const [run, at, kind] = [group.run(), group.at(), group.kind()];
    const isFrame = kind.dictionary.map((one) => one === 'run');
    for (let row = 0; row < group.rows; row++) {
      const atMs = at.dictionary[at.codes[row] as number] as number;
      const runNow = run.dictionary[run.codes[row] as number] as number;
      if (boundaries.begins(runNow, atMs, isFrame[kind.codes[row] as number] as boolean))
        yield { run: runNow, atMs, row: before + row };
    }
    before += group.rows;
  }
}

/** The first run of a segment: when it began, and how many rows it has. */
function firstRunOf(columns: SegmentColumns): { atMs: number; rows: number } {
  const runs = runsOf(columns);
  const { value: first } = runs.next();
  const { value: second } = runs.next();
  return { atMs: first?.atMs ?? 0, rows: second?.row ?? columns.rows };
}

/** Adds all rows of a segment to another one. */
export function addRows(columns: SegmentColumns, { rows }: NewSegment): void {
  for (const row of rowsOf(columns)) rows.addRow(row);
}
