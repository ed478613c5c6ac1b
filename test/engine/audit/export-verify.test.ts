// test: an export is verified anywhere with only the public key, and changes in it are named.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportAudit, verifyExport } from '../../../src/engine/audit/archive.ts';
import { linkEntry, publicKeyFileOf, readPublicKeys } from '../../../src/engine/audit/signing-key.ts';
import { ChainFolder } from './checkpoint-chain.ts';

const RUN = 40;
const ENTRIES = 200;
let folder: ChainFolder;
let lines: string[];
let keys: ReturnType<typeof readPublicKeys>;

async function exported(from = 1, to?: number): Promise<string[]> {
  const { store, close } = await folder.open();
  const checkpointLines = (await store.checkpointLines()) ?? [];
  let text = '';
  const source = { address: 'https://console.example.com', entries: store.auditFrom(from), checkpointLines, to };
  for await (const piece of exportAudit(source)) text += piece;
  await close();
  return text.split('\n').slice(0, -1);
}

async function* streamed(texts: readonly string[]): AsyncIterable<string> {
  yield* texts;
}

const verify = (texts: readonly string[]) => verifyExport(streamed(texts), keys);
const indexOfEntry = (seq: number) => lines.findIndex((line) => line.includes(`"type":"entry","seq":${seq},`));
const indexOfCheckpoint = (size: number) =>
  lines.findIndex((line) => line.includes('"type":"checkpoint"') && line.includes(`"size":${size}`));

beforeAll(async () => {
  folder = new ChainFolder();
  await folder.fill(ENTRIES, RUN);
  lines = await exported();
  keys = readPublicKeys(publicKeyFileOf(folder.file));
});
afterAll(() => folder.remove());

describe('an export', () => {
  it('begins with the format, the address and the key', () => {
    expect(JSON.parse(lines[0] as string)).toEqual({
      format: 'trustward-audit',
      version: 1,
      address: 'https://console.example.com',
      keyId: [...keys.keys()][0],
      from: 1,
      prev: '0'.repeat(64),
    });
    expect(lines).toHaveLength(1 + ENTRIES + ENTRIES / RUN + 1);
  });

  it('verifies with only the public key', async () => {
    expect(await verify(lines)).toEqual({
      ok: true,
      first: 1,
      entries: ENTRIES,
      head: (JSON.parse(lines.at(-1) as string) as { head: string }).head,
      checkpoints: 5,
      sealed: ENTRIES,
      bad: undefined,
      tables: [],
      notes: [],
    });
  });

  it.each([2, 41, 120, 200])('from entry %i on verifies', async (from) => {
    expect(await verify(await exported(from))).toMatchObject({ ok: true, first: from, entries: ENTRIES - from + 1 });
  });

  it('that ends between checkpoints shows how many entries are not sealed', async () => {
    const check = await verify(await exported(1, 100));
    expect(check).toMatchObject({
      ok: true,
      entries: 100,
      sealed: 80,
      notes: ['the last 20 entries are not covered by a checkpoint yet'],
    });
  });

  it('of an empty record, or without a checkpoint, does not pass for signed', async () => {
    const check = await verify(await exported(1, 20));
    expect(check.bad?.reason).toContain('there is no checkpoint');
    expect((await verify(await exported(1_000))).ok).toBe(false);
  });

  it('does not verify with another key', async () => {
    const other = new ChainFolder();
    await other.fill(1, 1);
    const foreign = readPublicKeys(publicKeyFileOf(other.file));
    other.remove();
    const check = await verifyExport(streamed(lines), foreign);
    expect(check.bad).toMatchObject({ checkpoint: RUN, reason: expect.stringContaining('is not the one given') });
  });

  it('of another format is refused with a clear message', async () => {
    await expect(verify(['{"run":1}'])).rejects.toThrow(/does not begin with a line of format `trustward-audit`/);
    await expect(verify([])).rejects.toThrow(/does not begin/);
  });
});

describe('an export that was changed', () => {
  const seqs = [1, 2, 39, 40, 41, 111, 199, 200];

  it.each(seqs)('with entry %i edited fails, and the entry is named', async (seq) => {
    const index = indexOfEntry(seq);
    const check = await verify(lines.with(index, (lines[index] as string).replace('SN-', 'SX-')));
    expect(check.bad?.seq).toBe(seq);
  });

  it.each(seqs)('with entry %i removed fails, and the entry is named', async (seq) => {
    const check = await verify(lines.toSpliced(indexOfEntry(seq), 1));
    expect(check.bad?.seq).toBeLessThanOrEqual(seq);
    expect(check.bad?.checkpoint ?? check.bad?.seq).toBeGreaterThanOrEqual(seq);
  });

  it.each(seqs)('relinked from entry %i on fails, and the place is named', async (seq) => {
    let prev = (JSON.parse(lines[indexOfEntry(seq)] as string) as { prev: string }).prev;
    const rechained = lines.map((text) => {
      const line = JSON.parse(text) as { type?: string; seq: number; bytes: string };
      if (line.type !== 'entry' || line.seq < seq) return text;
      const bytes = line.seq === seq ? line.bytes.replace('SN-', 'SX-') : line.bytes;
      const entry = { ...line, bytes, prev, hash: linkEntry(prev, line.seq, bytes) };
      prev = entry.hash;
      return JSON.stringify(entry);
    });
    const check = await verify(rechained);
    expect(check.bad?.checkpoint).toBe(Math.ceil(seq / RUN) * RUN);
    expect(check.bad?.seq).toBeLessThanOrEqual(seq);
  });

  it.each([40, 80, 120, 160])('with checkpoint %i removed or edited fails', async (size) => {
    const index = indexOfCheckpoint(size);
    expect((await verify(lines.toSpliced(index, 1))).bad?.checkpoint).toBe(size + RUN);
    const edited = (lines[index] as string).replace(/"at":\d+/, '"at":1');
    expect((await verify(lines.with(index, edited))).bad?.checkpoint).toBe(size);
  });

  it.each([1, 2, 50, 150])('cut by %i lines fails', async (count) => {
    expect((await verify(lines.slice(0, -count))).bad?.reason).toContain('the file was cut');
  });

  it('with an invalid line, or one after the end, fails', async () => {
    expect((await verify(lines.with(indexOfEntry(7), '{"type":"entry"}'))).bad).toMatchObject({ seq: 7 });
    expect((await verify([...lines, lines[3] as string])).bad).toMatchObject({ seq: ENTRIES + 1 });
  });
});

it('another machine can read the public key beside the database', () => {
  expect(readFileSync(publicKeyFileOf(folder.file), 'utf8')).toMatch(/^-----BEGIN PUBLIC KEY-----/);
});
