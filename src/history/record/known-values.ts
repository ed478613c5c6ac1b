// history/record: the values of one path that many records share: most facts have few of them, so that a number of 16 bits stands for one. In: the
// 128 bits of a value. Out: its number, and the bits again. A path whose values are too many gets no more: its facts are kept as they are.
import { isEqualPrint, PRINT_WORDS } from '../../domain/print-bits.ts';

const VALUES_MAX = 4_096;

export class KnownValues {
  /** Four numbers of each. */
  readonly prints: number[] = [];
  /** By the first number: the value that came last, and by value the one before it. */
  private readonly last = new Map<number, number>();
  private readonly before: (number | undefined)[] = [];

  /** Of the value whose four numbers are here. Undefined: there are too many. */
  noOf(values: Int32Array, at: number): number | undefined {
    const first = values[at] as number;
    const last = this.last.get(first);
    for (let no = last; no !== undefined; no = this.before[no])
      if (isEqualPrint(this.prints, PRINT_WORDS * no, values, at)) return no;
    if (this.isFull) return undefined;
    this.last.set(first, this.before.length);
    for (let word = at; word < at + PRINT_WORDS; word += 1) this.prints.push(values[word] as number);
    return this.before.push(last) - 1;
  }

  get isFull(): boolean {
    return this.before.length === VALUES_MAX;
  }
}
