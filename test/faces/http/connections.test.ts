// http: clients that are slow, many or greedy, over raw sockets: each gets a status, and others are served meanwhile.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ListenLimits, listen } from '../../../src/faces/http/listen.ts';
import type { Env } from '../../../src/faces/http/route.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { dial, exchange, receive } from '../../support/raw-socket.ts';

const HOST = 'Host: 127.0.0.1\r\n';
const LAST = 'Connection: close\r\n';
const ADMIN = `Authorization: Bearer ${TOKENS.admin}\r\n`;
const BODY = '{"mode":"dry-run"}';
const STOP = '{"reason":"enough"}';

const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}${LAST}\r\n`;
const STOPPING = `POST /api/stop HTTP/1.1\r\n${HOST}${ADMIN}${LAST}Content-Length: ${STOP.length}\r\n\r\n${STOP}`;

async function serving(limits: Partial<ListenLimits>, over: Parameters<typeof openEndpoint>[0] = {}) {
  const endpoint = openEndpoint(over);
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 }, { lateWithinMs: 20, ...limits });
  onTestFinished(() => listening.close(0));
  return { ...endpoint, url: listening.url };
}

async function connected(url: string) {
  const socket = dial(url);
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return { socket, answers: receive(socket) };
}

/** An endpoint whose `/readyz` is never answered before the end of the test. */
async function holding(limits: Partial<ListenLimits>) {
  const asked: (() => void)[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  onTestFinished(() => release());
  const readiness = async () => {
    asked.shift()?.();
    await released;
    return [];
  };
  const served = await serving(limits, { readiness });
  const hold = async () => {
    const { socket } = await connected(served.url);
    const begun = new Promise<void>((resolve) => {
      asked.push(resolve);
    });
    socket.write(`GET /readyz HTTP/1.1\r\n${HOST}\r\n`);
    await begun;
    return socket;
  };
  return { ...served, hold };
}

describe('a slow request', () => {
  it.each([
    ['headers', `GET /healthz HTTP/1.1\r\n${HOST}`],
    ['nothing at all', ''],
  ])('whose %s do not end in time is answered with 408', async (_, bytes) => {
    const { url } = await serving({ headersMs: 60, requestMs: 10_000 });
    const { socket, answers } = await connected(url);
    socket.write(bytes);
    expect((await answers).map(({ status }) => status)).toEqual([408]);
  });

  it('whose body does not end in time is answered with 408, and triggers nothing', async () => {
    const { url, requests, complaints } = await serving({ headersMs: 100, requestMs: 100 });
    const { socket, answers } = await connected(url);
    socket.write(`POST /api/runs HTTP/1.1\r\n${HOST}${ADMIN}Content-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 5)}`);
    const [answer] = await answers;
    expect(answer?.status).toBe(408);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ type: 'urn:trustward:problem:slow-request' });
    expect(requests).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('keeps no other client waiting', async () => {
    const { url } = await serving({});
    for (let each = 0; each < 20; each += 1) (await connected(url)).socket.write('GET /');
    expect((await exchange(url, HEALTH)).map(({ status }) => status)).toEqual([200]);
  });
});

describe('an answer', () => {
  it('that its client does not read is cut off, and one that is read slowly is not', async () => {
    const whole = Buffer.alloc(32 * 1024 * 1024, 'x');
    let ended: Promise<unknown> = Promise.resolve();
    const app = new Hono<Env>().get('/large', (context) => {
      ended = once(context.env?.outgoing as ServerResponse, 'close');
      return context.body(whole);
    });
    const listening = await listen(app, { host: '127.0.0.1', port: 0 }, { unreadMs: 2_000 });
    onTestFinished(() => listening.close(0));
    const ask = async () => {
      const socket = dial(listening.url);
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      socket.write(`GET /large HTTP/1.1\r\n${HOST}${LAST}\r\n`);
      await once(socket, 'data');
      socket.pause();
      return socket;
    };
    const slow = await ask();
    let read = 0; // without the first piece
    slow.on('data', (part: Buffer) => {
      read += part.length;
      slow.pause();
      setTimeout(() => slow.resume(), 4);
    });
    slow.resume();
    await once(slow, 'close');
    expect(read).toBeGreaterThan(whole.length - 1_000_000);
    await ask();
    await ended;
  });

  it('that takes long to make is not cut off', async () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const app = new Hono<Env>()
      .get('/first', (context) => context.text('first'))
      .get('/late', async (context) => {
        begin();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return context.text('late');
      });
    const listening = await listen(app, { host: '127.0.0.1', port: 0 }, { unreadMs: 50, idleMs: 50 });
    onTestFinished(() => listening.close(0));
    const late = `GET /late HTTP/1.1\r\n${HOST}${LAST}\r\n`;
    const answers = exchange(listening.url, `GET /first HTTP/1.1\r\n${HOST}\r\n${late}`);
    await begun;
    expect((await answers).map(({ body }) => body)).toEqual(['first', 'late']);
  });
});

describe('connections', () => {
  it('that wait make place for new ones: idle clients keep nobody out', async () => {
    const { url, store } = await serving({ connectionsMax: 4 });
    const idle = await Promise.all(Array.from({ length: 12 }, () => connected(url)));
    expect((await exchange(url, HEALTH)).map(({ status }) => status)).toEqual([200]);
    expect((await exchange(url, STOPPING))[0]?.status).toBeLessThan(300);
    expect(await store.stop()).toMatchObject({ reason: 'enough' });
    const cut = await Promise.all(idle.slice(0, 8).map(({ answers }) => answers));
    expect(cut.flat()).toEqual([]);
  });

  it('that all have a request under way leave health and the stop to new ones', async () => {
    const { url, store, hold } = await holding({ connectionsMax: 3 });
    for (let each = 0; each < 3; each += 1) await hold();
    const [refused] = await exchange(url, `GET /api/runs HTTP/1.1\r\n${HOST}${ADMIN}\r\n`);
    expect(refused?.status).toBe(503);
    expect(refused?.headers.get('retry-after')).toBe('5');
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ type: 'urn:trustward:problem:too-many-connections' });
    expect((await exchange(url, HEALTH)).map(({ status }) => status)).toEqual([200]);
    expect((await exchange(url, STOPPING))[0]?.status).toBeLessThan(300);
    expect(await store.stop()).toMatchObject({ reason: 'enough' });
    // Of one organization among several: this app has none, and was asked.
    for (const path of ['/api/orgs/acme/stop', '/orgs/acme/api/stop'])
      expect((await exchange(url, STOPPING.replace('/api/stop', path)))[0]?.status).not.toBe(503);
    for (const path of ['/api/orgs/acme/stops', '/api/orgs/a/b/stop'])
      expect((await exchange(url, STOPPING.replace('/api/stop', path)))[0]?.status).toBe(503);
  });

  it('that end give their place back', async () => {
    const { url, hold } = await holding({ connectionsMax: 2 });
    const [first] = [await hold(), await hold()];
    first.destroy();
    const read = `GET /api/runs HTTP/1.1\r\n${HOST}${ADMIN}${LAST}\r\n`;
    await expect.poll(async () => (await exchange(url, read))[0]?.status).toBe(200);
  });
});

describe('one connection', () => {
  it('gets its answers in order, and no more than its share at once', async () => {
    const { url } = await serving({ pipelinedMax: 8 });
    const one = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
    const answers = await exchange(url, one.repeat(30));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 8)).toEqual(Array(8).fill(200));
    expect(statuses.at(-1)).toBe(429);
    expect(answers.at(-1)?.headers.get('connection')).toBe('close');
    expect((await exchange(url, `${one.repeat(7)}${HEALTH}`)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });

  it.each([
    ['too long an address', `GET /api/runs?${'x'.repeat(9_000)} HTTP/1.1\r\n${HOST}`, 414],
    ['too many headers', `GET /api/runs HTTP/1.1\r\n${HOST}${'a: b\r\n'.repeat(100)}`, 431],
    ['more headers than Node reads by default', `GET /healthz HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(3_000)}`, 431],
    ['too large headers', `GET /healthz HTTP/1.1\r\n${HOST}a: ${'x'.repeat(17_000)}\r\n`, 431],
  ])('with %s is refused', async (_, head, expected) => {
    const { url, complaints } = await serving({});
    const [answer, ...others] = await exchange(url, `${head}\r\n`);
    expect(answer?.status).toBe(expected);
    expect(answer?.headers.get('content-type')).toBe('application/problem+json');
    expect(answer?.headers.get('connection')).toBe('close');
    expect(others).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
