// support: the key of fingerprints in tests, always the same one. In: nothing. Out: a key, and fingerprints as lists of their own.

import { PRINT_WORDS, type PrintKey } from '../../src/base/print-bits.ts';
import { FactPaths } from '../../src/domain/fact-prints.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { ListedIdentity } from '../../src/domain/identity.ts';
import { IdentityPrinter } from '../../src/domain/identity-print.ts';
import type { SubjectKind } from '../../src/domain/subjects.ts';

/** The one of the published test vectors. */
export const PRINT_KEY: PrintKey = Int32Array.of(0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39);

export function printOfFacts(record: Facts, paths = new FactPaths(PRINT_KEY)): Int32Array {
  const print = new Int32Array(PRINT_WORDS);
  paths.print(record, print, 0);
  return print;
}

export function identityOfRecord(kind: SubjectKind, record: Facts): Int32Array {
  const print = new Int32Array(PRINT_WORDS);
  new IdentityPrinter(PRINT_KEY).printOfRecord(kind, record, print, 0);
  return print;
}

/** Without and with owners. */
/** One text for each identity, in an order of their own: stores give them in any. */
export function sortedPrints(prints: Int32Array): string[] {
  const words = 2 * PRINT_WORDS;
  return Array.from({ length: prints.length / words }, (_, at) =>
    prints.slice(words * at, words * (at + 1)).join(),
  ).sort();
}

export function identityPrints(seen: ListedIdentity): Int32Array {
  const prints = new Int32Array(2 * PRINT_WORDS);
  new IdentityPrinter(PRINT_KEY).prints(seen, prints, 0);
  return prints;
}
