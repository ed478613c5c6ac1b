// base: a long list in little memory. In: items one by one, or packs that another thread has made. Out: the items, in order of their packs;
// the packs. It takes a third of the memory of its items, and a tenth for most items of a long one.
import { deserialize, serialize } from 'node:v8';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** How items become bytes. */
export interface Packing<T> {
  pack(items: readonly T[]): Uint8Array;
  unpack(bytes: Uint8Array): Iterable<T>;
}

/** Whoever reads a pack has so many of its items at once: they are gone before the collector looks. */
const UNPACKED_AT_ONCE = 32;
const LENGTH_BYTES = 4;

/** Of plain data, whose integers stay exact: groups of items, the length of each before it. */
export const AS_VALUES = {
  pack(items: readonly unknown[]): Uint8Array {
    const groups: Buffer[] = [];
    for (let at = 0; at < items.length; at += UNPACKED_AT_ONCE) {
      const group = serialize(items.slice(at, at + UNPACKED_AT_ONCE));
      const length = Buffer.allocUnsafe(LENGTH_BYTES);
      length.writeUInt32LE(group.length);
      groups.push(length, group);
    }
    const size = groups.reduce((sum, { length }) => sum + length, 0);
    const packed = Buffer.allocUnsafeSlow(size);
    let end = 0;
    for (const group of groups) end += group.copy(packed, end);
    return packed;
  },
  *unpack<T>(bytes: Uint8Array): Generator<T> {
    const packed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < packed.length; ) {
      const from = at + LENGTH_BYTES;
      at = from + packed.readUInt32LE(at);
      yield* deserialize(packed.subarray(from, at)) as T[];
    }
  },
};

/** For another thread. */
export interface Pack {
  bytes: Uint8Array;
  isDeflated: boolean;
}

export const PACKED_AT_ONCE = 1_000;
/** Fewer are not worth packing. */
const PACKED_MIN = 100;
/** Beyond so many bytes, packs are deflated: it takes as long as reading the records does, and pays only for the memory of large fleets. */
const PLAIN_BYTES_MAX = 4_000_000;
/** Deflated packs lie in few long buffers: between the large ones that are freed meanwhile, they would leave holes. */
const SLAB_BYTES = 4_000_000;

/** Packs in their order: small fleets' as they are, and of large ones most of them deflated. */
export class PackList implements Iterable<Uint8Array> {
  private kept: Pack[] = [];
  private plainBytes = 0;
  private slab = new Uint8Array(0);
  private slabEnd = 0;

  static of(packs: readonly Pack[]): PackList {
    const list = new PackList();
    list.kept = [...packs];
    return list;
  }

  get packs(): readonly Pack[] {
    return this.kept;
  }

  keep(pack: Uint8Array): void {
    const isDeflated = this.plainBytes + pack.length > PLAIN_BYTES_MAX;
    if (!isDeflated) this.plainBytes += pack.length;
    this.kept.push({ bytes: isDeflated ? this.inSlab(deflateRawSync(pack, { level: 1 })) : pack, isDeflated });
  }

  /** It is whole. */
  finish(): void {}

  private inSlab(pack: Uint8Array): Uint8Array {
    if (this.slabEnd + pack.length > this.slab.length) {
      this.slab = new Uint8Array(Math.max(SLAB_BYTES, pack.length));
      this.slabEnd = 0;
    }
    const kept = this.slab.subarray(this.slabEnd, this.slabEnd + pack.length);
    kept.set(pack);
    this.slabEnd += pack.length;
    return kept;
  }

  /** Its first pack, which it has no longer; undefined: none is there. */
  protected shift(): Pack | undefined {
    const pack = this.kept.shift();
    if (pack && !pack.isDeflated) this.plainBytes -= pack.bytes.length;
    return pack;
  }

  /** For the last time: each pack goes when it is read. */
  *drained(): Generator<Uint8Array> {
    for (let pack = this.shift(); pack; pack = this.shift()) yield plain(pack);
  }

  *[Symbol.iterator](): Iterator<Uint8Array> {
    for (const pack of this.kept) yield plain(pack);
  }
}

function plain({ bytes, isDeflated }: Pack): Uint8Array {
  return isDeflated ? inflateRawSync(bytes) : bytes;
}

export class PackedList<T> implements Iterable<T> {
  private readonly packs = new PackList();
  private last: T[] = [];

  constructor(private readonly packing: Packing<T>) {}

  add(item: T): void {
    this.last.push(item);
    if (this.last.length >= PACKED_AT_ONCE) this.pack();
  }

  addPart(part: readonly T[] | Uint8Array): void {
    if (part instanceof Uint8Array) {
      this.pack();
      this.packs.keep(part);
    } else for (const item of part) this.add(item);
  }

  private pack(): void {
    if (this.last.length > 0) this.packs.keep(this.packing.pack(this.last));
    this.last = [];
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const pack of this.packs) yield* this.packing.unpack(pack);
    yield* this.last;
  }
}

/** What packs lie in, and nothing else does: it can be handed over instead of copied. */
export function buffersOf(packs: readonly Pack[]): ArrayBuffer[] {
  const buffers = packs.flatMap(({ bytes, isDeflated }) =>
    isDeflated || bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer as ArrayBuffer] : [],
  );
  return [...new Set(buffers)];
}

/** Items of a part, ready for another thread. */
export function partOf<T>(items: T[], packing: Packing<T>): T[] | Uint8Array {
  return items.length < PACKED_MIN ? items : packing.pack(items);
}
