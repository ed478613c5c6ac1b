// http: the endpoint on a real port.
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Listening, listen } from '../../../src/faces/http/listen.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { addRun } from '../../support/filled-store.ts';

const AUTHORIZATION = { authorization: `Bearer ${TOKENS.admin}` };

async function serving(over: Parameters<typeof openEndpoint>[0] = {}) {
  const endpoint = openEndpoint(over);
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  return { ...endpoint, listening };
}

/** Plain node:http: fetch sets the Host header itself. */
function statusOf({ url }: Listening, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('listening', () => {
  it('serves on the address that it names', async () => {
    const { listening } = await serving();
    expect(listening.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${listening.url}/healthz`)).status).toBe(200);
    const answer = await fetch(`${listening.url}/api/runs`, {
      method: 'POST',
      headers: AUTHORIZATION,
      body: JSON.stringify({ mode: 'dry-run', wait: true }),
    });
    expect(await answer.json()).toMatchObject({ status: 'completed' });
  });

  it('refuses a stranger’s name that was pointed at it', async () => {
    const { listening } = await serving();
    expect(await statusOf(listening, '/api/runs', { ...AUTHORIZATION, host: 'evil.example' })).toBe(421);
    expect(await statusOf(listening, '/api/runs', AUTHORIZATION)).toBe(200);
  });

  it('reports a taken port in one line, with what to do', async () => {
    const { listening, app } = await serving();
    const port = Number(new URL(listening.url).port);
    await expect(listen(app, { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'port_busy',
      message: expect.stringMatching(/^the HTTP endpoint cannot listen on 127\.0\.0\.1:\d+: .*TRUSTWARD_LISTEN.*$/),
    });
  });

  it('reports an address that is not of this machine', async () => {
    const { app } = openEndpoint();
    await expect(listen(app, { host: '192.0.2.1', port: 0 })).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('192.0.2.1:0'),
    });
  });

  it('answers requests under way before it closes', async () => {
    let begun: () => void = () => {};
    let finish: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const endpoint = await serving({
      trigger: async () => {
        const run = await addRun(endpoint.store);
        begun();
        return { run, finished: done.then(() => run) };
      },
    });
    const answer = fetch(`${endpoint.listening.url}/api/runs`, {
      method: 'POST',
      headers: AUTHORIZATION,
      body: JSON.stringify({ mode: 'dry-run', wait: true }),
    });
    await asked;
    const closed = endpoint.listening.close();
    finish();
    expect((await answer).status).toBe(200);
    await closed;
    await expect(fetch(`${endpoint.listening.url}/healthz`)).rejects.toThrow();
  });
});
