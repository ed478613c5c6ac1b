// evaluate: facts that are read when a condition first asks for them, because reading them is expensive: event counts,
// and the parts of `$owners`, `$devices`, `$spec`; and those that no list has. In: a slot and a frame. Out: the value, kept for this subject.
import type { Fact } from '../../domain/facts.ts';
import { type Frame, virtualOf } from '../language/frame.ts';
import { Unknown, type Value } from '../language/three-valued.ts';
import { isOfType, ownAt } from '../language/typed-value.ts';
import type { Slot } from './compiler.ts';

export function readLate(slot: Slot, frame: Frame): Value {
  const { index } = slot;
  if (frame.slotTurns[index] !== frame.turn) {
    frame.slots[index] = readSlot(slot, frame);
    frame.slotTurns[index] = frame.turn;
  }
  return frame.slots[index] as Value;
}

function readSlot(slot: Slot, frame: Frame): Value {
  const { fact, reasons, index } = slot;
  if (fact.kind !== 'events' && fact.lost !== undefined) return reasons.lost;
  return fact.kind === 'path' ? readVirtualPart(slot, frame) : frame.readPast(index, frame);
}

function readVirtualPart({ fact, reasons }: Slot, frame: Frame): Value {
  if (fact.kind !== 'path') return reasons.missing;
  const root = virtualOf(frame, fact.path[0] as string);
  if (root instanceof Unknown) return root;
  const found = ownAt(root as Fact, fact.path.slice(1));
  if (found === undefined) return fact.fallback ?? reasons.missing;
  if (found === null) return fact.fallback ?? reasons.isNull;
  return isOfType(found, fact.type) ? found : reasons.wrongType;
}
