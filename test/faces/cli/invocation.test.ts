// commands: the name of a command in texts for people: as this process was started. In: ways to start it. Out: tests.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { GROUPS, HELP_GROUPS } from '../../../src/faces/cli/grammar/groups.ts';
import { asInvoked, faultText, invocation, invokedAs, leaveOutRules, settingsOf } from '../../../src/faces/cli/io.ts';
import { BIN, BUILD, ROOT } from '../../support/built.ts';
import { command } from '../../support/in-process.ts';

const PATH = '/usr/local/bin:/usr/bin';

/** npm puts the folder on the PATH of what it starts, and of nothing else. */
const npx = { npm_command: 'exec', PATH: `/home/ana/tw/node_modules/.bin:${PATH}` };

describe('a command in a text', () => {
  it.each([
    ['from PATH', '/usr/local/bin/trustward', { PATH }, 'trustward'],
    ['through npx', '/home/ana/tw/node_modules/.bin/trustward', npx, '/home/ana/tw/node_modules/.bin/trustward'],
    [
      'through npm start',
      '/home/ana/tw/dist/main.js',
      { npm_command: 'run-script', PATH },
      '/home/ana/tw/dist/main.js',
    ],
    ['by another link', '/opt/my tools/trustward', { PATH }, "'/opt/my tools/trustward'"],
  ])('is named as this process was started: %s', (_, program, env, name) => {
    expect(invokedAs({ program, env, isExecutable: true })).toBe(name);
    expect(name).not.toMatch(/^npx/);
  });

  it('begins with the Node that runs it, where the file is no program by itself', () => {
    const program = '/home/ana/tw/main.js';
    expect(invokedAs({ program, env: { PATH }, isExecutable: false })).toBe(`node ${program}`);
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
    [`node ${join(BUILD, 'src/main.js')}`, 'src/main.js'],
  ])('that was started as `%s` names commands so in help and in mistakes', (name, program) => {
    const help = run(program, 'stop', '--help');
    expect(help).toContain(`Usage: ${name} stop `);
    expect(help).toContain(`\n  ${name} stop --reason `);
    expect(run(program, 'stopp')).toContain(`\`${name} --help\` lists the commands`);
  });
});

describe('a mistake', () => {
  const words =
    'exempt add needs --reason <text>, --owner <who> and --until <when>; `trustward exempt add --help` shows what it takes';

  it('is broken at the width of a terminal, and no command in it; a script reads one line', () => {
    invocation.settings = []; // another file's command may have been given some
    const error = new AppError('usage', words);
    const lines = faultText(error, '', { isTTY: true, columns: 50 } as typeof process.stderr).split('\n');
    expect(lines.length).toBeGreaterThan(2);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(50);
    expect(lines.join(' ')).toBe(words);
    expect(lines.some((line) => line.includes('`trustward exempt add --help`'))).toBe(true);
    expect(faultText(error, '', { isTTY: false } as typeof process.stderr)).toBe(words);
  });

  it.each([
    [
      'exempt add',
      'exempt add needs <name> or --selector <field=value>, --reason <text>, --owner <who> and --until <when>; `trustward exempt add --help` ',
    ],
    [
      'exempt add device --reason x --until 3d',
      'exempt add needs <name> or --selector <field=value> and --owner <who>;',
    ],
    [
      'exempt add device X --selector Groups=x',
      'exempt add takes <name> or --selector <field=value>, one of the two; ',
    ],
    ['intents resolve', 'intents resolve needs <id>, --reason <text> and --as <done|not-done|retry>; `trustward '],
    [
      'claims release',
      'claims release needs <target> and --reason <text>, or --rule <id>; `trustward claims release --help` ',
    ],
    ['claims release --reason x', 'claims release needs <target> or --rule <id>; `trustward '],
    ['claims release C02', 'claims release needs --reason <text>; `trustward '],
    ['claims release C02 --rule r', 'claims release takes <target> or --rule <id>, one of the two; `trustward '],
    ['approve', 'approve needs <plan>; `trustward approve --help` shows what it takes'],
    ['runs --foo', "unknown option '--foo'; `trustward runs --help` shows what it takes"],
    ['ban x', '`trustward approve PLAN` says yes'],
    ['unban x', '`trustward claims release TARGET --reason TEXT`'],
    ['undo x', '`trustward claims release TARGET --reason TEXT`'],
    ['release x', '`trustward claims release TARGET --reason TEXT`'],
    ['status', '`trustward inbox` lists what waits for you'],
    ['login', 'login needs --endpoint <url> (or TRUSTWARD_ENDPOINT)'],
  ])('names all that is missing, or what does it, at once: %s', async (line, said) => {
    const { code, err } = await command(line.split(' '), {});
    expect(code).toBe(2);
    expect(err).toContain(said);
  });
});

describe('a command that answers something that there must be', () => {
  it.each([
    'approve 01m8 --digest 0123456789abcdef',
    'reject 01m8 --reason x',
    'apply 01m8',
    'claims release C02 --reason x',
    'claims release --rule r',
    'intents resolve i --as done --reason x',
    'exempt end e --reason x',
    'exempt add device C02 --unseen --owner o --until 3d --reason x',
    'resume --reason x',
    'why C02',
    'explain r C02',
  ])('makes no database where there is none: %s', async (line) => {
    const folder = mkdtempSync(join(tmpdir(), 'trustward-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const db = join(folder, 'data', 'x.db');
    const { code, err } = await command([...line.split(' '), '--db', db], { TRUSTWARD_RULES: join(ROOT, 'rules') });
    expect(code).toBe(1);
    expect(err).toContain(`there is no database at \`${db}\``);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});

describe('the help', () => {
  it('groups every command, what a person begins with first', async () => {
    expect(HELP_GROUPS.flatMap(([, names]) => names).sort()).toEqual(GROUPS.flatMap(({ commands }) => commands).sort());
    const { out } = await command(['--help'], {});
    const titles = HELP_GROUPS.map(([title]) => out.indexOf(`\n${title}\n`));
    expect(titles.every((at) => at > 0)).toBe(true);
    expect(titles).toEqual(titles.toSorted((one, other) => one - other));
  });
});

describe('a text for people', () => {
  afterEach(() => {
    invocation.command = 'trustward';
    invocation.organization = undefined;
    invocation.settings = [];
  });

  it('has the settings that options gave, so that a command can be pasted in another folder', () => {
    invocation.settings = settingsOf({}, { db: "it's/$&.db", rules: `a${delimiter}/b`, apiUrl: 'https://x.example' });
    const set = `TRUSTWARD_DB='${resolve("it's/$&.db").replace("'", "'\\''")}' TRUSTWARD_API_URL=https://x.example TRUSTWARD_RULES=${resolve('a')}:/b`;
    expect(asInvoked('`trustward open`')).toBe(`\`${set} trustward open\``);
    expect(asInvoked('  trustward why X')).toBe(`  ${set} trustward why X`);
    expect(asInvoked(asInvoked('`trustward open`'))).toBe(asInvoked('`trustward open`'));
    leaveOutRules();
    expect(asInvoked('`trustward open`')).not.toContain('RULES');
  });

  it.each([
    [{ TRUSTWARD_DB: 'x.db' }, { db: 'x.db' }, []],
    [{ TRUSTWARD_DB: resolve('x.db') }, { db: 'x.db' }, []],
    [{ TRUSTWARD_DB: 'y.db' }, { db: '/x.db' }, ['TRUSTWARD_DB=/x.db']],
    [
      {},
      { db: 'postgres://ana@host/name?sslmode=require' },
      ["TRUSTWARD_DB='postgres://ana@host/name?sslmode=require'"],
    ],
    [{}, { db: 'postgres://ana:hunter2@host/name' }, []],
    [{}, { db: 'postgres://ana@host/name?password=hunter2' }, []],
    [{}, { apiUrl: 'https://ana:hunter2@host' }, []],
    [{}, { apiUrl: 'https://host:8443' }, ['TRUSTWARD_API_URL=https://host:8443']],
    [{}, {}, []],
  ])('has none that the environment has, and no password: %j %j', (env, flags, settings) => {
    expect(settingsOf(env, flags)).toEqual(settings);
  });

  it.each([
    [
      ['why', 'X', '--db', '/nowhere/x.db', '--rules', 'rules'],
      `run \`TRUSTWARD_DB=/nowhere/x.db TRUSTWARD_RULES=${resolve('rules')} trustward run\``,
    ],
    [['inbox', '--db', '/nowhere/x.db'], 'run `TRUSTWARD_DB=/nowhere/x.db trustward run`'],
    [['open', '--db', '/nowhere/x.db'], 'start `TRUSTWARD_DB=/nowhere/x.db trustward serve`'],
    [['inbox'], 'run `trustward run`'],
  ])('has those of the command that prints it: %j', async (args, said) => {
    expect(asInvoked((await command(args, {})).err)).toContain(said);
  });

  it.each([
    [
      'run `trustward run` first, then `trustward resume --reason …`',
      'run `/opt/trustward run` first, then `/opt/trustward resume --reason …`',
    ],
    ['  trustward report    what', '  /opt/trustward report    what'],
    ['Usage: trustward audit [options]', 'Usage: /opt/trustward audit [options]'],
    ['  set +a; trustward doctor', '  set +a; /opt/trustward doctor'],
    ['`trustward COMMAND --help`', '`/opt/trustward COMMAND --help`'],
  ])('names the commands in `%s` so', (text, shown) => {
    invocation.command = '/opt/trustward';
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
    invocation.command = '/opt/trustward';
    expect(asInvoked(text)).toBe(shown.replaceAll(/(^ *|`)trustward /g, '$1/opt/trustward '));
  });

  it('names no organization that has not the form of one', () => {
    invocation.organization = 'x; rm -r ~';
    expect(asInvoked('`trustward plans`')).toBe('`trustward plans`');
  });

  it.each(['trustward: a mistake', 'the folder trustward and more', 'Trustward is running', '│ `trustward resume` │'])(
    'leaves `%s` as it is',
    (text) => {
      invocation.command = '/opt/trustward';
      expect(asInvoked(text)).toBe(text);
    },
  );
});
