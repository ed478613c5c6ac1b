// harness: judges the record at the end: the chain, the checkpoints in the database and outside, and that they agree.

import { verifyChain } from '../../src/audit/chain.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import type { Db } from '../../src/store/database.ts';
import { SqliteReader } from '../../src/store/reader.ts';
import type { Checker } from './checker.ts';
import { PUBLIC_KEYS, type SimCheckpointFile } from './checkpoints.ts';

export async function checkAudit(checker: Checker, db: Db, file: SimCheckpointFile | undefined): Promise<void> {
  const reader = new SqliteReader(db, checker.clock);
  const { ok, bad } = file
    ? await verifyAudit({
        headSeq: async () => (await reader.auditHead()).seq,
        entries: () => reader.auditFrom(1),
        tableLines: () => reader.checkpointLines(),
        fileLines: () => file.lines(),
        fileName: file.name,
        hasKey: () => true,
        keys: () => PUBLIC_KEYS,
        pause: async () => {},
      })
    : await verifyChain(reader.auditFrom(1));
  if (!ok) checker.report('broken_chain', `entry ${bad?.seq}: ${bad?.reason}`);
}
