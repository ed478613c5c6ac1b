// evaluate: the facts whose past is kept, and what is kept of each subject. In: a record, or a value of the history. Out: the value as rules read
// it; none where it is absent or of another type.
import type { Fact, Facts } from '../../domain/facts.ts';
import type { PathFact } from '../language/expression.ts';
import { isOfType, ownAt } from '../language/typed-value.ts';
import type { Track } from './track.ts';

/** One fact whose past is kept: a path, read as a type. */
export type Kept = Pick<PathFact, 'label' | 'path' | 'type'>;

/** The tracks of one subject, by fact. `turn`: the last pass that saw the subject. */
export interface Entry {
  tracks: (Track | undefined)[];
  turn: number;
}

export function valueIn(record: Facts, kept: Kept): Fact | undefined {
  return typedValue(ownAt(record, kept.path), kept);
}

export function typedValue(value: Fact | undefined, { type }: Kept): Fact | undefined {
  return value !== undefined && value !== null && isOfType(value, type) ? value : undefined;
}
