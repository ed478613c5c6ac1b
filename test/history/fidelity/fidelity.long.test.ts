// fidelity: the long form: 500 random months, in one process for each core. MONTHS and MONTH_FIRST_SEED choose another number or other seeds.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { built } from '../../support/built.ts';
import { addProof, noProof, type Proof, proofLine } from './proof.ts';

const MONTHS = Number(process.env.MONTHS ?? 500);
const FIRST_SEED = Number(process.env.MONTH_FIRST_SEED ?? 10);
const LIMIT_MS = 1_800_000;
const WORKER = built('test/history/fidelity/proof-worker.ts');
const children: ChildProcess[] = [];

/** One that ran out of time goes on otherwise. */
afterAll(() => {
  for (const child of children) child.kill();
});

describe('random months of the real engine, recorded, for long', () => {
  it(
    'replay to the decisions that were made, one for one, or name why not',
    async () => {
      const workers = Math.min(2, availableParallelism());
      const share = Math.ceil(MONTHS / workers);
      const sum = noProof();
      const parts = Array.from({ length: workers }, (_, index) => proof(FIRST_SEED + index, workers, share));
      for (const part of await Promise.all(parts)) addProof(sum, part);
      process.stdout.write(`${proofLine(sum)}\n`);
      expect(sum.unexplained).toEqual([]);
      expect(sum.months).toBeGreaterThanOrEqual(MONTHS);
    },
    LIMIT_MS,
  );
});

async function proof(from: number, stride: number, months: number): Promise<Proof> {
  const child: ChildProcess = fork(WORKER, [from, stride, months].map(String), { execArgv: [] });
  children.push(child);
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`a worker ended early, with code ${code}`);
  });
  const [sum] = await Promise.race([once(child, 'message'), exited]);
  exited.catch(() => undefined);
  return sum as Proof;
}
