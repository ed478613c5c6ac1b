// history/record: the recording of one database, in its folder. In: runs as they were seen. Out: a segment for each; in time fewer and larger
// ones, and none older than they are kept. What was recorded last is read from the folder, at first and after each failure.

import { PackedList, type Packs } from '../../base/packed-list.ts';
import { isEqualPrint, PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type FactPath, FactPaths, type TakeFact } from '../../domain/fact-prints.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { FIELDS, fieldText, type PresentPrints } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import {
  formOf,
  type RecordForm,
  SeenPrints,
  type SeenRun,
  type SeenSubjects,
  type SharedPrints,
} from '../../domain/recorded-history.ts';
import { isPlainlyCleanFact, withoutSecrets } from '../../domain/secrets.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import {
  type EachChange,
  EVENTS_TO,
  factKindOf,
  factOf,
  type HistoryRow,
  type RowKind,
  RunEncoder,
  type RunToEncode,
  type SavedEncoder,
  SECRET_TEXT,
  type TakeChange,
} from '../codec/run-encoder.ts';
import { applyAfter, holds, type RowSink, type RunBeside, runAt, Walk } from '../files/begin.ts';
import { UnreadableSegment } from '../files/segment-bytes.ts';
import { type Range, readStanding, removeStanding, writeStanding } from '../files/standing-file.ts';
import { HistoryWriter, lastStanding, tidyHistory } from '../files/tidy.ts';
import { LastFacts, type PackedFacts, SAVED_LISTS, type SavedFacts, type SavedList } from './last-facts.ts';

// History/record: whoever keeps the recording of a database: a thread of its own, or this one.

/** A run for the desk: without records, which are packed beside it. Plain data, of this moment. */
export interface SentRun {
  run: Uint8Array;
  seen: (Omit<SeenSubjects, 'changed'> & { changed: Omit<Packs, 'buffers'> })[];
  /** What the packs of `seen` lie in. */
  buffers: ArrayBuffer[];
}

/** The part of it that `run` has, by `node:v8`. */
export type SentFrame = Omit<SeenRun, 'seen'>;

/** The number of a run, and of the newest event that it knows. */
export interface EventsOfRun {
  seq: number;
  eventsTo: number;
}

/** All in order: each answer is of what was recorded before it was asked for. Errors: AppError `store_failed`, `internal` of a thread. */
export interface RecordingDesk {
  /** What was recorded last is read, if it is not known yet. */
  open(): Promise<void>;
  presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints>;
  eventsAfter(run: EventsOfRun): Promise<number>;
  /** Of the run that is recorded next. */
  events(batch: readonly TrustEvent[]): Promise<void>;
  record(run: SentRun): Promise<void>;
  tidy(nowMs: number): Promise<void>;
  /** How many steps its work has made; undefined: not known. While the number grows, the disk answers. */
  readonly steps?: number;
  /** What is under way fails, and is lost: its disk does not answer. The next call begins anew. */
  restart(): void;
  /** INVARIANT: when it is closed, nothing more is written, now or later: each call after it fails. */
  close(): Promise<void>;
}

/** Their text is JSON, and is dropped when it is not. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

const NONE: ReadonlySet<string> = new Set();

/** A name alone makes no secret: agents have a `PasscodeStatus`. */
function secretPathsOf(record: Facts, key: PrintKey): ReadonlySet<string> {
  const { value, dropped } = withoutSecrets(record, { jsonFields: JSON_FIELDS, needsForm: true });
  if (dropped.length === 0) return NONE;
  const paths = new FactPaths(key);
  const kept = new Map<string, string>();
  if (isFacts(value)) paths.walk(value, (path, print) => kept.set(path.text, print.join()));
  const secret = new Set<string>();
  paths.walk(record, (path, print) => {
    if (kept.get(path.text) !== print.join()) secret.add(path.text);
  });
  return secret;
}

// History/record: one reading of one kind, compared with what was recorded last.

/** The facts of a record, one record after the other: paths by number, and four numbers for each value. */
class Found {
  size = 0;
  paths = new Uint32Array(64);
  prints = new Int32Array(PRINT_WORDS * 64);
  readonly values: (Fact | undefined)[] = [];

  clear(): void {
    this.size = 0;
  }

  add(path: number, prints: Int32Array, at: number, value: Fact | undefined): void {
    if (this.size === this.paths.length) {
      const { paths, prints: known } = this;
      this.paths = new Uint32Array(2 * paths.length);
      this.prints = new Int32Array(2 * known.length);
      this.paths.set(paths);
      this.prints.set(known);
    }
    this.paths[this.size] = path;
    this.values[this.size] = value;
    for (let word = 0; word < PRINT_WORDS; word += 1)
      this.prints[PRINT_WORDS * this.size + word] = prints[at + word] as number;
    this.size += 1;
  }

  packed(): PackedFacts {
    return { paths: this.paths.subarray(0, this.size), values: this.prints.subarray(0, PRINT_WORDS * this.size) };
  }
}

/** Of one subject after the other: which facts it has, and where. */
class Marks {
  private readonly turns: number[] = [];
  private readonly places: number[] = [];
  private turn = 0;

  begin(): void {
    this.turn += 1;
  }

  set(path: number, place: number): void {
    this.turns[path] = this.turn;
    this.places[path] = place;
  }

  /** Undefined: it has no such fact. */
  get(path: number): number | undefined {
    return this.turns[path] === this.turn ? this.places[path] : undefined;
  }
}

export class DiffPass {
  /** Paths that this form has shown, until now; those among them that it shows for the first time. */
  readonly shown: Set<number>;
  readonly gained = new Set<number>();
  private readonly before = new Marks();
  private readonly now = new Marks();
  private readonly found = new Found();

  constructor(
    private readonly kind: SubjectKind,
    private readonly paths: FactPaths,
    private readonly last: LastFacts,
    shown: ReadonlySet<number>,
    private readonly isTrusted: boolean,
  ) {
    this.shown = new Set(shown);
  }

  /** Notes which paths the record shows, without a comparison. */
  look(record: Facts): void {
    this.paths.walk(record, (path) => this.show(path));
  }

  take(subject: string, record: Facts, take: TakeChange): void {
    const { before, now, found } = this;
    const last = this.last.get(subject);
    before.begin();
    last?.paths.forEach((no, at) => {
      before.set(no, at);
    });
    now.begin();
    found.clear();
    this.paths.walk(record, this.find);
    const recorded = found.size;
    this.removed(subject, last, this.shown, take);
    let secret: ReadonlySet<string> | undefined;
    for (let at = 0; at < recorded; at += 1) {
      const no = found.paths[at] as number;
      const was = before.get(no);
      const isAsItWas = () =>
        was !== undefined && last && isEqualPrint(last.values, PRINT_WORDS * was, found.prints, PRINT_WORDS * at);
      if (isAsItWas()) continue;
      const { text } = this.last.pathOf(no);
      const value = found.values[at] as Fact;
      if (!isPlainlyCleanFact(text, value)) secret ??= secretPathsOf(record, this.paths.key);
      if (!secret?.has(text)) take(this.kind, subject, text, value, false);
      else {
        // INVARIANT: nothing that stands for a secret is kept, so whether it changed is not known.
        found.prints.fill(0, PRINT_WORDS * at, PRINT_WORDS * (at + 1));
        if (!isAsItWas()) take(this.kind, subject, text, undefined, true);
      }
    }
    if (this.isTrusted) this.last.set(subject, found.packed());
  }

  private readonly find: TakeFact = (path, print, value) => {
    this.now.set(path.no, this.found.size);
    this.found.add(path.no, print, 0, value);
    this.show(path);
  };

  /** The reading had the subject as it was recorded, so without the facts that its form shows for the first time. */
  lose(subject: string, take: TakeChange): void {
    this.now.begin();
    this.found.clear();
    this.removed(subject, this.last.get(subject), this.gained, take);
    if (this.isTrusted) this.last.set(subject, this.found.packed());
  }

  remove(subject: string, take: TakeChange): void {
    if (this.isTrusted) this.last.delete(subject);
    take(this.kind, subject, '', undefined, false);
  }

  private show({ no }: FactPath): void {
    if (this.shown.has(no)) return;
    this.shown.add(no);
    this.gained.add(no);
  }

  /** What it has no longer, of these paths; what else it had is found, too. */
  private removed(subject: string, last: PackedFacts | undefined, of: ReadonlySet<number>, take: TakeChange): void {
    if (!last) return;
    const { paths, values } = last;
    for (let at = 0; at < paths.length; at += 1) {
      const no = paths[at] as number;
      if (this.now.get(no) !== undefined) continue;
      if (of.has(no)) take(this.kind, subject, this.last.pathOf(no).text, undefined, false);
      else this.found.add(no, values, PRINT_WORDS * at, undefined);
    }
  }
}

// History/record: what changed of the subjects of one kind.

interface SubjectDiff {
  /** To be asked for once: what is recorded moves on with it. */
  changes: EachChange;
  /** Paths that records of this form have had until now. Of a reading that is trusted: when all changes are read. */
  shows(): ReadonlySet<string>;
}

type SavedShown = readonly (readonly [RecordForm, readonly number[]])[];

interface SavedDiffer {
  facts: SavedFacts;
  shown: SavedShown;
}

export class SubjectDiffer {
  private readonly paths: FactPaths;
  /** Paths by number that each form has ever shown. INVARIANT: a fact of such a path is as a record of that form has it. */
  private readonly shown: Map<RecordForm, ReadonlySet<number>>;
  private readonly texts = new WeakMap<ReadonlySet<number>, ReadonlySet<string>>();

  constructor(
    private readonly kind: SubjectKind,
    key: PrintKey,
    readonly last = new LastFacts(new FactPaths(key)),
    shown: SavedShown = [],
  ) {
    this.paths = last.paths;
    this.shown = new Map(shown.map(([form, paths]) => [form, new Set(paths)]));
  }

  get saved(): SavedDiffer {
    return { facts: this.last.saved, shown: [...this.shown].map(([form, paths]) => [form, [...paths]]) };
  }

  get size(): number {
    return this.last.size;
  }

  /** Empty for a form that was never read: then everything counts as changed. */
  presentPrints(form: RecordForm): PresentPrints {
    const shown = this.shown.get(form);
    return shown ? this.last.prints(shown) : new Int32Array(0);
  }

  diff(seen: SeenSubjects): SubjectDiff {
    const form = formOf(seen.reading) ?? 'single';
    const before = this.shown.get(form) ?? new Set<number>();
    const isTrusted = isUsable(seen.reading);
    const pass = new DiffPass(this.kind, this.paths, this.last, before, isTrusted);
    if (!isTrusted) for (const [, record] of this.byId(seen.changed)) pass.look(record);
    const shows = () => this.textsOf(pass.gained.size === 0 ? before : pass.shown);
    return { changes: (take) => this.changes(seen, pass, form, before, take), shows };
  }

  private changes(
    seen: SeenSubjects,
    pass: DiffPass,
    form: RecordForm,
    before: ReadonlySet<number>,
    take: TakeChange,
  ): void {
    const list = seen.prints && new ListedSubjects(this.last, before, seen.prints);
    const isTrusted = isUsable(seen.reading);
    const hasOthers = this.last.size > 0;
    // The first list of all is the longest, and read once: what was read of it goes.
    const { changed } = seen;
    for (const [id, record] of this.byId(!hasOthers && changed instanceof PackedList ? changed.drained() : changed)) {
      list?.changed(id);
      pass.take(id, record, take);
    }
    const gone = list?.gone() ?? [];
    if (hasOthers && pass.gained.size > 0) {
      const same = list?.same();
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      if (isTrusted) for (const [id, record] of this.byId(seen.changed)) pass.take(id, record, take);
      for (const id of this.last.idsWith(pass.gained)) if (same?.(id)) pass.lose(id, take);
    }
    for (const id of gone) pass.remove(id, take);
    if (isTrusted && pass.gained.size > 0) this.shown.set(form, pass.shown);
    else if (isTrusted) this.shown.set(form, before);
  }

  /** One subject as an earlier process recorded it: its facts, or what changed of them. */
  load(subject: string, changes: Iterable<Pick<FactChange, 'path' | 'value' | 'secret'>>): void {
    const facts = new Map<number, Int32Array>();
    const known = this.last.get(subject);
    known?.paths.forEach((no, at) => {
      facts.set(no, known.values.slice(PRINT_WORDS * at, PRINT_WORDS * (at + 1)));
    });
    for (const { path, value, secret } of changes) {
      if (path === '') facts.clear();
      else if (value === undefined && !secret) facts.delete(this.paths.of(path).no);
      else {
        const { no, print } = this.paths.printOf(path, value);
        facts.set(no, print.slice());
      }
    }
    if (facts.size === 0) this.last.delete(subject);
    else
      this.last.set(subject, {
        paths: Uint32Array.from(facts.keys()),
        values: Int32Array.from([...facts.values()].flatMap((print) => [...print])),
      });
  }

  loadShown(form: RecordForm, path: string): void {
    this.shown.set(form, new Set([...(this.shown.get(form) ?? []), this.paths.of(path).no]));
  }

  private *byId(records: Iterable<Facts>): Iterable<[string, Facts]> {
    const field = FIELDS[this.kind][0];
    for (const record of records) {
      const id = fieldText(record, field);
      if (id !== '') yield [id, record];
    }
  }

  /** The same set for the same paths: each frame has it. */
  private textsOf(shown: ReadonlySet<number>): ReadonlySet<string> {
    const known = this.texts.get(shown) ?? new Set([...shown].map((no) => this.last.pathOf(no).text));
    this.texts.set(shown, known);
    return known;
  }
}

/** Which subjects a reading of a whole list had, of those that are recorded. */
class ListedSubjects {
  private readonly prints: SeenPrints;
  private readonly changedIds = new Set<string>();
  private readonly recorded: number;
  private changedOnes = 0;

  constructor(
    private readonly last: LastFacts,
    private readonly shown: ReadonlySet<number>,
    shared: SharedPrints,
  ) {
    this.prints = SeenPrints.over(shared);
    this.recorded = last.size;
  }

  /** Before it is recorded. */
  changed(id: string): void {
    // With the first list of all there is nothing to compare.
    if (this.recorded === 0) return;
    if (this.last.has(id) && !this.changedIds.has(id)) this.changedOnes += 1;
    this.changedIds.add(id);
  }

  /** Whether the reading had a recorded subject as it was. To be asked before anything of it is recorded anew. */
  same(): (id: string) => boolean {
    const printOf = this.last.printOf(this.shown);
    const print = new Int32Array(PRINT_WORDS);
    return (id) => {
      if (this.changedIds.has(id)) return false;
      printOf(id, print);
      return this.prints.wasSeen(print, 0);
    };
  }

  /** Recorded subjects that the reading did not have. */
  gone(): string[] {
    // Nearly always all are there: then nobody is looked for.
    if (this.prints.seenCount + this.changedOnes === this.recorded) return [];
    const prints = this.last.prints(this.shown);
    const gone: string[] = [];
    let at = 0;
    for (const id of this.last.all()) {
      if (!this.changedIds.has(id) && !this.prints.wasSeen(prints, at)) gone.push(id);
      at += PRINT_WORDS;
    }
    return gone;
  }
}

// History/record: what was recorded last, and what the next run adds to it.

export class Recording {
  readonly differs: Record<SubjectKind, SubjectDiffer>;
  /** The hash of the rule set that is recorded. */
  ruleSet: string | undefined;
  /** The number of the newest event that is recorded, and of the run that it was recorded with. */
  eventsTo: EventsOfRun = { seq: 0, eventsTo: 0 };

  constructor(key: PrintKey, differOf = (kind: SubjectKind) => new SubjectDiffer(kind, key)) {
    this.differs = { device: differOf('device'), user: differOf('user'), service: differOf('service') };
  }

  /** A standing row that is recorded, and is no fact. */
  apply({ kind, subject, path, value }: HistoryRow): void {
    if (kind === 'rules' && value !== undefined) this.ruleSet = subject;
    if (kind === 'setting' && subject === EVENTS_TO) this.eventsTo = JSON.parse(value ?? '') as EventsOfRun;
    if (kind !== 'form') return;
    const space = subject.indexOf(' ');
    this.differs[subject.slice(0, space) as SubjectKind].loadShown(subject.slice(space + 1) as RecordForm, path);
  }

  presentPrints(kind: SubjectKind, form: RecordForm): PresentPrints {
    return this.differs[kind].presentPrints(form);
  }

  /** The number after which events are to be recorded with this run. */
  eventsAfter({ seq, eventsTo }: EventsOfRun): number {
    // A store that was restored, or has no events left, gives the same numbers to other ones.
    const isAnew = seq <= this.eventsTo.seq || eventsTo < this.eventsTo.eventsTo;
    return isAnew ? 0 : this.eventsTo.eventsTo;
  }

  /** Its changes are to be asked for once, before the next run is taken. */
  take({ seen, frame, ruleSet, isClockRight: _, ...rest }: SeenRun, events: Iterable<TrustEvent>): RunToEncode {
    const diffs = seen.map((one) => ({ kind: one.kind, ...this.differs[one.kind].diff(one) }));
    this.eventsTo = { seq: frame.run.seq, eventsTo: frame.eventsTo };
    const isKnown = this.ruleSet === ruleSet.hash;
    this.ruleSet = ruleSet.hash;
    return {
      ...rest,
      frame,
      shows: () => new Map(diffs.map(({ kind, shows }) => [kind, shows()])),
      changes: (take) => {
        for (const { changes } of diffs) changes(take);
      },
      events,
      ...(!isKnown && { ruleSet }),
    };
  }

  get sizes(): Record<SubjectKind, number> {
    const sizes = { device: 0, user: 0, service: 0 };
    for (const kind of SUBJECT_KINDS) sizes[kind] = this.differs[kind].size;
    return sizes;
  }
}

export interface FolderSettings {
  folder: string;
  /** What the records are of. */
  address: string;
  /** What wrote them. */
  program: string;
  /** How long they are kept. */
  keepMs: number;
  /** Of the database that they lie beside. */
  printKey: PrintKey;
}

/** What is known of what is recorded. */
interface Known {
  recording: Recording;
  encoder: RunEncoder;
}

interface Opened extends Known {
  writer: HistoryWriter;
  /** Runs that were recorded since what is known was saved, and their rows. */
  unsaved: { runs: number; rows: number };
}

/** More of them take long to be read again: then what is known is saved. */
const UNSAVED_MAX = { runs: 100, rows: 50_000 };

export class FolderRecording {
  private opened: Opened | undefined;

  constructor(private readonly settings: FolderSettings) {}

  /** Errors: AppError `store_failed`. */
  async prepare(): Promise<void> {
    await this.open();
  }

  /** Errors: AppError `store_failed`. */
  async presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints> {
    return (await this.open()).recording.presentPrints(kind, form);
  }

  /** Errors: AppError `store_failed`. */
  async eventsAfter(run: EventsOfRun): Promise<number> {
    return (await this.open()).recording.eventsAfter(run);
  }

  /** Errors: AppError `store_failed`; then nothing of it is recorded. */
  async record(run: SeenRun, events: Iterable<TrustEvent>): Promise<void> {
    const opened = await this.open();
    const { writer, recording, encoder, unsaved } = opened;
    // Until it is written, what is recorded is not what is known here.
    this.opened = undefined;
    const taken = recording.take(run, events);
    unsaved.rows += writer.writeAdded(({ add }) => encoder.encode(taken, add)).rows;
    unsaved.runs += 1;
    const { seq, startedAt } = run.frame.run;
    if (unsaved.rows >= UNSAVED_MAX.rows || unsaved.runs >= UNSAVED_MAX.runs)
      save(this.settings, opened, { run: seq, atMs: startedAt });
    this.opened = opened;
  }

  /** Errors: AppError `store_failed`; the records are as they were then. */
  async tidy(nowMs: number): Promise<void> {
    const { folder, address, program, keepMs } = this.settings;
    const { needsBase } = await tidyHistory(folder, { program, address, nowMs, keepMs });
    if (needsBase && this.opened) this.opened = begunAnew(this.settings, this.opened.writer);
  }

  private async open(): Promise<Opened> {
    this.opened ??= await openFolder(this.settings);
    return this.opened;
  }
}

async function openFolder(settings: FolderSettings): Promise<Opened> {
  const { folder, address, program, printKey } = settings;
  const writer = new HistoryWriter(folder, { address, program });
  const saved = await ifReadable(() => savedOf(settings));
  if (saved) return { writer, ...saved };
  const known = await ifReadable(async () => {
    const parts = await lastStanding(folder, address);
    return parts && (await loadedOf(parts, printKey));
  });
  return known ? { writer, ...known, unsaved: { ...UNSAVED_MAX } } : begunAnew(settings, writer);
}

/** What holds cannot be read: the next run is recorded whole, and is the first of a new beginning. */
function begunAnew({ folder, printKey }: FolderSettings, writer: HistoryWriter): Opened {
  removeStanding(folder);
  writer.writeBase([]);
  return { writer, recording: new Recording(printKey), encoder: new RunEncoder(), unsaved: { ...UNSAVED_MAX } };
}

/** Undefined: it cannot be read, or not to its end. */
async function ifReadable<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableSegment || error instanceof RangeError) return undefined;
    throw error;
  }
}

async function loadedOf(parts: AsyncIterable<Iterable<HistoryRow>>, key: PrintKey): Promise<Known> {
  const known = { recording: new Recording(key), encoder: new RunEncoder() };
  const loading = new Loading(known);
  for await (const rows of parts) {
    for (const row of rows) loading.row(row);
    loading.finish();
  }
  return known;
}

/** Standing rows become what is known. */
class Loading implements RowSink {
  private facts: HistoryRow[] = [];
  rows = 0;

  constructor(private readonly known: Known) {}

  takes(kind: string): boolean {
    return kind !== 'event' && holds(kind);
  }

  takesSubject(): boolean {
    return true;
  }

  apply(at: number, kind: string, subject: string, path: string, value: string | undefined): void {
    this.row({ run: 0, at, kind: kind as RowKind, subject, path, value });
  }

  row(row: HistoryRow): void {
    this.rows += 1;
    const { recording, encoder } = this.known;
    if (factKindOf(row.kind) === undefined) {
      recording.apply(row);
      encoder.apply(row);
      return;
    }
    const [first] = this.facts;
    if (first?.subject !== row.subject || first?.kind !== row.kind) this.finish();
    this.facts.push(row);
  }

  /** All rows of the last subject are there. */
  finish(): void {
    const [first] = this.facts;
    if (first) this.known.recording.differs[first.kind as SubjectKind].load(first.subject, this.facts.map(changeOf));
    this.facts = [];
  }
}

function changeOf({ path, value }: HistoryRow): Pick<FactChange, 'path' | 'value' | 'secret'> {
  if (value === SECRET_TEXT) return { path, value: undefined, secret: true };
  return { path, value: value === undefined ? undefined : factOf(value) };
}

// History/record: what is known, in one file beside the segments: a process that begins has it at once.

interface SavedKnown {
  address: string;
  /** Of the key: what stands for a fact under one is nothing under another. */
  key: string;
  /** After which it stands, and which run that is. */
  place: number;
  run: RunBeside;
  ruleSet: string | undefined;
  eventsTo: EventsOfRun;
  encoder: SavedEncoder;
  differs: Record<SubjectKind, SavedDiffer>;
}

function keyMark(key: PrintKey): string {
  return new FactPaths(key).printOf('mark', 'of the key').print.join(' ');
}

/** A disk that has no room for it leaves the one before: the segments have everything. */
function save({ folder, address, printKey }: FolderSettings, opened: Opened, run: RunBeside): void {
  const { recording, encoder, writer } = opened;
  const { differs, ruleSet, eventsTo } = recording;
  const data: SavedKnown = {
    ...{ address, key: keyMark(printKey), place: writer.place, run, ruleSet, eventsTo, encoder: encoder.saved },
    differs: { device: differs.device.saved, user: differs.user.saved, service: differs.service.saved },
  };
  const lists = SUBJECT_KINDS.flatMap((kind) =>
    SAVED_LISTS.map((list) => [`${kind} ${list}`, differs[kind].last.list(list)] as const),
  );
  opened.unsaved = { runs: 0, rows: 0 };
  try {
    const { source, lists: ranges } = writeStanding(folder, data, lists);
    for (const kind of SUBJECT_KINDS) differs[kind].last.moved(source, ranges[`${kind} values`] as Range);
  } catch (error) {
    if (!('code' in (error as NodeJS.ErrnoException))) throw error;
  }
}

/** Undefined: there is none, or it is not of these segments. Errors: UnreadableSegment, RangeError: the same. */
async function savedOf({ folder, address, printKey }: FolderSettings): Promise<Omit<Opened, 'writer'> | undefined> {
  const file = readStanding(folder);
  if (!file) return undefined;
  const { source, lists } = file;
  const data = file.data as SavedKnown;
  const { place, run, ruleSet, eventsTo } = data;
  if (data.address !== address || data.key !== keyMark(printKey)) return undefined;
  const walk = new Walk(folder, address);
  const is = runAt(walk, place);
  if (is?.run !== run.run || is.atMs !== run.atMs || isBegunAnew(walk, place)) return undefined;
  const ranges = (kind: SubjectKind) =>
    Object.fromEntries(SAVED_LISTS.map((list) => [list, lists[`${kind} ${list}`]])) as Record<SavedList, Range>;
  const recording = new Recording(printKey, (kind) => {
    const { facts, shown } = data.differs[kind];
    return new SubjectDiffer(kind, printKey, LastFacts.restored(printKey, facts, source, ranges(kind)), shown);
  });
  Object.assign(recording, { ruleSet, eventsTo });
  const known = { recording, encoder: new RunEncoder([], data.encoder) };
  const loading = new Loading(known);
  const last = await applyAfter(walk, place, loading);
  loading.finish();
  return last === undefined ? undefined : { ...known, unsaved: { runs: last - place, rows: loading.rows } };
}

/** A base that has nothing says that what was before it does not stand. */
function isBegunAnew(walk: Walk, place: number): boolean {
  return walk.bases.some((base) => {
    if (base.last < place) return false;
    const columns = walk.open(base);
    return columns instanceof UnreadableSegment || columns.rows === 0;
  });
}
