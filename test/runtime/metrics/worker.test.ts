// test: what a worker's metrics show of many organizations: a bounded number of labels, whatever comes and goes, and sums that lose nothing.
import { describe, expect, it } from 'vitest';
import { NAMED_MAX, WorkerMeasuring } from '../../../src/runtime/metrics/shared-gauges.ts';

const idsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => `o-${String(first + at).padStart(5, '0')}`);

function measuring(state: { ids: string[]; failing?: string[]; problems?: { organization: string; kind: string }[] }) {
  return new WorkerMeasuring({
    version: 'v',
    jobs: async () => [],
    organizations: () => ({ count: state.ids.length, areRefused: false }),
    problems: () => state.problems ?? [],
    fault: () => undefined,
    ids: () => state.ids,
    failing: () => state.failing ?? [],
    longestMs: () => 0,
    fetchedAtMs: () => undefined,
  });
}

/** By organization. */
function seriesOf(text: string, name: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'))) {
    const organization = /organization="([^"]*)"/.exec(labels)?.[1] as string;
    found.set(organization, (found.get(organization) ?? 0) + Number(value));
  }
  return found;
}

describe('the metrics of a worker', () => {
  it('name the first organizations by id and sum the others, whatever organizations come and go', async () => {
    const state = { ids: [] as string[] };
    const on = measuring(state);
    const jobs = 5 * 250;
    for (let round = 0; round < 5; round += 1) {
      state.ids = idsFrom(round * 250, 250);
      for (const organization of state.ids.toReversed()) {
        on.began({ organization, kind: 'run', lagMs: 0 });
        on.ended({ organization, kind: 'run', result: 'done', ms: 1 });
      }
    }
    const found = seriesOf(await on.text(), 'trustward_jobs_total');
    expect(found.size).toBe(NAMED_MAX + 1);
    expect([...found.keys()].filter((id) => id !== '(others)').sort()).toEqual(idsFrom(0, NAMED_MAX));
    expect([...found.values()].reduce((sum, one) => sum + one, 0)).toBe(jobs);
  });

  it('name so many organizations that fail, and count the others', async () => {
    const state = { ids: idsFrom(0, 250), failing: idsFrom(0, 250) };
    const on = measuring(state);
    const found = seriesOf(await on.text(), 'trustward_organizations_failing');
    expect([found.size, found.get('o-00000'), found.get('(others)')]).toEqual([NAMED_MAX + 1, 1, 250 - NAMED_MAX]);
    state.failing = [];
    expect(seriesOf(await on.text(), 'trustward_organizations_failing').size).toBe(0);
  });

  it('name the problem of so many organizations, by its kind, and count the others, until it is over', async () => {
    const ids = idsFrom(0, 250);
    const problems = ids.flatMap((organization) => [
      { organization, kind: 'credential' },
      { organization, kind: 'webhooks' },
    ]);
    const state = { ids, problems };
    const on = measuring(state);
    const found = seriesOf(await on.text(), 'trustward_organization_problem');
    expect([found.size, found.get('o-00000'), found.get('(others)')]).toEqual([
      NAMED_MAX + 1,
      2,
      2 * (250 - NAMED_MAX),
    ]);
    state.problems = [];
    expect(seriesOf(await on.text(), 'trustward_organization_problem').size).toBe(0);
  });
});
