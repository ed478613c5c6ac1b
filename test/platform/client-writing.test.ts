// Writes of the client: each leaves once, and each answer is done, failed or doubtful.

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Exchange } from '../../src/platform/client/transport.ts';
import { clientOf, DrivenClock, errorOf, json, serve } from './loopback.ts';

const ban = [{ Model: 'm', Ownership: 'o', Platform: 'p', Architecture: 'a', Banned: 'TRUE' }];

describe('a ban', () => {
  test('is sent as the specification shows it', async () => {
    const { address, seen } = await serve((_, response) => json(response, [{ Message: 'Success' }]));
    const client = clientOf(address);
    expect(await client.updateDevices('S 1', ban)).toEqual({ kind: 'done', status: 200, text: 'Success' });
    expect(seen[0]).toMatchObject({ method: 'POST', path: '/api/v1/mdm/update_device' });
    expect(seen[0]?.query.get('SerialNumber')).toBe('S 1');
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(ban);
    expect(seen[0]?.headers['content-type']).toBe('application/json');
    await client.close();
  });

  test.each([
    ['one of two messages is another', [{ Message: 'Success' }, { Message: 'device not found' }], 'failed'],
    ['the message is another', { Message: 'Failure' }, 'failed'],
    ['there is an error', { error: 'x', Message: 'Success' }, 'failed'],
    ['an object says Success', { Message: 'Success' }, 'done'],
    ['nothing is said', [], 'doubtful'],
    ['a message is missing', [{ Message: 'Success' }, {}], 'doubtful'],
    ['the body is empty', '', 'doubtful'],
    ['the body is cut off', '[{"Message":"Succ', 'doubtful'],
    ['the body is HTML', '<html>', 'doubtful'],
  ])('answered 200 where %s is classed', async (_, body, kind) => {
    const { address, seen } = await serve((__, response) => json(response, body));
    const client = clientOf(address);
    expect((await client.updateDevices('S', ban)).kind).toBe(kind);
    expect(seen).toHaveLength(1);
    await client.close();
  });
});

describe('another action', () => {
  test.each([
    ['Message', { Message: 'service enabled' }, 'done'],
    ['a Message that reads as an error', { Message: 'error: it seems' }, 'done'],
    ['a JSON string', '"deleted"', 'done'],
    ['nothing', '', 'done'],
    ['an error', { error: 'no such service' }, 'failed'],
    ['an error_code', { error_code: 3 }, 'failed'],
    ['error_code 0', { error_code: 0, error: '' }, 'done'],
    ['HTML', '<html>login</html>', 'doubtful'],
  ])('answered 200 with %s is classed', async (_, body, kind) => {
    const { address } = await serve((__, response) => json(response, body));
    const client = clientOf(address);
    expect((await client.disableService('s')).kind).toBe(kind);
    await client.close();
  });

  test.each([
    [400, 'failed'],
    [403, 'failed'],
    [404, 'failed'],
    [429, 'failed'],
    [500, 'doubtful'],
    [503, 'doubtful'],
    [302, 'doubtful'],
    [202, 'doubtful'],
  ])('answered %i is classed, and never sent again', async (status, kind) => {
    const { address, seen } = await serve((_, response) =>
      json(response, { Message: 'why' }, status, { 'retry-after': '0', location: '/x' }),
    );
    const client = clientOf(address);
    const answer = await client.deleteDevice('S');
    expect(answer).toEqual({ kind, status, text: `status ${status}: why` });
    expect(seen).toHaveLength(1);
    await client.close();
  });
});

describe('a bundle', () => {
  test.each([
    ['success', { error_code: 0, error_description: '', data: {} }, 'done'],
    ['an error_code', { error_code: 7, error_description: 'no' }, 'failed'],
    ['no envelope', { Message: 'ok' }, 'doubtful'],
    ['nothing', '', 'doubtful'],
  ])('answered with %s is classed', async (_, body, kind) => {
    const { address } = await serve((__, response) => json(response, body));
    const client = clientOf(address);
    expect((await client.addServiceToBundle('b', 's')).kind).toBe(kind);
    await client.close();
  });

  test('is not requested where the server has no list of them', async () => {
    const { address } = await serve((_, response) => json(response, {}, 405));
    const client = clientOf(address);
    expect(await client.listBundles()).toBeUndefined();
    expect(await client.listBundledServices()).toBeUndefined();
    await client.close();
  });
});

describe('a DELETE', () => {
  test('whose connection is reset is doubtful, and leaves once', async () => {
    const { address, seen } = await serve((_, response) => void response.socket?.resetAndDestroy());
    const client = clientOf(address);
    expect(await client.deleteDevice('S', 'a@b')).toMatchObject({ kind: 'doubtful', status: undefined });
    expect(seen.map((each) => each.query.toString())).toEqual(['SerialNumber=S&Email=a%40b']);
    await client.close();
  });

  test('is not sent on a connection that a read left open and the server closes', async () => {
    const heads: string[] = [];
    const sockets = new Set<Socket>();
    const raw = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        heads.push(data.toString('latin1').split('\r\n')[0] ?? '');
        const text = '{"data":[]}';
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\nkeep-alive: timeout=60\r\n\r\n${text}`,
          () => {
            if (heads.length === 1) socket.resetAndDestroy();
          },
        );
      });
    });
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    const client = clientOf(`http://127.0.0.1:${(raw.address() as AddressInfo).port}`);
    await client.events({});
    expect((await client.deleteDevice('S')).kind).toBe('done');
    expect(heads.filter((each) => each.startsWith('DELETE'))).toHaveLength(1);
    expect(sockets.size).toBe(2);
    await client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => raw.close(resolve));
  });

  test('with an empty e-mail or serial number is never sent: it could delete everybody’s mapping', async () => {
    const { address, seen } = await serve((_, response) => json(response, '""'));
    const client = clientOf(address);
    const refused = [client.deleteDevice('S', ''), client.deleteDevice(' '), client.updateDevices('', ban)];
    refused.push(client.disableService(''), client.deleteBundle(''));
    for (const each of refused) expect((await errorOf(each)).code).toBe('usage');
    expect(seen).toHaveLength(0);
    await client.close();
  });
});

test('a write without an answer in time is doubtful', async () => {
  const clock = new DrivenClock();
  const { address } = await serve(() => clock.advance(10_000));
  const client = clientOf(address, { clock });
  expect((await client.enableService('s')).kind).toBe('doubtful');
  await client.close();
});

test('the latency is that of calls that left, and a timeout counts twice', async () => {
  const clock = new DrivenClock();
  const { address } = await serve((seen, response) => {
    clock.advance(seen.method === 'GET' ? 700 : 10_000);
    json(response, []);
  });
  const client = clientOf(address, { clock });
  await client.devicesOfSerial('S');
  expect(client.latency()).toEqual({ p99Ms: 700, calls: 1, kind: 'read' });
  await client.enableService('s');
  expect(client.latency()).toEqual({ p99Ms: 20_000, calls: 1, kind: 'write' });
  await client.close();
  const gone = clientOf('http://127.0.0.1:1', { clock });
  await gone.enableService('s');
  expect(gone.latency().calls).toBe(0);
  await gone.close();
});

test('a write whose answer ends too early, or is damaged, is doubtful', async () => {
  const { address } = await serve(({ query }, response) => {
    if (query.get('ServiceID') === 'cut') {
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"Message":');
    } else {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"Message":"ok"}').subarray(0, 12));
    }
  });
  const client = clientOf(address);
  expect((await client.enableService('cut')).kind).toBe('doubtful');
  expect((await client.enableService('gzip')).kind).toBe('doubtful');
  await client.close();
});

test('a write to an unreachable server is a failure: nothing was sent', async () => {
  const { address, close } = await serve(() => undefined);
  await close();
  const client = clientOf(address);
  expect(await client.enableService('s')).toMatchObject({ kind: 'failed', status: undefined });
  await client.close();
});

test('a write stopped before it is sent is refused, one stopped under way is doubtful', async () => {
  const stop = new AbortController();
  const { address, seen } = await serve(() => stop.abort());
  const client = clientOf(address, { signal: stop.signal });
  expect((await client.enableService('s')).kind).toBe('doubtful');
  expect((await errorOf(client.enableService('s'))).code).toBe('stopped');
  expect(seen).toHaveLength(1);
  await client.close();
});

test('the record of a created service comes back, its client secret stays out of the evidence', async () => {
  const record = { ServiceID: 'a.b.c', ServiceVersion: 1, OIDCClientSpec: '{"client_secret":"canary"}' };
  const { address } = await serve((_, response) => json(response, record));
  const client = clientOf(address);
  const written = await client.insertService({ metadata: { name: 'a', cluster: 'b' } });
  expect(written.value?.ServiceID).toBe('a.b.c');
  expect(written.text).toBe('a.b.c, version 1');
  await client.close();
});

describe('a write that may not be made any more', () => {
  test('writes no byte, although it was begun in time and its connection came later', async () => {
    let mayWrite = true;
    const { address, received } = await listenRaw(() => {
      mayWrite = false;
    });
    const asked: boolean[] = [];
    const client = clientOf(address, {
      mayWrite: () => {
        asked.push(mayWrite);
        return mayWrite;
      },
    });
    const error = await errorOf(client.updateDevices('S', ban));
    expect(error).toMatchObject({ code: 'stopped', detail: { cause: 'stopped' } });
    expect(error.message).toContain('was not sent');
    expect(asked).toEqual([false]);
    expect(await received()).toEqual(['']);
    expect(client.latency().calls).toBe(0);
    await client.close();
  });

  test('writes no byte when it waited behind another on the one connection', async () => {
    let mayWrite = true;
    const { address, received, answer } = await listenRaw();
    const agent = new Agent({ connections: 1, pipelining: 1 });
    const [first, second] = [new Exchange(() => mayWrite), new Exchange(() => mayWrite)];
    for (const [path, exchange] of [
      ['/first', first],
      ['/second', second],
    ] as const)
      agent.dispatch({ origin: address, path, method: 'PUT', body: 'x' }, exchange);
    await answer.asked;
    mayWrite = false;
    answer.give();
    expect((await first.head()).status).toBe(200);
    await expect(second.head()).rejects.toMatchObject({ why: 'stopped', sent: false });
    await agent.destroy();
    const bytes = await received();
    expect(bytes.join('')).toContain('PUT /first');
    expect(bytes.join('')).not.toContain('/second');
  });

  test('leaves reads as they are', async () => {
    const { address, seen } = await serve((_, response) => json(response, []));
    const client = clientOf(address, { mayWrite: () => false });
    expect(await client.devicesOfSerial('S')).toEqual([]);
    expect(seen).toHaveLength(1);
    await client.close();
  });
});

/** Keeps what arrives, by connection, and answers only when it is asked to. */
async function listenRaw(connected = () => {}) {
  const connections: { text: string; socket: Socket }[] = [];
  let give = () => {};
  let asked = () => {};
  const answer = { asked: new Promise<void>((resolve) => (asked = resolve)), give: () => give() };
  const server = createServer((socket) => {
    connected();
    const connection = { text: '', socket };
    connections.push(connection);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      connection.text += data.toString('latin1');
      give = () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      asked();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const received = async () => {
    await Promise.all(
      connections.map(({ socket }) => socket.closed || new Promise((resolve) => socket.once('close', resolve))),
    );
    return connections.map(({ text }) => text);
  };
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, answer };
}
