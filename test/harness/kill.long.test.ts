// harness: the real daemon, killed (kill -9) hundreds of times at random moments, over HTTP, against a console with latency,
// resets and late effects. KILLS and KILL_SEED choose another number or another seed.
import { describe, expect, it } from 'vitest';
import { checkKilled, type KillFigures, killLine } from './kill-checks.ts';
import { type KilledLife, liveAndDie } from './kill-life.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.KILL_SEED ?? 1);
const ORGANIZATIONS = 3;
const LIMIT_MS = 1_800_000;

describe('a daemon that is killed again and again', () => {
  it(
    'loses nothing, doubles nothing and calls nothing without a record before it',
    async () => {
      const started = performance.now();
      const each = Math.ceil(KILLS / ORGANIZATIONS);
      const parts = Array.from({ length: ORGANIZATIONS }, (_, index) => killAndCheck(SEED + index, each));
      const all = await Promise.all(parts);
      process.stdout.write(`${killLine(all, (performance.now() - started) / 1_000)}\n`);
      expect(all.flatMap(({ faults }) => faults)).toEqual([]);
      expect(all.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS);
    },
    LIMIT_MS,
  );
});

async function killAndCheck(seed: number, kills: number): Promise<KillFigures> {
  let life: KilledLife | undefined;
  try {
    life = await liveAndDie(seed, kills);
    return await checkKilled(life);
  } finally {
    await life?.org.console.close();
  }
}
