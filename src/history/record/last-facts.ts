// history/record: the facts of all subjects of one kind as they were recorded last, packed: a fact is its path and 128 bits that stand for its
// value. In: the facts of subjects. Out: the same again; fingerprints of whole records. The values themselves are in the segments. What was saved of it
// stays on the disk, and is read where it is asked for: in memory are ids, the fingerprints of whole records, and what changed since.
import { longer } from '../../base/growing.ts';
import { isEqualPrint, PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import { addPrint, type FactPath, FactPaths } from '../../domain/fact-prints.ts';
import type { SegmentSource } from '../files/segment-bytes.ts';
import type { Range } from '../files/standing-file.ts';
import { IdTable } from './id-table.ts';

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

// History/record: the same lists on the disk, as they were saved.

const WINDOW_WORDS = 16_384;

class StoredBlocks {
  private window: Int32Array = new Int32Array(0);
  private from = 0;

  constructor(
    private readonly source: SegmentSource,
    private readonly range: Range,
  ) {}

  /** It holds until the next one is read. Errors: AppError `store_failed`. */
  read(place: number, length: number): Int32Array {
    const { from, window } = this;
    if (place < from || place + length > from + window.length) {
      const end = Math.min(this.range.length, BYTES * (place + Math.max(WINDOW_WORDS, length)));
      this.window = wordsOf(this.source.read(this.range.at + BYTES * place, this.range.at + end));
      this.from = place;
    }
    return this.window.subarray(place - this.from, place - this.from + length);
  }
}

const BYTES = Int32Array.BYTES_PER_ELEMENT;

// History/record: the values of one path that many records share: most facts have few of them, so that a number of 16
// bits stands for one.

const VALUES_MAX = 4_096;

class KnownValues {
  /** By the first number: the value that came last, and by value the one before it. */
  private readonly last = new Map<number, number>();
  private readonly before: (number | undefined)[] = [];

  /** Four numbers of each. */
  constructor(readonly prints: number[] = []) {
    for (let no = 0; PRINT_WORDS * no < prints.length; no += 1) this.enter(prints[PRINT_WORDS * no] as number);
  }

  /** Of the value whose four numbers are here. Undefined: there are too many. */
  noOf(values: Int32Array, at: number): number | undefined {
    const first = values[at] as number;
    for (let no = this.last.get(first); no !== undefined; no = this.before[no])
      if (isEqualPrint(this.prints, PRINT_WORDS * no, values, at)) return no;
    if (this.isFull) return undefined;
    for (let word = at; word < at + PRINT_WORDS; word += 1) this.prints.push(values[word] as number);
    return this.enter(first);
  }

  private enter(first: number): number {
    const no = this.before.push(this.last.get(first)) - 1;
    this.last.set(first, no);
    return no;
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

/** What is saved beside the long lists, as JSON. */
export interface SavedFacts {
  slots: number;
  /** See FactPaths. */
  paths: readonly (readonly [number, string])[];
  /** Paths by number, and which of them are whole. */
  shapes: readonly (readonly [readonly number[], readonly number[]])[];
  /** By path: how many values have numbers. */
  known: readonly number[];
}

/** The long lists. */
export const SAVED_LISTS = ['ids', 'shapes', 'sums', 'known', 'values'] as const;
export type SavedList = (typeof SAVED_LISTS)[number];

/** Fingerprints of records that a form shows a part of, by slot, as they were at a time. */
interface KeptPrints {
  time: number;
  bySlot: Int32Array;
}

export class LastFacts {
  private ids: IdTable;
  private shapeOf: Uint32Array = new Uint32Array(1_024);
  /** By slot: where its values are: in memory, or, counted down from -1, on the disk. */
  private placeOf: Float64Array = new Float64Array(1_024);
  /** By slot: the sum of all its facts. */
  private sums: Int32Array = new Int32Array(PRINT_WORDS * 1_024);
  private memory = new BlockMemory();
  private stored: StoredBlocks | undefined;
  private readonly shapes: Shape[] = [];
  private readonly shapeNos = new Map<string, number>();
  private lastShape = 0;
  /** It counts how often fingerprints were asked for. */
  private time = 1;
  /** By slot: when its facts were set. */
  private setAt: Uint32Array = new Uint32Array(1_024);
  private readonly kept = new WeakMap<ReadonlySet<number>, KeptPrints>();
  /** By path. */
  private readonly known: KnownValues[] = [];
  private packed = new Int32Array(64);
  private unpacked = new Int32Array(128);

  constructor(readonly paths: FactPaths) {
    this.ids = new IdTable(paths.key[0] as number);
  }

  get size(): number {
    return this.ids.size;
  }

  *all(): Generator<string> {
    for (const [id] of this.ids) yield id;
  }

  has(id: string): boolean {
    return this.ids.of(id) !== undefined;
  }

  /** Its values hold until those of another one are asked for. */
  get(id: string): PackedFacts | undefined {
    const slot = this.ids.of(id);
    return slot === undefined ? undefined : { paths: this.shapeAt(slot).paths, values: this.valuesAt(slot) };
  }

  set(id: string, { paths, values }: PackedFacts): void {
    const no = this.pack(paths, values);
    const shape = this.shapes[no] as Shape;
    const known = this.ids.of(id);
    if (known !== undefined) this.leave(known);
    const slot = known ?? this.ids.add(id);
    this.grow(slot);
    shape.subjects += 1;
    this.shapeOf[slot] = no;
    this.setAt[slot] = this.time;
    this.placeOf[slot] = this.memory.add(this.packed.subarray(0, shape.words));
    const at = PRINT_WORDS * slot;
    this.sums.fill(0, at, at + PRINT_WORDS);
    for (let one = 0; one < paths.length; one += 1) addPrint(this.sums, at, values, PRINT_WORDS * one);
  }

  delete(id: string): void {
    const slot = this.ids.of(id);
    if (slot === undefined) return;
    this.leave(slot);
    this.ids.remove(id);
  }

  /** Of all subjects, in the order of `all`, as a form shows them that has these paths. INVARIANT: a set that was asked for has no others later. */
  prints(shown: ReadonlySet<number>): Int32Array {
    const { print, kept } = this.printer(shown);
    const prints = new Int32Array(PRINT_WORDS * this.size);
    let at = 0;
    for (let slot = 0; slot < this.ids.bound; slot += 1) {
      if (!this.ids.has(slot)) continue;
      print(slot, prints, at);
      at += PRINT_WORDS;
    }
    // Of all of them: what is set from now on is of a later time.
    if (kept) {
      kept.time = this.time;
      this.time += 1;
    }
    return prints;
  }

  /** The same of one subject, which is there. */
  printOf(shown: ReadonlySet<number>): (id: string, out: Int32Array) => void {
    const { print } = this.printer(shown);
    return (id, out) => print(this.ids.of(id) as number, out, 0);
  }

  private printer(shown: ReadonlySet<number>): {
    print: (slot: number, out: Int32Array, at: number) => void;
    kept: KeptPrints | undefined;
  } {
    const masks = this.shapes.map(({ paths }) => Uint8Array.from(paths, (no) => (shown.has(no) ? 1 : 0)));
    const isWhole = masks.map((mask) => mask.every((one) => one === 1));
    const isPart = this.shapes.some(({ subjects }, no) => subjects > 0 && !isWhole[no]);
    const kept = isPart ? this.keptFor(shown) : undefined;
    const print = (slot: number, out: Int32Array, at: number) => {
      const shape = this.shapeOf[slot] as number;
      let from = this.sums;
      if (kept && !isWhole[shape]) {
        from = kept.bySlot;
        if ((this.setAt[slot] as number) > kept.time) this.print(slot, masks[shape] as Uint8Array, from);
      }
      for (let word = 0; word < PRINT_WORDS; word += 1) out[at + word] = from[PRINT_WORDS * slot + word] as number;
    };
    return { print, kept };
  }

  private print(slot: number, mask: Uint8Array, bySlot: Int32Array): void {
    const values = this.valuesAt(slot);
    const at = PRINT_WORDS * slot;
    bySlot.fill(0, at, at + PRINT_WORDS);
    for (let one = 0; one < mask.length; one += 1) if (mask[one] !== 0) addPrint(bySlot, at, values, PRINT_WORDS * one);
  }

  private keptFor(shown: ReadonlySet<number>): KeptPrints {
    const kept: KeptPrints = this.kept.get(shown) ?? { time: 0, bySlot: new Int32Array(0) };
    if (kept.bySlot.length < this.sums.length) kept.bySlot = longer(kept.bySlot, this.sums.length);
    this.kept.set(shown, kept);
    return kept;
  }

  /** Subjects that have a fact of one of these paths. */
  *idsWith(paths: ReadonlySet<number>): Generator<string> {
    const has = this.shapes.map((shape) => shape.subjects > 0 && shape.paths.some((no) => paths.has(no)));
    if (!has.includes(true)) return;
    for (const [id, slot] of this.ids) if (has[this.shapeOf[slot] as number]) yield id;
  }

  pathOf(no: number): FactPath {
    return this.paths.all[no] as FactPath;
  }

  // What is saved, and used from the disk.

  get saved(): SavedFacts {
    return {
      slots: this.ids.bound,
      paths: this.paths.members,
      shapes: this.shapes.map(({ paths, isWhole }) => [[...paths], [...isWhole]]),
      known: this.paths.all.map(({ no }) => (this.known[no]?.prints.length ?? 0) / PRINT_WORDS),
    };
  }

  *list(list: SavedList): Generator<Uint8Array> {
    const { bound } = this.ids;
    if (list === 'ids') yield* this.ids.bytes();
    if (list === 'shapes') yield bytesOf(this.shapeOf.subarray(0, bound));
    if (list === 'sums') yield bytesOf(this.sums.subarray(0, PRINT_WORDS * bound));
    if (list === 'known') for (const known of this.known) if (known) yield bytesOf(Int32Array.from(known.prints));
    if (list !== 'values') return;
    for (let slot = 0; slot < bound; slot += 1) if (this.ids.has(slot)) yield bytesOf(this.wordsAt(slot));
  }

  /** From now on it is read from there. INVARIANT: its lists are there, of this moment. */
  moved(source: SegmentSource, values: Range): void {
    this.stored = new StoredBlocks(source, values);
    this.memory = new BlockMemory();
    this.places();
  }

  /** Errors: RangeError for lists that do not belong together. */
  static restored(
    key: PrintKey,
    saved: SavedFacts,
    source: SegmentSource,
    ranges: Record<SavedList, Range>,
  ): LastFacts {
    const paths = FactPaths.ofMembers(key, saved.paths);
    const bytes = ({ at, length }: Range) => source.read(at, at + length);
    const words = (list: SavedList) => wordsOf(bytes(ranges[list]));
    const made = new LastFacts(paths);
    const ids = bytes(ranges.ids);
    made.ids = IdTable.restored(Buffer.from(ids.buffer, 0, ids.length), saved.slots, key[0] as number);
    const prints = words('known');
    let at = 0;
    for (const [no, count] of saved.known.entries()) {
      if (count > 0) made.known[no] = new KnownValues([...prints.subarray(at, at + PRINT_WORDS * count)]);
      at += PRINT_WORDS * count;
    }
    for (const [own, isWhole] of saved.shapes) {
      const no = made.shapes.push(made.shapeOfPaths(Uint32Array.from(own), Uint8Array.from(isWhole))) - 1;
      made.shapeNos.set(own.join(' '), no);
    }
    const room = Math.max(1_024, saved.slots);
    made.shapeOf = new Uint32Array(longer(words('shapes'), room).buffer);
    made.sums = longer(words('sums'), PRINT_WORDS * room);
    made.placeOf = new Float64Array(room);
    made.setAt = new Uint32Array(room).fill(made.time);
    made.stored = new StoredBlocks(source, ranges.values);
    const { length } = ranges.values;
    if (BYTES * made.places((shape) => shape.subjects++) !== length) throw new RangeError('other values');
    return made;
  }

  /** Of all subjects in their order on the disk; returns how many words they take there. */
  private places(each?: (shape: Shape) => void): number {
    let place = 0;
    for (let slot = 0; slot < this.ids.bound; slot += 1) {
      if (!this.ids.has(slot)) continue;
      const shape = this.shapeAt(slot);
      each?.(shape);
      this.placeOf[slot] = -1 - place;
      place += shape.words;
    }
    return place;
  }

  private shapeAt(slot: number): Shape {
    const shape = this.shapes[this.shapeOf[slot] as number];
    if (!shape) throw new RangeError('no such shape');
    return shape;
  }

  private wordsAt(slot: number): Int32Array {
    const place = this.placeOf[slot] as number;
    const { words } = this.shapeAt(slot);
    return place >= 0 ? this.memory.read(place, words) : (this.stored as StoredBlocks).read(-1 - place, words);
  }

  private leave(slot: number): void {
    const shape = this.shapeAt(slot);
    shape.subjects -= 1;
    const place = this.placeOf[slot] as number;
    if (place >= 0) this.memory.remove(place, shape.words);
  }

  /** Into `packed`; the number of its shape. A path that has too many values by now makes another one. */
  private pack(paths: Uint32Array, values: Int32Array): number {
    // Most often it has those of the one before it.
    const before = this.shapes[this.lastShape];
    if (before && isEqualList(before.paths, paths) && this.packAs(before, values)) return this.lastShape;
    const key = paths.join(' ');
    let no = this.shapeNos.get(key);
    while (no === undefined || !this.packAs(this.shapes[no] as Shape, values)) {
      no = this.shapes.push(this.newShape(paths)) - 1;
      this.shapeNos.set(key, no);
    }
    this.lastShape = no;
    return no;
  }

  private newShape(paths: Uint32Array): Shape {
    for (const no of paths) this.known[no] ??= new KnownValues();
    return this.shapeOfPaths(
      paths.slice(),
      Uint8Array.from(paths, (no) => (this.known[no]?.isFull ? 1 : 0)),
    );
  }

  private shapeOfPaths(paths: Uint32Array, isWhole: Uint8Array): Shape {
    const wholes = isWhole.reduce((sum, one) => sum + one, 0);
    const words = PRINT_WORDS * wholes + Math.ceil((paths.length - wholes) / 2);
    if (this.packed.length < words) this.packed = new Int32Array(2 * words);
    const unpacked = PRINT_WORDS * paths.length;
    if (this.unpacked.length < unpacked) this.unpacked = new Int32Array(2 * unpacked);
    return { paths, isWhole, wholes, words, subjects: 0 };
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
    const { paths, isWhole, wholes } = this.shapeAt(slot);
    const packed = this.wordsAt(slot);
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
    const { length } = this.shapeOf;
    if (slot < length) return;
    this.shapeOf = longer(this.shapeOf, 2 * length);
    this.placeOf = longer(this.placeOf, 2 * length);
    this.setAt = longer(this.setAt, 2 * length);
    this.sums = longer(this.sums, 2 * PRINT_WORDS * length);
  }
}

function isEqualList(one: Uint32Array, other: Uint32Array): boolean {
  return one.length === other.length && one.every((no, at) => no === other[at]);
}

function wordsOf({ buffer }: Uint8Array): Int32Array<ArrayBuffer> {
  return new Int32Array(buffer as ArrayBuffer);
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
