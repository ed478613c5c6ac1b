// evaluate: a change of a condition as written, and the changes of a value in it. For mutants.
// In: a value. Out: others near it, each with a description.
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import type { Fact } from '../../domain/facts.ts';

export interface Edit {
  description: string;
  value: Fact;
}

/** Changes inside an operation. `paths`: its texts are names of fields, which are left alone. */
export type EditsOf = (value: Fact, texts: 'values' | 'paths') => Edit[];

export function literalEdits(value: Fact): Edit[] {
  const to = (other: Fact): Edit => ({ description: `${showEdited(value)} → ${showEdited(other)}`, value: other });
  if (typeof value === 'boolean') return [to(!value)];
  if (typeof value === 'number') return [to(value + 1), to(value - 1)];
  if (typeof value === 'bigint') return [to(value + 1_000_000_000n)];
  if (typeof value !== 'string') return [];
  if (value === 'TRUE') return [to('FALSE')];
  if (value === 'FALSE') return [to('TRUE')];
  const ms = parseDuration(value);
  if (ms !== undefined && ms > 0) return [to(formatDuration(ms * 2)), to(formatDuration(Math.ceil(ms / 2)))];
  return [to(`${value}~`)];
}

export const showEdited = (value: Fact): string => (typeof value === 'bigint' ? `${value}` : JSON.stringify(value));

/** The edits of a part, as edits of the whole that it is put into. */
export function within(edits: readonly Edit[], whole: (part: Fact) => Fact, prefix = ''): Edit[] {
  return edits.map(({ description, value }) => ({ description: `${prefix}${description}`, value: whole(value) }));
}
