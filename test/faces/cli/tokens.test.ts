// commands: `tokens`: a token is shown once, is stored nowhere, and is valid and revoked at once, with a daemon and
// without one.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorHere, userHere } from '../../../src/faces/cli/daemon-client.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const TOKEN = /^tw_[\w-]{43}\n$/;
let org: Organization;
let daemon: Daemon | undefined;

beforeEach(async () => {
  org = await startOrganization({
    devices: 20,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

/** The bytes of all files of a folder together. */
function bytesOf(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

const audited = async (kind: string) =>
  (await org.composition.engine.store.audit({ kind, limit: 10 })).map(({ bytes }) => JSON.parse(bytes).body);

const ask = (path: string, token: string, body?: object) =>
  fetch(`${daemon?.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}` },
    body: body ? JSON.stringify(body) : null,
  });

describe('while a daemon runs', () => {
  beforeEach(async () => {
    daemon = await startDaemon(org.composition);
  });

  it('a token is valid at once, within its scope, and is refused from the next request on after it is revoked', async () => {
    const made = await command(['tokens', 'add', 'ci', '--scope', 'trigger', '--expires', '90d'], org.env);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(TOKEN) });
    const token = made.out.trim();
    expect(made.err).toContain('token `ci` of scope trigger, valid until ');
    expect(made.err).not.toContain(token);

    expect((await ask('/api/runs', token)).status).toBe(200);
    expect((await ask('/api/stop', token, { reason: 'x' })).status).toBe(403);
    expect((await ask('/api/tokens', token)).status).toBe(403);
    expect((await ask('/api/runs', token, { mode: 'dry-run', wait: true })).status).toBe(200);
    const started = await audited('run.started');
    expect(started.filter(({ trigger }) => trigger === 'http')).toMatchObject([{ by: 'ci' }]);
    expect(started.filter(({ trigger }) => trigger === 'schedule').every(({ by }) => by === undefined)).toBe(true);

    const revoked = await command(['tokens', 'revoke', 'ci'], org.env);
    expect(revoked).toMatchObject({ code: 0, out: 'token `ci` is revoked: it is refused from the next request on\n' });
    expect((await ask('/api/runs', token)).status).toBe(401);
    expect(await audited('token.added')).toMatchObject([
      { name: 'ci', scope: 'trigger', by: `${userHere()} (token admin)` },
    ]);
    expect(await audited('token.revoked')).toMatchObject([{ name: 'ci', by: `${userHere()} (token admin)` }]);
    expect(bytesOf(org.dir)).not.toContain(token);
  });

  it('the list shows when each token was last used, and leaves out ended ones by default', async () => {
    const token = (await command(['tokens', 'add', 'ana@example.com', '--scope', 'read'], org.env)).out.trim();
    await command(['tokens', 'add', 'idle', '--scope', 'admin'], org.env);
    await ask('/api/runs', token);
    const { tokens } = JSON.parse((await command(['tokens', 'list', '--format', 'json'], org.env)).out);
    expect(tokens).toMatchObject([
      { name: 'idle', scope: 'admin', usedAt: null },
      {
        name: 'ana@example.com',
        scope: 'read',
        usedAt: expect.stringMatching(/^\d{4}-/),
        createdBy: `${userHere()} (token admin)`,
      },
    ]);
    await command(['tokens', 'revoke', 'idle'], org.env);
    expect((await command(['tokens', 'list'], org.env)).out).not.toContain('idle');
    expect((await command(['tokens', 'list', '--all'], org.env)).out).toMatch(/idle.*revoked/);
  });

  it('a refusal has the daemon’s message and exit code', async () => {
    const wrong = await command(['tokens', 'add', 'ci', '--scope', 'all'], org.env);
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.err).toContain('scope');
    expect(await command(['tokens', 'revoke', 'nobody'], org.env)).toMatchObject({ code: 1, out: '' });
  });

  it('commands work with a token below admin, and name the missing scope', async () => {
    const token = (await command(['tokens', 'add', 'reader', '--scope', 'read'], org.env)).out.trim();
    const less = { ...org.env, TRUSTWARD_TOKEN: token };
    const stopped = await command(['stop', '--reason', 'x'], less);
    expect(stopped).toMatchObject({ code: 2, out: '' });
    expect(stopped.err).toContain('scope `approve` is needed, and the token `reader` has `read`');
  });
});

describe('without a daemon', () => {
  beforeEach(() => org.composition.close());

  it('a token is made and revoked under the writer’s lock, audited, and valid for the next daemon', async () => {
    const file = join(org.dir, 'ci.token');
    const made = await command(['tokens', 'add', 'ci', '--scope', 'read', '--out', file], org.env);
    expect(made).toMatchObject({ code: 0, out: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, 'utf8').trim();
    rmSync(file);
    expect(bytesOf(org.dir)).not.toContain(token);
    await org.restart();
    daemon = await startDaemon(org.composition);
    expect((await ask('/api/runs', token)).status).toBe(200);
    await daemon.stop();
    daemon = undefined;
    await org.composition.close();

    expect(await command(['tokens', 'revoke', 'ci'], org.env)).toMatchObject({ code: 0 });
    await org.restart();
    expect(await audited('token.added')).toMatchObject([{ name: 'ci', by: actorHere() }]);
    expect(await audited('token.revoked')).toMatchObject([{ name: 'ci', by: actorHere() }]);
    daemon = await startDaemon(org.composition);
    expect((await ask('/api/runs', token)).status).toBe(401);
  });
});
