// test: a large commit of a run gives way, several transitions are one transaction, and the write-ahead log is moved afterwards.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { drained, giveWay } from '../../src/base/turns.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { openDatabase, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { GroupCommit, moveLog } from '../../src/store/sqlite/sqlite-store.ts';
import { built } from '../support/built.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { type OpenStore, openStore } from '../support/stored-nouns.ts';
import { begin, commitOfSizes, contentOf, LARGE_SIZES, type Sizes } from './large-commits.ts';

describe('a large commit of a run, which gives way', () => {
  const CHILD = new URL('large-commit-killed.ts', import.meta.url).pathname;
  const STOP = { at: 7, by: 'ana', reason: 'enough' };
  const STOPPED = [{ kind: 'stop.set' as const, body: { by: 'ana' } }];

  let folder: string;
  let opened: OpenStore[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trustward-large-'));
    opened = [];
  });
  afterEach(async () => {
    for (const { store } of opened) await store.close();
    rmSync(folder, { recursive: true });
  });

  function inFile(): OpenStore {
    const open = openStore(join(folder, 'trustward.db'));
    opened.push(open);
    return open;
  }

  async function demandWhole({ store }: OpenStore): Promise<void> {
    expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
    expect(await store.tableDifferences()).toEqual([]);
    await store.demandIntact();
  }

  /** What a commit in one go leaves: a database in memory has no other. */
  async function inOneGo(sizes: Sizes): Promise<Record<string, unknown[]>> {
    const open = openStore();
    await begin(open.store);
    await open.store.commitRun(commitOfSizes(sizes));
    const content = contentOf(open.db);
    await open.store.close();
    return content;
  }

  async function turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await giveWay();
  }

  describe('a large commit', () => {
    it('leaves the rows and the audit bytes of a commit in one go, whatever its size', async () => {
      const upTo = (max: number) => fc.integer({ min: 0, max });
      const sizes = fc.record({
        episodes: upTo(90),
        intents: upTo(60),
        decisions: upTo(90),
        planned: upTo(50),
        notes: fc.integer({ min: 500, max: 700 }),
      });
      let number = 0;
      const property = fc.asyncProperty(sizes, async (size) => {
        number += 1;
        const open = openStore(join(folder, `${number}.db`));
        opened.push(open);
        await begin(open.store);
        await open.store.commitRun(commitOfSizes(size));
        expect(contentOf(open.db)).toEqual(await inOneGo(size));
        await demandWhole(open);
      });
      await fc.assert(property, { numRuns: 6 });
    });

    it('shows nothing until all of it is there, and others get their turn', async () => {
      const { db, store } = inFile();
      await begin(store);
      const before = contentOf(db);
      let isCommitted = false;
      const committing = store.commitRun(commitOfSizes(LARGE_SIZES)).then(() => {
        isCommitted = true;
      });
      let seen = 0;
      for (; !isCommitted; seen += 1) {
        if (seen % 10 === 0) expect(contentOf(db)).toEqual(before);
        await giveWay();
      }
      await committing;
      expect(seen).toBeGreaterThan(50);
      expect(contentOf(db).decisions).toHaveLength(LARGE_SIZES.decisions);
    });

    it.each([1, 20, 60, 100])('lets a stop through in its turn %i, and is written after it', async (turn) => {
      const open = inFile();
      const { db, store } = open;
      await begin(store);
      const committing = store.commitRun(commitOfSizes(LARGE_SIZES));
      await turns(turn);
      await store.setStop(STOP, STOPPED);
      expect(db.all('SELECT 1 FROM decisions')).toEqual([]);
      expect(db.all('SELECT kind FROM audit ORDER BY seq').at(-1)).toEqual({ kind: 'stop.set' });
      await committing;
      const { audit, stop_switch, ...content } = contentOf(db);
      const { audit: plain, stop_switch: none, ...others } = await inOneGo(LARGE_SIZES);
      expect(content).toEqual(others);
      expect([stop_switch?.length, none?.length]).toEqual([1, 0]);
      expect(audit).toHaveLength((plain?.length ?? 0) + 1);
      await demandWhole(open);
    });

    it('that is taken back again and again is written all the same, while only writers wait', async () => {
      const open = inFile();
      await begin(open.store);
      let isCommitted = false;
      const committing = open.store.commitRun(commitOfSizes(LARGE_SIZES)).then(() => {
        isCommitted = true;
      });
      let waited = 0;
      let writes = 0;
      for (; !isCommitted; writes += 1) {
        const before = waited;
        let isWritten = false;
        const writing = open.store.setStop(STOP, STOPPED).then(() => {
          isWritten = true;
        });
        for (; !isWritten; waited += 1) await giveWay();
        if (waited - before < 5) await turns(3);
        await writing;
      }
      await committing;
      expect(writes).toBeLessThan(60);
      expect(waited).toBeGreaterThan(50);
      expect(contentOf(open.db).decisions).toHaveLength(LARGE_SIZES.decisions);
      await demandWhole(open);
    });

    it('keeps no first stop waiting, whoever else waits for it', async () => {
      const open = inFile();
      const { db, store } = open;
      await begin(store);
      const committing = store.commitRun(commitOfSizes(LARGE_SIZES));
      const writing: Promise<void>[] = [];
      for (let write = 0; write < 25; write += 1) {
        writing.push(store.appendAudit([{ kind: 'rules.loaded', body: { write } }]));
        await turns(3);
      }
      expect(db.all("SELECT 1 FROM audit WHERE kind = 'rules.loaded'").length).toBeLessThan(25);
      const stopping = store.setStop(STOP, STOPPED);
      expect(await store.stop()).toEqual(STOP);
      await Promise.all([committing, stopping, ...writing]);
      expect(db.all("SELECT 1 FROM audit WHERE kind = 'rules.loaded'")).toHaveLength(25);
      expect(contentOf(db).decisions).toHaveLength(LARGE_SIZES.decisions);
      await demandWhole(open);
    });

    it('that breaks a constraint leaves nothing, and the store goes on', async () => {
      const open = inFile();
      await begin(open.store);
      const before = contentOf(open.db);
      const commit = commitOfSizes(LARGE_SIZES);
      const twice = { ...commit, decisions: [...commit.decisions, ...commit.decisions.slice(0, 1)] };
      await expect(open.store.commitRun(twice)).rejects.toMatchObject({ code: 'store_failed' });
      expect(contentOf(open.db)).toEqual(before);
      await open.store.commitRun(commit);
      await demandWhole(open);
    });

    it('of a store that is closed meanwhile leaves nothing', async () => {
      const open = inFile();
      await begin(open.store);
      const committing = open.store.commitRun(commitOfSizes(LARGE_SIZES));
      await turns(10);
      await open.store.close();
      await expect(committing).rejects.toMatchObject({ code: 'store_failed' });
      opened = [];
      expect(contentOf(inFile().db).decisions).toEqual([]);
    });

    it.each(['1', '40', '90', 'before', 'after'])(
      'of a process that is killed (%s) is there as a whole or not at all',
      async (when) => {
        const file = join(folder, 'trustward.db');
        const first = openStore(file);
        await begin(first.store);
        const before = contentOf(first.db);
        await first.store.close();
        const { signal, stderr } = spawnSync(process.execPath, [
          '--import',
          import.meta.resolve('tsx'),
          CHILD,
          file,
          when,
        ]);
        expect(signal, String(stderr)).toBe('SIGKILL');
        const open = inFile();
        expect(contentOf(open.db)).toEqual(when === 'after' ? await inOneGo(LARGE_SIZES) : before);
        await demandWhole(open);
        if (when !== 'after') await open.store.commitRun(commitOfSizes(LARGE_SIZES));
        expect(contentOf(open.db)).toEqual(await inOneGo(LARGE_SIZES));
      },
    );
  });
});

describe('several transitions of intents in one transaction', () => {
  let on: OnPlatform;
  beforeEach(async () => {
    on = startOnPlatform({ rules: [banRule()] });
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    const { markSent } = on.store;
    on.store.markSent = () => Promise.reject(new Error('not yet'));
    await on.run().catch(() => {});
    on.store.markSent = markSent;
  });
  afterEach(() => on.close());

  const sent = (intentId: string) => ({
    intentId,
    run: undefined,
    notes: [{ kind: 'intent.sent' as const, body: { intent: intentId } }],
  });
  const ids = async () => (await on.store.intents({})).map(({ id }) => id);
  const states = async () => (await on.store.intents({})).map(({ status }) => status);

  it('transitions that are due at once are one transaction, and one chain in their order', async () => {
    const all = await ids();
    const before = (await on.store.audit({ limit: 100 })).length;
    await Promise.all(all.map((id) => on.store.markSent(sent(id))));
    expect(await states()).toEqual(['sent', 'sent', 'sent']);
    const entries = (await on.store.audit({ limit: 100 })).slice(0, 3);
    expect(await on.store.audit({ limit: 100 })).toHaveLength(before + 3);
    expect(entries.map(({ bytes }) => JSON.parse(bytes).body.intent)).toEqual(all.toReversed());
    // The digests of the tables are in the last entry of a transaction: here in one of three.
    expect(entries.filter(({ bytes }) => bytes.includes('"digests"'))).toHaveLength(1);
    expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
    expect(await on.store.tableDifferences()).toEqual([]);
  });

  it('one that cannot be made leaves the others: each has its own answer', async () => {
    const [first, second, third] = (await ids()) as [string, string, string];
    const answers = await Promise.allSettled(
      [first, 'no-such', second, first, third].map((id) => on.store.markSent(sent(id))),
    );
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(answers.flatMap((answer) => (answer.status === 'rejected' ? answer.reason.code : []))).toEqual([
      'not_found',
      'conflict',
    ]);
    expect(await states()).toEqual(['sent', 'sent', 'sent']);
    expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
    expect(await on.store.tableDifferences()).toEqual([]);
  });

  it('a group that the disk refuses fails for each of its units, and none is left behind', async () => {
    const commits: number[] = [];
    const group = new GroupCommit((units) => {
      commits.push(units.length);
      throw new Error('the disk is full');
    });
    const answers = await Promise.allSettled([
      group.add(function* () {}, 'soon'),
      group.add(function* () {}, 'at_once'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(commits).toEqual([2, 1, 1]);
  });

  it('what is asked for at once is committed before anything else happens', async () => {
    const order: string[] = [];
    const group = new GroupCommit((units) => {
      order.push(`commit of ${units.length}`);
      for (const work of units) drained(work());
    });
    setImmediate(() => order.push('the next turn'));
    await Promise.all([group.add(function* () {}, 'soon'), group.add(function* () {}, 'at_once')]);
    await new Promise((turn) => setImmediate(turn));
    expect(order).toEqual(['commit of 2', 'the next turn']);
  });
});

describe('moving the write-ahead log of a large commit', () => {
  const MB = 1_048_576;
  let folder: string;
  let db: SqliteDb;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trustward-log-'));
    db = openDatabase(join(folder, 'trustward.db'));
    db.exec('CREATE TABLE texts (text TEXT)');
    db.exec('PRAGMA wal_autocheckpoint = 0');
    for (let row = 0; row < 8; row += 1) db.insert('texts', { text: 'x'.repeat(MB) });
  });
  afterEach(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });

  const sizeOf = (name: string) => statSync(join(folder, name)).size;

  it('a long log is in the file afterwards, and is begun anew by the next commit', async () => {
    expect(sizeOf('trustward.db')).toBeLessThan(MB);
    const long = sizeOf('trustward.db-wal');
    const moving = moveLog(db);
    db.insert('texts', { text: 'meanwhile' });
    await moving;
    expect(sizeOf('trustward.db')).toBeGreaterThan(8 * MB);
    for (let row = 0; row < 100; row += 1) db.insert('texts', { text: 'after' });
    expect(sizeOf('trustward.db-wal')).toBeLessThan(long + MB);
    expect(db.get('SELECT count(*) AS n FROM texts')).toEqual({ n: 109 });
  });

  it('a log that cannot be moved stays, and the connection moves it itself', async () => {
    await moveLog({ file: join(folder, 'no-such.db'), exec: (sql) => db.exec(sql) });
    expect(sizeOf('trustward.db')).toBeLessThan(MB);
    db.insert('texts', { text: 'next' });
    expect(sizeOf('trustward.db')).toBeGreaterThan(8 * MB);
  });

  it('a connection that is closed meanwhile loses nothing', async () => {
    const moving = moveLog(db);
    db.close();
    await moving;
    db = openDatabase(join(folder, 'trustward.db'));
    expect(db.get('SELECT count(*) AS n FROM texts')).toEqual({ n: 8 });
  });

  it('a process that has nothing else to do waits until the log is moved, and then closes the database', () => {
    const text = `
    const { openDatabase } = await import(${JSON.stringify(built('src/store/sqlite/database.ts'))});
    const { moveLog } = await import(${JSON.stringify(built('src/store/sqlite/sqlite-store.ts'))});
    const db = openDatabase(process.argv[1]);
    await moveLog(db);
    db.close();
    process.stdout.write('closed');`;
    const args = ['--input-type=module', '--eval', text, join(folder, 'trustward.db')];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, 'closed', '']);
  });
});
