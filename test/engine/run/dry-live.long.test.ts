// test: the long form of dry-live.test.ts: DRY_LIVE_CASES and DRY_LIVE_SEED choose another number of cases, or others.
import { describe, expect, it } from 'vitest';
import { compareMany, figuresLine } from './dry-live.ts';

const CASES = Number(process.env.DRY_LIVE_CASES ?? 10_000);
const SEED = Number(process.env.DRY_LIVE_SEED ?? 2);

describe('a dry run on the same snapshot, for long', () => {
  it('names exactly what the live run after it sends, sends no writing request itself, and changes nothing of that run', async () => {
    const figures = await compareMany(CASES, SEED);
    process.stdout.write(`${figuresLine(figures)}\n`);
    expect(figures).toMatchObject({ cases: CASES, writtenByDryRuns: 0 });
  });
});
