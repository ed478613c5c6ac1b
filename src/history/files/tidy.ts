// history files: what the writer does between two runs: segments of runs become one of an hour, those of a day one of a day, each next day gets its
// base, and days that are older than they are kept go. In: a folder. Out: the same history in fewer files. Killed at any step it has lost nothing,
// and the next time goes on: what was made of others takes their place only when it is on the disk.

import { HOUR_MS } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import { SECRET_TEXT } from '../../domain/fact-packs.ts';
import type { Fact } from '../../domain/facts.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { factKindOf, factOf, type HistoryRow } from '../codec/run-encoder.ts';
import {
  addRows,
  type DecodedGroup,
  decodeGroup,
  type Lost,
  RunBoundaries,
  rowAt,
  type Standing,
  standingInParts,
  Walk,
} from './begin.ts';
import {
  dayOf,
  type RowGroup,
  RowsAhead,
  type SegmentAbout,
  type SegmentColumns,
  type SegmentLevel,
  UnreadableSegment,
} from './segment-bytes.ts';
import {
  listHistory,
  NewFile,
  NewSegment,
  readSegment,
  removeSegments,
  removeUnfinished,
  type SegmentFile,
} from './segment-files.ts';

interface TidyOptions {
  program: string;
  address: string;
  nowMs: number;
  /** How long a day is kept. */
  keepMs: number;
  /** How long an event is carried on in bases, for the windows of rules. */
  eventsKeptMs?: number;
  /** How many changes of a day are held at once when its base is made. */
  changesMax?: number;
}

interface Tidied {
  merged: number;
  bases: number;
  removed: number;
  /** The files do not give what holds at the beginning of this day: the recorder, who knows it, is to write a base. */
  needsBase: boolean;
}

/** INVARIANT: the caller is the only writer. Errors: AppError `store_failed`, such as for a full disk; then it is as it was. */
export async function tidyHistory(folder: string, options: TidyOptions): Promise<Tidied> {
  const removed = removeReplaced(folder);
  const merged = mergeAll(folder, options);
  const { bases, needsBase } = await makeBases(folder, options);
  return { merged, bases, removed: removed + prune(folder, options), needsBase };
}

/** Files whose rows are all in another one, which is whole: a process was killed before it removed them. */
function removeReplaced(folder: string): number {
  const { segments } = listHistory(folder);
  const replaced = segments.filter((one) => segments.some((other) => replaces(other, one) && isWhole(other)));
  if (replaced.length > 0) removeSegments(folder, replaced);
  return replaced.length;
}

function replaces(other: SegmentFile, one: SegmentFile): boolean {
  if (other === one || (other.level === 'base') !== (one.level === 'base')) return false;
  if (other.first === one.first && other.last === one.last) {
    return other.rewrites > one.rewrites || (other.rewrites === one.rewrites && other.file < one.file);
  }
  return other.level !== 'base' && other.first <= one.first && one.last <= other.last;
}

function isWhole(segment: SegmentFile): boolean {
  return opened(segment) !== undefined;
}

function opened(segment: SegmentFile): SegmentColumns | undefined {
  try {
    return readSegment(segment);
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}

function runSegments(folder: string): SegmentFile[] {
  return listHistory(folder).segments.filter(({ level }) => level !== 'base');
}

function mergeAll(folder: string, options: TidyOptions): number {
  const segments = runSegments(folder);
  const newest = segments.at(-1);
  if (!newest) return 0;
  const hourOf = ({ toMs }: SegmentFile) => Math.floor(toMs / HOUR_MS);
  /** Segments of one key become one. */
  const keyOf = (one: SegmentFile): string | undefined => {
    if (one.day !== newest.day) return one.day;
    return hourOf(one) === hourOf(newest) ? undefined : `${one.day} ${hourOf(one)}`;
  };
  let merged = 0;
  for (let at = 0; at < segments.length; ) {
    const key = keyOf(segments[at] as SegmentFile);
    const list: SegmentFile[] = [];
    for (; at < segments.length; at++) {
      const segment = segments[at] as SegmentFile;
      if (list.length > 0 && (keyOf(segment) !== key || segment.first !== (list.at(-1) as SegmentFile).last + 1)) break;
      list.push(segment);
    }
    if (key !== undefined && list.length > 1)
      merged += mergeReadable(folder, list, key.includes(' ') ? 'hour' : 'day', options);
  }
  return merged;
}

/** That rows cannot be decoded shows while they are merged: only then each is looked at before. */
function mergeReadable(
  folder: string,
  list: readonly SegmentFile[],
  level: SegmentLevel,
  options: TidyOptions,
): number {
  try {
    return merge(folder, list, level, options);
  } catch (error) {
    if (!(error instanceof UnreadableSegment)) throw error;
    return merge(folder, list, level, options, isDecodable);
  }
}

function isDecodable({ groups }: SegmentColumns): boolean {
  try {
    for (const group of groups) decodeGroup(group);
    return true;
  } catch {
    return false;
  }
}

interface Part {
  segment: SegmentFile;
  about: SegmentAbout;
}

/** One that cannot be read stays as it is, and those around it become one each. */
function merge(
  folder: string,
  list: readonly SegmentFile[],
  level: SegmentLevel,
  options: TidyOptions,
  isSound: (columns: SegmentColumns) => boolean = () => true,
): number {
  let parts: Part[] = [];
  let made = 0;
  const finish = () => {
    if (parts.length > 1) {
      mergeWhole(folder, parts, level, options);
      made++;
    }
    parts = [];
  };
  for (const segment of list) {
    const found = opened(segment);
    const columns = found && isSound(found) ? found : undefined;
    if (!columns || (parts[0] && parts[0].about.address !== columns.about.address)) finish();
    if (columns) parts.push({ segment, about: columns.about });
  }
  finish();
  return made;
}

function mergeWhole(folder: string, parts: readonly Part[], level: SegmentLevel, { program }: TidyOptions): void {
  const [first, last] = [parts[0], parts.at(-1)] as [Part, Part];
  const forgotten = parts.flatMap(({ about }) => about.forgotten);
  const name = {
    first: first.segment.first,
    last: last.segment.last,
    level,
    rewrites: Math.max(...parts.map(({ segment }) => segment.rewrites)),
    fromMs: first.segment.fromMs,
    toMs: last.segment.toMs,
  };
  const made = new NewSegment(folder, { program, address: first.about.address, forgotten });
  try {
    // Read again, one after another: a day of them is too much to be held.
    for (const { segment } of parts) addRows(readSegment(segment), made);
    made.finish(name, first.segment.day);
  } finally {
    made.discard();
  }
  const files = parts.map(({ segment }) => segment);
  removeSegments(folder, files);
}

const EVENTS_KEPT_MS = 31 * 24 * HOUR_MS;

async function makeBases(folder: string, options: TidyOptions): Promise<Pick<Tidied, 'bases' | 'needsBase'>> {
  const { program, address, eventsKeptMs = EVENTS_KEPT_MS } = options;
  const segments = runSegments(folder);
  let bases = 0;
  let needsBase = false;
  for (const [at, segment] of segments.entries()) {
    const next = segments[at + 1];
    if (!next || next.day === segment.day) continue;
    const walk = new Walk(folder, address);
    if (walk.bases.some(({ last }) => last === next.first - 1)) continue;
    const made = new NewSegment(folder, { program, address, forgotten: [] });
    try {
      let isLost = false;
      for await (const part of standingInParts(walk, next.first, options.changesMax)) {
        isLost = 'lost' in part;
        if (!('lost' in part)) addStanding(part, made, segment.toMs - eventsKeptMs);
      }
      if (isLost) needsBase = walk.bases.every(({ last }) => last < next.first);
      if (isLost) continue;
      const name = { first: segment.last, last: segment.last, level: 'base', rewrites: 0 } as const;
      made.finish({ ...name, fromMs: segment.toMs, toMs: segment.toMs }, next.day);
      bases++;
    } finally {
      made.discard();
    }
  }
  return { bases, needsBase };
}

/** Older events are in no window. */
function addStanding(standing: Standing, { rows }: NewSegment, eventsFromMs: number): void {
  for (const row of standing.rows(() => true)) if (row.kind !== 'event' || row.at >= eventsFromMs) rows.addRow(row);
}

/** The oldest base that is kept can be read: nothing before it is removed otherwise. */
function prune(folder: string, { nowMs, keepMs }: TidyOptions): number {
  const { segments } = listHistory(folder);
  const isOld = (base: SegmentFile) =>
    segments.some(
      ({ level, first, fromMs }) => level !== 'base' && first === base.last + 1 && fromMs <= nowMs - keepMs,
    );
  const oldest = segments.findLast((one) => one.level === 'base' && isOld(one) && isWhole(one));
  if (!oldest) return 0;
  const old = segments.filter(({ level, last }) => last < oldest.last || (level !== 'base' && last === oldest.last));
  if (old.length > 0) removeSegments(folder, old);
  return old.length;
}

// The facts of one group of rows, as changes.

export interface Wanted {
  fact(kind: SubjectKind, path: string): boolean;
  /** No fact is wanted. */
  noFacts?: boolean;
  /** Of rows that are no facts. */
  row(kind: string): boolean;
  /** Only rows of this subject; undefined: all. */
  subject?: string | undefined;
  /** Without facts of readings that were not trusted. */
  standingOnly?: boolean;
}

/** It is there, and was not recorded. */
const SECRET = Symbol('secret');

type Kept = Fact | typeof SECRET | undefined;

class FactScan {
  readonly #group: DecodedGroup;
  /** By the code of a kind. */
  readonly #factKinds: readonly (SubjectKind | undefined)[];
  /** By the code of a kind, then by that of a path; of kinds that are no facts, by none. */
  readonly #wantedPaths: readonly (Uint8Array | undefined)[];
  readonly #isOther: readonly boolean[];
  /** By the code of a subject; undefined: all are wanted. */
  readonly #subjects: Uint8Array | undefined;
  /** Of a value that repeats, one fact: facts are never changed in place. */
  readonly #known = new Map<number, Kept>();

  constructor(group: DecodedGroup, wanted: Wanted) {
    const { kind, path, subject } = group;
    this.#group = group;
    this.#factKinds = kind.dictionary.map(factKindOf);
    this.#wantedPaths = kind.dictionary.map((name) => {
      const factKind = factKindOf(name);
      if (!factKind) return undefined;
      const isOut = wanted.standingOnly === true && name.startsWith('aside.');
      return Uint8Array.from(path.dictionary, (one) => (!isOut && wanted.fact(factKind, one) ? 1 : 0));
    });
    this.#isOther = kind.dictionary.map((name) => factKindOf(name) === undefined && wanted.row(name));
    const { subject: only } = wanted;
    if (only !== undefined) this.#subjects = Uint8Array.from(subject.dictionary, (one) => (one === only ? 1 : 0));
  }

  isFact(row: number): boolean {
    return this.#wantedPaths[this.#group.kind.codes[row] as number] !== undefined;
  }

  /** Of a fact. */
  isWanted(row: number): boolean {
    const { kind, path } = this.#group;
    const paths = this.#wantedPaths[kind.codes[row] as number] as Uint8Array;
    return paths[path.codes[row] as number] === 1 && this.#isOfSubject(row);
  }

  /** No fact, and wanted. */
  isOther(row: number): boolean {
    return (this.#isOther[this.#group.kind.codes[row] as number] as boolean) && this.#isOfSubject(row);
  }

  changeAt(row: number): FactChange {
    const { kind, subject, path } = this.#group;
    return changeOf(
      this.#factKinds[kind.codes[row] as number] as SubjectKind,
      subject.dictionary[subject.codes[row] as number] as string,
      path.dictionary[path.codes[row] as number] as string,
      this.#valueAt(row),
    );
  }

  #isOfSubject(row: number): boolean {
    return this.#subjects === undefined || this.#subjects[this.#group.subject.codes[row] as number] === 1;
  }

  #valueAt(row: number): Kept {
    const { codes, repeats, text } = this.#group.value;
    const code = codes[row] as number;
    if (code === -1) return undefined;
    if (!repeats) return readValue(text(code));
    let fact = this.#known.get(code);
    if (fact === undefined) {
      fact = readValue(text(code));
      this.#known.set(code, fact);
    }
    return fact;
  }
}

export function changeOf(kind: SubjectKind, subject: string, path: string, value: Kept): FactChange {
  return value === SECRET ? { kind, subject, path, value: undefined, secret: true } : { kind, subject, path, value };
}

export function readValue(text: string): Fact | typeof SECRET {
  return text === SECRET_TEXT ? SECRET : factOf(text);
}

// The runs of a segment: its facts as changes, its other rows as they are.

export interface ScannedRun {
  run: number;
  atMs: number;
  /** An array, or of a run with very many, what reads them each time it is asked. */
  changes: Iterable<FactChange>;
  /** Without facts. */
  rows: HistoryRow[];
}

/** More changes than these are not held: the first recorded run has every fact of a fleet. */
const HELD_MAX = 100_000;

interface Place {
  group: number;
  row: number;
}

interface Scanning {
  run: number;
  atMs: number;
  from: Place;
  /** Undefined: they are too many. */
  changes: FactChange[] | undefined;
  rows: HistoryRow[];
}

/** Runs in order; a run is given when all its rows were read. */
export function* scanRuns(columns: SegmentColumns, wanted: Wanted): Generator<ScannedRun> {
  const boundaries = new RunBoundaries();
  let current: Scanning | undefined;
  let at: Place = { group: 0, row: 0 };
  for (const [index, group] of columns.groups.entries()) {
    if (hasFactsAlone(group, wanted)) continue;
    const decoded = decodeGroup(group);
    const facts = new FactScan(decoded, wanted);
    const { run, at: times, kind } = decoded;
    const isFrame = kind.dictionary.map((name) => name === 'run');
    let before = { run: -1, time: -1, wasFrame: true };
    for (let row = 0; row < decoded.rows; row++) {
      const runCode = run.codes[row] as number;
      const timeCode = times.codes[row] as number;
      const isFrameNow = isFrame[kind.codes[row] as number] as boolean;
      if (isFrameNow || before.wasFrame || runCode !== before.run || timeCode !== before.time) {
        before = { run: runCode, time: timeCode, wasFrame: isFrameNow };
        const [runNow, atMs] = [run.dictionary[runCode] as number, times.dictionary[timeCode] as number];
        if (boundaries.begins(runNow, atMs, isFrameNow)) {
          at = { group: index, row };
          if (current) yield scanned(current, columns, wanted, at);
          current = { run: runNow, atMs, from: at, changes: [], rows: [] };
        }
      }
      const now = current as Scanning;
      if (facts.isFact(row)) {
        if (!facts.isWanted(row) || !now.changes) continue;
        now.changes.push(facts.changeAt(row));
        if (now.changes.length > HELD_MAX) now.changes = undefined;
      } else if (facts.isOther(row)) now.rows.push(rowAt(decoded, row));
    }
  }
  if (current) yield scanned(current, columns, wanted, { group: columns.groups.length, row: 0 });
}

/** Nobody wants them, and no run begins there: it would with its frame. */
function hasFactsAlone(group: RowGroup, { noFacts }: Wanted): boolean {
  return noFacts === true && group.kind().dictionary.every((kind) => factKindOf(kind) !== undefined);
}

function scanned({ run, atMs, from, changes, rows }: Scanning, of: SegmentColumns, wanted: Wanted, end: Place) {
  const again = { [Symbol.iterator]: () => changesBetween(of, wanted, from, end) };
  return { run, atMs, changes: changes ?? again, rows };
}

/** One group of rows at a time is in memory. */
function* changesBetween({ groups }: SegmentColumns, wanted: Wanted, from: Place, end: Place): Generator<FactChange> {
  for (const [index, group] of groups.entries()) {
    if (index < from.group || index > end.group || (index === end.group && end.row === 0)) continue;
    const decoded = decodeGroup(group);
    const facts = new FactScan(decoded, wanted);
    const last = index === end.group ? end.row : decoded.rows;
    for (let row = index === from.group ? from.row : 0; row < last; row++)
      if (facts.isFact(row) && facts.isWanted(row)) yield facts.changeAt(row);
  }
}

// What the one writer of a history does: one segment for each run, and a base when it knows what holds and the files do
// not. In: rows. Out: segments, each whole or not there. INVARIANT: one process writes, the one that holds the writer
// lock of the database.

export class HistoryWriter {
  readonly #folder: string;
  readonly #about: SegmentAbout;
  #last: { place: number; toMs: number };

  /** Removes what a killed process left unfinished. Errors: AppError `store_failed`. */
  constructor(folder: string, about: { program: string; address: string }) {
    this.#folder = folder;
    this.#about = { ...about, forgotten: [] };
    removeUnfinished(folder);
    const last = listHistory(folder).segments.reduce<SegmentFile | undefined>(
      (latest, segment) => (latest && latest.last >= segment.last ? latest : segment),
      undefined,
    );
    this.#last = { place: last?.last ?? 0, toMs: last?.toMs ?? 0 };
  }

  /** The place of the last recorded run; 0 without any. */
  get place(): number {
    return this.#last.place;
  }

  /** The rows of one run, those of kind `run` first. Errors: AppError `store_failed`; then nothing of it is recorded. */
  writeRun(rows: Iterable<HistoryRow>): SegmentFile & { rows: number } {
    return this.writeAdded((made) => {
      for (const row of rows) made.addRow(row);
    });
  }

  /** For rows of the next run. */
  rowsAhead(): RowsAhead {
    return new RowsAhead(new NewFile(this.#folder));
  }

  /** The same of rows that are added one by one. */
  writeAdded(addAll: (rows: NewSegment['rows']) => void): SegmentFile & { rows: number } {
    const made = new NewSegment(this.#folder, this.#about);
    try {
      addAll(made.rows);
      const { times } = made.rows;
      if (!times) throw new AppError('internal', 'a recorded run has no rows');
      const place = this.#last.place + 1;
      const segment = made.finish({ ...SAME, first: place, last: place, level: 'run', ...times });
      this.#last = { place, toMs: times.toMs };
      return { ...segment, rows: made.rows.rows };
    } finally {
      made.discard();
    }
  }

  /**
   * What holds after the last recorded run: standing rows, those of one subject one after another. For a recorder whose knowledge the files do not
   * give: without rows it says that nothing is known, so that the next run's changes are all there is. It stands in the folder of the next run.
   */
  writeBase(rows: Iterable<Omit<HistoryRow, 'run'>>, nextAtMs: number = this.#last.toMs): SegmentFile {
    const made = new NewSegment(this.#folder, this.#about);
    try {
      for (const { at, kind, subject, path, value } of rows) made.rows.add(0, at, kind, subject, path, value);
      const { place, toMs } = this.#last;
      const atMs = place === 0 ? nextAtMs : toMs;
      const name = { ...SAME, first: place, last: place, level: 'base', fromMs: atMs, toMs: atMs } as const;
      return made.finish(name, dayOf(nextAtMs));
    } finally {
      made.discard();
    }
  }
}

const SAME = { rewrites: 0 };

/** Without a recorded run there are no rows. Errors: AppError `store_failed` when the folder cannot be read. */
export async function lastStanding(
  folder: string,
  address: string,
  changesMax?: number,
): Promise<AsyncIterable<Iterable<HistoryRow>> | undefined> {
  const walk = new Walk(folder, address);
  const newest = walk.bases.at(-1);
  if (walk.lastPlace === 0 && !newest) return nothing();
  const parts = standingInParts(walk, Math.max(walk.lastPlace, newest?.last ?? 0) + 1, changesMax);
  const { value: first } = await parts.next();
  return !first || 'lost' in first ? undefined : rowsOf(first, parts);
}

async function* nothing(): AsyncGenerator<Iterable<HistoryRow>> {}

async function* rowsOf(first: Standing, parts: AsyncIterable<Standing | { lost: Lost }>) {
  const noEvents = (kind: string) => kind !== 'event';
  yield first.rows(noEvents);
  for await (const part of parts) if (!('lost' in part)) yield part.rows(noEvents);
}
