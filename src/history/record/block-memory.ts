// history/record: many short lists of numbers in a few long ones: a list of its own for each subject would take three times the memory. In: a
// list. Out: its place, by which it is read, and its space is used again when it is removed.

const SLAB = 262_144;

export class BlockMemory {
  private readonly slabs: Int32Array[] = [];
  /** Where the last slab is free. */
  private end = SLAB;
  /** Places of removed lists, by length. */
  private readonly free = new Map<number, number[]>();

  add(values: Int32Array): number {
    const { length } = values;
    const place = this.free.get(length)?.pop() ?? this.extend(length);
    this.read(place, length).set(values);
    return place;
  }

  read(place: number, length: number): Int32Array {
    const at = place % SLAB;
    const slab = this.slabs[(place - at) / SLAB] as Int32Array;
    return slab.subarray(at, at + length);
  }

  remove(place: number, length: number): void {
    const places = this.free.get(length);
    if (places) places.push(place);
    else this.free.set(length, [place]);
  }

  private extend(length: number): number {
    if (this.end + length > SLAB) {
      // A list longer than a slab has one of its own.
      this.slabs.push(new Int32Array(Math.max(SLAB, length)));
      this.end = 0;
    }
    const place = (this.slabs.length - 1) * SLAB + this.end;
    this.end += length;
    return place;
  }
}
