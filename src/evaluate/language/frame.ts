// evaluate: what the evaluation of one subject works on: its record, the facts read from it, and earlier results.
// Subjects share one frame, one after the other, so that judging allocates almost nothing.
import type { ExplainedPast } from '../../domain/explanation.ts';
import type { Facts } from '../../domain/facts.ts';
import type { Value } from './three-valued.ts';

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
  /** Reads a virtual name for the present record. */
  readVirtual(name: string, frame: Frame): Value;
  /** Reads an event count, or what is known of a field's past, for the present record. */
  readPast(slot: number, frame: Frame): Value;
  /** What is known of a field's past, for people. */
  showPast(slot: number, frame: Frame): ExplainedPast | undefined;
}

/** The value of `$owners`, `$devices` or `$spec` for the present subject, read once. */
export function virtualOf(frame: Frame, name: string): Value {
  if (frame.virtualTurns[name] !== frame.turn) {
    frame.virtual[name] = frame.readVirtual(name, frame);
    frame.virtualTurns[name] = frame.turn;
  }
  return frame.virtual[name] as Value;
}

/** Takes one step of the budget. False: it is used up. */
export function step(frame: Frame): boolean {
  return --frame.steps >= 0;
}

export type Condition = (frame: Frame) => number;
export type Expr = (frame: Frame) => Value;
