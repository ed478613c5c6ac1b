// test: addresses that reach a server only as bytes on a socket: no client sends them. In: an attacked endpoint. Out: which of them lead to another
// organization, or tell that it exists.
import type { Attacked } from '../../support/attacked.ts';
import { dial } from '../../support/raw-socket.ts';
import { ABSENT, inPath, OTHER, OWN } from './attacking.ts';

export async function attackAddresses(on: Attacked): Promise<{ faults: string[]; requests: number }> {
  const { admin } = on.of(OWN).tokens;
  const { host } = new URL(on.url);
  await on.untilStill();
  const before = await on.contents(OTHER);
  const faults: string[] = [];
  const heads = ADDRESSES.flatMap((path) => ['GET', 'POST'].map((method) => `${method} ${path} HTTP/1.1`));
  const told = async (line: string) => {
    const length = line.startsWith('POST') ? 'Content-Length: 2\r\n' : '';
    const body = length === '' ? '' : '{}';
    const head = `${line}\r\nHost: ${host}\r\nAuthorization: Bearer ${admin}\r\nConnection: close\r\n${length}\r\n${body}`;
    return (await receivedFrom(on.url, head)).replace(/^date: .*$/im, '');
  };
  for (const line of [...heads, ...LINES]) {
    const found = await told(inPath(line, OTHER));
    const expected = await told(inPath(line, ABSENT));
    if (found.replaceAll(OTHER, ABSENT) !== expected) faults.push(`${line}: ${found} is not ${expected}`);
    if (found.includes(on.of(OTHER).secret)) faults.push(`${line}: told the content`);
  }
  if ((await on.contents(OTHER)) !== before) faults.push('what the other organization has was changed');
  return { faults, requests: 2 * (heads.length + LINES.length) };
}

/** All that a server sends until it closes the connection. */
async function receivedFrom(url: string, request: string): Promise<string> {
  const socket = dial(url);
  socket.write(request);
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

const LINES = [
  'OPTIONS * HTTP/1.1',
  'CONNECT ORG:80 HTTP/1.1',
  'TRACE /api/orgs/ORG/runs HTTP/1.1',
  'PROPFIND /api/orgs/ORG/runs HTTP/1.1',
  'GET /api/orgs/ORG/runs HTTP/1.0',
  'GET /api/orgs/ORG/runs HTTP/1.1\r\nX-HTTP-Method-Override: POST',
  'GET /api/orgs/alpha/runs HTTP/1.1\r\nX-Original-URL: /api/orgs/ORG/runs',
];

// biome-ignore format: a list
const ADDRESSES = [
  '/api/orgs/alpha/../ORG/runs', '/api/orgs/alpha/%2e%2e/ORG/runs', '/api/orgs/alpha/%2E./ORG/runs', '/api/orgs/alpha/..%2fORG/runs',
  '/orgs/alpha/../ORG/api/runs', '/orgs/alpha/api/../../ORG/api/runs', '//api/orgs/ORG/runs', '/api//orgs/ORG/runs', '/api/orgs//ORG/runs',
  '/api/orgs/ORG//runs', '/api/orgs/ORG%2fruns', '/api/orgs/ORG%00/runs', '/api/orgs/alpha%00ORG/runs', '/api/orgs/alpha;ORG/runs',
  '/api/orgs/alpha\\..\\ORG/runs', '/api/orgs/ORG/runs#', '/api/orgs/ORG?x=/runs', '/API/ORGS/ORG/RUNS', '/api/orgs/./ORG/./runs',
  'http://localhost/api/orgs/ORG/runs', '/api/orgs/ENC/runs', '/orgs/ORG', '/orgs/ORG/', '/orgs/ORG/../alpha/../ORG/',
  // Names with odd letters.
  '/api/orgs/ORG./runs', '/api/orgs/ORG%20/runs', '/api/orgs/%20ORG/runs', '/api/orgs/ORG%0a/runs', '/api/orgs/ORG%0d%0aX:1/runs', '/api/orgs/ORG%09/runs',
  '/api/orgs/%2571uokka/runs', '/api/orgs/%u0071uokka/runs', '/api/orgs/%c0%afORG/runs', '/api/orgs/%ff%feORG/runs', '/api/orgs/ORG%/runs',
  '/api/orgs/%EF%BD%91uokka/runs', '/api/orgs/ORG%e2%80%8b/runs', '/api/orgs/ORG-/runs', '/api/orgs/-ORG/runs', '/api/orgs/*/runs', '/api/orgs/%2a/runs',
  '/api/orgs/ORG,alpha/runs', '/api/orgs/alpha,ORG/runs', '/api/orgs/alpha&ORG/runs', '/api/orgs/alpha|ORG/runs', "/api/orgs/ORG'--/runs",
  `/api/orgs/ORG${'a'.repeat(56)}/runs`, `/api/orgs/ORG${'a'.repeat(58)}/runs`, `/api/orgs/ORG${'a'.repeat(9_000)}/runs`, `/api/orgs/ORG/${'../'.repeat(2_000)}`,
  '/api/orgs/QUOKKA/runs', '/api/orgs/Quokka/runs', '/orgs/alpha/orgs/ORG/runs', '/api/orgs/alpha/orgs/ORG/runs', '/api/orgs/ORG/orgs/alpha/runs',
];
