// history files: texts as a segment stores them, each after its length. In: bytes of pages. Out: a text when it is asked for: a segment has a million
// values, and most readers want a few of them. Never: all of them as strings at once, unless somebody asks.

interface Page {
  bytes: Buffer;
  /** Where the length of each text stands. */
  starts: Int32Array;
  /** The number of its first text. */
  base: number;
}

const LENGTH_BYTES = 4;

export class StoredTexts {
  length = 0;
  readonly #pages: Page[] = [];

  /** Errors: RangeError when the bytes end before `count` texts. */
  add(page: Uint8Array, count: number): void {
    const bytes = Buffer.from(page.buffer, page.byteOffset, page.byteLength);
    const starts = new Int32Array(count);
    let at = 0;
    for (let index = 0; index < count; index++) {
      starts[index] = at;
      at += LENGTH_BYTES + bytes.readUInt32LE(at);
    }
    if (at > bytes.length) throw new RangeError('a page ends within a text');
    this.#pages.push({ bytes, starts, base: this.length });
    this.length += count;
  }

  at(code: number): string {
    const { bytes, starts, base } = this.#pageOf(code);
    const start = starts[code - base] as number;
    return bytes.toString('utf8', start + LENGTH_BYTES, start + LENGTH_BYTES + bytes.readUInt32LE(start));
  }

  all(): string[] {
    return Array.from({ length: this.length }, (_, code) => this.at(code));
  }

  #pageOf(code: number): Page {
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#pages[middle] as Page).base <= code) low = middle;
      else high = middle - 1;
    }
    return this.#pages[low] as Page;
  }
}
