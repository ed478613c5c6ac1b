// system: new identifiers: 48 bits of time, then 80 random bits, in Crockford's base 32: sortable by time, unique.
import { randomBytes } from 'node:crypto';
import type { Clock, Ids, Random } from '../../domain/ports.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 10;

/** 26 characters. Two made in the same millisecond still ascend, so an order by id is the order of making. */
export function systemIds(clock: Clock): Ids {
  let lastMs = 0;
  let tail = 0n;
  return {
    next: () => {
      const nowMs = clock.nowMs();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        tail = BigInt(`0x${randomBytes(10).toString('hex')}`) >> 1n; // space to count up
      } else {
        tail += 1n;
      }
      return encode(BigInt(lastMs), TIME_CHARS) + encode(tail, 16);
    },
  };
}

export const systemRandom: Random = { next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48 };

function encode(value: bigint, chars: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < chars; index += 1) {
    text = ALPHABET[Number(rest & 31n)] + text;
    rest >>= 5n;
  }
  return text;
}

/** 256 random bits as text. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** 128 random bits as numbers: a key of fingerprints. */
export function newPrintKey(): Int32Array {
  const bytes = randomBytes(16);
  return Int32Array.from([0, 4, 8, 12], (at) => bytes.readInt32LE(at));
}

/** A new token. The prefix identifies it to anybody who finds it where it should not be. */
export function newToken(): string {
  return `tw_${newSecret()}`;
}
