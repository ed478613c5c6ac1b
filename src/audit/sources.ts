// audit: what verification reads beside a database: the file of checkpoints and the public key, or copies of them that
// were kept elsewhere; and whether a database was restored. In: file names and a reader of the database. Out: sources to verify.
import { existsSync } from 'node:fs';
import type { ActingTableReader } from '../domain/acting-tables.ts';
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { AuditReader } from '../domain/audit-store.ts';
import type { CheckpointReader } from '../domain/checkpoint.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Clock } from '../domain/ports.ts';
import { type BelongingReader, belongingOf } from './belonging.ts';
import { judgeEndBy } from './chain-end.ts';
import { CheckpointFile, checkpointFileOf } from './checkpoint-file.ts';
import { publicKeyFileOf, readPublicKeys } from './signing-key.ts';
import type { AuditSources } from './verify.ts';

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
