// test package: a machine that works, is lost, and comes back on an empty one by the commands of docs/operating.md.
// In: how the program runs. Out: what a test asserts: output, changes on the platform, what the daemon does afterwards.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Console, startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { silentLog } from '../support/organization.ts';
import { goingThrough, inOneShell, walkOf } from '../support/walk.ts';

const PAGE = 'docs/operating.md';

/** A shell function or nothing, before the script; and the program with its first arguments. */
export interface Runner {
  command: string;
  program: string[];
  /** Makes a new machine's folder able to run it. */
  prepare?(machine: string): void;
}

/** Errors: of an expectation. */
export async function restoreOnAnEmptyMachine({ command, program, prepare }: Runner): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-restore-'));
  const [machine, backups] = [join(dir, 'machine'), join(dir, 'backups')];
  for (const folder of [machine, backups]) mkdirSync(folder);
  const server = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: join(dir, 'console.db'),
    seed: { seed: 3, devices: 60, users: 30, services: 4, events: 20, compromised: 2 },
    clock: systemClock,
    log: silentLog,
  });
  const key = join(dir, 'key');
  writeFileSync(key, `${server.credentials?.apiKey}\n`);
  const shell = (script: string) => inOneShell(`${command}\n${script.replaceAll('/backups', backups)}`, machine);
  const enforce = (name: string) => `perl -pi -e 's/^mode: dry-run/mode: enforce/' trustward/rules/${name}.yaml`;
  try {
    prepare?.(machine);
    const [init = ''] = walkOf('README.md');
    const load = 'set -a; . trustward/trustward.env; set +a';
    const allow = ['echo TRUSTWARD_MODE=enforce >> trustward/trustward.env', enforce('ban-compromised-device'), load];
    await shell([goingThrough([init], 'trustward', key, server.address), ...allow, 'trustward run'].join('\n'));
    expect(bans(server)).toHaveLength(2);
    const [keep = ''] = walkOf(PAGE, 'keep');
    await shell(
      `${load}\ntrustward exempt add device EXEMPT-1 --unseen --owner ana --reason "the director" --until 30d\n${keep}`,
    );

    // After the backup: one more ban, which the backup does not know. Then the machine is gone.
    server.fleet.addDevice({ serial: 'SINCE-1', mdm_compromised: 'TRUE' });
    await shell(`${load}\ntrustward run`);
    expect(bans(server)).toHaveLength(3);
    renameSync(machine, join(dir, 'lost'));
    mkdirSync(machine);
    prepare?.(machine);
    server.fleet.addDevice({ serial: 'WAITING-1', mdm_compromised: 'TRUE' });
    server.fleet.addDevice({ serial: 'EXEMPT-1', mdm_compromised: 'TRUE' });

    const steps = walkOf(PAGE, 'restore');
    const before = server.writes().length;
    const { stdout } = await shell(steps.slice(0, -1).join('\n'));
    expect(stdout).toContain('whole (integrity check)');
    expect(stdout).toContain('It is stopped, and every run is a dry run');
    expect(server.writes()).toHaveLength(before);
    const resumed = await shell(`${load}\n${steps.at(-1)}`);
    expect(resumed.stdout).toMatch(/^(All is well|\d+ plans? waits? for a yes)\.$/m);
    expect(server.writes()).toHaveLength(before);

    await serveUntil(/ban_device WAITING-1: succeeded/, machine, program, load);
    const { stdout: verified } = await shell(`${load}\ntrustward audit verify`);
    expect(verified).toContain('the audit is whole');
    expect(bans(server)).toHaveLength(4);
    // INVARIANT: nothing that was done is done again: each device was written to once, the exempt one never.
    const touched = server.writes().map(({ address, body }) => `${address} ${body}`);
    for (const serial of ['SINCE-1', 'WAITING-1'])
      expect(touched.filter((call) => call.includes(serial))).toHaveLength(1);
    expect(touched.filter((call) => call.includes('EXEMPT-1'))).toEqual([]);
    expect(touched).toHaveLength(4);
    expect(existsSync(join(machine, 'trustward/data/trustward.db.checkpoints'))).toBe(true);
  } finally {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const bans = (server: Console) => server.effects().filter(({ kind }) => kind === 'device_banned');

/** Runs the daemon until its log has the line, and one more run after that has ended. */
async function serveUntil(line: RegExp, cwd: string, program: string[], load: string): Promise<void> {
  const { PATH, HOME, TMPDIR } = process.env;
  const place = {
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: '* * * * * *',
    TRUSTWARD_LOG_FORMAT: 'plain',
    TRUSTWARD_PER_DAY_TIMES: '10',
  };
  const script = `${load}\nexec "$@" serve`;
  const daemon = spawn('bash', ['-c', script, 'serve', ...program], {
    cwd,
    env: { PATH, HOME, TMPDIR, ...place },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 200_000,
  });
  let heard = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [daemon.stdout, daemon.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        heard += text;
        const after = heard.slice(heard.search(line));
        if (line.test(heard) && (after.match(/run \d+ \(enforce\) is done/g)?.length ?? 0) > 1) resolve();
      });
    daemon.on('exit', () => reject(new Error(`the daemon ended: ${heard}`)));
  });
  daemon.kill('SIGTERM');
  expect((await once(daemon, 'exit'))[0]).toBe(0);
}
