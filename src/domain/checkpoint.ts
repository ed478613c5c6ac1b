// domain: a checkpoint: a signed statement of the audit chain's length and head, kept in the database and in a file
// outside it. A plain chain does not notice a cut tail or a full rewrite; a checkpoint outside does.
import { hash } from 'node:crypto';
import { canonicalJson } from '../base/json.ts';
import type { AuditNote, TableDigests } from './audit-entry.ts';
import type { Stop } from './operator.ts';

export interface Checkpoint {
  /** The length of the chain: the sequence number of its last entry. */
  size: number;
  /** The hash of that entry. */
  head: string;
  /** Epoch ms. */
  at: number;
  /** `checkpointHash` of the previous checkpoint; 64 zeros for the first. */
  previous: string;
  /** The key that signed it: 32 hex digits of the SHA-256 of the public key (SPKI, DER). */
  keyId: string;
  /** The digests of the tables that acting rests on, at this length; absent in checkpoints of older versions. */
  tables?: TableDigests;
  /** `treeRoot` of the hashes of all entries after the previous checkpoint; absent in checkpoints of older versions. */
  root?: string;
  /** Ed25519, base64. */
  signature: string;
}

/** INVARIANT: at most this many entries are without a checkpoint: one is made in the transaction that reaches it. */
export const CHECKPOINT_EVERY = 1_000;

/** The exact text of a checkpoint: a row of the table and a line of the file. */
export function checkpointLine({ size, head, at, previous, keyId, tables, root, signature }: Checkpoint): string {
  return canonicalJson({ size, head, at, previous, keyId, tables, root, signature });
}

/** Hex SHA-256 over a domain byte and the line, signature included. */
export function checkpointHash(line: string): string {
  return hash('sha256', Buffer.concat([DOMAIN_CHECKPOINT, Buffer.from(line)]), 'hex');
}

/** Keeps these hashes apart from those of entries. */
const DOMAIN_CHECKPOINT = Buffer.from([0x02]);

/** Makes and signs the checkpoint that follows `previousLine` (undefined: the first). */
export type SealCheckpoint = (previousLine: string | undefined, chain: SealedState) => Checkpoint;

export interface ChainHead {
  size: number;
  head: string;
}

/** What a checkpoint states. */
export type SealedState = ChainHead & Pick<Checkpoint, 'at' | 'tables' | 'root'>;

// A tree over the hashes of entries: with it, one entry is proven by a few hashes and a checkpoint, without the entries beside it.

/** Pairs are hashed until one is left; one without a pair goes up as it is. */
export function treeRoot(hashes: readonly string[]): string | undefined {
  let level = hashes;
  while (level.length > 1) level = levelAbove(level);
  return level[0];
}

/** What stands beside the hash at `index`, from below: `L` or `R`, and the hash. */
export function treePath(hashes: readonly string[], index: number): string[] {
  const path: string[] = [];
  for (let [level, at] = [hashes, index]; level.length > 1; [level, at] = [levelAbove(level), at >> 1]) {
    const beside = level[at ^ 1];
    if (beside !== undefined) path.push(`${at % 2 === 0 ? 'R' : 'L'}${beside}`);
  }
  return path;
}

function levelAbove(level: readonly string[]): string[] {
  const above: string[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at] as string, level[at + 1]];
    above.push(right === undefined ? left : hash('sha256', `${DOMAIN_NODE}${left}${right}`, 'hex'));
  }
  return above;
}

const DOMAIN_NODE = '\u0006';

/** An archive of the oldest entries, for the record and for the table that allows their removal. */
export interface ArchivedSegment {
  from: number;
  to: number;
  /** The hash of entry `to`: the chain continues from it. */
  head: string;
  file: string;
  /** Hex SHA-256 of the file. */
  digest: string;
  by: string;
  reason: string;
}

/** What is written when an operator accepts a restored backup, or tables that somebody changed. */
export interface Accepted {
  stop: Stop;
  notes: AuditNote[];
}

/** Checkpoints as the store keeps them. */
export interface CheckpointReader {
  /** All lines in order; undefined in a database from before checkpoints. */
  checkpointLines(): Promise<string[] | undefined>;
  /** The line of this size, or undefined. */
  checkpointAt(size: number): Promise<string | undefined>;
  /** The id that the file outside names; undefined in a database of an earlier version. */
  databaseId(): Promise<string | undefined>;
}

export interface CheckpointStore extends CheckpointReader {
  /** Seals the current chain; undefined when the last checkpoint covers it already. */
  sealAudit(): Promise<Checkpoint | undefined>;
  /** Gives the database its id. */
  nameDatabase(id: string): Promise<void>;
  /** Lines over more than `size` entries, in order. */
  checkpointLinesAfter(size: number): Promise<string[]>;
  /**
   * In one commit: everything is stopped, all pending and approved plans expire, and unused accepted readings are
   * dropped. Returns the number of expired plans.
   */
  acceptRestore(accepted: Accepted): Promise<{ plans: number }>;
  /** The same, and the audit records the tables as they are. */
  acceptTables(accepted: Accepted): Promise<{ plans: number }>;
}

/** Seals the chain, in the database and in the file outside. */
export interface Checkpointer {
  /**
   * At the end of a run. Errors: AppError `store_failed` when the database cannot be written. A file that cannot be
   * written shows up in `fault` and is tried again next time: what was committed stays committed.
   */
  seal(): Promise<void>;
  /** Brings the file up to date with the database. Never throws. */
  publish(): Promise<void>;
  /** Why the file outside is behind, in one line; undefined when it is not. */
  fault(): string | undefined;
  /** What shows that this database is older than the file outside, in one line; undefined when nothing does. */
  restored(): string | undefined;
}
