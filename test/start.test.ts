// The process itself: what it says before it loads anything, and which modules a command loads before it answers.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { GROUPS } from '../src/faces/cli/grammar/groups.ts';
import { BUILD, built, ROOT } from './support/built.ts';
import { command as inProcess } from './support/in-process.ts';

describe('A start', () => {
  /** Prints the address of each module on standard error. */
  const LISTING = `data:text/javascript,
import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { writeSync(2, 'loaded ' + url + String.fromCharCode(10)); return next(url, context); } });`;

  const folder = mkdtempSync(join(tmpdir(), 'start-'));
  const env = { TRUSTWARD_DB: join(folder, 'trustward.db'), TRUSTWARD_RULES: join(ROOT, 'rules') };
  afterAll(() => rmSync(folder, { recursive: true }));

  interface Loaded {
    packages: string[];
    /** Of Node, without `node:`. */
    builtins: string[];
    /** Below src/, and the rooms and the commands among them. */
    files: string[];
    rooms: string[];
    commands: string[];
  }

  /** What a command loads. */
  function loadedBy(args: string[]): Loaded {
    const { PATH = '' } = process.env;
    const node = ['--import', LISTING, built('src/main.ts'), ...args];
    const { status, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8', env: { PATH, ...env } });
    expect([args, status]).toEqual([args, 0]);
    const urls = [...stderr.matchAll(/^loaded (.*)$/gm)].map(([, url]) => url as string);
    const own = urls.flatMap((url) => (url.includes(`${BUILD}/src/`) ? [url.split(`${BUILD}/src/`)[1] as string] : []));
    const packages = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
    return {
      packages: [...new Set(packages)].sort(),
      builtins: urls.flatMap((url) => /^node:(.*)/.exec(url)?.[1] ?? []),
      files: own,
      rooms: [
        ...new Set(own.map((path) => /^(?:(?:engine|faces|platform|runtime)\/)?[a-z]+(?=\/)/.exec(path)?.[0] ?? '')),
      ]
        .filter((name) => name !== '')
        .sort(),
      commands: own.filter((path) => path.startsWith('faces/cli/')).sort(),
    };
  }

  describe('a start', () => {
    it.each(['--version', '--help'])('with %s loads the grammar and no command', (flag) => {
      const { packages, commands } = loadedBy([flag]);
      expect(packages).toEqual(['commander']);
      expect(commands.filter((path) => !path.startsWith('faces/cli/grammar/'))).toEqual([
        'faces/cli/io.js',
        'faces/cli/program.js',
      ]);
    });

    it('with the name of a command loads the grammar of its group alone', () => {
      const { packages, commands } = loadedBy(['stop', '--help']);
      expect(packages).toEqual(['commander']);
      expect(commands.filter((path) => path.startsWith('faces/cli/grammar/'))).toEqual([
        'faces/cli/grammar/groups.js',
        'faces/cli/grammar/operator.js',
        'faces/cli/grammar/row.js',
      ]);
    });
  });

  describe('on a database, a start', () => {
    beforeAll(() => {
      const { PATH = '' } = process.env;
      const run = [built('src/main.ts'), 'run', '--mode', 'dry-run'];
      expect(spawnSync(process.execPath, run, { env: { PATH, ...env } }).status).toBe(0);
    });

    const READS = [
      'base',
      'contract',
      'domain',
      'faces/cli',
      'faces/report',
      'runtime/compose',
      'runtime/config',
      'runtime/system',
    ];
    it.each([
      ['report', ['better-sqlite3', 'commander'], []],
      ['decisions', ['better-sqlite3', 'commander'], []],
      ['audit list', ['better-sqlite3', 'commander', 'zod'], ['runtime/operations']],
      ['claims list', ['better-sqlite3', 'commander', 'zod'], ['runtime/operations']],
    ])(
      'with `%s` loads neither rules nor actions nor the API nor what checks configuration',
      (command, libraries, more) => {
        const { packages, rooms } = loadedBy(command.split(' '));
        expect(packages).toEqual(libraries);
        expect(rooms).toEqual([...READS, 'store', ...more].sort());
      },
    );

    it.each([
      {
        command: 'report',
        writer: 'faces/report/text.js',
        others: ['faces/report/json.js', 'faces/report/markdown.js'],
      },
      {
        command: 'report --format json',
        writer: 'faces/report/json.js',
        others: ['faces/report/text.js', 'faces/report/markdown.js'],
      },
      {
        command: 'report --format md',
        writer: 'faces/report/markdown.js',
        others: ['faces/report/text.js', 'faces/report/json.js'],
      },
    ])('with `$command` loads one writer of reports', ({ command, writer, others }) => {
      const { files } = loadedBy(command.split(' '));
      expect(files.filter((path) => [writer, ...others].includes(path))).toEqual([writer]);
    });

    it.each(['report', 'decisions', 'runs'])(
      'with `%s` loads no audit, no digests and none of the other lists',
      (command) => {
        const { files, builtins } = loadedBy([command]);
        const needless =
          /^(faces\/report\/(index|summary\/.*|notification-view|token-view|plan-text)|store\/(reader|audit-.*|acting-tables))\.js$/;
        expect(files.filter((path) => needless.test(path))).toEqual([]);
        expect(builtins.filter((name) => ['crypto', 'readline'].includes(name))).toEqual([]);
      },
    );

    it('with `stop` loads neither rules nor the API', () => {
      const { packages, rooms } = loadedBy(['stop', '--reason', 'a test']);
      const heavy = ['rules', 'platform/client', 'platform/contract', 'console', 'faces/http', 'runtime/notify'];
      expect(rooms.filter((name) => heavy.includes(name))).toEqual([]);
      expect(packages.filter((name) => ['undici', 'hono', 'yaml'].includes(name))).toEqual([]);
    });
  });

  describe('the groups of commands', () => {
    it('name every command of the help', async () => {
      const { out } = await inProcess(['--help'], {});
      const listed = [...out.matchAll(/^ {2}([a-z-]+)(?: |\|)/gm)].map(([, name]) => name);
      expect(listed.filter((name) => name !== 'help').sort()).toEqual(
        GROUPS.flatMap(({ commands }) => commands).sort(),
      );
    });

    it.each(GROUPS.flatMap(({ commands }) => commands))('know the command %s', async (name) => {
      const { out } = await inProcess([name, '--help'], {});
      expect(out).toContain(`Usage: trustward ${name} `);
    });
  });
});

describe('The process itself', () => {
  /** Runs before main.ts: another version is told, and loading anything native ends the process as it would there. */
  const OLD_NODE = `data:text/javascript,
Object.defineProperty(process.versions, 'node', { value: '20.20.2' });
process.dlopen = () => process.abort();`;

  test('a Node that is too old is refused in one line, before anything native is loaded', () => {
    const args = ['--import', OLD_NODE, built('src/main.ts'), 'doctor'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: 'trustward: Node 22 or newer is needed; this is Node 20.20.2\n',
    });
  });
});
