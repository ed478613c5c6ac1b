// bench: an event log that grows, in a process of its own: what is measured is the reader. Pages are one block of bytes in which only ids,
// times and subjects are written anew. Message `{upTo}`: how many events there are from now on. Prints `READY <port>`.
import { createServer } from 'node:http';
import { stringifyExact } from '../../src/platform/contract/exact-json.ts';
import { sampleEvent } from '../../src/rules/facts/fact-list.ts';
import { FIRST_MS, SPACING_MS, SUBJECTS } from './setting.ts';

const PAGE = 1_000;
const ID = '00000000-0000-4000-8000-00000000e001';
const DEVICE = '00000000-0000-4000-8000-000000000001';
let upTo = 0;

/** One event as bytes, with its changing parts at known places, all of the same length. */
const text = stringifyExact(sampleEvent(FIRST_MS + 300_000))
  .replaceAll('"SAMPLE-1"', '"SN000000"')
  .replaceAll('user1@example.com', 'u000000@example.com')
  .replaceAll('192.0.2.1', '192.000.2.1');
const event = Buffer.from(`${text},`, 'latin1');
const page = Buffer.concat([Buffer.from('{"data":['), ...Array.from({ length: PAGE }, () => event)]);
const HEAD = '{"data":['.length;
const places = {
  id: text.indexOf(ID) + ID.length - 8,
  time: text.indexOf('"created_at":') + '"created_at":'.length,
  device: text.indexOf(DEVICE) + DEVICE.length - 6,
  serial: text.indexOf('"SN000000"') + 3,
  email: text.indexOf('u000000@') + 1,
  address: text.indexOf('192.000') + 4,
};

const digits = (value: number, count: number): string => String(value).padStart(count, '0');

function pageFrom(index: number, limit: number): Buffer {
  const count = Math.max(0, Math.min(limit, upTo - index));
  if (count === 0) return Buffer.from('{"data":[]}');
  for (let i = 0; i < count; i++) {
    const at = HEAD + i * event.length;
    const subject = digits(((index + i) * 7_919) % SUBJECTS, 6);
    page.write(digits(index + i, 8), at + places.id, 'latin1');
    page.write(String(FIRST_MS + (index + i) * SPACING_MS), at + places.time, 'latin1');
    page.write(subject, at + places.device, 'latin1');
    page.write(subject, at + places.serial, 'latin1');
    page.write(subject, at + places.email, 'latin1');
    page.write(digits((index + i) % 250, 3), at + places.address, 'latin1');
  }
  return Buffer.concat([page.subarray(0, HEAD + count * event.length - 1), Buffer.from(']}')]);
}

const server = createServer((incoming, answer) => {
  const url = new URL(incoming.url ?? '/', 'http://localhost');
  const number = (name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise);
  const from = Math.max(0, Math.ceil((number('after', FIRST_MS) - FIRST_MS) / SPACING_MS)) + number('skip', 0);
  const isCount = url.pathname.endsWith('/count');
  const body = isCount ? Buffer.from(`{"data":${Math.min(upTo, 10_001)}}`) : pageFrom(from, number('limit', PAGE));
  answer.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  answer.end(body);
});
process.on('message', (message: { upTo: number }) => {
  ({ upTo } = message);
  process.send?.('grown');
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
