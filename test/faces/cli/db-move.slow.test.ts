// commands: `db move`: a SQLite file becomes an organization in PostgreSQL, whole or not at all; both never act, and what people ask is answered
// as before.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import {
  type Cluster,
  hasNoPostgres,
  migratedDatabase,
  NEEDS_POSTGRES,
  sharedCluster,
} from '../../support/postgres.ts';

let org: Organization;
let cluster: Cluster;
let name: string;
let there: Record<string, string>;

beforeEach(async () => {
  if (hasNoPostgres) return;
  cluster = await sharedCluster();
  name = await migratedDatabase(cluster);
  org = await startOrganization({ devices: 200, compromised: 3, env: { TRUSTWARD_HISTORY: '30d' } });
  await org.run('enforce');
  org.console.fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
  await org.run('enforce');
  await org.composition.close();
  there = { ...org.env, TRUSTWARD_DB: cluster.url(name), TRUSTWARD_STATE: join(org.dir, 'state') };
}, 180_000);
afterEach(async () => {
  if (hasNoPostgres) return;
  await org.close();
  await cluster.dropDatabase(name);
});

const move = (...more: string[]) =>
  command(['db', 'move', '--to', there.TRUSTWARD_DB as string, ...more], { ...there, TRUSTWARD_DB: org.dbFile });
const rowsThere = async (table: string) => {
  const { rows } = await cluster.query(`SELECT count(*)::int AS count FROM trustward.${table}`, name);
  return rows[0].count as number;
};

const QUESTIONS = [
  ['audit', 'verify'],
  ['audit', 'list', '--limit', '500'],
  ['decisions', '--limit', '500'],
  ['claims', 'list', '--all'],
  ['why', 'LATER-1'],
  ['runs'],
  ['tokens', 'list', '--all'],
];

describe.skipIf(hasNoPostgres)(`a moved database${NEEDS_POSTGRES}`, () => {
  it('answers as the file did, has its files beside it, and goes on where it ended', async () => {
    await command(['tokens', 'add', 'dashboard', '--scope', 'read'], org.env);
    await command(['stop', '--reason', 'a drill'], org.env);
    const answer = await move('--format', 'json');
    expect(answer).toMatchObject({ code: 0, err: '' });
    const { rows } = JSON.parse(answer.out);
    expect(rows).toMatchObject({ runs: 2, claims: 4, stop_switch: 1, endpoint_tokens: 1 });
    for (const question of QUESTIONS) {
      const asked = [...question, '--format', 'json'];
      const [before, after] = [await command(asked, org.env), await command(asked, there)];
      expect({ question, code: before.code }).toEqual({ question, code: 0 });
      expect({ question, after: withoutPlaces(after.out) }).toEqual({ question, after: withoutPlaces(before.out) });
      expect(after).toMatchObject({ code: 0, err: before.err });
    }
    const beside = join(org.dir, 'state', 'default');
    expect(statSync(beside).mode & 0o777).toBe(0o700);
    for (const end of ['audit-key', 'audit-key.pub', 'checkpoints']) {
      expect(statSync(join(beside, `trustward.${end}`)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(beside, `trustward.${end}`))).toEqual(readFileSync(`${org.dbFile}.${end}`));
    }
    expect(existsSync(join(beside, 'trustward.history'))).toBe(true);
    await command(['resume', '--reason', 'it is over'], there);
    org.console.fleet.addDevice({ serial: 'LATER-2', mdm_compromised: 'TRUE' });
    const run = await command(['run', '--mode', 'enforce', '--format', 'json'], there);
    expect(JSON.parse(run.out).run).toMatchObject({ seq: 3, daemonMode: 'enforce' });
    expect(org.effects('device_banned')).toHaveLength(5);
    expect(await command(['audit', 'verify'], there)).toMatchObject({ code: 0 });
  });

  it('is the only one that is written to', async () => {
    await move();
    for (const asked of [['run'], ['stop', '--reason', 'a drill'], ['audit', 'new-key', '--reason', 'a drill']]) {
      const { code, err } = await command(asked, org.env);
      expect({ asked, code, err }).toMatchObject({
        code: 2,
        err: expect.stringMatching(/was moved to .*set TRUSTWARD_DB/),
      });
    }
    expect(await command(['audit', 'verify'], org.env)).toMatchObject({ code: 0 });
  });

  it('is found whole when the move is repeated, and moved nowhere else', async () => {
    await move();
    const entries = await rowsThere('audit');
    expect(await move()).toMatchObject({ code: 0, out: expect.stringContaining('it is whole there') });
    expect(await rowsThere('audit')).toBe(entries);
    const elsewhere = await migratedDatabase(cluster);
    const args = ['db', 'move', '--to', cluster.url(elsewhere)];
    const { code, err } = await command(args, { ...there, TRUSTWARD_DB: org.dbFile });
    await cluster.dropDatabase(elsewhere);
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('already') });
  });

  it('has new numbers above those that came, also beside an organization with higher ones', async () => {
    await cluster.query('ALTER SEQUENCE trustward.events_no_seq RESTART WITH 70000', name);
    await move();
    const { rows } = await cluster.query(
      `SELECT (SELECT last_value FROM trustward.events_no_seq) > (SELECT coalesce(max(no), 0) FROM trustward.events) AS events,
        (SELECT last_value FROM trustward.events_no_seq) >= 70000 AS kept,
        (SELECT last_value FROM trustward.decisions_rowid_seq) > (SELECT max(rowid) FROM trustward.decisions) AS decisions`,
      name,
    );
    expect(rows[0]).toEqual({ events: true, kept: true, decisions: true });
  });
});

describe.skipIf(hasNoPostgres)(`a move is refused, and changes nothing,${NEEDS_POSTGRES}`, () => {
  const alter = (sql: string) => {
    const db = new Database(org.dbFile);
    db.exec(sql);
    db.close();
  };

  it.each<[string, () => unknown, RegExp]>([
    ['to an organization with rows', () => command(['run', '--mode', 'dry-run'], there), /has rows in .* already/],
    [
      'of an edited audit',
      () => alter("DROP TRIGGER audit_no_update; UPDATE audit SET bytes = bytes || ' ' WHERE seq = 3"),
      /no trigger|broken at entry 3/,
    ],
    [
      'of changed tables',
      () => alter("UPDATE claims SET target = 'device:x' WHERE rowid = 1"),
      /changed beside the engine/,
    ],
    [
      'into the folder of another key',
      () => {
        mkdirSync(join(org.dir, 'state', 'default'), { recursive: true });
        writeFileSync(join(org.dir, 'state', 'default', 'trustward.audit-key'), 'of another');
      },
      /key of another database/,
    ],
    ['without a file', () => rmSync(org.dbFile), /there is no database/],
  ])('%s', async (_, happen, says) => {
    await happen();
    const before = await rowsThere('audit');
    const { code, err } = await move();
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringMatching(says) });
    expect(await rowsThere('audit')).toBe(before);
    if (!existsSync(org.dbFile)) return;
    const db = new Database(org.dbFile);
    expect(db.prepare("SELECT 1 FROM meta WHERE key = 'moved_to'").all()).toEqual([]);
    db.close();
  });

  it.each<[string, string[], string, RegExp]>([
    ['to what is no address', ['--to', 'trustward.db'], '', /--to is `trustward.db`/],
    ['to an address with a password', ['--to', 'postgres://a:secret@127.0.0.1/b'], '', /--to holds a password/],
    ['from PostgreSQL', ['--to', 'postgres://a@127.0.0.1/b'], 'postgres://a@127.0.0.1/c', /give the file.*--db/],
  ])('%s', async (_, args, from, says) => {
    const env = { ...there, TRUSTWARD_DB: from || org.dbFile };
    const { code, err } = await command(['db', 'move', ...args], env);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(says) });
    expect(err).not.toContain('secret');
  });
});

/** The file is named in answers, and so is the database; the last entry is the move. */
/** Without where it is, and when it was asked. */
function withoutPlaces(text: string): string {
  return text
    .replaceAll(/"at": "[^"]+"/g, '"at": 0')
    .replaceAll(org.dbFile, 'DATABASE')
    .replaceAll(there.TRUSTWARD_DB as string, 'DATABASE')
    .replaceAll(join(org.dir, 'state', 'default', 'trustward'), 'DATABASE');
}
