// store: the secret key of the fingerprints of this database. In: a fresh one. Out: the one that is kept. Whoever writes records cannot read it:
// with it one could make two records whose fingerprints are equal. A copy of the database has it too, and goes on with it.
import type { PrintKey } from '../base/print-bits.ts';
import type { Db, Work } from './queries.ts';

const KEY = 'print_key';
const BYTES = 16;

export function* readPrintKey(db: Db): Work<PrintKey | undefined> {
  const row = yield* db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', KEY);
  const bytes = Buffer.from(row?.value ?? '', 'hex');
  return bytes.length === BYTES ? Int32Array.from([0, 4, 8, 12], (at) => bytes.readInt32LE(at)) : undefined;
}

export function* keepPrintKey(db: Db, fresh: PrintKey): Work<PrintKey> {
  const known = yield* readPrintKey(db);
  if (known) return known;
  const bytes = Buffer.alloc(BYTES);
  for (const [index, word] of fresh.entries()) bytes.writeInt32LE(word, 4 * index);
  yield* db.upsert('meta', { key: KEY, value: bytes.toString('hex') }, 'key');
  return fresh;
}
