// evaluate: how often each value of one fact was seen, from the counts of the parts of a pass. In: parts, in the order of their records. Out:
// what one pass over all of them counts: the first values as they are, the rest together.
import type { Fact } from '../../domain/facts.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import { countsOf, VALUES_MAX } from './value-counts.ts';

export class ValueMerge {
  private readonly byValue = new Map<Fact, number>();
  private readonly rest = { other: 0, none: 0, zero: 0, set: 0 };

  add({ values, counts, ...part }: ValuePart): void {
    for (const [at, value] of values.entries()) {
      const count = counts[at] as number;
      const known = this.byValue.get(value);
      if (known !== undefined || this.byValue.size < VALUES_MAX) this.byValue.set(value, (known ?? 0) + count);
      else this.rest.other += count;
    }
    for (const what of ['other', 'none', 'zero', 'set'] as const) this.rest[what] += part[what];
  }

  /** `name`: of the fact. */
  result(name: string): Record<string, number> {
    return countsOf(name, { values: [...this.byValue.keys()], counts: [...this.byValue.values()], ...this.rest });
  }
}
