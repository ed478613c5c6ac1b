// test console: no request crashes the server, random ones or ones made from its OpenAPI document; a hundred thousand each in the long tests.
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Organization, openOrganization } from '../support/console-organization.ts';
import { fuzz } from './fuzzing.ts';
import { fuzzDocument } from './openapi-fuzzing.ts';

describe('generated and mutated requests', () => {
  it('get an answer of the contract, or a refusal with a sentence and without an effect', () => fuzz(3_000, 1));
});

describe('bytes that are hardly HTTP', () => {
  let org: Organization;
  beforeEach(async () => {
    org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 } });
  });
  afterEach(() => org.console.close());

  const RAW = [
    'GET\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET /%zz%00 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET //evil.example/api/v1/devices HTTP/1.1\r\nHost: \r\n\r\n',
    'GET http://other.example/api/v1/devices HTTP/1.1\r\nHost: a b\r\n\r\n',
    'GET /api/v1/devices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \u00ff\u00fe\r\n\r\n',
    'POST /api/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{}',
    'POST /api/v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'POST /api/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    '\u0016\u0003\u0001\u0002\u0000',
    '',
  ];
  for (const raw of RAW) {
    it(`the server goes on after ${JSON.stringify(raw.slice(0, 60))}`, async () => {
      const { hostname, port } = new URL(org.console.address);
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => socket.end(Buffer.from(raw, 'latin1')));
        socket.on('error', () => resolve());
        socket.on('close', () => resolve());
        socket.resume();
      });
      expect((await fetch(`${org.console.address}/healthz`)).status).toBe(200);
    });
  }

  it('get 413 for a body beyond the limit, and nothing of it is kept', async () => {
    const answer = await org.call('POST', '/api/v1/events', `[${' '.repeat(5 * 1_048_576)}]`);
    expect(answer.status).toBe(413);
    expect(answer.json.Message).toMatch(/larger/);
  });
});

describe("requests made from the console's OpenAPI document", () => {
  it('requests made from the document get a status that it lists, a Message if refused, and never a 5xx', async () => {
    const { accepted, refused } = await fuzzDocument(3_000, 5);
    expect(accepted, 'requests that were taken').toBeGreaterThan(700);
    expect(refused, 'requests that were refused').toBeGreaterThan(700);
  }, 300_000);
});
