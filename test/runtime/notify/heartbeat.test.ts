// test: the heartbeat over real https: one request after each whole run, tried again, never waited for, its address shown nowhere.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock, Log } from '../../../src/domain/ports.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { type Destination, Heartbeat } from '../../../src/runtime/notify/settings.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../../support/receiver.ts';

const SECRET = 'canary-5f2c';
const never = new AbortController().signal;

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

function beating(more: Partial<Destination> = {}, clock: Clock = impatient()) {
  const lines: string[] = [];
  const write = (_: object, text: string) => void lines.push(text);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const url = new URL(`https://localhost:${receiver.port}/${SECRET}?token=${SECRET}`);
  const destination = { url, timeoutMs: 5_000, allowPrivate: true, ca: CERTIFICATE, ...more };
  return { heartbeat: new Heartbeat({ destination, clock, log }), lines };
}

/** Pauses take no time. */
function impatient(): Clock {
  return { ...systemClock, sleep: async (_ms, signal) => signal?.throwIfAborted() };
}

describe('a heartbeat', () => {
  it('is one GET to exactly the address', async () => {
    const { heartbeat, lines } = beating();
    heartbeat.beat();
    await heartbeat.end(never);
    expect(receiver.received).toMatchObject([{ method: 'GET', path: `/${SECRET}?token=${SECRET}`, body: '' }]);
    expect(heartbeat.state).toEqual({ acceptedAt: expect.any(Number), failingSince: undefined });
    expect(lines).toEqual([]);
  });

  it('that is not accepted is tried three times in all, and its failure is logged once without the address', async () => {
    receiver.answers.push(500, 302, 404);
    const { heartbeat, lines } = beating();
    heartbeat.beat();
    await heartbeat.end(never);
    expect(receiver.received.length).toBe(3);
    expect(lines).toEqual([`the heartbeat to localhost:${receiver.port} is not accepted: status 404`]);
    expect(heartbeat.state).toEqual({ acceptedAt: undefined, failingSince: expect.any(Number) });

    heartbeat.beat();
    await heartbeat.end(never);
    expect(lines[1]).toBe(`the heartbeat to localhost:${receiver.port} is accepted again`);
    expect(heartbeat.state.failingSince).toBeUndefined();
  });

  it('to a private address is not sent without the permission', async () => {
    const { heartbeat, lines } = beating({ allowPrivate: false });
    heartbeat.beat();
    await heartbeat.end(never);
    expect(receiver.received).toEqual([]);
    expect(lines.join()).toContain('not a public address');
    expect(lines.join()).not.toContain(SECRET);
  });

  it('gives way to the next one, and to the end of the process', async () => {
    receiver.answers.push('hang', 'hang');
    const { heartbeat } = beating({ timeoutMs: 60_000 });
    heartbeat.beat();
    await receiver.arrived(1);
    heartbeat.beat();
    await receiver.arrived(2);
    await heartbeat.end(AbortSignal.abort());
    expect(receiver.received.length).toBe(2);
  });
});

describe('the address of the heartbeat', () => {
  const REAL = { TRUSTWARD_API_URL: 'https://console.example', TRUSTWARD_API_KEY: 'key-0123' };
  const faultOf = (url: string, hosts: string): string => {
    try {
      readConfig({ ...REAL, TRUSTWARD_HEARTBEAT_URL: url, TRUSTWARD_WEBHOOK_HOSTS: hosts });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('follows the rules of webhooks, and no fault repeats more than its host', () => {
    expect(faultOf(`https://hc-ping.com/${SECRET}`, 'hc-ping.com')).toBe('');
    expect(faultOf(`http://hc-ping.com/${SECRET}`, 'hc-ping.com')).toContain('begins with https://');
    expect(faultOf(`https://other.example/${SECRET}`, 'hc-ping.com')).toContain('`other.example` is not among');
    expect(faultOf(`https://ops:${SECRET}@hc-ping.com/`, 'hc-ping.com')).toContain('user name or password');
    expect(faultOf(`https://127.0.0.1/${SECRET}`, '127.0.0.1')).toContain('not a public address');
    for (const url of [`http://hc-ping.com/${SECRET}`, `https://other.example/${SECRET}`, `nonsense ${SECRET}`])
      expect(faultOf(url, 'hc-ping.com')).not.toContain(SECRET);
  });
});

describe('a daemon', () => {
  let org: Organization;
  afterEach(() => org.close());

  it('sends one after its run, shows it at /readyz, and a receiver that hangs delays neither runs nor the end', async () => {
    org = await startOrganization({
      devices: 20,
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
    });
    const ca = join(org.dir, 'ca.pem');
    const url = join(org.dir, 'heartbeat-url');
    writeFileSync(ca, CERTIFICATE);
    writeFileSync(url, `https://localhost:${receiver.port}/${SECRET}\n`);
    Object.assign(org.env, {
      TRUSTWARD_HEARTBEAT_URL_FILE: url,
      TRUSTWARD_HEARTBEAT_CA: ca,
      TRUSTWARD_HEARTBEAT_PRIVATE: 'yes',
      TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
    });
    await org.restart();
    const daemon = await startDaemon(org.composition);
    await receiver.arrived(1);
    const { heartbeat } = org.composition;
    await heartbeat?.end(never);
    const text = await (await fetch(`${daemon.url}/readyz`)).text();
    expect(text).toMatch(/"name":"heartbeat","ok":true,"text":"last accepted 20/);
    expect(text).not.toContain(SECRET);

    receiver.answers.push('hang');
    heartbeat?.beat();
    await receiver.arrived(2);
    const { status } = await org.run('dry-run').then(({ run }) => run);
    expect(status).toBe('completed');
    await daemon.stop();
  });
});
