// scenario: somebody who can write to the database file, but has no key, deletes a stop and hides it: in a forged record of the tables, in a
// trigger that the engine runs itself, behind an index, or by taking back the end of the audit. Nothing is called.
import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { checkpointHash } from '../../src/domain/checkpoint.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import {
  addExemption,
  type ExemptionRequest,
  resumeEverything,
  stopEverything,
} from '../../src/engine/operate/commands.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const NOBODY = { by: 'ada', reason: 'test' };
/** What the audit records of a table without rows. */
let empty: string;
let org: Organization;

beforeEach(async () => {
  // One after the other: what is edited between two calls is before the second.
  const env = { TRUSTWARD_ACT_CONCURRENCY: '1' };
  org = await startOrganization({ devices: 80, rules: { ban: BAN_COMPROMISED }, env });
  org.console.fleet.addDevice({ serial: 'SN-1', mdm_compromised: 'TRUE' });
  await org.run('enforce');
  expect(org.effects('device_banned')).toHaveLength(1);
  org.console.fleet.addDevice({ serial: 'SN-2', mdm_compromised: 'TRUE' });
  empty = lastTables().stop_switch as string;
  await stopEverything(engine(), NOBODY);
});
afterEach(() => org.close());

const engine = () => org.composition.engine;

function byHand(work: (db: Database.Database) => void): void {
  const db = new Database(org.dbFile);
  try {
    work(db);
  } finally {
    db.close();
  }
}

function lastTables(): Record<string, string> {
  let line = '{}';
  byHand((db) => {
    line = (db.prepare('SELECT line FROM checkpoints ORDER BY size DESC LIMIT 1').get() as { line: string }).line;
  });
  return (JSON.parse(line) as { tables: Record<string, string> }).tables;
}

async function expectNothingCalled(): Promise<void> {
  await org.run('enforce').catch(() => {});
  expect(org.effects('device_banned')).toHaveLength(1);
  expect(engine().daemonMode).toBe('dry-run');
}

async function whileAway(work: (db: Database.Database) => void): Promise<void> {
  await org.composition.close();
  byHand(work);
  await org.restart();
}

/** A checkpoint over the whole chain, as the engine would make it, but not signed by its key. */
function forgeCheckpoint(db: Database.Database, tables: Record<string, string> | undefined): void {
  const end = db.prepare('SELECT seq AS size, hash AS head, at FROM audit ORDER BY seq DESC LIMIT 1').get() as {
    size: number;
    head: string;
    at: number;
  };
  const last = db.prepare('SELECT line FROM checkpoints ORDER BY size DESC LIMIT 1').get() as { line: string };
  const { keyId, signature } = JSON.parse(last.line) as { keyId: string; signature: string };
  const line = canonicalJson({ ...end, previous: checkpointHash(last.line), keyId, signature, tables });
  db.prepare('INSERT INTO checkpoints (size, line) VALUES (?, ?)').run(end.size, line);
}

/** Adds a row to the audit, well linked, so that a checkpoint can be forged over it. */
function append(db: Database.Database): void {
  const end = db.prepare('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1').get() as {
    seq: number;
    hash: string;
  };
  const at = Date.now();
  const bytes = canonicalJson({ at, body: {}, kind: 'run.finished' });
  const insert = db.prepare('INSERT INTO audit (seq, at, kind, bytes, prev, hash) VALUES (?, ?, ?, ?, ?, ?)');
  insert.run(end.seq + 1, at, 'run.finished', bytes, end.hash, linkEntry(end.hash, end.seq + 1, bytes));
}

describe('a checkpoint in the database that the key did not sign', () => {
  it('does not record tables', async () => {
    await whileAway((db) => {
      db.exec('DELETE FROM stop_switch');
      append(db);
      forgeCheckpoint(db, { ...lastTables(), stop_switch: empty });
    });
    await expectNothingCalled();
  });

  it('does not make the tables unrecorded', async () => {
    await whileAway((db) => {
      db.exec('DELETE FROM stop_switch');
      append(db);
      forgeCheckpoint(db, undefined);
    });
    await expectNothingCalled();
  });
});

it('an entry before the last one, with another digest written into it, does not record tables', async () => {
  await engine().store.appendAudit([{ kind: 'alert.raised', body: {} }]);
  byHand((db) => {
    db.exec('DELETE FROM stop_switch; DROP TRIGGER audit_no_update');
    db.prepare(`UPDATE audit SET bytes = json_set(bytes, '$.digests.stop_switch', ?)
      WHERE bytes LIKE '%"digests":%"stop_switch"%'`).run(empty);
    db.exec(
      "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END",
    );
  });
  await expectNothingCalled();
});

const TRIGGER = 'CREATE TRIGGER helpful AFTER INSERT ON runs BEGIN DELETE FROM stop_switch; END';

describe('a trigger that somebody put into the database', () => {
  it('under the engine never runs as its own change', async () => {
    byHand((db) => db.exec(TRIGGER));
    await expectNothingCalled();
    expect(await engine().store.stop()).toBeDefined();
  });

  it('while no engine runs is refused at the start, before it could run', async () => {
    const start = whileAway((db) => db.exec(TRIGGER));
    await expect(start).rejects.toMatchObject({ code: 'store_edited', message: expect.stringContaining('`helpful`') });
    byHand((db) => {
      expect(db.prepare('SELECT * FROM stop_switch').all()).toHaveLength(1);
      db.exec('DROP TRIGGER helpful');
    });
    await org.restart();
    expect(org.composition.health.fault()).toBeUndefined();
  });

  it('is found by a verification', async () => {
    byHand((db) => db.exec(TRIGGER));
    const { tables } = await org.composition.verifyAudit();
    expect(tables).toEqual([{ table: 'sqlite_schema', text: expect.stringContaining('`helpful`') }]);
  });
});

/** An index keeps what was left out of it while it had another form for a moment. */
function emptyIndex(db: Database.Database, name: string, none: string): void {
  db.unsafeMode();
  db.pragma('writable_schema = ON');
  const form = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name) as string;
  const set = db.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?');
  set.run(none, name);
  const other = new Database(org.dbFile);
  other.exec(`REINDEX ${name}`);
  other.close();
  set.run(form, name);
}

describe('a row that was taken out of an index, not out of its table,', () => {
  it('is in force, if it is an exemption', async () => {
    const subject = { kind: 'device', id: 'd-1' } as const;
    await addExemption(
      engine(),
      { subject, unseen: true, owner: 'o', reason: 'r', until: '1h' } as ExemptionRequest,
      'ada',
    );
    const before = await engine().store.exemptions(Date.now());
    expect(before).toHaveLength(1);
    const none = 'CREATE INDEX exemptions_in_force ON exemptions (expires_at) WHERE expires_at < 0';
    byHand((db) => emptyIndex(db, 'exemptions_in_force', none));
    expect(await engine().store.exemptions(Date.now())).toEqual(before);
  });

  it('is missed at the start, and nothing is called', async () => {
    await resumeEverything(engine(), NOBODY);
    const none = "CREATE INDEX claims_status ON claims (status, target) WHERE status = ''";
    await whileAway((db) => emptyIndex(db, 'claims_status', none));
    expect(org.composition.health.fault()).toMatchObject({ kind: 'corrupt' });
    await expectNothingCalled();
  });
});

it('a stop that is deleted in the middle of a run is missed before the next call', async () => {
  await resumeEverything(engine(), NOBODY);
  org.console.fleet.addDevice({ serial: 'SN-3', mdm_compromised: 'TRUE' });
  const { store } = engine();
  const { settle } = store;
  store.settle = async (settled) => {
    await settle.call(store, settled);
    await stopEverything(engine(), NOBODY);
    byHand((db) => db.exec('DELETE FROM stop_switch'));
  };
  await org.run('enforce').catch(() => {});
  expect(org.effects('device_banned')).toHaveLength(2);
  expect(engine().daemonMode).toBe('dry-run');
});

it('the database of before a stop, put back while no engine runs, is taken for a restored one', async () => {
  await resumeEverything(engine(), NOBODY);
  byHand((db) => db.pragma('wal_checkpoint(TRUNCATE)'));
  copyFileSync(org.dbFile, `${org.dbFile}.old`);
  await stopEverything(engine(), NOBODY);
  await org.composition.close();
  copyFileSync(`${org.dbFile}.old`, org.dbFile);
  await org.restart();
  await expectNothingCalled();
});
