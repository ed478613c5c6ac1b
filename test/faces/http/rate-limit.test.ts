// http: one token that asks too often is told to wait; others, and a stop, are served.
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../src/faces/http/listen.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { standingClock } from '../../support/event-client.ts';

const LIMITS = { reads: 60, writes: 12 };
const BURST = { reads: 10, writes: 2 };

function limited() {
  const clock = standingClock();
  return { ...openEndpoint({ clock, rateLimits: LIMITS }), clock };
}

async function times(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let each = 0; each < count; each += 1) statuses.push((await ask()).status);
  return statuses;
}

describe('a token', () => {
  it('that reads too often is refused with the time to wait, and is served again after it', async () => {
    const { ask, clock } = limited();
    const read = () => ask('GET', '/api/runs', { scope: 'read' });
    expect(new Set(await times(BURST.reads, read))).toEqual(new Set([200]));
    const refused = await read();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toBe('application/problem+json');
    expect(await refused.json()).toMatchObject({ type: 'urn:trustward:problem:too-many-requests' });
    await clock.advance(Number(refused.headers.get('retry-after')) * 1_000);
    expect((await read()).status).toBe(200);
    expect((await read()).status).toBe(429);
  });

  it('that reads too often may still write, and no other token has to wait', async () => {
    const { ask } = limited();
    await times(BURST.reads + 1, () => ask('GET', '/api/runs', { scope: 'trigger' }));
    expect((await ask('GET', '/api/runs', { scope: 'trigger' })).status).toBe(429);
    expect((await ask('POST', '/api/runs', { scope: 'trigger', body: { mode: 'dry-run' } })).status).toBe(202);
    expect((await ask('GET', '/api/runs', { scope: 'read' })).status).toBe(200);
  });

  it('that writes too often triggers nothing, and can still stop everything', async () => {
    const { ask, requests, store } = limited();
    const statuses = await times(5, () => ask('POST', '/api/runs', { body: { mode: 'dry-run' } }));
    expect(statuses).toEqual([202, 202, 429, 429, 429]);
    expect(requests).toHaveLength(BURST.writes);
    expect((await ask('POST', '/api/stop', { body: { reason: 'enough' } })).status).toBeLessThan(300);
    expect(await store.stop()).toMatchObject({ reason: 'enough' });
  });

  it('that asks every second, with a page that reads ten times a second, never reaches the default', async () => {
    const clock = standingClock();
    const { rateLimits } = readConfig({});
    const { ask } = openEndpoint({ clock, rateLimits });
    const statuses = new Set<number>();
    for (let second = 0; second < 120; second += 1) {
      for (const status of await times(11, () => ask('GET', '/healthz'))) statuses.add(status);
      for (const status of await times(11, () => ask('HEAD', '/api/rules'))) statuses.add(status);
      await clock.advance(1_000);
    }
    expect([...statuses]).toEqual([200]);
  });
});

describe('wrong tokens', () => {
  it('from one address are refused in the end, and good ones from there are not', async () => {
    const { app } = limited();
    const listening = await listen(app, { host: '127.0.0.1', port: 0 });
    onTestFinished(() => listening.close(0));
    const status = (token: string) => statusOf(listening.url, token);
    const statuses = new Set<number>();
    for (let each = 0; each < 30; each += 1) statuses.add(await status('wrong-token-0123456789'));
    expect([...statuses]).toEqual([401, 429]);
    expect(await status(TOKENS.read)).toBe(200);
  });
});

describe('TRUSTWARD_RATE_LIMIT', () => {
  it('sets both numbers, and 0 switches the limits off', () => {
    expect(readConfig({ TRUSTWARD_RATE_LIMIT: '100, 20' }).rateLimits).toEqual({ reads: 100, writes: 20 });
    expect(readConfig({ TRUSTWARD_RATE_LIMIT: '0' }).rateLimits).toBeUndefined();
  });

  it.each(['x', '5', '0,5', '5,0', '-1,5', '1e3,5'])('that is wrong is named: %s', (text) => {
    expect(() => readConfig({ TRUSTWARD_RATE_LIMIT: text })).toThrow(`TRUSTWARD_RATE_LIMIT is \`${text}\`: expected`);
  });
});

function statusOf(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(new URL('/api/runs', url), { headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}
