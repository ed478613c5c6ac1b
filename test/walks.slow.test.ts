// The walks of the docs, run as a person goes through them: the README's first ten minutes, the examples of docs/library.md, docs/history.md, and
// docs/operating.md on an empty machine. They never reach further than loopback.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Console, startConsole } from '../src/console/console.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { restoreOnAnEmptyMachine } from './package/bare-restore.ts';
import { built, ROOT } from './support/built.ts';
import { silentLog } from './support/organization.ts';
import { recordMonth, wrongAfternoon } from './support/recorded-month.ts';
import { goingThrough, inOneShell, WHOLE_WALK, walkOf } from './support/walk.ts';

const COMMAND = `trustward() { "${process.execPath}" "${built('src/main.ts')}" "$@"; }`;

describe('the first ten minutes of the README', () => {
  let dir: string;
  let server: Console;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-docs-'));
    server = await startConsole({
      listen: { host: '127.0.0.1', port: 0 },
      dbFile: join(dir, 'console.db'),
      seed: { seed: 3, devices: 200, users: 120, services: 6, events: 50, compromised: 2 },
      clock: systemClock,
      log: silentLog,
    });
    writeFileSync(join(dir, 'trustward.key'), `${server.credentials?.apiKey}\n`, { mode: 0o600 });
  });
  afterAll(async () => {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const shell = (script: string, env: Record<string, string> = {}) => inOneShell(`${COMMAND}\n${script}`, dir, env);
  const walk = walkOf('README.md');
  const going = (blocks: string[], folder: string, key: string) => goingThrough(blocks, folder, key, server.address);

  it('lead from a dry run to a plan that is applied, and to an audit that is whole', { timeout: 300_000 }, async () => {
    const { stdout } = await shell(going(walk, 'trustward', join(dir, 'trustward.key')));
    expect(stdout).toMatch(WHOLE_WALK);
    expect(readFileSync(join(dir, 'dry-run.md'), 'utf8')).toContain('MdmData.CompromisedStatus');
    expect(server.effects().filter((effect) => effect.kind === 'device_banned')).toHaveLength(2);
  });

  it('need no more than a key that reads until something is approved', { timeout: 300_000 }, async () => {
    const key = join(dir, 'read-only.key');
    writeFileSync(key, server.issueApiKey('reads', 'ReadOnly'));
    const reading = walk.filter((block) => !block.includes('apply') && !block.includes('enforce'));
    const { stdout } = await shell(going(reading, 'reading', key));
    expect(stdout).toContain('nothing was changed.');
    expect(stdout).not.toContain('not available (403)');
  });

  it('end with exit code 2 and one line where NODE_ENV=production has no API address', async () => {
    const failure = await shell('trustward serve', {
      NODE_ENV: 'production',
    }).catch((error) => error);
    expect(failure).toMatchObject({ code: 2, stdout: '' });
    expect(failure.stderr.trim().split('\n')).toEqual([expect.stringContaining('TRUSTWARD_API_URL is not set')]);
  });
});

describe('the examples of docs/library.md', () => {
  const example = (name: string) =>
    [...readFileSync(join(ROOT, 'docs/library.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].find(([, block]) =>
      block?.includes(`from '${name}'`),
    )?.[1] ?? '';

  it('reads pages of a real server', { timeout: 300_000 }, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'trustward-docs-'));
    const server = await startConsole({
      listen: { host: '127.0.0.1', port: 0 },
      dbFile: join(dir, 'console.db'),
      seed: { seed: 1, devices: 30, users: 20 },
      clock: systemClock,
      log: silentLog,
    });
    const file = join(dir, 'example.mts');
    writeFileSync(file, example('trustward').replace("'trustward'", `'${built('src/index.ts')}'`));
    const env = { ...process.env, API_URL: server.address, API_KEY: server.credentials?.apiKey };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    expect(stdout).toBe('30 of 30 devices\n');
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('judges a record by the shipped rules', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'trustward-docs-'));
    const file = join(dir, 'example.mts');
    writeFileSync(file, example('trustward/rules').replace("'trustward/rules'", `'${built('src/rules.ts')}'`));
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: ROOT });
    expect(stdout).toMatch(/^\d+ tests passed\nban-compromised-device: match \n/);
    expect(stdout).toMatch(/ban-denied-corporate-device: unknown \w/);
    rmSync(dir, { recursive: true, force: true });
  });
});

describe('the walk from a first draft to a mode', () => {
  let dir: string;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-walk-'));
    cpSync(join(ROOT, 'rules'), join(dir, 'rules'), { recursive: true });
    await recordMonth(dir, { devices: 250, happens: wrongAfternoon });
  }, 120_000);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('shows the wrong forty, the change that spares them, and the evidence for a mode', {
    timeout: 300_000,
  }, async () => {
    const blocks = walkOf('docs/history.md');
    expect(blocks).toHaveLength(6);
    const env = { TRUSTWARD_DB: join(dir, 'trustward.db'), TRUSTWARD_RULES: 'rules' };
    const { stdout } = await inOneShell([COMMAND, ...blocks].join('\n'), dir, env);
    const told = stdout.replace(/\s+/g, ' ');
    expect(told).toMatch(
      /Would have banned 43 devices of 43 people; at most 40 in one run.*Would have banned 3 devices of 3 people.*they differ: diff.md names who/,
    );
    const diff = readFileSync(join(dir, 'diff.md'), 'utf8');
    expect(diff).toContain('over the recorded time nobody would be added and 40 subjects would go');
    expect(diff.match(/^\| device d\d+, person/gm)).toHaveLength(20);
    expect(readFileSync(join(dir, 'rules/ban-not-compliant-device.yaml'), 'utf8')).toMatch(/^mode: approve$/m);
  });
});

it(
  'the steps for an empty machine lead from a backup to a daemon that acts, and nothing is done twice',
  {
    timeout: 400_000,
  },
  () =>
    restoreOnAnEmptyMachine({
      command: COMMAND,
      program: [process.execPath, built('src/main.ts')],
    }),
);
