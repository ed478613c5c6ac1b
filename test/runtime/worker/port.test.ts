// test: the port of a worker, a process on a real PostgreSQL: its health names what it cannot work for, and its metrics count what it does.
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { trustward } from '../../support/trustward.ts';
import { type Installation, install } from '../endpoint/installation.ts';

interface Ready {
  status: string;
  checks: { name: string; ok: boolean; text: string }[];
}

describe.skipIf(hasNoPostgres)(`the port of a worker${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let url: string;

  beforeAll(async () => {
    // A machine that is busy takes no lease away, and a run that failed is followed by one that does not.
    on = await install(['alpha', 'beta'], { TRUSTWARD_LEASE: '60s', TRUSTWARD_SCHEDULE: '*/2 * * * * *' });
    const worker = await on.work('--listen', '127.0.0.1:0');
    url = /Health and metrics: (\S+)\. /.exec(worker.said().out)?.[1] as string;
  }, 300_000);
  afterAll(() => on?.close(), 60_000);

  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    return { code: answer.status, ...((await answer.json()) as Ready) };
  };
  const metrics = async () => (await fetch(`${url}/metrics`)).text();
  const value = (text: string, series: string) => {
    const line = text.split('\n').find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  const done = (id: string) => `trustward_jobs_total{organization="${id}",kind="run",result="done"}`;

  async function until<T>(look: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
    for (;;) {
      const found = await look();
      if (holds(found)) return found;
      await sleep(100);
    }
  }
  const check = (name: string, ok: boolean) =>
    until(ready, ({ checks }) => checks.some((one) => one.name === name && one.ok === ok));

  it('shows that it lives, that it is ready, and what it did, by organization', async () => {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const text = await until(metrics, (found) => ['alpha', 'beta'].every((id) => Number(value(found, done(id))) > 0));
    expect(value(text, 'trustward_leases_total{change="taken"}')).toBeGreaterThanOrEqual(2);
    expect(value(text, 'trustward_leases_total{change="lost"}')).toBeGreaterThanOrEqual(0);
    expect(value(text, 'trustward_job_lag_seconds_count{kind="run"}')).toBeGreaterThanOrEqual(2);
    expect(value(text, 'trustward_job_duration_seconds_count{kind="run"}')).toBeGreaterThanOrEqual(2);
    expect(value(text, 'trustward_organizations')).toBe(2);
    expect(value(text, 'trustward_store_up')).toBe(1);
    await until(metrics, (found) => !found.includes('trustward_organizations_failing{'));
    const { code, status, checks } = await until(ready, (found) => found.checks.every(({ ok }) => ok));
    expect([code, status]).toEqual([200, 'ready']);
    expect(checks.map(({ name }) => name)).toEqual(['database', 'fetching', 'under way', 'jobs', 'organizations']);
  });

  it('answers nothing else, and no host that is not its own', async () => {
    expect((await fetch(`${url}/api/runs`)).status).toBe(404);
    const asked = get(`${url}/metrics`, { headers: { host: 'console.example.com' } });
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(421);
  });

  it('names a file of an organization that has a mistake, and stays ready: the last good set is worked on', async () => {
    writeFileSync(on.file('beta'), 'id: beta\nname: The beta\n');
    const { code, checks } = await check('organizations', false);
    const text = await metrics();
    on.write('beta');
    expect(code).toBe(200);
    expect(checks.find(({ name }) => name === 'organizations')?.text).toContain('beta.yaml:1');
    expect(value(text, 'trustward_organizations_refused')).toBe(1);
    expect(value(text, 'trustward_organizations')).toBe(2);
    await check('organizations', true);
  });

  it('names an organization whose credential cannot be read, and stays ready: the others are worked on', async () => {
    rmSync(on.file('beta').replace(/\.yaml$/, '.key'));
    const isNamed = ({ checks }: Ready) =>
      checks.some(({ name, text }) => name === 'organization beta' && text.startsWith('a credential cannot be read'));
    const { code, checks } = await until(ready, isNamed);
    expect(code).toBe(200);
    expect(JSON.stringify(checks)).not.toContain('beta.key');
    const shown = await metrics();
    expect(value(shown, 'trustward_organizations_failing{organization="beta"}')).toBe(1);
    expect(value(shown, 'trustward_organization_problem{organization="beta",kind="credential"}')).toBe(1);
  });

  it('is refused at a port that another process uses, in one line that names the setting', async () => {
    const at = new URL(url).host;
    const { code, err } = await trustward(['worker'], { ...on.env, TRUSTWARD_WORKER_LISTEN: at });
    expect([code, err.trim().split('\n')]).toEqual([
      1,
      [expect.stringMatching(/cannot listen on .* another process uses it.*TRUSTWARD_WORKER_LISTEN/)],
    ]);
  });
});
