// evaluate: what an expression can see where it stands, and what it was seen to read. Shared by all check-* files.
// In: the subject's schema, the rule's declarations. Out: a scope that checks pass down, and the reads it gathered.
import type { Fact } from '../domain/facts.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { Expression, Freshness } from './expression.ts';
import type { Place, ProblemCode } from './problem.ts';
import { REFUSED, type ValueType } from './record-types/field-types.ts';

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
  };
}

/** One row of the table of operators (check-operators.ts). */
export interface Operator {
  min: number;
  max: number;
  usage: string;
  check(operands: Operands, scope: Scope): Expression;
}

export interface Scope {
  operators: ReadonlyMap<string, Operator>;
  /** The schema of events, for `where`. */
  eventRoot: ValueType;
  /** `event`: inside an event operator's `where`. */
  subject: SubjectKind | 'event';
  root: ValueType;
  /** The element's type inside `some`, `map`, …; undefined at the top. */
  item: ValueType | undefined;
  /** The source that the elements come from, when they are whole records. */
  itemSource: 'users' | 'devices' | undefined;
  fresh: readonly { freshness: Freshness; parent: readonly string[]; used: boolean }[];
  reads: Reads;
  problem(code: ProblemCode, place: Place, message: string): void;
}

/** One operator's operands as written, and the place of each. */
export interface Operands {
  name: string;
  args: readonly Fact[];
  place: Place;
  placeOf(index: number): Place;
}

/** Reports a problem and stands in for the expression, so that the rest is checked too. */
export function refuse(scope: Scope, code: ProblemCode, place: Place, message: string): Expression {
  scope.problem(code, place, message);
  return refused(place);
}

export function refused(place: Place): Expression {
  return { op: 'literal', value: null, type: REFUSED, place };
}

/** How an operand is named in messages: its path when it is one. */
export function nameOf(expression: Expression): string {
  if (expression.op === 'fact') return `\`${expression.fact.label}\``;
  if (expression.op === 'item') return expression.label ? `\`${expression.label}\`` : 'the element';
  if (expression.op === 'literal') return `\`${showLiteral(expression.value)}\``;
  if (expression.op === 'now') return '`$now`';
  if (expression.op === 'call' || expression.op === 'each') return `the result of \`${expression.name}\``;
  if (expression.op === 'compare') return `the result of \`${expression.by}\``;
  return 'this';
}

export function showLiteral(value: Fact): string {
  if (typeof value === 'bigint') return `${value}`;
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'null';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
