// domain: reading and judging parts of a large list in other threads, as a run asks for it. In: the rules with what judging needs beside
// the records. Out: a reader of pieces. A failed thread is an error of its pieces, never a missing record.
import type { TrustEvent } from './event.ts';
import type { ListPiece, PieceRead } from './list-piece.ts';
import type { DecidedVerdicts } from './new-verdicts.ts';
import type { PrintKey } from './print-bits.ts';
import type { RecordPart } from './record-part.ts';
import type { SharedPrints } from './seen-prints.ts';
import type { Evaluator, JudgeContext } from './verdict.ts';

/** What is the same for all parts of a pass, as plain data. */
export interface PassSetup extends Pick<JudgeContext, 'nowMs' | 'joins' | 'coverage' | 'unavailable'> {
  source: 'devices';
  fieldsWritten: readonly string[];
  /** By subject id: rules with an open episode or claim. */
  watched: ReadonlyMap<string, ReadonlySet<string>>;
  decided: DecidedVerdicts;
  /** Shared: 1 in its only place as long as records are wanted whose verdict is new. */
  flipsLeft: Uint8Array;
  /** Shared: by rule, 1 as long as subjects in doubt are wanted as examples. */
  isExampleWanted: Uint8Array;
  /** Shared: of identities. */
  prints: SharedPrints;
  /** A report with a later time is none. */
  latestMs: number;
  /** Shared: of records as they were recorded; undefined: nothing is recorded. */
  recordPrints: SharedPrints | undefined;
  /** Of both. */
  printKey: PrintKey;
}

export interface PartReaders {
  /** A smaller list is read in the main thread: passing it on would cost more. */
  readonly recordsMin: number;
  /**
   * Begins a pass; no other one is under way. `events`: all that the windows of this evaluator hold. Undefined when this evaluator
   * cannot be followed in other threads. Errors of the reader: AppError `api_answer` of a piece, `internal` of a thread.
   */
  begin(
    evaluator: Evaluator,
    events: () => AsyncIterable<TrustEvent[]>,
    setup: PassSetup,
  ): Promise<((piece: ListPiece) => Promise<PieceRead<RecordPart>>) | undefined>;
  close(): Promise<void>;
}
