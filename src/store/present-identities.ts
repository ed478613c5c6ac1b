// store: the identities that the last trusted list had, with their keyed fingerprints (domain/identity-print.ts). In: rows, then what a reading
// changes of them. Out: numbers of rows, and four numbers for each fingerprint. Fingerprints are never stored: each process makes them of what is.
import { giveWay } from '../domain/give-way.ts';
import type { IdentitySeen, PresentPrints } from '../domain/identity.ts';
import { IdentityPrinter } from '../domain/identity-print.ts';
import { PRINT_WORDS, type PrintKey } from '../domain/print-bits.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { identityOfRow } from './identity-rows.ts';
import type { Db } from './queries.ts';

/** Without and with owners. */
export const IDENTITY_WORDS = 2 * PRINT_WORDS;

export interface PresentIdentities {
  /** In any order. */
  nos: Float64Array;
  /** In the same order, `IDENTITY_WORDS` of each. */
  prints: PresentPrints;
  key: PrintKey;
}

const ROWS_AT_ONCE = 2_000;

/** There may be a million. */
export async function presentIdentities(db: Db, kind: SubjectKind, key: PrintKey): Promise<PresentIdentities> {
  const sql = `SELECT * FROM identities WHERE kind = ? AND gone_at IS NULL AND no > ? ORDER BY no LIMIT ${ROWS_AT_ONCE}`;
  const parts: PresentIdentities[] = [];
  for (let last = 0; ; ) {
    const rows = await db.reading(db.all(sql, kind, last));
    parts.push(printed(new Map(rows.map((row) => [row.no as number, identityOfRow(row)])), key));
    if (rows.length < ROWS_AT_ONCE) return joined(parts, key);
    last = rows.at(-1)?.no as number;
    await giveWay();
  }
}

/** `saved`: new and changed ones, by number. */
export function afterChanges(
  before: PresentIdentities,
  gone: ReadonlySet<number>,
  saved: ReadonlyMap<number, IdentitySeen>,
): PresentIdentities {
  if (gone.size === 0 && saved.size === 0) return before;
  const { key } = before;
  const nos = new Float64Array(before.nos.length);
  const prints = new Int32Array(before.prints.length);
  let count = 0;
  for (const [index, no] of before.nos.entries()) {
    if (gone.has(no) || saved.has(no)) continue;
    const from = IDENTITY_WORDS * index;
    nos[count] = no;
    for (let word = 0; word < IDENTITY_WORDS; word += 1)
      prints[IDENTITY_WORDS * count + word] = before.prints[from + word] as number;
    count += 1;
  }
  const same = { nos: nos.subarray(0, count), prints: prints.subarray(0, IDENTITY_WORDS * count), key };
  return joined([same, printed(saved, key)], key);
}

function printed(identities: ReadonlyMap<number, IdentitySeen>, key: PrintKey): PresentIdentities {
  const printer = new IdentityPrinter(key);
  const nos = Float64Array.from(identities.keys());
  const prints = new Int32Array(IDENTITY_WORDS * nos.length);
  let at = 0;
  for (const identity of identities.values()) {
    printer.prints(identity, prints, at);
    at += IDENTITY_WORDS;
  }
  return { nos, prints, key };
}

function joined(parts: readonly PresentIdentities[], key: PrintKey): PresentIdentities {
  const count = parts.reduce((sum, { nos }) => sum + nos.length, 0);
  const all = { nos: new Float64Array(count), prints: new Int32Array(IDENTITY_WORDS * count), key };
  let at = 0;
  for (const { nos, prints } of parts) {
    all.nos.set(nos, at);
    all.prints.set(prints, IDENTITY_WORDS * at);
    at += nos.length;
  }
  return all;
}
