// evaluate: what is gathered while the conditions of one subject kind are compiled: facts to read, reasons, shared conditions.
// In: fact references. Out: slots. The closures keep slot numbers; nothing is looked up by name while judging.
import { notInLists } from '../../domain/lists.ts';
import type { Compiling, Expression, FactRef } from '../language/expression.ts';
import type { Condition } from '../language/frame.ts';
import type { Reasons, Truth, Unknown } from '../language/three-valued.ts';

/** The reasons a fact can be unknown for, made once. */
export interface SlotReasons {
  missing: Unknown;
  isNull: Unknown;
  wrongType: Unknown;
  stale: Unknown;
  unavailable: Unknown;
  lost: Unknown;
}

export interface Slot {
  index: number;
  fact: FactRef;
  reasons: SlotReasons;
}

/** Sees every value of every condition that coverage counts. */
export type Probe = (expression: Expression, truth: Truth) => void;

export interface Compiler extends Compiling {
  slots: Map<string, Slot>;
  /** How often each condition occurs (by key), so that shared ones are evaluated once per subject. */
  uses: Map<string, number>;
  /** Compiled conditions by key: equal conditions are one closure. */
  conditions: Map<string, Condition>;
  sharedCount: number;
  probe: Probe | undefined;
}

/** The slot of a fact, made when first asked for. */
export function slotOf(fact: FactRef, { slots, reasons }: { slots: Map<string, Slot>; reasons: Reasons }): Slot {
  const known = slots.get(fact.key);
  if (known) return known;
  const { label } = fact;
  const freshness = fact.kind === 'path' ? fact.fresh.map((each) => `\`${each.label}\``).join(' or ') : '';
  const slot: Slot = {
    index: slots.size,
    fact,
    reasons: {
      missing: reasons.unknown(label, `\`${label}\` is missing`),
      isNull: reasons.unknown(label, `\`${label}\` is null`),
      wrongType: reasons.unknown(label, `\`${label}\` is not of the type it should be`),
      stale: reasons.unknown(label, `\`${label}\` is stale: ${freshness} is too old, or was never set`, 'stale'),
      unavailable: reasons.unknown(label, `\`${label}\` cannot be known: its source is unavailable`, 'unavailable'),
      lost: reasons.unknown(label, lostWords(label, (fact.kind !== 'events' && fact.lost) || label), 'not_in_lists'),
    },
  };
  slots.set(fact.key, slot);
  return slot;
}

/** `path`: the fact itself, or a timestamp that vouches for it. */
function lostWords(label: string, path: string): string {
  return path === label ? notInLists(path) : `\`${label}\` cannot be vouched for: ${notInLists(path)}`;
}
