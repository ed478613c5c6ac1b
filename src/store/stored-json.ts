// store: documents in columns. In: the text of a column. Out: the value that it was written from. SQLite does not check what is
// inside its pages: a document that a disk has damaged is told as damage, not as a fault of whoever reads it.
import { AppError } from '../domain/errors.ts';
import type { StoreFaultKind } from '../domain/store-fault.ts';

/** Errors: AppError `store_damaged`. */
export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T;
  } catch (error) {
    const told = 'the database is damaged: a value in it is not what was written: restore a backup';
    throw new AppError('store_damaged', told, { cause: error, detail: 'corrupt' satisfies StoreFaultKind });
  }
}
