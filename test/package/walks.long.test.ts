// package: the walks of the README and of docs/operating.md, with the package that `npm pack` makes, and no file of this repository.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { silentLog } from '../support/organization.ts';
import { goingThrough, inOneShell, WHOLE_WALK, walkOf } from '../support/walk.ts';
import { restoreOnAnEmptyMachine } from './bare-restore.ts';
import { type Installed, packAndInstall } from './installed.ts';

let installed: Installed;
const { PATH } = process.env;
beforeAll(() => {
  installed = packAndInstall();
  process.env.PATH = [join(installed.folder, 'node_modules/.bin'), installed.env.PATH, PATH].join(delimiter);
}, 600_000);
afterAll(() => {
  process.env.PATH = PATH;
  installed?.remove();
});

it('the first ten minutes of the README lead to an applied plan with the package alone', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-package-'));
  const server = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: join(dir, 'console.db'),
    seed: { seed: 3, devices: 200, users: 120, services: 6, events: 50, compromised: 2 },
    clock: systemClock,
    log: silentLog,
  });
  const key = join(dir, 'key');
  writeFileSync(key, `${server.credentials?.apiKey}\n`);
  const { stdout } = await inOneShell(
    goingThrough(walkOf('README.md'), 'trustward', key, server.address),
    installed.folder,
  );
  expect(stdout).toMatch(WHOLE_WALK);
  expect(readFileSync(join(installed.folder, 'dry-run.md'), 'utf8')).toContain('MdmData.CompromisedStatus');
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

it('the steps for an empty machine lead back to a daemon that acts with the package alone', () =>
  restoreOnAnEmptyMachine({
    command: '',
    program: ['node_modules/.bin/trustward'],
    prepare: (machine) => {
      mkdirSync(machine, { recursive: true });
      cpSync(join(installed.folder, 'package.json'), join(machine, 'package.json'));
      symlinkSync(join(installed.folder, 'node_modules'), join(machine, 'node_modules'));
    },
  }));
