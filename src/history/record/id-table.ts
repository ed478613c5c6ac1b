// history/record: many ids in little memory: their bytes in a few long lists, and one number for each. In: ids, which are hostile. Out: their
// numbers, each free again when its id is removed. A map of a million ids takes twice the memory, in the heap of the thread.
import { textHash } from '../../base/text.ts';

const SLAB = 1_048_576;
/** Before the bytes of an id: twice their number, and whether they are of two bytes a unit. */
const HEAD = 4;
/** Instead of that, and of where they are: the number is free. */
const [FREE_HEAD, FREE] = [0xffff_ffff, -1];
/** In a place of the table: nothing was ever there; what was there is removed. */
const [EMPTY, REMOVED] = [-1, -2];

export class IdTable {
  private readonly slabs: Buffer[] = [];
  private end = SLAB;
  /** By number: where its bytes are. */
  private starts = new Float64Array(1_024).fill(FREE);
  private numbers = 0;
  private readonly free: number[] = [];
  private table = new Int32Array(2_048).fill(EMPTY);
  /** Places of the table that are not empty. */
  private taken = 0;

  /** `seed`: secret, so that nobody makes ids whose places are all the same. */
  constructor(private readonly seed: number) {}

  get size(): number {
    return this.numbers - this.free.length;
  }

  /** One more than the highest number that was ever given. */
  get bound(): number {
    return this.numbers;
  }

  /** Undefined: it has none. */
  of(id: string): number | undefined {
    const no = this.table[this.placeOf(id)] as number;
    return no < 0 ? undefined : no;
  }

  /** INVARIANT: it is not there. */
  add(id: string): number {
    const no = this.free.pop() ?? this.numbers++;
    if (no >= this.starts.length) {
      const starts = new Float64Array(2 * this.starts.length).fill(FREE);
      starts.set(this.starts);
      this.starts = starts;
    }
    this.starts[no] = this.keep(id);
    if (2 * (this.taken + 1) > this.table.length) this.grow();
    else this.enter(id, no);
    return no;
  }

  remove(id: string): void {
    const place = this.placeOf(id);
    const no = this.table[place] as number;
    if (no < 0) return;
    this.table[place] = REMOVED;
    this.starts[no] = FREE;
    this.free.push(no);
  }

  has(no: number): boolean {
    return this.starts[no] !== FREE;
  }

  text(no: number): string {
    const { slab, at } = this.at(no);
    const head = slab.readUInt32LE(at);
    return slab.toString((head & 1) === 1 ? 'utf16le' : 'latin1', at + HEAD, at + HEAD + (head >>> 1));
  }

  *[Symbol.iterator](): Generator<[string, number]> {
    for (let no = 0; no < this.numbers; no += 1) if (this.has(no)) yield [this.text(no), no];
  }

  /** All of it, for `restored`. */
  *bytes(): Generator<Uint8Array> {
    const none = Buffer.alloc(HEAD, 0xff);
    for (let no = 0; no < this.numbers; no += 1) {
      if (!this.has(no)) yield none;
      else {
        const { slab, at } = this.at(no);
        yield slab.subarray(at, at + HEAD + (slab.readUInt32LE(at) >>> 1));
      }
    }
  }

  /** Errors: RangeError for bytes that end within an id. */
  static restored(bytes: Buffer, count: number, seed: number): IdTable {
    const made = new IdTable(seed);
    made.slabs.push(bytes);
    // What is added goes to slabs of its own, behind this one: a place is a slab and where in it.
    made.starts = new Float64Array(Math.max(1_024, count)).fill(FREE);
    made.numbers = count;
    for (let no = 0, at = 0; no < count; no += 1) {
      const head = bytes.readUInt32LE(at);
      if (head === FREE_HEAD) made.free.push(no);
      else made.starts[no] = at;
      at += HEAD + (head === FREE_HEAD ? 0 : head >>> 1);
      if (at > bytes.length) throw new RangeError('an id ends too early');
    }
    made.grow();
    return made;
  }

  private keep(id: string): number {
    const isWide = !isLatin(id);
    const length = (isWide ? 2 : 1) * id.length;
    if (this.end + HEAD + length > SLAB) {
      // An id that is longer than a slab has one of its own.
      this.slabs.push(Buffer.allocUnsafeSlow(Math.max(SLAB, HEAD + length)));
      this.end = 0;
    }
    const slab = this.slabs.at(-1) as Buffer;
    const { end } = this;
    slab.writeUInt32LE(2 * length + (isWide ? 1 : 0), end);
    slab.write(id, end + HEAD, isWide ? 'utf16le' : 'latin1');
    this.end += HEAD + length;
    return (this.slabs.length - 1) * PER_SLAB + end;
  }

  private at(no: number): { slab: Buffer; at: number } {
    const start = this.starts[no] as number;
    const at = start % PER_SLAB;
    return { slab: this.slabs[(start - at) / PER_SLAB] as Buffer, at };
  }

  /** Where it is, or where it is to be entered. */
  private placeOf(id: string): number {
    const mask = this.table.length - 1;
    let first = -1;
    for (let place = textHash(id, this.seed) & mask; ; place = (place + 1) & mask) {
      const no = this.table[place] as number;
      if (no === EMPTY) return first === -1 ? place : first;
      if (no === REMOVED) first = first === -1 ? place : first;
      else if (this.is(no, id)) return place;
    }
  }

  private is(no: number, id: string): boolean {
    const { slab, at } = this.at(no);
    const head = slab.readUInt32LE(at);
    if ((head & 1) === 1) return this.text(no) === id;
    if (head >>> 1 !== id.length) return false;
    for (let unit = 0; unit < id.length; unit += 1) if (slab[at + HEAD + unit] !== id.charCodeAt(unit)) return false;
    return true;
  }

  private enter(id: string, no: number): void {
    const place = this.placeOf(id);
    if (this.table[place] === EMPTY) this.taken += 1;
    this.table[place] = no;
  }

  private grow(): void {
    this.table = new Int32Array(2 ** Math.ceil(Math.log2(4 * this.size + 2_048))).fill(EMPTY);
    this.taken = 0;
    for (const [id, no] of this) this.enter(id, no);
  }
}

/** Beyond the length of any slab. */
const PER_SLAB = 2 ** 32;

function isLatin(id: string): boolean {
  for (let at = 0; at < id.length; at += 1) if (id.charCodeAt(at) > 0xff) return false;
  return true;
}
