// domain: what reading and judging one part of a list gives: small and of plain memory, so that another thread can pass it on. In: nothing.
// Out: nouns. Parts are merged in the order of their records, so that the result is that of one pass over all of them.
import type { Facts } from './facts.ts';
import type { IdentitySeen } from './identity.ts';
import type { JudgementPart } from './verdict.ts';

/** Keys that are UUIDs in their usual writing, as four numbers each, and all others. */
export interface KeyPart {
  ids: Uint32Array;
  others: string[];
}

/** Rows of the fleet index: see fleet-rows.ts. */
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
export type IdentityPart = IdentitySeen[] | Uint8Array;

/** Records that were not recorded as they are: as they are, or as bytes of `node:v8`. */
export type ChangedPart = Facts[] | Uint8Array;

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
  /** Undefined: nothing is recorded. */
  changed: ChangedPart | undefined;
  sight: SightPart;
  judged: JudgementPart;
  /** Records with a verdict whose flip may be wanted, in order. */
  wanted: Facts[];
}
