// history files: the codes of one data page, as Parquet packs them: runs of one code, and groups of eight codes bit by bit. In: bytes, a width in
// bits. Out: codes in an array that the caller has. A month has hundreds of pages of 100,000 codes, so no array is made of them on the way.

/** What is held of codes that are not complete fits into 32 bits. A group of a segment has at most a million codes, of 20 bits. */
const WIDTH_MAX = 24;

/** Fills all of `codes`. Errors: RangeError for bytes that end too early, or are no codes. */
export function unpackCodes(bytes: Uint8Array, width: number, codes: Int32Array | Uint8Array): void {
  if (width > WIDTH_MAX) throw new RangeError(`codes have ${width} bits`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeBytes = (width + 7) >>> 3;
  let at = 0;
  for (let filled = 0; filled < codes.length; ) {
    let header = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = view.getUint8(at++);
      header |= (byte & 0x7f) << shift;
      more = byte >= 0x80;
    }
    if ((header & 1) === 1) {
      const count = (header >>> 1) * 8;
      // The last group may be filled up with codes that belong to nothing.
      const wanted = Math.min(count, codes.length - filled);
      unpackBits(view, at, width, codes.subarray(filled, filled + wanted));
      at += (header >>> 1) * width;
      filled += count;
    } else {
      let code = 0;
      for (let byte = 0; byte < wholeBytes; byte++) code |= view.getUint8(at++) << (byte * 8);
      const end = Math.min(filled + (header >>> 1), codes.length);
      // A run of none would have it read on for ever.
      if (end === filled) throw new RangeError('a run of codes is empty');
      codes.fill(code, filled, end);
      filled = end;
    }
  }
}

/** The lowest bits come first. */
function unpackBits(view: DataView, from: number, width: number, codes: Int32Array | Uint8Array): void {
  const mask = 2 ** width - 1;
  let at = from;
  let held = 0;
  let bits = 0;
  for (let index = 0; index < codes.length; index++) {
    while (bits < width) {
      held |= view.getUint8(at++) << bits;
      bits += 8;
    }
    codes[index] = held & mask;
    held >>>= width;
    bits -= width;
  }
}
