// http: runs are triggered, listed and reported to other programs.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, START_MS } from '../../support/filled-store.ts';

describe('POST /api/runs', () => {
  it('answers 202 with the id and address of the run that has begun', async () => {
    const { ask, requests } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { scope: 'trigger', body: { mode: 'dry-run' } });
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe('/api/runs/http1');
    expect(await answer.json()).toMatchObject({ id: 'http1', location: '/api/runs/http1', run: { mode: 'dry-run' } });
    expect(requests).toEqual([
      { mode: 'dry-run', rules: undefined, trigger: 'http', waitForDoubts: false, by: 'triggerer' },
    ]);
  });

  it('answers 200 with the finished run when asked to wait', async () => {
    const { ask } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { body: { mode: 'enforce', wait: true } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: 'completed', run: { finishedAt: '2026-11-21T09:00:03.000Z' } });
  });

  it('returns an aborted run with its status, and logs why', async () => {
    const endpoint = openEndpoint({
      trigger: async () => {
        const run = await addRun(endpoint.store, { error: 'the API cannot be reached' });
        return { run, finished: Promise.reject(new AppError('api_unreachable', 'the API cannot be reached')) };
      },
    });
    const answer = await endpoint.ask('POST', '/api/runs', { body: { mode: 'dry-run', wait: true } });
    expect(await answer.json()).toMatchObject({ status: 'aborted', run: { error: 'the API cannot be reached' } });
    expect(endpoint.complaints).toMatchObject([{ message: 'a run was aborted: the API cannot be reached' }]);
  });

  it('judges only the rules that it is given, each once', async () => {
    const { ask, requests } = openEndpoint();
    const rules = ['ban-compromised-device', 'ban-compromised-device'];
    await ask('POST', '/api/runs', { body: { mode: 'dry-run', rules } });
    expect(requests).toMatchObject([{ rules: ['ban-compromised-device'] }]);
  });

  it.each([
    [{}, '`mode` must be one of `dry-run`, `approve`, `enforce`'],
    [{ mode: 'dry-run', extra: 1 }, 'the body has an unknown member: `extra`'],
    [{ mode: 'dry-run', wait: 'yes' }, '`wait` must be a boolean'],
    [{ mode: 'dry-run', rules: [] }, '`rules` must not be empty'],
    [{ mode: 'dry-run', rules: ['a', 'x'.repeat(1_001)] }, '`rules[1]` must be at most 1000 characters long'],
    [[], 'the body must be an object'],
  ])('refuses %j and names the mistake in plain words', async (body, words) => {
    const { ask, requests } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: `the body is wrong: ${words}` });
    expect(requests).toEqual([]);
  });

  it('refuses a rule that is not active', async () => {
    const { ask } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { body: { mode: 'dry-run', rules: ['no-such'] } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: 'there is no active rule `no-such`' });
  });

  it.each([
    ['without a mode', {}, 'mode'],
    ['with the mode off', { mode: 'off' }, 'mode'],
    ['with rules that are not a list', { mode: 'dry-run', rules: 'x' }, 'rules'],
    ['with an empty list of rules', { mode: 'dry-run', rules: [] }, 'rules'],
    ['with a word for a boolean', { mode: 'dry-run', wait: 'yes' }, 'wait'],
    ['with an unknown key', { mode: 'dry-run', mod: 1 }, ''],
    ['that is a list', [], ''],
  ])('refuses a body %s, and triggers nothing', async (_what, body, path) => {
    const { ask, requests } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { body });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      type: 'urn:trustward:problem:bad-request',
      status: 400,
      instance: '/api/runs',
      errors: [{ path }],
    });
    expect(requests).toEqual([]);
  });

  it.each(['{', 'mode=dry-run', '\u0000', '['.repeat(30_000), '{"mode":"dry-run","__proto__":{"wait":true}}'])(
    'refuses a body that is not a proper JSON object',
    async (text) => {
      const { ask, requests } = openEndpoint();
      const answer = await ask('POST', '/api/runs', { text });
      expect(answer.status).toBe(400);
      expect(requests).toEqual([]);
    },
  );

  it('refuses a body over 64 KiB', async () => {
    const { ask } = openEndpoint();
    const answer = await ask('POST', '/api/runs', { text: `{"mode":"${'x'.repeat(70_000)}"}` });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ type: 'urn:trustward:problem:too-large' });
  });

  it('answers 429 when too many runs wait already, with the whole seconds to wait', async () => {
    const { ask } = openEndpoint({
      trigger: async () => {
        throw new AppError('busy', '20 runs are already waiting: try again later', { retryAfterMs: 1_200 });
      },
    });
    const answer = await ask('POST', '/api/runs', { body: { mode: 'dry-run' } });
    expect({ status: answer.status, after: answer.headers.get('retry-after') }).toEqual({ status: 429, after: '2' });
    expect(await answer.json()).toMatchObject({
      type: 'urn:trustward:problem:busy',
      detail: '20 runs are already waiting: try again later',
    });
  });
});

describe('GET /api/runs', () => {
  it('pages through runs, newest first', async () => {
    const { ask, store } = openEndpoint();
    for (const id of ['a', 'b', 'c']) await addRun(store, { id });
    const first = await bodyOf<{ next: number }>(ask('GET', '/api/runs?limit=2', { scope: 'read' }));
    expect(first).toMatchObject({ runs: [{ id: 'c' }, { id: 'b' }] });
    const second = await (await ask('GET', `/api/runs?limit=2&before=${first.next}`)).json();
    expect(second).toMatchObject({ runs: [{ id: 'a' }], next: null });
  });

  it.each(['limit=0', 'limit=1001', 'limit=-1', 'limit=x', 'limit=', 'before=x', 'befor=1', 'limit=1&limit=2'])(
    'refuses the query %s instead of ignoring it',
    async (query) => {
      const { ask } = openEndpoint();
      const answer = await ask('GET', `/api/runs?${query}`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ errors: [expect.anything()] });
    },
  );

  it('shows one run with its snapshot, and 404 for an unknown one', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { id: 'a' });
    expect(await (await ask('GET', '/api/runs/a')).json()).toMatchObject({ id: 'a', snapshot: { devices: 10 } });
    const missing = await ask('GET', '/api/runs/b');
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ detail: 'there is no run `b`', instance: '/api/runs/b' });
  });
});

describe('GET /api/runs/:id/report', () => {
  it.each([
    ['', 'application/json', '"decisions"'],
    ['?format=json', 'application/json', '"decisions"'],
    ['?format=md', 'text/markdown; charset=utf-8', '# Trustward: dry run'],
    ['?format=text', 'text/plain; charset=utf-8', 'WOULD ACT'],
    ['?format=csv', 'text/csv; charset=utf-8', 'decision_id,rule,subject_kind'],
    ['?format=html', 'text/html; charset=utf-8', '<!DOCTYPE html>'],
  ])('returns the report in the format of `%s`', async (query, type, content) => {
    const { ask, store } = openEndpoint();
    await addRun(store, { decisions: [decision()] });
    const answer = await ask('GET', `/api/runs/run1/report${query}`, { scope: 'read' });
    expect(answer.headers.get('content-type')).toBe(type);
    expect(await answer.text()).toContain(content);
  });

  it('`latest` is the last run that has ended', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { id: 'ended', decisions: [decision()] });
    await addRun(store, { id: 'under-way', startedAt: START_MS + 60_000, finished: false });
    expect(await (await ask('GET', '/api/runs/latest/report')).json()).toMatchObject({ run: { id: 'ended' } });
  });

  it('answers 404 before the first run, and 400 for an unknown format', async () => {
    const { ask } = openEndpoint();
    expect((await ask('GET', '/api/runs/latest/report')).status).toBe(404);
    expect((await ask('GET', '/api/runs/latest/report?format=pdf')).status).toBe(400);
  });
});
