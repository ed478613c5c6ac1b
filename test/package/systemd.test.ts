// package: the unit of systemd: it is valid, well sealed, and names only settings that are read.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/built.ts';
import { namesRead, settingsIn } from '../support/settings.ts';

const UNIT = join(ROOT, 'ops/systemd/trustward.service');
const EXAMPLE = join(ROOT, 'ops/systemd/trustward.env.example');
const unit = readFileSync(UNIT, 'utf8');

/** On the scale of `systemd-analyze security`: 10 is a service without any limit. It was 1.3 with systemd 252. */
const EXPOSURE_MAX = 1.5;

const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!isThere) process.stdout.write('systemd-analyze is not there: the unit is not verified\n');

it('of systemd names only settings that are read, and no secret', () => {
  const named = [unit, readFileSync(EXAMPLE, 'utf8')].map(settingsIn);
  for (const names of named) expect(namesRead()).toEqual(expect.arrayContaining(names));
  expect(unit).not.toMatch(/(KEY|TOKEN)=/);
});

it('of systemd gives the daemon time to end, and does not restart it after a mistake in its settings', () => {
  const values = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]));
  expect(Number(values.get('TimeoutStopSec'))).toBeGreaterThan(20);
  expect(values.get('Restart')).toBe('on-failure');
  expect(values.get('RestartPreventExitStatus')).toBe('2');
});

it.skipIf(!isThere)('of systemd is valid', () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-unit-'));
  try {
    const file = join(folder, 'trustward.service');
    // The Node of this machine may be elsewhere: systemd looks whether the program is there.
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it.skipIf(!isThere)(`of systemd leaves an exposure of ${EXPOSURE_MAX} at most`, () => {
  const args = ['security', '--offline=true', '--no-pager', UNIT];
  const { stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const found = stdout.match(/Overall exposure level for trustward\.service: ([\d.]+)/)?.[1];
  process.stdout.write(`exposure of the unit: ${found}\n`);
  expect(Number(found)).toBeLessThanOrEqual(EXPOSURE_MAX);
});

it('of a worker is that of the daemon, with the settings of many organizations', () => {
  const worker = readFileSync(join(ROOT, 'ops/systemd/trustward-worker.service'), 'utf8');
  const example = readFileSync(join(ROOT, 'ops/systemd/worker.env.example'), 'utf8');
  for (const text of [worker, example]) expect(namesRead()).toEqual(expect.arrayContaining(settingsIn(text)));
  const own = (text: string) =>
    text.split('\n').filter((line) => /^(Protect|Private|Restrict|System|Cap|No|Kill|Lock)/.test(line));
  expect(own(worker)).toEqual(own(unit).filter((line) => line !== 'PrivateUsers=yes'));
  expect(worker).toMatch(/^ExecStart=.* worker$/m);
  expect(worker).not.toMatch(/PASSWORD=|KEY=/);
});

it('of systemd leaves what Node and the daemon need: memory that it writes and runs, and the id of the boot', () => {
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=(yes|true)/m);
  expect(unit).not.toMatch(/^ProcSubset=pid/m);
});
