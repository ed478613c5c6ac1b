// rules: a loaded rule: its checked condition, what it reads, and its tests. Compiling and testing need nothing else.

import { formatDuration, parseDuration } from '../../base/time.ts';
import { type Fact, type Facts, showLiteral } from '../../domain/facts.ts';
import type { GivenSource } from '../../domain/given-facts.ts';
import type { Guards } from '../../domain/guards.ts';
import type { ComparedText, Rule } from '../../domain/rule.ts';
import type { Source } from '../../domain/subjects.ts';
import type { VerdictName } from '../../domain/verdict.ts';
import type { KnownTransmitter } from '../record-types/signal-types.ts';
import { type Expression, Span, type Truth } from './expression.ts';
import type { Place } from './problem.ts';

// What a rule's condition reads.

/** What a rule's condition reads beyond its own record. Filled by the checks. */
export interface Reads {
  /** Paths of the subject's own record, `$spec` excluded. */
  record: Set<string>;
  /** Where each path of the subject's own record, `$spec` included, is first read. */
  places: Map<string, Place>;
  /** Paths of owners (users) and of a user's devices. */
  users: Set<string>;
  devices: Set<string>;
  unpaged: Set<'devices' | 'users'>;
  owners: boolean;
  joinedDevices: boolean;
  events: boolean;
  windowMs: number;
  /** Names of the transmitters whose signals it counts, and its longest window of them. */
  signals: Set<string>;
  signalWindowMs: number;
  /** Paths of the subject's own record that it looks back on, and how far, ms; Infinity for `previous`. */
  lookBack: Set<string>;
  lookBackMs: number;
  /** Names of the lists that it reads. */
  lists: Set<string>;
  /** `NAME.field` of facts from elsewhere, or the name alone of a source whose rows it asks for. */
  given: Set<string>;
  /** Texts that fields of the subject's own record are compared with. */
  compared: ComparedText[];
}

export function noReads(): Reads {
  return {
    record: new Set(),
    places: new Map(),
    users: new Set(),
    devices: new Set(),
    unpaged: new Set(),
    owners: false,
    joinedDevices: false,
    events: false,
    windowMs: 0,
    signals: new Set(),
    signalWindowMs: 0,
    lookBack: new Set(),
    lookBackMs: 0,
    lists: new Set(),
    given: new Set(),
    compared: [],
  };
}

/** One event of a rule test: the subject's own or of one that is joined to it, at a time before the test's now. */
export interface TestEvent {
  agoMs: number;
  times: number;
  /** Of an owner of the device, or of a device of the user: its e-mail address, or its serial number. */
  of: string | undefined;
  /** Any field of an event; `type`, `sub_type`, `action`, `severity` and `result` have defaults. */
  body: Facts;
}

/** What the sample records of a rule test are called, by their numbers: its events name them by it. */
export const SAMPLE_NAME = {
  device: (number: number) => `SAMPLE-${number}`,
  user: (number: number) => `user${number}@example.com`,
};

/** One signal of a rule test, named and placed in time as its events are. */
export interface TestSignal extends TestEvent {
  transmitter: string;
  /** The full type. */
  type: string;
}

export interface RuleTest {
  name: string;
  /** Merged onto the sample record; `null` removes a field. */
  given: Facts;
  /** Records for `$owners` or `$devices`, each merged onto a sample; undefined: one unremarkable one. */
  joined: Facts[] | undefined;
  events: TestEvent[];
  signals: TestSignal[];
  /** What runs saw before: values by path, null for none. */
  history: { agoMs: number; values: Facts }[];
  /**
   * Stretches for which neither the event log nor signals are known and in which no run read anything, in ms before now. `transmitter`: its signals
   * alone are not known.
   */
  gaps: { fromAgoMs: number; toAgoMs: number; transmitter: string | undefined }[];
  /** The event log is unavailable. */
  eventsUnavailable: boolean;
  /** Transmitters of which nothing but these signals was ever heard. */
  signalsUnavailable: string[];
  expect: VerdictName;
  /** Facts that the reasons must name; empty: any. */
  reasons: string[];
  /** The time of the run; undefined: the one of all tests. */
  nowMs: number | undefined;
  line: number;
}

/** A list that rules share, from a file of its own. */
export interface NamedList {
  name: string;
  /** Texts, or numbers; at least one, each once. None: its file was refused, and so is each rule that reads it. */
  entries: readonly (string | number | bigint)[];
  /** Its file, by its path in the folder of the rules, and the text of it, as it was loaded. */
  file: string;
  text: string;
}

/** With the texts of their files, as they were loaded: of each folder that has one. */
export interface LoadedGuards extends Guards {
  files: { file: string; text: string }[];
}

export interface LoadedRule extends Rule {
  guards?: LoadedGuards | undefined;
  /** `when`, checked and typed. */
  condition: Expression;
  reads: Reads;
  /** Those that `when` reads: what it means rests on them. */
  lists: readonly NamedList[];
  /** Those whose signals `when` counts, as it was checked with them. */
  transmitters: readonly KnownTransmitter[];
  /** Sources of facts from elsewhere that `when` reads. */
  given: readonly GivenSource[];
  /** Sources that show the state of its targets, beside its subjects. */
  targets: readonly Source[];
  tests: RuleTest[];
  /** The file's text, as it was loaded. */
  text: string;
  /** The file's value, for mutants and the what-if of tests. */
  raw: { [key: string]: Fact };
}

/** What its hash is over: all that is written in it but its tests, with the entries of the lists that it reads, and what its sources mean. */
export function meaningOfRule({ raw, lists, given }: Pick<LoadedRule, 'raw' | 'lists' | 'given'>): object {
  const { tests: _, ...written } = raw;
  const entries = Object.fromEntries(lists.map((list) => [list.name, list.entries]));
  const sources = Object.fromEntries(given.map(({ name, everyMs: _, ...one }) => [name, one]));
  return {
    ...written,
    ...(lists.length > 0 && { $lists: entries }),
    ...(given.length > 0 && { $facts: sources }),
  };
}

/** How an operand is named in messages: its path when it is one. */
export function nameOf(expression: Expression): string {
  if (expression.op === 'fact') return `\`${expression.fact.label}\``;
  if (expression.op === 'item') return expression.label ? `\`${expression.label}\`` : 'the element';
  if (expression.op === 'literal') return `\`${showLiteral(expression.value)}\``;
  if (expression.op === 'now') return '`$now`';
  if (expression.op === 'list' && expression.name !== undefined) return `the list \`${expression.name}\``;
  if (expression.op === 'call') return `the result of \`${expression.operator.name}\``;
  return 'this';
}

// The numbers that facts can have: JavaScript numbers, exact big integers (19-digit times) and Spans.

export type Exact = number | bigint;
export type Num = Exact | Span;
export type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!=';

/** The same comparison with its sides exchanged. */
export const MIRRORED: Record<Comparison, Comparison> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
};

export function isExact(value: unknown): value is Exact {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Compares exactly: JavaScript compares number with bigint by their mathematical values. `doubt`: when a span straddles. */
export function compareNumbers(by: Comparison, a: Num, b: Num, doubt: Truth): Truth {
  if (a instanceof Span || b instanceof Span) return compareSpans(by, a, b, doubt);
  switch (by) {
    case '<':
      return a < b ? 1 : 0;
    case '<=':
      return a <= b ? 1 : 0;
    case '>':
      return a > b ? 1 : 0;
    case '>=':
      return a >= b ? 1 : 0;
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return a == b ? 1 : 0;
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: 5n and 5 are the same number
      return a != b ? 1 : 0;
  }
}

const low = (value: Num): Exact => (value instanceof Span ? value.lo : value);
const high = (value: Num): Exact => (value instanceof Span ? value.hi : value);

const doubtOf = (value: Num): Truth | undefined => (value instanceof Span ? value.doubt : undefined);

/** True or false only when every number within the bounds agrees. `otherwise`: for bounds that do not say why. */
function compareSpans(by: Comparison, a: Num, b: Num, otherwise: Truth): Truth {
  const doubt = doubtOf(a) ?? doubtOf(b) ?? otherwise;
  switch (by) {
    case '<':
      return high(a) < low(b) ? 1 : low(a) >= high(b) ? 0 : doubt;
    case '<=':
      return high(a) <= low(b) ? 1 : low(a) > high(b) ? 0 : doubt;
    case '>':
      return compareSpans('<', b, a, doubt);
    case '>=':
      return compareSpans('<=', b, a, doubt);
    case '==':
      return high(a) < low(b) || low(a) > high(b) ? 0 : doubt;
    case '!=':
      return high(a) < low(b) || low(a) > high(b) ? 1 : doubt;
  }
}

/** The sum, difference, product, quotient or remainder; undefined when there is none (division by zero, overflow). */
export function calculate(by: '+' | '-' | '*' | '/' | '%', a: Num, b: Num): Num | undefined {
  if (a instanceof Span || b instanceof Span) return calculateSpan(by, a, b);
  if (by !== '/' && (typeof a === 'bigint' || typeof b === 'bigint') && isWhole(a) && isWhole(b)) {
    return calculateWhole(by, BigInt(a), BigInt(b));
  }
  const [x, y] = [Number(a), Number(b)];
  const result = by === '+' ? x + y : by === '-' ? x - y : by === '*' ? x * y : by === '/' ? x / y : x % y;
  return Number.isFinite(result) ? result : undefined;
}

const isWhole = (value: Exact): boolean => typeof value === 'bigint' || Number.isInteger(value);

function calculateWhole(by: '+' | '-' | '*' | '%', a: bigint, b: bigint): Exact | undefined {
  if (by === '%' && b === 0n) return undefined;
  const result = by === '+' ? a + b : by === '-' ? a - b : by === '*' ? a * b : a % b;
  const bits = 4096n;
  if (result > 1n << bits || result < -(1n << bits)) return undefined;
  return plain(result);
}

/** A big integer as a number when no digit is lost by it. */
function plain(value: bigint): Exact {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
}

function calculateSpan(by: '+' | '-' | '*' | '/' | '%', a: Num, b: Num): Num | undefined {
  if (by === '%') return undefined;
  const [aLo, aHi, bLo, bHi] = [Number(low(a)), Number(high(a)), Number(low(b)), Number(high(b))];
  const doubt = doubtOf(a) ?? doubtOf(b);
  if (by === '+') return spanOf([aLo + bLo, aHi + bHi], doubt);
  if (by === '-') return spanOf([aLo - bHi, aHi - bLo], doubt);
  if (by === '/' && bLo <= 0 && bHi >= 0) return undefined;
  const corner = (x: number, y: number): number => {
    if (by === '/') return Number.isFinite(y) ? x / y : 0;
    return x === 0 || y === 0 ? 0 : x * y; // 0 times an unbounded count is 0
  };
  return spanOf([corner(aLo, bLo), corner(aLo, bHi), corner(aHi, bLo), corner(aHi, bHi)], doubt);
}

function spanOf(bounds: number[], doubt: Truth | undefined): Num | undefined {
  if (bounds.some(Number.isNaN)) return undefined;
  const [lo, hi] = [Math.min(...bounds), Math.max(...bounds)];
  return lo === hi ? (Number.isFinite(lo) ? lo : undefined) : new Span(lo, hi, doubt);
}

/** The least or greatest of some numbers. */
export function extreme(by: 'min' | 'max', values: readonly Num[]): Num {
  const pick = (of: (value: Num) => Exact): Exact =>
    values.map(of).reduce((best, value) => ((by === 'min' ? value < best : value > best) ? value : best));
  if (!values.some((value) => value instanceof Span)) return pick((value) => value as Exact);
  const [lo, hi] = [Number(pick(low)), Number(pick(high))];
  return lo === hi
    ? lo
    : new Span(
        lo,
        hi,
        values.map(doubtOf).find((doubt) => doubt !== undefined),
      );
}

// A change of a condition as written, and the changes of a value in it.

export interface Edit {
  description: string;
  value: Fact;
}

/** Changes inside an operation. `paths`: its texts are names of fields, which are left alone. */
export type EditsOf = (value: Fact, texts: 'values' | 'paths') => Edit[];

export function literalEdits(value: Fact): Edit[] {
  const to = (other: Fact): Edit => ({ description: `${showEdited(value)} → ${showEdited(other)}`, value: other });
  if (typeof value === 'boolean') return [to(!value)];
  if (typeof value === 'number') return [to(value + 1), to(value - 1)];
  if (typeof value === 'bigint') return [to(value + 1_000_000_000n)];
  if (typeof value !== 'string') return [];
  if (value === 'TRUE') return [to('FALSE')];
  if (value === 'FALSE') return [to('TRUE')];
  const ms = parseDuration(value);
  if (ms !== undefined && ms > 0) return [to(formatDuration(ms * 2)), to(formatDuration(Math.ceil(ms / 2)))];
  return [to(`${value}~`)];
}

export const showEdited = (value: Fact): string => (typeof value === 'bigint' ? `${value}` : JSON.stringify(value));

/** The edits of a part, as edits of the whole that it is put into. */
export function within(edits: readonly Edit[], whole: (part: Fact) => Fact, prefix = ''): Edit[] {
  return edits.map(({ description, value }) => ({ description: `${prefix}${description}`, value: whole(value) }));
}
