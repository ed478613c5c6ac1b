// harness: evidence of each action of simulated lives says yes, and random edits of its bytes are noticed. The long form: evidence.long.test.ts.
import { describe, expect, it } from 'vitest';
import { editBytes, evidenceLine, packsOfLives } from './evidence.ts';

describe('evidence of the actions of simulated lives', () => {
  it('is verified, is small, and lets no edit of a byte pass', { timeout: 60_000 }, async () => {
    const packs = await packsOfLives(1, 50);
    expect(
      packs
        .filter(({ verified }) => !verified.ok)
        .map(({ seed, intent, verified }) => ({ seed, intent: intent.id, ...verified })),
    ).toEqual([]);
    expect(Math.max(...packs.map(({ text }) => text.length))).toBeLessThan(1_000_000);
    const unnoticed = editBytes(packs, 2_000, 1);
    process.stdout.write(`${evidenceLine(packs, 2_000, unnoticed.length)}\n`);
    expect([packs.length, unnoticed]).toEqual([50, []]);
  });
});
