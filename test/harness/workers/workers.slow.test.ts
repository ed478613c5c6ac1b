// harness: workers, PostgreSQL and the way between them, broken a few times: the short form of workers.long.test.ts.
import { describe, expect, it } from 'vitest';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { lineOfWorkers, tormentAndJudge } from './life.ts';

describe.skipIf(hasNoPostgres)(`workers that are killed, paused and cut off${NEEDS_POSTGRES}`, () => {
  it('lose nothing, double nothing, send nothing without a record before it, and never act at the same time', async () => {
    const judgement = await tormentAndJudge({
      seed: Number(process.env.CHAOS_SEED ?? 1),
      places: 2,
      organizations: 2,
      phases: [
        { leaseMs: 1_500, gapMsMax: 1_000, blows: { kill: 4, postgres: 1, pause: 1, cut: 2, hang: 1, command: 1 } },
      ],
      settling: { quietMs: 3_000, mostMs: 240_000 },
    });
    process.stdout.write(`${lineOfWorkers(judgement)}\n`);
    expect(judgement.all.flatMap(({ faults }) => faults)).toEqual([]);
    expect(judgement.all.every(({ requests }) => requests > 0)).toBe(true);
  }, 500_000);
});
