// test: how a start treats the checkpoints outside: left behind by a crash, ahead of a restored database, or missing.
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { privateKeyFileOf, publicKeyFileOf, readPublicKeys } from '../../../src/engine/audit/signing-key.ts';
import { auditSourcesOf, verifyAudit } from '../../../src/engine/audit/sources.ts';
import { append, ChainFolder } from './checkpoint-chain.ts';

let folder: ChainFolder;
beforeEach(async () => {
  folder = new ChainFolder();
  await folder.fill(200, 50);
});
afterEach(() => folder.remove());

async function kindsFrom(seq: number): Promise<string[]> {
  const { store, close } = await folder.open();
  const kinds = (await store.audit({ afterSeq: seq, limit: 1_000 })).map(({ kind }) => kind);
  await close();
  return kinds;
}

describe('files beside the database', () => {
  it('cannot be read by others, except for the public key', () => {
    const modeOf = (file: string) => statSync(file).mode & 0o777;
    expect(modeOf(folder.checkpoints)).toBe(0o600);
    expect(modeOf(privateKeyFileOf(folder.file))).toBe(0o600);
    expect(modeOf(publicKeyFileOf(folder.file))).toBe(0o644);
    expect(readdirSync(folder.folder).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('keep their signing key over a restart', async () => {
    const before = [...readPublicKeys(publicKeyFileOf(folder.file)).keys()];
    await folder.fill(10, 10);
    expect([...readPublicKeys(publicKeyFileOf(folder.file)).keys()]).toEqual(before);
    expect(await folder.verify()).toMatchObject({ ok: true, checkpoints: 5 });
  });

  it('without the private key refuse a start instead of making a new one', async () => {
    rmSync(privateKeyFileOf(folder.file));
    await expect(folder.open()).rejects.toThrow(/the key that signs the audit, .* is missing/);
  });
});

describe('a process that ended between commit and file', () => {
  it.each([1, 2, 3])('leaves the file %i lines behind, and the next start completes it', async (behind) => {
    const lines = folder.lines();
    folder.writeLines(lines.slice(0, -behind));
    const { logged, checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toBeUndefined();
    expect(logged).toEqual([]);
    await close();
    expect(folder.lines()).toEqual(lines);
    expect(await folder.verify()).toMatchObject({ ok: true });
  });

  it.each([1, 20, 150, 10_000])('leaves %i bytes of a torn line, and the next start removes them', async (bytes) => {
    const lines = folder.lines();
    folder.writeLines(lines.slice(0, -1));
    folder.addTorn((lines.at(-1) as string).slice(0, bytes));
    await (await folder.open()).close();
    expect(folder.lines()).toEqual(lines);
    expect(await folder.verify()).toMatchObject({ ok: true });
  });

  it('leaves entries without a checkpoint, and the next start seals them', async () => {
    const chain = await folder.open();
    await chain.store.appendAudit([{ kind: 'notice', body: { text: 'the last words' } }]);
    await chain.store.close(); // like a kill: nothing is sealed
    expect(await folder.verify()).toMatchObject({ ok: true, sealed: 200, entries: 201 });
    await (await folder.open()).close();
    expect(await folder.verify()).toMatchObject({ ok: true, sealed: 201, entries: 201 });
  });
});

describe('a restored older backup', () => {
  const backup = () => join(folder.folder, 'backup.db');

  it('is not taken for the newest state', async () => {
    folder.backUp(backup());
    await folder.fill(100, 50);
    folder.restore(backup());
    expect(await folder.verify()).toMatchObject({ ok: false, bad: { seq: 201, checkpoint: 250 } });
    const { checkpointer, logged, close } = await folder.open();
    expect(checkpointer.restored()).toMatch(
      /restored from a backup.*reach to entry 300 .*this database \(200 entries\)/,
    );
    expect(logged).toEqual([checkpointer.restored()]);
    await close();
    expect(await kindsFrom(200)).toEqual(['database.restored', 'stop.set', 'database.restored']);
  });

  it('does not overwrite the file that proves it', async () => {
    folder.backUp(backup());
    await folder.fill(100, 50);
    const outside = folder.lines();
    folder.restore(backup());
    const chain = await folder.open();
    await append(chain, 500, 50);
    await chain.close();
    expect(folder.lines()).toEqual(outside);
    const { checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toBeDefined();
    await close();
  });

  it('is no longer called restored after an operator accepted it', async () => {
    folder.backUp(backup());
    await folder.fill(100, 50);
    const outside = folder.lines();
    folder.restore(backup());
    const { checkpointer, close } = await folder.open();
    const accepted = await checkpointer.acceptRestore({ by: 'ana', reason: 'the disk died' });
    expect(checkpointer.restored()).toBeUndefined();
    await close();
    expect(existsSync(accepted?.aside ?? '')).toBe(true);
    expect(folder.lines().slice(0, 4)).toEqual(outside.slice(0, 4));
    expect(await folder.verify()).toMatchObject({ ok: true });
    const again = await folder.open();
    expect(again.checkpointer.restored()).toBeUndefined();
    await again.close();
    expect(await kindsFrom(200)).toEqual(['database.restored', 'stop.set', 'restore.accepted', 'stop.set']);
  });

  it('is required for accepting: without one nothing changes', async () => {
    const { checkpointer, close } = await folder.open();
    expect(await checkpointer.acceptRestore({ by: 'ana', reason: 'to be sure' })).toBeUndefined();
    await close();
  });
});

describe('a file of checkpoints', () => {
  it.each([
    ['that went missing', () => rmSync(folder.checkpoints)],
    ['that is empty', () => folder.writeLines([], [])],
  ])('%s makes the database a restored one, and stays as it is until an operator accepts that', async (_, lose) => {
    const lines = folder.lines();
    lose();
    const { checkpointer, store, logged, close } = await folder.open();
    expect(checkpointer.restored()).toMatch(/no checkpoints outside, but 200 audit entries/);
    expect(logged).toEqual([checkpointer.restored()]);
    expect(await store.stop()).toMatchObject({ by: 'trustward', reason: expect.stringContaining('accept-restore') });
    await append({ store, checkpointer, logged, close }, 50, 50);
    expect(folder.lines()).toEqual([]);
    await checkpointer.acceptRestore({ by: 'ana', reason: 'I deleted it' });
    await close();
    expect(folder.lines().slice(0, 4)).toEqual(lines);
    expect(folder.named()).toHaveLength(1);
    expect(await folder.verify()).toMatchObject({ ok: true });
  });

  it('of an earlier version gets the line that names the database, and nothing else changes', async () => {
    const lines = folder.lines();
    folder.writeLines(lines, []);
    folder.tamper((db) => void db.run("DELETE FROM meta WHERE key = 'database'"));
    const { checkpointer, logged, close } = await folder.open();
    expect(checkpointer.restored()).toBeUndefined();
    await close();
    expect(logged).toEqual([]);
    expect(folder.lines()).toEqual(lines);
    expect(folder.named()).toHaveLength(1);
    expect(await folder.verify()).toMatchObject({ ok: true, entries: 200 });
  });

  it('of an earlier version that is ahead of the database is noticed', async () => {
    const backup = join(folder.folder, 'backup.db');
    folder.backUp(backup);
    await folder.fill(100, 50);
    folder.writeLines(folder.lines(), []);
    folder.restore(backup);
    folder.tamper((db) => void db.run("DELETE FROM meta WHERE key = 'database'"));
    const { checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toMatch(/reach to entry 300/);
    await close();
    expect(folder.named()).toEqual([]);
  });

  it.each(['database', 'keyId', 'signature'])('with an edited name is noticed: %s', async (member) => {
    const [named = ''] = folder.named();
    const line = JSON.parse(named) as Record<string, string>;
    const other = { ...line, [member]: (line[member] ?? '').replace(/^./, (first) => (first === '0' ? '1' : '0')) };
    folder.writeLines(folder.lines(), [JSON.stringify(other)]);
    const { checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toMatch(/those of another database/);
    await close();
  });

  it('of another database is noticed, though both have the same key', async () => {
    const other = new ChainFolder();
    copyFileSync(privateKeyFileOf(folder.file), privateKeyFileOf(other.file));
    await (await other.open(() => 'another')).close();
    folder.writeLines([], other.named());
    other.remove();
    const { checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toMatch(/those of another database/);
    await close();
  });

  it('with an edited last line is noticed by the next start', async () => {
    const lines = folder.lines();
    folder.writeLines(lines.with(-1, (lines.at(-1) as string).replace('"at":1', '"at":2')));
    const { checkpointer, close } = await folder.open();
    expect(checkpointer.restored()).toBeDefined();
    await close();
  });

  it('that cannot be written keeps the commit, and the next seal writes it', async () => {
    const { store, checkpointer, logged, close } = await folder.open();
    const lines = folder.lines();
    rmSync(folder.checkpoints);
    mkdirSync(folder.checkpoints); // a folder in its place
    await store.appendAudit([{ kind: 'notice', body: { text: 'while the disk is away' } }]);
    await checkpointer.seal();
    expect(checkpointer.fault()).toMatch(/cannot be written|cannot be read/);
    expect(logged).toHaveLength(1);
    expect((await store.auditHead()).seq).toBe(201);
    rmSync(folder.checkpoints, { recursive: true });
    folder.writeLines(lines);
    await checkpointer.seal();
    expect(checkpointer.fault()).toBeUndefined();
    await close();
    expect(folder.lines()).toHaveLength(5);
    expect(await folder.verify()).toMatchObject({ ok: true });
  });
});

it('a file of checkpoints that is deleted under a running engine is rewritten whole', async () => {
  const chain = await folder.open();
  rmSync(folder.checkpoints);
  await append(chain, 100, 50);
  await chain.close();
  expect(await folder.verify()).toMatchObject({ ok: true });
  expect(folder.lines().length).toBeGreaterThanOrEqual(6);
  expect(await kindsFrom(200)).toContain('audit.checkpoints_lost');
});

it('a daemon that writes between any two steps of a verification does not break it', async () => {
  const chain = await folder.open();
  const sources = auditSourcesOf(folder.file, chain.store, folder.clock);
  const thenMore = async <T>(answer: Promise<T>): Promise<T> => {
    const given = await answer;
    await append(chain, 20, 5);
    return given;
  };
  const check = await verifyAudit({
    ...sources,
    headSeq: () => thenMore(sources.headSeq()),
    tableLines: async () => {
      await append(chain, 20, 5); // after the file was read: it is behind now
      return thenMore(sources.tableLines());
    },
    pause: () => thenMore(Promise.resolve()),
  });
  await chain.close();
  expect(check).toMatchObject({ ok: true, entries: 280, checkpoints: 12 });
});

it('a verification leaves time for other work of the process', async () => {
  const { db, verify } = folder.reading();
  let hadTurn = false;
  setImmediate(() => {
    hadTurn = true;
  });
  await verify();
  db.close();
  expect(hadTurn).toBe(true);
});
