// evaluate: a rule's condition after checking: a tree whose every node has a type. Made by `check`, read by `compile` and `explain`.

import type { Fact } from '../../domain/facts.ts';
import type { EventSeverity } from '../../domain/platform-values.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { TimeUnit, ValueType } from '../record-types/field-types.ts';
import type { Comparison } from './numbers.ts';
import type { Place } from './problem.ts';

/** A timestamp that vouches for the facts beside it. */
export interface Freshness {
  path: string[];
  label: string;
  ms: number;
}

/** One fact that is read once per subject: a path of the record, or a count of events. */
export type FactRef =
  | {
      kind: 'path';
      /** Unique within a subject kind; two rules with the same key share the fact. */
      key: string;
      label: string;
      path: string[];
      type: ValueType;
      fallback: Fact | undefined;
      /** All of these must be young enough. */
      fresh: readonly Freshness[];
    }
  | { kind: 'events'; key: string; label: string; type: ValueType; count: EventCount };

/** Which events are counted, and how. */
export interface EventCount {
  what: 'event_count' | 'event_distinct' | 'since_last_event';
  subject: SubjectKind;
  types: readonly string[] | undefined;
  subTypes: readonly string[] | undefined;
  actions: readonly string[] | undefined;
  results: readonly string[] | undefined;
  severityMin: EventSeverity | undefined;
  where: Expression | undefined;
  /** For event_distinct: the path within the event. */
  of: string[] | undefined;
  withinMs: number;
}

interface Common {
  type: ValueType;
  /** Where it stands in the rule file. */
  place: Place;
}

export type EachName = 'some' | 'all' | 'none' | 'filter' | 'map';
export type CallName =
  | 'and'
  | 'or'
  | '!'
  | '!!'
  | 'if'
  | 'in'
  | 'cat'
  | 'substr'
  | 'merge'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | 'min'
  | 'max'
  | 'age'
  | 'starts_with'
  | 'ends_with'
  | 'in_group'
  | 'version_lt'
  | 'version_lte'
  | 'version_gt'
  | 'version_gte'
  | 'to_number';

export type Expression = Common &
  (
    | { op: 'literal'; value: Fact; text?: string }
    | { op: 'fact'; fact: FactRef }
    /** A path inside the element that `some`, `map`, … look at; empty: the element itself. */
    | { op: 'item'; path: string[]; label: string; fallback: Fact | undefined }
    | { op: 'now' }
    | { op: 'list'; items: Expression[] }
    /** `units`: set when two times of different units meet. `chained`: the three operands of a "between". */
    | { op: 'compare'; by: Comparison; args: Expression[]; units: [TimeUnit, TimeUnit] | undefined }
    | { op: 'call'; name: CallName; args: Expression[] }
    | { op: 'matches'; arg: Expression; pattern: string }
    | { op: 'missing'; need: number | undefined; paths: Expression; inItem: boolean }
    | { op: 'each'; name: EachName; list: Expression; body: Expression }
    | { op: 'reduce'; list: Expression; body: Expression; start: Expression }
  );

export type ExpressionOf<Op extends Expression['op']> = Extract<Expression, { op: Op }>;

/** The direct parts of an expression; bodies of `some`, `map`, … included. */
export function partsOf(expression: Expression): Expression[] {
  switch (expression.op) {
    case 'list':
      return expression.items;
    case 'compare':
    case 'call':
      return expression.args;
    case 'matches':
      return [expression.arg];
    case 'missing':
      return [expression.paths];
    case 'each':
      return [expression.list, expression.body];
    case 'reduce':
      return [expression.list, expression.body, expression.start];
    default:
      return [];
  }
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
      return `I${JSON.stringify(expression.path)}${literalKey(expression.fallback ?? null)}${expression.type.kind}`;
    case 'now':
      return 'N';
    case 'list':
      return `[${expression.items.map(keyOf).join(',')}]`;
    case 'compare':
      return `(${expression.by}${expression.units?.join('/') ?? ''} ${expression.args.map(keyOf).join(' ')})`;
    case 'call':
      return `(${expression.name} ${expression.args.map(keyOf).join(' ')})`;
    case 'matches':
      return `(matches ${keyOf(expression.arg)} ${JSON.stringify(expression.pattern)})`;
    case 'missing':
      return `(missing ${expression.need} ${expression.inItem} ${keyOf(expression.paths)})`;
    case 'each':
      return `(${expression.name} ${keyOf(expression.list)} ${keyOf(expression.body)})`;
    case 'reduce':
      return `(reduce ${keyOf(expression.list)} ${keyOf(expression.body)} ${keyOf(expression.start)})`;
  }
}

export function literalKey(value: Fact): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? { big: `${part}` } : part));
}

/** All facts that an expression reads, each once. */
export function factsIn(expression: Expression): FactRef[] {
  const facts = new Map<string, FactRef>();
  walk(expression, (part) => {
    if (part.op === 'fact') facts.set(part.fact.key, part.fact);
  });
  return [...facts.values()];
}
