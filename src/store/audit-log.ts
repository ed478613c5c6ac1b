// store: appends audit entries within the transaction of the change that they record, and seals them with checkpoints.
// INVARIANT: `append`, `flush` and `seal` are only called inside a transaction; the head is read there too, so that no two entries
// share it, and a checkpoint is committed with the entry that it is over.

import { canonicalJson } from '../base/json.ts';
import type { AuditNote, JudgeEnd, LinkEntry, SignEntry, TableDigests } from '../domain/audit-entry.ts';
import { CHECKPOINT_EVERY, type Checkpoint, type SealCheckpoint, treeRoot } from '../domain/checkpoint.ts';
import type { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { type ChangedTables, strangeEnd } from './acting-tables.ts';
import { hashesOf, headOf, insertCheckpoint, lastCheckpoint } from './audit-rows.ts';
import type { Db, Work } from './queries.ts';
import { editedFault } from './store-fault.ts';

/** How the audit is signed; a database in memory has no file outside, and no key. */
export interface Sealing {
  seal: SealCheckpoint;
  sign: SignEntry;
  /** By this database's key and those before it. */
  judgeEnd: JudgeEnd;
  /** Called after a commit that made a checkpoint. */
  sealed(): void;
}

/**
 * Collects the notes of a transaction, and writes them at its end: its last entry has the digests of the tables that the transaction
 * changed, and its signature.
 */
export class AuditLog {
  private notes: AuditNote[] = [];
  private hasSealed = false;
  private recorded: TableDigests = {};
  /** The last entry that this writer committed, or found when it looked last. */
  private own: ChainEnd = NOTHING;
  /** Why the end that it found was somebody else's: nothing is appended to it, which would sign it. */
  private strange: string | undefined;
  private next: ChainEnd | undefined;
  private readonly listeners: ((notes: readonly AuditNote[]) => void)[] = [];
  /** Of the transaction under way, in the order in which they are written. */
  private written: (readonly AuditNote[])[] = [];

  constructor(
    private readonly tables: ChangedTables,
    private readonly link: LinkEntry,
    private readonly clock: Clock,
    private readonly sealing?: Sealing,
  ) {}

  /** The last entry that was committed, as far as it is known here. */
  get end(): ChainEnd {
    return this.own;
  }

  /**
   * Reads where the chain ends, before the first transaction; or in each, where others write too. An end that does not continue what this
   * writer knows is not taken: `demandOwnEnd` refuses it.
   */
  *look(db: Db): Work<void> {
    const head = yield* headOf(db);
    if (isSameEnd(head, this.own) || !(yield* this.isContinued(db, head))) return;
    this.own = head;
    this.strange = yield* strangeEnd(db, this.sealing?.judgeEnd);
    if (this.strange !== undefined) this.edited(db, this.strange);
  }

  onCommitted(listener: (notes: readonly AuditNote[]) => void): void {
    this.listeners.push(listener);
  }

  append(notes: readonly AuditNote[]): void {
    for (const note of notes) this.notes.push(note);
  }

  /**
   * At the end of a transaction, before its commit. Errors: AppError `store_edited` for a chain that ends in an entry of somebody
   * else; then nothing is committed.
   */
  *flush(db: Db): Work<void> {
    const notes = this.notes;
    this.notes = [];
    const hasChanged = yield* this.tables.takeChange(db);
    if (notes.length === 0 && !hasChanged) return;
    // INVARIANT: a change of what acting rests on has an audit entry in its transaction, also when its author names none.
    if (notes.length === 0) notes.push({ kind: 'tables.changed', body: {} });
    yield* this.demandOwnEnd(db, this.next);
    this.written.push(notes);
    const digests = yield* this.tables.toRecord(db);
    const at = this.clock.nowMs();
    let end = this.next ?? this.own;
    let sealed = this.sealing ? ((yield* lastCheckpoint(db))?.size ?? 0) : Number.POSITIVE_INFINITY;
    let rows: (string | number)[][] = [];
    for (const [index, { kind, body }] of notes.entries()) {
      const isLast = index === notes.length - 1;
      const seq = end.seq + 1;
      const bytes = this.bytesOf(
        { at, kind, body, ...(isLast && hasAny(digests) && { digests }) },
        end.hash,
        seq,
        isLast,
      );
      const hash = this.link(end.hash, seq, bytes);
      rows.push([seq, at, kind, bytes, end.hash, hash]);
      this.next = end = { seq, hash };
      if (isLast) this.recorded = { ...this.recorded, ...digests };
      const isDue = seq - sealed >= CHECKPOINT_EVERY;
      if (!isLast && !isDue && rows.length < ENTRIES_AT_ONCE) continue;
      yield* db.insertMany('audit', COLUMNS, rows);
      rows = [];
      if (isDue) sealed = (yield* this.sealEnd(db, end))?.size ?? sealed;
      yield;
    }
  }

  /** Seals the current chain; undefined when the last checkpoint covers it, there is no signer, or the database is damaged. */
  *seal(db: Db): Work<Checkpoint | undefined> {
    if (this.strange !== undefined && !this.tables.isAccepting) return undefined; // it would sign what somebody else wrote
    yield* this.flush(db);
    yield* this.demandOwnEnd(db, this.next);
    return yield* this.sealEnd(db, this.next ?? this.own);
  }

  committed(): void {
    if (this.tables.isAccepting) this.strange = undefined;
    const hasAppended = this.next !== undefined;
    const notes = this.written.flat();
    this.own = this.next ?? this.own;
    this.tables.committed(this.recorded);
    this.reset();
    if (this.hasSealed) this.sealing?.sealed();
    this.hasSealed = false;
    if (hasAppended) for (const listener of this.listeners) dropFault(() => listener(notes));
  }

  rolledBack(): void {
    this.tables.rolledBack();
    this.hasSealed = false;
    this.reset();
  }

  /** `next`: the end as the transaction under way has written it on this connection. Errors: AppError `store_edited`. */
  *demandOwnEnd(db: Db, next?: ChainEnd): Work<void> {
    const head = yield* headOf(db);
    const own = next ?? this.own;
    const text = isSameEnd(head, own)
      ? this.strange
      : `${head.seq} entries, and ${own.seq} when this process wrote last`;
    if (text !== undefined && !this.tables.isAccepting) throw this.edited(db, text);
  }

  private *isContinued(db: Db, head: ChainEnd): Work<boolean> {
    const { seq, hash } = this.own;
    if (seq <= 0) return true;
    const entry = yield* db.get<{ hash: string }>('SELECT hash FROM audit WHERE seq = ?', seq);
    if (entry) return entry.hash === hash;
    const first = yield* db.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM audit');
    return head.seq > seq && Number(first?.seq) > seq; // archived meanwhile
  }

  private edited(db: Db, text: string): AppError {
    const fault = editedFault(`the audit has ${text}`);
    db.noteFault(fault);
    return fault;
  }

  private reset(): void {
    this.notes = [];
    this.next = undefined;
    this.written = [];
    this.recorded = {};
  }

  private bytesOf(entry: object, prev: string, seq: number, isSigned: boolean): string {
    const bytes = canonicalJson(entry);
    const sign = isSigned ? this.sealing?.sign : undefined;
    return sign ? `${bytes.slice(0, -1)},"signature":"${sign(prev, seq, bytes)}"}` : bytes;
  }

  private *sealEnd(db: Db, { seq: size, hash: head }: ChainEnd): Work<Checkpoint | undefined> {
    const last = this.sealing && (yield* lastCheckpoint(db));
    if (!this.sealing || size <= (last?.size ?? 0)) return undefined;
    const tables = yield* this.tables.all(db);
    if (tables === undefined) return undefined;
    const root = yield* rootAfter(db, last?.size ?? 0, size);
    const checkpoint = this.sealing.seal(last?.line, { size, head, at: this.clock.nowMs(), tables, root });
    yield* insertCheckpoint(db, checkpoint);
    this.hasSealed = true;
    return checkpoint;
  }
}

/** Undefined of what an older version left without checkpoints: a longer stretch would be read at once. */
function* rootAfter(db: Db, after: number, size: number): Work<string | undefined> {
  if (size - after > CHECKPOINT_EVERY) return undefined;
  const hashes = yield* hashesOf(db, after, size);
  return hashes.length === size - after ? treeRoot(hashes) : undefined;
}

const COLUMNS = ['seq', 'at', 'kind', 'bytes', 'prev', 'hash'];
/** A millisecond or two. */
const ENTRIES_AT_ONCE = 20;

export interface ChainEnd {
  seq: number;
  hash: string;
}

const NOTHING: ChainEnd = { seq: -1, hash: '' };

function isSameEnd(one: ChainEnd, other: ChainEnd): boolean {
  return one.seq === other.seq && one.hash === other.hash;
}

/** INVARIANT: what was committed stays committed, whatever a listener does. */
function dropFault(listener: () => void): void {
  try {
    listener();
  } catch {
    // It has lost a wake-up, and reads the entries the next time.
  }
}

function hasAny(digests: TableDigests): boolean {
  return Object.keys(digests).length > 0;
}

/** How often a large unit is taken back; after that the others wait for it. */
export const TAKEN_BACK_MAX = 20;

export interface Writer {
  readonly db: Db;
  /** INVARIANT: appended to, flushed and sealed only inside a unit of work. */
  readonly audits: AuditLog;
  readonly tables: ChangedTables;
  /** One unit of work: the change and its audit entries. */
  unit<T>(work: () => Work<T>): Promise<T>;
  /** The same, which no large one keeps waiting. */
  unitAtOnce<T>(work: () => Work<T>): Promise<T>;
  /** A unit that may be large: others get their turn while it is written. INVARIANT: it is one transaction. */
  unitInTurns(work: (db: Db) => Work<void>, notes: readonly AuditNote[], isLarge: boolean): Promise<void>;
  /** A unit that shares its transaction with others that are due, and has an error of its own. */
  grouped(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void>;
  close(): Promise<void>;
}
