// endpoint: rules, credentials and webhooks that cannot be read, in processes on a real PostgreSQL: whose work they end, what people can still do, who says it.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BAN_COMPROMISED } from '../../support/organization.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { type Installation, install, PROVIDER } from './installation.ts';

const SOON = { timeout: 60_000, interval: 100 };
const BROKEN = 'id: broken\n';

describe.skipIf(hasNoPostgres)(`files that cannot be read${NEEDS_POSTGRES}`, { timeout: 180_000 }, () => {
  let on: Installation;
  let at: string;

  beforeEach(async () => {
    on = await install(['alpha', 'beta']);
    mkdirSync(join(on.root, 'own'));
    writeFileSync(join(on.root, 'own/ban.yaml'), BAN_COMPROMISED);
    on.write('beta', 'approve', { rules: 'own' });
    on.write('alpha', 'approve', { key: './alpha.key' });
  }, 120_000);
  afterEach(() => on?.close(), 60_000);

  const broken = () => join(on.root, 'rules/broken.yaml');
  const key = () => join(on.root, 'organizations/alpha.key');

  async function ask(path: string, body?: object) {
    const answer = await fetch(`${at}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${PROVIDER}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(text, path).not.toContain(on.root);
    // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
    return { status: answer.status, text, json: (text.startsWith('{') ? JSON.parse(text) : {}) as any };
  }
  const run = async (id: string) => {
    const { status, json } = await ask(`/api/orgs/${id}/runs`, { mode: 'approve', wait: true });
    return [status, json.type ?? json.status];
  };
  const entries = async (kind: string) => (await ask(`/api/orgs/alpha/audit?kind=${kind}`)).json.entries;
  const problems = async () =>
    // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
    (await ask('/api/orgs')).json.organizations.map(({ id, ok, problem }: any) => [id, ok, problem]);

  it('leave the last good rules in force at the worker, and the audit has each change once', async () => {
    await on.work();
    at = await on.serve();
    expect(await run('alpha')).toEqual([200, 'completed']);
    const [before] = (await ask('/api/orgs/alpha/runs')).json.runs;
    writeFileSync(broken(), BROKEN);
    for (let count = 0; count < 2; count += 1) expect(await run('alpha')).toEqual([200, 'completed']);
    const [after] = (await ask('/api/orgs/alpha/runs')).json.runs;
    expect([after.ruleSetHash, after.rulesDir]).toEqual([before.ruleSetHash, 'rules']);
    for (const format of ['json', 'html', 'md', 'text'])
      expect((await ask(`/api/orgs/alpha/runs/${after.id}/report?format=${format}`)).status).toBe(200);
    expect(await entries('rules.rejected')).toHaveLength(1);
    const refusal = 'rules: the folder was refused (';
    await vi.waitFor(
      async () =>
        expect(await problems()).toEqual([
          ['alpha', false, expect.stringContaining(refusal)],
          ['beta', true, null],
        ]),
      SOON,
    );
    expect((await ask('/readyz')).text).toContain('organization alpha');
    expect((await ask('/metrics')).text).toContain(
      'trustward_organization_problem{organization="alpha",kind="rules"} 1',
    );
    rmSync(broken());
    for (let count = 0; count < 2; count += 1) expect(await run('alpha')).toEqual([200, 'completed']);
    expect(await entries('rules.loaded')).toHaveLength(1);
    await vi.waitFor(async () => expect(await problems()).toContainEqual(['alpha', true, null]), SOON);
  });

  it('keep a worker that began with broken rules from judging, and nobody from stopping and reading', async () => {
    writeFileSync(broken(), BROKEN);
    const worker = await on.work();
    at = await on.serve();
    expect(await run('alpha')).toEqual([409, 'urn:trustward:problem:rules']);
    expect(await run('beta')).toEqual([200, 'completed']);
    expect(worker.said().err).toContain('rules were refused, there is no good set yet: broken.yaml:1:1');
    expect(await entries('rules.rejected')).toHaveLength(1);
    const reason = { reason: 'a test' };
    expect((await ask('/api/orgs/alpha/stop', reason)).status).toBe(200);
    expect((await ask('/api/orgs/alpha/resume', reason)).status).toBe(200);
    const exemption = {
      subject: { kind: 'device', id: 'unseen' },
      unseen: true,
      owner: 'ana',
      until: '30d',
      ...reason,
    };
    expect((await ask('/api/orgs/alpha/exemptions', exemption)).json.detail).toBeUndefined();
    for (const path of ['runs', 'plans', 'claims', 'audit', 'exemptions', 'summary'])
      expect([path, (await ask(`/api/orgs/alpha/${path}`)).status]).toEqual([path, 200]);
    const rules = await ask('/api/orgs/alpha/rules');
    expect([rules.status, rules.json.detail]).toEqual([409, expect.stringContaining('broken.yaml:1:1')]);
    expect((await ask('/orgs/alpha/readyz')).json.checks).toContainEqual(
      expect.objectContaining({
        name: 'rules',
        ok: false,
        text: expect.stringContaining('each worker goes on with the last good set'),
      }),
    );
    rmSync(broken());
    expect(await run('alpha')).toEqual([200, 'completed']);
    await vi.waitFor(async () => expect((await ask('/api/orgs/alpha/rules')).json.total).toBe(1), SOON);
  });

  it('of webhooks keep nobody from stopping and reading, are named, and are used again once they are mended', async () => {
    const [hooks, secret] = [join(on.root, 'hooks.yaml'), join(on.root, 'hook.secret')];
    const good = `ops: { url: 'https://hooks.example/x', secretFile: '${secret}' }\n`;
    writeFileSync(secret, 'a-secret-of-the-webhook');
    writeFileSync(hooks, good);
    const others = 'webhooks: ../hooks.yaml\nwebhook_hosts: [hooks.example]\nalerts: { to: [ops] }\n';
    on.write('alpha', 'approve', { key: './alpha.key', others });
    at = await on.serve();
    writeFileSync(hooks, 'ops: [\n');
    for (const path of ['runs', 'plans', 'audit', 'summary', 'rules'])
      expect([path, (await ask(`/api/orgs/alpha/${path}`)).status]).toEqual([path, 200]);
    expect((await ask('/api/orgs/alpha/stop', { reason: 'a test' })).status).toBe(200);
    expect((await ask('/api/orgs/alpha/resume', { reason: 'a test' })).status).toBe(200);
    const named = ['alpha', false, expect.stringContaining('its webhooks cannot be used')];
    await vi.waitFor(async () => expect(await problems()).toEqual([named, ['beta', true, null]]), SOON);
    expect((await ask('/readyz')).text).toContain('organization alpha');
    expect((await ask('/metrics')).text).toContain(
      'trustward_organization_problem{organization="alpha",kind="webhooks"} 1',
    );
    writeFileSync(hooks, good);
    await vi.waitFor(async () => expect(await problems()).toContainEqual(['alpha', true, null]), SOON);
    // What people do is alerted through them again.
    const alerted = async () => {
      await ask('/api/orgs/alpha/stop', { reason: 'a test' });
      const { notifications } = (await ask('/api/orgs/alpha/notifications')).json;
      return notifications.length;
    };
    await vi.waitFor(async () => expect(await alerted()).toBeGreaterThan(0), SOON);
  });

  it('of a credential keep only the API from being asked, until it is there', async () => {
    const worker = await on.work();
    at = await on.serve();
    expect(await run('alpha')).toEqual([200, 'completed']);
    const [device] = (await ask('/api/orgs/alpha/decisions')).json.decisions;
    renameSync(key(), `${key()}.moved`);
    at = await on.serve();
    expect((await ask('/api/orgs/alpha/stop', { reason: 'a test' })).status).toBe(200);
    expect((await ask('/api/orgs/alpha/resume', { reason: 'a test' })).status).toBe(200);
    expect((await ask('/api/orgs/alpha/runs')).json.runs.length).toBeGreaterThan(0);
    const explain = () => ask('/api/orgs/alpha/rules/ban-compromised-device/explain', { subject: device.subject.id });
    const unread = await explain();
    expect([unread.status, unread.json.detail]).toEqual([502, expect.stringContaining('cannot be read')]);
    expect(await run('alpha')).toEqual([500, 'urn:trustward:problem:configuration']);
    expect(worker.said().err).toContain(`\`${key()}\` cannot be read (ENOENT)`);
    const { json } = await ask('/orgs/alpha/readyz');
    expect(json.checks).toContainEqual({
      name: 'credential',
      ok: false,
      text: 'it cannot be read, so workers do nothing here; `trustward organizations check` names the file',
    });
    expect(await problems()).toEqual([
      ['alpha', false, expect.stringContaining('a credential cannot be read')],
      ['beta', true, null],
    ]);
    expect((await ask('/metrics')).text).toContain(
      'trustward_organization_problem{organization="alpha",kind="credential"} 1',
    );
    renameSync(`${key()}.moved`, key());
    await vi.waitFor(async () => expect((await explain()).status).toBe(200), SOON);
    expect(await run('alpha')).toEqual([200, 'completed']);
  });
});
