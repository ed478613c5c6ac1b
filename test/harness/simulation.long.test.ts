// harness: the long form of the simulation: 100,000 crash points over random schedules, in one process for each core.
// SIM_CRASH_POINTS and SIM_FIRST_SEED choose another amount or other seeds.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { built } from '../support/built.ts';
import { addFigures, type CampaignFigures, figuresLine, noFigures } from './campaign.ts';
import { KINDS, seedsThatFailed, survives } from './seeds-that-failed.ts';

const CRASH_POINTS = Number(process.env.SIM_CRASH_POINTS ?? 100_000);
const FIRST_SEED = Number(process.env.SIM_FIRST_SEED ?? 1);
const WORKER = built('test/harness/campaign-worker.ts');
const LIMIT_MS = 3_600_000;
const children: ChildProcess[] = [];

/** One that ran out of time goes on otherwise. */
afterAll(() => {
  for (const child of children) child.kill();
});

describe('an engine that crashes at any await, for long', () => {
  it.each(KINDS)('survives every seed that once failed: %s', (kind) => survives(kind, seedsThatFailed[kind]), LIMIT_MS);

  it(
    'loses nothing, doubles nothing and hides nothing',
    async () => {
      const started = performance.now();
      const workers = Math.min(2, availableParallelism());
      const share = Math.ceil(CRASH_POINTS / workers);
      const sum = noFigures();
      const parts = Array.from({ length: workers }, (_, index) => campaign(FIRST_SEED + index, workers, share));
      for (const part of await Promise.all(parts)) addFigures(sum, part);
      process.stdout.write(`${figuresLine(sum, (performance.now() - started) / 1_000)}\n`);
      expect(sum.failures).toEqual([]);
      expect(sum.crashPoints).toBeGreaterThanOrEqual(CRASH_POINTS);
    },
    LIMIT_MS,
  );
});

async function campaign(from: number, stride: number, crashPoints: number): Promise<CampaignFigures> {
  const child: ChildProcess = fork(WORKER, [from, stride, crashPoints].map(String), { execArgv: [] });
  children.push(child);
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`a worker ended early, with code ${code}`);
  });
  const [figures] = await Promise.race([once(child, 'message'), exited]);
  exited.catch(() => undefined);
  return figures as CampaignFigures;
}
