// test: a worker of several organizations on real PostgreSQL: it keeps their schedules, does what people ask for, and an organization that cannot
// be worked on harms no other.
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Console, startConsole } from '../../../src/console/console.ts';
import type { PostgresDatabase } from '../../../src/domain/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { Job, JobKind, Jobs } from '../../../src/domain/jobs.ts';
import type { Notice } from '../../../src/domain/notice.ts';
import { LastGoodRules } from '../../../src/rules/active/rule-holder.ts';
import { KnownRules } from '../../../src/rules/load/read-rule.ts';
import { sharedRecording } from '../../../src/runtime/compose/compose.ts';
import { openServer, type PostgresServer } from '../../../src/runtime/compose/postgres.ts';
import { composeJobs } from '../../../src/runtime/compose/workers.ts';
import { runsByJobs } from '../../../src/runtime/endpoint/organization.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemIds } from '../../../src/runtime/system/ids.ts';
import { Ending } from '../../../src/runtime/system/process.ts';
import { turnsByJobs } from '../../../src/runtime/worker/asks.ts';
import { handlersOf, startWorker, WorkWatch } from '../../../src/runtime/worker/handlers.ts';
import { type Organizations, openOrganizations } from '../../../src/runtime/worker/organization-lines.ts';
import { beginReading } from '../../../src/store/postgres/organization.ts';
import { Asks } from '../../../src/store/postgres/pool.ts';
import { postgresReader } from '../../../src/store/postgres/postgres-store.ts';
import { testLog } from '../../support/console-organization.ts';
import { hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

/** A machine that is busy does not take a lease away. */
const LEASE_MS = 60_000;

let folder: string;
let database: PostgresDatabase;
let server: PostgresServer;
let jobs: Jobs;
let organizations: Organizations;
let ending: Ending;
let ended: Promise<void>;
let recording: ReturnType<typeof sharedRecording>;
const consoles: Console[] = [];
const log = testLog();

const file = (...names: string[]) => join(folder, ...names);

async function addOrganization(id: string, more = ''): Promise<Console> {
  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: ':memory:',
    seed: { seed: consoles.length + 1 },
    clock: systemClock,
    log,
  });
  consoles.push(console);
  writeFileSync(file(`${id}.key`), console.issueApiKey('worker', 'Admin'), { mode: 0o600 });
  writeOrganization(id, console.address, { more });
  return console;
}

function writeOrganization(
  id: string,
  address: string,
  { rules = 'rules', key = `${id}.key`, mode = 'enforce', more = '', schedule = '* * * * * *' } = {},
): void {
  writeFileSync(
    file('organizations', `${id}.yaml`),
    `id: ${id}\nname: ${id}\napi:\n  url: ${address}\n  api_key_file: ${file(key)}\nrules: [${file(rules)}]\nschedule: '${schedule}'\nwatch: 0s\nmode: ${mode}\n${more}`,
  );
}

const env = () => ({
  TRUSTWARD_DB: database.url,
  TRUSTWARD_STATE: file('state'),
  TRUSTWARD_ORGANIZATIONS: file('organizations'),
  TRUSTWARD_HISTORY: '0d',
  // What hangs here goes on.
  TRUSTWARD_REQUEST_TIMEOUT: '5m',
  TRUSTWARD_PROGRESS_TIMEOUT: '10m',
  TRUSTWARD_LOG_LEVEL: 'silent',
});

function jobOf(kind: JobKind, begun: Job['begun'] = async () => {}): Job {
  const named = { id: 'one', organization: 'acme', kind, payload: null, by: undefined, takeovers: 0, waitedMs: 0 };
  return { ...named, lost: new AbortController().signal, begun };
}

async function untilRuns(id: string, count: number): Promise<void> {
  const reader = postgresReader(server.pool, id, systemClock);
  while ((await reader.runs(count)).filter(({ status }) => status === 'completed').length < count)
    await systemClock.sleep(100);
}

describe.skipIf(hasNoPostgres)(`a worker${NEEDS_POSTGRES}`, () => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'trustward-worker-'));
    for (const name of ['organizations', 'rules', 'state']) mkdirSync(file(name));
    writeFileSync(
      file('rules', 'ban.yaml'),
      'id: ban-compromised\ntitle: Ban\nseverity: critical\nsubject: device\nwhen: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }\nthen: ban_device\nmode: enforce\nlimits: { max: 100, percent: 100 }\nowners: all\ntests:\n  - { name: t, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }\n',
    );
    const cluster = await sharedCluster();
    const name = await migratedDatabase(cluster);
    database = {
      kind: 'postgres',
      url: cluster.url(name),
      password: undefined,
      organization: 'any',
      beside: file('state', 'any', 'trustward'),
    };
    ending = new Ending();
    recording = sharedRecording();
    server = await openServer(database, systemClock, log, LEASE_MS);
    jobs = await composeJobs(server, database, log);
  });

  afterEach(async () => {
    ending.begin();
    await ended;
    await organizations?.stop();
    await jobs.close();
    await server.close();
    await recording.close();
    for (const console of consoles.splice(0)) await console.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const worked = async () => {
    organizations = await openOrganizations(env(), {}, systemClock, log);
    const rules = { knownRules: new KnownRules(), lastGood: new LastGoodRules() };
    return { organizations, server, recording, ...rules, ending, log };
  };

  const start = async () => {
    const parts = { ...(await worked()), jobs, clock: systemClock };
    ({ ended } = await startWorker({ ...parts, concurrency: { lanes: 4, beside: 1 } }));
  };

  it('makes the runs of each organization, which has its own audit, key and checkpoints', async () => {
    await addOrganization('acme');
    await addOrganization('beta');
    await start();
    await Promise.all(['acme', 'beta'].map((id) => untilRuns(id, 2)));
    for (const id of ['acme', 'beta']) {
      const reader = postgresReader(server.pool, id, systemClock);
      const [entry] = await reader.audit({ limit: 1, afterSeq: 0 });
      expect(entry?.seq).toBe(1);
      expect(existsSync(file('state', id, 'trustward.checkpoints'))).toBe(true);
    }
    expect(existsSync(file('state', 'acme', 'trustward.audit-key'))).toBe(true);
  }, 300_000);

  it('reads the sources of facts of an organization that has a folder for them, and nothing of another one', async () => {
    writeFileSync(
      file('rules', 'sources.yaml'),
      'sources:\n  inventory:\n    key: { serial_number: serial }\n    fresh: 1d\n    every: 10s\n    fields: { owner: text }\n    file: { path: fleet.csv }\n',
    );
    mkdirSync(file('data'));
    writeFileSync(file('data', 'fleet.csv'), 'serial,owner\nC1,Ada\n');
    utimesSync(file('data', 'fleet.csv'), 1_700_000_000, 1_700_000_000);
    await addOrganization('acme', `sources: { folder: ${file('data')} }\n`);
    await addOrganization('beta');
    await start();
    await Promise.all(['acme', 'beta'].map((id) => untilRuns(id, 1)));
    const state = file('state', 'acme', 'trustward.sources', 'inventory.state');
    while (!existsSync(state)) await systemClock.sleep(100);
    expect(JSON.parse(readFileSync(state, 'utf8'))).toMatchObject({
      table: { found: { rows: 1 }, atMs: 1_700_000_000_000 },
    });
    expect(existsSync(file('state', 'beta', 'trustward.sources'))).toBe(false);
  }, 300_000);

  it('works on for others when the credential of one cannot be read, and says so', async () => {
    await addOrganization('acme');
    await addOrganization('beta');
    rmSync(file('beta.key'));
    await start();
    await untilRuns('acme', 2);
    expect(await postgresReader(server.pool, 'beta', systemClock).runs(1)).toEqual([]);
    expect(log.errors.map(({ message }) => message).join('\n')).toMatch(/the job `run` of `beta` failed: .*beta\.key/);
  }, 300_000);

  it('makes no run when the folder of state is gone, and names the key that is missing', async () => {
    await addOrganization('acme');
    await start();
    await untilRuns('acme', 1);
    renameSync(file('state'), file('elsewhere'));
    const isNamed = () => log.errors.some(({ message }) => /key that signs the audit.*is missing/.test(message));
    while (!isNamed()) await systemClock.sleep(100);
    const reader = postgresReader(server.pool, 'acme', systemClock);
    const before = (await reader.runs(1_000)).length;
    const failed = log.errors.length;
    while (log.errors.length < failed + 2) await systemClock.sleep(100);
    expect((await reader.runs(1_000)).length).toBe(before);
    expect(existsSync(file('state', 'acme', 'trustward.audit-key'))).toBe(false);
  }, 300_000);

  it('makes a run whose beginning could not be shown to who waits for it, and goes on', async () => {
    await addOrganization('acme');
    const handlers = handlersOf(await worked(), new WorkWatch(systemClock));
    const gone = new AppError('store_failed', 'the session was ended');
    const { id } = (await handlers.run(jobOf('run', () => Promise.reject(gone)))) as { id: string };
    expect(await postgresReader(server.pool, 'acme', systemClock).run(id)).toMatchObject({
      seq: 1,
      status: 'completed',
    });
  }, 300_000);

  it('takes the right to act for a look only where the event log has something new', async () => {
    const { fleet, address } = await addOrganization('acme');
    writeOrganization('acme', address, { schedule: '0 0 1 1 *' });
    const handlers = handlersOf(await worked(), new WorkWatch(systemClock));
    const turns = async () => {
      const sql = 'SELECT fence FROM trustward.leases';
      const { rows } = await server.pool.transaction(beginReading('acme'), (client) => client.query(sql));
      return Number(rows[0]?.fence);
    };
    const looks = async () => [await handlers.look(jobOf('look')), await turns()];
    await handlers.run(jobOf('run'));
    await handlers.look(jobOf('look'));
    const before = await turns();
    expect(await looks()).toEqual([{ result: 'nothing', run: null }, before]);
    const deviceId = fleet.addDevice({ mdm_compromised: 'TRUE' });
    fleet.addEvent({ type: 'TrustScoring', subType: 'TrustScore', action: 'update', severity: 'INFO', deviceId });
    expect(await looks()).toEqual([expect.objectContaining({ result: 'acted' }), before + 1]);
  }, 300_000);

  it('works with what the file of an organization has now: its rules, mode and credential', async () => {
    const console = await addOrganization('acme');
    await start();
    await untilRuns('acme', 1);
    const reader = postgresReader(server.pool, 'acme', systemClock);
    expect((await reader.runs(1))[0]).toMatchObject({ mode: 'enforce', rules: ['ban-compromised'] });
    mkdirSync(file('other-rules'));
    const rule = readFileSync(file('rules', 'ban.yaml'), 'utf8').replace(
      'id: ban-compromised',
      'id: of-the-other-folder',
    );
    writeFileSync(file('other-rules', 'ban.yaml'), rule);
    writeFileSync(file('new.key'), console.issueApiKey('new', 'Admin'), { mode: 0o600 });
    writeOrganization('acme', console.address, { rules: 'other-rules', key: 'new.key', mode: 'dry-run' });
    const newRuns = async () =>
      (await reader.runs(20)).filter(
        ({ mode, rules, status }) =>
          mode === 'dry-run' && rules.join() === 'of-the-other-folder' && status === 'completed',
      );
    while ((await newRuns()).length === 0) await systemClock.sleep(100);
    console.revokeApiKey('worker');
    const { seq } = (await reader.runs(1))[0] as { seq: number };
    while (!(await newRuns()).some((run) => run.seq > seq)) await systemClock.sleep(100);
  }, 300_000);

  it('ends what is under way for an organization whose file is removed, and begins nothing more for it', async () => {
    const console = await addOrganization('acme');
    await addOrganization('beta');
    const proxy = await TcpProxy.start(Number(new URL(console.address).port));
    try {
      writeOrganization('acme', `http://127.0.0.1:${proxy.port}`);
      await start();
      await untilRuns('acme', 1);
      proxy.hang();
      const reader = postgresReader(server.pool, 'acme', systemClock);
      while ((await reader.runs(1))[0]?.status !== 'running') await systemClock.sleep(20);
      rmSync(file('organizations', 'acme.yaml'));
      while (organizations.all().some(({ id }) => id === 'acme')) await systemClock.sleep(50);
      const [last] = await reader.runs(1);
      expect(last?.status).toBe('running');
      proxy.resume();
      while ((await reader.run(last?.id as string))?.status === 'running') await systemClock.sleep(50);
      expect((await reader.run(last?.id as string))?.status).toBe('completed');
      const before = (await postgresReader(server.pool, 'beta', systemClock).runs(1))[0]?.seq ?? 0;
      await untilRuns('beta', before + 3);
      expect((await reader.runs(1))[0]?.seq).toBe(last?.seq);
      writeOrganization('acme', `http://127.0.0.1:${proxy.port}`);
      await untilRuns('acme', (last?.seq ?? 0) + 1);
    } finally {
      await proxy.close();
    }
  }, 300_000);

  it('does what a person asks for at another process, and answers with its error too', async () => {
    await addOrganization('acme');
    await start();
    await untilRuns('acme', 1);
    const asks = new Asks(server.pool, 'acme');
    const newId = () => systemIds(systemClock).next();
    const reader = postgresReader(server.pool, 'acme', systemClock);
    const turns = turnsByJobs({ jobs, asks, organization: 'acme', newId, signal: ending.asked });
    const release = (target: string) =>
      turns.operate('releaseClaims', { target, reason: 'a test' }, { by: 'ana (token admin)' });
    await expect(release('NO-SUCH')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('NO-SUCH'),
    });
    const [claim] = await reader.claims({ status: 'standing' });
    if (!claim) throw new Error('nothing was banned');
    const intent = { target: claim.target, outcome: 'succeeded' };
    expect(await release(claim.target)).toMatchObject({ released: [{ target: claim.target, intent }] });
    expect((await reader.claims({ status: 'released' })).map(({ target }) => target)).toContain(claim.target);
    // The table of the jobs has no wall between organizations.
    const stored = JSON.stringify(await server.pool.query('SELECT data, output FROM trustward_jobs.job'));
    expect(stored).toContain('not_found');
    for (const text of ['NO-SUCH', claim.target, file('rules')]) expect(stored).not.toContain(text);
  }, 300_000);

  it('makes a run that is asked for at another process, and answers with it and with its error', async () => {
    await addOrganization('acme');
    await start();
    const reader = postgresReader(server.pool, 'acme', systemClock);
    const asks = new Asks(server.pool, 'acme');
    const trigger = runsByJobs({ jobs, asks, reader, organization: 'acme', signal: ending.asked });
    const request = { mode: 'dry-run', trigger: 'http', waitForDoubts: false } as const;
    const { run, finished } = await trigger({ ...request, rules: ['ban-compromised'] });
    expect(await finished).toMatchObject({ id: run.id, status: 'completed', trigger: 'http' });
    await expect(trigger({ ...request, rules: ['no-such-rule'] })).rejects.toMatchObject({
      message: expect.stringContaining('no-such-rule'),
    });
  }, 300_000);

  function webhook(id: string): string {
    writeFileSync(file(`${id}.secret`), 'a-secret-of-the-webhook');
    const secretFile = file(`${id}.secret`);
    writeFileSync(file(`${id}.hooks.yaml`), `ops: { url: 'https://hooks.example/x', secretFile: '${secretFile}' }\n`);
    return `webhooks: ${file(`${id}.hooks.yaml`)}\nwebhook_hosts: [hooks.example]\nalerts: { to: [ops], silence: 1s }\n`;
  }

  it.each([
    ['the credential of an organization', 'acme.key', 'beta'],
    ['the secret of its webhook', 'acme.secret', 'beta'],
  ])(
    'alerts of the silence without %s, also when no run was ever made',
    async (_, lost, other) => {
      await addOrganization('acme', webhook('acme'));
      await addOrganization(other, webhook(other));
      rmSync(file(lost));
      await start();
      const all = () =>
        postgresReader(server.pool, 'acme', systemClock).notifications({ statuses: ['waiting', 'given_up'] }, 100);
      while ((await all()).every(({ about }) => about.alert !== 'silence')) {
        await jobs.ask({ organization: 'acme', kind: 'deliver', payload: null });
        await systemClock.sleep(200);
      }
      expect(await postgresReader(server.pool, 'acme', systemClock).runs(1)).toEqual([]);
      await untilRuns(other, 1);
    },
    120_000,
  );

  it('warns each person once, between two runs as well, when one of two workers ends and the mail server answers late', async () => {
    const accepted: string[] = [];
    let isUp = false;
    const post = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      logger: false,
      onConnect: (_, done) => done(isUp ? null : Object.assign(new Error('not now'), { responseCode: 421 })),
      onData: (stream, _, done) => {
        let raw = '';
        stream.on('data', (chunk: Buffer) => {
          raw += chunk.toString();
        });
        stream.on('end', () => {
          accepted.push(/^Message-ID: *(.*)$/im.exec(raw)?.[1] ?? '');
          setTimeout(done, 6_000);
        });
      },
    });
    post.on('error', () => {}); // a client that goes away
    post.listen(0, '127.0.0.1');
    await once(post.server, 'listening');
    const other = { ending: new Ending(), jobs: await composeJobs(server, database, log) };
    let othersEnd: Promise<void> | undefined;
    try {
      writeFileSync(file('smtp'), `smtp://127.0.0.1:${(post.server.address() as AddressInfo).port}`, { mode: 0o600 });
      const ban = readFileSync(file('rules', 'ban.yaml'), 'utf8');
      writeFileSync(file('rules', 'ban.yaml'), ban.replace('owners: all', 'owners: all\nnotice: { before: 1h }'));
      const { address } = await addOrganization('acme');
      const mail = `mail: { smtp_url_file: ${file('smtp')}, from: trustward@example.com, tls: 'off' }\n`;
      writeOrganization('acme', address, { more: mail, schedule: '0 0 1 1 *' });
      await start();
      const parts = { organizations, server, recording, knownRules: new KnownRules(), lastGood: new LastGoodRules() };
      const concurrency = { lanes: 4, beside: 1 };
      ({ ended: othersEnd } = await startWorker({ ...parts, ...other, log, clock: systemClock, concurrency }));
      const reader = postgresReader(server.pool, 'acme', systemClock);
      const until = async (is: (notice: Notice) => boolean) => {
        for (;;) {
          const { rows } = await reader.notices({}, 1_000);
          if (rows.length > 0 && rows.every(is)) return rows;
          await systemClock.sleep(200);
        }
      };
      await until(({ status, attempts }) => status === 'waiting' && attempts > 0);
      ending.begin();
      await ended;
      isUp = true;
      // As each minute does.
      await other.jobs.ask({ organization: 'acme', kind: 'deliver', payload: null });
      const told = await until(({ status }) => status === 'delivered');
      expect([...accepted].sort()).toEqual(told.map(({ id }) => `<${id}@example.com>`).sort());
      expect((await reader.runs(9)).length).toBe(1);
      expect((await reader.claims({ status: 'standing' })).length).toBe(0);
    } finally {
      other.ending.begin();
      await othersEnd;
      await other.jobs.close();
      await new Promise<void>((resolve) => post.close(() => resolve()));
    }
  }, 300_000);

  it('alerts once that an organization is silent, also when no run of it ever ended well', async () => {
    const alerts = webhook('acme');
    await addOrganization('acme', alerts);
    await consoles.pop()?.close();
    await start();
    const reader = postgresReader(server.pool, 'acme', systemClock);
    const raised = async () => {
      const all = await reader.notifications({ statuses: ['waiting', 'given_up'] }, 100);
      return all.filter(({ about }) => about.alert === 'silence').length;
    };
    const look = () => jobs.ask({ organization: 'acme', kind: 'deliver', payload: null });
    while ((await raised()) === 0) {
      await look();
      await systemClock.sleep(200);
    }
    // Runs look too, and know as little of this process as deliveries do.
    const before = (await reader.runs(1_000)).length;
    while ((await reader.runs(1_000)).length < before + 3) await systemClock.sleep(200);
    const { id } = await look();
    await jobs.answerOf({ organization: 'acme', id, until: 'ended', timeoutMs: 60_000, signal: ending.asked });
    expect(await raised()).toBe(1);
  }, 300_000);
});
