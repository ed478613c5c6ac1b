// history/record: the recording of one database, in its folder. In: runs as they were seen. Out: a segment for each; in time fewer and larger
// ones, and none older than they are kept. What was recorded last is read from the folder, at first and after each failure.

import { PackedList, type Packs } from '../../base/packed-list.ts';
import { isEqualPrint, PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type FactPath, FactPaths } from '../../domain/fact-prints.ts';
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
  EVENTS_TO,
  factKindOf,
  factOf,
  type HistoryRow,
  RunEncoder,
  type RunToEncode,
  SECRET_TEXT,
} from '../codec/run-encoder.ts';
import { UnreadableSegment } from '../files/segment-bytes.ts';
import { HistoryWriter, lastStanding, tidyHistory } from '../files/tidy.ts';
import { LastFacts, type PackedFacts } from './last-facts.ts';

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

/** The facts of a record: paths by number, and four numbers for each value. */
interface Found {
  paths: number[];
  prints: number[];
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

  take(subject: string, record: Facts): FactChange[] {
    const changes: FactChange[] = [];
    const { before, now } = this;
    const last = this.last.get(subject);
    const found: Found = { paths: [], prints: [] };
    const values: Fact[] = [];
    before.begin();
    last?.paths.forEach((no, at) => {
      before.set(no, at);
    });
    now.begin();
    this.paths.walk(record, (path, print, value) => {
      now.set(path.no, values.length);
      found.paths.push(path.no);
      for (const word of print) found.prints.push(word);
      values.push(value);
      this.show(path);
    });
    const kept = this.removed(subject, last, this.shown, changes);
    let secret: ReadonlySet<string> | undefined;
    for (const [at, no] of found.paths.entries()) {
      const was = before.get(no);
      if (was !== undefined && last && isEqualPrint(last.values, PRINT_WORDS * was, found.prints, PRINT_WORDS * at))
        continue;
      const path = this.last.pathOf(no).text;
      if (!isPlainlyCleanFact(path, values[at] as Fact)) secret ??= secretPathsOf(record, this.paths.key);
      const change = { kind: this.kind, subject, path } as const;
      changes.push(
        secret?.has(path) ? { ...change, value: undefined, secret: true } : { ...change, value: values[at] },
      );
    }
    if (this.isTrusted) this.keep(subject, found, kept);
    return changes;
  }

  /** The reading had the subject as it was recorded, so without the facts that its form shows for the first time. */
  lose(subject: string): FactChange[] {
    const changes: FactChange[] = [];
    this.now.begin();
    const kept = this.removed(subject, this.last.get(subject), this.gained, changes);
    if (this.isTrusted) this.keep(subject, { paths: [], prints: [] }, kept);
    return changes;
  }

  remove(subject: string): FactChange {
    if (this.isTrusted) this.last.delete(subject);
    return { kind: this.kind, subject, path: '', value: undefined };
  }

  private show({ no }: FactPath): void {
    if (this.shown.has(no)) return;
    this.shown.add(no);
    this.gained.add(no);
  }

  /** What it has no longer, of these paths; returns what else it had. */
  private removed(
    subject: string,
    last: PackedFacts | undefined,
    of: ReadonlySet<number>,
    changes: FactChange[],
  ): Found {
    const kept: Found = { paths: [], prints: [] };
    last?.paths.forEach((no, at) => {
      if (this.now.get(no) !== undefined) return;
      if (of.has(no)) {
        changes.push({ kind: this.kind, subject, path: this.last.pathOf(no).text, value: undefined });
        return;
      }
      kept.paths.push(no);
      for (let word = 0; word < PRINT_WORDS; word += 1)
        kept.prints.push(last.values[PRINT_WORDS * at + word] as number);
    });
    return kept;
  }

  private keep(subject: string, found: Found, kept: Found): void {
    this.last.set(subject, {
      paths: Uint32Array.from([...found.paths, ...kept.paths]),
      values: Int32Array.from([...found.prints, ...kept.prints]),
    });
  }
}

// History/record: what changed of the subjects of one kind.

interface SubjectDiff {
  /** To be read once, to its end: what is recorded moves on with it. */
  changes: Iterable<FactChange>;
  /** Paths that records of this form have had until now. Of a reading that is trusted: when all changes are read. */
  shows(): ReadonlySet<string>;
}

export class SubjectDiffer {
  private readonly paths: FactPaths;
  private readonly last: LastFacts;
  /** Paths by number that each form has ever shown. INVARIANT: a fact of such a path is as a record of that form has it. */
  private readonly shown = new Map<RecordForm, ReadonlySet<number>>();
  private readonly texts = new WeakMap<ReadonlySet<number>, ReadonlySet<string>>();

  constructor(
    private readonly kind: SubjectKind,
    key: PrintKey,
  ) {
    this.paths = new FactPaths(key);
    this.last = new LastFacts(this.paths);
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
    return { changes: this.changes(seen, pass, form, before), shows };
  }

  private *changes(
    seen: SeenSubjects,
    pass: DiffPass,
    form: RecordForm,
    before: ReadonlySet<number>,
  ): Iterable<FactChange> {
    const list = seen.prints && new ListedSubjects(this.last, before, seen.prints);
    const isTrusted = isUsable(seen.reading);
    const hasOthers = this.last.size > 0;
    // The first list of all is the longest, and read once: what was read of it goes.
    const { changed } = seen;
    for (const [id, record] of this.byId(!hasOthers && changed instanceof PackedList ? changed.drained() : changed)) {
      list?.changed(id);
      yield* pass.take(id, record);
    }
    const gone = list?.gone() ?? [];
    if (hasOthers && pass.gained.size > 0) {
      const same = list?.same();
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      if (isTrusted) for (const [id, record] of this.byId(seen.changed)) yield* pass.take(id, record);
      for (const id of this.last.idsWith(pass.gained)) if (same?.(id)) yield* pass.lose(id);
    }
    for (const id of gone) yield pass.remove(id);
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
    const { prints, atOf } = this.last.printsById(this.shown);
    return (id) => !this.changedIds.has(id) && this.prints.wasSeen(prints, atOf(id));
  }

  /** Recorded subjects that the reading did not have. */
  gone(): string[] {
    // Nearly always all are there: then nobody is looked for.
    if (this.prints.seenCount + this.changedOnes === this.recorded) return [];
    const prints = this.last.prints(this.shown);
    const gone: string[] = [];
    let at = 0;
    for (const id of this.last.ids()) {
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

  constructor(key: PrintKey) {
    this.differs = {
      device: new SubjectDiffer('device', key),
      user: new SubjectDiffer('user', key),
      service: new SubjectDiffer('service', key),
    };
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

  /** Its changes are to be read once, to their end, before the next run is taken. */
  take({ seen, frame, ruleSet, isClockRight: _, ...rest }: SeenRun, events: Iterable<TrustEvent>): RunToEncode {
    const diffs = seen.map((one) => ({ kind: one.kind, ...this.differs[one.kind].diff(one) }));
    this.eventsTo = { seq: frame.run.seq, eventsTo: frame.eventsTo };
    const isKnown = this.ruleSet === ruleSet.hash;
    this.ruleSet = ruleSet.hash;
    return {
      ...rest,
      frame,
      shows: () => new Map(diffs.map(({ kind, shows }) => [kind, shows()])),
      changes: eachOf(diffs),
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

function* eachOf(diffs: readonly { changes: Iterable<FactChange> }[]): Iterable<FactChange> {
  for (const { changes } of diffs) yield* changes;
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

interface Opened {
  writer: HistoryWriter;
  recording: Recording;
  encoder: RunEncoder;
}

export class FolderRecording {
  private opened: Opened | undefined;

  constructor(private readonly settings: FolderSettings) {}

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
    const { writer, recording, encoder } = await this.open();
    // Until it is written, what is recorded is not what is known here.
    this.opened = undefined;
    writer.writeRun(encoder.encode(recording.take(run, events)));
    this.opened = { writer, recording, encoder };
  }

  /** Errors: AppError `store_failed`; the records are as they were then. */
  async tidy(nowMs: number): Promise<void> {
    const { folder, address, program, keepMs, printKey } = this.settings;
    const { needsBase } = await tidyHistory(folder, { program, address, nowMs, keepMs });
    if (!needsBase || !this.opened) return;
    this.opened.writer.writeBase([]);
    this.opened = { ...this.opened, recording: new Recording(printKey), encoder: new RunEncoder() };
  }

  private async open(): Promise<Opened> {
    this.opened ??= await openFolder(this.settings);
    return this.opened;
  }
}

async function openFolder({ folder, address, program, printKey }: FolderSettings): Promise<Opened> {
  const writer = new HistoryWriter(folder, { address, program });
  const known = await loaded(await lastStanding(folder, address), printKey);
  if (known) return { writer, ...known };
  // What holds cannot be read: the next run is recorded whole, and is the first of a new beginning.
  writer.writeBase([]);
  return { writer, recording: new Recording(printKey), encoder: new RunEncoder() };
}

/** Undefined: it cannot be read, or not to its end. */
async function loaded(
  parts: AsyncIterable<Iterable<HistoryRow>> | undefined,
  key: PrintKey,
): Promise<Omit<Opened, 'writer'> | undefined> {
  try {
    return parts && (await loadedOf(parts, key));
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}

async function loadedOf(parts: AsyncIterable<Iterable<HistoryRow>>, key: PrintKey): Promise<Omit<Opened, 'writer'>> {
  const recording = new Recording(key);
  const others: HistoryRow[] = [];
  let facts: HistoryRow[] = [];
  const finish = () => {
    const [first] = facts;
    if (first) recording.differs[first.kind as SubjectKind].load(first.subject, facts.map(changeOf));
    facts = [];
  };
  for await (const rows of parts) {
    for (const row of rows) {
      if (factKindOf(row.kind) === undefined) others.push(row);
      else {
        if (facts[0]?.subject !== row.subject || facts[0]?.kind !== row.kind) finish();
        facts.push(row);
      }
    }
    finish();
  }
  loadOthers(recording, others);
  return { recording, encoder: new RunEncoder(others) };
}

function changeOf({ path, value }: HistoryRow): Pick<FactChange, 'path' | 'value' | 'secret'> {
  if (value === SECRET_TEXT) return { path, value: undefined, secret: true };
  return { path, value: value === undefined ? undefined : factOf(value) };
}

function loadOthers(recording: Recording, rows: readonly HistoryRow[]): void {
  for (const { kind, subject, path, value } of rows) {
    if (kind === 'rules') recording.ruleSet = subject;
    if (kind === 'setting' && subject === EVENTS_TO) recording.eventsTo = JSON.parse(value ?? '') as EventsOfRun;
    if (kind !== 'form') continue;
    const space = subject.indexOf(' ');
    recording.differs[subject.slice(0, space) as SubjectKind].loadShown(subject.slice(space + 1) as RecordForm, path);
  }
}
