// evaluate: what one subject's evaluation works on: its record, the facts read from it, and what was computed already.
// One frame is used for one subject after the other, so that judging allocates next to nothing.
import type { Facts } from '../domain/facts.ts';
import { wordsFor } from './rule-set-bits.ts';
import type { Value } from './three-valued.ts';

/** Steps that loops within one condition may take for one subject; more is the verdict `error`. */
export const STEPS_MAX = 50_000;
/** Longest text that `cat` may build. */
export const TEXT_MAX = 100_000;

export interface Frame {
  record: Facts;
  /** Whether the present record's keys may be read without asking who owns them (`isPlain`). */
  isPlain: boolean;
  /** Facts by slot; see fact-slots.ts. */
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

export interface FrameSize {
  rules: number;
  slots: number;
  truths: number;
}

export function newFrame(
  size: FrameSize,
  nowMs: number,
  readVirtual: Frame['readVirtual'],
  readEvents: Frame['readEvents'],
): Frame {
  return {
    record: {},
    isPlain: true,
    slots: new Array<Value | undefined>(size.slots).fill(undefined),
    item: null,
    nowMs,
    nowNs: BigInt(Math.trunc(nowMs)) * 1_000_000n,
    steps: STEPS_MAX,
    ruledOut: new Int32Array(wordsFor(size.rules)),
    doubts: 0,
    turn: 0,
    truths: new Int32Array(size.truths),
    truthTurns: new Int32Array(size.truths),
    slotTurns: new Int32Array(size.slots),
    virtual: {},
    virtualTurns: {},
    readVirtual,
    readEvents,
  };
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
