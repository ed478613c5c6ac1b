// base: lists of numbers and of bytes that grow, in plain memory. In: numbers, texts. Out: all of them, side by side. Nothing is kept for what has none yet.

/** The same numbers in a list of this length, or as they are when it has it. */
export function longer<T extends Int32Array | Uint32Array | Float64Array>(numbers: T, length: number): T {
  if (numbers.length >= length) return numbers;
  const made = new (numbers.constructor as new (length: number) => T)(length);
  made.set(numbers);
  return made;
}

const FIRST = 1_024;

/** Numbers one by one. */
export class GrowingNumbers<T extends Int32Array | Uint32Array> {
  length = 0;
  private numbers: T;

  constructor(kind: new (length: number) => T) {
    this.numbers = new kind(0);
  }

  push(number: number): void {
    if (this.length === this.numbers.length) this.numbers = longer(this.numbers, Math.max(FIRST, 2 * this.length));
    this.numbers[this.length++] = number;
  }

  /** All of them, until the next is added: it is the first again. */
  taken(): T {
    const all = this.numbers.subarray(0, this.length) as T;
    this.length = 0;
    return all;
  }
}

const FIRST_BYTES = 65_536;
/** A call of the platform for fewer characters takes longer than a loop. */
const SHORT = 32;

/** Bytes one after another, in UTF-8 what is text: many texts that are kept for a while as one block. */
export class GrowingBytes {
  all = Buffer.alloc(0);
  length = 0;

  /** Returns how many bytes it takes. */
  addText(text: string): number {
    const from = this.length;
    // Of UTF-8, a unit has three bytes at most.
    this.makeRoom(3 * text.length);
    this.length += text.length <= SHORT ? this.addShort(text) : this.all.write(text, from);
    return this.length - from;
  }

  /** Returns where they begin. */
  skip(bytes: number): number {
    this.makeRoom(bytes);
    this.length += bytes;
    return this.length - bytes;
  }

  /** All of them, until the next is added: it is the first again. */
  taken(): Buffer {
    const taken = this.all.subarray(0, this.length);
    this.length = 0;
    return taken;
  }

  private addShort(text: string): number {
    const { all, length: from } = this;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit > 0x7f) return all.write(text, from);
      all[from + at] = unit;
    }
    return text.length;
  }

  private makeRoom(bytes: number): void {
    if (this.length + bytes <= this.all.length) return;
    const more = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.all.length, this.length + bytes));
    this.all.copy(more, 0, 0, this.length);
    this.all = more;
  }
}
