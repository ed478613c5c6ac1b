// evaluate: what one subject's evaluation works on: its record, the facts read from it, and what was computed already.
// One frame is used for one subject after the other, so that judging allocates next to nothing.
import type { Facts } from '../../domain/facts.ts';
import type { Value } from './three-valued.ts';

/** Steps that loops within one condition may take for one subject; more is the verdict `error`. */
export const STEPS_MAX = 50_000;
/** Longest text that `cat` may build. */
export const TEXT_MAX = 100_000;
/** Further in the future than a day, a timestamp is nonsense, not a fresh one. */
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
  /** Counts subjects, so that what was computed for an earlier one is not taken for this one's. */
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
  /** Reads an event count for the present record. */
  readEvents(slot: number, frame: Frame): Value;
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
