// audit: verifies the record of a database: the chain, the checkpoints beside it and outside, and that they agree. In:
// entries in order, the lines of both lists, the public keys. Out: whether it is whole, or the first fault. It only
// reads, and holds one batch of entries at a time.
import type { TableDifference } from '../domain/acting-tables.ts';
import type { AuditCheck, AuditFault } from '../domain/audit-check.ts';
import { type AuditEntry, entryBody, GENESIS } from '../domain/audit-entry.ts';
import { CHECKPOINT_EVERY } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import { ChainWalk } from './chain.ts';
import type { PublicKeys } from './checkpoint.ts';
import { type ComparedLists, compareLists } from './checkpoint-lists.ts';
import { faultOfCheckpoint } from './verdict.ts';

export interface AuditSources {
  /** The sequence number of the last entry. */
  headSeq(): Promise<number>;
  entries(): AsyncIterable<AuditEntry[]>;
  /** Undefined in a database from before checkpoints. */
  tableLines(): Promise<string[] | undefined>;
  /** Undefined when the file is missing. */
  fileLines(): string[] | undefined;
  fileName: string;
  /** Whether a signing key was ever made. */
  hasKey(): boolean;
  /** Errors: AppError `not_found`, `config`. */
  keys(): PublicKeys;
  tableDifferences(): Promise<readonly TableDifference[]>;
  /** A running daemon commits to the database first and writes the file right after: verification waits for that. */
  pause(): Promise<void>;
}

/** Errors: AppError of reading the sources. Faults of the record are in the result. */
export async function verifyAudit(sources: AuditSources): Promise<AuditCheck> {
  // INVARIANT: the head is read before the lists, and these before the entries: what is committed meanwhile only adds.
  const headSeq = await unlessDamaged(sources.headSeq());
  const { lists, notes, isSealed } = await readLists(sources);
  const walked = await walkEntries(sources.entries(), lists);
  const due = isSealed ? overdue(headSeq ?? walked.last, lists, walked.hasEndedRun) : undefined;
  const listFault = lists.fault && faultOfCheckpoint(lists.fault);
  const bad = [walked.bad, listFault, due].filter((fault) => fault !== undefined).sort((a, b) => a.seq - b.seq)[0];
  const sealed = lists.expected.findLast(({ checkpoint }) => checkpoint.size <= walked.last)?.checkpoint.size ?? 0;
  const { first, entries, head, checkpoints } = walked;
  // What the entries say of the tables counts only when the entries are whole.
  const tables = bad ? [] : await sources.tableDifferences();
  const ok = bad === undefined && tables.length === 0;
  return { ok, first, entries, head, checkpoints, sealed, bad, tables, notes: bad ? [] : notes };
}

/** Walking there names a damaged end. */
async function unlessDamaged(headSeq: Promise<number>): Promise<number | undefined> {
  try {
    return await headSeq;
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_damaged';
}

interface ReadLists {
  lists: ComparedLists;
  notes: string[];
  /** False in a database from before checkpoints. */
  isSealed: boolean;
}

async function readLists(sources: AuditSources): Promise<ReadLists> {
  // INVARIANT: the file is read before the table. The table is written first, so a file that is ahead is a finding; one
  // that is behind may only be late, and is read again, up to the end of the table.
  let file = sources.fileLines();
  const table = await sources.tableLines();
  if ((table?.length ?? 0) > (file?.length ?? 0)) {
    await sources.pause();
    file = sources.fileLines()?.slice(0, table?.length);
  }
  if (!table?.length && !file?.length) {
    const isLost = table !== undefined && file === undefined && sources.hasKey();
    const reason = `and all others are missing, as is the file \`${sources.fileName}\`, although a key was made to sign them`;
    const notes = ['there is no checkpoint yet: a cut tail or a rewrite of everything would not be noticed'];
    return {
      lists: { expected: [], fault: isLost ? { size: 1, reason } : undefined },
      notes,
      isSealed: table !== undefined,
    };
  }
  const lists = compareLists(table ?? [], file, sources.fileName, sources.keys());
  return { lists, notes: [], isSealed: true };
}

interface Walked {
  first: number;
  last: number;
  entries: number;
  head: string;
  checkpoints: number;
  hasEndedRun: boolean;
  bad: AuditFault | undefined;
}

async function walkEntries(batches: AsyncIterable<AuditEntry[]>, { expected }: ComparedLists): Promise<Walked> {
  let walk: ChainWalk | undefined;
  let base = 0;
  let archivedTo = 0;
  let next = 0;
  let agreed = 0;
  let checkpoints = 0;
  let hasEndedRun = false;
  const answer = (bad: AuditFault | undefined): Walked => {
    const last = walk?.seq ?? 0;
    return { first: base + 1, last, entries: last - base, head: walk?.head ?? GENESIS, checkpoints, hasEndedRun, bad };
  };
  for await (const batch of readable(batches)) {
    if (batch === DAMAGED)
      return answer({ seq: (walk?.seq ?? 0) + 1, reason: 'it cannot be read: the database is damaged there' });
    for (const entry of batch) {
      if (!walk) {
        walk = beginAt(entry.seq, expected);
        base = agreed = walk.seq;
        while ((expected[next]?.checkpoint.size ?? Number.POSITIVE_INFINITY) <= base) next += 1;
      }
      const fault = walk.step(entry);
      if (fault !== undefined) return answer({ seq: walk.seq + 1, reason: fault });
      hasEndedRun ||= entry.kind === 'run.finished' || entry.kind === 'run.aborted';
      if (entry.kind === 'audit.archived') archivedTo = Math.max(archivedTo, archivedToOf(entry));
      for (let one = expected[next]; one?.checkpoint.size === walk.seq; one = expected[next]) {
        if (one.checkpoint.head !== walk.head) return answer(rewritten(agreed + 1, one));
        next += 1;
        checkpoints += 1;
      }
      if (expected[next - 1]?.checkpoint.size === walk.seq) agreed = walk.seq;
    }
  }
  const beyond = expected[next];
  if (beyond) return answer(missingEnd((walk?.seq ?? 0) + 1, beyond));
  return answer(base > archivedTo ? unrecorded(base) : undefined);
}

const DAMAGED = Symbol('damaged');

/** The batches up to the damage in the database, and then a note of it. */
async function* readable(batches: AsyncIterable<AuditEntry[]>): AsyncIterable<AuditEntry[] | typeof DAMAGED> {
  try {
    yield* batches;
  } catch (error) {
    if (!isDamage(error)) throw error;
    yield DAMAGED;
  }
}

/** A chain may begin after archived entries: a checkpoint has the hash of the last of them. */
function beginAt(seq: number, expected: ComparedLists['expected']): ChainWalk {
  const base = seq > 1 ? expected.find(({ checkpoint }) => checkpoint.size === seq - 1) : undefined;
  return base ? new ChainWalk(base.checkpoint.size, base.checkpoint.head) : new ChainWalk();
}

function archivedToOf(entry: AuditEntry): number {
  const { to } = entryBody(entry);
  return typeof to === 'number' ? to : 0;
}

type Expected = ComparedLists['expected'][number];

function rewritten(from: number, { checkpoint: { size }, place }: Expected): AuditFault {
  const reason = `${place} was made of different entries ${from} to ${size}: they have been rewritten`;
  return { seq: from, checkpoint: size, reason };
}

function missingEnd(seq: number, { checkpoint: { size }, place }: Expected): AuditFault {
  const reason = `${place} is over entries ${seq} to ${size}, which are missing: the end was cut, or an older backup was restored`;
  return { seq, checkpoint: size, reason };
}

function unrecorded(base: number): AuditFault {
  return { seq: 1, reason: `to entry ${base} are missing, and the record has no entry for an archive of them` };
}

/** One is committed with the entry that makes it due, and one at the end of each run: a longer stretch has lost one. */
function overdue(headSeq: number, { expected }: ComparedLists, hasEndedRun: boolean): AuditFault | undefined {
  const last = expected.at(-1)?.checkpoint.size ?? 0;
  const size = last === 0 && hasEndedRun ? headSeq : last + CHECKPOINT_EVERY;
  if (headSeq < size) return undefined;
  const reason = `or before is missing: there is one every ${CHECKPOINT_EVERY} entries, and at the end of each run`;
  return { seq: size, checkpoint: size, reason };
}
