// http: explanations read the platform: a few at once, a few that wait, and a clear refusal for the rest.
import { describe, expect, it } from 'vitest';
import type { ExplainedSubject } from '../../../src/domain/why.ts';
import { views } from '../../../src/faces/report/index.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';

const PATH = '/api/rules/ban-compromised-device/explain';

describe('POST /api/rules/:id/explain', () => {
  it('answers a few of fifty at once in turn, and asks the others to come again', async () => {
    let underWay = 0;
    let mostUnderWay = 0;
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { ask } = openEndpoint({
      explain: async (rule, subject) => {
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        await released;
        underWay -= 1;
        if (subject === 'd2') throw new Error('the platform broke');
        return explainedOf(rule, subject);
      },
    });
    const asked = Array.from({ length: 50 }, (_, index) =>
      ask('POST', PATH, { scope: 'read', body: { subject: `d${index}` } }),
    );
    const refused = await Promise.any(asked);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await bodyOf<object>(Promise.resolve(refused))).toMatchObject({
      type: 'urn:trustward:problem:too-many-requests',
      detail: '4 explanations are under way and 8 wait: ask again in a few seconds',
    });
    release();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(11);
    expect(statuses.filter((status) => status === 500)).toHaveLength(1);
    expect(statuses.filter((status) => status === 429)).toHaveLength(38);
    expect(mostUnderWay).toBe(4);
    expect((await ask('POST', PATH, { body: { subject: 'd1' } })).status).toBe(200);
  });
});

function explainedOf(rule: string, id: string): ExplainedSubject {
  const subject = { kind: 'device' as const, id, name: id };
  const explanation = {
    ...{ rule, title: rule, hash: 'h', subject, at: 0, verdict: 'match' as const },
    ...{ missing: [], tree: { text: 'true', parts: [] }, facts: [], flips: [] },
  };
  const nothing = { decisions: [], claims: [], recorded: { decisions: [], differs: false }, basis: { sources: [] } };
  return { explanation, mode: 'enforce', ...nothing } as unknown as ExplainedSubject;
}

describe('GET /api/summary', () => {
  it('makes a few at once, and asks the others to come again', async () => {
    let underWay = 0;
    let mostUnderWay = 0;
    const endpoint = openEndpoint({
      operations: {
        getSummary: async () => {
          underWay += 1;
          mostUnderWay = Math.max(mostUnderWay, underWay);
          const made = await views.summary(endpoint.store, endpoint.clock.nowMs() - 1, endpoint.clock.nowMs());
          underWay -= 1;
          return made;
        },
      },
    });
    const { ask } = endpoint;
    const asked = Array.from({ length: 50 }, () => ask('GET', '/api/summary', { scope: 'read' }));
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status));
    expect(statuses).toEqual(new Set([200, 429]));
    expect(mostUnderWay).toBe(4);
    expect((await ask('GET', '/api/summary')).status).toBe(200);
  });
});
