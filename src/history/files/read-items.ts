// history files: the items of a stretch of time: what held before its first run, its runs, and the gaps. In: a query. Out: items, one at a time: a day
// at most is in memory. After damage it goes on with the next base; runs that are only missing leave what is known as it is.

import { giveWay } from '../../base/turns.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import { FIELDS } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type {
  HistoryGap,
  HistoryItem,
  HistoryQuery,
  HistoryReader,
  RecordedRuleSet,
  RunFrame,
} from '../../domain/recorded-history.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SOURCE_OF, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import { factKindOf, type HistoryRow, OPEN_KINDS, type RowKind, type RunDecoder } from '../codec/run-encoder.ts';
import {
  Begin,
  type Begun,
  causeOf,
  type HistoryFolder,
  type Lost,
  type RunBeside,
  rowsOf,
  runAfter,
  runBefore,
  type Standing,
  undecoded,
  Walk,
  type WalkedSegment,
} from './begin.ts';
import { dayOf, type SegmentColumns, UnreadableSegment } from './segment-bytes.ts';
import { changeOf, readValue, type ScannedRun, scanRuns, type Wanted } from './tidy.ts';

// The item that says what held before the next run.

const PIECE = 5_000;

function stateOf(standing: Standing, decoder: RunDecoder, wanted: Wanted, atMs: number): HistoryItem {
  const isOther = (kind: string) => factKindOf(kind) === undefined && kind !== 'event' && wanted.row(kind);
  decoder.begin(standing.rows(isOther));
  return { kind: 'state', atMs, facts: facts(standing, wanted), events: events(standing, decoder) };
}

async function* facts(standing: Standing, wanted: Wanted): AsyncGenerator<readonly FactChange[]> {
  const isFact = (kind: string) => factKindOf(kind) !== undefined;
  for await (const rows of inPieces(standing.rows(isFact, wanted.fact))) {
    yield rows.map(({ kind, subject, path, value }) =>
      changeOf(kind as SubjectKind, subject, path, value === undefined ? undefined : readValue(value)),
    );
  }
}

async function* events(standing: Standing, decoder: RunDecoder): AsyncGenerator<readonly TrustEvent[]> {
  for await (const rows of inPieces(standing.rows((kind) => kind === 'event'))) yield decoder.events(rows);
}

async function* inPieces(rows: Iterable<HistoryRow>): AsyncGenerator<HistoryRow[]> {
  let piece: HistoryRow[] = [];
  for (const row of rows) {
    piece.push(row);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
    await giveWay();
  }
  if (piece.length > 0) yield piece;
}

// Which rows of the files a query needs.

/** Beside the fields of identities: who owns what. */
const OWNING: Record<SubjectKind, readonly string[]> = {
  device: ['Emails'],
  user: ['SerialNumbers'],
  service: [],
};

type Asked = Pick<HistoryQuery, 'facts' | 'factsOnly' | 'framesOnly'>;

/** Without these a run is still whole, except for what was open and decided. */
const OPEN_STATE: ReadonlySet<string> = new Set<RowKind>([...OPEN_KINDS, 'written', 'ended']);

function wantedBy({ facts, factsOnly, framesOnly }: Asked): Wanted {
  const isOpen = (kind: string) => OPEN_STATE.has(kind);
  if (framesOnly) return { fact: () => false, noFacts: true, row: (kind) => kind !== 'event' && !isOpen(kind) };
  return {
    fact: facts ? (kind, path) => isIdentity(kind, path) || isAmong(facts.get(kind), path) : () => true,
    row: factsOnly === true ? (kind) => !isOpen(kind) : () => true,
  };
}

/** The same test for any row. */
function isRowWanted({ fact, row }: Wanted): (kind: string, path: string) => boolean {
  return (kind, path) => {
    const factKind = factKindOf(kind);
    return factKind === undefined ? row(kind) : fact(factKind, path);
  };
}

function isIdentity(kind: SubjectKind, path: string): boolean {
  return path === '' || FIELDS[kind].includes(path) || OWNING[kind].includes(path);
}

function isAmong(wanted: ReadonlySet<string> | undefined, path: string): boolean {
  if (!wanted) return false;
  if (wanted.has(path)) return true;
  for (const one of wanted) if (one.startsWith(`${path}.`) || path.startsWith(`${one}.`)) return true;
  return false;
}

/** Errors: AppError `store_failed` when the folder cannot be read. */
async function* readItems(history: HistoryFolder, query: HistoryQuery): AsyncGenerator<HistoryItem> {
  const walk = new Walk(history.folder, history.address);
  const first = walk.segments.find(({ fromMs, toMs }) => Math.max(fromMs, toMs) >= query.fromMs);
  const last = walk.segments.findLast(({ fromMs, toMs }) => Math.min(fromMs, toMs) <= query.toMs);
  if (!last) return;
  const hasForgotten = [...walk.segments, ...walk.bases].some(({ rewrites }) => rewrites > 0);
  const decoder = history.newDecoder({
    factsOnly: query.factsOnly === true || query.framesOnly === true,
    hasForgotten,
  });
  const reading = new Reading(walk, decoder, { query, lastPlace: last.last, newestRun: history.newestRun });
  if (!first || first.first > last.last) {
    yield* reading.between();
    return;
  }
  yield* forgottenIn(walk, query);
  let lost: HistoryGap | undefined;
  for (let place = first.first; place <= last.last; ) {
    const items = reading.stretch(place);
    let step = await items.next();
    if (lost && !step.done) {
      yield gap(lost, query);
      lost = undefined;
    }
    for (; !step.done; step = await items.next()) yield step.value;
    if (!step.value) break;
    const end = step.value;
    const next = walk.bases.find((base) => base.last >= Math.max(end.next - 1, place));
    const isLast = next === undefined || next.last >= last.last;
    const toMs = isLast ? Math.min(last.toMs, query.toMs) : next.toMs;
    lost = joined(lost, isLast ? { ...end, text: `${end.text}; ${NO_BASE}` } : end, toMs);
    if (isLast) break;
    place = next.last + 1;
  }
  if (lost) yield gap(lost, query);
}

const NO_BASE = 'no base after it is kept, so nothing after it can be replayed';

/** Where nothing could be read between two losses they are one. */
function joined(before: HistoryGap | undefined, { fromMs, cause, text, ...now }: HistoryGap, toMs: number): HistoryGap {
  return { fromMs: Math.min(fromMs, before?.fromMs ?? fromMs), toMs: Math.max(now.toMs, toMs), cause, text };
}

function gap({ fromMs, toMs, cause, text }: HistoryGap, query: HistoryQuery): HistoryItem {
  return {
    kind: 'gap',
    gap: { fromMs: Math.max(fromMs, query.fromMs), toMs: Math.max(toMs, query.fromMs), cause, text },
  };
}

/** Also where it reaches beyond the query. */
function whole({ fromMs, toMs, cause, text }: HistoryGap): HistoryItem {
  return { kind: 'gap', gap: { fromMs, toMs, cause, text } };
}

/** What was removed on a person's behalf is named first: its runs are given without it, until it was removed. Each time once. */
function* forgottenIn(walk: Walk, query: HistoryQuery): Generator<HistoryItem> {
  const times = new Map<number, { rows: number; fromMs: number }>();
  for (const segment of [...walk.segments, ...walk.bases]) {
    if (segment.rewrites === 0) continue;
    const columns = walk.open(segment);
    if (columns instanceof UnreadableSegment) continue;
    for (const { atMs, rows, fromMs } of columns.about.forgotten) {
      const known = times.get(atMs) ?? { rows: 0, fromMs };
      times.set(atMs, { rows: known.rows + rows, fromMs: Math.min(known.fromMs, fromMs) });
    }
  }
  for (const [atMs, { rows, fromMs }] of times) {
    if (atMs < query.fromMs || fromMs > query.toMs) continue;
    const text = `${dayOf(atMs)}: ${rows} records of one subject were removed by an operator`;
    yield gap({ fromMs, toMs: atMs, cause: 'forgotten', text }, query);
  }
}

class Reading {
  readonly #walk: Walk;
  readonly #decoder: RunDecoder;
  readonly #query: HistoryQuery;
  readonly #wanted: Wanted;
  readonly #lastPlace: number;
  readonly #newestRun: HistoryFolder['newestRun'];
  #hasBegun = false;
  #before: RunBeside | undefined;

  constructor(
    walk: Walk,
    decoder: RunDecoder,
    { query, lastPlace, newestRun }: { query: HistoryQuery; lastPlace: number } & Pick<HistoryFolder, 'newestRun'>,
  ) {
    this.#walk = walk;
    this.#decoder = decoder;
    this.#query = query;
    this.#wanted = wantedBy(query);
    this.#lastPlace = lastPlace;
    this.#newestRun = newestRun;
  }

  /** From a place on as far as it is whole; what was lost then, undefined at the end. */
  async *stretch(place: number): AsyncGenerator<HistoryItem, Lost | undefined> {
    const begun = await new Begin(this.#walk, this.#query.fromMs, { isWanted: isRowWanted(this.#wanted) }).at(place);
    if ('lost' in begun) return begun.lost;
    let position: Begun | undefined = begun;
    yield* this.#begin(begun.place);
    for (let at = begun.place; at <= this.#lastPlace; ) {
      const walked = this.#walk.at(at);
      if (!walked) return undefined;
      if (walked.kind === 'lost') return walked;
      const runs = scanRuns(walked.columns, this.#wanted);
      for (let index = 0; ; index++) {
        const run = nextOf(runs, walked);
        if (run === undefined) break;
        if ('lost' in run) return run.lost;
        if (index < walked.skip) {
          this.#before = run;
          continue;
        }
        yield* this.#missingBefore(run);
        if (run.atMs > this.#query.toMs && walked.next > this.#lastPlace) return undefined;
        const state = position && this.#stateOf(position, run, walked);
        if (state && 'lost' in state) return state.lost;
        if (state) yield state;
        position = undefined;
        const recorded = this.#decoded(run, walked);
        if ('lost' in recorded) return recorded.lost;
        yield recorded;
        await giveWay();
      }
      at = walked.next;
    }
    yield* this.#end();
    return undefined;
  }

  /** Of a time in which no run is recorded. */
  async *between(): AsyncGenerator<HistoryItem> {
    yield* this.#begin(this.#lastPlace + 1);
    yield* this.#end();
  }

  /** Facts alone are read of the runs that are there. */
  *#begin(place: number): Generator<HistoryItem> {
    this.#before = undefined;
    if (this.#hasBegun || this.#query.factsOnly) return;
    this.#hasBegun = true;
    const beside = runBefore(this.#walk, place);
    if (!beside || !('lost' in beside)) this.#before = beside;
    else if (this.#isAsked(beside.lost.fromMs, beside.lost.toMs)) yield whole(beside.lost);
  }

  async *#end(): AsyncGenerator<HistoryItem> {
    if (!this.#before || this.#query.factsOnly) return;
    const beside = runAfter(this.#walk, this.#lastPlace);
    if (!beside) yield* this.#newerThan(this.#before);
    else if (!('lost' in beside)) yield* this.#missingBefore(beside);
    else if (this.#isAsked(beside.lost.fromMs, beside.lost.toMs)) yield whole(beside.lost);
  }

  /** The query goes into it, and not only up to it. */
  #isAsked(fromMs: number, toMs: number): boolean {
    return Math.max(fromMs, toMs) > this.#query.fromMs && Math.min(fromMs, toMs) < this.#query.toMs;
  }

  /** The database has runs after the newest one of the record. */
  async *#newerThan({ run, atMs }: RunBeside): AsyncGenerator<HistoryItem> {
    const newest = await this.#newestRun?.();
    if (!newest || (newest.run <= run && newest.atMs <= atMs)) return;
    const isOne = newest.run === run + 1;
    if (!this.#isAsked(atMs, newest.atMs) || (isOne && newest.atMs > this.#query.toMs)) return;
    const which = newest.run <= run ? 'the runs since are' : runsText(run + 1, newest.run);
    const text = `${which} not in the record${isOne ? ', or not yet' : ''}`;
    const [fromMs, toMs] = [Math.min(atMs, newest.atMs), Math.max(atMs, newest.atMs)];
    yield whole({ fromMs, toMs, cause: 'not_recorded', text });
  }

  #stateOf({ standing }: Begun, { atMs }: ScannedRun, walked: WalkedSegment): HistoryItem | { lost: Lost } {
    try {
      return stateOf(standing, this.#decoder, this.#wanted, atMs);
    } catch (error) {
      const { segment, next } = walked;
      const text = `${segment.day}: what held before it cannot be understood (${causeOf(error)})`;
      return { lost: { kind: 'lost', fromMs: atMs, toMs: segment.toMs, cause: 'damaged', text, next } };
    }
  }

  #decoded({ rows, changes, run, atMs }: ScannedRun, { segment, next }: WalkedSegment): HistoryItem | { lost: Lost } {
    try {
      return { kind: 'run', run: this.#decoder.run(rows, changes) };
    } catch (error) {
      const text = `${segment.day}: run ${run} cannot be understood (${(error as Error).message})`;
      return { lost: { kind: 'lost', fromMs: atMs, toMs: segment.toMs, cause: 'damaged', text, next } };
    }
  }

  /** Changes are against what was recorded last, so that a missing run leaves what is known as it is. */
  *#missingBefore({ run, atMs }: RunBeside): Generator<HistoryItem> {
    const before = this.#before;
    this.#before = { run, atMs };
    if (before === undefined || run === before.run + 1 || !this.#isAsked(before.atMs, atMs)) return;
    const text =
      run > before.run
        ? `${runsText(before.run + 1, run - 1)} not in the record`
        : `after run ${before.run} comes run ${run}: the database was restored to an earlier state`;
    yield whole({ fromMs: Math.min(before.atMs, atMs), toMs: atMs, cause: 'not_recorded', text });
  }
}

function runsText(first: number, last: number): string {
  return first === last ? `run ${first} is` : `runs ${first} to ${last} are`;
}

/** Its checksum and its form held: what cannot be decoded now was written wrong. */
function nextOf(runs: Iterator<ScannedRun>, walked: WalkedSegment): ScannedRun | { lost: Lost } | undefined {
  try {
    const step = runs.next();
    return step.done ? undefined : step.value;
  } catch (error) {
    return { lost: undecoded(walked, error) };
  }
}

// The history of one subject: what was known of it at a time, and how it changed.

async function factsOfSubject(
  history: HistoryFolder,
  subject: SubjectRef,
  atMs: number,
): Promise<{ facts: Facts; seenAt: number } | undefined> {
  const walk = new Walk(history.folder, history.address);
  // What held just after the last run until then is what held before the first run after it.
  const last = walk.segments.findLast(({ fromMs, toMs }) => Math.min(fromMs, toMs) <= atMs);
  if (!last) return undefined;
  const begun = await new Begin(walk, atMs + 1).at(last.first);
  if ('lost' in begun) return undefined;
  const facts: Facts = {};
  for (const row of begun.standing.rowsOf(subject)) {
    const { value } = changeOf(
      subject.kind,
      subject.id,
      row.path,
      row.value === undefined ? undefined : readValue(row.value),
    );
    if (value !== undefined) setFact(facts, row.path, value);
  }
  if (Object.keys(facts).length === 0) return undefined;
  return { facts, seenAt: await seenAt(history, subject, last.fromMs, atMs) };
}

/** An id may be any text, and so may a path. */
function setFact(facts: Facts, path: string, value: Fact): void {
  Object.defineProperty(facts, path, { value, enumerable: true, writable: true, configurable: true });
}

/** The last run that read the subject, of those in the last segment: all of an hour or of a day. */
async function seenAt(history: HistoryFolder, subject: SubjectRef, fromMs: number, atMs: number): Promise<number> {
  let seen = fromMs;
  const nothing = new Map();
  for await (const item of readItems(history, { fromMs, toMs: atMs, facts: nothing, factsOnly: true })) {
    if (item.kind === 'run' && hasRead(item.run.frame, subject)) seen = item.run.frame.run.startedAt;
  }
  return seen;
}

function hasRead({ part, sources }: RunFrame, { kind, id }: SubjectRef): boolean {
  if (part) return part.read.some((one) => one.kind === kind && one.id === id);
  const reading = sources[SOURCE_OF[kind]];
  return reading.state === 'read' && isUsable(reading);
}

async function* changesOfSubject(
  { folder, address }: HistoryFolder,
  { kind, id }: SubjectRef,
  fromMs: number,
  toMs: number,
): AsyncGenerator<FactChange & { atMs: number; runSeq: number }> {
  const walk = new Walk(folder, address);
  const wanted: Wanted = { fact: (one) => one === kind, row: () => false, subject: id, standingOnly: true };
  const first = walk.segments.find((segment) => Math.max(segment.fromMs, segment.toMs) >= fromMs);
  for (let place = first?.first ?? 1, last = walk.lastPlace; place <= last; ) {
    const walked = walk.at(place);
    if (!walked) return;
    place = walked.next;
    if (walked.kind === 'lost') continue;
    let skip = walked.skip;
    for (const { run: runSeq, atMs, changes } of scanRuns(walked.columns, wanted)) {
      if (skip-- > 0 || atMs < fromMs || atMs > toMs) continue;
      for (const change of changes) yield { ...change, atMs, runSeq };
    }
    await giveWay();
  }
}

// The history as replays and people read it.

/** Nothing is read before it is asked for; a folder that is not there is an empty history. */
export function historyReader(history: HistoryFolder): HistoryReader {
  const { folder, address, newDecoder } = history;
  return {
    items: (query: HistoryQuery): AsyncIterable<HistoryItem> => readItems(history, query),
    span: async () => {
      const { segments } = new Walk(folder, address);
      if (segments.length === 0) return undefined;
      return {
        fromMs: Math.min(...segments.map(({ fromMs, toMs }) => Math.min(fromMs, toMs))),
        toMs: Math.max(...segments.map(({ fromMs, toMs }) => Math.max(fromMs, toMs))),
      };
    },
    factsAt: (subject: SubjectRef, atMs: number) => factsOfSubject(history, subject, atMs),
    changesOf: (
      subject: SubjectRef,
      fromMs: number,
      toMs: number,
    ): AsyncIterable<FactChange & { atMs: number; runSeq: number }> => changesOfSubject(history, subject, fromMs, toMs),
    ruleSet: async (hash: string): Promise<RecordedRuleSet | undefined> => {
      const walk = new Walk(folder, address);
      const newestFirst = [...walk.segments, ...walk.bases].sort((a, b) => b.last - a.last);
      for (const segment of newestFirst) {
        const rows = rulesIn(walk.open(segment), hash);
        const found = rows.length > 0 ? newDecoder({ factsOnly: false }).ruleSet(hash, rows) : undefined;
        if (found) return found;
      }
      return undefined;
    },
  };
}

/** The files of a rule set; none when they are not there, or cannot be read. */
function rulesIn(columns: SegmentColumns | UnreadableSegment, hash: string): HistoryRow[] {
  if (columns instanceof UnreadableSegment) return [];
  try {
    if (!columns.groups.some((group) => group.kind().dictionary.includes('rules'))) return [];
    return [...rowsOf(columns)].filter(
      ({ kind, subject, value }) => kind === 'rules' && subject === hash && value !== undefined,
    );
  } catch (error) {
    if (error instanceof UnreadableSegment) return [];
    throw error;
  }
}
