// commands: the daemon as a separate process, and the commands that go through it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';
import { type Started, startTrustward, trustward } from '../../support/trustward.ts';

let org: Organization;
let env: Record<string, string>;

beforeAll(async () => {
  org = await startOrganization({ devices: 40, rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING } });
  await org.composition.close();
  const serviceId = org.console.fleet.addService('payroll', 'eu-1');
  for (let index = 0; index < 5; index += 1)
    org.console.fleet.addEvent({
      type: 'Access',
      subType: 'Resource',
      action: 'Unauthorized',
      severity: 'ERROR',
      serviceId,
    });
  env = { ...org.env, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' };
});
afterAll(() => org.close());

describe('a daemon', () => {
  let daemon: Started;
  let url: string;

  beforeAll(async () => {
    daemon = startTrustward(['serve'], env);
    await daemon.says('Ctrl-C ends it.');
    url = /HTTP endpoint\s+(\S+)/.exec(daemon.said().out)?.[1] as string;
  });
  afterAll(() => {
    daemon.child.kill('SIGKILL');
  });

  it('prints its address, the place of its token and the next steps, and never the token', () => {
    const token = readFileSync(`${org.dbFile}.token`, 'utf8').trim();
    const { out, err } = daemon.said();
    expect(out).toContain(`${org.dbFile}.token`);
    expect(out).toContain('trustward report');
    expect(out + err).not.toContain(token);
    expect(out + err).not.toContain(env.TRUSTWARD_API_KEY);
  });

  it('shows when its next run is, with the date when that is another day', () => {
    expect(daemon.said().out).toMatch(/Schedule +0 0 1 1 \* \(next run at \d{4}-\d\d-\d\d \d\d:\d\d:00 UTC\)/);
  });

  it('is the only one on its database: a second one is refused at once with the address of the first', async () => {
    const second = await trustward(['serve'], env);
    expect(second).toMatchObject({ code: 1, out: '' });
    expect(second.err).toBe(
      `trustward: database \`${org.dbFile}\` has an active writer (process ${daemon.child.pid}, ${url}): stop it first, or use another TRUSTWARD_DB\n`,
    );
  });

  it('serves a run: one JSON document on standard output, and exit code 3 while something waits', async () => {
    const ended = await trustward(['run', '--mode', 'enforce', '--format', 'json'], env);
    expect(ended).toMatchObject({ code: 3, err: '' });
    const report = JSON.parse(ended.out);
    expect(report.run).toMatchObject({ trigger: 'http', mode: 'enforce', status: 'completed' });
    expect(report.summary).toMatchObject({ hold: 1, act: 0 });
  });

  it('serves an approval, and its errors reach the command line', async () => {
    const missing = await trustward(['approve', 'nothing'], env);
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(missing.err).toBe(`trustward: the daemon at ${url} answered: there is no plan \`nothing\`\n`);
    const wrong = await trustward(['run', '--rule', 'nobody'], env);
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.err).toContain('there is no active rule `nobody`');
  });

  it('lets others read while it runs', async () => {
    const ended = await trustward(['audit', 'verify', '--format', 'json'], env);
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ended.out)).toMatchObject({ ok: true });
  });

  it('ends on SIGTERM with code 0, and leaves its database free', async () => {
    daemon.child.kill('SIGTERM');
    const { code, signal, err } = await daemon.ended;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(err).not.toMatch(/\n\s+at /);
    expect(existsSync(`${org.dbFile}.daemon.json`)).toBe(false);
    const after = await trustward(['run', '--mode', 'dry-run', '--format', 'json'], env);
    expect(after).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(after.out).run).toMatchObject({ trigger: 'command', mode: 'dry-run' });
  });
});

describe('without a daemon', () => {
  it('another process on a dead one’s port gets no request and no token', async () => {
    const asked: { url: string; token: boolean }[] = [];
    const stranger = createServer((request, response) => {
      asked.push({ url: request.url ?? '', token: request.headers.authorization !== undefined });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"x"}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    writeFileSync(`${org.dbFile}.daemon.json`, JSON.stringify({ pid: 1, url }));
    const ended = await trustward(['run', '--mode', 'enforce', '--format', 'md'], env);
    await new Promise((resolve) => stranger.close(resolve));
    expect(ended).toMatchObject({ code: 3, err: '' });
    expect(ended.out).toMatch(/^# /);
    expect(asked).toEqual([{ url: '/healthz', token: false }]);
  });

  it('an untrusted source gives exit code 3 in mode enforce, and 0 in a dry run', async () => {
    const only = ['--rule', 'ban-compromised-device', '--format', 'json'];
    // The rule affects devices, so the whole list is read: only this list shows the owners.
    org.console.faults?.set([
      { kind: 'garbage', match: { path: '/api/v1/devices' }, body: JSON.stringify([ONE_DEVICE]) },
    ]);
    const live = await trustward(['run', '--mode', 'enforce', ...only], env);
    const dry = await trustward(['run', '--mode', 'dry-run', ...only], env);
    org.console.faults?.clear();
    expect(JSON.parse(live.out).snapshot).toMatchObject({ trusted: false, reasons: [{ code: 'shrunk' }] });
    expect([live.code, dry.code]).toEqual([3, 0]);
  });
});

const ONE_DEVICE = { DeviceID: 'one', SerialNumber: 'S1', Emails: [], MdmData: { CompromisedStatus: 'FALSE' } };
