// jobs: 300 organizations share workers. One that hangs, with all of its places taken, costs the others one slot and no more. What that is in
// time is measured by `bench/scale.ts`.
import { describe, expect, it } from 'vitest';
import type { Job, JobHandler } from '../../../src/domain/jobs.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { ended, held, newDatabase, opened, working } from './opened.ts';

const OTHERS = Array.from({ length: 300 }, (_, at) => `org-${at}`);
const SLOTS = 24;

/** Runs that all wait for one another until `slots` of them are under way at the same time, and then end. */
function filling(slots: number) {
  const open = new Set<string>();
  const done = new Set<string>();
  const filled = Promise.withResolvers<void>();
  let overlaps = 0;
  const handler: JobHandler = async ({ organization }: Job) => {
    if (open.has(organization)) overlaps += 1;
    open.add(organization);
    if (open.size >= slots) filled.resolve();
    await filled.promise;
    open.delete(organization);
    done.add(organization);
    return null;
  };
  return { handler, done, overlaps: () => overlaps };
}

describe.skipIf(hasNoPostgres)(`300 organizations${NEEDS_POSTGRES}`, () => {
  it('have all slots but one while one of them hangs, and its other jobs take none', async () => {
    const url = await newDatabase();
    const [asking, one, other] = [await opened(url), await opened(url), await opened(url)];
    const hanging = held();
    const others = filling(SLOTS - 1);
    const run: JobHandler = (job) => (job.organization === 'hangs' ? hanging.handler(job) : others.handler(job));
    const settings = { organizations: [...OTHERS, 'hangs'], lanes: SLOTS / 2 };
    await working(one, run, settings);
    await working(other, run, settings);
    await asking.ask({ organization: 'hangs', kind: 'request', payload: null, by: 'ana' });
    await hanging.count(1);
    for (const kind of ['operate', 'look', 'request', 'run'] as const)
      await asking.ask({ organization: 'hangs', kind, payload: null, by: 'ana' });

    const tickets = await Promise.all(
      OTHERS.map(async (organization) => ({
        organization,
        ...(await asking.ask({ organization, kind: 'run', payload: null })),
      })),
    );
    const states = await Promise.all(tickets.map(({ id, organization }) => ended(asking, id, organization)));

    expect(states.filter(({ kind }) => kind !== 'done')).toEqual([]);
    expect(others.done.size).toBe(OTHERS.length);
    expect(others.overlaps()).toBe(0);
    expect(hanging.begun).toHaveLength(1);
  }, 120_000);
});
