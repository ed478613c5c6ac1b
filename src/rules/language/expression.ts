// rules: a rule's condition after checking: a tree whose every part has a type, and whose every operation has its operator.
// Made by the checks, read by everything after them. What an operator means is in its family's file under operators/. Walks
// over this tree ask the operator; they know none by name.
import { epochMsOf } from '../../base/time.ts';
import { type Fact, type Facts, isBeyondTypes, showLiteral } from '../../domain/facts.ts';
import type { EventSeverity } from '../../domain/platform-values.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { DoubtWhy } from '../../domain/verdict.ts';
import type { ExplainedPast } from '../../domain/why.ts';
import type { ValueType } from '../record-types/field-types.ts';
import type { Place } from './problem.ts';

// The three truth values, and the values that carry a doubt: Unknown (with its fact) and Span (a count between two
// bounds).

export type Truth = number;
export const FALSE: Truth = 0;
export const TRUE: Truth = 1;

/** A value that is not known, and why. One object per reason, made when a rule is compiled. */
export class Unknown {
  constructor(
    /** This reason as a truth value. */
    readonly truth: Truth,
    /** The fact that was missing, stale or of the wrong type. */
    readonly fact: string,
    /** The same as a sentence. */
    readonly text: string,
    readonly why?: DoubtWhy,
    /** There is no value, or null. */
    readonly isAbsence = false,
  ) {}
  get isError(): boolean {
    return this.truth < 0;
  }
}

/** A number known only to lie between two bounds, both inclusive; `hi` may be infinite. */
export class Span {
  constructor(
    readonly lo: number,
    readonly hi: number,
    /** Why it is not known better; undefined: the event log has gaps. */
    readonly doubt?: Truth,
  ) {}
}

export type Value = Fact | Unknown | Span;

/** All reasons of one compiled program. Truth values index into it. */
export class Reasons {
  private readonly unknowns: Unknown[] = [];
  private readonly errors: Unknown[] = [];
  private readonly byText = new Map<string, Unknown>();

  unknown(fact: string, text: string, why?: DoubtWhy): Unknown {
    return this.intern(this.unknowns, (length) => new Unknown(length + 2, fact, text, why));
  }
  absence(fact: string, text: string): Unknown {
    return this.intern(this.unknowns, (length) => new Unknown(length + 2, fact, text, undefined, true));
  }
  error(text: string): Unknown {
    return this.intern(this.errors, (length) => new Unknown(-1 - length, text, text));
  }
  /** The reason of a truth value that is neither true nor false. */
  of(truth: Truth): Unknown {
    const found = truth < 0 ? this.errors[-1 - truth] : this.unknowns[truth - 2];
    if (!found) throw new RangeError(`no reason has the number ${truth}`);
    return found;
  }

  private intern(list: Unknown[], make: (length: number) => Unknown): Unknown {
    const made = make(list.length);
    const key = `${made.isError}${made.fact}\u0000${made.text}`;
    const known = this.byText.get(key);
    if (known) return known;
    list.push(made);
    this.byText.set(key, made);
    return made;
  }
}

/** Which of two doubts to report: an error before an unknown, else the one made first. The order of operands never matters. */
export function worse(a: Truth, b: Truth): Truth {
  if (a < 0 || b < 0) return a < 0 && b < 0 ? Math.max(a, b) : Math.min(a, b);
  return Math.min(a, b);
}

export function worseOf(a: Unknown, b: Unknown): Unknown {
  return worse(a.truth, b.truth) === a.truth ? a : b;
}

export function not(truth: Truth): Truth {
  return truth === 0 ? 1 : truth === 1 ? 0 : truth;
}

export function and(a: Truth, b: Truth): Truth {
  if (a === 0 || b === 0) return 0;
  if (a === 1) return b;
  return b === 1 ? a : worse(a, b);
}

// What the evaluation of one subject works on: its record, the facts read from it, and earlier results.

/** Steps that loops within one condition may take for one subject; more is the verdict `error`. */
export const STEPS_MAX = 50_000;
/** Longest text that `cat` may build. */
export const TEXT_MAX = 100_000;
/** A timestamp further in the future than this is invalid, not fresh. */
export const FUTURE_MAX_MS = 86_400_000;

export interface Frame {
  record: Facts;
  /** Whether the present record's keys may be read without asking who owns them (`isPlain`). */
  isPlain: boolean;
  /** Facts by slot. */
  slots: (Value | undefined)[];
  /** The element that a loop is at. */
  item: Value;
  /** Epoch ms, and the same in ns. */
  nowMs: number;
  nowNs: bigint;
  /** Steps left to the condition being evaluated. */
  steps: number;
  /** Rules that some fact alone has ruled out for the present subject. */
  ruledOut: Int32Array;
  /** How many facts of the present record are unknown. */
  doubts: number;
  /** Counts subjects, so that an earlier subject's results are not used for this one. */
  turn: number;
  /** Truth values of shared conditions, and for which turn they hold. */
  truths: Int32Array;
  truthTurns: Int32Array;
  /** For which turn a slot that is read late holds. */
  slotTurns: Int32Array;
  /** The parsed ServiceSpec, `$owners`, `$devices`: read when first asked for. */
  virtual: { [name: string]: Value };
  virtualTurns: { [name: string]: number };
  /** Reads a virtual name for the present record; `$facts.NAME` also for a joined one (`of`): null where the source has no row of it. */
  readVirtual(name: string, frame: Frame, of?: Facts): Value;
  /** Reads an event count, or what is known of a field's past, for the present record. `of`: the count of this joined record instead. */
  readPast(slot: number, frame: Frame, of?: Facts): Value;
  /** What is known of a field's past, for people. */
  showPast(slot: number, frame: Frame): ExplainedPast | undefined;
}

/** The value of `$owners`, `$devices`, `$spec` or `$facts.NAME` for the present subject, read once. */
export function virtualOf(frame: Frame, name: string): Value {
  if (frame.virtualTurns[name] !== frame.turn) {
    frame.virtual[name] = frame.readVirtual(name, frame);
    frame.virtualTurns[name] = frame.turn;
  }
  return frame.virtual[name] as Value;
}

/** Sources of facts from elsewhere: `$facts.NAME.field` of the record, or of an element that is a whole record. */
export const GIVEN = '$facts';

/** The value at a path of the record, or of the element `of`, in what is beyond it too. */
export function valueAt(path: readonly string[], frame: Frame, of?: Fact): Fact | undefined | Unknown {
  const [first = '', second = ''] = path;
  if (!first.startsWith('$')) return ownAt(of === undefined ? frame.record : of, path);
  const isGiven = first === GIVEN;
  const name = isGiven ? `${GIVEN}.${second}` : first;
  const root = of === undefined ? virtualOf(frame, name) : frame.readVirtual(name, frame, of as Facts);
  if (root instanceof Unknown) return root;
  const found = ownAt(root as Fact, path.slice(isGiven ? 2 : 1));
  return isGiven && found === null ? undefined : found;
}

/** Takes one step of the budget. False: it is used up. */
export function step(frame: Frame): boolean {
  return --frame.steps >= 0;
}

export type Condition = (frame: Frame) => number;
export type Expr = (frame: Frame) => Value;

/** A timestamp that must be young enough for the facts beside it to count as known. */
export interface Freshness {
  path: string[];
  label: string;
  ms: number;
}

/** One fact that is read once per subject: a path of the record, a count of events, or what is known of a path's past. */
export type FactRef =
  | PathFact
  | CountFact
  | {
      kind: 'look_back';
      key: string;
      label: string;
      type: ValueType;
      past: LookedBack;
      /** As of a path. */
      lost?: string;
    };

export interface CountFact {
  kind: 'events';
  key: string;
  label: string;
  type: ValueType;
  count: EventCount;
}

export interface PathFact {
  kind: 'path';
  /** Unique within a subject kind; two rules with the same key share the fact. */
  key: string;
  label: string;
  path: string[];
  type: ValueType;
  fallback: Fact | undefined;
  /** All of these must be young enough. */
  fresh: readonly Freshness[];
  /** The lists in use do not have it, or what vouches for it: this path. It is unknown for every subject. */
  lost?: string;
}

/** What is asked of the past of a fact. */
export interface LookedBack {
  /** The value before the present one; whether the value changed within a time; whether it stayed. */
  asks: 'before' | 'changed' | 'stayed';
  present: PathFact;
  /** ms; Infinity for the value before. */
  withinMs: number;
}

/** Which events are counted, and how. */
export interface EventCount {
  what: 'event_count' | 'event_distinct' | 'since_last_event' | 'signal_count' | 'since_last_signal' | 'last_signal';
  /** Whose signals; undefined: events of the platform's own log. */
  transmitter?: string | undefined;
  /** Up to this much at the end of what is known of a log is no gap; undefined: a minute, as long as reading the platform's takes. */
  lagMaxMs?: number | undefined;
  /** Whose events: of the subject, or of a joined record that a loop is at. */
  subject: SubjectKind;
  types: readonly string[] | undefined;
  subTypes: readonly string[] | undefined;
  actions: readonly string[] | undefined;
  results: readonly string[] | undefined;
  severityMin: EventSeverity | undefined;
  where: Expression | undefined;
  /** For event_distinct and last_signal: the path within the event. */
  of: string[] | undefined;
  withinMs: number;
}

interface Common {
  type: ValueType;
  /** Its place in the rule file. */
  place: Place;
}

export type Expression = Common &
  (
    | { op: 'literal'; value: Fact; text?: string }
    | { op: 'fact'; fact: FactRef }
    /** A path inside the element that `some`, `map`, … look at; empty: the element itself. `counts`: the events of who is there, in its place. */
    | { op: 'item'; path: string[]; label: string; fallback: Fact | undefined; counts?: CountFact }
    | { op: 'now' }
    /** `name`: of the list that rules share, whose entries these are. */
    | { op: 'list'; items: Expression[]; name?: string }
    | { op: 'call'; operator: Operator; args: readonly Expression[] }
  );

export type ExpressionOf<Op extends Expression['op']> = Extract<Expression, { op: Op }>;
export type Args = readonly Expression[];

/**
 * What an operator means once its operands are checked: how it is compiled, and what the walks over a condition ask about it.
 * Every other member is optional. Its closures hold what it needs beside its operands, such as a pattern or units.
 */
export type Operator = OperatorTraits & ((AsCondition & Partial<AsValue>) | (Partial<AsCondition> & AsValue));

/** Compiles it where a truth is needed. */
interface AsCondition {
  condition(args: Args, compiling: Compiling): Condition;
}

/** Compiles it where a value is needed. */
interface AsValue {
  value(args: Args, compiling: Compiling): Expr;
}

interface OperatorTraits {
  /** Used in messages, texts and keys. */
  name: string;
  /** Equal keys, equal meanings. Built from the keys of the operands; `(name key key)` by default. */
  key?(args: readonly string[]): string;
  /** For people; `name(a, b)` by default. `bracketed` gives an operand's text, in brackets where it needs them. */
  text?(args: Args, bracketed: (arg: Expression) => string): string | undefined;

  /** Whether the operand at this index is a condition. */
  asksTruthOf?(index: number, count: number): boolean;
  /** The operand that is evaluated once for each element of the first. `isElement`: its `var` reads the element itself. */
  body?: { arg: number; isElement: boolean };
  /** The operands whose elements are elements of its result. */
  elementsOf?(args: Args): Args;
  /** The texts in its first operand are paths, which it looks up by itself in the record or in the loop's element. */
  looksIn?: 'record' | 'item';
  /** What it always is, whatever the facts are. */
  constant?(args: Args): Constant | undefined;

  /** It only joins conditions. Coverage counts these instead, and each of them has its own budget of steps. */
  joins?: boolean;
  /** From where to where its numbers go, both included. */
  range?: readonly [least: number, most: number];
  /** Ages of its operand, in seconds, that give it each of its values: tried for the smallest change. */
  agesToTry?: readonly number[];
  /** It is true only when all operands are. */
  isConjunction?: boolean;
  /** It compares each operand with the next one, unchanged. */
  isComparison?: boolean;
  /** It compares two operands unchanged. With a literal, that is as cheap as looking up an earlier result. */
  isPlainComparison?: boolean;
  /** INVARIANT: true or false, never unknown or an error, when all facts that it reads are known. */
  isTotal?: boolean;
  /** It can be unknown even when nothing that it reads is missing. */
  isDoubtful?: boolean;
  /** Its value changes with time alone, while every fact stays the same: it is the age of its operand, in seconds. */
  readsTime?: boolean;
  /** It takes steps from the budget. */
  takesSteps?: boolean;
  /** json-logic-js does not have it, or gives it another meaning. */
  isForeign?: boolean;
}

export interface Constant {
  truth: 'true' | 'false' | 'the same';
  because: string;
}

/** What an operator compiles its operands with. */
export interface Compiling {
  condition(expression: Expression): Condition;
  value(expression: Expression): Expr;
  reasons: Reasons;
  /** The number of the frame's slot that holds a fact. */
  slotIndex(fact: FactRef): number;
  /** For coverage, every part must be evaluated: no short cuts. */
  isWatched: boolean;
}

// Whether a value in a record has the type of its schema.

/** Whether a value is of a type. Elements of lists are checked where they are used. */
export function isOfType(value: Fact, type: ValueType): boolean {
  switch (type.kind) {
    case 'text':
      return typeof value === 'string' && (!type.isClosed || (type.values ?? []).includes(value));
    case 'flag':
      return value === 'TRUE' || value === 'FALSE';
    case 'boolean':
    case 'condition':
      return typeof value === 'boolean';
    case 'number':
    case 'seconds':
      return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value));
    case 'score':
      return typeof value === 'number' && value >= 0 && value <= 100;
    case 'time':
      return typeof value === 'bigint' ? value >= 0n : Number.isInteger(value) && (value as number) >= 0;
    case 'list':
      return Array.isArray(value);
    case 'record':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return value !== null && !isBeyondTypes(value);
  }
}

/** Whether `missing` finds no value. A time of 0 was never set. */
export function isAbsent(value: Fact | undefined, isTime: boolean): boolean {
  if (value === undefined || value === null || value === '') return true;
  return isTime && (typeof value === 'number' || typeof value === 'bigint') && Number(value) === 0;
}

/** An own property of a record or an element of a list. Never looks at a prototype: a record is hostile input. */
export function ownPart(value: Fact | undefined, key: string): Fact | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return /^\d{1,7}$/.test(key) ? value[Number(key)] : undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * Whether a key that the object does not own, and that not every object inherits, reads as undefined. Such a key can be read
 * without checking for an own property. `__proto__` is the cheapest way to get the prototype. In an object that owns a key of
 * that name, as JSON can have it, it gives that key's value, which is never `Object.prototype`.
 */
export function isPlain(value: Fact | undefined): value is Facts {
  // biome-ignore lint/suspicious/noProto: getPrototypeOf is a call, several times for each record; this is a look at its shape
  return typeof value === 'object' && value !== null && (value as Prototyped).__proto__ === Object.prototype;
}

interface Prototyped {
  __proto__?: unknown;
}

/** Whether a timestamp is set, not too old and not in the far future. */
export function isYoung(value: Fact | undefined | Unknown, ms: number, nowMs: number): boolean {
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const timeMs = epochMsOf(value);
  return timeMs !== undefined && nowMs - timeMs <= ms && timeMs - nowMs <= FUTURE_MAX_MS;
}

/** The value at a path, or undefined. */
export function ownAt(value: Fact | undefined, path: readonly string[]): Fact | undefined {
  let part = value;
  for (const key of path) part = ownPart(part, key);
  return part;
}

// Walks over a condition's tree: its parts, the facts it reads, and one text for one meaning.

/** The direct parts of an expression; bodies of `some`, `map`, … included. */
export function partsOf(expression: Expression): readonly Expression[] {
  if (expression.op === 'call') return expression.args;
  return expression.op === 'list' ? expression.items : [];
}

/** The direct parts that are asked once, not once for each element. */
export function outerPartsOf(expression: Expression): readonly Expression[] {
  const body = expression.op === 'call' ? expression.operator.body?.arg : undefined;
  return partsOf(expression).filter((_, index) => index !== body);
}

/** Calls `visit` for an expression and all its parts. */
export function walk(expression: Expression, visit: (part: Expression) => void): void {
  visit(expression);
  for (const part of partsOf(expression)) walk(part, visit);
}

/** One text for one meaning: equal keys, equal conditions. Places and wording are left out. */
export function keyOf(expression: Expression): string {
  switch (expression.op) {
    case 'literal':
      return `L${literalKey(expression.value)}`;
    case 'fact':
      return `F${expression.fact.key}`;
    case 'item':
      if (expression.counts) return `I${JSON.stringify(expression.path)}F${expression.counts.key}`;
      return `I${JSON.stringify(expression.path)}${literalKey(expression.fallback ?? null)}${expression.type.kind}`;
    case 'now':
      return 'N';
    case 'list':
      return `[${expression.items.map(keyOf).join(',')}]`;
    case 'call': {
      const { operator, args } = expression;
      const keys = args.map(keyOf);
      return operator.key?.(keys) ?? `(${operator.name} ${keys.join(' ')})`;
    }
  }
}

export function literalKey(value: Fact): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? { big: `${part}` } : part));
}

/** Read when a condition first asks for it, and not with the record: a count, the past, a part of what is joined, what the lists do not have. */
export function isReadLate(fact: FactRef): boolean {
  return fact.kind !== 'path' || fact.lost !== undefined || fact.path[0]?.startsWith('$') === true;
}

/** All facts that an expression reads, each once. */
export function factsIn(expression: Expression): FactRef[] {
  const facts = new Map<string, FactRef>();
  walk(expression, (part) => {
    if (part.op === 'fact') facts.set(part.fact.key, part.fact);
  });
  return [...facts.values()];
}

/** The count of events that it is, of the subject or of a loop's element. */
export function countIn(expression: Expression): CountFact | undefined {
  if (expression.op === 'item') return expression.counts;
  return expression.op === 'fact' && expression.fact.kind === 'events' ? expression.fact : undefined;
}

/** The counts of the events of joined records in an expression. */
export function joinedCountsIn(expression: Expression): EventCount[] {
  const counts: EventCount[] = [];
  walk(expression, (part) => {
    if (part.op === 'item' && part.counts) counts.push(part.counts.count);
  });
  return counts;
}

/** Whether its value depends on the element that a loop around it is at. */
export function readsItem(expression: Expression): boolean {
  if (expression.op === 'item') return true;
  if (expression.op === 'call' && expression.operator.looksIn === 'item') return true;
  return outerPartsOf(expression).some(readsItem);
}

// An expression as one line of text, for people: `MdmData.CompromisedStatus == "TRUE"`.

export function textOf(expression: Expression): string {
  switch (expression.op) {
    case 'literal':
      return expression.text === undefined ? showLiteral(expression.value) : `"${expression.text}"`;
    case 'fact':
      return withDefault(expression.fact.label, expression.fact.kind === 'path' ? expression.fact.fallback : undefined);
    case 'item':
      if (expression.counts) return expression.label;
      return withDefault(expression.label === '' ? 'element' : `element.${expression.label}`, expression.fallback);
    case 'now':
      return '$now';
    case 'list': {
      const { name, items } = expression;
      if (name === undefined) return `[${items.map(textOf).join(', ')}]`;
      return `the list ${name} (${items.length} ${items.length === 1 ? 'entry' : 'entries'})`;
    }
    case 'call':
      return ownText(expression) ?? `${expression.operator.name}(${expression.args.map(textOf).join(', ')})`;
  }
}

function ownText(expression: Expression): string | undefined {
  return expression.op === 'call' ? expression.operator.text?.(expression.args, bracketed) : undefined;
}

/** In brackets when it is more than one word and no call. */
function bracketed(expression: Expression): string {
  const own = ownText(expression);
  if (own === undefined) return textOf(expression);
  return own.includes(' ') ? `(${own})` : own;
}

function withDefault(label: string, fallback: Parameters<typeof showLiteral>[0] | undefined): string {
  return fallback === undefined ? label : `(${label} or ${showLiteral(fallback)})`;
}
