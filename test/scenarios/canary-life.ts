// scenarios: a whole life of a daemon in a world of secrets: runs, looks, plans, answers, alerts, backups, wrong credentials, every page and every
// command. In: the world. Out: all that anybody could read of it, by place. What must have a secret is left out, and no more.
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { openStream } from '../support/event-client.ts';
import { command } from '../support/in-process.ts';
import { filesIn } from '../support/stored-bytes.ts';
import { type Started, startTrustward, trustward } from '../support/trustward.ts';
import { mistakes, type Said } from './canary-mistakes.ts';
import {
  type Ask,
  asking,
  crawl,
  gather,
  headersOf,
  type Note,
  noteDeliveries,
  noting,
  type Places,
} from './canary-reading.ts';
import { type CanaryWorld, DISABLE_OPEN, refuseWithEchoes } from './canary-world.ts';

export interface Life {
  /** Place → what stood there. */
  places: Places;
  /** What shows that the life was a full one. */
  counts: { echoes: number; pages: number; deliveries: number; issued: number; runs: number; refused: string[] };
}

export const SIGNING_KEY = 'the key that signs the audit';
/** What stands before it is the same in all keys of the kind. */
const KEY_END = 40;
const FORMATS = ['json', 'md', 'text', 'csv', 'html'];
const HOUR_MS = 3_600_000;

export async function liveThrough(world: CanaryWorld): Promise<Life> {
  const { secrets, platform, console, receiver, canaries, files } = world;
  const places: Life['places'] = new Map();
  const note = noting(places);
  const said = async (env: Record<string, string>, ...args: string[]) => {
    const ended = await command(args, env);
    note(`the command ${args.slice(0, 2).join(' ')}`, `${ended.out}\n${ended.err}`);
    return ended;
  };
  const compromise = (name: string, count: number) => {
    for (let at = 0; at < count; at += 1)
      console.fleet.addDevice({ serial: `${name}-${at}`, mdm_compromised: 'TRUE' }, [`${name}${at}@acme.example`]);
  };
  const refused: string[] = [];
  const isWrite = (method: string, path: string) => method !== 'GET' && !path.endsWith('/refresh_token');

  // By commands alone, with the API key: each ban is refused by another echo, then whole sources are.
  compromise('FIRST', 24);
  const echoed = refuseWithEchoes(platform, isWrite);
  for (const mode of ['dry-run', 'enforce']) {
    const ended = await trustward(['run', '--mode', mode, '--format', 'json'], world.withKey);
    note(`a ${mode} by a command`, ended.out + ended.err);
  }
  const echoes = [echoed()];
  for (const path of ['/api/v1/devices', '/api/v1/registered_services', '/api/v1/events']) {
    const read = refuseWithEchoes(platform, (_, at) => at.startsWith(path));
    const ended = await trustward(['run', '--mode', 'dry-run'], { ...world.withKey, TRUSTWARD_LOG_FORMAT: 'plain' });
    note('a run with a refused source', ended.out + ended.err);
    await said(world.withKey, 'doctor');
    echoes.push(read());
  }
  refuseWithEchoes(platform, isWrite);

  // A daemon in a change window, with the refresh token.
  const now = systemClock.nowMs();
  const wall = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const env = { ...world.env, TRUSTWARD_FREEZE: `${wall(now - HOUR_MS)}-${wall(now + HOUR_MS)} UTC` };
  compromise('SECOND', 12);
  receiver.answers.push(500, 302, 404, 500);
  const metrics = `127.0.0.1:${await freePort()}`;
  const daemon = startTrustward(['serve'], { ...env, TRUSTWARD_METRICS_LISTEN: metrics });
  try {
    await daemon.says('Ctrl-C ends it.');
    const url = /HTTP endpoint\s+(\S+)/.exec(daemon.said().out)?.[1] as string;
    const ask = asking(url, () => token, note, refused);
    let token = secrets['the token of the endpoint'] as string;
    const stream = await openStream(url, { token });
    const following = startTrustward(['audit', 'export', '--follow', '--out', `${world.data}/followed.ndjson`], env);

    const named = await command(['tokens', 'add', 'ops', '--scope', 'admin'], env);
    const ops = canaries.add('the named token', /\S{40,}/.exec(named.out)?.[0] as string);
    const tokenLine = named.out.replaceAll(ops, '');
    note('the command tokens add', tokenLine + named.err);
    await said(env, 'tokens', 'list');

    await ask(
      'POST',
      '/api/runs',
      { mode: 'enforce', wait: true },
      { 'idempotency-key': secrets['a foreign token'] as string },
    );
    const { plans } = await ask('GET', '/api/plans?limit=50');
    const pending = plans.find((plan: { status: string }) => plan.status === 'pending').id as string;
    const glass = { breakGlass: true, reason: 'an outbreak' };
    await ask('POST', `/api/plans/${pending}/approve`, {
      ...glass,
      only: ['SECOND-1', 'SECOND-2', 'SECOND-3', 'SECOND-4'],
    });
    await ask('POST', '/api/runs', { mode: 'dry-run', wait: true });
    await ask('POST', '/api/runs', { mode: 'enforce', wait: true });
    await ask('POST', '/api/stop', { reason: 'a test' });
    await ask('POST', '/api/resume', { reason: 'a test' });

    // The next tokens: of the platform, at first a wrong one, and of the endpoint.
    replace(files.refresh, secrets['a refused refresh token'] as string);
    for (const access of world.issued) platform.takes.delete(access);
    await ask('POST', '/api/runs', { mode: 'dry-run', wait: true });
    await said(env, 'doctor');
    replace(files.refresh, secrets['the next refresh token'] as string);
    await ask('POST', '/api/runs', { mode: 'dry-run', wait: true });
    replace(files.token, secrets['the next token of the endpoint'] as string);
    await until(async () => {
      const next = { authorization: `Bearer ${secrets['the next token of the endpoint']}` };
      return (await fetch(`${url}/api/runs`, { headers: next })).status === 200;
    });
    token = secrets['the next token of the endpoint'] as string;
    await until(async () => [...filesIn(world.data).keys()].some((name) => /backups\/\S+\.db$/.test(name)));

    await readEverything(ask);
    note('the listener of metrics', await (await fetch(`http://${metrics}/metrics`)).text());
    const pages = await crawl(url, token, canaries, note);
    await provoke(url, secrets, ops, note);
    await commands(env, said);
    await mistakes(world, said);
    await until(async () => receiver.received.length > 8);
    stream.cut();
    following.child.kill('SIGTERM');
    const followed = await following.ended;
    note('the command audit export --follow', followed.out + followed.err);
    note('the stream', stream.text);
    // The key that signs the audit is in its own file and nowhere else.
    const keyFile = `${world.env.TRUSTWARD_DB}.audit-key`;
    canaries.add(
      SIGNING_KEY,
      readFileSync(keyFile, 'utf8')
        .replaceAll(/-----[^-]+-----|\s/g, '')
        .slice(-KEY_END),
    );
    gather(world.data, world.env.TRUSTWARD_DB as string, note, 'while it runs');
    await end(daemon);
    const { out, err } = daemon.said();
    note('the standard output of the daemon', out);
    note('the log of the daemon', err);
    gather(world.data, world.env.TRUSTWARD_DB as string, note, 'afterwards');
    const addresses = ['the path of a webhook', 'the path of the heartbeat', 'the query of the heartbeat'];
    noteDeliveries(
      receiver.received,
      addresses.map((name) => secrets[name] as string),
      note,
    );
    const runs = (await said(world.withKey, 'runs', '--format', 'json')).out.match(/"seq"/g)?.length ?? 0;
    const { length: deliveries } = receiver.received;
    return {
      places,
      counts: { echoes: Math.min(...echoes), pages, deliveries, issued: world.issued.length, runs, refused },
    };
  } finally {
    daemon.child.kill('SIGKILL');
  }
}

async function readEverything(ask: Ask): Promise<void> {
  for (const path of [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/metrics',
    '/api/rules',
    '/api/summary?since=1d',
  ])
    await ask('GET', path);
  for (const list of ['decisions', 'intents', 'claims', 'exemptions', 'notifications', 'tokens', 'audit'])
    await ask('GET', `/api/${list}?limit=1000`);
  await ask('POST', '/api/audit/verify');
  for (const format of FORMATS) await ask('GET', `/api/runs/latest/report?format=${format}`);
  const { runs } = await ask('GET', '/api/runs?limit=100');
  for (const { id } of runs)
    for (const format of ['json', 'text']) await ask('GET', `/api/runs/${id}/report?format=${format}`);
  const { plans } = await ask('GET', '/api/plans?limit=100');
  for (const { id } of plans) await ask('GET', `/api/plans/${id}`);
  for (const of of ['SECOND-1', 'FIRST-1', 'one']) await ask('GET', `/api/why?of=${of}`);
  await ask('GET', '/api/subjects/service/one.eu.tw');
  await ask('POST', '/api/rules/disable-open-service/explain', { subject: 'one' });
  await ask('GET', '/api/rules/disable-open-service');
  await ask('POST', '/api/rules/disable-open-service/try', { text: DISABLE_OPEN.replace('"none"', '"nothing"') });
}

/** Requests with secrets in the wrong places. */
async function provoke(url: string, secrets: Record<string, string>, ops: string, note: Note): Promise<void> {
  const foreign = secrets['a foreign token'] as string;
  const query = encodeURIComponent(foreign);
  const with_ = (token: string) => ({ authorization: `Bearer ${token}` });
  const form = { origin: url, 'content-type': 'application/x-www-form-urlencoded' };
  const asked: [string, RequestInit][] = [
    ['/api/runs', { headers: with_(foreign) }],
    ['/api/runs', { headers: { authorization: `Basic ${Buffer.from(`u:${foreign}`).toString('base64')}` } }],
    [`/api/runs?token=${query}`, {}],
    [`/api/runs?token=${query}`, { headers: with_(ops) }],
    [`/api/runs?limit=1&token=${query}`, { headers: with_(ops) }],
    ['/api/runs', { headers: { cookie: `trustward=${foreign}` } }],
    [`/sign-in?code=${query}`, {}],
    ['/sign-in', { method: 'POST', headers: form, body: new URLSearchParams({ token: foreign }) }],
    ['/sign-in', { method: 'POST', headers: form, body: new URLSearchParams({ code: foreign }) }],
    [
      '/api/runs',
      { method: 'POST', headers: { ...with_(ops), 'content-type': 'application/json' }, body: `{"token":"${foreign}"` },
    ],
    ['/metrics', { headers: with_(foreign) }],
    ['/api/stream', { headers: with_(foreign) }],
  ];
  for (const [path, init] of asked) {
    const answer = await fetch(url + path, { redirect: 'manual', ...init });
    note('an answer to a request with a secret in it', `${answer.status} ${headersOf(answer)}\n${await answer.text()}`);
  }
}

async function commands(env: Record<string, string>, said: Said): Promise<void> {
  for (const format of FORMATS) await said(env, 'report', '--format', format);
  for (const format of ['text', 'json', 'csv']) await said(env, 'decisions', '--format', format);
  for (const args of [
    ['audit', 'export'],
    ['audit', 'list', '--limit', '1000', '--format', 'json'],
    ['audit', 'verify'],
    ['claims', 'list'],
    ['doctor'],
    ['exempt', 'list'],
    ['explain', 'disable-open-service', 'one'],
    ['intents', 'list'],
    ['notifications', '--all'],
    ['plans'],
    ['rules', 'check'],
    ['facts', 'service'],
    ['runs'],
    ['summary'],
    ['why', 'SECOND-1'],
    ['--help'],
    ['serve', '--help'],
  ])
    await said(env, ...args);
}

/** Written beside, then renamed over: nobody sees half of it. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, `${text}\n`);
  renameSync(`${file}.new`, file);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(50);
}

async function end(daemon: Started): Promise<void> {
  daemon.child.kill('SIGTERM');
  await daemon.ended;
}
