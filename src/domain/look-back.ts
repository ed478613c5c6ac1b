// domain: what rules that look back need: what runs saw of a few paths, in the order of time. In: nothing. Out: the forms that history, run and
// evaluate share. INVARIANT: only what a trusted reading showed is in it.

import { formatDuration } from '../base/time.ts';
import type { Fact, Facts } from './facts.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';

/** One fact of one subject that a run saw otherwise than the runs recorded before it. */
export interface FactChange {
  kind: SubjectKind;
  /** The subject's id. */
  subject: string;
  /** As rules name it, such as `MdmData.CompromisedStatus`; a list is one value. Empty: the subject itself, which the list no longer has. */
  path: string;
  /** Undefined: it is there no longer. */
  value: Fact | undefined;
  /** It is there and was not recorded, since it is a secret: `value` is undefined then. */
  secret?: true;
}

/** ``rule `x` looks back on `Model`, and no history is kept (TRUSTWARD_HISTORY): it is unknown for every device``. */
export function beyondHistoryText(rule: string, subject: string, paths: readonly string[], keepMs: number): string {
  const named = paths.map((path) => `\`${path}\``).join(', ');
  const what = `rule \`${rule}\` looks back on ${named}`;
  if (keepMs === 0) return `${what}, and no history is kept (TRUSTWARD_HISTORY): it is unknown for every ${subject}`;
  const kept = `the history is kept for ${formatDuration(keepMs)} (TRUSTWARD_HISTORY)`;
  return `${what} for longer than ${kept}: what was before is unknown after each start`;
}

/** A longer stretch without a trusted reading is a gap: what was between is not known. */
export const LOOK_BACK_GAP_MS = 86_400_000;

export type LookBackPaths = ReadonlyMap<SubjectKind, ReadonlySet<string>>;

/** What one run saw. */
export interface LookBackRun {
  /** When it began, epoch ms. */
  atMs: number;
  /** Kinds whose whole list it read, and trusts. */
  read: readonly SubjectKind[];
  /** Subjects that it read one by one. */
  singly: readonly SubjectRef[];
  /** Of trusted readings. */
  changes: readonly FactChange[];
  /** By kind: paths that its records could not show, since another form of them has these. */
  unseen?: LookBackPaths | undefined;
}

export type LookBackItem =
  /** What came before is not known, or does not lead to what follows. */
  | { kind: 'anew' }
  /** What was there before the next run. */
  | { kind: 'state'; facts: readonly FactChange[] }
  | { kind: 'run'; run: LookBackRun };

export interface LookBackSource {
  /**
   * From runs that began at `fromMs` on, or earlier, to the last one. `subject`: only what is about it; absent: all. Errors: AppError when
   * the history cannot be read at all.
   */
  items(paths: LookBackPaths, fromMs: number, subject?: SubjectRef): AsyncIterable<LookBackItem>;
}

/** The readings of one run, record by record, until it is known whether they hold. */
export interface LookBackPass {
  accept(record: Facts): void;
  /** Once, when the reading is trusted and its run is committed. Nothing moves before. */
  takeOver(): void;
}

/** What an evaluator knows of the past of those paths that some rule looks back on. */
export interface LookBack {
  readonly paths: LookBackPaths;
  /** The longest time that some rule looks back, ms; Infinity for `previous`. */
  readonly withinMs: number;
  /** Whether the history was read. INVARIANT: before, all of the past is unknown. */
  readonly isFilled: boolean;
  /** In the order of time. */
  observe(item: LookBackItem): void;
  filled(): void;
  pass(kind: SubjectKind, atMs: number, form: 'whole' | 'single'): LookBackPass;
  /** The next moment after `nowMs` at which an answer about this subject may change while its facts stay; undefined: none. */
  nextChangeMs(subject: SubjectRef, nowMs: number): number | undefined;
}
