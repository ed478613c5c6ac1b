// harness: three workers on one PostgreSQL, each with a way of its own to it, against consoles with faults: killed (kill -9) hundreds of times,
// paused beyond their lease, cut off; and PostgreSQL killed. CHAOS_KILLS and CHAOS_SEED choose another number or another seed.
import { describe, expect, it } from 'vitest';
import { LEASE_MS } from '../../../src/domain/lease.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { lineOfWorkers, TAKEOVER_MS_MAX, tormentAndJudge } from './life.ts';

const KILLS = Number(process.env.CHAOS_KILLS ?? 300);
const SEED = Number(process.env.CHAOS_SEED ?? 1);
const LIMIT_MS = 3_600_000;
const share = (of: number) => Math.ceil((of * KILLS) / 300);

describe.skipIf(hasNoPostgres)(`workers that are killed again and again${NEEDS_POSTGRES}`, () => {
  it(
    'lose nothing, double nothing, send nothing without a record before it, never act at the same time, and are taken over in time',
    async () => {
      const takeover = share(10);
      const blows = {
        ...{ kill: KILLS - takeover, postgres: share(30), pause: share(50) },
        ...{ cut: share(40), hang: share(20), command: share(40) },
      };
      const judgement = await tormentAndJudge({
        seed: SEED,
        places: 3,
        organizations: 4,
        phases: [
          { leaseMs: 2_000, gapMsMax: 4_000, blows },
          { leaseMs: LEASE_MS, gapMsMax: 2_000, blows: { takeover } },
        ],
        settling: { quietMs: 12_000, mostMs: 180_000 },
      });
      process.stdout.write(`${lineOfWorkers(judgement)}\n`);
      expect(judgement.all.flatMap(({ faults }) => faults)).toEqual([]);
      expect(judgement.torment.takeovers.filter(({ ms }) => ms > TAKEOVER_MS_MAX)).toEqual([]);
    },
    LIMIT_MS,
  );
});
