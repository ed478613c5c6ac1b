// fidelity: what was recorded of random months is replayed, and gives the decisions that were made; planted bugs are found. MONTH_SEED=17 npx vitest
// run test/history/fidelity/fidelity.slow.test.ts proves one month alone.
import { describe, expect, it } from 'vitest';
import type { HistoryReader } from '../../../src/domain/recorded-history.ts';
import { playMonth } from './month.ts';
import { MonthMemory } from './month-memory.ts';
import { IN_RECORDING, IN_REPLAYING } from './planted-code-bugs.ts';
import { PLANTED, type PlantedRecordingBug, sickened } from './planted-recording-bugs.ts';
import { addProof, noProof, proofLine, proveMonth } from './proof.ts';
import { replayed } from './replayed.ts';

/** Those below 10 are one month: the digit cancels out in the dice. */
const FIRST_SEED = 12;
const MONTHS = 2;
/** They show as much as whole ones, which the long form plays. */
const SHORT = { days: 15 };
const LIMIT_MS = 600_000;
const chosen = process.env.MONTH_SEED === undefined ? undefined : Number(process.env.MONTH_SEED);

describe.runIf(chosen !== undefined)('the chosen month', () => {
  it('replays as it was', { timeout: LIMIT_MS }, async () => {
    const proof = await proveMonth(chosen as number);
    process.stdout.write(`${proofLine(proof)}\n`);
    expect(proof.unexplained).toEqual([]);
  });
});

describe.runIf(chosen === undefined)('random months of the real engine, recorded', () => {
  it('replay to the decisions that were made, one for one, or name why not', { timeout: LIMIT_MS }, async () => {
    const sum = noProof();
    const seeds = Array.from({ length: MONTHS }, (_, at) => FIRST_SEED + at);
    for (const seed of seeds) addProof(sum, await proveMonth(seed, SHORT));
    process.stdout.write(`${proofLine(sum)}\n`);
    expect(sum.unexplained).toEqual([]);
    expect(sum.gaps).toBeGreaterThan(0);
    expect(sum.decisions).toBeGreaterThan(MONTHS * 100);
    expect(Math.min(sum.onSignals, sum.onGiven)).toBeGreaterThan(MONTHS * 10);
  });

  it.each([10, 12])('month %i has the same effects and the same audit without recording', async (seed) => {
    const recorded = await playMonth(seed, new MonthMemory(seed), { days: 5 });
    const alone = await playMonth(seed, undefined, { days: 5 });
    expect(recorded.digest).toBe(alone.digest);
  });
});

describe.runIf(chosen === undefined)('the proof', () => {
  const LENGTH = { days: 12 };
  /** By seed: each is played once, and its record is made sick in one way after another. */
  const played = new Map<number, Promise<HistoryReader>>();
  const play = async (seed: number) => {
    const recording = new MonthMemory(seed);
    await playMonth(seed, recording, LENGTH);
    return recording.reader();
  };
  const recordOf = (seed: number) => {
    const known = played.get(seed) ?? play(seed);
    played.set(seed, known);
    return known;
  };
  const unexplained = async (reader: HistoryReader) =>
    (await replayed(reader)).differences.filter(({ isExplained }) => !isExplained);

  it.each(Object.keys(PLANTED) as PlantedRecordingBug[])('finds the planted bug %s at its seed', async (bug) => {
    const reader = await recordOf(PLANTED[bug].seed);
    expect(await unexplained(sickened(reader, bug))).not.toEqual([]);
  });

  it.each(Object.entries(IN_REPLAYING))('finds %s, planted in the code of replaying', async (_, { seed, plant }) => {
    const reader = await recordOf(seed);
    const takeOut = plant();
    try {
      expect(await unexplained(reader)).not.toEqual([]);
    } finally {
      takeOut();
    }
  });

  it.each(Object.entries(IN_RECORDING))('finds %s, planted in the code of recording', async (_, { seed, plant }) => {
    const takeOut = plant();
    try {
      expect(await unexplained(await play(seed))).not.toEqual([]);
    } finally {
      takeOut();
    }
  });

  it('finds nothing in these months when no bug is planted', async () => {
    for (const reader of played.values()) expect(await unexplained(await reader)).toEqual([]);
    expect(played.size).toBeGreaterThan(1);
  });
});
