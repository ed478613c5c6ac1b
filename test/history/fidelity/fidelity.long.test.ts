// fidelity: the long form: 500 random months, in one process for each core. MONTHS and MONTH_FIRST_SEED choose another number or other seeds. What it
// has proved so far is printed on the way.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { built } from '../../support/built.ts';
import { addProof, noProof, type Proof, proofLine } from './proof.ts';

const MONTHS = Number(process.env.MONTHS ?? 500);
const FIRST_SEED = Number(process.env.MONTH_FIRST_SEED ?? 10);
const MONTH_LIMIT_MS = 60_000;
/** A line of progress after so many. */
const PROGRESS_MONTHS = 50;
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
      const proved = (month: Proof) => {
        addProof(sum, month);
        for (const line of month.unexplained) process.stdout.write(`${line}\n`);
        if (sum.months % PROGRESS_MONTHS === 0) process.stdout.write(`${proofLine(sum)}\n`);
      };
      await Promise.all(
        Array.from({ length: workers }, (_, index) => prove(FIRST_SEED + index, workers, share, proved)),
      );
      process.stdout.write(`${proofLine(sum)}\n`);
      expect(sum.unexplained).toEqual([]);
      expect(sum.months).toBeGreaterThanOrEqual(MONTHS);
    },
    MONTHS * MONTH_LIMIT_MS,
  );
});

async function prove(from: number, stride: number, months: number, proved: (month: Proof) => void): Promise<void> {
  const child: ChildProcess = fork(WORKER, [from, stride, months].map(String), { execArgv: [] });
  children.push(child);
  child.on('message', (month) => proved(month as Proof));
  // The last message may come after the end of the process, and before that of the channel.
  const [[code, signal]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (code !== 0) throw new Error(`a worker ended early, with ${code ?? signal}`);
}
