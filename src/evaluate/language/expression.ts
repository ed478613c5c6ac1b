// evaluate: a rule's condition after checking: a tree whose every part has a type, and whose every operation has its operator.
// Made by the checks, read by everything after them. What an operator means is in its family's file under operators/. Walks
// over this tree ask the operator; they know none by name.

import type { Fact } from '../../domain/facts.ts';
import type { EventSeverity } from '../../domain/platform-values.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { ValueType } from '../record-types/field-types.ts';
import type { Condition, Expr } from './frame.ts';
import type { Place } from './problem.ts';
import type { Reasons } from './three-valued.ts';

/** A timestamp that must be young enough for the facts beside it to count as known. */
export interface Freshness {
  path: string[];
  label: string;
  ms: number;
}

/** One fact that is read once per subject: a path of the record, a count of events, or what is known of a path's past. */
export type FactRef =
  | PathFact
  | { kind: 'events'; key: string; label: string; type: ValueType; count: EventCount }
  | {
      kind: 'look_back';
      key: string;
      label: string;
      type: ValueType;
      past: LookedBack;
      /** As of a path. */
      lost?: string;
    };

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
  /** Its place in the rule file. */
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
  /** It counts: a whole number from 0. */
  isCount?: boolean;
  /** It is true only when all operands are. */
  isConjunction?: boolean;
  /** It compares two operands unchanged. With a literal, that is as cheap as looking up an earlier result. */
  isPlainComparison?: boolean;
  /** INVARIANT: true or false, never unknown or an error, when all facts that it reads are known. */
  isTotal?: boolean;
  /** It can be unknown even when nothing that it reads is missing. */
  isDoubtful?: boolean;
  /** Its value changes with time alone, while every fact stays the same. */
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
