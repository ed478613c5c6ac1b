// test: the daemon over loopback HTTP: readiness, rules that change, runs that fail, and its end.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

const NEVER = '0 0 1 1 *';

let org: Organization;
let daemon: Daemon;

async function start(env: Record<string, string> = {}): Promise<void> {
  org = await startOrganization({
    devices: 40,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: NEVER, ...env },
  });
  daemon = await startDaemon(org.composition);
}

/** A daemon begins with a run; what a test arranges comes after it. */
async function startAndRun(): Promise<void> {
  await start();
  await until(async () => (await ready('last run')).text === 'run 1 completed');
}
afterEach(async () => {
  await daemon.stop();
  await org.close();
});

async function ask(path: string, body?: object): Promise<{ status: number; json: unknown }> {
  const token = readFileSync(daemon.tokenPlace, 'utf8').trim();
  const answer = await fetch(`${daemon.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body ? JSON.stringify(body) : null,
  });
  return { status: answer.status, json: await answer.json() };
}

interface Ready {
  status: string;
  checks: { name: string; ok: boolean; text: string }[];
}

async function ready(name: string): Promise<{ ok: boolean; text: string; status: number; said: string }> {
  const { status, json } = await ask('/readyz');
  const { checks, status: said } = json as Ready;
  const found = checks.find((check) => check.name === name);
  if (!found) throw new Error(`no check is called ${name}`);
  return { ...found, status, said };
}

/** Polls for something that happens by itself; the test's own time limit bounds it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(20);
}

const auditOf = (kind: string) => org.composition.engine.store.audit({ kind, limit: 10 });
const bodyOf = (entry: { bytes: string } | undefined) => JSON.parse(entry?.bytes ?? '{}').body;

describe('a daemon whose rules change', () => {
  beforeEach(startAndRun);

  it('takes a good set, refuses a bad one and reports it at /readyz, and audits each once', async () => {
    expect(await ready('rules')).toMatchObject({ ok: true, text: '1 rule', status: 200 });
    writeFileSync(`${org.rulesDir}/service.yaml`, DISABLE_FAILING);
    await until(async () => (await auditOf('rules.loaded')).length === 1);
    expect(await ready('rules')).toMatchObject({ ok: true, text: '2 rules' });

    writeFileSync(`${org.rulesDir}/service.yaml`, DISABLE_FAILING.replace('disable_service', 'ban_device'));
    await until(async () => (await auditOf('rules.rejected')).length === 1);
    expect(bodyOf((await auditOf('rules.rejected'))[0]).refused).toMatch(/^service\.yaml:\d+:\d+: /);
    expect(await ready('rules')).toMatchObject({ ok: false, status: 503, said: 'not ready' });
    expect((await ready('rules')).text).toBe(
      'the folder was refused (1 problem: service.yaml:8); the last good set of 2 rules stays active; `trustward rules check`, the log and the audit (`rules.rejected`) have the details',
    );
    const { json } = await ask('/api/runs', { mode: 'dry-run', wait: true });
    expect(json).toMatchObject({
      status: 'completed',
      run: { rules: ['ban-compromised-device', 'disable-failing-service'] },
    });

    rmSync(`${org.rulesDir}/service.yaml`);
    await until(async () => (await auditOf('rules.loaded')).length === 2);
    expect(await ready('rules')).toMatchObject({ ok: true, text: '1 rule', status: 200 });
  });
});

describe('a rules folder that was refused', () => {
  beforeEach(startAndRun);

  it('is reported at /readyz by its first five places, without any content of the files', async () => {
    const bad = (name: string) =>
      `id: ${name}\nowner: ana.ruiz@example.com\nwhen: { "==": [{ var: Secret-Field }, 1] }\n`;
    for (let index = 1; index <= 7; index += 1) writeFileSync(`${org.rulesDir}/bad${index}.yaml`, bad(`bad-${index}`));
    await until(
      async () => (await ready('rules')).text.includes('bad7') || (await ready('rules')).text.includes('more'),
    );
    const { text } = await ready('rules');
    expect(text).toMatch(
      /^the folder was refused \(\d+ problems: (bad\d\.yaml:\d+, ){4}bad\d\.yaml:\d+ and \d+ more\);/,
    );
    expect(text).not.toMatch(/ana\.ruiz|Secret-Field/);
    expect(text).not.toContain(org.rulesDir);
  });

  it('for a pipe that nobody writes to is reported at once, and does not keep the daemon from ending', async () => {
    execFileSync('sh', ['-c', 'mkfifo pipe.yaml'], { cwd: org.rulesDir });
    await until(async () => (await auditOf('rules.rejected')).length === 1);
    expect((await ready('rules')).text).toMatch(/^the folder was refused \(1 problem: pipe\.yaml:1\);/);
    expect(org.composition.rules.active().rules).toHaveLength(1);
    await daemon.stop();
  });

  it('that is missing is reported without its path', async () => {
    rmSync(org.rulesDir, { recursive: true });
    await until(async () => !(await ready('rules')).ok);
    expect((await ready('rules')).text).toMatch(/^the folder was refused \(1 problem\);/);
  });
});

describe('a daemon whose runs fail', () => {
  it('reports it at /readyz, and the next scheduled run follows', async () => {
    await start({ TRUSTWARD_SCHEDULE: '* * * * * *' });
    org.console.faults?.set([{ kind: 'unauthorized', match: { path: '/api/v1/devices' } }]);
    await until(async () => !(await ready('last run')).ok);
    expect(await ready('last run')).toMatchObject({ status: 503, said: 'not ready' });
    expect((await ready('last run')).text).toContain('/api/v1/devices');
    org.console.faults?.clear();
    await until(async () => (await ready('last run')).ok);
    const runs = await org.composition.engine.store.runs(100);
    expect(runs.some(({ status, error }) => status === 'aborted' && error !== undefined)).toBe(true);
    expect(runs[0]?.trigger).toBe('schedule');
  });

  it('is not ready when a run cannot even be recorded', async () => {
    await startAndRun();
    const { store } = org.composition.engine;
    const begin = store.beginRun;
    store.beginRun = () => Promise.reject(new Error('the disk is full'));
    expect((await ask('/api/runs', { mode: 'dry-run', wait: true })).status).toBe(500);
    expect(await ready('last run')).toMatchObject({ ok: false, status: 503 });
    store.beginRun = begin;
    await ask('/api/runs', { mode: 'dry-run', wait: true });
    expect(await ready('last run')).toMatchObject({ ok: true, text: 'run 2 completed' });
  });

  it('stays ready after a request for an unknown rule', async () => {
    await startAndRun();
    expect((await ask('/api/runs', { mode: 'dry-run', rules: ['nobody'], wait: true })).status).toBe(400);
    expect(await ready('last run')).toMatchObject({ ok: true, text: 'run 1 completed' });
  });
});

describe('a daemon that watches', () => {
  it('looks at the event log again and again, shows that at /readyz, and ends while it waits', async () => {
    await start({ TRUSTWARD_WATCH: '1s' });
    await until(async () => / ([2-9]|\d\d) readings/.test((await ready('watch')).text));
    expect((await ready('watch')).text).toMatch(/every 1s; last read 20\d\d-/);
  });

  it('acts before the next scheduled run on what an event names, and reports no more than that', async () => {
    await start({ TRUSTWARD_WATCH: '1s', TRUSTWARD_MODE: 'enforce' });
    await until(async () => (await ready('last run')).text === 'run 1 completed');
    const { fleet } = org.console;
    const id = fleet.addDevice({}, ['owner@example.com']);
    const createdAtMs = systemClock.nowMs();
    fleet.patchDevice(id, { mdm_compromised: 'TRUE', mdm_timestamp: BigInt(createdAtMs) * 1_000_000n });
    const event = { type: 'TrustScoring', subType: 'Device', action: 'TrustScoreCalculate', severity: 'WARN' } as const;
    fleet.addEvent({ ...event, deviceId: id, createdAtMs });
    await until(async () => / 1 run(,|$)/.test((await ready('watch')).text));
    const { json } = await ask('/api/runs/latest/report');
    expect(json).toMatchObject({
      sentence: expect.stringMatching(/^Acted to ban 1 device/),
      run: { trigger: 'watch', scoped: true, mode: 'enforce', status: 'completed' },
      changes: { since: null, new: 1, still: 0 },
      snapshot: { sources: { devices: { form: 'single', count: 1 } } },
      decisions: [{ decision: 'act', outcome: 'succeeded', subject: { id } }],
      trend: [],
    });
    expect((await ready('last run')).text).toBe('run 1 completed');
  });
});

describe('a daemon that is stopped', () => {
  it('ends a run that is under way, refuses new requests, and frees its port', async () => {
    await startAndRun();
    org.console.faults?.set([{ kind: 'latency', match: { path: '/api/v1/devices' }, ms: 300 }]);
    const asked = ask('/api/runs', { mode: 'dry-run', wait: true }).catch(() => undefined);
    await until(async () => (await org.composition.engine.store.latestRun())?.status === 'running');
    await daemon.stop();
    expect((await org.composition.engine.store.latestRun())?.status).not.toBe('running');
    await asked;
    await expect(fetch(`${daemon.url}/healthz`)).rejects.toThrow();
  });
});
