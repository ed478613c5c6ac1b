// http: bodies on a real socket, where a request is not the one that a test makes in memory.
import { type ClientRequest, request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../src/http/listen.ts';
import { openEndpoint, TOKENS } from '../support/endpoint.ts';

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

/** Plain node:http, which sends the headers and the pieces that it is told, and nothing of its own. */
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

/** Neither a length nor a body: as `curl -X POST` sends it. */
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
  ])('over the limit is refused, %s, and a stranger is asked for a token first', async (_, how) => {
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

  it('that never ends is refused or cut off, and asks for nothing', async () => {
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

  it('keeps letters whole that fall between two chunks', async () => {
    const { url } = await serving();
    const bytes = Buffer.from(JSON.stringify({ mode: 'dry-run', rules: ['é日🦊'] }));
    const answer = await send(`${url}/api/runs`, { ...ADMIN, ...CHUNKED }, (sent) => {
      for (const byte of bytes) sent.write(Buffer.from([byte]));
      sent.end();
    });
    expect(answer).toMatchObject({ status: 400, body: { detail: 'there is no active rule `é日🦊`' } });
  });
});
