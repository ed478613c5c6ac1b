// harness: judges the record at the end: the chain, the checkpoints in the database and outside, and that they agree.

import { type AuditCheck, differencesText } from '../../src/domain/audit-entry.ts';
import { judgeEndBy } from '../../src/engine/audit/signing-key.ts';
import { verifyAudit } from '../../src/engine/audit/sources.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { type SqliteDb, SqliteWork } from '../../src/store/sqlite/database.ts';
import type { Checker } from './checker.ts';
import { PUBLIC_KEYS, type SimCheckpointFile } from './checkpoints.ts';
import type { SimClock } from './sim-clock.ts';

export async function checkAudit(checker: Checker, db: SqliteDb, file: SimCheckpointFile | undefined): Promise<void> {
  const { bad, tables } = await verdictOn(db, checker.clock, file);
  if (bad) checker.report('broken_chain', `entry ${bad.seq}: ${bad.reason}`);
  if (tables.length > 0) checker.report('broken_chain', differencesText(tables));
}

export async function verdictOn(
  db: SqliteDb,
  clock: SimClock,
  file: SimCheckpointFile | undefined,
): Promise<AuditCheck> {
  const reader = new SqlReader(new SqliteWork(db), clock);
  return verifyAudit({
    headSeq: async () => (await reader.auditHead()).seq,
    entries: () => reader.auditFrom(1),
    tableLines: async () => (file ? reader.checkpointLines() : undefined),
    fileLines: () => file?.lines(),
    fileName: file?.name ?? '',
    hasKey: () => file !== undefined,
    keys: () => PUBLIC_KEYS,
    tableDifferences: () => reader.tableDifferences(file && judgeEndBy(PUBLIC_KEYS)),
    pause: async () => {},
  });
}
