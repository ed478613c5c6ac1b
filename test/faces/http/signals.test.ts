// test: where signals are pushed to needs no token of ours and believes none; its answers are those of RFC 8935. In: requests. Out: answers, and what the port was asked.
import { expect, it } from 'vitest';
import type { SignalAnswer } from '../../../src/domain/signal.ts';
import { openEndpoint } from '../../support/endpoint.ts';

const JWT = { 'content-type': 'application/secevent+jwt', authorization: 'Bearer of-the-transmitter' };

function endpointWith(answer: SignalAnswer) {
  const asked: unknown[] = [];
  const signals = {
    receive: async (...given: unknown[]) => {
      asked.push(given);
      return answer;
    },
  };
  return { ...openEndpoint({ signals }), asked };
}

it('a pushed SET goes to its transmitter with what it shows, and 202 has no body', async () => {
  const { app, asked } = endpointWith({ status: 202 });
  const incoming = { socket: { remoteAddress: '2001:db8:1:2:3:4:5:6' } };
  const answer = await app.request('/signals/idp', { method: 'POST', body: 'a.b.c', headers: JWT }, { incoming });
  expect([answer.status, await answer.text()]).toEqual([202, '']);
  const shown = { authorization: JWT.authorization, type: JWT['content-type'], address: '2001:db8:1:2' };
  expect(asked).toEqual([['idp', 'a.b.c', shown]]);
});

it('a refusal is JSON with its code, and what can be sent again is 503 without one', async () => {
  const refusal = { status: 400, err: 'invalid_issuer', description: 'no' } as const;
  const refused = await endpointWith(refusal).ask('POST', '/signals/idp', { scope: 'none', text: 'a', headers: JWT });
  expect([refused.status, refused.headers.get('content-type'), await refused.json()]).toEqual([
    ...[400, 'application/json', { err: 'invalid_issuer', description: 'no' }],
  ]);
  const later = await endpointWith({ status: 503, retryAfterS: 7 }).ask('POST', '/signals/idp', {
    scope: 'none',
    text: 'a',
    headers: JWT,
  });
  expect([later.status, later.headers.get('retry-after'), await later.text()]).toEqual([503, '7', '']);
});

it('a body of more than 64 KiB reaches nobody, and no other method is there', async () => {
  const { ask, asked } = endpointWith({ status: 202 });
  expect((await ask('POST', '/signals/idp', { scope: 'none', text: 'a'.repeat(65_537), headers: JWT })).status).toBe(
    413,
  );
  expect((await ask('GET', '/signals/idp', { scope: 'none' })).status).toBe(405);
  expect(asked).toEqual([]);
});
