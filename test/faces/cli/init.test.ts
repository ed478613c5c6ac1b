// commands: `init`: a new installation that works unchanged, changes nothing by itself, and overwrites nothing.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { loadRuleFolder } from '../../../src/rules/active/rule-holder.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { command } from '../../support/in-process.ts';
import { trustward } from '../../support/trustward.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-init-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const init = (...args: string[]) => command(['init', ...args], {});
const URL_OF_ALL = 'https://console.example.com';

/** The environment of a shell that loaded the settings. */
function settingsOf(file: string): Record<string, string> {
  const script = 'set -a; . "$1"; set +a; env -0';
  const out = execFileSync('/bin/sh', ['-c', script, 'sh', file], { env: {}, encoding: 'utf8' });
  const pairs = out.split('\0').filter((line) => line.startsWith('TRUSTWARD_'));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

describe('a new installation', () => {
  it('has readable settings once it has a key, also in a folder with an odd name', async () => {
    for (const name of ['plain', "it's a folder"]) {
      const at = join(dir, name);
      expect(await init(at, '--api-url', `${URL_OF_ALL}/`)).toMatchObject({ code: 0, err: '' });
      writeFileSync(join(at, 'api-key'), 'key-0123\n');
      expect(readConfig(settingsOf(join(at, 'trustward.env')))).toMatchObject({
        api: { url: URL_OF_ALL, credential: { kind: 'api_key', secret: 'key-0123' } },
        db: join(at, 'data', 'trustward.db'),
        rulesDir: join(at, 'rules'),
        mode: 'dry-run',
        modeCap: undefined,
      });
    }
  });

  it('is not laid into a folder of rules', async () => {
    await init(dir);
    const rules = join(dir, 'rules');
    expect(await init(rules)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is a rule, and an installation lies beside'),
    });
    expect(existsSync(join(rules, 'trustward.env'))).toBe(false);
  });

  it('keeps settings, key and data from everybody else', async () => {
    await init(dir);
    const modeOf = (name: string) => statSync(join(dir, name)).mode & 0o777;
    expect([modeOf('trustward.env'), modeOf('api-key'), modeOf('data')]).toEqual([0o600, 0o600, 0o700]);
  });

  it('is not laid beside a rule of JSON on one line', async () => {
    writeFileSync(join(dir, 'own.json'), '{"id":"own","subject":"device","when":{"==":[1,1]},"then":"notify"}');
    expect(await init(dir)).toMatchObject({ code: 2, err: expect.stringContaining('own.json` is a rule') });
  });

  it('has every shipped rule, with its tests, and none of them acts', async () => {
    await init(dir);
    const shipped = readdirSync('rules').filter((name) => name.endsWith('.yaml'));
    const { rules } = await loadRuleFolder(join(dir, 'rules'), ACTIONS);
    expect(rules.map(({ file }) => file).sort()).toEqual(shipped.sort());
    expect(new Set(rules.map(({ mode }) => mode))).toEqual(new Set(['dry-run']));
    expect(await command(['rules', 'test', '--rules', join(dir, 'rules')], {})).toMatchObject({ code: 0 });
    expect(readdirSync(join(dir, 'rules')).sort()).toEqual([...shipped, 'rule.schema.json'].sort());
  });

  it('names only settings that exist', async () => {
    await init(dir);
    const named = readFileSync(join(dir, 'trustward.env'), 'utf8').match(/TRUSTWARD_\w+/g) ?? [];
    const read = new Set<string>();
    const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void read.add(String(name)) });
    readConfig(env);
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !read.has(name))).toEqual([]);
  });

  it('lists three commands to run next; without an address the first is to fill it in', async () => {
    const next = async (...args: string[]) =>
      [...((await init(...args)).out.split('\nNext:\n')[1] ?? '').matchAll(/^ {2}(\S.*)$/gm)].map(([, line]) => line);
    expect(await next(join(dir, 'a'))).toEqual([
      expect.stringContaining('EDITOR'),
      expect.stringContaining('cat > '),
      expect.stringContaining('doctor'),
    ]);
    expect(await next(join(dir, 'b'), '--api-url', URL_OF_ALL)).toEqual([
      expect.stringContaining('cat > '),
      expect.stringContaining('doctor'),
      'trustward run --mode dry-run',
    ]);
  });
});

describe('an existing file', () => {
  it.each(['trustward.env', 'api-key', 'rules/own.yaml', 'data/trustward.db'])(
    'is not overwritten, and nothing is added beside it: %s',
    async (name) => {
      for (const folder of ['rules', 'data']) mkdirSync(join(dir, folder));
      writeFileSync(join(dir, name), 'mine');
      const before = readdirSync(dir, { recursive: true }).sort();
      const { code, out, err } = await init(dir);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`${join(dir, name).replace(/\/[^/]+\.(yaml|db)$/, '')}\` exists already`);
      expect(readdirSync(dir, { recursive: true }).sort()).toEqual(before);
      expect(readFileSync(join(dir, name), 'utf8')).toBe('mine');
    },
  );

  it('an invalid address is reported before anything is made', async () => {
    const at = join(dir, 'new');
    const { code, err } = await init(at, '--api-url', 'console');
    expect(code).toBe(2);
    expect(err).toContain('--api-url is `console`');
    expect(existsSync(at)).toBe(false);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'a folder that cannot be written is reported in one line, and left empty',
    async () => {
      chmodSync(dir, 0o755);
      const { code, err } = await trustward(['init', join(dir, 'x')], { HOME: dir }, { uid: 65_534 });
      expect(code).toBe(2);
      expect(err).toMatch(/^trustward: `.*x` cannot be laid out \(EACCES\): [^\n]*\n$/);
      expect(readdirSync(dir)).toEqual([]);
    },
  );
});
