// test store: a database of each earlier version of the tables, with the rows of a real one, keeps its meaning in this version.
// `kept/tables-4` is an organization of 35 devices, written by the first version that ran whole: bans in force, one undone, one that a
// person reversed, one in doubt, a plan that waits, an exemption, and a stop in force; with its console.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Console, startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { migrate, openDatabase, readMigrations } from '../../src/store/sqlite/database.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, silentLog } from '../support/organization.ts';

const KEPT = new URL('./kept/tables-4/', import.meta.url).pathname;
const KEPT_VERSION = 4;
const DAY_MS = 86_400_000;
const migrations = readMigrations();
const latest = migrations.at(-1)?.version as number;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trustward-upgrade-'));
  file = join(folder, 'trustward.db');
  for (const name of readdirSync(KEPT)) {
    const bytes = readFileSync(join(KEPT, name));
    const plain = name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    writeFileSync(join(folder, name.replace(/\.gz$/, '')), plain, { mode: 0o600 });
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The database with these tables: the kept one, brought there, or its rows in the tables that there were before. */
function openAt(version: number) {
  const kept = file;
  if (version < KEPT_VERSION) file = join(folder, 'earlier.db');
  const db = openDatabase(file);
  const until = migrations.filter((migration) => migration.version <= version);
  migrate(db, until);
  if (version < KEPT_VERSION) {
    db.exec(`ATTACH '${kept}' AS kept`);
    const tables = db.all<{ name: string }>("SELECT name FROM main.sqlite_master WHERE type = 'table'");
    db.exec('PRAGMA foreign_keys = OFF');
    for (const { name } of tables) {
      const columns = columnsOf(db, 'main', name).filter((column) => columnsOf(db, 'kept', name).includes(column));
      db.exec(`INSERT INTO main.${name} (${columns.join()}) SELECT ${columns.join()} FROM kept.${name}`);
    }
    db.exec('PRAGMA foreign_keys = ON');
    db.exec('DETACH kept');
  }
  return db;
}

function columnsOf(db: ReturnType<typeof openDatabase>, schema: string, table: string): string[] {
  return db
    .all<{ name: string }>(`SELECT name FROM pragma_table_info('${table}', '${schema}')`)
    .map(({ name }) => name);
}

/** What a version can store in other ways, but never lose. */
const MEANING = {
  runs: 'SELECT seq, id, mode, status, started_at, finished_at FROM runs ORDER BY seq',
  episodes: 'SELECT id, rule, subject, since, state, overridden_at, close_reason FROM episodes ORDER BY id',
  decisions:
    'SELECT id, run_seq, ended_seq, rule, subject, verdict, decision, action, target, mode, facts, outcome FROM decisions ORDER BY id',
  intents:
    'SELECT id, action, target, undo, status, outcome, attempts, doubt_retries, sent_at FROM intents ORDER BY id',
  attempts: 'SELECT id, intent_id, action, target, sent_at, answered_at FROM attempts ORDER BY id',
  claims: 'SELECT id, episode_id, rule, action, target, status, opened_at, ended_at FROM claims ORDER BY id',
  plans: 'SELECT id, digest, mode, status, expires_at FROM plans ORDER BY id',
  events: 'SELECT id, created_at, type, severity, body FROM events ORDER BY id',
  baselines: 'SELECT source, count, taken_at FROM baselines ORDER BY source',
  audit: 'SELECT seq, at, kind, bytes, prev, hash FROM audit ORDER BY seq',
};
const FROM_3 = {
  exemptions: 'SELECT id, subject_id, owner, reason, expires_at, ended_at FROM exemptions ORDER BY id',
  stop: 'SELECT stopped_at, stopped_by, reason FROM stop_switch',
};
const FROM_2 = { checkpoints: 'SELECT size, line FROM checkpoints ORDER BY size' };

function meaningOf(path: string, version: number): Record<string, unknown[]> {
  const db = new Database(path, { readonly: true });
  try {
    const questions = { ...MEANING, ...(version >= 2 && FROM_2), ...(version >= 3 && FROM_3) };
    return Object.fromEntries(Object.entries(questions).map(([name, sql]) => [name, db.prepare(sql).all()]));
  } finally {
    db.close();
  }
}

describe.each(migrations.slice(0, -1).map(({ version }) => version))('a database of the tables %i', (version) => {
  it('keeps each run, decision, intent, claim, plan and audit entry in the tables of this version', () => {
    const before = meaningOf(file, version);
    expect(Object.values(before).filter((rows) => rows.length === 0)).toEqual([]);
    const db = openAt(version);
    expect(db.get('PRAGMA user_version')).toEqual({ user_version: version });
    expect(migrate(db)).toBe(latest);
    expect(db.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
    expect(db.all('PRAGMA foreign_key_check')).toEqual([]);
    db.close();
    expect(meaningOf(file, version)).toEqual(before);
  });
});

describe.each([3, 4, 12, 20])('with a database of the tables %i this version', (version) => {
  let server: Console;
  let env: Record<string, string>;
  beforeEach(async () => {
    server = await startConsole({
      listen: { host: '127.0.0.1', port: 0 },
      dbFile: join(folder, 'console.db'),
      clock: systemClock,
      log: silentLog,
    });
    const db = openAt(version);
    // Its console has another address now, and its last run is days ago, whenever this test runs.
    db.run("UPDATE meta SET value = ? WHERE key = 'address'", server.address);
    db.run('UPDATE runs SET finished_at = finished_at - ?', 2 * DAY_MS);
    db.close();
    for (const end of ['.checkpoints', '.audit-key', '.audit-key.pub'])
      writeFileSync(`${file}${end}`, readFileSync(join(folder, `trustward.db${end}`)), { mode: 0o600 });
    const rules = mkdtempSync(join(folder, 'rules-'));
    writeFileSync(
      join(rules, 'ban.yaml'),
      BAN_COMPROMISED.replace('cooldown: 0s', 'limits: { max: 25, percent: 100 }'),
    );
    env = {
      TRUSTWARD_API_URL: server.address,
      TRUSTWARD_API_KEY: server.issueApiKey('upgraded', 'Admin'),
      TRUSTWARD_DB: file,
      TRUSTWARD_RULES: rules,
      TRUSTWARD_MODE: 'enforce',
      TRUSTWARD_LOG_LEVEL: 'silent',
      TRUSTWARD_QUIET_PERIOD: '0s',
    };
  });
  afterEach(() => server.close());

  const json = async (...args: string[]) => {
    const { out, err } = await command([...args, '--format', 'json'], env);
    expect(err).toBe('');
    return JSON.parse(out);
  };
  const bansOf = (serial: string) =>
    server.writes().filter(({ address, body }) => `${address} ${body}`.includes(serial));

  it('stays stopped, knows what is in force and in doubt, and does nothing again when it resumes', {
    timeout: 120_000,
  }, async () => {
    // A run that is stopped calls nothing; the tables are brought up to date by it.
    const first = await json('run', '--mode', 'enforce');
    expect(first).toMatchObject({
      run: { seq: 5, mode: 'dry-run', status: 'completed' },
      operator: { stoppedNow: { reason: 'the night before the move' } },
    });
    expect(server.writes()).toEqual([]);
    expect(await command(['audit', 'verify'], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining('is whole'),
    });
    const targets = (await json('claims', 'list')).claims.map(({ target }: { target: string }) => target);
    // The one that a person reversed is open until a run is sure that its reading is no older than the ban.
    expect(targets.filter((target: string) => target !== 'REVERSED-1').sort()).toEqual(['KEPT-1', 'KEPT-2']);
    expect((await json('exempt', 'list')).exemptions).toMatchObject([{ owner: 'ana', reason: 'the director' }]);
    expect((await json('intents', 'list')).intents).toMatchObject([{ target: 'DOUBT-1', outcome: 'unknown' }]);

    expect(await command(['resume', '--reason', 'the move is done'], env)).toMatchObject({ code: 0 });
    const run = await json('run', '--mode', 'enforce');
    expect(run).toMatchObject({ run: { mode: 'enforce', status: 'completed' } });
    await json('run', '--mode', 'enforce');
    expect(bansOf('WAIT-1')).toHaveLength(1);
    expect(bansOf('DOUBT-1').length).toBeLessThanOrEqual(1);
    // Neither those in force, nor the one that a person reversed, nor the exempt one.
    expect(server.writes()).toHaveLength(1 + bansOf('DOUBT-1').length);
    expect(await command(['audit', 'verify'], env)).toMatchObject({ code: 0 });
  });
});

it('a database of the console of its first version keeps its people, devices, services and credentials', async () => {
  const [dbFile, names] = [join(folder, 'console.db'), ['device', 'enduser', 'service', 'credential', 'effect']];
  const rows = () => {
    const db = new Database(dbFile, { readonly: true });
    try {
      return names.map((name) => db.prepare(`SELECT * FROM ${name} ORDER BY 1`).all());
    } finally {
      db.close();
    }
  };
  const before = rows();
  expect(before.map((found) => found.length > 0)).toEqual(names.map(() => true));
  const server = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile,
    clock: systemClock,
    log: silentLog,
  });
  await server.close();
  expect(rows()).toMatchObject(before);
});

describe('a database of a newer version', () => {
  it('is refused with what to do, by what writes and by what reads, and is not touched', {
    timeout: 120_000,
  }, async () => {
    const db = openAt(latest);
    db.exec(`PRAGMA user_version = ${latest + 1}`);
    db.close();
    const before = readFileSync(file);
    const env = {
      TRUSTWARD_DB: file,
      TRUSTWARD_API_URL: 'http://127.0.0.1:1',
      TRUSTWARD_API_KEY: 'k',
      TRUSTWARD_RULES: new URL('../../rules', import.meta.url).pathname,
    };
    const line = `written by a newer version (tables ${latest + 1}, this one knows ${latest}): update Trustward`;
    for (const args of [['run'], ['serve'], ['report']]) {
      const { code, err } = await command(args, env);
      expect({ args, code, err }).toEqual({ args, code: expect.toBeOneOf([1, 2]), err: expect.stringContaining(line) });
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});
