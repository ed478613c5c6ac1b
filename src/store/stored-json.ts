// store: documents in columns. In: the text of a column. Out: the value that was written. SQLite does not check the content of its
// pages: a document that the disk has damaged is reported as damage, not as a fault of the reader.
import { AppError } from '../domain/errors.ts';
import type { StoreFaultKind } from '../domain/store-fault.ts';

/** Errors: AppError `store_damaged`. */
export function storedJson<T>(text: unknown): T {
  try {
    return JSON.parse(text as string) as T;
  } catch (error) {
    const message = 'the database is damaged: a value in it is not what was written: restore a backup';
    throw new AppError('store_damaged', message, { cause: error, detail: 'corrupt' satisfies StoreFaultKind });
  }
}
