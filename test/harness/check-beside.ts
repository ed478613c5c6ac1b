// harness: judges requests after somebody did something to the database beside the engine: rows were edited, an entry was appended, or its
// file was replaced. In: a writing request, and what was done. Out: violations.
import type { Checker, Operation, ViolationKind } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';

export interface Intrusion {
  kind: Extract<ViolationKind, 'on_edited' | 'on_replaced'>;
  /** The table whose rows are not those of the record; `audit` for an appended entry. */
  table: string;
  /** The last audit entry before it. */
  seq: number;
  atMs: number;
  /** An operation that had compared the tables with the record before it: it goes on to its end. */
  compared: Operation | undefined;
}

/** Nothing is called any more; what was committed as sent before it may arrive after it. */
export function checkBeside(checker: Checker, request: PlatformRequest, { sentSeq }: IntentLife): void {
  const { intrusion, operation } = checker;
  if (!intrusion || sentSeq <= intrusion.seq) return;
  if (intrusion.compared !== undefined && intrusion.compared === operation) return;
  const { kind, table, atMs } = intrusion;
  checker.report(kind, `${request.verb} ${request.target}: \`${table}\` was changed ${request.atMs - atMs} ms before`);
}

/** The operation under way, if it has made its first call, and with it its comparison. An audit entry is compared at every commit. */
export function comparedBy({ operation, ledger }: Checker, table: string): Operation | undefined {
  if (!operation || table === 'audit') return undefined;
  const isOfIt = (sentMs: number) => sentMs >= operation.startMs;
  return [...ledger.intents.values()].some(({ sent }) => sent.some(isOfIt)) ? operation : undefined;
}
