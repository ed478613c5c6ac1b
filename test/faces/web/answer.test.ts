// How a page is sent: compressed for a browser that can read that, and for no other.
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openPages, textOf } from '../../support/pages.ts';

async function sent(path: string, encodings: string | undefined) {
  const headers = { host: '127.0.0.1:8080', ...(encodings !== undefined && { 'accept-encoding': encodings }) };
  const answer = await openPages().app.request(path, { headers });
  return { headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

it.each(['/sign-in', '/no-such-page'])('a page is compressed for a browser that accepts gzip: %s', async (path) => {
  const plain = await sent(path, undefined);
  const zipped = await sent(path, 'gzip, deflate, br');
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(zipped.headers.get('content-encoding')).toBe('gzip');
  expect(textOf(gunzipSync(zipped.body).toString())).toBe(textOf(plain.body.toString()));
  for (const { headers } of [plain, zipped]) expect(headers.get('vary')).toContain('Accept-Encoding');
});

it.each(['identity', 'gzip;q=0', 'gzip; q=0, br'])('a page is plain for a browser that sends %s', async (encodings) => {
  expect((await sent('/sign-in', encodings)).headers.get('content-encoding')).toBeNull();
});
