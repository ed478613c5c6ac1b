// test: every way to tamper with a row of an audit chain, and whether verification names the row. Each change is made
// in a transaction that is rolled back after verifying.

import type { AuditCheck, AuditEntry } from '../../../src/domain/audit-entry.ts';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import type { SqliteDb } from '../../../src/store/sqlite/database.ts';
import { ChainFolder } from './checkpoint-chain.ts';

export const KINDS = ['edit', 'delete', 'insert', 'swap', 'cut', 're-chain'] as const;
export type Kind = (typeof KINDS)[number];

export interface Tally {
  tampered: number;
  found: number;
  named: number;
  /** The first few that were not detected or named. */
  missed: string[];
}

export const CHAIN = 2_000;

/** Rows `from`, `from + step` … of the chain, each in every possible way. */
export async function tamperWithRows(from: number, step: number): Promise<Record<Kind, Tally>> {
  const folder = new ChainFolder();
  try {
    await folder.fill(CHAIN, 37);
    const { db, verify, allow } = folder.reading();
    allow();
    const tallies = {} as Record<Kind, Tally>;
    for (const kind of KINDS) {
      tallies[kind] = { tampered: 0, found: 0, named: 0, missed: [] };
      for (let row = from; row <= CHAIN; row += step) {
        if (row === CHAIN && (kind === 'insert' || kind === 'swap')) continue; // there is none after the last
        db.exec('BEGIN');
        TAMPER[kind](db, row);
        count(tallies[kind], kind, row, await verify());
        db.exec('ROLLBACK');
      }
    }
    const whole = await verify();
    if (!whole.ok) throw new Error(`the chain itself is broken: ${whole.bad?.reason}`);
    db.close();
    return tallies;
  } finally {
    folder.remove();
  }
}

export function describeTallies(tallies: Record<Kind, Tally>): string {
  return KINDS.map((kind) => {
    const { tampered, found, named } = tallies[kind];
    return `${kind}: ${tampered} tampered, ${found} found, ${named} named\n`;
  }).join('');
}

function count(tally: Tally, kind: Kind, row: number, { ok, bad }: AuditCheck): void {
  tally.tampered += 1;
  if (!ok) tally.found += 1;
  // The row after a well-linked inserted row exposes it: it does not follow.
  const isNamed =
    bad !== undefined && (names(bad, row) || (kind === 'insert' && (names(bad, row + 1) || names(bad, row + 2))));
  if (isNamed) tally.named += 1;
  else if (tally.missed.length < 5) tally.missed.push(`${kind} ${row}: ${JSON.stringify(bad)}`);
}

/** The row itself, or a stretch up to a checkpoint that contains it. */
function names(bad: NonNullable<AuditCheck['bad']>, row: number): boolean {
  return bad.checkpoint === undefined ? bad.seq === row : bad.seq <= row && row <= bad.checkpoint;
}

const TAMPER: Record<Kind, (db: SqliteDb, row: number) => void> = {
  edit,
  delete: (db, row) => void db.run('DELETE FROM audit WHERE seq = ?', row),
  insert,
  swap,
  cut: (db, row) => void db.run('DELETE FROM audit WHERE seq >= ?', row),
  're-chain': rechain,
};

/** Another column of each row in turn. */
function edit(db: SqliteDb, row: number): void {
  const changes = [
    "bytes = replace(bytes, 'SN-', 'SX-')",
    "kind = 'intent.dry'",
    'at = at + 1',
    "hash = replace(hash, substr(hash, 1, 1), 'g')",
    "prev = replace(prev, substr(prev, 1, 1), 'g')",
  ];
  db.run(`UPDATE audit SET ${changes[row % changes.length]} WHERE seq = ?`, row);
}

function rowAt(db: SqliteDb, seq: number): AuditEntry {
  return db.get<AuditEntry>('SELECT * FROM audit WHERE seq = ?', seq) as AuditEntry;
}

/** A new row after this one, properly linked; those after it move up. */
function insert(db: SqliteDb, row: number): void {
  db.run('UPDATE audit SET seq = -seq - 1 WHERE seq > ?', row);
  db.run('UPDATE audit SET seq = -seq WHERE seq < 0');
  const before = rowAt(db, row);
  const bytes = before.bytes.replace('SN-', 'SX-');
  const hash = linkEntry(before.hash, row + 1, bytes);
  db.insert('audit', { seq: row + 1, at: before.at, kind: before.kind, bytes, prev: before.hash, hash });
}

function swap(db: SqliteDb, row: number): void {
  db.run('UPDATE audit SET seq = -1 WHERE seq = ?', row);
  db.run('UPDATE audit SET seq = ? WHERE seq = ?', row, row + 1);
  db.run('UPDATE audit SET seq = ? WHERE seq = -1', row + 1);
}

/** Changes a row and links it and everything after it again, so that the chain by itself is whole. */
export function rechain(db: SqliteDb, row: number): void {
  let prev = rowAt(db, row).prev;
  for (const entry of db.all<AuditEntry>('SELECT * FROM audit WHERE seq >= ? ORDER BY seq', row)) {
    const bytes = entry.seq === row ? entry.bytes.replace('SN-', 'SX-') : entry.bytes;
    const hash = linkEntry(prev, entry.seq, bytes);
    db.run('UPDATE audit SET bytes = ?, prev = ?, hash = ? WHERE seq = ?', bytes, prev, hash, entry.seq);
    prev = hash;
  }
}
