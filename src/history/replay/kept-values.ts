// history: how often each value stands in the records of one kind, kept from run to run, for the trust gate of a what-if. In: the records that
// changed. Out: the counts of one pass over all of them, by fact that the replayed rules read.
import type { ValueTally } from '../../evaluate/index.ts';
import { valueAt } from './recorded-record.ts';
import type { WorldKind, WorldSubject } from './world-kind.ts';

export interface CountedValues {
  path: string;
  counts: Record<string, number>;
}

export class KeptValues {
  private readonly touched: Set<WorldSubject>;
  private readonly names: readonly string[];
  /** By fact, then by the index of a subject: its value's code, plus one; 0: it is not counted. */
  private readonly codes: Uint32Array[];

  constructor(
    private readonly world: WorldKind,
    private readonly tallies: readonly ValueTally[],
  ) {
    this.names = tallies.map(({ path }) => path.join('.'));
    this.codes = tallies.map(() => new Uint32Array(64));
    const names = new Set(this.names);
    this.touched = world.touched((_, path) => names.has(path));
  }

  /** Of the records as they are now. */
  values(): CountedValues[] {
    for (const subject of this.touched) for (let at = 0; at < this.tallies.length; at += 1) this.count(subject, at);
    this.touched.clear();
    return this.tallies.map((tally, at) => ({ path: this.names[at] as string, counts: tally.result() }));
  }

  get size(): number {
    return this.world.size;
  }

  private count({ index, record }: WorldSubject, at: number): void {
    const tally = this.tallies[at] as ValueTally;
    let codes = this.codes[at] as Uint32Array;
    if (index >= codes.length) {
      const more = new Uint32Array(2 * Math.max(codes.length, this.world.all.length));
      more.set(codes);
      codes = this.codes[at] = more;
    }
    const before = codes[index] as number;
    if (before > 0) tally.remove(before - 1);
    codes[index] = record ? tally.add(valueAt(record, tally.path)) + 1 : 0;
  }
}
