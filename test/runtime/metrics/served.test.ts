// test: the metrics of a daemon that runs, over loopback: who may read them, what they show, and what they never show.
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/base/time.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { listenForMetrics } from '../../../src/faces/http/listen.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BAN_COMPROMISED, silentLog } from '../../support/organization.ts';
import { CERTIFICATE, startReceiver } from '../../support/receiver.ts';
import { type Measured, type Scrape, startMeasured, statusFor } from './daemon-metrics.ts';

/** Reads a record that has secrets. */
const DISABLE_OPEN = `
id: disable-open-service
title: Disable services that let everybody in
severity: high
subject: service
when: { "!=": [{ var: $spec.metadata.name }, "nobody"] }
then: disable_service
mode: approve
tests:
  - { name: open, given: { ServiceSpec: '{"metadata":{"name":"open"}}' }, expect: match }
`;

let on: Measured;
afterEach(() => on.close());

const hasRun = (scrape: Scrape) =>
  scrape.seriesOf('trustward_runs_total').length > 0 &&
  scrape.value('trustward_run_started_timestamp_seconds') === undefined;
const token = () => readFileSync(on.daemon.tokenPlace, 'utf8').trim();

describe('the metrics', () => {
  it('are read with a token at the endpoint, and without one at a listener that has nothing else', async () => {
    on = await startMeasured();
    const { url, metricsUrl } = on.daemon;
    const asked = async (at: string, headers: Record<string, string> = {}, method = 'GET') =>
      (await fetch(at, { method, headers })).status;
    expect(await asked(`${url}/metrics`)).toBe(401);
    expect(await asked(`${url}/metrics`, { authorization: 'Bearer unknown-token-0123456789' })).toBe(401);
    expect(await asked(`${url}/metrics`, { authorization: `Bearer ${token()}` })).toBe(200);
    expect(await asked(`${metricsUrl}/metrics`)).toBe(200);
    expect(await asked(`${metricsUrl}/metrics`, {}, 'HEAD')).toBe(200);
    expect(await asked(`${metricsUrl}/metrics`, {}, 'POST')).toBe(405);
    for (const path of ['/', '/api/runs', '/healthz', '/sign-in', '/metrics/x', '/api/stop'])
      expect(await asked(`${metricsUrl}${path}`, { authorization: `Bearer ${token()}` }), path).toBe(404);
    expect(await statusFor(`${metricsUrl}/metrics`, 'GET', { host: 'stranger.example' })).toBe(421);
    expect(await statusFor(`${metricsUrl}/metrics`, 'GET', { host: 'not a host' })).toBe(400);
  });

  it('have no listener of their own unless one is configured', async () => {
    on = await startMeasured({ env: { TRUSTWARD_METRICS_LISTEN: '' } });
    expect(on.daemon.metricsUrl).toBeUndefined();
  });

  it('keep the daemon from starting where their address is wrong or taken, and the message names the setting', async () => {
    on = await startMeasured();
    const faulty = () => readConfig({ ...on.org.env, TRUSTWARD_METRICS_LISTEN: 'everywhere' });
    expect(faulty).toThrow('TRUSTWARD_METRICS_LISTEN is `everywhere`: expected host:port such as 127.0.0.1:9464');
    const port = Number(new URL(on.daemon.metricsUrl as string).port);
    const metrics = { contentType: 'text/plain', text: async () => '', answered: () => {}, streams: () => {} };
    const deps = { metrics, log: silentLog, hosts: { listenHost: '127.0.0.1', allowed: [] } };
    await expect(listenForMetrics(deps, { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'port_busy',
      message: expect.stringMatching(/^the listener of the metrics cannot listen on .* set TRUSTWARD_METRICS_LISTEN/),
    });
  });

  it('count what a run read, decided and did, and how long each stage took', async () => {
    on = await startMeasured();
    const scrape = await on.until(hasRun);
    const rule = 'rule="ban-compromised-device"';
    expect(scrape.value('trustward_runs_total{mode="enforce",trigger="schedule",status="completed"}')).toBe(1);
    expect(scrape.value(`trustward_decisions_total{${rule},decision="act",reason="rule_matches"}`)).toBe(2);
    expect(scrape.value('trustward_attempts_total{action="ban_device"}')).toBe(2);
    expect(scrape.value('trustward_outcomes_total{action="ban_device",outcome="succeeded"}')).toBe(2);
    expect(scrape.value('trustward_api_requests_total{operation="update_device",answer="200"}')).toBe(2);
    expect(scrape.value('trustward_api_request_duration_seconds_count{operation="update_device"}')).toBe(2);
    expect(scrape.value('trustward_run_duration_seconds_count{trigger="schedule"}')).toBe(1);
    for (const stage of [
      'starting',
      'reading',
      'deciding',
      'recording',
      'acting',
      'settling_doubts',
      'sealing_the_audit',
    ])
      expect(scrape.value(`trustward_run_stage_duration_seconds_count{stage="${stage}"}`), stage).toBe(1);
    const stored = await on.until((one) => one.value(`trustward_rule_subjects{${rule},verdict="match"}`) === 2);
    expect(stored.value(`trustward_rule_subjects{${rule},verdict="no_match"}`)).toBe(58);
    expect(stored.value('trustward_claims{status="standing"}')).toBe(2);
    expect(stored.value('trustward_source_records{source="devices"}')).toBe(60);
    expect(stored.value('trustward_source_trusted{source="devices"}')).toBe(1);
    expect(stored.value('trustward_mode{mode="enforce"}')).toBe(1);
    expect(stored.value('trustward_mode_lowered')).toBe(0);
    expect(stored.value('trustward_last_run_failed')).toBe(0);
    expect(stored.value('trustward_store_up')).toBe(1);
    expect(stored.value('trustward_database_bytes{file="log"}')).toBeGreaterThan(100_000);
  });

  it('show when the change window in force ends, and nothing without one', async () => {
    const dayOf = (days: number) => isoTime(systemClock.nowMs() + days * 86_400_000).slice(0, 10);
    on = await startMeasured({ env: { TRUSTWARD_FREEZE: `${dayOf(-1)} 00:00-${dayOf(2)} 00:00` } });
    const until = Date.parse(dayOf(2)) / 1_000;
    const end = 'trustward_change_window_end_timestamp_seconds';
    const scrape = await on.until(hasRun);
    expect(scrape.value(end)).toBe(until);
    expect(scrape.value('trustward_attempts_total{action="ban_device"}')).toBeUndefined();
    await on.close();
    on = await startMeasured({});
    expect((await on.until(hasRun)).value(end)).toBeUndefined();
  });

  it('show how long after an event a look acted on it', async () => {
    on = await startMeasured({ compromised: 0, env: { TRUSTWARD_WATCH: '1s' } });
    await on.until((scrape) => hasRun(scrape) && (scrape.value('trustward_watch_looks_total{result="done"}') ?? 0) > 0);
    const { fleet } = on.org.console;
    const deviceId = fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
    fleet.addEvent({ type: 'TrustScoring', subType: 'TrustScore', action: 'update', severity: 'INFO', deviceId });
    const scrape = await on.until((one) => one.value('trustward_watch_runs_total{kind="look"}') === 1);
    expect(scrape.value('trustward_attempts_total{action="ban_device"}')).toBe(1);
    expect(scrape.value('trustward_event_to_act_seconds_count')).toBe(1);
    expect(scrape.value('trustward_event_to_act_seconds_sum')).toBeLessThan(60);
    expect(scrape.value('trustward_watch_events_total')).toBeGreaterThan(0);
  });

  it('show after a restart what the database knows, while counters begin at nothing', async () => {
    on = await startMeasured({ rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve') } });
    await on.until((scrape) => hasRun(scrape) && scrape.value('trustward_plans{state="pending"}') === 1);
    await stopEverything(on.org.composition.engine, { by: 'ana', reason: 'to be safe' });
    const before = await on.until((scrape) => scrape.value('trustward_stopped') === 1);
    await on.restart();
    const after = await on.scrape();
    for (const series of [
      'trustward_stopped',
      'trustward_stopped_timestamp_seconds',
      'trustward_plans{state="pending"}',
      'trustward_plans_oldest_timestamp_seconds{state="pending"}',
      'trustward_source_last_trusted_timestamp_seconds{source="devices"}',
      'trustward_last_whole_run_timestamp_seconds',
      'trustward_rule_subjects{rule="ban-compromised-device",verdict="match"}',
    ])
      expect([series, after.value(series)]).toEqual([series, before.value(series) ?? Number.NaN]);
    expect(before.value('trustward_plan_changes_total{change="sealed"}')).toBe(1);
    expect(after.value('trustward_plan_changes_total{change="sealed"}')).toBe(0);
    expect(after.value('trustward_notifications_total{result="given_up"}')).toBe(0);
  });

  it('are answered when the database is replaced under the process, and say that it fails', async () => {
    on = await startMeasured();
    await on.until(hasRun);
    copyFileSync(on.org.dbFile, `${on.org.dbFile}.other`);
    renameSync(`${on.org.dbFile}.other`, on.org.dbFile);
    const scrape = await on.until((one) => one.value('trustward_store_up') === 0);
    expect(scrape.value('trustward_store_fault{kind="replaced"}')).toBe(1);
    expect(scrape.value('trustward_mode_lowered')).toBe(1);
    expect(scrape.value('trustward_mode{mode="dry-run"}')).toBe(1);
  });

  it('name requests by their route, whatever is in the address', async () => {
    on = await startMeasured();
    const headers = { authorization: `Bearer ${token()}` };
    for (const path of [
      '/api/runs/99999',
      '/api/runs/canary%22%7D',
      '/api/plans/canary/',
      '/api/canary',
      '/canary',
      '/api/runs?x=canary',
    ])
      await fetch(`${on.daemon.url}${path}`, { headers });
    await fetch(`${on.daemon.url}/api/runs`, { method: 'PROPFIND', headers });
    const scrape = await on.scrape();
    expect(scrape.text).not.toContain('canary');
    expect(scrape.value('trustward_http_requests_total{method="GET",route="/api/runs/:id",status="404"}')).toBe(2);
    expect(scrape.value('trustward_http_requests_total{method="GET",route="/api/runs",status="400"}')).toBe(1);
    expect(scrape.value('trustward_http_requests_total{method="(other)",route="(none)",status="405"}')).toBe(1);
    const routes = new Set(
      scrape.seriesOf('trustward_http_requests_total').map((one) => /route="([^"]*)"/.exec(one)?.[1]),
    );
    expect([...routes].sort()).toEqual(['(none)', '/api/runs', '/api/runs/:id']);
  });

  it('count the streams that are open', async () => {
    on = await startMeasured();
    const ending = new AbortController();
    const headers = { authorization: `Bearer ${token()}` };
    const stream = await fetch(`${on.daemon.url}/api/stream`, { headers, signal: ending.signal });
    expect(stream.status).toBe(200);
    await on.until((scrape) => scrape.value('trustward_http_streams') === 1);
    ending.abort();
    await on.until((scrape) => scrape.value('trustward_http_streams') === 0);
  });
});

describe('a secret', () => {
  it('of a token, a key, a webhook or a service is in no metric, nor is a name or an address', async () => {
    const receiver = await startReceiver();
    const canary = 'canary-0123456789-secret';
    const dir = mkdtempSync(join(tmpdir(), 'trustward-metrics-'));
    const [webhooks, caFile] = [join(dir, 'webhooks.json'), join(dir, 'ca.pem')];
    writeFileSync(caFile, CERTIFICATE);
    const url = `https://localhost:${receiver.port}/${canary}`;
    writeFileSync(webhooks, JSON.stringify({ ops: { url, secretEnv: 'OPS', allowPrivate: true, caFile } }));
    on = await startMeasured({
      rules: { ban: BAN_COMPROMISED, open: DISABLE_OPEN },
      env: {
        TRUSTWARD_TOKEN: `${canary}-of-the-endpoint`,
        TRUSTWARD_WEBHOOKS: webhooks,
        TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
        TRUSTWARD_ALERTS_TO: 'ops',
        OPS: `${canary}-of-the-webhook`,
      },
    });
    await on.until(hasRun);
    const spec = { kind: 'BanyanService', metadata: { name: 'canary' }, spec: { backend: { password: canary } } };
    const service = {
      ServiceID: 'canary.eu.tw',
      ServiceName: 'canary',
      ClusterName: 'eu',
      Enabled: 'TRUE',
      OIDCEnabled: 'TRUE',
      OIDCClientSpec: JSON.stringify({ client_id: 'open', client_secret: canary }),
      ServiceSpec: JSON.stringify(spec),
    };
    const path = '/api/v1/registered_services';
    on.org.console.faults?.set([{ kind: 'garbage', match: { path }, body: JSON.stringify([service]) }]);
    on.org.console.fleet.addDevice({ serial: `${canary}-SERIAL`, mdm_compromised: 'TRUE' }, ['canary@example.com']);
    const headers = { authorization: `Bearer ${canary}-of-the-endpoint`, 'content-type': 'application/json' };
    const body = JSON.stringify({ mode: 'enforce', wait: true });
    const answer = await fetch(`${on.daemon.url}/api/runs`, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'completed' }]);
    const { text, value } = await on.until((scrape) => scrape.value('trustward_claims{status="standing"}') === 3);
    expect(value('trustward_source_records{source="services"}')).toBe(1);
    expect(text).not.toMatch(/canary/i);
    expect(text).not.toContain(on.org.env.TRUSTWARD_API_KEY as string);
    expect(text).not.toMatch(/@|https?:|127\.0\.0\.1|localhost/);
    await receiver.close();
    rmSync(dir, { recursive: true });
  });
});
