// test: a daemon as a process of its own that is asked to end while everything around it hangs. In: what hangs. Out: how it ended.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { built } from '../../support/built.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { type Ended, type Started, startTrustward } from '../../support/trustward.ts';

const TOKEN = 'admin-token-0123456789';

export interface Ending extends Ended {
  /** From the signal to the end; for the long form alone. */
  tookMs: number;
}

export interface EndingDaemon {
  org: Organization;
  ask(path: string, body?: object): Promise<Response>;
  /** From now on, reading the rules folder never ends; resolves when it hangs. */
  hangRules(): Promise<void>;
  /** Clients that send half a request, read nothing of the answer, or nothing at all. */
  holdConnections(): Promise<void>;
  /** A webhook that accepts connections and never answers; resolves when a delivery hangs in it. */
  deliveryHangs: Promise<void>;
  /** SIGTERM, until it has ended. */
  end(): Promise<Ending>;
  close(): Promise<void>;
}

/** @param endWithinMs undefined: the program itself, with its own deadline. */
export async function startEndingDaemon(endWithinMs?: number): Promise<EndingDaemon> {
  const org = await startOrganization({ devices: 40, compromised: 2 });
  await org.composition.close();
  const sink = await startSink();
  const fifo = join(org.dir, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const webhooks = join(org.dir, 'webhooks.yaml');
  const url = `https://localhost:${(sink.server.address() as AddressInfo).port}/x`;
  writeFileSync(webhooks, `ops: { url: "${url}", secretEnv: OPS_SECRET, allowPrivate: true, timeout: 60s }\n`);
  const hangWhen = join(org.dir, 'hang');
  const started = startTrustward(
    ['serve'],
    {
      ...org.env,
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_TOKEN: TOKEN,
      TRUSTWARD_WEBHOOKS: webhooks,
      TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
      TRUSTWARD_ALERTS_TO: 'ops',
      TRUSTWARD_PROGRESS_TIMEOUT: '10m',
      OPS_SECRET: 'a secret of some length',
      NODE_OPTIONS: `--import ${built('test/runtime/daemon/hang-in-folder.mjs')}`,
      HANG_WHEN: hangWhen,
      HANG_IN: org.rulesDir,
      HANG_FIFO: fifo,
    },
    endWithinMs === undefined ? {} : { endWithinMs },
  );
  await started.says('Ctrl-C ends it.');
  const address = new URL(/HTTP endpoint\s+(\S+)/.exec(started.said().out)?.[1] as string);
  const held: Socket[] = [];
  const hanging: number[] = [];
  return {
    org,
    ask: (path, body) => ask(address, path, body),
    hangRules: async () => {
      writeFileSync(hangWhen, '');
      hanging.push(await readBy(fifo));
    },
    holdConnections: async () => void held.push(...(await holdOpen(address))),
    deliveryHangs: sink.reached,
    end: () => end(started),
    close: async () => {
      started.child.kill('SIGKILL');
      for (const socket of held) socket.destroy();
      for (const file of hanging) closeSync(file);
      await started.ended;
      await sink.close();
      await org.close();
    },
  };
}

/** Resolves once somebody reads the pipe, whose read goes on until the file that this returns is closed. */
async function readBy(fifo: string): Promise<number> {
  for (;;) {
    try {
      return openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      await systemClock.sleep(20);
    }
  }
}

async function end({ child, ended }: Started): Promise<Ending> {
  const sinceMs = systemClock.monotonicMs();
  child.kill('SIGTERM');
  return { ...(await ended), tookMs: systemClock.monotonicMs() - sinceMs };
}

function ask(address: URL, path: string, body?: object): Promise<Response> {
  return fetch(new URL(path, address), {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: body ? JSON.stringify(body) : null,
  });
}

async function holdOpen({ hostname, port }: URL): Promise<Socket[]> {
  const head = `Host: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  const sent = [
    '',
    'GET /api/runs HTTP/1.1\r\nHost:',
    `POST /api/runs HTTP/1.1\r\n${head}Content-Length: 100\r\n\r\n{"mode":`,
    `POST /api/runs HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\n`,
    `GET /api/audit?limit=1000 HTTP/1.1\r\n${head}\r\n`.repeat(50),
  ];
  return Promise.all(
    sent.map(async (text) => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.pause();
      await new Promise((resolve) => socket.write(text, resolve));
      return socket;
    }),
  );
}

async function startSink(): Promise<{ server: Server; reached: Promise<void>; close(): Promise<void> }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    resolve();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((closed) => server.close(() => closed()));
  };
  return { server, reached: promise, close };
}
