// evaluate: a fresh frame for a compiled program. In: how many rules, slots and shared conditions it has, and the time.
// Out: a frame with no record yet. One frame serves one pass.
import { type Frame, STEPS_MAX } from '../language/frame.ts';
import type { Value } from '../language/three-valued.ts';
import { wordsFor } from './rule-set-bits.ts';

export interface FrameSize {
  rules: number;
  slots: number;
  truths: number;
}

export function newFrame(
  size: FrameSize,
  nowMs: number,
  readers: Pick<Frame, 'readVirtual' | 'readPast' | 'showPast'>,
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
    ...readers,
  };
}
