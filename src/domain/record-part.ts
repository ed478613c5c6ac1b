// domain: what reading and judging one part of a list gives: small and of plain memory, so that another thread can pass it on. In: nothing.
// Out: nouns. Parts are merged in the order of their records, so that the result is that of one pass over all of them.

import type { PrintKey } from '../base/print-bits.ts';
import type { TrustEvent } from './event.ts';
import type { Facts } from './facts.ts';
import type { ListedIdentity } from './identity.ts';
import type { ListPiece, PieceRead } from './lists.ts';
import type { SharedPrints } from './recorded-history.ts';
import type { Evaluator, JudgeContext, JudgementPart } from './verdict.ts';

/** Keys that are UUIDs in their usual writing, as four numbers each, and all others. */
export interface KeyPart {
  ids: Uint32Array;
  others: string[];
}

/** Rows of the fleet index: see engine/pull/fleet-index.ts. */
export interface FleetPart {
  /** Four numbers for each row's id, or undefined: then it is in the row. */
  ids: Uint32Array | undefined;
  rows: Uint8Array;
  /** Where each row begins, and where the last one ends. */
  starts: Uint32Array;
  serialHashes: Uint32Array;
  /** By row: which of `kinds`. */
  kindOf: Uint32Array;
  /** What rows have in common: platform, model, whether owners are known, and the fields that actions write. */
  kinds: (string | undefined)[][];
  isJson: boolean;
}

/** New and changed identities: as they are, or as bytes of JSON. */
export type IdentityPart = ListedIdentity[] | Uint8Array;

/** What a part shows of whether its source moves; 0: no record has a time. */
export interface SightPart {
  /** Four numbers. */
  sum: Int32Array;
  newestMs: number;
}

export interface RecordPart {
  /** Records, also unreadable ones. */
  seen: number;
  /** `overlong`: of the count, those with a name that is too long. */
  unreadable: { count: number; overlong: number; examples: { at: number; reason: string }[] };
  keys: KeyPart;
  fleet: FleetPart;
  identities: IdentityPart;
  /** Records that were not recorded as they are, as domain/fact-packs.ts packs them; undefined: there are none, or nothing is recorded. */
  changed: Uint8Array | undefined;
  sight: SightPart;
  judged: JudgementPart;
  /** Records with a verdict whose flip may be wanted, in order. */
  wanted: Facts[];
}

type SubjectsByRule = ReadonlyMap<string, ReadonlySet<string>>;

export interface DecidedVerdicts {
  /** Decisions in force, by verdict. */
  match: SubjectsByRule;
  no_match: SubjectsByRule;
  /** Where `no_match` leads to a decision: an open claim may be undone. */
  due: SubjectsByRule;
}

export function isNewVerdict(
  decided: DecidedVerdicts,
  rule: string,
  subjectId: string,
  verdict: 'match' | 'no_match',
): boolean {
  if (decided[verdict].get(rule)?.has(subjectId)) return false;
  return verdict === 'match' || (decided.due.get(rule)?.has(subjectId) ?? false);
}

// Reading and judging parts of a large list in other threads, as a run asks for it.

/** What is the same for all parts of a pass, as plain data. */
export interface PassSetup extends Pick<JudgeContext, 'nowMs' | 'joins' | 'given' | 'coverage' | 'unavailable'> {
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
  /** A pass will begin soon. */
  prepare(): void;
  /** The last pass of a run is over. `isFirst`: all that it read is new, so that much memory is needed to keep it. */
  rest(isFirst: boolean): Promise<void>;
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
