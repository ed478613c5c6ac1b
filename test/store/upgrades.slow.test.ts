// test: databases of earlier versions open, migrate, keep the meaning of their rows, and go on.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { type Console, startConsole } from '../../src/console/console.ts';
import type { StoredDecision } from '../../src/domain/decision.ts';
import { planDigest } from '../../src/domain/digest.ts';
import { NO_FACTS } from '../../src/domain/listed-facts.ts';
import type { PlannedIntent } from '../../src/domain/plan.ts';

import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { decisionView } from '../../src/faces/report/decision-view.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { EVENT_COLUMNS, rowOfEvent } from '../../src/store/event-log.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { DECISION, INTENT, PLAN, RUN, rowOfEpisode } from '../../src/store/rows.ts';
import {
  migrate,
  openDatabase,
  openReadOnly,
  readMigrations,
  type SqliteDb,
  SqliteWork,
} from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { decision as decisionWith, deviceSeen, plan as planOf } from '../support/filled-store.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, silentLog } from '../support/organization.ts';
import { FakeClock } from '../support/platform.ts';
import { identityPrints, PRINT_KEY } from '../support/print-key.ts';
import { commitOf, decision, episode, event, intent, plan, run } from '../support/stored-nouns.ts';

describe('a database of each earlier version of the tables, with the rows of a real one, keeps its meaning in this version. `kept/tables-4` is an organization of 35 devices, written by the first version that ran whole', () => {
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
      expect((await json('inbox', '--state', 'in_doubt')).inbox).toMatchObject([{ title: 'Ban DOUBT-1' }]);

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
        expect({ args, code, err }).toEqual({
          args,
          code: expect.toBeOneOf([1, 2]),
          err: expect.stringContaining(line),
        });
      }
      expect(readFileSync(file).equals(before)).toBe(true);
    });
  });
});

describe('rows that an earlier version wrote are found by the tables and indexes of this one', () => {
  let db: SqliteDb;
  afterEach(() => db.close());

  function openedAt(version: number): SqliteDb {
    db = openDatabase(':memory:');
    migrate(
      db,
      readMigrations().filter((migration) => migration.version <= version),
    );
    return db;
  }

  describe('a database of the tables 20', () => {
    it('finds by each of their names whom it knew, also those that are gone', async () => {
      openedAt(20);
      const row = { kind: 'device', platform: 'macOS', model: 'Mac14,2', first_at: 1, changed_at: 2 };
      const ada = {
        ...row,
        no: 4,
        id: 'D-Ä',
        serial: 'C02',
        name: 'Ada Mac',
        owners: '["Ada@x.org"]',
        print: 7,
        owners_print: 8,
      };
      db.insert('identities', { ...ada, id_key: 'd-ä', serial_key: 'c02', name_key: 'ada mac', gone_at: null });
      const bare = { ...row, no: 9, id: 'e', serial: '', name: '', owners: null, print: 9, owners_print: null };
      db.insert('identities', { ...bare, id_key: 'e', serial_key: null, name_key: null, gone_at: 5 });
      db.insert('identity_owners', { owner_key: 'ada@x.org', no: 4 });
      migrate(db);
      const store = new SqliteStore(db, linkEntry, new FakeClock());
      const named = async (text: string) =>
        (await store.identitiesNamed(text)).map(({ by, identity }) => [by, identity.id]);
      expect(await named('d-Ä')).toEqual([['id', 'D-Ä']]);
      expect(await named('c02')).toEqual([['serial', 'D-Ä']]);
      expect(await named('ADA mac')).toEqual([['name', 'D-Ä']]);
      expect(await named('ada@x.org')).toEqual([['owner', 'D-Ä']]);
      expect(await store.identitiesNamed('e')).toMatchObject([{ identity: { goneAt: 5, firstAt: 1, changedAt: 2 } }]);
      const seen = deviceSeen('D-Ä', { serial: 'C02', name: 'Ada Mac', model: 'Mac14,2', owners: ['Ada@x.org'] });
      // Without the facts of lists it counts as changed, so that the next trusted reading completes it.
      expect(await store.presentPrints('device', PRINT_KEY)).toEqual(identityPrints({ ...seen, facts: NO_FACTS }));
      const asked = { kind: 'device', q: 'ada ma', facts: {}, sort: 'name', isDescending: false, limit: 9 } as const;
      expect(await store.fleetPage(asked)).toMatchObject({ readAt: undefined, rows: [] });
      await store.saveIdentities([{ kind: 'device', changed: [seen], had: undefined, readAt: 7 }]);
      expect(await store.fleetPage(asked)).toMatchObject({ readAt: 7, rows: [{ identity: { id: 'D-Ä' } }] });
    });
  });

  describe('a database of the tables 18', () => {
    it('has its decisions without a flip', async () => {
      openedAt(18);
      const { counts_with: _unknown, ...runRow } = RUN.rowOf({ ...run, seq: 1 });
      db.insert('runs', runRow);
      const { flip: _, ...row } = DECISION.rowOf({
        ...decision,
        runId: run.id,
        runSeq: 1,
        writtenAt: 1,
        endedSeq: undefined,
      });
      db.insert('decisions', row);
      migrate(db);
      const [stored] = await new SqliteStore(db, linkEntry, new FakeClock()).decisions({ limit: 1 });
      expect(stored).toMatchObject({ id: decision.id, facts: decision.facts });
      expect(decisionView(stored as StoredDecision).flip).toBeNull();
    });
  });

  describe('a database of the tables 12', () => {
    it('finds by target what its open episodes have seen', async () => {
      openedAt(12);
      const saw = { ...episode, seenSo: ['ban_device S 1', 'notify d1'] };
      db.insert('episodes', rowOfEpisode(saw));
      db.insert('episodes', rowOfEpisode({ ...saw, id: 'e9', state: 'closed', closedAt: 9, closeReason: 'cleared' }));
      migrate(db);
      const store = new SqliteStore(db, linkEntry, new FakeClock());
      expect(await store.episodesThatSaw('S 1')).toEqual([saw]);
      expect(await store.episodesThatSaw('S')).toEqual([]);
    });

    it('counts its attempts to the millisecond', async () => {
      openedAt(12);
      const { refusals: _, refused_with: __, ...row } = INTENT.rowOf(intent);
      db.insert('intents', row);
      const attempt = { intent_id: intent.id, action: 'ban_device', target: 'S-1', rules: '[]' };
      for (const sent_at of [59_999, 60_000, 60_001, 180_000]) db.insert('attempts', { ...attempt, sent_at });
      migrate(db);
      const store = new SqliteStore(db, linkEntry, new FakeClock());
      const counts = [0, 59_999, 60_000, 60_001, 60_002, 180_000, 180_001].map((at) =>
        store.attemptsSince('ban_device', at),
      );
      expect(await Promise.all(counts)).toEqual([4, 4, 3, 2, 1, 1, 0]);
      expect(await store.attemptsSince('unban_device', 0)).toBe(0);
    });
  });

  describe('a database of the tables 21', () => {
    it('has the same plans, runs and events', async () => {
      openedAt(21);
      const [sealed] = planOf(decisionWith({ target: 'S-1' })).intents;
      const whole = { ...plan, intents: [sealed as PlannedIntent] };
      const { dropped: _, break_glass: _glass, agreed: _agreed, ...planRow } = PLAN.rowOf(whole);
      db.insert('plans', planRow);
      const released = { ...plan, id: 'p9', intents: whole.intents.map((one) => ({ ...one, released: true })) };
      const { dropped: __, break_glass: __glass, agreed: __agreed, ...releasedRow } = PLAN.rowOf(released);
      db.insert('plans', releasedRow);
      db.insert('runs', RUN.rowOf({ ...run, seq: 1 }));
      const { snapshot, tallies, planDigest } = commitOf({}).findings;
      const sql = 'UPDATE runs SET snapshot = ?, tallies = ?, plan_digest = ?';
      db.run(sql, canonicalJson(snapshot), canonicalJson(tallies), planDigest);
      const early = { ...event, id: 'z', createdAtMs: event.createdAtMs - 1 };
      // Without the column that came later.
      db.insertMany(
        'events',
        EVENT_COLUMNS.slice(0, -1),
        [event, early].map((one) => rowOfEvent(one).slice(0, -1)),
      );
      migrate(db);
      const clock = new FakeClock();
      clock.now = plan.createdAt;
      const store = new SqliteStore(db, linkEntry, clock);
      expect(await store.plan(plan.id)).toEqual(whole);
      expect(await store.planOutline(plan.id)).toMatchObject({ intents: [{ target: 'S-1' }] });
      expect(await store.planLines({}, { limit: 5 })).toMatchObject([
        { id: 'p9', intents: 1, releases: whole.intents[0]?.basis[0]?.rule },
        { id: plan.id, intents: 1, releases: undefined },
      ]);
      expect((await store.run(run.id))?.findings).toEqual({ snapshot, tallies, planDigest });
      const events = [];
      for await (const some of store.events(0)) events.push(...some);
      expect(events).toEqual([early, event]);
    });
  });
});

describe('a database that an earlier version wrote, kept as a file, with its console', () => {
  const ROOT = new URL('../..', import.meta.url).pathname;
  const KEPT = new URL('./kept/', import.meta.url).pathname;
  const TSX = import.meta.resolve('tsx');

  let folder: string;
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function unpack(version: string): void {
    folder = mkdtempSync(join(tmpdir(), 'trustward-'));
    mkdirSync(join(folder, 'data'));
    cpSync(join(ROOT, 'rules'), join(folder, 'rules'), { recursive: true });
    for (const name of readdirSync(join(KEPT, version))) {
      const bytes = readFileSync(join(KEPT, version, name));
      const isPacked = name.endsWith('.gz');
      writeFileSync(join(folder, 'data', name.replace(/\.gz$/, '')), isPacked ? gunzipSync(bytes) : bytes, {
        mode: 0o600,
      });
    }
  }

  /** In the folder of the demonstration, with its settings: nothing of Trustward is set. */
  function trustward(...args: string[]): { status: number | null; out: string; err: string } {
    const { PATH = '' } = process.env;
    const line = ['--import', TSX, join(ROOT, 'src/main.ts'), ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, line, {
      cwd: folder,
      // The loader looks for settings of TypeScript where the process runs: without ours it knows no JSX of hono.
      env: { PATH, TSX_TSCONFIG_PATH: join(ROOT, 'tsconfig.json') },
      encoding: 'utf8',
    });
    return { status, out: stdout, err: stderr };
  }

  const openClaims = () =>
    (JSON.parse(trustward('claims', 'list', '--format', 'json').out) as { claims: { id: string; target: string }[] })
      .claims;

  test('a database of tables version 11 migrates, keeps its claims and plans, and runs on', async () => {
    unpack('tables-11');
    // Its last run is days ago, whenever this test runs: the first one of this version only shows what it would do.
    const db = new Database(join(folder, 'data/demo.db'));
    db.exec('UPDATE runs SET finished_at = finished_at - 2 * 86400000');
    db.close();
    const first = trustward('run', '--mode', 'enforce', '--format', 'json');
    expect(first.status, first.err).toBe(3);
    expect(JSON.parse(first.out)).toMatchObject({
      run: { seq: 22, mode: 'dry-run', status: 'completed' },
      operator: { silentSince: expect.any(String), stoppedNow: null },
    });
    // What it decided is still in force, and nothing is made up for it.
    const { decisions } = JSON.parse(first.out) as { decisions: { unchanged: boolean; flip: object | null }[] };
    const earlier = decisions.filter(({ unchanged }) => unchanged);
    expect(earlier.length).toBeGreaterThan(0);
    expect(earlier.filter(({ flip }) => flip !== null)).toEqual([]);
    const outside = readFileSync(join(folder, 'data/demo.db.checkpoints'), 'utf8').split('\n');
    expect(JSON.parse(outside[0] ?? '')).toMatchObject({ database: expect.any(String) });
    expect(outside.join('\n')).toContain(readFileSync(join(KEPT, 'tables-11/demo.db.checkpoints'), 'utf8'));

    const run = trustward('run', '--mode', 'enforce', '--format', 'json');
    expect(run.status, run.err).toBeOneOf([0, 3]);
    const report = JSON.parse(run.out) as {
      run: { seq: number; status: string };
      decisions: { reason: string; action: string; target: string; outcome: string | null }[];
    };
    expect(report.run).toMatchObject({ seq: 23, mode: 'enforce', status: 'completed' });
    const reasons = new Set(report.decisions.map(({ reason }) => reason));
    expect(reasons).not.toContain('trouble');
    expect(reasons).not.toContain('trouble_over');

    // A plan that waited is still the one that was sealed: its digest is that of what is read now, and that of the audit.
    const reader = new SqlReader(new SqliteWork(openReadOnly(join(folder, 'data/demo.db'))), systemClock);
    const waited = await reader.plan('01m813n6wybr80t412rjzqsvv1');
    expect(waited?.intents).toMatchObject([{ action: 'disable_service', target: 'wiki.eu-west.tw' }]);
    expect(planDigest(waited?.intents ?? [])).toBe(waited?.digest);
    expect(await reader.auditedDigest('plan.sealed', waited?.id ?? '')).toBe(waited?.digest);
    await reader.close();

    // Each ban of before is in force, or was undone by this run: none was forgotten.
    const undone = report.decisions.filter(({ action }) => action === 'unban_device').map(({ target }) => target);
    const open = openClaims().map(({ target }) => target);
    expect([...open, ...undone]).toEqual(expect.arrayContaining(['LXNPC12N0', 'R5CVAGA69I', 'R5CZ30EQ2R']));

    const verified = trustward('audit', 'verify');
    expect(verified).toMatchObject({ status: 0, out: expect.stringContaining('the audit is whole') });
    const { out } = trustward('audit', 'list', '--kind', 'decision.made', '--limit', '500', '--format', 'json');
    const entries = (JSON.parse(out) as { entries: { body: { reason: string } }[] }).entries;
    expect(new Set(entries.map(({ body }) => body.reason))).not.toContain('trouble');
    expect(entries.map(({ body }) => body.reason)).toContain('rule_matches');
  });
});
