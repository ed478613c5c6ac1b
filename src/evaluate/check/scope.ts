// evaluate: what the checks of a condition share: the scope (which fields and operators can be used here), the operands as
// written, and how an operand is refused. In: the subject's schema, the rule's declarations. Out: a scope that checks pass down.
import type { Fact } from '../../domain/facts.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { Edit, EditsOf } from '../language/edits.ts';
import type { Expression, Freshness, Operator } from '../language/expression.ts';
import type { Place, ProblemCode } from '../language/problem.ts';
import type { Reads } from '../language/reads.ts';
import { REFUSED, type ValueType } from '../record-types/field-types.ts';

/** An operator as rules write it. Its check makes an expression, which has the `Operator` that it means. */
export interface Form {
  min: number;
  max: number;
  /** How it is written, for the message about a wrong number of operands. */
  usage: string;
  check(operands: Operands, scope: Scope): Expression;
  /** Mutants: operators that the rule's tests should notice in its place. */
  swaps?: readonly string[];
  /** Mutants: other changes of the whole operation. */
  edits?(written: Fact, name: string): Edit[];
  /** Mutants: changes of its operands; by default, of each value in them. */
  innerEdits?(written: Fact, editsOf: EditsOf): Edit[];
}

/** All operators of a rule language by the names that rules write. */
export type Language = ReadonlyMap<string, Form>;

export interface Scope {
  language: Language;
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

/** Reports a problem. Returns a stand-in for the expression, so that the rest is checked, too. */
export function refuse(scope: Scope, code: ProblemCode, place: Place, message: string): Expression {
  scope.problem(code, place, message);
  return refused(place);
}

export function refused(place: Place): Expression {
  return { op: 'literal', value: null, type: REFUSED, place };
}

/** An operation, unless one of its operands was refused. */
export function call(operator: Operator, args: readonly Expression[], type: ValueType, place: Place): Expression {
  if (args.some((arg) => arg.type.kind === 'refused')) return refused(place);
  return { op: 'call', operator, args, type, place };
}
