// audit: archives the oldest entries, in whole checkpointed segments: exported, read back and verified, then removed
// from the database in one transaction with an entry that records it. In: what to archive, and why. Out: the segment,
// or nothing. It never removes an entry that no verified file holds.
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AuditReader } from '../domain/audit-store.ts';
import type { ArchivedSegment, CheckpointReader } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import { syncFolderOf } from '../files/durable-file.ts';
import { type PublicKeys, parseCheckpoint } from './checkpoint.ts';
import { exportAudit } from './export.ts';
import { verifyExport } from './verify-export.ts';

export interface ArchiveParts {
  store: Omit<AuditReader, 'auditHead'> &
    CheckpointReader & { removeArchived(segment: ArchivedSegment): Promise<void> };
  keys: PublicKeys;
  /** Made when it does not exist. */
  folder: string;
}

/** Entries before a sequence number, or from before a time (epoch ms). */
export type ArchiveBound = { beforeSeq: number } | { beforeMs: number };

export function archiveFolderOf(databaseFile: string): string {
  return `${databaseFile}.audit-archive`;
}

/**
 * INVARIANT: the caller has verified the whole record, and holds the writer's lock. Undefined: no whole segment is that
 * old. Errors: AppError `store_failed` when the archive cannot be written or does not verify; nothing was removed then.
 */
export async function archiveAudit(
  parts: ArchiveParts,
  bound: ArchiveBound,
  why: Pick<ArchivedSegment, 'by' | 'reason'>,
): Promise<ArchivedSegment | undefined> {
  const { store, keys, folder } = parts;
  const first = (await store.audit({ afterSeq: 0, limit: 1 }))[0];
  const last = first && (await lastCheckpointWithin(store, bound));
  if (!first || !last || last.size < first.seq) return undefined;
  const name = `${String(first.seq).padStart(12, '0')}-${String(last.size).padStart(12, '0')}.ndjson`;
  const file = join(folder, name);
  const digest = await writeSegment(parts, file, first.seq, last.size);
  const check = await verifyExport(createInterface({ input: createReadStream(file) }), keys);
  if (!check.ok || check.sealed !== last.size || check.head !== last.head) {
    throw new AppError(
      'store_failed',
      `the archive \`${file}\` does not verify: nothing was removed from the database`,
    );
  }
  const segment = { from: first.seq, to: last.size, head: last.head, file, digest, ...why };
  await store.removeArchived(segment);
  return segment;
}

async function lastCheckpointWithin(store: ArchiveParts['store'], bound: ArchiveBound) {
  const lines = (await store.checkpointLines()) ?? [];
  for (const line of lines.reverse()) {
    const checkpoint = parseCheckpoint(line);
    // A checkpoint's time is never before that of the entries that it covers.
    const isWithin =
      checkpoint && ('beforeSeq' in bound ? checkpoint.size < bound.beforeSeq : checkpoint.at < bound.beforeMs);
    if (isWithin) return checkpoint;
  }
  return undefined;
}

/** Written to a temporary file, synced, then renamed: a file of this name is whole. Returns its SHA-256. */
async function writeSegment({ store, folder }: ArchiveParts, file: string, from: number, to: number): Promise<string> {
  const address = await store.address();
  const checkpointLines = (await store.checkpointLines()) ?? [];
  const digest = createHash('sha256');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const handle = openSync(`${file}.new`, 'w', 0o600);
    try {
      for await (const piece of exportAudit({ address, entries: store.auditFrom(from), checkpointLines, to })) {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
        digest.update(bytes);
      }
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(`${file}.new`, file);
    syncFolderOf(file);
    return digest.digest('hex');
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = String((error as NodeJS.ErrnoException).code ?? error);
    throw new AppError('store_failed', `the archive \`${file}\` cannot be written (${code})`, { cause: error });
  }
}
