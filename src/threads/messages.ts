// threads: what the main thread and a reading thread write to each other. In: nothing. Out: the forms of messages; all plain data.
import type { TrustEvent } from '../domain/event.ts';
import type { ListPiece, PieceRead } from '../domain/list-piece.ts';
import type { PassSetup } from '../domain/part-readers.ts';
import type { RecordPart } from '../domain/record-part.ts';
import type { PortableRules } from '../domain/verdict.ts';

/** `plain`: everything that is not shared, serialized once for all threads. */
export interface SentSetup extends Pick<PassSetup, 'flipsLeft' | 'isExampleWanted' | 'prints' | 'recordPrints'> {
  plain: Uint8Array;
}

export type ToThread =
  /** From now on this rule set is known by a number; the oldest of more than two is forgotten. */
  | { kind: 'rules'; evaluator: number; rules: PortableRules }
  | { kind: 'events'; evaluator: number; events: readonly TrustEvent[] }
  /** Ends the pass before. */
  | { kind: 'pass'; evaluator: number; setup: SentSetup }
  | { kind: 'piece'; number: number; piece: ListPiece };

export type FromThread =
  | { kind: 'read'; number: number; read: PieceRead<RecordPart> }
  | { kind: 'failed'; number: number; words: string };
