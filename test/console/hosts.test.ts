// test console: which hosts it serves: its own names alone, like the daemon's endpoint. In: requests within the process
// and over a socket. Out: tests.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ConsoleOptions } from '../../src/console/console.ts';
import { buildProgram } from '../../src/faces/cli/program.ts';
import { type Organization, openOrganization } from '../support/console-organization.ts';
import { exchange } from '../support/raw-socket.ts';

let org: Organization | undefined;
afterEach(async () => {
  await org?.console.close();
  org = undefined;
});

async function asked(host: string, path = '/api/v1/devices', options: Partial<ConsoleOptions> = {}) {
  await org?.console.close();
  org = await openOrganization({ faults: true, ...options });
  const headers = { host, Authorization: `Bearer ${org.apiKey}` };
  const response = await org.console.app.request(path, { headers });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

describe('a host', () => {
  it.each(['evil.example', 'evil.example:8081', '127.0.0.1.evil.example', '192.168.0.7'])(
    'that a stranger pointed at the console is refused, also with a credential: %s',
    async (host) => {
      const answer = await asked(host);
      expect(answer.status).toBe(421);
      expect(answer.json.Message).toContain('--allowed-hosts');
      for (const path of ['/healthz', '/openapi.json', '/faults', '/no-such'])
        expect((await asked(host, path)).status).toBe(421);
    },
  );

  it('that is none is refused', async () => {
    expect(await asked('a@b')).toEqual({ status: 400, json: { Message: 'the Host header is not a host' } });
  });

  it('is refused in the envelope where errors come in it', async () => {
    const { status, json } = await asked('evil.example', '/api/v2/devices');
    expect(status).toBe(421);
    expect(json).toMatchObject({ error_code: 421, error_description: expect.stringContaining('evil.example') });
  });

  it('that is ours is served', async () => {
    for (const host of ['localhost:8081', '127.0.0.1', '[::1]:8081']) expect((await asked(host)).status).toBe(200);
    expect((await asked('console.example', undefined, { allowedHosts: ['console.example'] })).status).toBe(200);
  });

  it('may be any address, but no name, when the console listens on all addresses', async () => {
    const listen = { host: '0.0.0.0', port: 0 };
    expect((await asked('172.17.0.2:8081', undefined, { listen })).status).toBe(200);
    expect((await asked('evil.example', undefined, { listen })).status).toBe(421);
  });

  it('of a whole URL counts as well as the header', async () => {
    org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 } });
    const bytes = 'GET http://evil.example/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';
    const [answer] = await exchange(org.console.address, bytes);
    expect(answer?.status).toBe(421);
  });
});

describe('--allowed-hosts', () => {
  it('names the hosts that the console serves besides its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'console-hosts-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    let out = '';
    const statuses: (number | undefined)[] = [];
    const run = buildProgram({
      env: {},
      out: (text) => {
        out += text;
      },
      err: () => undefined,
      untilStopped: async () => {
        const address = /^LISTENING=(.*)$/m.exec(out)?.[1] ?? '';
        for (const host of ['one.example', 'two.example:8081', 'evil.example']) {
          const answers = await exchange(
            address,
            `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
          );
          statuses.push(answers[0]?.status);
        }
      },
    });
    const hosts = ['--allowed-hosts', 'one.example, two.example'];
    await run(['console', '--listen', '127.0.0.1:0', '--db', join(folder, 'console.db'), ...hosts]);
    expect(statuses).toEqual([200, 200, 421]);
  });
});
