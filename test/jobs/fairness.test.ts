// jobs: 300 organizations share workers. One that hangs, with all of its places taken, costs the others one slot and no more.
import { describe, expect, it } from 'vitest';
import type { Job, JobHandler, Jobs } from '../../src/domain/jobs.ts';
import { systemClock } from '../../src/system/clock.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../support/postgres.ts';
import { ended, held, newDatabase, opened, working } from './opened.ts';

const OTHERS = Array.from({ length: 300 }, (_, at) => `org-${at}`);
const LANES_SLOTS = 24;
/** How long a run takes: its time is not the processor's. */
const RUN_MS = 150;
const PAIRS = 2;

/** The mean time from being asked for to the begin, over one run of each organization. */
async function meanWaitingMs(jobs: Jobs): Promise<number> {
  const tickets = await Promise.all(
    OTHERS.map(async (organization) => ({
      organization,
      ...(await jobs.ask({ organization, kind: 'run', payload: null })),
    })),
  );
  const states = await Promise.all(tickets.map(({ id, organization }) => ended(jobs, id, organization)));
  const waited = states.map((state) => (state.kind === 'done' ? (state.value as number) : Number.NaN));
  return waited.reduce((sum, ms) => sum + ms, 0) / waited.length;
}

describe.skipIf(hasNoPostgres)(`300 organizations${NEEDS_POSTGRES}`, () => {
  it('wait less than a tenth longer when one of them hangs, and its other jobs take no slot', async () => {
    const url = await newDatabase();
    const [asking, one, other] = [await opened(url), await opened(url), await opened(url)];
    const hanging = held();
    const open = new Set<string>();
    let overlaps = 0;
    const run: JobHandler = async (job: Job) => {
      if (job.organization === 'hangs') return hanging.handler(job);
      if (open.has(job.organization)) overlaps += 1;
      open.add(job.organization);
      await systemClock.sleep(RUN_MS);
      open.delete(job.organization);
      return job.waitedMs;
    };
    const settings = { organizations: [...OTHERS, 'hangs'], lanes: LANES_SLOTS / 2 };
    await working(one, run, settings);
    await working(other, run, settings);
    await meanWaitingMs(asking); // what is slow once only
    const ratios: number[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const calm = await meanWaitingMs(asking);
      const { id } = await asking.ask({ organization: 'hangs', kind: 'request', payload: null, by: 'ana' });
      await hanging.count(hanging.begun.length + 1);
      const flood = ['operate', 'look', 'request', 'run'] as const;
      for (const kind of flood) await asking.ask({ organization: 'hangs', kind, payload: null, by: 'ana' });
      const begun = hanging.begun.length;
      ratios.push((await meanWaitingMs(asking)) / calm);
      expect(hanging.begun).toHaveLength(begun);
      hanging.end(id);
      for (let left = flood.length; left > 0; left -= 1) {
        const job = (await hanging.count(begun + flood.length - left + 1)).at(-1) as Job;
        hanging.end(job.id);
        await ended(asking, job.id, 'hangs');
      }
    }
    expect(overlaps).toBe(0);
    // What it really costs is in each pair; what the machine does beside is not.
    expect(Math.min(...ratios), `ratios ${ratios.map((ratio) => ratio.toFixed(3))}`).toBeLessThan(1.1);
  }, 120_000);
});
