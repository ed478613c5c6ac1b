// history/record: the facts of all subjects of one kind as they were recorded last, packed: a fact is its path and 128 bits that stand for its
// value. In: the facts of subjects. Out: the same again; fingerprints of whole records. The values themselves are in the segments.
import { isEqualPrint, PRINT_WORDS } from '../../base/print-bits.ts';
import { addPrint, type FactPath, type FactPaths } from '../../domain/fact-prints.ts';

// History/record: many short lists of numbers in a few long ones: a list of its own for each subject would take three
// times the memory.

const SLAB = 262_144;

class BlockMemory {
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

// History/record: the values of one path that many records share: most facts have few of them, so that a number of 16
// bits stands for one.

const VALUES_MAX = 4_096;

class KnownValues {
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

/** The facts of one subject: paths by number, and four numbers for each value. */
export interface PackedFacts {
  paths: Uint32Array;
  values: Int32Array;
}

/** Records that have the same facts share the list of their paths, and how these are packed: the whole ones first, then two values in each word. */
interface Shape {
  paths: Uint32Array;
  /** By path: 1: its values are too many for numbers. */
  isWhole: Uint8Array;
  wholes: number;
  words: number;
  subjects: number;
}

/** Fingerprints of whole records, by slot, as they were at a time. */
interface KeptPrints {
  time: number;
  bySlot: Int32Array;
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
  /** By path. */
  private readonly known: KnownValues[] = [];
  private packed = new Int32Array(64);
  private unpacked = new Int32Array(128);

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

  /** Its values hold until those of another one are asked for. */
  get(id: string): PackedFacts | undefined {
    const slot = this.slots.get(id);
    if (slot === undefined) return undefined;
    const { paths } = this.shapes[this.shapeOf[slot] as number] as Shape;
    return { paths, values: this.valuesAt(slot) };
  }

  set(id: string, { paths, values }: PackedFacts): void {
    const shape = this.pack(paths, values);
    const known = this.slots.get(id);
    const slot = known ?? this.free.pop() ?? this.slots.size;
    if (known === undefined) {
      this.slots.set(id, slot);
      this.grow(slot);
    } else this.leave(slot);
    (this.shapes[shape] as Shape).subjects += 1;
    this.shapeOf[slot] = shape;
    this.setAt[slot] = this.time;
    this.placeOf[slot] = this.memory.add(this.packed.subarray(0, (this.shapes[shape] as Shape).words));
  }

  delete(id: string): void {
    const slot = this.slots.get(id);
    if (slot === undefined) return;
    this.leave(slot);
    this.slots.delete(id);
    this.free.push(slot);
  }

  /** Of all subjects, in the order of `ids`, as a form shows them that has these paths. INVARIANT: a set that was asked for has no others later. */
  prints(shown: ReadonlySet<number>): Int32Array {
    const kept = this.keptFor(shown);
    const masks = this.shapes.map(({ paths }) => Uint8Array.from(paths, (no) => (shown.has(no) ? 1 : 0)));
    const prints = new Int32Array(PRINT_WORDS * this.slots.size);
    let at = 0;
    for (const slot of this.slots.values()) {
      const from = PRINT_WORDS * slot;
      if ((this.setAt[slot] as number) > kept.time) this.print(slot, masks, kept.bySlot);
      for (let word = 0; word < PRINT_WORDS; word += 1) prints[at + word] = kept.bySlot[from + word] as number;
      at += PRINT_WORDS;
    }
    kept.time = this.time;
    this.time += 1;
    return prints;
  }

  /** The same, and by id where its four numbers are. */
  printsById(shown: ReadonlySet<number>): { prints: Int32Array; atOf(id: string): number } {
    this.prints(shown);
    const { bySlot } = this.keptFor(shown);
    return { prints: bySlot, atOf: (id) => PRINT_WORDS * (this.slots.get(id) as number) };
  }

  private print(slot: number, masks: readonly Uint8Array[], bySlot: Int32Array): void {
    const mask = masks[this.shapeOf[slot] as number] as Uint8Array;
    const values = this.valuesAt(slot);
    const at = PRINT_WORDS * slot;
    bySlot.fill(0, at, at + PRINT_WORDS);
    for (let one = 0; one < mask.length; one += 1) if (mask[one] !== 0) addPrint(bySlot, at, values, PRINT_WORDS * one);
  }

  private keptFor(shown: ReadonlySet<number>): KeptPrints {
    const kept = this.kept.get(shown) ?? { time: 0, bySlot: new Int32Array(0) };
    const length = PRINT_WORDS * this.setAt.length;
    if (kept.bySlot.length < length) {
      const bySlot = new Int32Array(length);
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
    this.memory.remove(this.placeOf[slot] as number, shape.words);
  }

  /** Into `packed`; the number of its shape. A path that has too many values by now makes another one. */
  private pack(paths: Uint32Array, values: Int32Array): number {
    const key = paths.join(' ');
    let no = this.shapeNos.get(key);
    while (no === undefined || !this.packAs(this.shapes[no] as Shape, values)) {
      no = this.shapes.push(this.newShape(paths)) - 1;
      this.shapeNos.set(key, no);
    }
    return no;
  }

  private newShape(paths: Uint32Array): Shape {
    for (const no of paths) this.known[no] ??= new KnownValues();
    const isWhole = Uint8Array.from(paths, (no) => (this.known[no]?.isFull ? 1 : 0));
    const wholes = isWhole.reduce((sum, one) => sum + one, 0);
    const words = PRINT_WORDS * wholes + Math.ceil((paths.length - wholes) / 2);
    if (this.packed.length < words) this.packed = new Int32Array(2 * words);
    const unpacked = PRINT_WORDS * paths.length;
    if (this.unpacked.length < unpacked) this.unpacked = new Int32Array(2 * unpacked);
    return { paths: paths.slice(), isWhole, wholes, words, subjects: 0 };
  }

  /** False: a value has no number. */
  private packAs({ paths, isWhole, wholes, words }: Shape, values: Int32Array): boolean {
    const { packed } = this;
    packed.fill(0, 0, words);
    let [whole, numbered] = [0, 2 * PRINT_WORDS * wholes];
    for (let at = 0; at < paths.length; at += 1) {
      const from = PRINT_WORDS * at;
      if (isWhole[at] === 1) {
        for (let word = 0; word < PRINT_WORDS; word += 1) packed[whole + word] = values[from + word] as number;
        whole += PRINT_WORDS;
        continue;
      }
      const no = (this.known[paths[at] as number] as KnownValues).noOf(values, from);
      if (no === undefined) return false;
      packed[numbered >> 1] = (packed[numbered >> 1] as number) | (no << (16 * (numbered & 1)));
      numbered += 1;
    }
    return true;
  }

  /** Four numbers for each path; they hold until the next are asked for. */
  private valuesAt(slot: number): Int32Array {
    const { paths, isWhole, wholes, words } = this.shapes[this.shapeOf[slot] as number] as Shape;
    const packed = this.memory.read(this.placeOf[slot] as number, words);
    const { unpacked } = this;
    let [whole, numbered] = [0, 2 * PRINT_WORDS * wholes];
    for (let at = 0; at < paths.length; at += 1) {
      const to = PRINT_WORDS * at;
      if (isWhole[at] === 1) {
        for (let word = 0; word < PRINT_WORDS; word += 1) unpacked[to + word] = packed[whole + word] as number;
        whole += PRINT_WORDS;
        continue;
      }
      const no = ((packed[numbered >> 1] as number) >>> (16 * (numbered & 1))) & 0xffff;
      const { prints } = this.known[paths[at] as number] as KnownValues;
      for (let word = 0; word < PRINT_WORDS; word += 1) unpacked[to + word] = prints[PRINT_WORDS * no + word] as number;
      numbered += 1;
    }
    return unpacked.subarray(0, PRINT_WORDS * paths.length);
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
