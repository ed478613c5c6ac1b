// http: the stream of events over a real socket: what comes, in which order, and after which cut.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AUDIT_KINDS, type AuditKind } from '../../../src/domain/audit-entry.ts';
import type { WorkProgress } from '../../../src/domain/replay.ts';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import { listen } from '../../../src/faces/http/listen.ts';
import { SECURITY_HEADERS } from '../../../src/faces/http/problem.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { type EventClient, type EventClientOptions, openStream, standingClock } from '../../support/event-client.ts';
import { freshDatabase } from '../../support/memory-database.ts';

async function serving(over: Parameters<typeof openEndpoint>[0] = {}) {
  const endpoint = openEndpoint({ clock: systemClock, ...over });
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  const stream = (options: Partial<EventClientOptions> = {}) =>
    openStream(listening.url, { token: TOKENS.read, ...options });
  const note = (kind: AuditKind = 'notice', body = {}) => endpoint.store.appendAudit([{ kind, body }]);
  return { ...endpoint, url: listening.url, stream, note };
}

const ids = (client: EventClient) => client.events.map(({ id }) => id);
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

describe('a stream', () => {
  it('shows each new audit entry as `GET /api/audit` shows it, in order, and nothing older', async () => {
    const { stream, note, ask } = await serving();
    await note();
    const client = await stream();
    expect(client.status).toBe(200);
    expect(client.headers).toMatchObject({ 'content-type': 'text/event-stream' });
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      expect(client.headers[name.toLowerCase()]).toBe(value);
    await client.until(({ last }) => last === 1);
    await note('run.started', { run: 'run1', big: 2n ** 63n });
    await note('run.finished', { run: 'run1' });
    await client.until(({ events }) => events.length === 2);
    const { entries } = (await (await ask('GET', '/api/audit?after=1')).json()) as {
      entries: Record<string, unknown>[];
    };
    expect(client.events.map(({ data }) => data)).toEqual(entries.map(({ text: _, ...record }) => record));
    expect(client.events).toMatchObject([
      { id: 2, event: 'run', data: { seq: 2, kind: 'run.started', body: { big: '9223372036854775808' } } },
      { id: 3, event: 'run', data: { seq: 3, kind: 'run.finished' } },
    ]);
  });

  it('replays what came after a position, over many pages, and goes on live', async () => {
    const { stream, note, store } = await serving();
    await store.appendAudit(
      Array.from({ length: 1_234 }, (_, count) => ({ kind: 'notice' as const, body: { count } })),
    );
    const client = await stream({ path: '/api/stream?after=0' });
    await client.until(({ events }) => events.length === 1_234);
    await note();
    await client.until(({ events }) => events.length === 1_235);
    expect(ids(client)).toEqual(upTo(1_235));
  });

  it('that is cut at any place and resumed misses no entry and repeats none', async () => {
    const { stream, store } = await serving();
    const cuts = fc.array(fc.record({ before: fc.integer({ min: 0, max: 130 }), seen: fc.nat(150) }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(cuts, async (all) => {
        const { seq: first } = await store.auditHead();
        const got: number[] = [];
        let last: number | undefined = first;
        const goOn = async (count: number) => {
          const client = await stream({ headers: { 'last-event-id': `${last}` } });
          await client.until(({ events }) => events.length >= count);
          client.cut();
          got.push(...(ids(client) as number[]));
          last = client.last;
        };
        for (const { before, seen } of all) {
          await store.appendAudit(Array.from({ length: before }, () => ({ kind: 'notice' as const, body: {} })));
          const { seq } = await store.auditHead();
          await goOn(Math.min(seen, seq - (last ?? 0)));
        }
        const { seq } = await store.auditHead();
        await goOn(seq - (last ?? 0));
        expect(got).toEqual(upTo(seq).slice(first));
      }),
      { numRuns: 25 },
    );
  });

  it('that is cut before its first event has a position to resume from', async () => {
    const { stream, note } = await serving();
    await note();
    const client = await stream();
    await client.until(({ last }) => last !== undefined);
    client.cut();
    await note();
    const resumed = await stream({ headers: { 'last-event-id': `${client.last}` } });
    await resumed.until(({ events }) => events.length === 1);
    expect(ids(resumed)).toEqual([2]);
  });

  it('goes by the header rather than by the address of its first request', async () => {
    const { stream, store } = await serving();
    await store.appendAudit(Array.from({ length: 3 }, () => ({ kind: 'notice' as const, body: {} })));
    const client = await stream({ path: '/api/stream?after=0', headers: { 'last-event-id': '2' } });
    await client.until(({ events }) => events.length === 1);
    expect(ids(client)).toEqual([3]);
  });

  it('begins anew with `reset` after a position beyond the head', async () => {
    const { stream, note } = await serving();
    await note();
    const client = await stream({ headers: { 'last-event-id': '77' } });
    await client.until(({ events }) => events.length === 1);
    await note();
    await client.until(({ events }) => events.length === 2);
    expect(client.events).toMatchObject([
      { id: 1, event: 'reset', data: { head: 1 } },
      { id: 2, event: 'notice' },
    ]);
  });

  it('shows only the kinds and families that are asked for, and its position passes the others', async () => {
    const clock = standingClock();
    const { stream, note } = await serving({ clock });
    const client = await stream({ path: '/api/stream?after=0&kind=plan,run.finished' });
    await client.until(({ last }) => last === 0);
    for (const kind of ['run.started', 'plan.sealed', 'run.finished', 'plan.approved', 'notice'] as const)
      await note(kind);
    while (client.last !== 5) {
      await clock.advance(15_000);
      await Promise.race([client.until(({ last }) => last === 5), new Promise((done) => setImmediate(done))]);
    }
    expect(client.events.map(({ data }) => data.kind)).toEqual(['plan.sealed', 'run.finished', 'plan.approved']);
  });

  it('writes a hostile name as one line of data', async () => {
    const { stream, note } = await serving();
    const name = 'a\r\ndata: {}\n\nid: 99\nevent: stop\n\n\u2028\u0000</script>';
    const client = await stream();
    await client.until(({ last }) => last === 0);
    await note('decision.made', { target: name });
    await client.until(({ events }) => events.length === 1);
    expect(client.events).toMatchObject([{ id: 1, event: 'decision', data: { body: { target: name } } }]);
    expect(client.last).toBe(1);
  });

  it('sends a line every 15 seconds, which is no event', async () => {
    const clock = standingClock();
    const { stream } = await serving({ clock });
    const client = await stream();
    await client.until(({ text }) => text.split(': trustward').length === 2);
    await clock.advance(15_000);
    await client.until(({ text }) => text.split(': trustward').length === 3);
    expect(client.events).toEqual([]);
  });
});

describe('the progress of a run', () => {
  it('comes at most four times a second, the last step of each time, short and without a position', async () => {
    const clock = standingClock();
    let show: (progress: WorkProgress | undefined) => void = () => {};
    const stream = {
      onAudited: () => {},
      onProgress: (heard: typeof show) => (show = heard),
      ending: new AbortController().signal,
    };
    const { stream: open } = await serving({ clock, stream });
    const client = await open({ path: '/api/stream?kind=progress' });
    const other = await open({ path: '/api/stream?kind=plan' });
    await client.until(({ last }) => last === 0);
    await other.until(({ last }) => last === 0);
    for (let done = 1; done <= 1_000; done += 1)
      show({ run: 'run1', phase: 'acting', what: 'x\n'.repeat(500), done, total: 1_000 });
    await client.until(({ events }) => events.length === 1);
    for (let done = 1; done <= 10; done += 1) show({ run: 'run1', phase: 'reading', what: 'devices', done });
    await clock.advance(250);
    await client.until(({ events }) => events.length === 2);
    show({ run: 'run1', phase: 'recording' });
    show(undefined);
    await clock.advance(250);
    await clock.advance(15_000);
    await client.until(({ text }) => text.split(': trustward').length === 3);
    expect(client.events).toMatchObject([
      {
        id: undefined,
        event: 'progress',
        data: { run: 'run1', phase: 'acting', done: 1_000, total: 1_000 },
      },
      { event: 'progress', data: { phase: 'reading', what: 'devices', done: 10 } },
    ]);
    expect(String(client.events[0]?.data.what).length).toBeLessThanOrEqual(120);
    expect(client.events).toHaveLength(2);
    expect(other.events).toEqual([]);
  });
});

describe('a request for a stream', () => {
  it.each(['HEAD', 'POST', 'DELETE'])('by %s is refused, and names what is allowed', async (method) => {
    const { stream } = await serving();
    const answer = await stream({ method });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('GET');
    await answer.ended;
  });

  it.each([
    ['/api/stream?after=x', undefined, '`after` must be a whole number'],
    ['/api/stream?after=-1', undefined, '`after` must be a whole number'],
    ['/api/stream', 'x', '`Last-Event-ID` must be a whole number'],
    ['/api/stream', '1e3', '`Last-Event-ID` must be a whole number'],
    ['/api/stream?kind=nonsense', undefined, 'run, '],
    ['/api/stream?kind=run.nonsense', undefined, 'run, run.started, run.finished, run.aborted, separated by commas'],
    ['/api/stream?kind=', undefined, 'progress'],
    ['/api/stream?since=1h', undefined, 'since'],
  ])('that is malformed is refused: %s %s', async (path, header, words) => {
    const { stream } = await serving();
    const answer = await stream({ path, headers: header === undefined ? {} : { 'last-event-id': header } });
    await answer.ended;
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(words);
  });

  it('may name every kind', async () => {
    const { stream } = await serving();
    for (const kind of AUDIT_KINDS) {
      const client = await stream({ path: `/api/stream?kind=${kind}` });
      expect(client.status).toBe(200);
      client.cut();
    }
  });
});

describe('the store', () => {
  it('commits whatever a listener does, and calls it only after commits with entries', async () => {
    const db = freshDatabase();
    const store = new SqliteStore(db, linkEntry, systemClock);
    const heads: Promise<{ seq: number }>[] = [];
    store.onAudited(() => {
      heads.push(store.auditHead());
      throw new Error('a listener failed');
    });
    await store.appendAudit([{ kind: 'notice', body: {} }]);
    await store.expirePlans();
    await expect(store.bind('http://a.example')).resolves.toBeUndefined();
    expect((await Promise.all(heads)).map(({ seq }) => seq)).toEqual([1, 2]);
  });
});
