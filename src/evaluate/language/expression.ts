// evaluate: a rule's condition after checking: a tree whose every part has a type, and whose every operation has its operator.
// Made by the checks, read by everything after them. What one operator means is in its own file under operators/: the walks
// over this tree ask the operator, and know none by name.

import type { Fact } from '../../domain/facts.ts';
import type { EventSeverity } from '../../domain/platform-values.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { ValueType } from '../record-types/field-types.ts';
import type { Condition, Expr } from './frame.ts';
import type { Place } from './problem.ts';
import type { Reasons } from './three-valued.ts';

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

export type Expression = Common &
  (
    | { op: 'literal'; value: Fact; text?: string }
    | { op: 'fact'; fact: FactRef }
    /** A path inside the element that `some`, `map`, … look at; empty: the element itself. */
    | { op: 'item'; path: string[]; label: string; fallback: Fact | undefined }
    | { op: 'now' }
    | { op: 'list'; items: Expression[] }
    | { op: 'call'; operator: Operator; args: readonly Expression[] }
  );

export type ExpressionOf<Op extends Expression['op']> = Extract<Expression, { op: Op }>;
export type Args = readonly Expression[];

/**
 * What an operator means once its operands are checked. Members that are left out are the plain case. What it needs beside
 * its operands (a pattern, units) its closures hold.
 */
export type Operator = OperatorTraits & ((Answers & Partial<Valued>) | (Partial<Answers> & Valued));

/** Compiles it where a truth is asked for. */
interface Answers {
  condition(args: Args, compiling: Compiling): Condition;
}

/** Compiles it where a value is asked for. */
interface Valued {
  value(args: Args, compiling: Compiling): Expr;
}

interface OperatorTraits {
  /** In messages, texts and keys. */
  name: string;
  /** One text for one meaning, from the keys of its operands: `(name key key)` unless given. */
  key?(args: readonly string[]): string;
  /** For people: `name(a, b)` unless given or undefined. `bracketed`: puts an operand in brackets where it needs them. */
  text?(args: Args, bracketed: (arg: Expression) => string): string | undefined;

  /** It only joins conditions: coverage counts its parts instead, and each has a budget of steps of its own. */
  joins?: true;
  /** All of its operands must hold. */
  isConjunction?: true;
  /** Whether the operand of this number is asked for its truth. */
  asksTruthOf?(index: number, count: number): boolean;
  /** The operand that is asked once for each element of the first. */
  body?: { arg: number; isElement: boolean };
  /** The operands whose elements are elements of its own result. */
  elementsOf?(args: Args): Args;
  /** The texts of its first operand are paths that it looks for by itself, in the record or in the present element. */
  looksIn?: 'record' | 'item';

  /** It compares its two operands as they are: as cheap as looking up an earlier result, and a number in it is a bound. */
  isPlainComparison?: true;
  /** True or false as soon as its facts are known. */
  isTotal?: true;
  /** It can be unknown although all that it reads is known. */
  isDoubtful?: true;
  /** It takes steps from the budget. */
  takesSteps?: true;
  /** json-logic-js does not have it, or means something else by it. */
  isForeign?: true;
  /** What it always is, whatever its facts are. */
  constant?(args: Args): Constant | undefined;
}

export interface Constant {
  truth: 'true' | 'false' | 'the same';
  because: string;
}

/** What an operator's closures are made with. */
export interface Compiling {
  condition(expression: Expression): Condition;
  value(expression: Expression): Expr;
  reasons: Reasons;
  /** The number of the frame's slot that holds a fact. */
  slotIndex(fact: FactRef): number;
  /** Every part must be asked: nothing may be cut short. */
  isWatched: boolean;
}
