// domain: a long list in little memory. In: items one by one, or packs that another thread has made. Out: the items, in order of their packs;
// the packs. It takes a third of the memory of its items, and a tenth for most items of a long one.
import { deserialize, serialize } from 'node:v8';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** How items become bytes. */
export interface Packing<T> {
  pack(items: readonly T[]): Uint8Array;
  unpack(bytes: Uint8Array): T[];
}

/** Of plain data, whose integers stay exact. */
export const AS_VALUES = { pack: serialize, unpack: deserialize } satisfies Packing<never>;

/** For another thread. */
export interface Packs {
  plain: Uint8Array[];
  deflated: Uint8Array[];
}

const AT_ONCE = 1_000;
/** Fewer are not worth packing. */
const PACKED_MIN = 100;
/** Beyond so many bytes, packs are deflated: it takes as long as reading the records does, and pays only for the memory of large fleets. */
const PLAIN_BYTES_MAX = 30_000_000;

export class PackedList<T> implements Iterable<T> {
  private plain: Uint8Array[] = [];
  private plainBytes = 0;
  private deflated: Uint8Array[] = [];
  private last: T[] = [];

  constructor(private readonly packing: Packing<T>) {}

  static ofPacks<T>(packing: Packing<T>, { plain, deflated }: Packs): PackedList<T> {
    const list = new PackedList<T>(packing);
    list.plain = plain;
    list.deflated = deflated;
    return list;
  }

  packs(): Packs {
    this.pack();
    return { plain: this.plain, deflated: this.deflated };
  }

  add(item: T): void {
    this.last.push(item);
    if (this.last.length >= AT_ONCE) this.pack();
  }

  addPart(part: readonly T[] | Uint8Array): void {
    if (part instanceof Uint8Array) {
      this.pack();
      this.keep(part);
    } else for (const item of part) this.add(item);
  }

  private pack(): void {
    if (this.last.length > 0) this.keep(this.packing.pack(this.last));
    this.last = [];
  }

  private keep(pack: Uint8Array): void {
    this.plainBytes += pack.length;
    if (this.plainBytes <= PLAIN_BYTES_MAX) this.plain.push(pack);
    else this.deflated.push(deflateRawSync(pack, { level: 1 }));
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const pack of this.plain) yield* this.packing.unpack(pack);
    for (const pack of this.deflated) yield* this.packing.unpack(inflateRawSync(pack));
    yield* this.last;
  }
}

/** Items of a part, ready for another thread. */
export function partOf<T>(items: T[], packing: Packing<T>): T[] | Uint8Array {
  return items.length < PACKED_MIN ? items : packing.pack(items);
}
