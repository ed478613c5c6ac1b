// scenario: somebody who can write to the database file changes rows beside the engine, under it or while it is away: nothing is called,
// the difference is named, and it lasts until a person accepts it.
import { readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AppError } from '../../src/domain/errors.ts';
import { acceptTables } from '../../src/engine/audit/archive.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import {
  addExemption,
  type ExemptionAsked,
  resumeEverything,
  stopEverything,
} from '../../src/engine/operate/commands.ts';
import { addToken, revokeToken } from '../../src/engine/operate/endpoint-tokens.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemIds } from '../../src/runtime/system/ids.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const NOBODY = { by: 'ada', reason: 'test' };
let org: Organization;

beforeEach(async () => {
  org = await startOrganization({ devices: 80, rules: { ban: BAN_COMPROMISED } });
  compromised('SN-1');
  await org.run('enforce');
  expect(org.effects('device_banned')).toHaveLength(1);
  compromised('SN-2');
});
afterEach(() => org.close());

function compromised(serial: string): void {
  org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
}

function byHand(sql: string, ...values: unknown[]): void {
  const db = new Database(org.dbFile);
  try {
    expect(db.prepare(sql).run(...values).changes).toBeGreaterThan(0);
  } finally {
    db.close();
  }
}

/** As somebody edits who knows of the trigger, and puts it back. */
function past(trigger: string, edit: (db: Database.Database) => unknown): void {
  const db = new Database(org.dbFile);
  const { sql } = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(trigger) as { sql: string };
  db.exec(`DROP TRIGGER ${trigger}`);
  edit(db);
  db.exec(sql);
  db.close();
}

const HOUR = 3_600_000;
const engine = () => org.composition.engine;
const stop = () => stopEverything(engine(), NOBODY);

/** Each prepares what it edits, and edits it. */
const EDITS: Record<string, { prepare?: () => Promise<unknown>; edit: () => void; table: string }> = {
  'a deleted stop': {
    prepare: stop,
    edit: () => byHand('DELETE FROM stop_switch'),
    table: 'table `stop_switch` has 0 rows, and the audit records 1',
  },
  'an exemption that nobody gave': {
    edit: () =>
      byHand(
        `INSERT INTO exemptions (id, subject_kind, subject_id, owner, reason, expires_at, created_at, created_by)
         VALUES ('x', 'device', 'd', 'o', 'r', ?, ?, 'ada')`,
        Date.now() + HOUR,
        Date.now(),
      ),
    table: 'table `exemptions` has 1 row, and the audit records 0',
  },
  'a token that nobody gave': {
    edit: () =>
      byHand(
        `INSERT INTO endpoint_tokens (id, name, scope, hash, created_at, created_by) VALUES ('t', 'mine', 'admin', ?, ?, 'ada')`,
        'ab'.repeat(32),
        Date.now(),
      ),
    table: 'table `endpoint_tokens` has 1 row, and the audit records 0',
  },
  'a claim that was moved to another device': {
    edit: () => byHand("UPDATE claims SET target = 'SN-9'"),
    table: 'table `claims` has 1 row as the audit records, with other contents',
  },
  'attempts that were forgotten': {
    edit: () => byHand('DELETE FROM attempt_counts'),
    table: 'table `attempt_counts` has 0 rows, and the audit records 1',
  },
};

async function expectNothingCalled(text: string): Promise<void> {
  const error = (await org.run('enforce').then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as AppError | undefined;
  const fault = org.composition.health.fault();
  expect(fault).toMatchObject({ kind: 'edited', text: expect.stringContaining(text) });
  if (error) expect(error).toMatchObject({ code: 'store_edited', message: expect.stringContaining(text) });
  expect(org.effects('device_banned')).toHaveLength(1);
  expect(engine().daemonMode).toBe('dry-run');
  expect(await org.composition.verifyAudit()).toMatchObject({ ok: false, bad: undefined });
}

describe.each(Object.entries(EDITS))('%s', (_, { prepare, edit, table }) => {
  it('under the engine is named before the first call, and nothing is called', async () => {
    await prepare?.();
    edit();
    if (prepare)
      await engine()
        .store.demandIntact()
        .catch(() => {});
    await expectNothingCalled(table);
    // It lasts: neither another run nor a restart takes the rows for its own.
    await org.run('enforce').catch(() => {});
    await org.restart();
    await expectNothingCalled(table);
  });

  it('while no engine runs is named at the start, and nothing is called', async () => {
    await prepare?.();
    await org.composition.close();
    edit();
    await org.restart();
    await expectNothingCalled(table);
  });

  it('is obeyed once a person accepted it and resumed', async () => {
    await prepare?.();
    edit();
    await org.restart();
    const { store, clock } = engine();
    const accepted = await acceptTables({ store: store as SqliteStore, clock }, NOBODY);
    expect(accepted?.text).toContain(table);
    await org.restart();
    expect(org.composition.health.fault()).toBeUndefined();
    expect(await org.composition.verifyAudit()).toMatchObject({ ok: true, tables: [] });
    await org.run('enforce');
    expect(org.effects('device_banned')).toHaveLength(1);
    await resumeEverything(engine(), NOBODY);
    await org.run('enforce');
    expect(org.effects('device_banned')).toHaveLength(2);
  });
});

/** A well-linked entry, as anybody can make one who reads the code. */
function appended(kind: string, body: object): void {
  const db = new Database(org.dbFile);
  const end = db.prepare('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1').get() as {
    seq: number;
    hash: string;
  };
  const at = Date.now();
  const bytes = JSON.stringify({ at, body, kind });
  const insert = db.prepare('INSERT INTO audit (seq, at, kind, bytes, prev, hash) VALUES (?, ?, ?, ?, ?, ?)');
  insert.run(end.seq + 1, at, kind, bytes, end.hash, linkEntry(end.hash, end.seq + 1, bytes));
  db.close();
}

it('a table that differs is named by `audit verify`, `doctor` and `/readyz`', async () => {
  const { table } = EDITS['a claim that was moved to another device'] as { table: string };
  await org.composition.close();
  EDITS['a claim that was moved to another device']?.edit();
  const env = { ...org.env, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' };
  for (const args of [['audit', 'verify'], ['doctor']]) {
    const { code, out } = await command(args, env);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(out.replaceAll(/\s+/g, ' ')).toContain(table);
  }
  const composition = await composeEngine(readConfig(env));
  const daemon = await startDaemon(composition);
  const answer = await fetch(`${daemon.url}/readyz`);
  const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; text: string }[] };
  await daemon.stop();
  await composition.close();
  expect(answer.status).toBe(503);
  expect(checks).toContainEqual({ name: 'database', ok: false, text: expect.stringContaining(table) });
});

it('a token that nobody gave opens nothing, also after the next change of tokens', async () => {
  EDITS['a token that nobody gave']?.edit();
  expect(await org.composition.tokens.inUse()).toEqual([]);
  expect(org.composition.health.fault()).toMatchObject({ kind: 'edited' });
});

describe('an audit entry that somebody appended, well linked', () => {
  it('under the engine ends its writing, and nothing is called', async () => {
    appended('stop.lifted', { by: 'ada' });
    await expect(org.run('enforce')).rejects.toMatchObject({ code: 'store_edited' });
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(org.composition.health.fault()).toMatchObject({ kind: 'edited' });
  });

  it('while no engine runs is not signed: nothing is written after it, and nothing is called', async () => {
    await org.composition.close();
    appended('stop.lifted', { by: 'ada' });
    await org.restart();
    const text = 'and the last one is not signed by the key of this database';
    expect(org.composition.health.fault()).toMatchObject({ kind: 'edited', text: expect.stringContaining(text) });
    await expect(org.run('enforce')).rejects.toMatchObject({ code: 'store_edited' });
    expect(org.effects('device_banned')).toHaveLength(1);
    const { tables } = await org.composition.verifyAudit();
    expect(tables).toEqual([{ table: 'audit', text: expect.stringContaining(text) }]);
  });
});

describe('a row edited together with what the audit has of it', () => {
  let former: string;

  /** The digests of the last checkpoint, which is older than the stop. */
  function lastLine(): { size: number; line: string } {
    const db = new Database(org.dbFile, { readonly: true });
    const row = db.prepare('SELECT size, line FROM checkpoints ORDER BY size DESC LIMIT 1').get();
    db.close();
    return row as { size: number; line: string };
  }
  const without = (text: string, table: string, digest: string) =>
    text.replace(new RegExp(`"${table}":"[^"]*"`), `"${table}":"${digest}"`);

  beforeEach(async () => {
    former = JSON.parse(lastLine().line).tables.stop_switch;
    await stop();
  });

  function editEntry(): void {
    byHand('DELETE FROM stop_switch');
    past('audit_no_update', (db) => {
      const { seq, bytes } = db.prepare("SELECT seq, bytes FROM audit WHERE kind = 'stop.set'").get() as never;
      db.prepare('UPDATE audit SET bytes = ? WHERE seq = ?').run(without(bytes, 'stop_switch', former), seq);
    });
  }

  /** The lines in the database and outside stay equal. */
  async function editCheckpoint(): Promise<void> {
    await engine().checkpointer?.seal();
    byHand('DELETE FROM stop_switch');
    const { size, line } = lastLine();
    const edited = without(line, 'stop_switch', former);
    past('checkpoints_no_update', (db) =>
      db.prepare('UPDATE checkpoints SET line = ? WHERE size = ?').run(edited, size),
    );
    const file = `${org.dbFile}.checkpoints`;
    writeFileSync(file, readFileSync(file, 'utf8').replace(line, edited));
  }

  it.each<[string, () => void | Promise<void>]>([
    ['entry', editEntry],
    ['last checkpoint', editCheckpoint],
  ])('is named before the first call, and nothing is called: its %s', async (_, edit) => {
    await edit();
    await org.run('enforce').catch(() => {});
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(org.composition.health.fault()).toMatchObject({ kind: 'edited' });
    await org.restart();
    await org.run('enforce').catch(() => {});
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(org.composition.health.fault()).toMatchObject({ kind: 'edited' });
    expect(await org.composition.verifyAudit()).toMatchObject({ ok: false });
  });
});

describe('the last entry cut off together with its row, while no engine runs', () => {
  const HELD: [string, () => Promise<unknown>, string][] = [
    ['a stop', stop, 'DELETE FROM stop_switch'],
    ['an exemption', () => exemptNobody(), 'DELETE FROM exemptions'],
    ['a revocation of a token', revoke, 'UPDATE endpoint_tokens SET revoked_at = NULL, revoked_by = NULL'],
  ];
  async function revoke(): Promise<void> {
    const parts = {
      tokens: org.composition.tokens,
      clock: systemClock,
      ids: systemIds(systemClock),
      secret: () => 'x'.repeat(40),
    };
    await addToken(parts, { name: 'lost', scope: 'admin' }, 'ada');
    await engine().checkpointer?.seal();
    await revokeToken(parts, 'lost', 'ada');
  }

  it.each(HELD)('is noticed: %s', async (_, hold, undo) => {
    await hold();
    await org.composition.close();
    byHand(undo);
    past('audit_no_delete', (db) => db.exec('DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)'));
    await org.restart();
    await org.run('enforce').catch(() => {});
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(await org.composition.verifyAudit()).toMatchObject({ ok: false });
  });
});

async function exemptNobody(): Promise<void> {
  const subject = { kind: 'device', id: 'nobody' } as const;
  await addExemption(
    engine(),
    { subject, unseen: true, owner: 'o', reason: 'r', until: '1h' } as ExemptionAsked,
    'ada',
  );
}

it('what the engine itself wrote never differs, whatever is exempted, stopped, banned, undone or restarted', async () => {
  await exemptNobody();
  await stop();
  await org.run('enforce');
  await resumeEverything(engine(), NOBODY);
  await org.run('enforce');
  await org.restart();
  await org.run('dry-run');
  expect(await (engine().store as SqliteStore).tableDifferences()).toEqual([]);
  expect(org.effects('device_banned')).toHaveLength(2);
});
