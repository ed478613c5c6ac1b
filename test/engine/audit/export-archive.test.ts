// test: archiving the oldest entries: verified in a file, removed from the database, and recorded in the audit.
import { createReadStream, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ArchiveBound, archiveAudit, archiveFolderOf, verifyExport } from '../../../src/engine/audit/archive.ts';
import { publicKeyFileOf, readPublicKeys } from '../../../src/engine/audit/signing-key.ts';
import { append, ChainFolder } from './checkpoint-chain.ts';

let folder: ChainFolder;
beforeEach(async () => {
  folder = new ChainFolder();
  await folder.fill(400, 50);
});
afterEach(() => folder.remove());

async function archive(bound: ArchiveBound) {
  const { store, checkpointer, close } = await folder.open();
  const keys = readPublicKeys(publicKeyFileOf(folder.file));
  const segment = await archiveAudit({ store, keys, folder: archiveFolderOf(folder.file) }, bound, {
    by: 'ana (command line)',
    reason: 'older than a year',
  });
  await checkpointer.seal();
  await close();
  return segment;
}

async function verifyFile(file: string) {
  const keys = readPublicKeys(publicKeyFileOf(folder.file));
  return verifyExport(createInterface({ input: createReadStream(file) }), keys);
}

it('archiving by number removes exactly whole segments', async () => {
  const segment = await archive({ beforeSeq: 260 });
  expect(segment).toMatchObject({ from: 1, to: 250, reason: 'older than a year' });
  expect(await verifyFile(segment?.file as string)).toMatchObject({
    ok: true,
    entries: 250,
    sealed: 250,
    checkpoints: 5,
  });
  expect(await folder.verify()).toMatchObject({ ok: true, first: 251, entries: 151, sealed: 401 });
});

it('a checkpoint exactly at the bound does not include the bound itself', async () => {
  expect(await archive({ beforeSeq: 250 })).toMatchObject({ to: 200 });
  expect(await archive({ beforeSeq: 251 })).toMatchObject({ from: 201, to: 250 });
});

it('a second archive joins the first one', async () => {
  const first = await archive({ beforeSeq: 101 });
  const second = await archive({ beforeSeq: 301 });
  expect([first?.to, second?.from, second?.to]).toEqual([100, 101, 300]);
  expect(await verifyFile(second?.file as string)).toMatchObject({ ok: true, first: 101, sealed: 300 });
  const chain = await folder.open();
  await append(chain, 100, 50);
  await chain.close();
  expect(await folder.verify()).toMatchObject({ ok: true, first: 301 });
});

it('archiving by date keeps newer entries', async () => {
  const { at } = JSON.parse(folder.lines()[3] as string) as { at: number };
  expect(await archive({ beforeMs: at })).toMatchObject({ to: 150 });
});

it('archiving nothing leaves no file', async () => {
  expect(await archive({ beforeSeq: 50 })).toBeUndefined();
  expect(existsSync(archiveFolderOf(folder.file))).toBe(false);
});

it('the record has an entry for its archive', async () => {
  const segment = await archive({ beforeSeq: 201 });
  const { store, close } = await folder.open();
  const [entry] = await store.audit({ kind: 'audit.archived', limit: 1 });
  await close();
  const { body } = JSON.parse(entry?.bytes as string) as { body: object };
  expect(body).toEqual(segment);
  expect(readdirSync(archiveFolderOf(folder.file))).toEqual(['000000000001-000000000200.ndjson']);
});

it('entries removed up to a checkpoint do not pass for an archive', async () => {
  folder.tamper((db) => db.run('DELETE FROM audit WHERE seq <= 100'));
  expect((await folder.verify()).bad).toMatchObject({
    seq: 1,
    reason: expect.stringContaining('has no entry for an archive'),
  });
});

it('removing more entries than were archived is detected', async () => {
  await archive({ beforeSeq: 101 });
  folder.tamper((db) => db.run('DELETE FROM audit WHERE seq <= 150'));
  expect((await folder.verify()).ok).toBe(false);
  folder.tamper((db) => db.run('DELETE FROM audit WHERE seq <= 170'));
  expect((await folder.verify()).bad?.seq).toBe(1);
});

it('the database refuses to delete entries that no archive holds', async () => {
  await archive({ beforeSeq: 101 });
  const { db } = folder.reading();
  expect(() => db.run('DELETE FROM audit WHERE seq = 101')).toThrow(/append-only/);
  expect(() => db.run('UPDATE audit SET at = 1 WHERE seq = 101')).toThrow(/append-only/);
  expect(() =>
    db.insert('audit_archives', { to_seq: 120, from_seq: 101, head: '', file: '', digest: '', archived_at: 1 }),
  ).toThrow();
  db.close();
});

it('an entry that was changed before archiving stays in the database', async () => {
  folder.tamper((db) => db.run("UPDATE audit SET bytes = replace(bytes, 'SN-', 'SX-') WHERE seq = 77"));
  await expect(archive({ beforeSeq: 101 })).rejects.toThrow(/does not verify: nothing was removed/);
  expect((await folder.verify()).bad).toMatchObject({ seq: 77 });
});

it('an edited archive fails its verification, which names the entry', async () => {
  const file = (await archive({ beforeSeq: 101 }))?.file as string;
  writeFileSync(file, readFileSync(file, 'utf8').replace('SN-42\\"', 'SN-43\\"'));
  expect((await verifyFile(file)).bad).toMatchObject({ seq: 42 });
});
