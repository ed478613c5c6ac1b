// management client: the bytes of a JSON document as text of one byte per character, which parses in half the time. In:
// UTF-8, hostile. Out: equivalent JSON text, with every character beyond ASCII as `\uXXXX`. It must never make valid
// JSON of invalid JSON: an escape of a character beyond ASCII therefore stays unchanged.
import { isAscii } from 'node:buffer';

/** A block is mostly all ASCII, which is checked faster than byte by byte. */
const BLOCK = 1_024;
const BEYOND_ASCII = /[\x80-\xff]+/g;
const ESCAPED_BEYOND_ASCII = /\\[\x80-\xff]/;

/** Like `bytes.toString('utf8')` for a parser: a broken sequence of bytes is U+FFFD. */
export function jsonTextOf(bytes: Buffer): string {
  let text = '';
  let done = 0;
  for (let at = 0; at < bytes.length; ) {
    let end = Math.min(at + BLOCK, bytes.length);
    if (!isAscii(bytes.subarray(at, end))) {
      while (end < bytes.length && (bytes[end] as number) >= 0x80) end++; // no sequence is cut in two
      // With the byte before, which may be the backslash of an escape.
      const from = Math.max(done, at - 1);
      const block = bytes.toString('latin1', from, end);
      if (ESCAPED_BEYOND_ASCII.test(block)) return bytes.toString('utf8');
      text += bytes.toString('latin1', done, from) + block.replace(BEYOND_ASCII, escapeAll);
      done = end;
    }
    at = end;
  }
  return text + bytes.toString('latin1', done, bytes.length);
}

function escapeAll(latin1: string): string {
  const characters = Buffer.from(latin1, 'latin1').toString('utf8');
  let escaped = '';
  for (let index = 0; index < characters.length; index++) {
    escaped += `\\u${characters.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}

/** White space between the tokens of JSON. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
