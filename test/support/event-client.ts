// support: a client of server-sent events on a real socket, and a clock that stands still until a test moves it.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { AppError } from '../../src/domain/errors.ts';
import type { Clock } from '../../src/domain/ports.ts';

export interface Seen {
  id: number | undefined;
  event: string | undefined;
  data: { [member: string]: unknown };
}

export interface EventClient {
  status: number;
  headers: IncomingMessage['headers'];
  /** Events with data, in order of arrival. */
  events: Seen[];
  /** The last position, also of lines that are no event. */
  last: number | undefined;
  /** All text so far. */
  text: string;
  /** Resolves when this holds; rejects when the stream ends before. */
  until(holds: (client: EventClient) => boolean): Promise<void>;
  ended: Promise<void>;
  pause(): void;
  resume(): void;
  cut(): void;
}

export interface EventClientOptions {
  /** Undefined: none is sent. */
  token: string | undefined;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
}

export function openStream(url: string, options: EventClientOptions): Promise<EventClient> {
  const { token, path = '/api/stream', method = 'GET', headers = {} } = options;
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, url),
      {
        method,
        agent: false,
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      },
      (answer) => resolve(reading(sent, answer)),
    );
    sent.on('error', reject);
    sent.end();
  });
}

function reading(sent: ClientRequest, answer: IncomingMessage): EventClient {
  const looks = new Set<() => void>();
  let rest = '';
  let isEnded = false;
  const client: EventClient = {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    events: [],
    last: undefined,
    text: '',
    until: (holds) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (holds(client)) resolve();
          else if (isEnded) reject(new Error(`the stream ended before: ${client.text.slice(-300)}`));
          else return;
          looks.delete(look);
        };
        looks.add(look);
        look();
      }),
    ended: new Promise((resolve) => answer.once('close', resolve)),
    pause: () => answer.pause(),
    resume: () => answer.resume(),
    cut: () => sent.destroy(),
  };
  answer.setEncoding('utf8');
  answer.on('data', (text: string) => {
    client.text += text;
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) take(client, block);
    for (const look of [...looks]) look();
  });
  answer.on('error', () => {});
  answer.once('close', () => {
    isEnded = true;
    for (const look of [...looks]) look();
  });
  return client;
}

function take(client: EventClient, block: string): void {
  const field = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const id = field('id');
  if (id !== undefined) client.last = Number(id);
  const data = field('data');
  if (data === undefined) return;
  const parsed = JSON.parse(data) as Seen['data'];
  client.events.push({ id: id === undefined ? undefined : Number(id), event: field('event'), data: parsed });
}

/** Time passes when a test says so, and only then. */
export function standingClock(startMs = 1_800_000_000_000): Clock & { advance(ms: number): Promise<void> } {
  let nowMs = startMs;
  const sleepers = new Set<{ atMs: number; wake: () => void }>();
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { atMs: nowMs + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => {
          sleepers.delete(sleeper);
          reject(new AppError('stopped', 'stopped while waiting'));
        });
      }),
    advance: async (ms) => {
      nowMs += ms;
      for (const sleeper of [...sleepers].filter(({ atMs }) => atMs <= nowMs)) {
        sleepers.delete(sleeper);
        sleeper.wake();
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
