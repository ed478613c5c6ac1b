// test: a dry run is accurate: it names what the live run after it sends, over random cases. The long form: 10,000.
import { describe, expect, it } from 'vitest';
import { compareMany, figuresLine } from './dry-live.ts';

const CASES = 50;
const LIMIT_MS = 240_000; // for machines on which much else runs

describe('a dry run on the same snapshot', () => {
  it(
    'names exactly what the live run after it sends, sends no writing request itself, and changes nothing of that run',
    async () => {
      const figures = await compareMany(CASES, 1);
      process.stdout.write(`${figuresLine(figures)}\n`);
      expect(figures.cases).toBe(CASES);
      expect(figures.intents).toBeGreaterThan(5);
    },
    LIMIT_MS,
  );
});
