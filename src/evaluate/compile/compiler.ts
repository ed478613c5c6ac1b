// evaluate: what is gathered while the conditions of one subject kind are compiled: facts to read, reasons, shared conditions.
// In: fact references. Out: slots. The closures keep slot numbers; nothing is looked up by name while judging.
import type { Expression, FactRef } from '../language/expression.ts';
import type { Condition, Expr } from '../language/frame.ts';
import { Reasons, type Unknown } from '../language/three-valued.ts';

/** The reasons a fact can be unknown for, made once. */
export interface SlotReasons {
  missing: Unknown;
  isNull: Unknown;
  wrongType: Unknown;
  stale: Unknown;
  unavailable: Unknown;
}

export interface Slot {
  index: number;
  fact: FactRef;
  reasons: SlotReasons;
}

/** A condition that is counted for coverage: a leaf of and/or/not. */
export interface Atom {
  expression: Expression;
  text: string;
}

export interface Compiler {
  reasons: Reasons;
  slots: Map<string, Slot>;
  /** How often each condition occurs (by key), so that shared ones are evaluated once per subject. */
  uses: Map<string, number>;
  /** Compiled conditions by key: equal conditions are one closure. */
  conditions: Map<string, Condition>;
  sharedCount: number;
  /** Compiles parts; set once, so that the files of `compile` need not import each other in a circle. */
  condition(expression: Expression, compiler: Compiler): Condition;
  value(expression: Expression, compiler: Compiler): Expr;
  /** For coverage: told every value of every leaf; nothing is cut short then. */
  probe: ((expression: Expression, truth: number) => void) | undefined;
}

export function slotOf(fact: FactRef, compiler: Compiler): Slot {
  const known = compiler.slots.get(fact.key);
  if (known) return known;
  const { label } = fact;
  const { reasons } = compiler;
  const freshness = fact.kind === 'path' ? fact.fresh.map((each) => `\`${each.label}\``).join(' or ') : '';
  const slot: Slot = {
    index: compiler.slots.size,
    fact,
    reasons: {
      missing: reasons.unknown(label, `\`${label}\` is missing`),
      isNull: reasons.unknown(label, `\`${label}\` is null`),
      wrongType: reasons.unknown(label, `\`${label}\` is not of the type it should be`),
      stale: reasons.unknown(label, `\`${label}\` is stale: ${freshness} is too old, or was never set`),
      unavailable: reasons.unknown(label, `\`${label}\` cannot be known: its source is unavailable`),
    },
  };
  compiler.slots.set(fact.key, slot);
  return slot;
}

export function newCompiler(
  parts: Pick<Compiler, 'condition' | 'value'>,
  probe?: (expression: Expression, truth: number) => void,
): Compiler {
  return {
    ...parts,
    reasons: new Reasons(),
    slots: new Map(),
    uses: new Map(),
    conditions: new Map(),
    sharedCount: 0,
    probe,
  };
}
