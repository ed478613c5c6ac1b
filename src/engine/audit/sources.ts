// audit: what verification reads beside a database: the file of checkpoints and the public key, or copies of them that
// were kept elsewhere; and whether a database was restored. In: file names and a reader of the database. Out: sources to verify.

import { existsSync } from 'node:fs';
import { timeText } from '../../base/time.ts';
import { giveWay } from '../../base/turns.ts';
import {
  type ActingTableReader,
  type AuditCheck,
  type AuditEntry,
  type AuditFault,
  entryBody,
  GENESIS,
  type TableDifference,
} from '../../domain/audit-entry.ts';
import { CHECKPOINT_EVERY, type Checkpoint, type CheckpointReader, checkpointLine } from '../../domain/checkpoint.ts';
import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { AuditReader } from '../../domain/store-ports.ts';
import {
  ChainWalk,
  type CheckpointFault,
  CheckpointFile,
  type CheckpointList,
  checkCheckpoints,
  checkpointFileOf,
  faultOfCheckpoint,
  isSigned,
  judgeEndBy,
  type Outside,
  type PublicKeys,
  parseCheckpoint,
  parseDatabaseLine,
  publicKeyFileOf,
  readPublicKeys,
  signatureFault,
} from './signing-key.ts';
import { TouchWalk } from './touches.ts';

// Whether a database and the file outside belong together.

type Belonging =
  /** At its birth: it has no entry, and there is nothing outside. */
  | { kind: 'new' }
  | { kind: 'own' }
  /** The checkpoints are its own, but nothing names it: an earlier version wrote them, or a start was killed. */
  | { kind: 'unnamed' }
  /** `why` is a sentence without its end. */
  | { kind: 'restored'; why: string };

/** How an operator goes on with a restored database. */
export const WAY_ON = '`trustward audit accept-restore --reason …`, then `trustward resume --reason …`';

export type BelongingReader = Pick<AuditReader, 'auditHead'> & Pick<CheckpointReader, 'checkpointAt' | 'databaseId'>;

/**
 * INVARIANT: the caller has read `outside` before: a writer commits first and publishes then, so the file is never ahead of its own
 * database. And the file is named before the first entry is committed: entries without a name outside were brought here.
 */
export async function belongingOf(database: BelongingReader, outside: Outside, keys: PublicKeys): Promise<Belonging> {
  const { named, last } = outside;
  if (named === undefined && last === undefined) {
    const { seq } = await database.auditHead();
    return seq === 0 ? { kind: 'new' } : restored(`there are no checkpoints outside, but ${seq} audit entries`);
  }
  if (named !== undefined && !(await isNameOf(database, named, keys)))
    return restored('the checkpoints outside are those of another database');
  if (last !== undefined && (await isAhead(database, last))) return restored(await aheadText(database, last));
  if (named !== undefined) return { kind: 'own' };
  const checkpoint = parseCheckpoint(last ?? '');
  const fault = checkpoint && signatureFault(checkpoint, keys);
  return fault === undefined ? { kind: 'unnamed' } : restored(`the last checkpoint outside ${fault}`);
}

/** How many entries a line covers; 0 without one, or when it cannot be read. */
export function sizeOf(line: string | undefined): number {
  return parseCheckpoint(line ?? '')?.size ?? 0;
}

function restored(why: string): Belonging {
  return { kind: 'restored', why };
}

async function isNameOf(database: BelongingReader, line: string, keys: PublicKeys): Promise<boolean> {
  const name = parseDatabaseLine(line);
  return name !== undefined && isSigned(name, keys) && name.database === (await database.databaseId());
}

/** Each line has the hash of the one before, so one equal line means that all before it are equal. */
async function isAhead(database: BelongingReader, last: string): Promise<boolean> {
  return (await database.checkpointAt(sizeOf(last))) !== last;
}

async function aheadText(database: BelongingReader, last: string): Promise<string> {
  const checkpoint = parseCheckpoint(last);
  if (!checkpoint) return 'the checkpoints outside end in a line that cannot be read';
  const { seq } = await database.auditHead();
  const { size, at } = checkpoint;
  return `the checkpoints outside reach to entry ${size} of ${timeText(at)}, which this database (${seq} entries) does not have`;
}

// Compares the checkpoints in the database with those in the file outside.

interface ComparedLists {
  /** By size; both where the two differ. */
  expected: { checkpoint: Checkpoint; place: string }[];
  fault: CheckpointFault | undefined;
}

const IN_DATABASE = 'in the database';

/** `fileLines` undefined: the file is missing. */
function compareLists(
  tableLines: readonly string[],
  fileLines: readonly string[] | undefined,
  fileName: string,
  keys: PublicKeys,
): ComparedLists {
  const inFile = `in \`${fileName}\``;
  const table = checkCheckpoints(tableLines, keys);
  const file = checkCheckpoints(fileLines ?? [], keys);
  const faults = [
    placed(table.fault, IN_DATABASE),
    placed(file.fault, inFile),
    differenceOf(table, file, fileName, fileLines === undefined),
  ];
  const first = faults.filter((fault) => fault !== undefined).sort((a, b) => a.size - b.size)[0];
  return { expected: merge(table.good, file.good, inFile), fault: first };
}

function placed(fault: CheckpointFault | undefined, place: string): CheckpointFault | undefined {
  return fault && { ...fault, reason: `${place} ${fault.reason}` };
}

function differenceOf(
  table: CheckpointList,
  file: CheckpointList,
  name: string,
  isMissing: boolean,
): CheckpointFault | undefined {
  const common = Math.min(table.good.length, file.good.length);
  for (let at = 0; at < common; at += 1) {
    const [inTable, inFile] = [table.good[at] as Checkpoint, file.good[at] as Checkpoint];
    if (checkpointLine(inTable) !== checkpointLine(inFile)) {
      const size = Math.min(inTable.size, inFile.size);
      return { size, reason: `in the database differs from that in \`${name}\`: the chain was rebuilt from there on` };
    }
  }
  const extraInFile = table.fault ? undefined : file.good[common];
  if (extraInFile) {
    const reason = `is in \`${name}\`, but not in the database: an older backup was restored, or the database was changed`;
    return { size: extraInFile.size, reason };
  }
  const extraInTable = file.fault ? undefined : table.good[common];
  if (!extraInTable) return undefined;
  const reason = isMissing
    ? `is in the database, but not outside: the file \`${name}\` is missing`
    : `is in the database, but not in \`${name}\`: the file was cut, or a process ended before it could write (the next start completes it)`;
  return { size: extraInTable.size, reason };
}

function merge(table: Checkpoint[], file: Checkpoint[], inFile: string): ComparedLists['expected'] {
  const known = new Set(table.map(checkpointLine));
  const others = file.filter((checkpoint) => !known.has(checkpointLine(checkpoint)));
  return [
    ...table.map((checkpoint) => ({ checkpoint, place: IN_DATABASE })),
    ...others.map((checkpoint) => ({ checkpoint, place: inFile })),
  ].sort((a, b) => a.checkpoint.size - b.checkpoint.size);
}

// Verifies the record of a database: the chain, the checkpoints beside it and outside, and that they agree.

interface AuditSources {
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
  if (walked.note) notes.push(walked.note);
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
  note: string | undefined;
}

async function walkEntries(batches: AsyncIterable<AuditEntry[]>, { expected }: ComparedLists): Promise<Walked> {
  let walk: ChainWalk | undefined;
  let base = 0;
  let archivedTo = 0;
  let next = 0;
  let agreed = 0;
  let checkpoints = 0;
  let hasEndedRun = false;
  const touches = new TouchWalk();
  const answer = (bad: AuditFault | undefined): Walked => {
    const last = walk?.seq ?? 0;
    return {
      first: base + 1,
      last,
      entries: last - base,
      head: walk?.head ?? GENESIS,
      checkpoints,
      hasEndedRun,
      bad,
      note: touches.note(),
    };
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
      const untouched = touches.step(entry, base === 0);
      if (untouched !== undefined) return answer({ seq: walk.seq, reason: untouched });
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

export interface CopiesElsewhere {
  /** A copy of the public key. */
  publicKey?: string;
}

interface Verifying extends CopiesElsewhere {
  /** Called with the number of the last entry that was read, after each batch. */
  seen?: ((seq: number) => void) | undefined;
}

/** Far longer than writing and syncing a line takes. */
const PAUSE_MS = 300;

export function auditSourcesOf(
  databaseFile: string,
  reader: Pick<AuditReader, 'auditFrom' | 'auditHead'> & CheckpointReader & ActingTableReader,
  clock: Pick<Clock, 'sleep'>,
  { publicKey, seen }: Verifying = {},
): AuditSources {
  const file = new CheckpointFile(checkpointFileOf(databaseFile));
  const keyFile = publicKey ?? publicKeyFileOf(databaseFile);
  return {
    headSeq: async () => (await reader.auditHead()).seq,
    entries: () => withPauses(reader.auditFrom(1), seen),
    tableLines: () => reader.checkpointLines(),
    fileLines: () => file.lines(),
    fileName: file.name,
    hasKey: () => existsSync(keyFile),
    keys: () => readPublicKeys(keyFile),
    tableDifferences: () => reader.tableDifferences((end) => judgeEndBy(readPublicKeys(keyFile))(end)),
    pause: () => clock.sleep(PAUSE_MS),
  };
}

/** What shows that a database was restored; undefined when nothing does. Errors: AppError of reading. */
export async function restoredWhy(databaseFile: string, reader: BelongingReader): Promise<string | undefined> {
  const outside = new CheckpointFile(checkpointFileOf(databaseFile)).look();
  const keyFile = publicKeyFileOf(databaseFile);
  const belonging = await belongingOf(reader, outside, existsSync(keyFile) ? readPublicKeys(keyFile) : new Map());
  return belonging.kind === 'restored' ? belonging.why : undefined;
}

/** A daemon that verifies a million entries still answers and runs meanwhile. */
async function* withPauses(
  batches: AsyncIterable<AuditEntry[]>,
  seen?: (seq: number) => void,
): AsyncIterable<AuditEntry[]> {
  for await (const batch of batches) {
    yield batch;
    const last = batch.at(-1);
    if (last) seen?.(last.seq);
    await giveWay();
  }
}
