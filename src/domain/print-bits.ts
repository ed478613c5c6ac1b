// domain: the arithmetic of fingerprints: 64 bits that depend on every text and number that was mixed in (cyrb53, two characters a step). In: a
// beginning, texts and numbers in order. Out: two times 32 bits. It runs for every value of a fleet, so the state is two variables of the module:
// INVARIANT: whoever begins finishes before anybody else begins.

export const SEED_A = 0xdeadbeef | 0;
export const SEED_B = 0x41c6ce57;
let a = 0;
let b = 0;

/** Of the print that was finished last. */
export let resultA = 0;
export let resultB = 0;

export function begin(seedA: number = SEED_A, seedB: number = SEED_B): void {
  a = seedA;
  b = seedB;
}

export function mix(text: string): void {
  let [c, d] = [a, b];
  const { length } = text;
  for (let at = 1; at < length; at += 2) {
    const units = text.charCodeAt(at - 1) | (text.charCodeAt(at) << 16);
    c = Math.imul(c ^ units, 2_654_435_761);
    d = Math.imul(d ^ units, 1_597_334_677);
  }
  const rest = length % 2 === 1 ? text.charCodeAt(length - 1) : 0;
  a = Math.imul(c ^ rest, 2_654_435_761) ^ length;
  b = Math.imul(d ^ rest, 1_597_334_677) ^ length;
}

export function mixNumbers(first: number, second: number): void {
  a = Math.imul(Math.imul(a ^ first, 2_654_435_761) ^ second, 2_246_822_507);
  b = Math.imul(Math.imul(b ^ second, 1_597_334_677) ^ first, 3_266_489_909);
  b ^= b >>> 15;
}

/** What kind of value follows. */
export function mixKind(kind: number): void {
  a ^= kind;
}

/** 32 bits that stand for a text which was mixed by itself. */
export function mixPrint(print: number): void {
  a ^= print;
  b = (b + print) | 0;
}

export function finish(): void {
  resultA = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  resultB = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
}

/** 32 bits of one text, in the middle of another print, which goes on afterwards. */
export function printOfText(text: string): number {
  const [c, d] = [a, b];
  begin();
  mix(text);
  finish();
  [a, b] = [c, d];
  return resultA;
}

/** 53 bits whose second half rests on the first: stored identities have them, so it never changes. */
export function finishStored(): number {
  const c = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  const d = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(c ^ (c >>> 13), 3_266_489_909);
  return printOf(c, d);
}

/** 53 bits of two sums of 32 bits. */
export function printOf(sumA: number, sumB: number): number {
  return 4_294_967_296 * (sumB & 0x1fffff) + (sumA >>> 0);
}
