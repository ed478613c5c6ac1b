// bench: the Management APIs of many organizations in one process, each at a path of its own (`/o/NUMBER`). Their lists are bytes that were prepared
// and that all of them share: a fleet in which 3 % of the devices change between two pulls. What is an organization's own (a device that is
// compromised for some pulls, what was banned) is put in between. argv: organizations, devices, how often an event
// comes (ms). Prints `READY <url>`.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { deviceTextAt, eventText, serialOf } from '../cycle/fleet.ts';

/** Of one organization: how often it was asked for its devices, and each write in order. */
export interface SeenOfOne {
  pulls: number;
  writes: { serial: string; banned: string; atMs: number }[];
}

/** Asked by the parent: the number of the organization that answers nothing from now on (null: each answers), or what was seen. */
export type Asked = { hangs: number | null } | 'seen';
export interface Seen {
  organizations: SeenOfOne[];
  requests: number;
  cpuMs: number;
}

const [organizations = 1, devices = 1_000, eventEveryMs = 30_000] = process.argv.slice(2).map(Number);
/** A device is compromised in one pull of so many, for so many. */
const COMPROMISED_EVERY = 6;
const COMPROMISED_FOR = 3;
const startedMs = Date.now();

/** All devices after so many turns: their bytes, commas between them, and where each ends. */
interface Fleet {
  bytes: Buffer;
  ends: number[];
}
const fleets = new Map<number, Fleet>();

function fleetOf(turn: number): Fleet {
  const known = fleets.get(turn);
  if (known) return known;
  const texts = Array.from({ length: devices }, (_, index) => deviceTextAt(index, undefined, turn));
  let end = -1;
  const ends = texts.map((text) => {
    end += text.length + 1;
    return end;
  });
  const made = { bytes: Buffer.from(texts.join(','), 'latin1'), ends };
  fleets.set(turn, made);
  return made;
}

class Organization {
  readonly seen: SeenOfOne = { pulls: 0, writes: [] };
  private readonly banned = new Set<number>();

  constructor(private readonly number: number) {}

  /** The devices from..to of the present turn. */
  slice(from: number, to: number): Buffer[] {
    const { bytes, ends } = fleetOf(this.seen.pulls);
    const beginOf = (index: number) => (index === 0 ? 0 : (ends[index - 1] as number) + 1);
    const parts: Buffer[] = [];
    let begin = beginOf(from);
    for (const index of this.ownIn(from, to)) {
      parts.push(bytes.subarray(begin, beginOf(index)), Buffer.from(this.text(index)));
      begin = ends[index] as number;
    }
    parts.push(bytes.subarray(begin, ends[to - 1]));
    return parts;
  }

  text(index: number, users?: number): string {
    const text = deviceTextAt(index, users, this.seen.pulls).replace(
      '"Banned":"FALSE"',
      `"Banned":"${this.banned.has(index) ? 'TRUE' : 'FALSE'}"`,
    );
    return this.compromised() === index
      ? text.replace('"CompromisedStatus":"FALSE"', '"CompromisedStatus":"TRUE"')
      : text;
  }

  write(serial: string, isBanned: boolean): void {
    const index = indexOf(serial);
    if (index === undefined) return;
    if (isBanned) this.banned.add(index);
    else this.banned.delete(index);
    this.seen.writes.push({ serial, banned: isBanned ? 'TRUE' : 'FALSE', atMs: Date.now() });
  }

  /** Organizations take turns, so that each run of all of them has some to do. */
  private compromised(): number | undefined {
    const turn = this.seen.pulls + this.number;
    if (turn % COMPROMISED_EVERY >= COMPROMISED_FOR) return undefined;
    return (Math.floor(turn / COMPROMISED_EVERY) * 101 + this.number * 37) % devices;
  }

  private ownIn(from: number, to: number): number[] {
    const compromised = this.compromised();
    const own = new Set([...this.banned, ...(compromised === undefined ? [] : [compromised])]);
    return [...own].filter((index) => index >= from && index < to).sort((one, other) => one - other);
  }
}

const all = Array.from({ length: organizations }, (_, number) => new Organization(number));
let hangs: number | null = null;
let requests = 0;

function indexOf(serial: string): number | undefined {
  const index = Number.parseInt(serial.slice(1), 36);
  return index < devices && serialOf(index) === serial ? index : undefined;
}

function sendPage(answer: ServerResponse, organization: Organization, skip: number, limit: number): void {
  if (skip === 0) organization.seen.pulls += 1;
  const to = Math.min(devices, skip + limit);
  answer.write('{"devices":[');
  if (skip < to) for (const part of organization.slice(skip, to)) answer.write(part);
  answer.end(`],"count":${devices}}`);
}

/** One every half a minute, of which the first is as old as the process. */
function events(afterMs: number, skip: number, limit: number): { texts: string[]; count: number } {
  const last = Math.floor((Date.now() - startedMs) / eventEveryMs);
  const first = Math.max(0, Math.ceil((afterMs - startedMs) / eventEveryMs));
  const count = Math.max(0, last - first + 1);
  const texts = Array.from({ length: Math.max(0, Math.min(limit, count - skip)) }, (_, at) =>
    eventText(first + skip + at, startedMs + (first + skip + at) * eventEveryMs, devices),
  );
  return { texts, count };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of incoming) text += chunk;
  return text;
}

async function respond(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  requests += 1;
  const url = new URL(incoming.url ?? '/', 'http://bench');
  const [, , number, , , what, more] = url.pathname.split('/');
  const organization = all[Number(number)] as Organization;
  if (Number(number) === hangs) return;
  const query = (name: string) => url.searchParams.get(name) ?? url.searchParams.get(name.toLowerCase());
  const [skip, limit] = [Number(query('Skip') ?? 0), Number(query('Limit') ?? 10)];
  answer.setHeader('content-type', 'application/json');
  const serial = query('SerialNumber') ?? query('Serialnumber') ?? '';
  if (what === 'mdm') {
    const [first] = JSON.parse(await bodyOf(incoming)) as { Banned: string }[];
    organization.write(serial, first?.Banned === 'TRUE');
    answer.end('[{"Message":"Success"}]');
  } else if (what === 'devices' && query('Limit') !== null) sendPage(answer, organization, skip, limit);
  else if (what === 'devices') {
    const index = indexOf(serial);
    answer.end(`[${index === undefined ? '' : organization.text(index, devices)}]`);
  } else if (what === 'events') {
    const { texts, count } = events(Number(query('after') ?? 0), skip, limit);
    answer.end(more === 'count' ? `{"data":${count}}` : `{"data":[${texts.join(',')}]}`);
  } else answer.end('[]');
}

const server = createServer((incoming, answer) => {
  respond(incoming, answer).catch(() => answer.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`READY http://127.0.0.1:${port}\n`);
});

process.on('message', (asked: Asked) => {
  if (asked !== 'seen') {
    hangs = asked.hangs;
    return;
  }
  const { user, system } = process.cpuUsage();
  process.send?.({
    organizations: all.map(({ seen }) => seen),
    requests,
    cpuMs: (user + system) / 1_000,
  } satisfies Seen);
});
process.on('disconnect', () => process.exit(0));
