// fidelity: what was recorded of random months is replayed, and gives the decisions that were made; planted bugs are found. MONTH_SEED=17 npx vitest
// run test/history/fidelity/fidelity.test.ts proves one month alone.
import { describe, expect, it } from 'vitest';
import { type PlayedMonth, playMonth } from './month.ts';
import { MonthMemory } from './month-memory.ts';
import { PLANTED, type PlantedRecordingBug, sickened } from './planted-recording-bugs.ts';
import { addProof, noProof, proofLine, proveMonth } from './proof.ts';
import { replayed } from './replayed.ts';

/** Those below 10 are one month: the digit cancels out in the dice. */
const FIRST_SEED = 10;
const MONTHS = 20;
const LIMIT_MS = 240_000;
const chosen = process.env.MONTH_SEED === undefined ? undefined : Number(process.env.MONTH_SEED);

describe.runIf(chosen !== undefined)('the chosen month', () => {
  it('replays as it was', async () => {
    const proof = await proveMonth(chosen as number);
    process.stdout.write(`${proofLine(proof)}\n`);
    expect(proof.unexplained).toEqual([]);
  });
});

describe.runIf(chosen === undefined)('random months of the real engine, recorded', () => {
  it('replay to the decisions that were made, one for one, or name why not', { timeout: LIMIT_MS }, async () => {
    const sum = noProof();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + MONTHS; seed += 1) addProof(sum, await proveMonth(seed));
    process.stdout.write(`${proofLine(sum)}\n`);
    expect(sum.unexplained).toEqual([]);
    expect(sum.gaps).toBeGreaterThan(0);
    expect(sum.decisions).toBeGreaterThan(MONTHS * 100);
  });

  it.each([10, 11, 12])('month %i has the same effects and the same audit without recording', async (seed) => {
    const recorded = await playMonth(seed, new MonthMemory(seed), { days: 10 });
    const alone = await playMonth(seed, undefined, { days: 10 });
    expect(recorded.digest).toBe(alone.digest);
  });
});

describe.runIf(chosen === undefined)('the proof', () => {
  /** By seed: each is played once, and its record is made sick in one way after another. */
  const played = new Map<number, Promise<{ month: PlayedMonth; recording: MonthMemory }>>();
  const play = async (seed: number) => {
    const recording = new MonthMemory(seed);
    return { month: await playMonth(seed, recording), recording };
  };

  it.each(Object.keys(PLANTED) as PlantedRecordingBug[])(
    'finds the planted bug %s at its seed',
    { timeout: LIMIT_MS },
    async (bug) => {
      const { seed } = PLANTED[bug];
      if (!played.has(seed)) played.set(seed, play(seed));
      const { month, recording } = await (played.get(seed) as ReturnType<typeof play>);
      const { differences } = await replayed(sickened(recording.reader(), bug));
      expect(differences.filter(({ isExplained }) => !isExplained)).not.toEqual([]);
      expect(month.made.size).toBeGreaterThan(0);
    },
  );
});
