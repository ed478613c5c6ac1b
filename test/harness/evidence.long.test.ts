// harness: the long form of evidence: 1,000 actions of simulated lives, 100,000 random edits of bytes.
import { expect, it } from 'vitest';
import { editBytes, evidenceLine, packsOfLives } from './evidence.ts';

const [PACKS, EDITS] = [1_000, 100_000];

it('1,000 packs are verified, each within a second and a megabyte, and no edit of a byte passes', async () => {
  const packs = await packsOfLives(1, PACKS);
  const unnoticed = editBytes(packs, EDITS, 2);
  process.stdout.write(`${evidenceLine(packs, EDITS, unnoticed.length)}\n`);
  expect(
    packs
      .filter(({ verified }) => !verified.ok)
      .map(({ seed, intent, verified }) => ({ seed, intent: intent.id, ...verified })),
  ).toEqual([]);
  expect(Math.max(...packs.map(({ text }) => text.length))).toBeLessThan(1_000_000);
  expect(Math.max(...packs.map(({ madeMs }) => madeMs))).toBeLessThan(1_000);
  expect([packs.length, unnoticed]).toEqual([PACKS, []]);
}, 3_600_000);
