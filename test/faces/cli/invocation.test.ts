// commands: the name of a command in texts for people: as this process was started. In: ways to start it. Out: tests.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { asInvoked, invocation, invokedAs } from '../../../src/faces/cli/io.ts';
import { BIN, BUILD } from '../../support/built.ts';

const PATH = '/usr/local/bin:/usr/bin';

describe('a command in a text', () => {
  it.each([
    ['through npx', '/home/ana/tw/node_modules/.bin/trustward', { npm_command: 'exec', PATH }, 'npx trustward'],
    ['through npm start', '/home/ana/tw/dist/main.js', { npm_command: 'run-script', PATH }, 'npx trustward'],
    ['from PATH', '/usr/local/bin/trustward', { PATH }, 'trustward'],
    ['by the link of a package', '/home/ana/tw/node_modules/.bin/trustward', { PATH }, 'npx trustward'],
    ['by another link', '/opt/my tools/trustward', { PATH }, "'/opt/my tools/trustward'"],
    ['as a file below this folder', '/home/ana/tw/dist/main.js', { PATH }, 'node dist/main.js'],
    ['as a file elsewhere', '/opt/tw/dist/main.js', { PATH }, 'node /opt/tw/dist/main.js'],
  ])('is named as this process was started: %s', (_, program, env, name) => {
    expect(invokedAs({ program, env, folder: '/home/ana/tw' })).toBe(name);
  });
});

describe('a process', () => {
  const run = (program: string, ...args: string[]) => {
    const env = { PATH: BIN };
    const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', env, cwd: BUILD });
    return stdout + stderr;
  };

  it.each([
    ['trustward', join(BIN, 'trustward')],
    ['node src/main.js', 'src/main.js'],
  ])('that was started as `%s` names commands so in help and in mistakes', (name, program) => {
    const help = run(program, 'stop', '--help');
    expect(help).toContain(`Usage: ${name} stop `);
    expect(help).toContain(`\n  ${name} stop --reason `);
    expect(run(program, 'stopp')).toContain(`\`${name} --help\` lists the commands`);
  });
});

describe('a text for people', () => {
  afterEach(() => {
    invocation.command = 'trustward';
    invocation.organization = undefined;
  });

  it.each([
    [
      'run `trustward run` first, then `trustward resume --reason …`',
      'run `npx trustward run` first, then `npx trustward resume --reason …`',
    ],
    ['  trustward report    what', '  npx trustward report    what'],
    ['Usage: trustward audit [options]', 'Usage: npx trustward audit [options]'],
    ['  set +a; trustward doctor', '  set +a; npx trustward doctor'],
    ['`trustward COMMAND --help`', '`npx trustward COMMAND --help`'],
  ])('names the commands in `%s` so', (text, shown) => {
    invocation.command = 'npx trustward';
    expect(asInvoked(text)).toBe(shown);
  });

  it.each([
    ['run `trustward approve p1`', 'run `trustward approve --org acme p1`'],
    [
      '`trustward audit verify` and `trustward plans`',
      '`trustward audit verify --org acme` and `trustward plans --org acme`',
    ],
    ['  trustward exempt list', '  trustward exempt list --org acme'],
    ['`trustward intents\n  list`', '`trustward intents\n  list --org acme`'],
    ['`trustward resume --reason … --org beta`', '`trustward resume --reason … --org beta`'],
    ['`trustward tokens list --all-organizations`', '`trustward tokens list --all-organizations`'],
    ['`trustward organizations check`, `trustward worker`', '`trustward organizations check`, `trustward worker`'],
    ['trustward: run it again', 'trustward: run it again'],
  ])('names the organization that was named, where a command needs it: %s', (text, shown) => {
    invocation.organization = 'acme';
    expect(asInvoked(text)).toBe(shown);
    expect(asInvoked(shown)).toBe(shown);
    invocation.command = 'npx trustward';
    expect(asInvoked(text)).toBe(shown.replaceAll(/(^ *|`)trustward /g, '$1npx trustward '));
  });

  it('names no organization that has not the form of one', () => {
    invocation.organization = 'x; rm -r ~';
    expect(asInvoked('`trustward plans`')).toBe('`trustward plans`');
  });

  it.each(['trustward: a mistake', 'the folder trustward and more', 'Trustward is running', '│ `trustward resume` │'])(
    'leaves `%s` as it is',
    (text) => {
      invocation.command = 'npx trustward';
      expect(asInvoked(text)).toBe(text);
    },
  );
});
