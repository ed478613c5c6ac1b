// harness: somebody who can write to the database file changes what acting rests on, or appends a well-linked audit entry. In: dice and
// the database. Out: which table, and whether life goes on as before once people accept it.

import { canonicalJson } from '../../src/base/json.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { headOf } from '../../src/store/audit-rows.ts';
import { answered, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { beside } from '../support/memory-database.ts';
import type { Dice } from './dice.ts';
import type { Ledger } from './ledger.ts';
import type { SimClock } from './sim-clock.ts';
import { ACTION_OF } from './truth.ts';
import type { World } from './world.ts';

export interface EditParts {
  db: SqliteDb;
  clock: SimClock;
  dice: Dice;
  world: World;
  ledger: Ledger;
}

interface Edit {
  table: string;
  /** Accepted, it is what the checker cannot see: an episode, a claim or attempts that never were. */
  isLie: boolean;
  /** False: there is nothing of the kind to change. */
  make(parts: EditParts): boolean;
}

const EDITS: readonly Edit[] = [
  { table: 'stop_switch', isLie: false, make: ({ db }) => db.run('DELETE FROM stop_switch') > 0 },
  { table: 'exemptions', isLie: false, make: insertExemption },
  { table: 'claims', isLie: true, make: moveClaim },
  { table: 'plans', isLie: false, make: approvePlans },
  { table: 'attempts', isLie: true, make: ({ db }) => db.run('DELETE FROM attempts') > 0 },
  { table: 'attempt_counts', isLie: true, make: ({ db }) => db.run('DELETE FROM attempt_counts') > 0 },
  { table: 'episodes', isLie: true, make: reopenEpisode },
  { table: 'audit', isLie: false, make: appendEntry },
];

export function editBeside(parts: EditParts): Edit {
  return beside(parts.db, () => {
    for (;;) {
      const edit = parts.dice.pick(EDITS);
      if (edit.make(parts)) return edit;
    }
  });
}

function insertExemption({ db, clock, dice, world, ledger }: EditParts): boolean {
  const { id: device } = dice.pick(world.born.devices);
  const id = `by hand ${clock.trueMs}`;
  const now = clock.nowMs();
  db.insert('exemptions', {
    id,
    subject_kind: 'device',
    subject_id: device,
    owner: 'ada',
    reason: 'by hand',
    expires_at: now + 365 * 86_400_000,
    created_at: now,
    created_by: 'ada',
  });
  // It may be obeyed once it is accepted, and need not be before.
  const never = Number.POSITIVE_INFINITY;
  ledger.exemptions.set(id, { about: `device ${device}`, fromMs: never, toMs: never });
  return true;
}

function moveClaim({ db, dice, world }: EditParts): boolean {
  const sql = "SELECT id, target FROM claims WHERE status IN ('standing', 'orphaned') AND action = ? ORDER BY id";
  const claims = db.all<{ id: string; target: string }>(sql, ACTION_OF.ban);
  if (claims.length === 0) return false;
  const { id, target } = dice.pick(claims);
  const { serial } = dice.pick(world.born.devices);
  return serial !== target && db.run('UPDATE OR IGNORE claims SET target = ? WHERE id = ?', serial, id) > 0;
}

function approvePlans({ db, clock }: EditParts): boolean {
  const sql = "UPDATE plans SET status = 'approved', decided_at = ?, decided_by = 'ada' WHERE status = 'pending'";
  return db.run(sql, clock.nowMs()) > 0;
}

function reopenEpisode({ db }: EditParts): boolean {
  return (
    db.run(`UPDATE episodes SET state = 'matching', closed_at = NULL, close_reason = NULL WHERE id = (
      SELECT id FROM episodes AS closed WHERE state = 'closed' AND NOT EXISTS (SELECT 1 FROM episodes
        WHERE state <> 'closed' AND rule = closed.rule AND kind = closed.kind AND subject = closed.subject)
      ORDER BY closed_at DESC, id DESC LIMIT 1)`) > 0
  );
}

function appendEntry({ db, clock }: EditParts): boolean {
  const end = answered(db, headOf);
  const [seq, at, kind] = [end.seq + 1, clock.nowMs(), 'plan.approved'];
  const bytes = canonicalJson({ at, kind, body: { plan: 'any', digest: 'any' } });
  db.insert('audit', { seq, at, kind, bytes, prev: end.hash, hash: linkEntry(end.hash, seq, bytes) });
  return true;
}
