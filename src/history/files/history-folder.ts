// history files: what a reader is given. In: nothing. Out: the form.
import type { NewRunDecoder } from '../run-decoder.ts';
import type { RunBeside } from './beside.ts';

export interface HistoryFolder {
  folder: string;
  /** What the records must be of; undefined: the same as the newest of them. */
  address: string | undefined;
  newDecoder: NewRunDecoder;
  /** The newest run of the database that is over; absent: nobody knows it. Runs after the newest one of the record are a gap. */
  newestRun?: (() => Promise<RunBeside | undefined>) | undefined;
}
