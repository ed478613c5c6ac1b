// history files: removes one subject from every segment. In: a subject. Out: the same segments without it, each written whole before the one with it is
// removed: repeated after a crash, it does what was left. Rule files are left as they are, since a rule set is found by its hash.

import { relative } from 'node:path';
import { type ExemptionMember, ExemptionMembers } from '../../domain/exemption.ts';
import { FIELDS, nameKey } from '../../domain/identity.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import { factKindOf, type HistoryRow, type RowKind } from '../codec/run-encoder.ts';
import { causeOf, decodeGroup, RunBoundaries, rowAt, rowsOf, Walk } from './begin.ts';
import { type CodedTexts, type SegmentColumns, UnreadableSegment } from './segment-bytes.ts';
import { listHistory, NewSegment, readSegment, removeSegments, type SegmentFile, sizeOf } from './segment-files.ts';
import { removeStanding } from './standing-file.ts';

// One subject among the members of exemptions, which are prints: nobody is named there, but whoever guesses an id can
// ask whether it is one.

function hasKind({ groups }: SegmentColumns, kind: RowKind): boolean {
  return groups.some((group) => group.kind().dictionary.includes(kind));
}

class ForgottenMember {
  private all: ExemptionMember[] | undefined;
  /** By exemption and members: many files have the same ones. */
  private readonly known = new Map<string, string>();

  constructor(
    private readonly subject: SubjectRef,
    private readonly folder: string,
  ) {}

  /** The same row when the subject is not among its members. */
  without(row: HistoryRow): HistoryRow {
    if (row.kind !== 'members' || row.value === undefined) return row;
    const key = `${row.subject} ${row.value}`;
    const value = this.known.get(key) ?? this.valueWithout(row.subject, row.value);
    this.known.set(key, value);
    return value === row.value ? row : { ...row, value };
  }

  private valueWithout(exemption: string, value: string): string {
    const members = ExemptionMembers.of(exemption, JSON.parse(value) as string);
    this.all ??= membersOf(this.subject, this.folder);
    const left = members.without(this.all);
    return left === members ? value : JSON.stringify(left.packed());
  }
}

function membersOf({ kind, id }: SubjectRef, folder: string): ExemptionMember[] {
  if (kind === 'service') return [{ kind, id, serial: '' }];
  return ['', ...serialsIn(folder)].map((serial) => ({ kind, id, serial }));
}

/** `id`: of one device alone; undefined: of all. */
function serialsIn(folder: string, id?: string): Set<string> {
  const serials = new Set<string>();
  for (const segment of listHistory(folder).segments) {
    try {
      for (const text of textsIn(readSegment(segment), id)) serials.add(text);
    } catch (error) {
      // It is named where it is to be written again.
      if (!(error instanceof UnreadableSegment)) throw error;
    }
  }
  return serials;
}

function* textsIn({ groups }: SegmentColumns, id: string | undefined): Generator<string> {
  for (const group of groups) {
    const [kind, path, subject] = [group.kind(), group.path(), group.subject()];
    const serial = path.dictionary.indexOf(FIELDS.device[1] as string);
    if (serial === -1) continue;
    const isDevice = kind.dictionary.map((one) => factKindOf(one) === 'device');
    const { codes, text } = group.value();
    for (let row = 0; row < group.rows; row++) {
      const code = codes[row] as number;
      if (path.codes[row] !== serial || code === -1 || !isDevice[kind.codes[row] as number]) continue;
      if (id !== undefined && subject.dictionary[subject.codes[row] as number] !== id) continue;
      const value: unknown = JSON.parse(text(code));
      if (typeof value === 'string') yield value;
    }
  }
}

/** Rows of facts from elsewhere whose key is the subject's: its id, or a serial number that the device has had. */
class ForgottenFacts {
  private keys: Set<string> | undefined;

  constructor(
    private readonly subject: SubjectRef,
    private readonly folder: string,
  ) {}

  without(row: HistoryRow): HistoryRow | undefined {
    if (row.kind !== 'given') return row;
    const { kind, id } = this.subject;
    this.keys ??= new Set([id, ...(kind === 'device' ? serialsIn(this.folder, id) : [])].map(nameKey));
    return this.keys.has(row.subject.slice(row.subject.indexOf('\n') + 1)) ? undefined : row;
  }
}

interface Forgetting {
  subject: SubjectRef;
  atMs: number;
  /** Stands where the subject was named in records of others. It says nothing of the subject. */
  standIn: string;
}

interface Forgotten {
  /** Segments that were written again. */
  segments: number;
  /** Rows that were removed, and rows of others in which it was named, or a member. */
  removed: number;
  replaced: number;
  /** Rows of rule files that name it. */
  inRules: number;
  /** Files that cannot be read, so that nothing is known of what they have. */
  unreadable: string[];
}

/** What is done to each file: whether it may be of use for it, and what each row is then. */
interface Pass {
  isAbout(columns: SegmentColumns): boolean;
  /** The same row when nothing of it is the subject's; undefined when all of it is. */
  without(row: HistoryRow): HistoryRow | undefined;
}

/** INVARIANT: the caller is the only writer. Errors: AppError `store_failed`; then some segments may have it still. */
export function forgetSubject(folder: string, { subject, atMs, standIn }: Forgetting): Forgotten {
  // It has the ids of all subjects.
  removeStanding(folder);
  const naming = new Naming(subject.id, standIn);
  const member = new ForgottenMember(subject, folder);
  const facts = new ForgottenFacts(subject, folder);
  const result: Forgotten = { segments: 0, removed: 0, replaced: 0, inRules: 0, unreadable: [] };
  const rewritten = new Set<string>();
  const passes: Pass[] = [
    // INVARIANT: members and rows of facts go first. They are found by serial numbers, which the records of a device show until they are removed, also when this is
    // interrupted and repeated.
    { isAbout: (columns) => hasKind(columns, 'members'), without: (row) => member.without(row) },
    { isAbout: (columns) => hasKind(columns, 'given'), without: (row) => facts.without(row) },
    { isAbout: (columns) => mayName(columns, naming), without: (row) => without(row, subject, naming) },
  ];
  for (const pass of passes) {
    result.inRules = 0;
    result.unreadable = [];
    for (const segment of listHistory(folder).segments) {
      try {
        const columns = readSegment(segment);
        if (!pass.isAbout(columns) || !rewrite(folder, segment, columns, atMs, pass, naming, result)) continue;
        rewritten.add(`${segment.level} ${segment.first} ${segment.last}`);
      } catch (error) {
        if (!(error instanceof UnreadableSegment)) throw error;
        result.unreadable.push(segment.file);
      }
    }
  }
  return { ...result, segments: rewritten.size };
}

function mayName({ groups }: SegmentColumns, naming: Naming): boolean {
  const isIn = ({ dictionary }: { dictionary: readonly string[] }) => dictionary.some((text) => naming.isIn(text));
  return groups.some((group) => isIn(group.subject()) || isIn(group.path()) || isInAny(group.value(), naming));
}

function isInAny({ count, text }: CodedTexts, naming: Naming): boolean {
  for (let code = 0; code < count; code++) if (naming.isIn(text(code))) return true;
  return false;
}

/** False: nothing of it is the subject's. */
function rewrite(
  folder: string,
  segment: SegmentFile,
  columns: SegmentColumns,
  atMs: number,
  pass: Pass,
  naming: Naming,
  result: Forgotten,
): boolean {
  let [removed, replaced, fromMs, toMs] = [0, 0, Number.POSITIVE_INFINITY, 0];
  for (const row of rowsOf(columns)) {
    const now = pass.without(row);
    if (now === row) {
      if (row.kind === 'rules' && isNamed(row, naming)) result.inRules++;
      continue;
    }
    fromMs = Math.min(fromMs, row.at);
    toMs = Math.max(toMs, row.at);
    if (now === undefined) removed++;
    else replaced++;
  }
  if (removed + replaced === 0) return false;
  const mark = { atMs, rows: removed + replaced, fromMs, toMs };
  const about = { ...columns.about, forgotten: [...columns.about.forgotten, mark] };
  const made = new NewSegment(folder, about);
  try {
    for (const row of rowsOf(columns)) {
      const now = pass.without(row);
      if (now) made.rows.addRow(now);
    }
    made.finish({ ...segment, rewrites: segment.rewrites + 1 }, segment.day);
  } finally {
    made.discard();
  }
  removeSegments(folder, [segment]);
  result.removed += removed;
  result.replaced += replaced;
  return true;
}

/** Records that are about subjects: they have names and facts of them beside the id. */
const ABOUT_SUBJECTS: readonly RowKind[] = [
  ...(['event', 'written', 'decision', 'episode', 'claim', 'intent', 'rejected', 'attempt', 'lately'] as const),
];

function without(row: HistoryRow, { kind }: SubjectRef, naming: Naming): HistoryRow | undefined {
  if (factKindOf(row.kind) === kind && naming.is(row.subject)) return undefined;
  if (row.kind === 'rules' || !isNamed(row, naming)) return row;
  if (ABOUT_SUBJECTS.includes(row.kind)) return undefined;
  const value = row.value === undefined ? undefined : naming.replaced(row.value);
  return { ...row, subject: naming.replaced(row.subject), path: naming.replaced(row.path), value };
}

function isNamed({ subject, path, value }: HistoryRow, naming: Naming): boolean {
  return naming.isIn(subject) || naming.isIn(path) || (value !== undefined && naming.isIn(value));
}

/** An id in texts, in any case, as itself or as JSON has it; never as a part of a longer one. */
class Naming {
  readonly #id: string;
  readonly #pattern: RegExp;
  readonly #standIn: string;

  constructor(id: string, standIn: string) {
    this.#id = id.toLowerCase();
    this.#standIn = standIn;
    const forms = [...new Set([id, JSON.stringify(id).slice(1, -1)])].map(escaped).join('|');
    this.#pattern = new RegExp(`(?<![\\p{L}\\p{N}_.+%-])(?:${forms})(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`, 'giu');
  }

  is(text: string): boolean {
    return text.toLowerCase() === this.#id;
  }

  isIn(text: string): boolean {
    this.#pattern.lastIndex = 0;
    return this.#pattern.test(text);
  }

  replaced(text: string): string {
    return text.replace(this.#pattern, this.#standIn);
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

// Whether a history is whole.

interface HistoryProblem {
  /** Day and file; undefined: of the history as a whole. */
  file: string | undefined;
  text: string;
}

interface HistoryCheck {
  ok: boolean;
  files: number;
  bytes: number;
  /** Each recorded run once, also where segments overlap. */
  runs: number;
  rows: number;
  /** The first and the last recorded run, epoch ms. */
  fromMs: number | undefined;
  toMs: number | undefined;
  problems: HistoryProblem[];
}

/** Errors: AppError `store_failed` when the folder cannot be read. */
export function verifyHistory(folder: string, address: string | undefined): HistoryCheck {
  const { segments, foreign } = listHistory(folder);
  const walk = new Walk(folder, address);
  const problems: HistoryProblem[] = foreign.map((file) => ({
    file: relative(folder, file),
    text: 'it has no name of a segment: move it elsewhere',
  }));
  let rows = 0;
  const places = new Set<number>();
  for (const segment of segments) {
    const columns = walk.open(segment);
    if (columns instanceof UnreadableSegment) {
      if (columns.reason !== 'gone') problems.push(problemOf(segment, columns.message));
      continue;
    }
    rows += columns.rows;
    const text = faultOf(segment, columns);
    if (text !== undefined) problems.push(problemOf(segment, text));
    else if (segment.level !== 'base')
      for (let place = segment.first; place <= segment.last; place++) places.add(place);
  }
  problems.push(...missingOf(segments, places));
  const times = segments.filter(({ level }) => level !== 'base').flatMap(({ fromMs, toMs }) => [fromMs, toMs]);
  return {
    ok: problems.length === 0,
    files: segments.length,
    bytes: segments.reduce((sum, { file }) => sum + sizeOf(file), 0),
    runs: places.size,
    rows,
    fromMs: times.length === 0 ? undefined : Math.min(...times),
    toMs: times.length === 0 ? undefined : Math.max(...times),
    problems,
  };
}

function problemOf({ day, file }: SegmentFile, text: string): HistoryProblem {
  return { file: `${day}/${file.split('/').at(-1)}`, text };
}

/** What the rows do not hold of what the name promises. */
function faultOf(segment: SegmentFile, columns: SegmentColumns): string | undefined {
  try {
    return segment.level === 'base' ? baseFault(columns) : runsFault(segment, columns);
  } catch (error) {
    return `it cannot be decoded (${causeOf(error)})`;
  }
}

function baseFault({ groups }: SegmentColumns): string | undefined {
  const isOfRun = groups.some((group) => group.run().dictionary.some((run) => run !== 0));
  return isOfRun ? 'it is a base with rows of a run' : undefined;
}

function runsFault({ first, last, fromMs, toMs }: SegmentFile, { groups }: SegmentColumns): string | undefined {
  const boundaries = new RunBoundaries();
  const times: number[] = [];
  for (const group of groups) {
    const decoded = decodeGroup(group);
    for (let row = 0; row < decoded.rows; row++) {
      const { run, at, kind } = rowAt(decoded, row);
      if (!boundaries.begins(run, at, kind === 'run')) continue;
      if (kind !== 'run') return `run ${run} in it is not whole`;
      times.push(at);
    }
  }
  if (times.length !== last - first + 1) return `it has ${times.length} runs instead of ${last - first + 1}`;
  return times[0] === fromMs && times.at(-1) === toMs ? undefined : 'its runs are of other times than its name';
}

/** Places that no whole segment has. A history begins with place 1, or with a base. */
function missingOf(segments: readonly SegmentFile[], places: ReadonlySet<number>): HistoryProblem[] {
  const last = segments.reduce((most, one) => Math.max(most, one.last), 0);
  const begin = segments.find(({ level }) => level === 'base');
  const first = segments.find(({ level }) => level !== 'base');
  const from = begin && (!first || begin.last < first.first) ? begin.last + 1 : 1;
  const missing: number[] = [];
  for (let place = from; place <= last; place++) if (!places.has(place)) missing.push(place);
  if (missing.length === 0) return [];
  const text = missing.length === 1 ? 'a recorded run is' : `${missing.length} recorded runs are`;
  return [{ file: undefined, text: `${text} lost: replays name the time as a gap` }];
}

interface HistoryDay {
  day: string;
  runs: number;
  files: number;
  bytes: number;
  hasBase: boolean;
}

/** Errors: AppError `store_failed` when the folder cannot be read. */
export function historyDays(folder: string): HistoryDay[] {
  const days = new Map<string, { places: Set<number>; files: number; bytes: number; hasBase: boolean }>();
  for (const { day, file, level, first, last } of listHistory(folder).segments) {
    const known = days.get(day) ?? { places: new Set(), files: 0, bytes: 0, hasBase: false };
    days.set(day, known);
    known.files++;
    known.bytes += sizeOf(file);
    if (level === 'base') known.hasBase = true;
    else for (let place = first; place <= last; place++) known.places.add(place);
  }
  return [...days]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, { places, ...rest }]) => ({ day, runs: places.size, ...rest }));
}
