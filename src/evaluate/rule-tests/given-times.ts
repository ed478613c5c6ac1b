// evaluate: times in rule tests, as `{ago: "90d"}`. In: a value as written, the type of its field. Out: a time in the field's unit.
import { parseDuration } from '../../domain/duration.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import type { ValueType } from '../record-types/field-types.ts';
import { nanoseconds } from '../record-types/samples.ts';

/** Undefined when it is not written as a time. */
export function timeOf(written: Facts, type: ValueType | undefined, nowMs: number): Fact | undefined {
  const ago =
    Object.keys(written).length === 1 && typeof written.ago === 'string' ? parseDuration(written.ago) : undefined;
  if (ago === undefined) return undefined;
  const epochMs = nowMs - ago;
  const unit = type?.kind === 'time' ? type.unit : 'ns';
  return unit === 'ns' ? nanoseconds(epochMs) : unit === 's' ? Math.trunc(epochMs / 1_000) : epochMs;
}
