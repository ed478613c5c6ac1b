// store: many rows, a few at a time, so that a large run's report leaves others their turn. In: ids in order, each with the
// bytes of its row, if they are known. Out: the rows in the same order; one that was removed meanwhile is missing.
import { giveWay } from '../domain/give-way.ts';

const ROWS_MAX = 200;
const BYTES_MAX = 1_048_576;

export async function readInTurns<T>(
  found: readonly { id: string; bytes?: number }[],
  read: (ids: readonly string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let at = 0; at < found.length; ) {
    const ids: string[] = [];
    for (let bytes = 0; at < found.length && ids.length < ROWS_MAX && bytes < BYTES_MAX; at += 1) {
      const { id, bytes: size = 0 } = found[at] as { id: string; bytes?: number };
      ids.push(id);
      bytes += size;
    }
    for (const row of await read(ids)) rows.push(row);
    if (at < found.length) await giveWay();
  }
  return rows;
}
