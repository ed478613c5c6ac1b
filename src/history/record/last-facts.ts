// history/record: the facts of all subjects of one kind as they were recorded last, packed: a fact is its path and 64 bits that stand for its
// value. In: the facts of subjects. Out: the same again; fingerprints of whole records. The values themselves are in the segments.
import type { FactPath, FactPaths } from '../../domain/fact-prints.ts';
import { printOf } from '../../domain/print-bits.ts';
import { BlockMemory } from './block-memory.ts';

/** The facts of one subject: paths by number, and two numbers for each value. */
export interface PackedFacts {
  paths: Uint32Array;
  values: Int32Array;
}

/** Records that have the same facts share the list of their paths. */
interface Shape {
  paths: Uint32Array;
  subjects: number;
}

/** Fingerprints of whole records, by slot, as they were at a time. */
interface KeptPrints {
  time: number;
  bySlot: Float64Array;
}

export class LastFacts {
  private readonly slots = new Map<string, number>();
  private readonly free: number[] = [];
  private shapeOf = new Uint32Array(1_024);
  private placeOf = new Float64Array(1_024);
  private readonly memory = new BlockMemory();
  private readonly shapes: Shape[] = [];
  private readonly shapeNos = new Map<string, number>();
  /** It counts how often fingerprints were asked for. */
  private time = 1;
  /** By slot: when its facts were set. */
  private setAt = new Uint32Array(1_024);
  private readonly kept = new WeakMap<ReadonlySet<number>, KeptPrints>();

  constructor(readonly paths: FactPaths) {}

  get size(): number {
    return this.slots.size;
  }

  ids(): Iterable<string> {
    return this.slots.keys();
  }

  has(id: string): boolean {
    return this.slots.has(id);
  }

  /** A view: it holds until the next change. */
  get(id: string): PackedFacts | undefined {
    const slot = this.slots.get(id);
    if (slot === undefined) return undefined;
    const { paths } = this.shapes[this.shapeOf[slot] as number] as Shape;
    return { paths, values: this.memory.read(this.placeOf[slot] as number, 2 * paths.length) };
  }

  set(id: string, { paths, values }: PackedFacts): void {
    const shape = this.shapeNo(paths);
    const known = this.slots.get(id);
    const slot = known ?? this.free.pop() ?? this.slots.size;
    if (known === undefined) {
      this.slots.set(id, slot);
      this.grow(slot);
    } else this.leave(slot);
    (this.shapes[shape] as Shape).subjects += 1;
    this.shapeOf[slot] = shape;
    this.setAt[slot] = this.time;
    this.placeOf[slot] = this.memory.add(values);
  }

  delete(id: string): void {
    const slot = this.slots.get(id);
    if (slot === undefined) return;
    this.leave(slot);
    this.slots.delete(id);
    this.free.push(slot);
  }

  /** Of all subjects, in the order of `ids`, as a form shows them that has these paths. INVARIANT: a set that was asked for has no others later. */
  prints(shown: ReadonlySet<number>): Float64Array {
    const kept = this.keptFor(shown);
    const masks = this.shapes.map(({ paths }) => Uint8Array.from(paths, (no) => (shown.has(no) ? 1 : 0)));
    const prints = new Float64Array(this.slots.size);
    let at = 0;
    for (const slot of this.slots.values()) {
      if ((this.setAt[slot] as number) > kept.time) kept.bySlot[slot] = this.print(slot, masks);
      prints[at] = kept.bySlot[slot] as number;
      at += 1;
    }
    kept.time = this.time;
    this.time += 1;
    return prints;
  }

  /** The same, by id. */
  printsById(shown: ReadonlySet<number>): (id: string) => number {
    this.prints(shown);
    const { bySlot } = this.keptFor(shown);
    return (id) => bySlot[this.slots.get(id) as number] as number;
  }

  private print(slot: number, masks: readonly Uint8Array[]): number {
    const mask = masks[this.shapeOf[slot] as number] as Uint8Array;
    const values = this.memory.read(this.placeOf[slot] as number, 2 * mask.length);
    let [a, b] = [0, 0];
    for (let one = 0; one < mask.length; one += 1) {
      if (mask[one] === 0) continue;
      a = (a + (values[2 * one] as number)) | 0;
      b = (b + (values[2 * one + 1] as number)) | 0;
    }
    return printOf(a, b);
  }

  private keptFor(shown: ReadonlySet<number>): KeptPrints {
    const kept = this.kept.get(shown) ?? { time: 0, bySlot: new Float64Array(0) };
    const { length } = this.setAt;
    if (kept.bySlot.length < length) {
      const bySlot = new Float64Array(length);
      bySlot.set(kept.bySlot);
      kept.bySlot = bySlot;
    }
    this.kept.set(shown, kept);
    return kept;
  }

  /** Subjects that have a fact of one of these paths. */
  *idsWith(paths: ReadonlySet<number>): Generator<string> {
    const has = this.shapes.map((shape) => shape.subjects > 0 && shape.paths.some((no) => paths.has(no)));
    if (!has.includes(true)) return;
    for (const [id, slot] of this.slots) if (has[this.shapeOf[slot] as number]) yield id;
  }

  pathOf(no: number): FactPath {
    return this.paths.all[no] as FactPath;
  }

  private leave(slot: number): void {
    const shape = this.shapes[this.shapeOf[slot] as number] as Shape;
    shape.subjects -= 1;
    this.memory.remove(this.placeOf[slot] as number, 2 * shape.paths.length);
  }

  private shapeNo(paths: Uint32Array): number {
    const key = paths.join(' ');
    const known = this.shapeNos.get(key);
    if (known !== undefined) return known;
    this.shapes.push({ paths: paths.slice(), subjects: 0 });
    this.shapeNos.set(key, this.shapes.length - 1);
    return this.shapes.length - 1;
  }

  private grow(slot: number): void {
    if (slot < this.shapeOf.length) return;
    const [shapes, places, times] = [this.shapeOf, this.placeOf, this.setAt];
    this.shapeOf = new Uint32Array(2 * shapes.length);
    this.placeOf = new Float64Array(2 * places.length);
    this.setAt = new Uint32Array(2 * times.length);
    this.shapeOf.set(shapes);
    this.setAt.set(times);
    this.placeOf.set(places);
  }
}
