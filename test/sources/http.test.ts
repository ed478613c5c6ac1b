// sources: an address is read whole, within its time, from where it was meant to be; an answer that is no data is a failure, never a shorter list.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { GivenReading, GivenSource } from '../../src/domain/given-facts.ts';
import { publicAddressesOf } from '../../src/runtime/notify/settings.ts';
import { NOW, served, sourcesIn, world } from '../support/given-sources.ts';

function sourceAt(url: string, more = ''): GivenSource {
  const [source] = sourcesIn(`sources:
  edr:
    key: { email: mail }
    fresh: 1d
    every: 1m
    fields: { risk: number }
    http:
      url: ${url}
      timeout: 1s
${more.replace(/^/gm, '      ')}
`);
  return source as GivenSource;
}
const json = (response: ServerResponse, body: unknown, headers: Record<string, string | string[]> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const row = (at: number) => ({ mail: `User${at}@example.com`, risk: at });
const rowsOf = ({ table }: GivenReading) => Object.fromEntries(table?.rows ?? []);
const TWO = { 'user1@example.com': { risk: 1 }, 'user2@example.com': { risk: 2 } };

describe('pages', () => {
  const page = ({ url, headers }: IncomingMessage) => ({
    at: Number(new URL(`http://x${url}`).searchParams.get('page') ?? 0),
    host: headers.host,
  });
  it.each([
    [
      'the header Link',
      'pages: link',
      (at: number, host: string) => [
        [row(at + 1)],
        at < 1 ? [`<http://${host}/?page=0>; rel="self"`, `</?a=1,2&page=1>; title="a, b"; rel="next"`] : undefined,
      ],
    ],
    [
      'an address in the body',
      'list: value\npages: { url_in: "@odata.nextLink" }',
      (at: number, host: string) => [
        { value: [row(at + 1)], ...(at < 1 && { '@odata.nextLink': `http://${host}/?page=1` }) },
      ],
    ],
    [
      'a token in the body',
      'list: rows\npages: { token_in: meta.next, parameter: page }',
      (at: number) => [{ rows: [row(at + 1)], meta: { next: at < 1 ? '1' : '' } }],
    ],
    ['numbers', 'list: rows\npages: { number: page }', (at: number) => [{ rows: at < 2 ? [row(at + 1)] : [] }]],
  ])('by %s are one list', async (_, more, answer) => {
    const url = await served((request, response) => {
      const { at, host } = page(request);
      const [body, link] = answer(at, host ?? '') as [unknown, string[] | undefined];
      json(response, body, link ? { link } : {});
    });
    const reading = await world().read(sourceAt(`${url}/`, more));
    expect(reading.fault).toBeUndefined();
    expect(rowsOf(reading)).toEqual(TWO);
  });

  it.each([
    [
      'that lead back',
      'list: rows\npages: { url_in: next }',
      { rows: [row(1)], next: '/' },
      /^page 2 is an earlier one again: paging goes in a circle$/,
    ],
    [
      'whose number the server ignores',
      'list: rows\npages: { number: page }',
      { rows: [row(1)] },
      /^page 2 is an earlier one again/,
    ],
    [
      'of another host',
      'list: rows\npages: { url_in: next }',
      { rows: [row(1)], next: 'http://127.0.0.1:1/' },
      /the next page is at `127.0.0.1:1`, another host, and is not asked for/,
    ],
    [
      'without an address',
      'list: rows\npages: { url_in: next }',
      { rows: [row(1)], next: 7 },
      /^the address of the next page is none$/,
    ],
  ])('%s end the reading', async (_, more, body, fault) => {
    const url = await served((_request, response) => json(response, body));
    expect((await world().read(sourceAt(`${url}/`, more))).fault?.text).toMatch(fault);
  });
});

describe('an answer', () => {
  it.each<[string, (response: ServerResponse) => unknown, RegExp]>([
    [
      'that redirects to metadata',
      (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
      /^status 302: a redirect, which is not followed$/,
    ],
    [
      '200 with a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Down</h1>'),
      /^status 200 with a page \(HTML\) where json was expected$/,
    ],
    [
      '200 with a page that says JSON',
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<h1>Down</h1>'),
      /begins like a page/,
    ],
    [
      '200 with an error',
      (response) => json(response, { errors: [{ code: 500 }] }),
      /^it is no list of rows; `list` names the member that has it$/,
    ],
    ['401', (response) => response.writeHead(401).end(), /^status 401: the credential is refused$/],
    ['503', (response) => response.writeHead(503).end(), /^status 503$/],
    ['that never comes', () => {}, /^no whole answer within 1 s$/],
    ['that stops in the middle', (response) => response.writeHead(200).write('['), /^no whole answer within 1 s$/],
    [
      'that breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': '100' }).write('[]');
        setTimeout(() => response.destroy(), 20);
      },
      /aborted/,
    ],
    [
      'that was cut within gzip',
      (response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify([row(1)])).subarray(0, 30)),
      /unexpected end of file/,
    ],
    [
      'that grows without end in gzip',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(130e6, ' '))),
      /^it is larger than 128 MB$/,
    ],
    ['304 that nobody asked for', (response) => response.writeHead(304).end(), /^status 304/],
  ])('%s is named', async (_, answer, fault) => {
    const url = await served((_request, response) => void answer(response));
    const source = sourceAt(url);
    const origin = {
      ...source.origin,
      timeoutMs: /no whole/.test(fault.source) ? 1_000 : 30_000,
    } as GivenSource['origin'];
    expect((await world().read({ ...source, origin })).fault?.text).toMatch(fault);
  });

  it('in gzip, as NDJSON and as CSV without a last line break is the same rows', async () => {
    const url = await served(({ url: path, headers }, response) => {
      expect(headers['accept-encoding']).toBe('gzip');
      const text =
        path === '/csv'
          ? 'mail,risk\r\nuser1@example.com,1\r\nUSER2@example.com,2'
          : `${JSON.stringify(row(1))}\n${JSON.stringify(row(2))}\n`;
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text));
    });
    expect(rowsOf(await world().read(sourceAt(`${url}/csv`, 'format: csv')))).toEqual(TWO);
    expect(rowsOf(await world().read(sourceAt(`${url}/lines`, 'format: ndjson')))).toEqual(TWO);
  });

  it('that did not change is the same table, confirmed now; with its time of change it is of that time', async () => {
    const asked: unknown[] = [];
    const url = await served(({ headers, url: path }, response) => {
      asked.push(headers['if-none-match'] ?? headers['if-modified-since']);
      if (headers['if-none-match'] || headers['if-modified-since']) return response.writeHead(304).end();
      json(
        response,
        [row(1)],
        path === '/tag' ? { etag: '"a"' } : { 'last-modified': 'Sat, 28 Nov 2026 11:00:00 GMT' },
      );
    });
    const place = world();
    for (const [path, atMs] of [
      ['/tag', NOW + 60_000],
      ['/time', NOW - 3_600_000],
    ] as const) {
      place.nowMs = NOW;
      const source = { ...sourceAt(url + path), name: path.slice(1) };
      const first = await place.read(source);
      place.nowMs += 60_000;
      const { table } = await place.again().read(source);
      expect(table).toMatchObject({ hash: first.table?.hash, readAt: NOW + 60_000, atMs });
    }
    expect(asked).toEqual([undefined, '"a"', undefined, 'Sat, 28 Nov 2026 11:00:00 GMT']);
  });
});

describe('credentials', () => {
  it.each([
    ['a bearer token of a file', 'auth: { file: edr.token }', 'Bearer s3cret-1'],
    ['a basic one', 'auth: { scheme: Basic, file: basic }', `Basic ${Buffer.from('me:pw').toString('base64')}`],
    ['a scheme of its own', 'auth: { scheme: SSWS, env: SOURCE_TOKEN }', 'SSWS from-env'],
    [
      'a token that a client gets',
      'auth: { file: client, token: { url: URL/token, scope: all } }',
      'Bearer short-lived',
    ],
  ])('%s are sent, and in no message', async (_, more, expected) => {
    const seen: unknown[] = [];
    const url = await served(async (request, response) => {
      if (request.url !== '/token') {
        seen.push(request.headers.authorization);
        return response.writeHead(403).end();
      }
      let form = '';
      for await (const part of request) form += part;
      expect(form).toBe('grant_type=client_credentials&client_id=id&client_secret=a%3Ab&scope=all');
      json(response, { access_token: 'short-lived', token_type: 'bearer' });
    });
    const place = world({ variable: (name) => (name === 'SOURCE_TOKEN' ? 'from-env' : undefined) });
    for (const [name, text] of Object.entries({ 'edr.token': 's3cret-1\n', basic: 'me:pw\n', client: 'id:a:b\n' }))
      place.put(name, text);
    const { fault } = await place.read(sourceAt(url, more.replace('URL', url)));
    expect(seen).toEqual([expected]);
    expect(JSON.stringify([fault, place.logged])).not.toMatch(/s3cret|me:pw|from-env|short-lived|a:b/);
  });

  it('that are missing are named, and nothing is asked', async () => {
    const url = await served(() => expect.unreachable());
    expect((await world().read(sourceAt(url, 'auth: { file: none }'))).fault?.text).toBe(
      '`none` cannot be read (ENOENT)',
    );
    expect((await world().read(sourceAt(url, 'auth: { env: SOURCE_X }'))).fault?.text).toBe(
      'the variable SOURCE_X is not set',
    );
  });
});

describe('the network', () => {
  const unasked = () => served(() => expect.unreachable());
  it.each([
    ['a host that is not listed', {}, { hosts: [] as string[] }, /^`127.0.0.1` is not among TRUSTWARD_SOURCE_HOSTS/],
    [
      'no TLS to one that is not private',
      {},
      { privateHosts: [] as string[] },
      /^its address does not begin with https:\/\/$/,
    ],
    [
      'loopback where it is not allowed',
      { tls: true },
      { privateHosts: [] as string[] },
      /^`127.0.0.1` resolves to 127.0.0.1, which is not a public address$/,
    ],
  ])('%s is refused', async (_, { tls }: { tls?: boolean }, access, fault) => {
    const url = await unasked();
    expect((await world(access).read(sourceAt(tls ? url.replace('http:', 'https:') : url))).fault?.text).toMatch(fault);
  });

  it.each(['169.254.169.254', '[fd00:ec2::254]', '100.100.100.200', '[fe80::1]', '[::ffff:169.254.169.254]'])(
    'metadata at %s is refused, also where private addresses are allowed, and by a name',
    async (host) => {
      const hosts = [host, 'metadata.example'];
      const source = sourceAt(`http://${host.startsWith('[') ? `"${host}"` : host}/`.replaceAll('"', ''));
      const access = {
        hosts: [...hosts, new URL(`http://${host}`).hostname],
        privateHosts: [...hosts, new URL(`http://${host}`).hostname],
      };
      expect((await world(access).read(source)).fault?.text).toMatch(/which is not a public address$/);
      const address = new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '');
      const named = {
        ...access,
        addressesOf: (name: string, allowed: boolean) =>
          publicAddressesOf(name, allowed, async () => [{ address, family: address.includes(':') ? 6 : 4 }]),
      };
      expect((await world(named).read(sourceAt('http://metadata.example/'))).fault?.text).toMatch(
        /^`metadata.example` resolves to/,
      );
    },
  );
});

it('a name server that does not answer ends the reading in time', async () => {
  const place = world({ addressesOf: () => new Promise(() => {}) });
  expect((await place.read(sourceAt('http://127.0.0.1:1/'))).fault?.text).toBe('no whole answer within 1 s');
});

it('a source that hangs does not keep others waiting, and is not asked again meanwhile', async () => {
  let asked = 0;
  const url = await served((request, response) => {
    if (request.url === '/slow') asked += 1;
    else json(response, [row(1), row(2)]);
  });
  const place = world();
  const slow = { ...sourceAt(`${url}/slow`), name: 'slow' };
  const both = place.reader.readDue([slow], new AbortController().signal);
  expect(rowsOf(await place.read(sourceAt(url)))).toEqual(TWO);
  expect((await place.read(slow)).triedAt).toBeUndefined();
  await both;
  expect([asked, (await place.read(slow)).fault?.text]).toEqual([1, 'no whole answer within 1 s']);
});
