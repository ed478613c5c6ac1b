// commands: bad input, each given to the real process: one clear line on standard error with what, where and what to
// do, the right exit code, nothing on standard output, no stack trace, and no partial effect.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { takeWriterLock } from '../../../src/store/sqlite/writer-lock.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { type Ended, type StartOptions, startTrustward, trustward } from '../../support/trustward.ts';

const NOBODY = 65_534;

let org: Organization;
let dir: string;
let count = 0;

beforeAll(async () => {
  org = await startOrganization({ devices: 30 });
  await org.run('dry-run');
  await org.composition.close();
  dir = mkdtempSync(join(tmpdir(), 'trustward-bad-'));
  chmodSync(dir, 0o755);
});
afterAll(async () => {
  await org.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A valid environment with a database that does not exist yet, and the wrong settings. */
function envOf(wrong: Record<string, string> = {}): Record<string, string> {
  return { ...org.env, TRUSTWARD_DB: join(dir, `fresh-${count++}`, 'trustward.db'), ...wrong };
}

function rulesFolder(files: Record<string, string>): string {
  const folder = join(dir, `rules-${count++}`);
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** The lines of a refusal; fails when the process did not refuse properly. */
async function refusal(code: number, args: string[], env = envOf(), options: StartOptions = {}): Promise<string[]> {
  const ended: Ended = await trustward(args, env, options);
  expect(ended).toMatchObject({ code, out: '' });
  expect(ended.err).toMatch(/^trustward: /);
  expect(ended.err).not.toMatch(/\n\s+at |\bundefined\b|\[object|AppError|SqliteError|fault of Trustward/);
  return ended.err.trimEnd().split('\n');
}

describe('configuration', () => {
  it('reports all wrong values at once, and makes no database', async () => {
    const wrong = {
      TRUSTWARD_MODE: 'all',
      TRUSTWARD_SCHEDULE: 'x',
      TRUSTWARD_API_URL: 'console',
      TRUSTWARD_QUIET_PERIOD: '1',
    };
    const env = envOf(wrong);
    const lines = await refusal(2, ['serve'], env);
    for (const name of Object.keys(wrong)) expect(lines.filter((line) => line.includes(name))).toHaveLength(1);
    expect(lines).toHaveLength(4);
    expect(existsSync(join(env.TRUSTWARD_DB as string, '..'))).toBe(false);
  });
});

describe('arguments', () => {
  it.each<[string[], RegExp]>([
    [['bna'], /^trustward: unknown command 'bna'.*`trustward --help`/],
    [['run', '--mod', 'enforce'], /unknown option '--mod'.*--mode/],
    [['run', '--mode', 'all'], /'--mode <mode>'.*Allowed choices are dry-run, approve, enforce/],
    [['serve', '--watch', 'often'], /^trustward: configuration: --watch is `often`/],
    [['run', '--format', 'pdf'], /^trustward: --format is `pdf`: expected text, json, md, csv, html$/],
    [['run', '--rule', 'ban-all'], /^trustward: there is no active rule `ban-all`: active are ban-compromised-device$/],
  ])('%j', async (args, words) => {
    const lines = await refusal(2, args);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(words);
  });

  it('without a command the help goes to standard error', async () => {
    const ended = await trustward([], envOf());
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toMatch(/^Usage: trustward /);
  });
});

describe('the API', () => {
  it('that cannot be reached is reported with its address, and nothing is judged', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((resolve) => closed.close(resolve));
    const env = envOf({ TRUSTWARD_API_URL: url });
    const lines = await refusal(1, ['run', '--mode', 'enforce'], env);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`Management API at ${url}: nothing was judged`);
  });

  it('that refuses the credential is reported, and the credential is not shown', async () => {
    const lines = await refusal(1, ['run'], envOf({ TRUSTWARD_API_KEY: 'canary-key-8812' }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/401|refused/);
    expect(lines[0]).toMatch(/TRUSTWARD_API_KEY/);
    expect(lines[0]).not.toContain('canary');
  });
});

describe('rules', () => {
  const BROKEN = {
    'good.yaml': BAN_COMPROMISED,
    'bad.yaml': BAN_COMPROMISED.replace('subject: device', 'subject: devcie'),
  };

  it('a broken file is reported with file, line and column, and no database is made', async () => {
    const rules = rulesFolder({ ...BROKEN, 'worse.yaml': 'id: [\n' });
    const env = envOf({ TRUSTWARD_RULES: rules });
    const lines = await refusal(2, ['run'], env);
    expect(lines.some((line) => /bad\.yaml:5:\d+: /.test(line))).toBe(true);
    expect(lines.some((line) => /worse\.yaml:\d+:\d+: /.test(line))).toBe(true);
    expect(existsSync(env.TRUSTWARD_DB as string)).toBe(false);
    expect(await refusal(2, ['rules', 'check', '--format', 'json'], env)).toEqual(lines);
  });

  it('an empty folder, or a file in its place, is refused', async () => {
    const [empty] = await refusal(2, ['serve'], envOf({ TRUSTWARD_RULES: rulesFolder({}) }));
    expect(empty).toMatch(/there is no rule in `.*`.*TRUSTWARD_RULES/);
    const [file] = await refusal(2, ['rules', 'list', '--rules', 'package.json'], envOf());
    expect(file).toMatch(/`package\.json` cannot be read \(ENOTDIR\)/);
  });
});

describe('the database', () => {
  it('that another process writes to is refused at once', async () => {
    const env = envOf();
    const lock = takeWriterLock(env.TRUSTWARD_DB as string);
    try {
      const [line] = await refusal(1, ['run'], env);
      expect(line).toMatch(/`.*trustward\.db` has an active writer: stop it first, or use another TRUSTWARD_DB/);
    } finally {
      lock.release();
    }
  });

  it('that belongs to another organization is refused with both addresses', async () => {
    const env = envOf({ TRUSTWARD_DB: org.dbFile, TRUSTWARD_API_URL: 'https://other.example' });
    const [line] = await refusal(2, ['run'], env);
    expect(line).toContain(org.console.address);
    expect(line).toContain('https://other.example');
  });

  it('that is another kind of file is refused and left unchanged', async () => {
    const file = join(dir, 'letter.db');
    writeFileSync(file, 'Dear Sir, this is no database, but it is long enough to look like one. '.repeat(20));
    const [line] = await refusal(1, ['run'], envOf({ TRUSTWARD_DB: file }));
    expect(line).toMatch(/`.*letter\.db` \(SQLITE_NOTADB\): it is damaged or not a database/);
  });

  it.skipIf(process.getuid?.() !== 0)('in a folder that cannot be written is refused', async () => {
    const folder = join(dir, 'read-only');
    mkdirSync(folder, { mode: 0o755 });
    const rules = rulesFolder({ 'ban.yaml': BAN_COMPROMISED });
    const env = envOf({ TRUSTWARD_DB: join(folder, 'x.db'), TRUSTWARD_RULES: rules, HOME: dir });
    const [line] = await refusal(1, ['run'], env, { uid: NOBODY });
    expect(line).toMatch(/`.*x\.db` \(EACCES\): it cannot be written: check the owner and mode/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that does not exist is not made by reading', async () => {
    const env = envOf();
    for (const args of [['report'], ['audit', 'verify', '--format', 'json']]) {
      const [line] = await refusal(1, args, env);
      expect(line).toMatch(/there is no database at `.*trustward\.db`: run `trustward run` first, or set TRUSTWARD_DB/);
    }
    expect(existsSync(env.TRUSTWARD_DB as string)).toBe(false);
  });
});

describe('places', () => {
  it('a busy port is reported with its address', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const env = envOf({ TRUSTWARD_LISTEN: `127.0.0.1:${port}` });
    const [line] = await refusal(1, ['serve'], env);
    expect(line).toMatch(
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: another process uses it.*TRUSTWARD_LISTEN`),
    );
    expect(existsSync(env.TRUSTWARD_DB as string)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  });

  it('a rule that is not active is named before anything is made', async () => {
    const env = envOf();
    const [line] = await refusal(2, ['run', '--rule', 'nope'], env);
    expect(line).toContain('there is no active rule `nope`: active are ');
    expect(existsSync(env.TRUSTWARD_DB as string)).toBe(false);
  });

  it('an --out that cannot be written is reported before anything is done', async () => {
    const env = envOf();
    const [missing] = await refusal(2, ['run', '--mode', 'enforce', '--out', join(dir, 'no', 'where.md')], env);
    expect(missing).toMatch(/^trustward: --out: `.*where\.md` cannot be written \(ENOENT\)/);
    expect(existsSync(env.TRUSTWARD_DB as string)).toBe(false);
    const [folder] = await refusal(2, ['rules', 'schema', '--out', dir], env);
    expect(folder).toMatch(/\(EISDIR\)/);
  });
});

describe('the console command', () => {
  it('refuses an invalid number before it makes a database, and refuses a busy port', async () => {
    const db = join(dir, 'console.db');
    const [number] = await refusal(2, ['console', '--db', db, '--devices', 'many']);
    expect(number).toBe('trustward: --devices is `many`: expected a whole number from 0 to 1000000');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(existsSync(db)).toBe(false);
    const [busy] = await refusal(1, ['console', '--db', db, '--listen', `127.0.0.1:${port}`]);
    expect(busy).toContain(`127.0.0.1:${port}`);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('the help', () => {
  it('fits into 100 columns, goes to standard output, and lists the exit codes', async () => {
    const ended = await trustward(['--help'], {});
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(Math.max(...ended.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    for (const code of [0, 1, 2, 3]) expect(ended.out).toContain(`\n  ${code}  `);
  });
});

describe('a run that is asked to end', () => {
  it('ends within its grace with one line, and is recorded as aborted', async () => {
    const env = envOf({ TRUSTWARD_DB: join(dir, 'ended', 'trustward.db') });
    org.console.faults?.set([{ kind: 'latency', match: { path: '/api/v1/devices' }, ms: 400 }]);
    const started = startTrustward(['run', '--format', 'json'], env);
    while (!org.console.faults?.status().some(({ fired }) => fired > 0)) await systemClock.sleep(5);
    started.child.kill('SIGTERM');
    const ended = await started.ended;
    org.console.faults?.clear();
    expect(ended).toMatchObject({ code: 1, signal: null, out: '' });
    expect(ended.err).toBe('trustward: the process is being stopped\n');
    const report = await trustward(['report', '--format', 'json'], env);
    expect(JSON.parse(report.out).run).toMatchObject({ status: 'aborted', error: 'the process is being stopped' });
  });
});
