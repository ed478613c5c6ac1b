// audit: an operator chooses to go on with tables that somebody changed beside the engine. In: the store, who and why. Out: what was
// accepted. Nothing of it goes on by itself: waiting plans expire, and everything is stopped until an operator resumes.
import { type ActingTableReader, differencesText } from '../domain/acting-tables.ts';
import type { CheckpointStore } from '../domain/checkpoint.ts';
import { type Stop, stopText } from '../domain/operator.ts';
import type { Clock } from '../domain/ports.ts';
import type { RecordReader } from '../domain/record-reader.ts';

export interface TablesAccepted {
  /** What differed, for people. */
  text: string;
  /** How many waiting plans expired. */
  plans: number;
}

export interface AcceptingStore
  extends ActingTableReader,
    Pick<CheckpointStore, 'acceptTables'>,
    Pick<RecordReader, 'stop'> {}

/** Undefined: there was nothing to accept. Errors: AppError `store_failed`. */
export async function acceptTables(
  { store, clock }: { store: AcceptingStore; clock: Pick<Clock, 'nowMs'> },
  { by, reason }: { by: string; reason: string },
): Promise<TablesAccepted | undefined> {
  const differences = await store.tableDifferences();
  if (differences.length === 0) return undefined;
  const text = differencesText(differences);
  const before = await store.stop();
  const former = before ? ` (stopped before: ${stopText(before)})` : '';
  const stop: Stop = { at: clock.nowMs(), by, reason: `changed tables were accepted: ${reason}${former}` };
  const notes = [
    { kind: 'tables.accepted', body: { by, reason, text } },
    { kind: 'stop.set', body: { by, reason: stop.reason, since: stop.at } },
  ] as const;
  return { text, ...(await store.acceptTables({ stop, notes: [...notes] })) };
}
