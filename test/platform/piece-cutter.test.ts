// management client: where one JSON array that comes as bytes is cut into pieces.
import { describe, expect, it } from 'vitest';
import { PieceCutter } from '../../src/platform/client/caller.ts';

const records = Array.from({ length: 30_000 }, (_, at) => ({ DeviceID: `d${at}`, Note: 'x'.repeat(at % 90) }));
const whole = Buffer.from(JSON.stringify(records));

/** The pieces of the list, cut anywhere. */
function piecesOf(chunks: Iterable<Buffer>): Buffer[] {
  const cutter = new PieceCutter(1_000_000);
  const pieces: Buffer[] = [];
  for (const chunk of chunks) {
    const piece = cutter.push(chunk);
    if (piece) pieces.push(piece);
  }
  const last = cutter.end();
  return last ? [...pieces, last] : pieces;
}

function* ofSize(size: number): Iterable<Buffer> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

function* elementByElement(): Iterable<Buffer> {
  for (const [at, record] of records.entries()) yield Buffer.from(`${at === 0 ? '[' : ','}${JSON.stringify(record)}`);
  yield Buffer.from(']');
}

describe('a list in pieces', () => {
  it.each([
    ['1 byte', () => ofSize(1)],
    ['7 bytes', () => ofSize(7)],
    ['60 bytes', () => ofSize(60)],
    ['64 KiB', () => ofSize(65_536)],
    ['one element', elementByElement],
  ])('has every record once, in pieces of half a megabyte, when it comes in chunks of %s', (_, chunks) => {
    const pieces = piecesOf(chunks());
    expect(pieces.flatMap((piece) => JSON.parse(`[${piece}]`))).toEqual(records);
    expect(pieces.length).toBe(Math.ceil(whole.length / 2 ** 19));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 ** 19 + 2 * 65_536);
  });
});
