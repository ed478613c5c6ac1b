// http: what is no request, or only nearly one, over a raw socket. Every answer is one of ours: a problem document with
// the headers of all other answers, and the connection is closed after what could not be parsed.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerMalformed, listen } from '../../../src/faces/http/listen.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { dial, END, exchange, type RawAnswer, receive } from '../../support/raw-socket.ts';

const HOST = 'Host: 127.0.0.1\r\n';
const LAST = 'Connection: close\r\n';
const ADMIN = `Authorization: Bearer ${TOKENS.admin}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const RUN = '{"mode":"dry-run"}';

async function serving(over: Parameters<typeof openEndpoint>[0] = {}) {
  const endpoint = openEndpoint(over);
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  return { ...endpoint, listening, url: listening.url };
}

/** An endpoint that answers `/readyz` when it is told to. */
async function waiting() {
  let begin = () => {};
  let finish = () => {};
  const asked = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const readiness = async () => {
    begin();
    await finished;
    return [];
  };
  return { ...(await serving({ readiness })), asked, finish };
}

/** The headers that every answer of the endpoint has. */
async function commonHeaders(url: string): Promise<[string, string][]> {
  const { headers } = await fetch(`${url}/healthz`);
  const own = ['content-length', 'content-type', 'date', 'connection', 'keep-alive'];
  return [...headers].filter(([name]) => !own.includes(name));
}

function expectOurs(answer: RawAnswer, common: [string, string][]): void {
  for (const [name, value] of common) expect(answer.headers.get(name), name).toBe(value);
  expect(new Set(answer.names).size).toBe(answer.names.length);
  expect(answer.body).not.toMatch(/HPE_|ERR_|node:|llhttp|Parse Error|RequestError|\bat \S+:\d+/);
  if (answer.status < 400) return;
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('content-length')).toBe(String(answer.body.length));
  expect(JSON.parse(answer.body)).toMatchObject({ status: answer.status, detail: expect.any(String) });
  expect(JSON.parse(answer.body).type).toMatch(/^urn:trustward:problem:[a-z0-9-]+$/);
}

const MALFORMED: [title: string, bytes: string, status: number][] = [
  ['no HTTP', 'hello\r\n\r\n', 400],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['an unknown method', `FETCH / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an unknown version', `GET / HTTP/3.7\r\n${HOST}\r\n`, 400],
  ['bare line feeds', 'GET / HTTP/1.1\nHost: 127.0.0.1\n\n', 400],
  ['a header without a colon', `GET / HTTP/1.1\r\n${HOST}nonsense\r\n\r\n`, 400],
  ['a blank before the colon', `GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n`, 400],
  ['a folded header', `GET / HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`, 400],
  ['a control character in a header', `GET / HTTP/1.1\r\n${HOST}X: a\x00b\r\n\r\n`, 400],
  ['a letter beyond ASCII in the target', `GET /\xe9 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['large headers', `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['a long target', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
  ['many headers', `GET / HTTP/1.1\r\n${HOST}${'a:\r\n'.repeat(5_000)}\r\n`, 431],
  ['two lengths', `POST /api/runs HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
  ['a negative length', `POST /api/runs HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`, 400],
  [
    'a length and chunks',
    `POST /api/runs HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  [
    'chunks that are not the last coding',
    `POST /api/runs HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ['CONNECT', `CONNECT 127.0.0.1:80 HTTP/1.1\r\n${HOST}\r\n`, 405],
  ['CONNECT without a host', 'CONNECT evil.example:80 HTTP/1.1\r\n\r\n', 405],
];

const REFUSED: [title: string, bytes: string, status: number][] = [
  ['no Host', `GET / HTTP/1.1\r\n\r\n`, 400],
  ['no Host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', 400],
  ['an empty Host', `GET / HTTP/1.1\r\nHost:\r\n\r\n`, 400],
  ['a Host that is none', `GET / HTTP/1.1\r\nHost: a@b\r\n\r\n`, 400],
  ['a Host with a path', `GET / HTTP/1.1\r\nHost: 127.0.0.1/x\r\n\r\n`, 400],
  ['a stranger’s Host', `GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n`, 421],
  ['an address that is none', `GET / HTTP/1.1\r\nHost: 999.1.1.1\r\n\r\n`, 421],
  ['two hosts, of which one is no address', `GET / HTTP/1.1\r\nHost: 999.1.1.1\r\n${HOST}\r\n`, 400],
  ['two hosts', `GET / HTTP/1.1\r\n${HOST}Host: evil.example\r\n\r\n`, 400],
  ['the same host twice', `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
  ['a stranger’s target, our Host', `GET http://evil.example/ HTTP/1.1\r\n${HOST}\r\n`, 421],
  ['our target, a stranger’s Host', `GET http://127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\n\r\n`, 421],
  ['a target that is no URL', `GET http://[/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a backslash in the path', `GET /\\evil.example HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['TRACE', `TRACE / HTTP/1.1\r\n${HOST}${LAST}\r\n`, 405],
  ['two tokens', `GET /api/runs HTTP/1.1\r\n${HOST}${ADMIN}${ADMIN}${LAST}\r\n`, 401],
];

const SERVED: [title: string, bytes: string, status: number][] = [
  ['an unknown expectation', `GET /healthz HTTP/1.1\r\n${HOST}Expect: a-miracle\r\n${LAST}\r\n`, 200],
  ['our own URL as target', `GET http://127.0.0.1/healthz HTTP/1.1\r\n${HOST}${LAST}\r\n`, 200],
  ['HTTP/1.0 with a Host', `GET /healthz HTTP/1.0\r\n${HOST}\r\n`, 200],
  [
    'an upgrade that is not offered',
    `GET /healthz HTTP/1.1\r\n${HOST}Upgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n`,
    200,
  ],
  [
    'h2c',
    `GET /healthz HTTP/1.1\r\n${HOST}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nConnection: Upgrade, close\r\n\r\n`,
    200,
  ],
  [
    'chunks with extensions',
    `POST /api/runs HTTP/1.1\r\n${HOST}${ADMIN}${LAST}Transfer-Encoding: chunked\r\n\r\n${RUN.length.toString(16)};a=b\r\n${RUN}\r\n0\r\n\r\n`,
    202,
  ],
  [
    'a body that was announced',
    `POST /api/runs HTTP/1.1\r\n${HOST}${ADMIN}${LAST}Expect: 100-continue\r\nContent-Length: ${RUN.length}\r\n\r\n${RUN}`,
    202,
  ],
];

const BROKEN_BODIES: [title: string, bytes: string, status: number][] = [
  ['a chunk without a size', 'zz\r\nxx\r\n0\r\n\r\n', 400],
  ['a chunk longer than its size', '1\r\nxxxx\r\n0\r\n\r\n', 400],
  ['extensions without end', `1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`, 413],
];

describe('over a socket', () => {
  async function expectAnswered(bytes: string, status: number): Promise<void> {
    const { url, complaints } = await serving();
    const answers = await exchange(url, Buffer.from(bytes, 'latin1'));
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expectOurs(answers[0] as RawAnswer, await commonHeaders(url));
    expect(answers[0]?.headers.get('connection')).toBe('close');
    expect(complaints).toEqual([]);
  }

  it.each(MALFORMED)('%s is answered by a problem document, and the connection is closed', (_, bytes, status) =>
    expectAnswered(bytes, status),
  );

  it.each([...REFUSED, ...SERVED])('%s gets an answer with the headers of all others', (_, bytes, status) =>
    expectAnswered(bytes, status),
  );

  it.each(BROKEN_BODIES)('a body that cannot be read triggers nothing: %s', async (_, bytes, status) => {
    const { url, requests, complaints } = await serving();
    const head = `POST /api/runs HTTP/1.1\r\n${HOST}${ADMIN}Transfer-Encoding: chunked\r\n\r\n`;
    const answers = await exchange(url, head, bytes);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expectOurs(answers[0] as RawAnswer, await commonHeaders(url));
    expect(requests).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('a request before the malformed one is answered first', async () => {
    const { url } = await serving();
    const answers = await exchange(url, `GET /healthz HTTP/1.1\r\n${HOST}\r\n`, 'hello\r\n\r\n');
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
  });

  it('a request before one with a broken body is answered first', async () => {
    const { url, requests } = await serving();
    const head = `POST /api/runs HTTP/1.1\r\n${HOST}${ADMIN}Transfer-Encoding: chunked\r\n\r\n`;
    const answers = await exchange(url, `GET /healthz HTTP/1.1\r\n${HOST}\r\n${head}zz\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expect(requests).toEqual([]);
  });

  it.each([
    ['garbage', 'hello\r\n\r\n', 400],
    ['CONNECT', `CONNECT 127.0.0.1:80 HTTP/1.1\r\n${HOST}\r\n`, 405],
  ])('a request under way is answered before %s that goes on and on', async (_, bytes, status) => {
    const { url, asked, finish } = await waiting();
    const warned: unknown[] = [];
    const warn = (warning: unknown) => warned.push(warning);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    const socket = dial(url);
    const answers = receive(socket);
    socket.write(`GET /readyz HTTP/1.1\r\n${HOST}\r\n`);
    await asked;
    for (let each = 0; each < 50; each++) {
      socket.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    finish();
    expect((await answers).map((answer) => answer.status)).toEqual([200, status]);
    expect(warned).toEqual([]);
  });

  it('a request under way before a CONNECT does not keep the endpoint from closing', async () => {
    const { url, asked, listening } = await waiting();
    const socket = dial(url);
    const answers = receive(socket);
    socket.write(`GET /readyz HTTP/1.1\r\n${HOST}\r\nCONNECT 127.0.0.1:80 HTTP/1.1\r\n${HOST}\r\n`);
    await asked;
    await listening.close(0);
    expect(await answers).toEqual([]);
  });

  it.each(MALFORMED)('a reset right after it is survived: %s', async (_, bytes) => {
    const { url } = await serving();
    for (let each = 0; each < 5; each++) {
      const socket = dial(url);
      await once(socket, 'connect');
      socket.write(Buffer.from(bytes, 'latin1'));
      socket.resetAndDestroy();
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('a body that breaks off after its answer gets no second one', async () => {
    const { url } = await serving();
    const head = `POST /api/runs HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`;
    const socket = dial(url);
    const answers = receive(socket);
    socket.write(`${head}1\r\nx\r\n`);
    await once(socket, 'data');
    socket.write('zz\r\n');
    expect((await answers).map(({ status }) => status)).toEqual([401]);
  });

  it('headers that never end are answered by a problem document once their time is over', async () => {
    const server = createServer({ headersTimeout: 50, connectionsCheckingInterval: 20 });
    answerMalformed(server);
    server.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const common = await commonHeaders((await serving()).url);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answers = await exchange(url, `GET / HTTP/1.1\r\n${HOST}`);
    expect(answers.map(({ status }) => status)).toEqual([408]);
    expectOurs(answers[0] as RawAnswer, common);
  });

  it('any damage to a request gets only answers of ours, and none that hangs', async () => {
    const { url, complaints } = await serving();
    const common = await commonHeaders(url);
    const requests = [...REFUSED, ...SERVED].map(([, bytes]) => bytes);
    const damage = fc.record({
      at: fc.nat(1_000),
      cut: fc.nat(4),
      add: fc.oneof(
        fc.constantFrom(
          '\r\n',
          '\r',
          '\n',
          '\0',
          ' ',
          '\t',
          ':',
          ',',
          ';',
          '%',
          '//',
          '\\',
          '0\r\n\r\n',
          HOST,
          CHUNKED,
        ),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...requests),
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        async (bytes, all) => {
          let sent = bytes;
          for (const { at, cut, add } of all) {
            const place = at % (sent.length + 1);
            sent = sent.slice(0, place) + add + sent.slice(place + cut);
          }
          const answers = await exchange(url, Buffer.from(sent, 'latin1'), END);
          for (const answer of answers) expectOurs(answer, common);
          expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
    expect(complaints).toEqual([]);
  });
});
