// test: the chain by itself, on every row of a small one: every change of an entry is found, and its row named. What a
// plain chain cannot notice is recorded as such: a cut tail, and a rewrite of everything from a row on. Checkpoints
// notice both.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type AuditEntry, GENESIS } from '../../../src/domain/audit-entry.ts';
import { linkEntry, verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { openStore } from '../../support/stored-nouns.ts';

const SIZE = 12;

async function someChain(): Promise<AuditEntry[]> {
  const { store, clock } = openStore();
  for (let count = 1; count <= SIZE; count += 1) {
    clock.pass(1_000);
    await store.appendAudit([
      { kind: count % 2 ? 'notice' : 'run.started', body: { count, big: 2n ** 63n, text: 'ä "\u2028" 😀' } },
    ]);
  }
  const entries = await store.audit({ afterSeq: 0, limit: 100 });
  await store.close();
  return entries;
}

async function* inBatches(entries: AuditEntry[]): AsyncIterable<AuditEntry[]> {
  for (let from = 0; from < entries.length; from += 5) yield entries.slice(from, from + 5);
}

const verdictOf = (entries: AuditEntry[]) => verifyChain(inBatches(entries));

/** The hash of one entry, recomputed for its current content. */
function rehashed(entry: AuditEntry): AuditEntry {
  return { ...entry, hash: linkEntry(entry.prev, entry.seq, entry.bytes) };
}

/** Everything from an index on, linked again. */
function relinked(entries: AuditEntry[], from: number): AuditEntry[] {
  const chain = entries.slice(0, from);
  for (const entry of entries.slice(from)) {
    const prev = chain.at(-1)?.hash ?? GENESIS;
    chain.push(rehashed({ ...entry, seq: chain.length + 1, prev }));
  }
  return chain;
}

const rows = Array.from({ length: SIZE }, (_, index) => index);
const edits: [string, (entry: AuditEntry) => AuditEntry][] = [
  ['its content', (entry) => ({ ...entry, bytes: entry.bytes.replace('"count":', '"count":1') })],
  ['its time column', (entry) => ({ ...entry, at: entry.at + 1 })],
  ['its kind column', (entry) => ({ ...entry, kind: 'plan.approved' })],
  ['its hash', (entry) => ({ ...entry, hash: entry.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) })],
  ['its link', (entry) => ({ ...entry, prev: entry.prev.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) })],
  ['its number', (entry) => ({ ...entry, seq: entry.seq + 1 })],
  ['its content to no JSON', (entry) => rehashed({ ...entry, bytes: '{' })],
];

describe('a chain', () => {
  it('that nobody touched is whole', async () => {
    const entries = await someChain();
    expect(await verdictOf(entries)).toEqual({ ok: true, entries: SIZE, head: entries.at(-1)?.hash, bad: undefined });
    expect(await verdictOf([])).toEqual({ ok: true, entries: 0, head: GENESIS, bad: undefined });
  });

  it.each(edits)('with one entry edited in %s is detected, and that row named', async (_, edit) => {
    const entries = await someChain();
    for (const row of rows) {
      const changed = entries.map((entry, index) => (index === row ? edit(entry) : entry));
      expect((await verdictOf(changed)).bad?.seq).toBe(row + 1);
    }
  });

  it('with one entry edited and rehashed names the row after it', async () => {
    const entries = await someChain();
    for (const row of rows.slice(0, -1)) {
      const changed = entries.map((entry, index) =>
        index === row ? rehashed({ ...entry, bytes: entry.bytes.replace('"count":', '"count":1') }) : entry,
      );
      expect((await verdictOf(changed)).bad?.seq).toBe(row + 2);
    }
  });

  it('with one entry deleted is detected, and the missing row named', async () => {
    const entries = await someChain();
    for (const row of rows.slice(0, -1)) {
      const { bad } = await verdictOf(entries.filter((_, index) => index !== row));
      expect(bad).toEqual({ seq: row + 1, reason: `entry ${row + 1} is missing (the next one is ${row + 2})` });
    }
  });

  it('with one entry deleted and the rest renumbered is detected too', async () => {
    const entries = await someChain();
    for (const row of rows.slice(0, -1)) {
      const closed = entries.filter((_, index) => index !== row).map((entry, index) => ({ ...entry, seq: index + 1 }));
      expect((await verdictOf(closed)).bad?.seq).toBe(row + 1);
    }
  });

  it('with an entry inserted is detected, and its row named', async () => {
    const entries = await someChain();
    for (const row of rows) {
      const before = entries[row - 1];
      const made = rehashed({
        seq: row + 1,
        at: 1,
        kind: 'notice',
        bytes: '{"at":1,"body":{},"kind":"notice"}',
        prev: before?.hash ?? GENESIS,
        hash: '',
      });
      const { bad } = await verdictOf([
        ...entries.slice(0, row),
        made,
        ...entries.slice(row).map((entry) => ({ ...entry, seq: entry.seq + 1 })),
      ]);
      expect(bad?.seq).toBe(row + 2); // the inserted one fits; the first that does not is the one after it
    }
  });

  it('with two entries swapped is detected, numbers swapped or not', async () => {
    const entries = await someChain();
    for (const row of rows.slice(0, -1)) {
      const [one, two] = [entries[row] as AuditEntry, entries[row + 1] as AuditEntry];
      const swapped = [...entries.slice(0, row), two, one, ...entries.slice(row + 2)];
      expect((await verdictOf(swapped)).bad?.seq).toBe(row + 1);
      const numbered = swapped.map((entry, index) => ({ ...entry, seq: index + 1 }));
      expect((await verdictOf(numbered)).bad?.seq).toBe(row + 1);
    }
  });

  it('cut at its head is detected', async () => {
    const entries = await someChain();
    for (const row of rows.slice(1)) expect((await verdictOf(entries.slice(row))).bad?.seq).toBe(1);
  });

  it('cut at its tail, or relinked from a row to its end, is NOT detected by itself, only by its head kept elsewhere', async () => {
    const entries = await someChain();
    const head = entries.at(-1)?.hash;
    for (const row of rows) {
      const cut = await verdictOf(entries.slice(0, row));
      expect(cut.ok).toBe(true);
      expect(cut.head).not.toBe(head);
      const changed = entries.map((entry, index) =>
        index === row ? { ...entry, bytes: entry.bytes.replace('"count":', '"count":1') } : entry,
      );
      const rewritten = await verdictOf(relinked(changed, row));
      expect(rewritten.ok).toBe(true);
      expect(rewritten.head).not.toBe(head);
    }
  });
});

describe('a link', () => {
  it('is SHA-256 over a domain byte, the previous hash, the number as 8 bytes and the bytes in UTF-8', () => {
    const text = `"ä😀${'x'.repeat(100_000)}"`;
    for (const [seq, bytes] of [
      [1, '{}'],
      [2 ** 40 + 7, text],
      [3, '{}'],
    ] as const) {
      const number = Buffer.alloc(8);
      number.writeBigUInt64BE(BigInt(seq));
      const parts = [Buffer.from([1]), Buffer.from('ab'.repeat(32), 'hex'), number, Buffer.from(bytes)];
      const expected = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
      expect(linkEntry('ab'.repeat(32), seq, bytes)).toBe(expected);
    }
  });
});
