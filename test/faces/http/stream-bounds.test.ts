// http: how many streams there may be, and what ends one: its client, its token, the process.
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashOfToken, type Scope } from '../../../src/domain/endpoint-token.ts';
import { listen } from '../../../src/faces/http/listen.ts';
import { hashVerifier, tokenHash } from '../../../src/faces/http/sign-in.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { type EventClient, openStream, standingClock } from '../../support/event-client.ts';

const NAMES = Array.from({ length: 12 }, (_, index) => `token${index}`);
const textOf = (name: string) => `${name}-0123456789abcdef`;

async function serving({ clock = systemClock, scope = 'read' }: { clock?: typeof systemClock; scope?: Scope } = {}) {
  const good = new Set(NAMES);
  const ending = new AbortController();
  let wake = () => {};
  const verify = hashVerifier(NAMES.map((name) => ({ name, scope, hash: tokenHash(textOf(name)) })));
  const endpoint = openEndpoint({
    clock,
    verifyToken: (token) => {
      const caller = verify(hashOfToken(token));
      return caller && good.has(caller.name) ? caller : undefined;
    },
    stream: { onAudited: (heard) => (wake = heard), onProgress: () => {}, ending: ending.signal },
  });
  endpoint.store.onAudited(() => wake());
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  const stream = async (name = 'token0', path?: string) => {
    const client = await openStream(listening.url, { token: textOf(name), ...(path !== undefined && { path }) });
    if (client.status === 200) await client.until(({ last }) => last !== undefined);
    return client;
  };
  const fill = (entries: number, length: number) =>
    endpoint.store.appendAudit(
      Array.from({ length: entries }, () => ({ kind: 'notice' as const, body: { text: 'x'.repeat(length) } })),
    );
  return { ...endpoint, listening, good, ending, stream, fill };
}

describe('open streams', () => {
  it('are at most 50 of a token and 500 in all; a place is free when its stream ends', async () => {
    const { stream } = await serving();
    const open: EventClient[] = [];
    for (const name of NAMES.slice(0, 10)) {
      open.push(...(await Promise.all(Array.from({ length: 50 }, () => stream(name)))));
      const more = await stream(name);
      expect(more.status).toBe(429);
      expect(more.headers['retry-after']).toBe('15');
    }
    expect(open.every(({ status }) => status === 200)).toBe(true);
    const beyond = await stream('token11');
    await beyond.ended;
    expect(beyond.status).toBe(429);
    expect(beyond.text).toContain('500 streams are open: close some, or connect again later');
    open[0]?.cut();
    let again = await stream('token11');
    while (again.status === 429) again = await stream('token11');
    expect(again.status).toBe(200);
    for (const client of open) client.cut();
  }, 300_000);

  it('of users who share the token `admin` count as of this token', async () => {
    const { listening } = await serving({ scope: 'admin' });
    const asUser = (index: number) =>
      openStream(listening.url, { token: textOf('token0'), headers: { 'trustward-user': `user${index}` } });
    const clients = await Promise.all(Array.from({ length: 51 }, (_, index) => asUser(index)));
    expect(clients.filter(({ status }) => status === 429)).toHaveLength(1);
  });

  it('end at the next beat after their token is revoked, and others do not', async () => {
    const clock = standingClock();
    const { stream, good } = await serving({ clock });
    const [revoked, kept] = [await stream('token1'), await stream('token2')];
    good.delete('token1');
    await clock.advance(15_000);
    await revoked.ended;
    await kept.until(({ text }) => text.split(': trustward').length === 3);
    expect((await stream('token1')).status).toBe(401);
  });

  it('are opened by a session of the page, and end at the next beat after it has ended', async () => {
    const clock = standingClock();
    const { listening, signIn } = await serving({ clock });
    const link = await signIn.link({ name: 'ana', scope: 'read' });
    const signedIn = await signIn.withCode(link.code);
    const cookie = signedIn ? (signIn.cookie(signedIn).split(';')[0] ?? '') : '';
    const client = await openStream(listening.url, { token: undefined, headers: { cookie } });
    expect(client.status).toBe(200);
    await client.until(({ last }) => last !== undefined);
    await signIn.signOut(cookie);
    await clock.advance(15_000);
    await client.ended;
  });

  it('end at once when the process is to end, whether or not their client reads', async () => {
    const { stream, fill, ending, listening } = await serving();
    const clients = [await stream(), await stream('token0', '/api/stream?kind=run')];
    const blocked = await stream('token0', '/api/stream?after=0');
    blocked.pause();
    await fill(400, 60_000);
    await clients[0]?.until(({ last }) => last === 400);
    ending.abort();
    // One that is not ended at once is cut off in an hour: the test would end before.
    await listening.close(3_600_000);
    blocked.resume();
    await Promise.all([...clients, blocked].map(({ ended }) => ended));
  });

  it('are refused while the process ends', async () => {
    const { stream, ending } = await serving();
    ending.abort();
    expect((await stream()).status).toBe(503);
  });
});

describe('a client that does not read', () => {
  it('delays no commit and no other stream, and holds no more memory the more there is to send', async () => {
    const { stream, fill } = await serving();
    const slow = await Promise.all(Array.from({ length: 20 }, () => stream('token0', '/api/stream?after=0')));
    for (const each of slow) each.pause();
    const quick = await stream('token1');
    await fill(100, 60_000);
    await quick.until(({ last }) => last === 100);
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().external;
    for (let round = 2; round <= 8; round += 1) {
      await fill(100, 60_000);
      await quick.until(({ last }) => last === round * 100);
    }
    // 20 clients lag 42 MB each by now.
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().external - before;
    expect(grown).toBeLessThan(150_000_000);
    for (const each of slow) each.cut();
  }, 300_000);

  it('is cut after a minute, and its place is free', async () => {
    const clock = standingClock();
    const { stream, fill, listening } = await serving({ clock });
    const socket = connect(Number(new URL(listening.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    await fill(400, 60_000);
    socket.write(
      `GET /api/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${textOf('token0')}\r\n\r\n`,
    );
    await once(socket, 'readable'); // and nothing is read
    await Promise.all(Array.from({ length: 49 }, () => stream()));
    const beganMs = clock.nowMs();
    while ((await stream()).status === 429) await clock.advance(15_000);
    expect(clock.nowMs() - beganMs).toBeGreaterThanOrEqual(60_000);
    socket.resume();
    await closed;
  });
});
