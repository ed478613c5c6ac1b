// audit: an export that goes on: entries and checkpoints as they are committed, until it is to end. In: a reader of the database, where to
// begin. Out: the lines of an export; with its end line it verifies as any other. It never skips an entry: where one is missing, it says so.
import { type AuditEntry, GENESIS } from '../domain/audit-entry.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import { parseCheckpoint } from './checkpoint.ts';
import { checkpointExportLine, endLine, headerLine, readableEntryLine } from './export-format.ts';

export interface Followed {
  address: string | undefined;
  entriesFrom(seq: number): AsyncIterable<AuditEntry[]>;
  /** An entry, if the database has it. */
  entry(seq: number): Promise<AuditEntry | undefined>;
  headSeq(): Promise<number>;
  checkpointLinesAfter(size: number): Promise<string[]>;
  /** Waits a moment. False: the export is to end. Errors: AppError when what is followed is no longer there. */
  goOn(): Promise<boolean>;
}

/** From this entry on, or after one that the reader has already. */
export type FollowBegin = { from: number } | { after: number };

/** Each piece ends with a line's end. Errors: AppError `not_found` for entries that are not there (any more); those of reading. */
export async function* followAudit(followed: Followed, begin: FollowBegin): AsyncIterable<string> {
  const start = await startOf(followed, begin);
  let { next, head } = start;
  let size = next - 1; // up to which checkpoints are written
  const key = (await followed.checkpointLinesAfter(0)).map(parseCheckpoint).at(-1)?.keyId;
  yield `${headerLine({ address: followed.address, keyId: key, from: next, prev: head })}\n`;
  // INVARIANT: read once more after the end was asked for: what was committed before is still written.
  for (let isLast = false; ; isLast = !(await followed.goOn())) {
    for await (const batch of followed.entriesFrom(next)) {
      const due = await checkpointsAfter(followed, size);
      const lines: string[] = [];
      for (const entry of batch) {
        if (entry.seq !== next) throw missing(next, entry.seq - 1);
        if (entry.prev !== head) throw another(next);
        lines.push(readableEntryLine(entry));
        const checkpoint = due.find((one) => one.size === entry.seq);
        if (checkpoint) {
          lines.push(checkpointExportLine(checkpoint));
          size = entry.seq;
        }
        head = entry.hash;
        next += 1;
      }
      yield `${lines.join('\n')}\n`;
    }
    // A checkpoint is made after its last entry, and more entries may have come in between.
    for (const late of await checkpointsAfter(followed, size)) {
      if (late.size >= next) break;
      yield `${checkpointExportLine(late)}\n`;
      size = late.size;
    }
    if (isLast) break;
  }
  yield `${endLine(next - start.next, head)}\n`;
}

async function startOf(followed: Followed, begin: FollowBegin): Promise<{ next: number; head: string }> {
  if ('from' in begin) {
    // The first that there is: older ones may be archived.
    for await (const [first] of followed.entriesFrom(begin.from))
      if (first) return { next: first.seq, head: first.prev };
    const end = await followed.headSeq();
    if (begin.from > end + 1) throw beyond(begin.from, end);
    return { next: end + 1, head: (await followed.entry(end))?.hash ?? GENESIS };
  }
  const { after } = begin;
  if (after === 0) return { next: 1, head: GENESIS };
  const end = await followed.headSeq();
  if (after > end) throw beyond(after, end);
  const last = await followed.entry(after);
  if (!last) throw missing(after, after);
  return { next: after + 1, head: last.hash };
}

async function checkpointsAfter(followed: Followed, size: number): Promise<Checkpoint[]> {
  return (await followed.checkpointLinesAfter(size)).map(parseCheckpoint).filter((one) => one !== undefined);
}

function beyond(seq: number, end: number): AppError {
  const text = `entry ${seq} is not there, the audit ends with entry ${end}: this is another database, or a restored one`;
  return new AppError('not_found', `${text}; follow it from its beginning`);
}

function missing(from: number, to: number): AppError {
  const which = from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
  const text = `${which} not in the database any more: read them in \`<database>.audit-archive\`, then go on with \`--after ${to}\``;
  return new AppError('not_found', text);
}

function another(seq: number): AppError {
  return new AppError(
    'conflict',
    `entry ${seq} does not follow the entry before it: check the record with \`trustward audit verify\``,
  );
}
