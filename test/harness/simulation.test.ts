// harness: the simulation as every test run has it: some thousand crash points, the seeds that once failed, the planted bugs.
// A seed of its own: SIM_SEED=7 npx vitest run test/harness/simulation.test.ts prints its history when it fails.
import { describe, expect, it } from 'vitest';
import { figuresLine, firstSeedThatFinds, runCampaign } from './campaign.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import seedsThatFailed from './seeds.json' with { type: 'json' };
import { simulate } from './simulation.ts';

const CRASH_POINTS = 1_500;
const SEEDS_TO_FIND_A_BUG = 300;
const chosen = process.env.SIM_SEED === undefined ? undefined : Number(process.env.SIM_SEED);

describe.runIf(chosen !== undefined)('the chosen seed', () => {
  it('loses, doubles and hides nothing', async () => {
    const history: string[] = [];
    const { violations } = await simulate(chosen as number, { tell: (line) => history.push(line) });
    const inOrder = history.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
    if (violations.length > 0) process.stdout.write(`${inOrder.join('\n')}\n`);
    expect(violations).toEqual([]);
  });
});

describe.runIf(chosen === undefined)(
  'an engine that crashes at any await, on a platform that loses, delays and lies',
  () => {
    it('loses nothing, doubles nothing and hides nothing', async () => {
      const started = performance.now();
      const figures = await runCampaign(1, 1_000, CRASH_POINTS);
      process.stdout.write(`${figuresLine(figures, (performance.now() - started) / 1_000)}\n`);
      expect(figures.failures).toEqual([]);
      expect(figures.crashPoints).toBeGreaterThanOrEqual(CRASH_POINTS);
    });

    it('has mended every seed that once failed', async () => {
      for (const seed of seedsThatFailed as number[]) {
        expect({ seed, violations: (await simulate(seed)).violations }).toEqual({ seed, violations: [] });
      }
    });

    it('leads the same life twice from the same seed, to the byte', async () => {
      for (const seed of [1, 2, 3]) expect(await simulate(seed)).toEqual(await simulate(seed));
    });

    it('survives a crash at each step of one life in turn', async () => {
      const { steps } = await simulate(SWEPT_SEED, { crashAt: 0 });
      const stride = Math.ceil(steps / 150);
      for (let crashAt = 1; crashAt <= steps; crashAt += stride) {
        const { violations } = await simulate(SWEPT_SEED, { crashAt });
        expect({ crashAt, violations }).toEqual({ crashAt, violations: [] });
      }
    });
  },
);

const SWEPT_SEED = 5;

describe.runIf(chosen === undefined)('the checker', () => {
  it.each(PLANTED_BUGS)('finds the planted bug %s', async (bug) => {
    const found = await firstSeedThatFinds(bug, SEEDS_TO_FIND_A_BUG);
    expect(found?.violations[0]?.kind).toBeDefined();
  });
});
