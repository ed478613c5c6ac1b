// test console: the event log's retention: two weeks, or the last 10,000 events.
// In: a log that keeps 100 events, so that its edge is near. Out: tests of lists and counts at that edge.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Organization, openOrganization, START_MS } from '../support/console-organization.ts';

let org: Organization;
beforeEach(async () => {
  org = await openOrganization({ retention: { eventsMax: 100 } });
});
afterEach(() => org.console.close());

const submit = (count: number, fields: object = {}) =>
  org.call(
    'POST',
    '/api/v1/events',
    Array.from({ length: count }, (_, index) => ({ type: 'Audit', created_at: START_MS + index, ...fields })),
  );
const count = async (query = '') => (await org.call('GET', `/api/v1/events/count${query}`)).json.data as number;
const ids = async (query: string) =>
  ((await org.call('GET', `/api/v1/events?${query}`)).json.data as { created_at: number }[]).map(
    (each) => each.created_at,
  );

describe('the last events', () => {
  it('as many as are kept are counted exactly', async () => {
    await submit(100);
    expect(await count()).toBe(100);
  });

  it('one more means more than can be told', async () => {
    await submit(150);
    expect(await count()).toBe(101);
    expect(await ids('limit=1000')).toHaveLength(100);
  });

  it('the oldest are the ones that are gone', async () => {
    await submit(150);
    expect((await ids('order=ASC&limit=1'))[0]).toBe(START_MS + 50);
  });

  it('a filter counts what it matches among those that are kept', async () => {
    await submit(90, { severity: 'ERROR' });
    await submit(60, { created_at: START_MS + 500 });
    expect(await count('?severity=ERROR')).toBe(40);
  });
});

describe('two weeks', () => {
  it('an event is gone when it is older than two weeks', async () => {
    await submit(5);
    await org.clock.advance(14 * 86_400_000);
    expect(await count()).toBe(5);
    await org.clock.advance(5);
    expect(await count()).toBe(0);
  });
});

describe('an event that says it happened', () => {
  const DAY_MS = 86_400_000;

  it('more than a day ahead is refused: who reads from the newest time on would see no other', async () => {
    const answer = await submit(1, { created_at: START_MS + DAY_MS + 1 });
    expect([answer.status, answer.json.Message]).toEqual([400, expect.stringContaining('`created_at` of event 0')]);
    expect(await count()).toBe(0);
  });

  it('a little ahead is taken: clocks differ', async () => {
    expect((await submit(1, { created_at: START_MS + DAY_MS })).status).toBe(200);
  });
});
