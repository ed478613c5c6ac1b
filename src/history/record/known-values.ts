// history/record: the values of one path that many records share: most facts have few of them, so that a number of 16 bits stands for one. In: the
// 64 bits of a value. Out: its number, and the bits again. A path whose values are too many gets no more: its facts are kept as they are.

const VALUES_MAX = 4_096;

export class KnownValues {
  private readonly a: number[] = [];
  private readonly b: number[] = [];
  /** By the first half: the value that came last, and by number the one before it. */
  private readonly last = new Map<number, number>();
  private readonly before: (number | undefined)[] = [];

  /** Undefined: there are too many. */
  noOf(a: number, b: number): number | undefined {
    const last = this.last.get(a);
    for (let no = last; no !== undefined; no = this.before[no]) if (this.b[no] === b) return no;
    if (this.isFull) return undefined;
    this.last.set(a, this.a.length);
    this.before.push(last);
    this.a.push(a);
    return this.b.push(b) - 1;
  }

  get isFull(): boolean {
    return this.a.length === VALUES_MAX;
  }

  aOf(no: number): number {
    return this.a[no] as number;
  }

  bOf(no: number): number {
    return this.b[no] as number;
  }
}
