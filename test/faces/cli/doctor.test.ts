// commands: `doctor`: each problem is found and shown on its own line with what to do; nothing that is well is
// reported; and checking changes nothing.
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';
import { trustward } from '../../support/trustward.ts';

interface Shown {
  name: string;
  state: 'ok' | 'warning' | 'problem';
  text: string;
  advice: string | null;
}

let org: Organization;

beforeEach(async () => {
  org = await startOrganization({
    devices: 20,
    rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING },
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_QUIET_PERIOD: '15s' },
  });
  await org.run('dry-run');
});
afterEach(() => org.close());

async function doctor(wrong: Record<string, string> = {}): Promise<{ code: number; checks: Shown[]; bad: Shown[] }> {
  const { code, out, err } = await command(['doctor', '--format', 'json'], { ...org.env, ...wrong });
  expect(err).toBe('');
  const { checks, problems, warnings, ok } = JSON.parse(out);
  const bad = checks.filter(({ state }: Shown) => state !== 'ok');
  expect(bad).toHaveLength(problems + warnings);
  expect(ok).toBe(code === 0);
  for (const { advice } of bad) expect(advice).toMatch(/\w/);
  return { code, checks, bad };
}

const historyFolder = () => `${org.env.TRUSTWARD_DB}.history`;

/** The only check that is not ok. */
async function theOne(code: number, wrong?: Record<string, string>): Promise<Shown> {
  const found = await doctor(wrong);
  expect(found.bad, JSON.stringify(found.bad)).toHaveLength(1);
  expect(found.code).toBe(code);
  return found.bad[0] as Shown;
}

describe('a whole installation', () => {
  it('is well, without a daemon', async () => {
    await org.composition.close();
    const { code, checks, bad } = await doctor();
    expect(bad).toEqual([]);
    expect(code).toBe(0);
    const textOf = (name: string) => checks.find((check) => check.name === name)?.text;
    expect(textOf('API')).toMatch(/accepts TRUSTWARD_API_KEY \(20 devices, \d+ services\); clocks agree/);
    expect(textOf('database')).toMatch(/whole \(quick check\).*run 1 completed/);
    expect(textOf('audit')).toMatch(/the audit is whole: \d+ entries.*signed checkpoints? agrees?/);
    expect(textOf('rules')).toMatch(/2 rules in .* \(1 enforce, 1 approve\); 2 tests passed/);
    expect(textOf('daemon')).toBe('none runs on this database');
    expect(textOf('quiet period')).toMatch(/^15s: as configured; /);
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['endpoint', 'webhooks', 'disk']));
  });

  it('is well with a daemon, and shows when it started, that it is ready and accepts the token', async () => {
    const daemon: Daemon = await startDaemon(org.composition);
    const { code, checks } = await doctor();
    await daemon.stop();
    expect(code).toBe(0);
    const texts = checks.map(({ name, text }) => `${name}: ${text}`);
    expect(texts).toContainEqual(
      expect.stringMatching(
        new RegExp(`^daemon: runs since \\d{4}-\\S+ \\S+ UTC \\(process ${process.pid}, ${daemon.url}\\)`),
      ),
    );
    expect(texts).toContain(`endpoint: ${daemon.url} answers, and is ready`);
    expect(texts).toContainEqual(expect.stringMatching(/^quiet period: 15s: as configured; 3 × /));
    expect(texts).toContain('token: the endpoint accepts the token that commands send');
  });

  it('shows the mode that is in force: that of the daemon that runs, or of what begins with these settings', async () => {
    const modeIn = async (env: Record<string, string>) =>
      (await doctor(env)).checks.filter(({ name }) => name === 'mode').map(({ text }) => text);
    const daemon: Daemon = await startDaemon(org.composition);
    expect(await modeIn({ TRUSTWARD_MODE: 'enforce' })).toEqual(['enforce: that of the daemon that runs']);
    const other = ['enforce: that of the daemon that runs; with these settings the next one begins in mode dry-run'];
    expect(await modeIn({ TRUSTWARD_MODE: '' })).toEqual(other);
    await daemon.stop();
    await org.composition.close();
    const begins = 'that of a run or a daemon that begins with these settings';
    expect(await modeIn({ TRUSTWARD_MODE: 'approve' })).toEqual([`approve: ${begins} (TRUSTWARD_MODE)`]);
    expect(await modeIn({ TRUSTWARD_MODE: '' })).toEqual([
      `dry-run (nothing is changed): ${begins} (TRUSTWARD_MODE is not set, and \`run --mode\` sets another)`,
    ]);
  });

  it('is not changed by the checks: no writing request, no row, no file but the working files of SQLite', async () => {
    await org.composition.close();
    const writing = ['POST', 'PUT', 'DELETE'] as const;
    org.console.faults?.set(writing.map((method) => ({ kind: 'error', match: { method } })));
    const effects = org.console.effects().length;
    const files = () =>
      readdirSync(org.dir, { recursive: true, encoding: 'utf8' }).filter((name) => !/-(wal|shm)$/.test(name));
    const before = { files: files(), bytes: readFileSync(org.dbFile) };
    await doctor();
    expect(org.console.faults?.status().map(({ fired }) => fired)).toEqual([0, 0, 0]);
    expect(org.console.effects()).toHaveLength(effects);
    expect({ files: files(), bytes: readFileSync(org.dbFile) }).toEqual(before);
  });

  it('without a run yet is well, and nothing is made', async () => {
    const db = join(org.dir, 'new', 'trustward.db');
    expect(await doctor({ TRUSTWARD_DB: db })).toMatchObject({ code: 0, bad: [] });
    expect(() => statSync(join(org.dir, 'new'))).toThrow('ENOENT');
  });

  it('does not take a setting for a slip because a flag stands for it', async () => {
    const rules = org.env.TRUSTWARD_RULES as string;
    const { out } = await command(['doctor', '--db', org.dbFile, '--rules', rules], org.env);
    expect(out).toContain('ok       rules');
    expect(out).not.toContain('nothing reads it');
  });

  it('ends with what waits, as the summary begins', async () => {
    org.console.fleet.addDevice({ serial: 'LOST-1', mdm_compromised: 'TRUE' });
    await org.run('dry-run');
    const { out } = await command(['doctor'], org.env);
    expect(out.trimEnd().split('\n').at(-1)).toBe('1 plan waits for a yes.');
    const summary = await command(['summary'], org.env);
    expect(summary.out.split('\n')[1]).toBe('1 plan waits for a yes.');
    const fresh = await command(['doctor'], { ...org.env, TRUSTWARD_DB: join(org.dir, 'new', 'trustward.db') });
    expect(fresh.out.trimEnd().split('\n').at(-1)).toBe('All is well.');
  });

  it('shows the guards in force, and warns of one that matches nothing known and of one that devices report themselves', async () => {
    const guards = 'ask:\n  - Email: nobody@x\n  - { SerialNumber: GONE }\n  - Platform: macOS\nlast_device: ask\n';
    writeFileSync(join(org.env.TRUSTWARD_RULES as string, 'guards.yaml'), guards);
    const found = (await doctor()).checks
      .filter(({ name }) => name === 'guards')
      .map(({ state, text }) => `${state} ${text}`);
    expect(found).toEqual(
      expect.arrayContaining([
        'ok `guards.yaml` always asks a person about user nobody@x, SerialNumber = GONE, Platform = macOS',
        "ok `guards.yaml` asks before it takes a person's last device",
        'warning `guards.yaml` asks about SerialNumber = GONE, which nothing known now has',
        'warning `guards.yaml` asks about Platform = macOS',
      ]),
    );
  });

  it('has its schedule on one line', async () => {
    const { out } = await command(['doctor'], { ...org.env, TRUSTWARD_SCHEDULE: '*/15 * * * * *' });
    expect(out).toContain('`*/15 * * * * *`');
  });

  it('is described within the columns of a terminal, without any secret', async () => {
    const { out } = await command(['doctor'], org.env);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(out).not.toContain(org.env.TRUSTWARD_API_KEY);
  });
});

describe('the configuration', () => {
  it('with mistakes is reported line by line, with exit code 2', async () => {
    const { code, checks } = await doctor({ TRUSTWARD_MODE: 'all', TRUSTWARD_SCHEDULE: 'x' });
    expect(code).toBe(2);
    expect(checks).toMatchObject([
      { name: 'configuration', state: 'problem', text: expect.stringContaining('TRUSTWARD_') },
      { name: 'configuration', state: 'problem', text: expect.stringContaining('TRUSTWARD_') },
    ]);
  });

  it.each<[Record<string, string>, RegExp]>([
    [
      { TRUSTWARD_SCHEDUL: '* * * * *' },
      /TRUSTWARD_SCHEDUL is set, but Trustward has no such setting; did you mean `TRUSTWARD_SCHEDULE`/,
    ],
    [{ TRUSTWARD_QUIET_PERIOD: '1s' }, /quiet period \(1s\) is shorter than the request timeout \(10s\)/],
    [{ TRUSTWARD_LISTEN: '0.0.0.0:0' }, /listens on 0\.0\.0\.0/],
  ])('with an unwise setting is a warning: %j', async (wrong, words) => {
    expect(await theOne(0, wrong)).toMatchObject({
      name: 'configuration',
      state: 'warning',
      text: expect.stringMatching(words),
    });
  });

  it('with a key that everybody can read is a warning', async () => {
    const file = join(org.dir, 'key');
    writeFileSync(file, org.env.TRUSTWARD_API_KEY as string);
    chmodSync(file, 0o644);
    const wrong = { TRUSTWARD_API_KEY: '', TRUSTWARD_API_KEY_FILE: file };
    expect(await theOne(0, wrong)).toMatchObject({ state: 'warning', advice: `chmod 600 ${file}` });
    chmodSync(file, 0o600);
    expect(await doctor(wrong)).toMatchObject({ code: 0, bad: [] });
  });
});

describe('the API', () => {
  it('that refuses the credential is a problem, and the credential is not shown', async () => {
    const found = await theOne(1, { TRUSTWARD_API_KEY: 'canary-key-5512' });
    expect(found).toMatchObject({ name: 'API', state: 'problem', text: expect.stringContaining('401') });
    expect(JSON.stringify(found)).not.toContain('canary');
  });

  it('that forbids reading a source is a warning that names the rules', async () => {
    org.console.faults?.set([{ kind: 'error', status: 403, match: { path: '/api/v1/events' } }]);
    expect((await theOne(0)).text).toMatch(
      /^events answers 403; verdicts are always unknown for disable-failing-service$/,
    );
  });

  it('says which file its credential came from', async () => {
    await org.composition.close();
    const file = join(org.dir, 'api.key');
    writeFileSync(file, org.env.TRUSTWARD_API_KEY as string);
    const { checks } = await doctor({ TRUSTWARD_API_KEY: '', TRUSTWARD_API_KEY_FILE: file });
    expect(checks.find(({ name }) => name === 'API')?.text).toContain(
      `accepts the credential in \`${file}\` (20 devices`,
    );
  });

  it('with a clock beyond the trusted difference is a problem', async () => {
    const server = createServer((_, response) => {
      response.setHeader('Date', 'Thu, 01 Jan 2015 00:00:00 GMT');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"devices":[],"count":0}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, bad } = await doctor({ TRUSTWARD_API_URL: url, TRUSTWARD_DB: join(org.dir, 'other.db') });
    await new Promise((resolve) => server.close(resolve));
    expect(code).toBe(1);
    expect(bad[0]?.text).toMatch(/our clock is \S+ ahead of the server's: no source is trusted/);
  });
});

describe('the database and its audit', () => {
  beforeEach(() => org.composition.close());

  it('of another address are a problem', async () => {
    const { bad } = await doctor({ TRUSTWARD_API_URL: 'http://127.0.0.1:9' });
    expect(bad.map(({ name }) => name)).toEqual(['API', 'database']);
    expect(bad[1]?.text).toContain(`belongs to ${org.console.address}`);
  });

  it('with an edited entry are a problem that names the entry', async () => {
    const db = new Database(org.dbFile);
    db.exec('DROP TRIGGER audit_no_update');
    db.exec("UPDATE audit SET bytes = replace(bytes, 'kind', 'kinds') WHERE seq = 2");
    db.close();
    expect(await theOne(1)).toMatchObject({ name: 'audit', text: expect.stringContaining('broken at entry 2') });
  });

  it('older than the checkpoints outside are a problem', async () => {
    const db = new Database(org.dbFile);
    db.exec('DROP TRIGGER audit_no_delete; DROP TRIGGER checkpoints_no_delete');
    db.exec('DELETE FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)');
    db.close();
    const { code, bad } = await doctor();
    expect(code).toBe(1);
    expect(bad).toMatchObject([
      { name: 'restored', state: 'problem', advice: expect.stringMatching(/accept-restore.*resume/) },
      { name: 'audit', state: 'problem' },
    ]);
  });

  it('without the signing key are a problem before the next start fails', async () => {
    rmSync(`${org.dbFile}.audit-key`);
    expect(await theOne(1)).toMatchObject({ name: 'audit', advice: expect.stringContaining('audit new-key') });
  });

  it('with damage are a problem, and everything else is still checked', async () => {
    writeFileSync(org.dbFile, 'Dear Sir, this is no database at all. '.repeat(100));
    rmSync(`${org.dbFile}-wal`, { force: true });
    const { code, bad, checks } = await doctor();
    expect(code).toBe(1);
    expect(bad).toMatchObject([{ name: 'database', text: expect.stringContaining('SQLITE_NOTADB') }]);
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['API', 'rules', 'disk']));
  });

  it('that others can read are a warning', async () => {
    chmodSync(org.dbFile, 0o644);
    expect(await theOne(0)).toMatchObject({ name: 'database', advice: `chmod 600 ${org.dbFile}` });
  });

  it.skipIf(process.getuid?.() !== 0)('that this user cannot write are a problem', async () => {
    chmodSync(org.dir, 0o755);
    chmodSync(org.dbFile, 0o644);
    const { code, out } = await trustward(
      ['doctor', '--format', 'json'],
      { ...org.env, HOME: org.dir },
      { uid: 65_534 },
    );
    expect(code).toBe(1);
    const texts = JSON.parse(out).checks.map(({ text }: Shown) => text);
    expect(texts).toContain(`${org.dbFile} cannot be written by this user`);
    // The lock belongs to its owner alone: the other checks are shown all the same.
    expect(texts).toContainEqual(expect.stringContaining(`${org.dbFile}.lock`));
  });
});

describe('the surroundings', () => {
  it('a rule that does not load, or whose test fails, is a problem that names it', async () => {
    const file = join(org.rulesDir, 'ban.yaml');
    writeFileSync(file, BAN_COMPROMISED.replace('expect: match', 'expect: no_match'));
    expect((await theOne(1)).text).toContain('1 test of ban-compromised-device failed');
    appendFileSync(file, 'sujbect: device\n');
    expect(await theOne(1)).toMatchObject({ name: 'rules', text: expect.stringMatching(/^ban\.yaml:\d+:\d+: /) });
  });

  it('a daemon that died is a warning, and its leftover file does not count as a running one', async () => {
    await org.composition.close();
    writeFileSync(`${org.dbFile}.daemon.json`, JSON.stringify({ pid: 99, url: 'http://127.0.0.1:9' }));
    expect(await theOne(0)).toMatchObject({ name: 'daemon', text: expect.stringContaining('process 99') });
  });

  it('a daemon that is not ready, and a token that it refuses, are problems', async () => {
    const daemon = await startDaemon(org.composition);
    writeFileSync(join(org.rulesDir, 'ban.yaml'), 'id: [\n');
    await org.composition.rules.reload(async () => {});
    const { code, bad } = await doctor({ TRUSTWARD_TOKEN: 'not-the-one-0123456789' });
    await daemon.stop();
    expect(code).toBe(1);
    expect(bad.map(({ name }) => name)).toEqual(['rules', 'endpoint', 'token']);
  });

  it('a taken port of the endpoint is a problem before the start', async () => {
    await org.composition.close();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const found = await theOne(1, { TRUSTWARD_LISTEN: `127.0.0.1:${port}` });
    await new Promise((resolve) => server.close(resolve));
    expect(found).toMatchObject({ name: 'endpoint', text: expect.stringContaining(`:${port}`) });
  });

  it('a webhook whose name resolves to a private address is a problem', async () => {
    const file = join(org.dir, 'webhooks.yaml');
    writeFileSync(file, 'ops: { url: "https://localhost/x", secretEnv: OPS_SECRET }');
    const wrong = { TRUSTWARD_WEBHOOKS: file, TRUSTWARD_WEBHOOK_HOSTS: 'localhost', OPS_SECRET: 'a-secret-of-its-own' };
    expect(await theOne(1, wrong)).toMatchObject({
      name: 'webhooks',
      text: expect.stringContaining('not a public address'),
    });
  });

  it('a stop in force is a warning', async () => {
    await org.composition.engine.store.setStop({ at: 0, by: 'ana', reason: 'the MDM reports nonsense' }, []);
    expect(await theOne(0)).toMatchObject({ name: 'stop', text: expect.stringContaining('the MDM reports nonsense') });
  });
});

describe('the folder of the history', () => {
  beforeEach(async () => {
    Object.assign(org.env, { TRUSTWARD_HISTORY: '30d', TRUSTWARD_TOKEN: 'the-token-of-this-test-0001' });
    await org.restart();
    await org.run('dry-run');
    await org.composition.engine.history?.settled();
  });

  it('is a warning when others may look into it, and a problem when it is no folder', async () => {
    await org.composition.close();
    chmodSync(historyFolder(), 0o777);
    expect(await theOne(0)).toMatchObject({ name: 'history', advice: expect.stringContaining('chmod 700') });
    rmSync(historyFolder(), { recursive: true });
    writeFileSync(historyFolder(), 'x');
    expect(await theOne(1)).toMatchObject({ name: 'history', text: expect.stringContaining('it is no folder') });
    expect((await doctor({ TRUSTWARD_HISTORY: '0d' })).bad).toEqual([]);
  });

  it('is named by a daemon that cannot record: its readiness, its metrics, its alerts and this command', async () => {
    rmSync(historyFolder(), { recursive: true });
    writeFileSync(historyFolder(), 'x');
    await org.run('dry-run');
    await org.composition.engine.history?.settled();
    const conditions: Parameters<typeof org.composition.notifications.alsoAlert>[0][] = [];
    org.composition.notifications.alsoAlert = (one) => void conditions.push(one);
    const daemon: Daemon = await startDaemon(org.composition);
    const alerts = (await Promise.all(conditions.map((one) => one()))).flat();
    expect(alerts).toMatchObject([{ key: 'history', code: 'history', text: expect.stringMatching(/not recorded/) }]);
    const headers = { Authorization: `Bearer ${org.env.TRUSTWARD_TOKEN}` };
    const metrics = await (await fetch(`${daemon.url}/metrics`, { headers })).text();
    expect(metrics).toContain('trustward_history_failing 1');
    const ready = await fetch(`${daemon.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(/degraded: runs are not recorded/)]);
    const { bad } = await doctor();
    await daemon.stop();
    expect(bad.map(({ name, state }) => [name, state])).toEqual([
      ['history', 'problem'],
      ['history', 'warning'],
    ]);
  });
});
