// http: a request with an Idempotency-Key is done once, whatever is lost and whoever ends in between.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { RunRequest } from '../../../src/domain/run.ts';
import { createHttpApp } from '../../../src/faces/http/app.ts';
import type { HttpDeps } from '../../../src/faces/http/deps.ts';
import { type AskOptions, openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, intent, plan } from '../../support/filled-store.ts';

const RUN = { mode: 'dry-run' };
const DAY_MS = 86_400_000;

function keyed(endpoint: ReturnType<typeof openEndpoint>) {
  return (key: string, path = '/api/runs', options: AskOptions = { body: RUN }) =>
    endpoint.ask('POST', path, { ...options, headers: { 'idempotency-key': key } });
}

async function read(answer: Response) {
  const { status, headers } = answer;
  const isReplayed = headers.get('idempotency-replayed') === 'true';
  return { isReplayed, same: { status, location: headers.get('location'), body: await answer.text() } };
}

describe('a repeated request for a run', () => {
  it('gets the same status, body and Location, and begins no second run', async () => {
    const endpoint = openEndpoint();
    const ask = keyed(endpoint);
    const first = await read(await ask('k1'));
    const again = await read(await ask('k1'));
    expect(first).toMatchObject({ isReplayed: false, same: { status: 202, location: '/api/runs/http1' } });
    expect(again).toEqual({ ...first, isReplayed: true });
    expect(endpoint.requests).toHaveLength(1);
    expect((await read(await ask('k2'))).same.location).toBe('/api/runs/http2');
    expect((await read(await endpoint.ask('POST', '/api/runs', { body: RUN }))).same.location).toBe('/api/runs/http3');
  });

  it('of another token is another request', async () => {
    const endpoint = openEndpoint();
    const ask = keyed(endpoint);
    await ask('k', '/api/runs', { body: RUN, scope: 'trigger' });
    expect((await read(await ask('k', '/api/runs', { body: RUN, scope: 'approve' }))).isReplayed).toBe(false);
    expect(endpoint.requests).toHaveLength(2);
  });

  it.each([
    ['another body', '/api/runs', { mode: 'enforce' }],
    ['another path', '/api/plans/p/approve', RUN],
  ])('with %s is refused, and nothing is done', async (_, path, body) => {
    const endpoint = openEndpoint();
    const ask = keyed(endpoint);
    await ask('k');
    const refused = await ask('k', path, { body });
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ type: 'urn:trustward:problem:key-used' });
    expect(endpoint.requests).toHaveLength(1);
  });

  it('is told to come back while the first is under way, and then gets its answer', async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const requests: RunRequest[] = [];
    const endpoint = openEndpoint({
      trigger: async (request) => {
        requests.push(request);
        begun.resolve();
        await release.promise;
        const run = await addRun(endpoint.store);
        return { run, finished: Promise.resolve(run) };
      },
    });
    const ask = keyed(endpoint);
    const first = ask('k');
    await begun.promise;
    const early = await ask('k');
    expect(early.status).toBe(409);
    expect(early.headers.get('retry-after')).toBe('1');
    expect((await ask('k', '/api/runs', { body: { mode: 'enforce' } })).status).toBe(422);
    release.resolve();
    const answered = await read(await first);
    expect(await read(await ask('k'))).toEqual({ ...answered, isReplayed: true });
    expect(requests).toHaveLength(1);
  });

  it('is told the same when another endpoint answers the first one', async () => {
    const held = new Set<string>();
    const release = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { store } = openEndpoint();
    const hold = async (id: string) => {
      if (held.has(id)) return undefined;
      held.add(id);
      return async () => void held.delete(id);
    };
    const requests: RunRequest[] = [];
    const one = () =>
      openEndpoint(
        {
          answers: store.keptAnswers(hold),
          trigger: async (request) => {
            requests.push(request);
            begun.resolve();
            await release.promise;
            const run = await addRun(store);
            return { run, finished: Promise.resolve(run) };
          },
        },
        undefined,
        { store },
      );
    const [here, there] = [keyed(one()), keyed(one())];
    const first = here('k');
    await begun.promise;
    const early = await there('k');
    expect([early.status, early.headers.get('retry-after')]).toEqual([409, '1']);
    expect((await there('k', '/api/runs', { body: { mode: 'enforce' } })).status).toBe(422);
    release.resolve();
    const answered = await read(await first);
    expect(await read(await there('k'))).toEqual({ ...answered, isReplayed: true });
    expect([requests.length, held.size]).toEqual([1, 0]);
  });

  it.each([
    ['a wrong body', { body: { mode: 'x' } }, 400],
    ['an unknown rule', { body: { mode: 'dry-run', rules: ['x'] } }, 400],
    ['a token that may not', { body: RUN, scope: 'read' as const }, 403],
    ['no token', { body: RUN, scope: 'none' as const }, 401],
  ])('after a refusal for %s is a new request', async (_, options, status) => {
    const endpoint = openEndpoint();
    const ask = keyed(endpoint);
    expect((await ask('k', '/api/runs', options)).status).toBe(status);
    expect((await ask('k')).status).toBe(202);
  });

  it('after a failure that began nothing begins the run', async () => {
    let isFull = true;
    const endpoint = openEndpoint({
      trigger: async () => {
        if (isFull) throw new AppError('store_failed', 'the disk is full');
        const run = await addRun(endpoint.store);
        return { run, finished: Promise.resolve(run) };
      },
    });
    const ask = keyed(endpoint);
    expect((await ask('k')).status).toBe(503);
    isFull = false;
    expect((await ask('k')).status).toBe(202);
  });

  it('a day later is a new request, and the first is no longer stored', async () => {
    const endpoint = openEndpoint();
    const ask = keyed(endpoint);
    await ask('k');
    endpoint.clock.advance(DAY_MS);
    expect((await read(await ask('k'))).isReplayed).toBe(true);
    endpoint.clock.advance(1);
    expect((await read(await ask('k'))).isReplayed).toBe(false);
    expect(endpoint.requests).toHaveLength(2);
  });

  it.each(['', 'x'.repeat(256), 'caf\u00e9', 'a\tb'])('with a key that is none is refused: %j', async (key) => {
    const endpoint = openEndpoint();
    const answer = await keyed(endpoint)(key);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('printable ASCII');
    expect(endpoint.requests).toEqual([]);
  });
});

/** An endpoint that is killed and started again over the same store. */
function mortal() {
  const killed = new AppError('internal', 'killed');
  const begun: string[] = [];
  let isKilled = false;
  const endpoint = openEndpoint({
    trigger: async ({ mode, onceId }) => {
      const id = `run${begun.length + 1}`;
      begun.push(id);
      const run = await endpoint.store.beginRun(
        {
          ...{ id, mode, daemonMode: 'enforce', trigger: 'http', rules: [], ruleSetHash: '', startedAt: 1 },
          ...{ finishedAt: undefined, status: 'running', error: undefined, demo: false },
        },
        [{ kind: 'run.started', body: { run: id } }],
        onceId,
      );
      if (isKilled) throw killed;
      return { run, finished: new Promise(() => {}) };
    },
  });
  return { ...endpoint, begun, kill: (on: boolean) => (isKilled = on) };
}

describe('a repeat after a kill', () => {
  it('gets the run that was begun, whatever it has become', async () => {
    const endpoint = mortal();
    const ask = keyed(endpoint);
    endpoint.kill(true);
    expect((await ask('k', '/api/runs', { body: { ...RUN, wait: true } })).status).toBe(500);
    endpoint.kill(false);
    await endpoint.store.abortStaleRuns(2);
    const again = await read(await ask('k', '/api/runs', { body: { ...RUN, wait: true } }));
    expect(again).toMatchObject({ isReplayed: true, same: { status: 200, location: '/api/runs/run1' } });
    expect(JSON.parse(again.same.body)).toMatchObject({ id: 'run1', status: 'aborted' });
    expect(endpoint.begun).toEqual(['run1']);
    expect(await read(await ask('k', '/api/runs', { body: { ...RUN, wait: true } }))).toEqual(again);
  });

  it('never begins a second run for a key, in any order of requests and kills', async () => {
    const steps = fc.array(fc.record({ key: fc.integer({ min: 1, max: 3 }), kill: fc.boolean() }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const endpoint = mortal();
        const ask = keyed(endpoint);
        const seen = new Map<number, string>();
        for (const { key, kill } of all) {
          endpoint.kill(kill);
          const { same } = await read(await ask(`k${key}`));
          if (same.status !== 202) continue;
          expect(seen.get(key) ?? same.location).toBe(same.location);
          seen.set(key, same.location ?? '');
        }
        expect(endpoint.begun).toHaveLength(new Set(all.map(({ key }) => key)).size);
      }),
      { numRuns: 30 },
    );
  });
});

describe('a repeated answer to a plan', () => {
  const opened = async (over: (deps: HttpDeps) => Partial<HttpDeps> = () => ({})) => {
    let deps: HttpDeps | undefined;
    const endpoint = openEndpoint({}, (given) => {
      deps = given;
      return { routes: [], problem: async () => new Response() };
    });
    await addRun(endpoint.store, { plan: plan(decision({ decision: 'hold' })), intents: [intent()] });
    const given = deps as HttpDeps;
    const app = createHttpApp({ ...given, ...over(given) });
    const ask: typeof endpoint.ask = async (method, path, options = {}) =>
      app.request(path, {
        method,
        headers: { authorization: 'Bearer approve-token-0123456789', ...options.headers },
        body: JSON.stringify(options.body ?? {}),
      });
    return { ...endpoint, ask };
  };

  it.each(['approve', 'reject'])('gets the same again and changes nothing: %s', async (verb) => {
    const endpoint = await opened();
    const ask = keyed(endpoint);
    const path = `/api/plans/plan1/${verb}`;
    const first = await read(await ask('k', path, { body: { reason: 'seen' } }));
    const { seq } = await endpoint.store.auditHead();
    const again = await read(await ask('k', path, { body: { reason: 'seen' } }));
    expect(first.same.status).toBe(200);
    expect(again).toEqual({ ...first, isReplayed: true });
    expect((await endpoint.store.auditHead()).seq).toBe(seq);
    expect((await ask('other', path, {})).status).toBe(409);
  });

  it('whose answer was lost gets the plan as it was answered', async () => {
    const endpoint = await opened((deps) => ({
      performer: {
        perform: async (id, ...given) => {
          const answer = await deps.performer.perform(id, ...given);
          if (id === 'approvePlan') throw new AppError('internal', 'killed');
          return answer;
        },
      },
    }));
    const ask = keyed(endpoint);
    expect((await ask('k', '/api/plans/plan1/approve', {})).status).toBe(500);
    const again = await read(await ask('k', '/api/plans/plan1/approve', {}));
    expect(again).toMatchObject({ isReplayed: true, same: { status: 200 } });
    expect(JSON.parse(again.same.body)).toMatchObject({ id: 'plan1', status: 'approved', applied: null, rest: null });
  });

  it('that was refused is asked again', async () => {
    const endpoint = await opened();
    const ask = keyed(endpoint);
    expect((await ask('k', '/api/plans/none/approve', {})).status).toBe(404);
    expect((await ask('k', '/api/plans/plan1/approve', {})).status).toBe(200);
  });
});
