// test: a large commit of a run, which gives way. In: commits of any size, writes of others between its turns, kills. Out: all of its rows
// and audit entries, or none, and the same as those of a commit in one go.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { giveWay } from '../../src/base/turns.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { type OpenStore, openStore } from '../support/stored-nouns.ts';
import { begin, commitOfSizes, contentOf, LARGE_SIZES, type Sizes } from './large-commits.ts';

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
