// http: bodies on a real socket, where a request differs from one made in memory.
import { type ClientRequest, request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../src/faces/http/listen.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';

const ADMIN = { authorization: `Bearer ${TOKENS.admin}` };
const RUN = JSON.stringify({ mode: 'dry-run', wait: true });
const LARGE = JSON.stringify({ mode: 'x'.repeat(100_000) });

async function serving() {
  const endpoint = openEndpoint();
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  return { ...endpoint, url: listening.url };
}

interface Answer {
  status: number;
  type: string;
  body: unknown;
}

/** Plain node:http, which sends exactly the given headers and pieces. */
function send(
  url: string,
  headers: Record<string, string>,
  body: (sent: ClientRequest) => void,
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        const type = answer.headers['content-type'] ?? '';
        resolve({ status: answer.statusCode ?? 0, type, body: text === '' ? undefined : JSON.parse(text) });
      });
    });
    sent.on('error', reject);
    body(sent);
  });
}

const CHUNKED = { 'transfer-encoding': 'chunked' };

/** Neither a length nor a body, like `curl -X POST`. */
function bare(sent: ClientRequest): void {
  sent.removeHeader('content-length');
  sent.removeHeader('transfer-encoding');
  sent.useChunkedEncodingByDefault = false;
  sent.end();
}

function inPieces(text: string): (sent: ClientRequest) => void {
  return (sent) => {
    for (let at = 0; at < text.length; at += 16_384) sent.write(text.slice(at, at + 16_384));
    sent.end();
  };
}

describe('a request on a socket', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('without a body or a length is answered, %s', async (method) => {
    const { url, complaints } = await serving();
    const answer = await send(`${url}/api/audit/verify`, ADMIN, bare, method);
    expect(answer.status).toBe(method === 'POST' ? 200 : 405);
    expect((await send(`${url}/api/audit/verify`, {}, bare, method)).status).toBe(401);
    expect(complaints).toEqual([]);
  });

  it('in chunks is read like one with a length', async () => {
    const { url, requests, complaints } = await serving();
    const headers = { ...ADMIN, ...CHUNKED };
    expect(await send(`${url}/api/runs`, headers, inPieces(RUN))).toMatchObject({ body: { status: 'completed' } });
    expect(requests).toMatchObject([{ mode: 'dry-run' }]);
    expect((await send(`${url}/api/runs`, CHUNKED, inPieces(RUN))).status).toBe(401);
    expect(requests).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it.each([
    ['in chunks', CHUNKED],
    ['with a length', { 'content-length': String(LARGE.length) }],
  ])('over the limit is refused, %s, and a stranger needs a token first', async (_, how) => {
    const { url, requests, complaints } = await serving();
    const refused = await send(`${url}/api/runs`, { ...ADMIN, ...how }, inPieces(LARGE));
    expect(refused).toMatchObject({
      status: 413,
      type: 'application/problem+json',
      body: { detail: 'a body may have 65536 bytes at most' },
    });
    expect((await send(`${url}/api/runs`, how, inPieces(LARGE))).status).toBe(401);
    expect(requests).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('that never ends is refused or cut off, and triggers nothing', async () => {
    const { url, requests } = await serving();
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('x'.repeat(16_384))),
    });
    const asked = { method: 'POST', headers: ADMIN, body: endless, duplex: 'half' } as RequestInit;
    const status = await fetch(`${url}/api/runs`, asked)
      .then((answer) => answer.status)
      .catch(() => 'cut off');
    expect([413, 'cut off']).toContain(status);
    expect(requests).toEqual([]);
  });

  it('that is not UTF-8 is refused: read with other letters, it would name something else', async () => {
    const { url, requests } = await serving();
    for (const bytes of ['\xff', '\xc3', '\xed\xa0\x80']) {
      const body = Buffer.from(`{"mode":"dry-run","rules":["a${bytes}"]}`, 'latin1');
      expect(await send(`${url}/api/runs`, ADMIN, (sent) => sent.end(body))).toMatchObject({
        status: 400,
        type: 'application/problem+json',
        body: { detail: 'the body is not UTF-8: send it as UTF-8' },
      });
    }
    const cut = Buffer.from('{"mode":"dry-run"}\xc3', 'latin1');
    expect((await send(`${url}/api/runs`, ADMIN, (sent) => sent.end(cut))).status).toBe(400);
    expect(requests).toEqual([]);
  });

  it('with half a surrogate pair is refused: it could not be stored as it came', async () => {
    const { url, store } = await serving();
    const stop = (reason: string) =>
      send(`${url}/api/stop`, ADMIN, (sent) => sent.end(`{"reason":"${reason}"}`)).then(({ status }) => status);
    expect(await stop('\\ud800')).toBe(400);
    expect(await stop('\\udfff\\ud800')).toBe(400);
    expect(await stop('\\ud83e\\udd8a \\\\ud800')).toBe(200);
    expect((await store.stop())?.reason).toBe('🦊 \\ud800');
  });

  it('keeps letters that are split between two chunks whole', async () => {
    const { url } = await serving();
    const bytes = Buffer.from(JSON.stringify({ mode: 'dry-run', rules: ['é日🦊'] }));
    const answer = await send(`${url}/api/runs`, { ...ADMIN, ...CHUNKED }, (sent) => {
      for (const byte of bytes) sent.write(Buffer.from([byte]));
      sent.end();
    });
    expect(answer).toMatchObject({ status: 400, body: { detail: 'there is no active rule `é日🦊`' } });
  });
});
