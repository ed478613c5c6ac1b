// rules: the problems of a rule file, collected so that all are reported together.
// In: a code, a message and where. Out: problems with file, line and column, in the order of the file.
import type { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { deepest, pathText, wordsOf } from '../../base/text.ts';
import type { Fact } from '../../domain/facts.ts';

export type ProblemCode =
  | 'unreadable' // the file could not be read
  | 'syntax' // no YAML or JSON
  | 'too_large'
  | 'too_deep'
  | 'format' // a key or a value that the rule format does not have
  | 'duplicate_id'
  | 'operator' // no such operator, or wrong operands in number
  | 'path' // no such field
  | 'type' // an operand of the wrong type
  | 'unit' // a duration or a timestamp in the wrong unit
  | 'value' // a value that the field cannot have
  | 'action' // no such action, or not for this subject, or wrong settings
  | 'signature' // not covered by whom TRUSTWARD_RULES_SIGNERS names
  | 'reads_own_effect' // `when` reads the field that the action writes
  | 'fresh';

export interface RuleProblem {
  file: string;
  /** From 1. */
  line: number;
  column: number;
  code: ProblemCode;
  /** One line: what was expected, and the nearest right name. */
  message: string;
}

/** A place inside a file's value: the keys and indices that lead to it. */
export type Place = readonly (string | number)[];

export interface Position {
  line: number;
  column: number;
}

export class Problems {
  readonly list: RuleProblem[] = [];
  constructor(
    private readonly file: string,
    private readonly positionOf: (place: Place) => Position,
  ) {}

  add(code: ProblemCode, place: Place, message: string): void {
    if (this.list.length < 100) this.list.push({ file: this.file, ...this.positionOf(place), code, message });
  }
}

/** What a schema makes of a file's value, or of its part `at`. Undefined with problems; `what`: the whole value; `members`: what one may have meant. */
export function checkedBy<T>(
  form: z.ZodType<T>,
  value: Fact,
  { at = [], what, members = [] }: { at?: Place; what: string; members?: readonly string[] },
  problems: Problems,
): T | undefined {
  const read = form.safeParse(value);
  for (const found of read.error?.issues ?? []) {
    const issue = deepest([found]);
    const place = [...at, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
    const where = place.length === 0 ? what : `\`${pathText(place)}\``;
    const [key] = issue.code === 'unrecognized_keys' ? issue.keys : [];
    const hint = key === undefined ? '' : didYouMean(key, members);
    const words = (issue.code === 'invalid_key' && issue.issues[0]?.message) || wordsOf(issue, value);
    problems.add('format', key === undefined ? place : [...place, key], `${where} ${words}${hint}`);
  }
  return read.data;
}

/** `rules/x.yaml:3:7: message`, as editors and terminals understand it. */
export function problemLine(problem: RuleProblem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`;
}

export function byPosition(a: RuleProblem, b: RuleProblem): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column;
}
