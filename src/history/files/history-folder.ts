// history files: what a reader is given. In: nothing. Out: the form.
import type { NewRunDecoder } from '../run-decoder.ts';

export interface HistoryFolder {
  folder: string;
  /** What the records must be of; undefined: the same as the newest of them. */
  address: string | undefined;
  newDecoder: NewRunDecoder;
}
