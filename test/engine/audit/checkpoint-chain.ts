// test: a real database in a folder of its own with a sealed audit chain, and everything beside it.
import { appendFileSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AuditCheck, AuditNote } from '../../../src/domain/audit-entry.ts';
import type { Clock, Log } from '../../../src/domain/ports.ts';
import { type FileCheckpointer, openCheckpointer } from '../../../src/engine/audit/checkpointer.ts';
import {
  CheckpointFile,
  checkpointFileOf,
  databaseLineWith,
  linkEntry,
  loadOrCreateKey,
  publicKeyFileOf,
  readPublicKeys,
  signingWith,
} from '../../../src/engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../../../src/engine/audit/sources.ts';
import { SqlReader } from '../../../src/store/reader.ts';
import { migrate, openDatabase, type SqliteDb, SqliteWork } from '../../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { countingIds } from '../../support/engine-on-platform.ts';

const TRIGGERS = ['audit_no_update', 'audit_no_delete', 'checkpoints_no_update', 'checkpoints_no_delete'];

export function steppingClock(): Clock {
  let now = 1_800_000_000_000;
  const step = () => (now += 1_000);
  return { nowMs: step, monotonicMs: step, sleep: async () => undefined };
}

export function noteOf(number: number): AuditNote {
  const body = { intent: `intent-${number}`, action: 'ban_device', target: `SN-${number}`, at: '1750000000000000001' };
  return { kind: 'intent.planned', body };
}

export interface OpenChain {
  store: SqliteStore;
  checkpointer: FileCheckpointer;
  /** The log, one entry per line. */
  logged: string[];
  close(): Promise<void>;
}

/** A folder with one database; it can be opened repeatedly, like by one process after another. */
export class ChainFolder {
  readonly folder: string;
  readonly file: string;
  readonly clock = steppingClock();

  /** Of this database, or of a new one in a folder of its own. */
  constructor(file = join(mkdtempSync(join(tmpdir(), 'trustward-audit-')), 'trustward.db')) {
    this.file = file;
    this.folder = dirname(file);
  }

  get checkpoints(): string {
    return checkpointFileOf(this.file);
  }

  /** `newId`: of a database at its birth. */
  async open(newId = countingIds().next): Promise<OpenChain> {
    const db = openDatabase(this.file);
    migrate(db);
    const file = new CheckpointFile(this.checkpoints);
    const hasSigned = Boolean(
      (await new SqlReader(new SqliteWork(db), this.clock).checkpointLines())?.length || file.lines()?.length,
    );
    const logged: string[] = [];
    const note = (_: object, message: string) => void logged.push(message);
    const log: Log = { debug: note, info: note, warn: note, error: note };
    let checkpointer: FileCheckpointer | undefined;
    const key = loadOrCreateKey(this.file, hasSigned);
    const keys = readPublicKeys(publicKeyFileOf(this.file));
    const sealed = () => void checkpointer?.publish();
    const store = new SqliteStore(db, linkEntry, this.clock, { ...signingWith(key, keys), sealed });
    const naming = { databaseLine: databaseLineWith(key), keys };
    checkpointer = await openCheckpointer({ store, file, ...naming, clock: this.clock, ids: { next: newId }, log });
    const published = checkpointer;
    const close = async () => {
      await published.publish();
      await store.close();
    };
    return { store, checkpointer, logged, close };
  }

  /** As many runs as needed, each of `perRun` entries and a checkpoint. */
  async fill(entries: number, perRun: number): Promise<void> {
    const chain = await this.open();
    await append(chain, entries, perRun);
    await chain.close();
  }

  /** Over a connection of its own, which sees what it changed and has not committed. */
  reading(): { db: SqliteDb; verify(): Promise<AuditCheck>; allow(): void } {
    const db = openDatabase(this.file);
    const sources = auditSourcesOf(this.file, new SqlReader(new SqliteWork(db), this.clock), this.clock);
    return {
      db,
      verify: () => verifyAudit(sources),
      allow: () => {
        for (const name of TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
        sources.tableDifferences = async () => []; // the missing triggers; what is verified here is the chain
      },
    };
  }

  async verify(): Promise<AuditCheck> {
    const { db, verify } = this.reading();
    try {
      return await verify();
    } finally {
      db.close();
    }
  }

  /** Like an intruder who may write to the database: drops triggers, changes rows, and makes the triggers anew. */
  tamper(work: (db: SqliteDb) => void): void {
    const { db, allow } = this.reading();
    const objects = (what: string) =>
      db.all<{ name: string; of: string; sql: string }>(
        `SELECT name, tbl_name AS of, sql FROM sqlite_schema WHERE type = '${what}'`,
      );
    const before = objects('trigger');
    allow();
    db.transaction(() => work(db));
    const left = new Set([...objects('table'), ...objects('trigger')].map(({ name }) => name));
    for (const { name, of, sql } of before) if (left.has(of) && !left.has(name)) db.exec(sql);
    db.close();
  }

  backUp(to: string): void {
    const db = openDatabase(this.file);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    copyFileSync(this.file, to);
  }

  restore(from: string): void {
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.file}${suffix}`, { force: true });
    copyFileSync(from, this.file);
  }

  lines(): string[] {
    return new CheckpointFile(this.checkpoints).lines() ?? [];
  }

  /** The line that names the database, or nothing. */
  named(): string[] {
    return new CheckpointFile(this.checkpoints).look().named?.split('\n') ?? [];
  }

  /** The checkpoints; the line that names the database stays. */
  writeLines(lines: readonly string[], named = this.named()): void {
    writeFileSync(this.checkpoints, [...named, ...lines].map((line) => `${line}\n`).join(''));
  }

  addTorn(text: string): void {
    appendFileSync(this.checkpoints, text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function append({ store, checkpointer }: OpenChain, entries: number, perRun: number): Promise<void> {
  const { seq } = await store.auditHead();
  for (let done = 0; done < entries; done += perRun) {
    const count = Math.min(perRun, entries - done);
    await store.appendAudit(Array.from({ length: count }, (_, index) => noteOf(seq + done + index + 1)));
    await checkpointer.seal();
  }
}
