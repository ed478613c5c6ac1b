// domain: a piece of a list, unparsed. In: nothing. Out: nouns. Whoever parses a piece shows its ends, so that a list that moved while it was
// read is noticed by who fetches the pieces.
import type { Lists } from './lists.ts';

/** A whole page, or elements with commas between them. */
export interface ListPiece {
  source: 'devices';
  lists: Lists;
  form: 'page' | 'elements';
  /** Its place in the list, counted in pieces: about the same records, reading after reading. */
  at: number;
  /** Pages overlap by one record: all but the first repeat the last one of the page before. */
  isFirst: boolean;
  /** Not to be used once the piece was handed to its reader. */
  bytes: Uint8Array<ArrayBuffer>;
}

/** Some records of a piece. */
export interface RecordBatch {
  records: unknown[];
  /** That they were parsed from, perhaps with more of the piece around them. */
  bytes: Uint8Array;
}

export interface PieceRead<T> {
  /** Of its records, also of the repeated one. */
  count: number;
  /** What identifies its first and last record; undefined without records. */
  first: string | undefined;
  last: string | undefined;
  /** The server's count, in a page. */
  total: number | undefined;
  result: T;
}
