// bench: a Management API of N generated devices, in a process of its own: what is measured is the reader. Its answers are bytes that
// it keeps once they were asked for, so that serving them costs little; a request of `/turn` lets 3 % of the devices change. argv: devices, users,
// events. Prints `READY <url> <key>`.
import { createServer, type ServerResponse } from 'node:http';
import { deviceTextAt, eventText, userText } from './fleet.ts';

const [devices = 1_000, users = Math.ceil(devices / 10), events = 1_000] = process.argv.slice(2).map(Number);
const startedMs = Date.now();
const EVENT_STEP_MS = 1_000;
const SEGMENT = 1_000;

/** A list in segments of bytes, each made when it is first asked for. */
class List {
  private segments: { bytes: Buffer; ends: number[] }[] = [];
  constructor(
    readonly length: number,
    private readonly text: (index: number) => string,
  ) {}

  forget(): void {
    this.segments = [];
  }

  /** The bytes of some elements, commas between them. */
  slice(from: number, to: number): Buffer[] {
    const parts: Buffer[] = [];
    for (let at = from; at < Math.min(to, this.length); ) {
      const end = Math.min(to, this.length, (Math.floor(at / SEGMENT) + 1) * SEGMENT);
      const { bytes, ends } = this.segment(Math.floor(at / SEGMENT));
      const begin = at % SEGMENT === 0 ? 0 : (ends[(at % SEGMENT) - 1] as number);
      const last = end === Math.min(to, this.length) ? 1 : 0;
      parts.push(bytes.subarray(begin, (ends[(end - 1) % SEGMENT] as number) - last));
      at = end;
    }
    return parts;
  }

  private segment(number: number): { bytes: Buffer; ends: number[] } {
    const known = this.segments[number];
    if (known) return known;
    const ends: number[] = [];
    let text = '';
    for (let index = number * SEGMENT; index < Math.min((number + 1) * SEGMENT, this.length); index += 1) {
      text += `${this.text(index)},`;
      ends.push(text.length);
    }
    const segment = { bytes: Buffer.from(text, 'latin1'), ends };
    this.segments[number] = segment;
    return segment;
  }
}

let turn = 0;
const lists = {
  devices: new List(devices, (index) => deviceTextAt(index, undefined, turn)),
  unpaged: new List(devices, (index) => deviceTextAt(index, users, turn)),
  endusers: new List(users, userText),
  events: new List(events, (index) => eventText(index, startedMs - (events - index) * EVENT_STEP_MS, devices)),
};

async function send(answer: ServerResponse, head: string, list: List, from: number, to: number, tail: string) {
  answer.writeHead(200, { 'content-type': 'application/json' });
  answer.write(head);
  for (let at = from; at < Math.min(to, list.length); at += SEGMENT) {
    const end = Math.min(at + SEGMENT, to, list.length);
    const parts = list.slice(at, end);
    if (end < Math.min(to, list.length)) parts.push(Buffer.from(','));
    for (const part of parts) {
      if (!answer.write(part)) await new Promise((resolve) => answer.once('drain', resolve));
      if (answer.destroyed) return;
    }
  }
  answer.end(tail);
}

const server = createServer((incoming, answer) => {
  const url = new URL(incoming.url ?? '/', 'http://bench');
  const query = (name: string) => url.searchParams.get(name) ?? url.searchParams.get(name.toLowerCase());
  const [skip, limit] = [Number(query('Skip') ?? 0), Number(query('Limit') ?? Number.POSITIVE_INFINITY)];
  const [, , , what, more] = url.pathname.split('/');
  if (url.pathname === '/turn') {
    turn += 1;
    lists.devices.forget();
    lists.unpaged.forget();
    return answer.end();
  }
  if (what === 'devices' && query('Limit') === null) return send(answer, '[', lists.unpaged, 0, devices, ']');
  if (what === 'devices' || what === 'endusers') {
    const list = lists[what];
    return send(answer, `{"${what}":[`, list, skip, skip + limit, `],"count":${list.length}}`);
  }
  const after = Number(query('after') ?? 0);
  const first = Math.max(0, Math.ceil((after - startedMs) / EVENT_STEP_MS) + events);
  if (what === 'events' && more === 'count') return answer.end(`{"data":${Math.max(0, events - first)}}`);
  if (what === 'events') {
    const from = Math.min(events, first + skip);
    return send(answer, '{"data":[', lists.events, from, Math.min(events, from + limit), ']}');
  }
  return answer.end('[]');
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`READY http://127.0.0.1:${port} key\n`);
});
process.on('disconnect', () => process.exit(0));
