// harness: the simulation as every test run has it: some thousand crash points, the seeds that once failed, the planted bugs.
// A seed of its own: SIM_SEED=7 npm run test:all -- test/harness/simulation.slow.test.ts prints its history when it fails.
import { describe, expect, it } from 'vitest';
import { isThorough } from '../support/fixed-seed.ts';
import { figuresLine, healthyLife, runCampaign, seedThatFinds } from './campaign.ts';
import { PLANTED_BUGS, type SeededBug } from './planted-bugs.ts';
import { KINDS, seedsThatFailed, survives } from './seeds-that-failed.ts';
import { simulate } from './simulation.ts';

const CRASH_POINTS = 250;
const FIRST_SEED = 1;
const SEEDS_TO_FIND_A_BUG = 300;
/** Lives on a slow platform, with edited rows, with a replaced file. */
const NEWER_SEEDS = [86, 27, 60];
/** On a busy machine; a few seconds each otherwise. */
const LIMIT_MS = 240_000;
/** Short lives, without and with operator commands. */
const SWEPT = [
  { seed: 36, without: 'people' },
  { seed: 20, without: 'tending' },
] as const;
const SWEPT_STEPS = 5;
/** All of them are in the long form. */
const LAST_SEEDS = 2;
const SOME_BUGS = 6;
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
    it('loses nothing, doubles nothing and hides nothing', { timeout: LIMIT_MS }, async () => {
      const started = performance.now();
      const figures = await runCampaign(FIRST_SEED, 1_000, CRASH_POINTS);
      process.stdout.write(`${figuresLine(figures, (performance.now() - started) / 1_000)}\n`);
      expect(figures.failures).toEqual([]);
      expect(figures.crashPoints).toBeGreaterThanOrEqual(CRASH_POINTS);
      expect(Math.min(figures.told, figures.checks)).toBeGreaterThan(0);
    });

    it('survives the last seeds of each kind that once failed', { timeout: LIMIT_MS }, async () => {
      for (const kind of KINDS) await survives(kind, seedsThatFailed[kind].slice(-LAST_SEEDS));
    });

    it('leads the same life twice from the same seed, to the byte', { timeout: LIMIT_MS }, async () => {
      for (const seed of [FIRST_SEED, ...NEWER_SEEDS]) expect(await simulate(seed)).toEqual(await healthyLife(seed));
    });

    it('survives a crash at steps all over one life, each in turn', { timeout: LIMIT_MS }, async () => {
      for (const { seed, without } of SWEPT) {
        const { steps } = await simulate(seed, { without, crashAt: 0 });
        const stride = Math.ceil(steps / SWEPT_STEPS);
        for (let crashAt = 1; crashAt <= steps; crashAt += stride) {
          const { violations } = await simulate(seed, { without, crashAt });
          expect({ seed, crashAt, violations }).toEqual({ seed, crashAt, violations: [] });
        }
      }
    });
  },
);

describe.runIf(chosen === undefined)('the checker', () => {
  const all = Object.keys(PLANTED_BUGS) as SeededBug[];
  it.each(isThorough ? all : all.filter((_, at) => at % SOME_BUGS === 0))(
    'finds the planted bug %s at its seed, and nothing there without it',
    { timeout: LIMIT_MS },
    async (bug) => {
      expect(await seedThatFinds(bug, SEEDS_TO_FIND_A_BUG)).toBe(PLANTED_BUGS[bug]);
    },
  );
});
