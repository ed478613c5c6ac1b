// bench: verifying the audit of a database: 1,000,000 entries with a checkpoint every 1,000, as seconds and as a ratio to
// plain SHA-256 over the same bytes in the same process. Usage: node --import tsx bench/audit.ts [ENTRIES]. Reach: 10 s for a million.
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditNote } from '../src/domain/audit-entry.ts';
import { openCheckpointer } from '../src/engine/audit/checkpointer.ts';
import {
  CheckpointFile,
  checkpointFileOf,
  createKey,
  databaseLineWith,
  linkEntry,
  publicKeyFileOf,
  readPublicKeys,
  signingWith,
} from '../src/engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../src/engine/audit/sources.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { systemIds } from '../src/runtime/system/ids.ts';
import { SqlReader } from '../src/store/reader.ts';
import { migrate, openDatabase, openReadOnly, SqliteWork } from '../src/store/sqlite/database.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';

const entries = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'trustward-audit-'));
const file = join(folder, 'audit.db');
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const say = (text: string) => void process.stdout.write(`${text}\n`);

/** As an engine's entries are: ids, a target, a few facts. */
function noteOf(number: number): AuditNote {
  const facts = { 'MdmData.CompromisedStatus': 'TRUE', 'MdmData.Timestamp': `17${number}000000000`.padEnd(19, '0') };
  const body = {
    intent: `01J${number}`,
    run: `run-${number >> 8}`,
    action: 'ban_device',
    target: `SN-${number}`,
    facts,
  };
  return { kind: 'intent.planned', body };
}

async function fill(): Promise<void> {
  const db = openDatabase(file);
  migrate(db);
  const key = createKey(file);
  const signing = signingWith(key, readPublicKeys(publicKeyFileOf(file)));
  const store = new SqliteStore(db, linkEntry, systemClock, { ...signing, sealed: () => undefined });
  const outside = new CheckpointFile(checkpointFileOf(file));
  const checkpointer = await openCheckpointer({
    store,
    file: outside,
    databaseLine: databaseLineWith(key),
    keys: readPublicKeys(publicKeyFileOf(file)),
    clock: systemClock,
    ids: systemIds(systemClock),
    log: silent,
  });
  for (let from = 0; from < entries; from += 10_000) {
    const count = Math.min(10_000, entries - from);
    await store.appendAudit(Array.from({ length: count }, (_, index) => noteOf(from + index)));
  }
  await checkpointer.seal();
  await store.close();
}

function secondsSince(startMs: number): number {
  return (systemClock.monotonicMs() - startMs) / 1_000;
}

async function plainHashes(reader: SqlReader): Promise<{ seconds: number; megabytes: number }> {
  let seconds = 0;
  let length = 0;
  for await (const batch of reader.auditFrom(1)) {
    const texts = batch.map(({ bytes }) => Buffer.from(bytes));
    const start = systemClock.monotonicMs();
    for (const bytes of texts) hash('sha256', bytes, 'hex');
    seconds += secondsSince(start);
    for (const bytes of texts) length += bytes.length;
  }
  return { seconds, megabytes: length / 1e6 };
}

try {
  await fill();
  const reader = new SqlReader(new SqliteWork(openReadOnly(file)), systemClock);
  const plain = await plainHashes(reader);
  const start = systemClock.monotonicMs();
  const check = await verifyAudit(auditSourcesOf(file, reader, systemClock));
  const seconds = secondsSince(start);
  await reader.close();
  say(
    `${check.ok ? 'whole' : `BROKEN: ${check.bad?.reason}`}: ${check.entries} entries, ${check.checkpoints} checkpoints`,
  );
  say(`verified in ${seconds.toFixed(2)} s; peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`);
  say(
    `plain SHA-256 over the same ${plain.megabytes.toFixed(0)} MB: ${plain.seconds.toFixed(2)} s; ratio ${(seconds / plain.seconds).toFixed(1)}`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
