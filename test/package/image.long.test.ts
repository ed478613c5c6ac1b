// package: the image itself, built from the Dockerfile and started with the settings of compose.yaml, without a container engine's
// daemon: sealed, healthy, and nothing lost when it is stopped. container.test.ts reads both files; this runs them.
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import type { Effect } from '../../src/console/store/device-changes.ts';
import { sqliteDatabase } from '../../src/domain/database.ts';
import { composeReader } from '../../src/runtime/compose/reader.ts';
import { intentEntries } from '../harness/kill-checks.ts';
import { BIN, ROOT } from '../support/built.ts';
import { follow, type Started } from '../support/trustward.ts';
import { type Container, makeVolume, type Network, startContainer, startNetwork } from './bare-container.ts';
import { readService, type Settings } from './compose-service.ts';
import { buildImage, cannotBuild, type Image, NEEDS_BUILDAH } from './image.ts';

const STOPPED_WITHIN_S = 20;
const UID = 1000;

if (cannotBuild) process.stdout.write(`the image is not built${NEEDS_BUILDAH}\n`);

describe.skipIf(cannotBuild)(`the image, with the settings of compose.yaml${NEEDS_BUILDAH}`, () => {
  let image: Image;
  let network: Network;
  const opened: Opened[] = [];
  const figures = { bans: 0, idleStop: 0, busyStop: 0, left: new Set<string>() };

  beforeAll(() => {
    image = buildImage('trustward');
  }, 1_800_000);

  // Each test has a network of its own: the image listens at one port.
  beforeEach(async () => {
    network = await startNetwork();
    opened.push(network);
  });

  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });

  afterAll(() => {
    if (!image) return;
    image.remove();
    const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
    process.stdout.write(
      [
        `image ${mb(image.bytes)}, ${mb(image.ownBytes)} of them its own`,
        `base in ${image.baseSeconds.toFixed(0)} s, built in ${image.buildSeconds.toFixed(0)} s`,
        `${figures.bans} bans`,
        `stopped in ${figures.idleStop.toFixed(1)} s idle, ${figures.busyStop.toFixed(1)} s at work`,
        `not applied of compose.yaml: ${[...figures.left].join(', ')}\n`,
      ].join('; '),
    );
  }, 600_000);

  it('exits 2 without the address of the API, and says why', async () => {
    const { settings } = place(image, opened, 'nobody', {});
    const { code, out, err } = await start(image, settings, network, opened).ended;
    expect(code).toBe(2);
    expect(out + err).toContain('TRUSTWARD_API_URL');
  });

  it('acts as a user without rights who can write to its data alone, is healthy by its own check, and ends on SIGTERM', async () => {
    const api = await startApi(network, opened, ['--devices', '200', '--compromised', '2']);
    const { settings, data } = place(image, opened, api.key, api.shell);
    const { Healthcheck: health } = image.config;
    const [kind, ...check] = health.Test;
    expect(kind).toBe('CMD');
    expect(settings.health).toEqual({
      interval: health.Interval / 1e6,
      timeout: health.Timeout / 1e6,
      start_period: health.StartPeriod / 1e6,
      retries: health.Retries,
    });
    const daemon = start(image, settings, network, opened);
    // Twice the time that the check grants, for a machine that is busy with others.
    await vi.waitFor(() => expect(daemon.exec(check, settings.health.timeout).code).toBe(0), {
      timeout: 2 * (settings.health.start_period ?? 0),
      interval: 500,
    });
    await vi.waitFor(() => expect(api.bans()).toHaveLength(2), { timeout: 60_000, interval: 500 });
    figures.bans += 2;

    expect(Object.fromEntries(daemon.status())).toMatchObject({
      Uid: Array(4).fill(UID).join('\t'),
      Gid: Array(4).fill(UID).join('\t'),
      NSpid: expect.stringMatching(/\t1$/),
      CapEff: '0000000000000000',
      CapBnd: '0000000000000000',
      NoNewPrivs: '1',
    });
    expect(writableFolders(daemon)).toEqual(['/data', '/tmp']);
    const program = 'printf "#!/bin/sh\\n" > /tmp/program && chmod +x /tmp/program && /tmp/program';
    expect(daemon.exec(['sh', '-c', program]).code).toBe(126);
    expect(openIn(data)).toEqual([expect.stringMatching(/^trustward\.db\.audit-key\.pub /)]);

    const { code, tookSeconds } = await daemon.stop();
    figures.idleStop = tookSeconds;
    for (const name of settings.left) figures.left.add(name);
    expect(code).toBe(0);
    expect(tookSeconds).toBeLessThan(STOPPED_WITHIN_S);
    expect((await start(image, settings, network, opened, check).ended).code).toBe(1);
  });

  it('loses nothing when it is stopped at work: what was begun is recorded, and the next start does the rest once', async () => {
    const COMPROMISED = 20;
    const api = await startApi(network, opened, [
      '--devices',
      '1200',
      '--compromised',
      String(COMPROMISED),
      '--faults',
    ]);
    const { settings, data } = place(image, opened, api.key, api.shell);
    // One after the other, each slow: there is work under way when the signal comes.
    settings.environment.TRUSTWARD_ACT_CONCURRENCY = '1';
    api.setFaults(['PUT', 'POST'].map((method) => ({ kind: 'latency', match: { method }, ms: 2_000 }) as FaultInput));
    const daemon = start(image, settings, network, opened);
    await vi.waitFor(() => expect(api.bans()).not.toEqual([]), { timeout: 60_000, interval: 200 });

    const { code, tookSeconds } = await daemon.stop();
    figures.busyStop = tookSeconds;
    expect(code).toBe(0);
    expect(tookSeconds).toBeLessThan(STOPPED_WITHIN_S);
    const before = api.bans();
    expect(before.length).toBeLessThan(COMPROMISED);
    expect(await recordedIn(data)).toEqual({ underWay: [], sent: before, done: before });

    api.setFaults([]);
    const next = start(image, settings, network, opened);
    await vi.waitFor(() => expect(api.bans()).toHaveLength(COMPROMISED), { timeout: 120_000, interval: 500 });
    expect((await next.stop()).code).toBe(0);
    figures.bans += COMPROMISED;
    const all = api.bans();
    expect(new Set(all).size).toBe(COMPROMISED);
    expect(await recordedIn(data)).toEqual({ underWay: [], sent: all, done: all });
    const verify = [...image.config.Entrypoint, 'audit', 'verify'];
    const { out, code: verified } = await start(image, settings, network, opened, verify).ended;
    expect(out).toContain('the audit is whole');
    expect(verified).toBe(0);
  });

  it('has the console to try it with, which keeps its data in memory', async () => {
    const { settings } = place(image, opened, 'nobody', {}, 'console');
    const console = start(image, settings, network, opened);
    await console.says('LISTENING=');
    expect(fetchWithin(network, 'http://127.0.0.1:8090/healthz', {})).toEqual({ status: 'ok' });
    expect(writableFolders(console)).toEqual(['/data', '/tmp']);
    for (const name of settings.left) figures.left.add(name);
    expect((await console.stop()).code).toBe(0);
  });
});

/** What ends with a test. */
interface Opened {
  close(): void | Promise<void>;
}

interface Place {
  settings: Settings;
  /** The volume, on this machine. */
  data: string;
}

/** The folder of an operator, as docs/operating.md, "In a container", has it; its owner is root, and the key belongs to the user of the image. */
function place(
  image: Image,
  opened: Opened[],
  key: string,
  shell: Record<string, string>,
  service = 'trustward',
): Place {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-compose-'));
  opened.push({ close: () => rmSync(folder, { recursive: true, force: true }) });
  cpSync(join(ROOT, 'rules'), join(folder, 'rules'), { recursive: true });
  const file = join(folder, 'api-key');
  writeFileSync(file, `${key}\n`, { mode: 0o400 });
  chownSync(file, UID, UID);
  const data = join(folder, 'volumes/data');
  mkdirSync(join(folder, 'volumes'));
  makeVolume(image, '/data', data);
  return { settings: readService(service, folder, shell), data };
}

function start(image: Image, settings: Settings, network: Network, opened: Opened[], command?: string[]): Container {
  const container = startContainer(image, settings, network, command);
  opened.push({
    close: async () => {
      container.child.kill('SIGKILL');
      await container.ended;
    },
  });
  return container;
}

interface Api {
  key: string;
  /** What an operator sets for `docker compose up`. */
  shell: Record<string, string>;
  /** Serial numbers of the devices that were banned, in order. */
  bans(): string[];
  setFaults(faults: FaultInput[]): void;
}

async function startApi(network: Network, opened: Opened[], seed: string[]): Promise<Api> {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-console-'));
  const program = [process.execPath, join(BIN, 'trustward'), 'console', '--listen', '127.0.0.1:0', ...seed];
  const [name = '', ...args] = network.within([...program, '--db', join(folder, 'console.db')]);
  const started: Started = follow(spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
  opened.push({
    close: async () => {
      started.child.kill('SIGKILL');
      await started.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  });
  await started.says('LISTENING=');
  const said = (word: string) => new RegExp(`^${word}=(\\S+)$`, 'm').exec(started.said().out)?.[1] ?? '';
  const address = said('LISTENING');
  const ask = (path: string, token: string, method = 'GET', body?: string) =>
    fetchWithin(network, `${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body && { body }),
    });
  return {
    key: said('API_KEY'),
    shell: { TRUSTWARD_API_URL: address, TRUSTWARD_MODE: 'enforce' },
    bans: () =>
      (ask('/effects', said('ADMIN_TOKEN')) as { data: Effect[] }).data
        .filter(({ kind, via }) => kind === 'device_banned' && via === 'api')
        .map(({ detail }) => String(detail.serial)),
    setFaults: (faults) => void ask('/faults', said('ADMIN_TOKEN'), 'PUT', JSON.stringify(faults)),
  };
}

/** Another network of this machine is reached by a process in it. Errors: no JSON with a status below 300. */
function fetchWithin(network: Network, url: string, init: object): unknown {
  const script =
    'const [url, init] = process.argv.slice(1); const answer = await fetch(url, JSON.parse(init)); console.log(JSON.stringify({ ok: answer.ok, text: await answer.text() }));';
  const [name = '', ...args] = network.within([
    process.execPath,
    '--input-type=module',
    '-e',
    script,
    url,
    JSON.stringify(init),
  ]);
  const { stdout, stderr } = spawnSync(name, args, { encoding: 'utf8', timeout: 60_000, maxBuffer: 2 ** 26 });
  const { ok, text } = JSON.parse(stdout || '{}') as { ok?: boolean; text?: string };
  if (!ok || text === undefined) throw new Error(`${url}: ${text ?? stderr}`);
  return JSON.parse(text);
}

/** Of all folders that the user of the container can reach; those that the daemon made in /data go with it. */
function writableFolders(container: Container): string[] {
  const script = `find / \\( -path /proc -o -path /dev -o -path '/data/*' \\) -prune -o -type d -print 2>/dev/null | while read -r folder; do
    (: > "$folder/.tried") 2>/dev/null && rm "$folder/.tried" && echo "$folder"; done; true`;
  const { code, out } = container.exec(['sh', '-c', script]);
  expect(code).toBe(0);
  return out.trim().split('\n').sort();
}

/** What others than the user of the image may read, or own. */
function openIn(data: string): string[] {
  return ['.', ...readdirSync(data, { recursive: true, encoding: 'utf8' })].flatMap((path) => {
    const stat = lstatSync(join(data, path));
    const mode = (stat.mode & 0o777).toString(8);
    const isClosed = mode === (stat.isDirectory() ? '700' : '600') && stat.uid === UID && stat.gid === UID;
    return isClosed ? [] : [`${path} ${mode} ${stat.uid}:${stat.gid}`];
  });
}

/** What a stopped daemon has recorded, read in a copy: intents under way, and from the audit which bans it sent and which succeeded, in order. */
async function recordedIn(data: string): Promise<{ underWay: string[]; sent: string[]; done: string[] }> {
  const copy = mkdtempSync(join(tmpdir(), 'trustward-copy-'));
  cpSync(data, copy, { recursive: true });
  const reader = await composeReader(sqliteDatabase(join(copy, 'trustward.db')));
  try {
    const underWay = [...(await reader.intents({ status: 'sent' })), ...(await reader.intents({ outcome: 'unknown' }))];
    const entries = (await intentEntries(reader)).filter(({ action }) => action === 'ban_device');
    const targets = (of: typeof entries) => of.map(({ target }) => target);
    return {
      underWay: underWay.map(({ target }) => target),
      sent: targets(entries.filter(({ kind }) => kind === 'intent.sent')),
      done: targets(entries.filter(({ outcome }) => outcome === 'succeeded')),
    };
  } finally {
    await reader.close();
    rmSync(copy, { recursive: true, force: true });
  }
}
