// history files: removes one subject from every segment. In: a subject. Out: the same segments without it, each written whole before the one with it is
// removed: repeated after a crash, it does what was left. Rule files are left as they are, since a rule set is found by its hash.
import type { SubjectRef } from '../../domain/subjects.ts';
import { factKindOf, type HistoryRow, type RowKind } from '../rows.ts';
import { ForgottenMember, hasMembers } from './forget-member.ts';
import { type CodedTexts, type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { listHistory, NewSegment, readSegment, removeSegments, type SegmentFile } from './segment-files.ts';
import { rowsOf } from './segment-rows.ts';

export interface Forgetting {
  subject: SubjectRef;
  atMs: number;
  /** Stands where the subject was named in records of others. It says nothing of the subject. */
  standIn: string;
}

export interface Forgotten {
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
  const naming = new Naming(subject.id, standIn);
  const member = new ForgottenMember(subject, folder);
  const result: Forgotten = { segments: 0, removed: 0, replaced: 0, inRules: 0, unreadable: [] };
  const rewritten = new Set<string>();
  const passes: Pass[] = [
    // INVARIANT: members go first. They are found by serial numbers, which the records of a device show until they are removed, also when this is
    // interrupted and repeated.
    { isAbout: hasMembers, without: (row) => member.without(row) },
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
