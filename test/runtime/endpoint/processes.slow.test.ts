// endpoint: two endpoints and a worker, each a process, on a real PostgreSQL: what one is told, all others know.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FIRST_KEY } from '../../../src/console/console.ts';
import { BAN_COMPROMISED } from '../../support/organization.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { trustward } from '../../support/trustward.ts';
import { type Installation, install, PROVIDER } from './installation.ts';

const UNDER_WAY = 'urn:trustward:problem:under-way';
/** Where what should come by itself, within seconds, is no longer waited for. */
const SOON_MS = 60_000;

describe.skipIf(hasNoPostgres)(`two endpoints and a worker${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let one: string;
  let other: string;

  beforeAll(async () => {
    on = await install(['alpha', 'beta']);
    await on.work();
    [one, other] = await Promise.all([on.serve(), on.serve()]);
  }, 120_000);
  afterAll(() => on?.close(), 60_000);

  async function ask(at: string, path: string, body?: object, token = PROVIDER, key?: string) {
    const answer = await fetch(`${at}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
    return { status: answer.status, json: (await answer.json()) as any };
  }

  async function soon(look: () => Promise<boolean>): Promise<boolean> {
    for (const until = Date.now() + SOON_MS; Date.now() < until; ) {
      if (await look()) return true;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
  }

  async function until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  const banned = (id: string) =>
    on.consoles[id]?.effects().filter(({ kind, via }) => kind === 'device_banned' && via !== 'hand').length;

  it('a run that is asked for at one is made by the worker, and seen at the other', async () => {
    const begun = await ask(one, '/api/orgs/alpha/runs', { mode: 'approve', wait: true });
    expect([begun.status, begun.json.status]).toEqual([200, 'completed']);
    const seen = await ask(other, begun.json.location);
    expect(seen.json).toMatchObject({ id: begun.json.id, trigger: 'http' });
    expect((await ask(other, `/api/orgs/beta/runs/${begun.json.id}`)).status).toBe(404);
  });

  it('requests with one key at both at once begin one run, and have one answer', async () => {
    const runs = async () => (await ask(one, '/api/orgs/beta/runs?limit=100')).json.runs.length;
    const before = await runs();
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) {
      const post = (at: string) => ask(at, '/api/orgs/beta/runs', { mode: 'dry-run', wait: true }, PROVIDER, key);
      const both = await Promise.all([post(one), post(other)]);
      const done = both.filter(({ status }) => status === 200);
      expect(both.filter(({ status, json }) => status !== 200 && json.type !== UNDER_WAY)).toEqual([]);
      for (const { json } of [...done, await post(one), await post(other)]) expect(json).toEqual(done[0]?.json);
    }
    expect((await runs()) - before).toBe(keys.length);
  });

  it('a plan that is approved at one is applied by the worker, and what was done is answered', async () => {
    const { plans } = (await ask(one, '/api/orgs/alpha/plans')).json;
    expect(plans).toHaveLength(1);
    const shown = await trustward(['plans', plans[0].id, '--org', 'alpha'], on.env);
    expect(shown.out).toContain(` approve --org alpha ${plans[0].id} --digest ${plans[0].digest.slice(0, 16)}\n`);
    const approved = await ask(other, `/api/orgs/alpha/plans/${plans[0].id}/approve`, { reason: 'a test' });
    expect(approved.status).toBe(200);
    expect(approved.json.applied.intents.length).toBeGreaterThan(0);
    expect(banned('alpha')).toBe(approved.json.applied.intents.length);
    expect(banned('beta')).toBe(0);
    expect((await ask(one, `/api/orgs/alpha/plans/${plans[0].id}`)).json.status).toBe('applied');
    const again = await ask(one, `/api/orgs/alpha/plans/${plans[0].id}/approve`, { reason: 'a test' });
    expect(again.status).toBe(409);
  });

  it('a stop at one counts for what the worker does next, whoever asks for it', async () => {
    expect((await ask(one, '/api/orgs/beta/stop', { reason: 'a test' })).status).toBe(200);
    on.write('beta', 'enforce');
    const run = await ask(other, '/api/orgs/beta/runs', { mode: 'enforce', wait: true });
    expect(run.json.status).toBe('completed');
    expect(banned('beta')).toBe(0);
    expect((await ask(other, '/api/orgs/beta/resume', { reason: 'a test' })).json.lifted.by).toBe('provider:admin');
    expect(await soon(async () => (await ask(one, '/api/orgs/beta/resume', { reason: 'again' })).status === 409)).toBe(
      true,
    );
  });

  it('a release that is asked for at one is made by the worker', async () => {
    const { claims } = (await ask(one, '/api/orgs/alpha/claims')).json;
    const { target } = claims[0];
    const released = await ask(other, `/api/orgs/alpha/claims/release`, { target, reason: 'a test' });
    expect(released.status).toBe(200);
    const undone = on.consoles.alpha?.effects().filter(({ kind, via }) => kind === 'device_unbanned' && via !== 'hand');
    expect(undone).toHaveLength(1);
  });

  it('a token that is revoked at one is refused at the other within seconds', async () => {
    const made = await ask(one, '/api/orgs/alpha/tokens', { name: 'ci', scope: 'read' });
    const { token } = made.json;
    const opens = async (at: string) => (await ask(at, '/api/orgs/alpha/runs', undefined, token)).status === 200;
    expect(await soon(() => opens(other))).toBe(true);
    expect((await ask(other, '/api/orgs/beta/runs', undefined, token)).status).toBe(401);
    expect((await ask(other, '/api/orgs/alpha/tokens/ci/revoke', {})).status).toBe(200);
    expect(await opens(other)).toBe(false);
    expect(await soon(async () => !(await opens(one)))).toBe(true);
  });

  it('a stream at one shows what a run that was asked for at the other does, as it is committed', async () => {
    const ended = new AbortController();
    const stream = await fetch(`${other}/api/orgs/alpha/stream`, {
      headers: { authorization: `Bearer ${PROVIDER}` },
      signal: AbortSignal.any([ended.signal, AbortSignal.timeout(SOON_MS)]),
    });
    await ask(one, '/api/orgs/alpha/runs', { mode: 'dry-run', wait: true });
    let text = '';
    for await (const piece of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString();
      if (text.includes('run.finished')) break;
    }
    expect(text).toContain('run.finished');
    ended.abort();
  });

  it('a token of all organizations is made and revoked on the command line, and counts everywhere within seconds', async () => {
    const made = await trustward(['tokens', 'add', 'help-desk', '--scope', 'read', '--all-organizations'], on.env);
    expect([made.code, made.err]).toEqual([0, expect.stringContaining('help-desk')]);
    const token = made.out.trim();
    const opens = async (at: string, id: string) =>
      (await ask(at, `/api/orgs/${id}/runs`, undefined, token)).status === 200;
    expect(await soon(() => opens(one, 'alpha'))).toBe(true);
    expect(await soon(() => opens(other, 'beta'))).toBe(true);
    const listed = await trustward(['tokens', 'list', '--all-organizations'], on.env);
    expect(listed.out).toContain('help-desk');
    expect((await trustward(['tokens', 'revoke', 'help-desk', '--all-organizations'], on.env)).code).toBe(0);
    expect(await soon(async () => !(await opens(one, 'alpha')) && !(await opens(other, 'beta')))).toBe(true);
  });

  it('an organization whose file has other rules, another credential and a lower mode is opened anew by all', async () => {
    mkdirSync(on.path('other-rules'));
    const rule = BAN_COMPROMISED.replace(/^id: .*$/m, 'id: of-the-other-folder');
    writeFileSync(on.path('other-rules/ban.yaml'), rule);
    writeFileSync(on.path('organizations/new.key'), `${on.consoles.beta?.issueApiKey('new', 'Admin')}\n`);
    on.write('beta', 'dry-run', { rules: 'other-rules', key: 'new.key' });
    for (const at of [one, other]) {
      await until(async () => {
        const { rules } = (await ask(at, '/api/orgs/beta/rules')).json;
        const { checks } = (await ask(at, '/orgs/beta/readyz')).json;
        const mode = checks.find(({ name }: { name: string }) => name === 'mode').text;
        return mode === 'dry-run' && rules.map(({ id }: { id: string }) => id).join() === 'of-the-other-folder';
      });
    }
    const run = () => ask(one, '/api/orgs/beta/runs', { mode: 'dry-run', wait: true });
    await until(async () => (await run()).json.run.rules.join() === 'of-the-other-folder');
    on.consoles.beta?.revokeApiKey(FIRST_KEY);
    expect((await run()).json).toMatchObject({ status: 'completed', run: { rules: ['of-the-other-folder'] } });
  });

  it('an organization whose file is removed answers nobody, and the others go on', async () => {
    rmSync(on.file('beta'));
    for (const at of [one, other]) await until(async () => (await ask(at, '/api/orgs/beta/runs')).status === 401);
    expect((await ask(one, '/api/orgs')).json.organizations.map(({ id }: { id: string }) => id)).toEqual(['alpha']);
    expect((await ask(other, '/api/orgs/alpha/runs')).status).toBe(200);
    on.write('beta');
    for (const at of [one, other]) await until(async () => (await ask(at, '/api/orgs/beta/runs')).status === 200);
  });

  it('names the lines of a broken file of an organization to a token of all organizations, and to nobody else', async () => {
    const good = readFileSync(on.file('beta'), 'utf8');
    writeFileSync(on.file('beta'), `${good}modus: x\n`);
    const files = async (headers: Record<string, string>) => {
      const { checks } = (await (await fetch(`${one}/readyz`, { headers })).json()) as {
        checks: { name: string; text: string }[];
      };
      return checks.find(({ name }) => name === 'organization files')?.text ?? '';
    };
    await until(async () => (await files({})).includes('the folder was refused'));
    expect(await files({ authorization: `Bearer ${PROVIDER}` })).toMatch(/1 problem: beta\.yaml:\d+\)/);
    expect(await files({})).not.toContain('beta');
    expect((await ask(one, '/api/orgs/beta/runs')).status).toBe(200);
    writeFileSync(on.file('beta'), good);
    await until(async () => (await files({})).includes('in force'));
  });

  it('is ready, and its metrics are for a token of all organizations', async () => {
    expect((await ask(one, '/readyz')).status).toBe(200);
    const metrics = await fetch(`${one}/metrics`, { headers: { authorization: `Bearer ${PROVIDER}` } });
    expect(await metrics.text()).toContain('trustward_organizations 2');
    expect((await ask(one, '/orgs/alpha/metrics')).status).toBe(404);
  });
});
