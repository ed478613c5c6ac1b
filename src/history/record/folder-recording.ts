// history/record: the recording of one database, in its folder. In: runs as they were seen. Out: a segment for each; in time fewer and larger
// ones, and none older than they are kept. What was recorded last is read from the folder, at first and after each failure.

import type { Pack } from '../../base/packed-list.ts';
import type { PrintKey } from '../../base/print-bits.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { SECRET_TEXT } from '../../domain/fact-packs.ts';
import { FactPaths } from '../../domain/fact-prints.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { RecordForm, SeenRun, SeenSubjects } from '../../domain/recorded-history.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import {
  EVENTS_TO,
  factKindOf,
  factOf,
  type HistoryRow,
  type RowKind,
  RunEncoder,
  type RunToEncode,
  type SavedEncoder,
} from '../codec/run-encoder.ts';
import { applyAfter, holds, type RowSink, type RunBeside, runAt, Walk } from '../files/begin.ts';
import { type RowsAhead, UnreadableSegment } from '../files/segment-bytes.ts';
import { type Range, readStanding, removeStanding, writeStanding } from '../files/standing-file.ts';
import { HistoryWriter, lastStanding, tidyHistory } from '../files/tidy.ts';
import { LastFacts, SAVED_LISTS, type SavedList } from './last-facts.ts';
import { type DiffPass, type SavedDiffer, SubjectDiffer } from './subject-differ.ts';

// History/record: whoever keeps the recording of a database: a thread of its own, or this one.

/** A run for the desk: without records, which are packed beside it. Plain data, of this moment. */
export interface SentRun {
  run: Uint8Array;
  seen: (Omit<SeenHere, 'changed'> & { changed: readonly Pack[] })[];
  /** What the packs of `seen` lie in. */
  buffers: ArrayBuffer[];
}

/** The part of it that `run` has, by `node:v8`. */
export type SentFrame = Omit<SeenRun, 'seen'>;

/** `ahead`: how many packs of its changed records came ahead of the run; absent: none. */
type SeenHere = SeenSubjects & { ahead?: number };
type RunHere = Omit<SeenRun, 'seen'> & { seen: readonly SeenHere[] };

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
  /** The next records of the first list of a kind: of the run that is recorded next, if that has this list. `isFirst`: it replaces one that was begun. */
  ahead(kind: SubjectKind, pack: Pack, isFirst: boolean): Promise<void>;
  record(run: SentRun): Promise<void>;
  tidy(nowMs: number): Promise<void>;
  /** How many steps its work has made; undefined: not known. While the number grows, the disk answers. */
  readonly steps?: number;
  /** What is under way fails, and is lost: its disk does not answer. The next call begins anew. */
  restart(): void;
  /** INVARIANT: when it is closed, nothing more is written, now or later: each call after it fails. */
  close(): Promise<void>;
}

// History/record: what was recorded last, and what the next run adds to it.

/** What was taken ahead of a run. */
interface TakenAhead {
  packs: number;
  pass: DiffPass;
  rows: RowsAhead;
}

export class Recording {
  readonly differs: Record<SubjectKind, SubjectDiffer>;
  private readonly taken = new Map<SubjectKind, TakenAhead>();
  /** The hash of the rule set that is recorded. */
  ruleSet: string | undefined;
  /** The number of the newest event that is recorded, and of the run that it was recorded with. */
  eventsTo: EventsOfRun = { seq: 0, eventsTo: 0 };

  constructor(
    private readonly key: PrintKey,
    differOf = (kind: SubjectKind) => new SubjectDiffer(kind, key),
  ) {
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
    // Whoever asks again has lost the run that they were for.
    this.settleAhead();
    return this.differs[kind].presentPrints(form);
  }

  /** The number after which events are to be recorded with this run. */
  eventsAfter({ seq, eventsTo }: EventsOfRun): number {
    // A store that was restored, or has no events left, gives the same numbers to other ones.
    const isAnew = seq <= this.eventsTo.seq || eventsTo < this.eventsTo.eventsTo;
    return isAnew ? 0 : this.eventsTo.eventsTo;
  }

  /** INVARIANT: of its kind nothing is recorded. One that fails does not count: then its run has others than are here. */
  ahead(kind: SubjectKind, packs: Iterable<Uint8Array>, isFirst: boolean, rowsOf: () => RowsAhead): void {
    if (isFirst) this.leaveAhead(kind);
    let taken = this.taken.get(kind);
    if (!taken) {
      if (!isFirst || this.differs[kind].last.size > 0) throw new AppError('internal', 'it is no first list');
      taken = { packs: 0, pass: this.differs[kind].begin(), rows: rowsOf() };
      this.taken.set(kind, taken);
    }
    const { pass, rows } = taken;
    for (const [id, record] of pass.recordsOf(packs))
      pass.take(id, record, (_, subject, path, text) => rows.add(subject, path, text));
    taken.packs += 1;
  }

  /** The rows that were made ahead of this kind. */
  rowsAhead(kind: SubjectKind): RowsAhead {
    return (this.taken.get(kind) as TakenAhead).rows;
  }

  /** What was taken ahead is known from now on if this run saw it, in a reading that is trusted. Undefined: none did. */
  settleAhead(run?: RunHere): void {
    for (const [kind, { rows }] of this.taken) {
      const isKnown = run?.seen.some((one) => one.kind === kind && one.ahead && isUsable(one.reading));
      if (!isKnown) this.leaveAhead(kind);
      rows.discard();
    }
    this.taken.clear();
  }

  /** Nothing of it is recorded. */
  private leaveAhead(kind: SubjectKind): void {
    this.taken.get(kind)?.rows.discard();
    if (this.taken.delete(kind)) this.differs[kind] = new SubjectDiffer(kind, this.key);
  }

  /** Errors: AppError `internal` when it is not all there. */
  private passAhead({ kind, ahead }: SeenHere): DiffPass | undefined {
    if (!ahead) return undefined;
    const taken = this.taken.get(kind);
    if (taken?.packs === ahead) return taken.pass;
    throw new AppError('internal', 'what was read ahead is not all there');
  }

  /** Its changes are to be asked for once, before the next run is taken. */
  take({ seen, frame, ruleSet, isClockRight: _, ...rest }: RunHere, events: Iterable<TrustEvent>): RunToEncode {
    for (const kind of this.taken.keys())
      if (!seen.some((one) => one.kind === kind && one.ahead)) this.leaveAhead(kind);
    const diffs = seen.map((one) => ({
      kind: one.kind,
      ...this.differs[one.kind].diff(one, this.passAhead(one)),
    }));
    this.eventsTo = { seq: frame.run.seq, eventsTo: frame.eventsTo };
    const isKnown = this.ruleSet === ruleSet.hash;
    this.ruleSet = ruleSet.hash;
    return {
      ...rest,
      frame,
      ahead: seen.filter(({ ahead }) => ahead).map(({ kind }) => kind),
      shows: () => new Map(diffs.map(({ kind, shows }) => [kind, shows()])),
      changes: (take) => {
        for (const { changes } of diffs) changes(take);
      },
      events,
      ...(!isKnown && { ruleSet }),
    };
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

  /** Errors: AppError `store_failed`. */
  async ahead(kind: SubjectKind, packs: Iterable<Uint8Array>, isFirst: boolean): Promise<void> {
    const { recording, writer } = await this.open();
    recording.ahead(kind, packs, isFirst, () => writer.rowsAhead());
  }

  /** Errors: AppError `store_failed`; then nothing of it is recorded. */
  async record(run: RunHere, events: Iterable<TrustEvent>): Promise<void> {
    const opened = await this.open();
    const { writer, recording, encoder, unsaved } = opened;
    // Until it is written, what is recorded is not what is known here.
    this.opened = undefined;
    try {
      const taken = recording.take(run, events);
      unsaved.rows += writer.writeAdded((rows) =>
        encoder.encode(taken, rows.add, (of, ...about) => rows.addAhead(recording.rowsAhead(of), ...about)),
      ).rows;
    } finally {
      recording.settleAhead(run);
    }
    unsaved.runs += 1;
    const { seq, startedAt } = run.frame.run;
    if (unsaved.rows >= UNSAVED_MAX.rows || unsaved.runs >= UNSAVED_MAX.runs)
      save(this.settings, opened, { run: seq, atMs: startedAt });
    this.opened = opened;
  }

  /** Nothing more comes of it. */
  close(): void {
    this.opened?.recording.settleAhead();
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

export function changeOf({
  path,
  value,
}: Pick<HistoryRow, 'path' | 'value'>): Pick<FactChange, 'path' | 'value' | 'secret'> {
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
  const known = { recording, encoder: new RunEncoder(data.encoder) };
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
