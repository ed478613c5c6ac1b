// evaluate: what an expression can see where it stands, and what it was seen to read. Shared by all checks.
// In: the subject's schema, the rule's declarations. Out: a scope that checks pass down, and the reads it gathered.
import type { Fact } from '../../domain/facts.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { Expression, Freshness } from '../language/expression.ts';
import type { Place, ProblemCode } from '../language/problem.ts';
import type { Reads } from '../language/reads.ts';
import { REFUSED, type ValueType } from '../record-types/field-types.ts';

/** One row of the table of operators (check/operators.ts). */
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
