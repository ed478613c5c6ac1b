// bench: a console of N devices behind a cache of its answers, in a process of its own: what is measured is the reader.
// argv: devices. Prints `READY <url> <api key>` once every page that a reader asks for can be cached.
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/system/clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const devices = Number(process.argv[2]);
const console = await startConsole({
  listen: { host: '127.0.0.1', port: 0 },
  dbFile: join(mkdtempSync(join(tmpdir(), 'trustward-bench-')), 'console.db'),
  seed: { seed: 1, devices, users: 1_000, services: 10, events: 100 },
  clock: systemClock,
  log: silent,
});
const cache = new Map<string, Buffer>();

const server = createServer(async (incoming, answer) => {
  const path = incoming.url ?? '/';
  let body = cache.get(path);
  if (!body) {
    const fetched = await request(console.address + path, {
      headers: { authorization: incoming.headers.authorization ?? '' },
    });
    body = Buffer.from(await fetched.body.arrayBuffer());
    cache.set(path, body);
  }
  answer.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  answer.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`READY http://127.0.0.1:${port} ${console.credentials?.apiKey}\n`);
});
process.on('disconnect', () => process.exit(0));
