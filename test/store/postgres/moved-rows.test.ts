// store: rows that a move took from SQLite: everything that the store shows is the same on both sides, whatever was recorded there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import { moveRows } from '../../../src/store/postgres/postgres-work.ts';
import { migrate, openDatabase } from '../../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { everythingRead } from '../../support/everything-read.ts';
import { FakeClock } from '../../support/platform.ts';
import { CALLS, outcomeOf } from '../../support/ports-script.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

describe.skipIf(hasNoPostgres)(`moved rows${NEEDS_POSTGRES}`, () => {
  const postgres = new InPostgres();
  const dir = mkdtempSync(join(tmpdir(), 'trustward-moved-'));
  beforeAll(() => postgres.prepare(), 180_000);
  afterAll(async () => {
    await postgres.end();
    rmSync(dir, { recursive: true, force: true });
  });

  it('show the same as the file, and are followed as before', async () => {
    const clock = new FakeClock();
    const db = openDatabase(join(dir, 'trustward.db'));
    migrate(db);
    const source = new SqliteStore(db, linkEntry, clock);
    for (const [, call] of CALLS) await outcomeOf(() => call(source, clock));
    const organization = newOrganization();
    const rows = await moveRows({
      pool: postgres.pool,
      organization,
      source: db,
      clock,
      check: async (reader) => expect(await reader.tableDifferences()).toEqual([]),
      mark: () => source.markMoved('there', [{ kind: 'database.moved', body: { to: 'there' } }]),
    });
    expect([...rows].filter(([, count]) => count > 0).length).toBeGreaterThan(20);
    const moved = await postgres.openAs(organization, clock);
    expect(await everythingRead(moved, clock.nowMs())).toEqual(await everythingRead(source, clock.nowMs()));
    const [call] = CALLS.map(([, one]) => one);
    for (const store of [source, moved]) await outcomeOf(() => call?.(store, clock));
    expect(await moved.tableDifferences()).toEqual([]);
    expect((await moved.auditHead()).seq).toBe((await source.auditHead()).seq);
    await moved.close();
    await source.close();
  });

  it('of a table that PostgreSQL does not have are not left behind: nothing is moved', async () => {
    const clock = new FakeClock();
    const db = openDatabase(join(dir, 'other.db'));
    migrate(db);
    const source = new SqliteStore(db, linkEntry, clock);
    db.exec('CREATE TABLE another (id TEXT)');
    const organization = newOrganization();
    const parts = { pool: postgres.pool, organization, source: db, clock, check: async () => {}, mark: async () => {} };
    await expect(moveRows(parts)).rejects.toThrow(/different columns \(`another\.id`\)/);
    await source.close();
  });
});
