// test: configuration: every mistake is reported at once, each in one line that names the value; no secret is ever
// repeated.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { type Environment, readDatabasePath } from '../../../src/runtime/config/name-reader.ts';
import { parseListen } from '../../../src/runtime/config/reader.ts';

const REAL = { TRUSTWARD_API_URL: 'https://console.example', TRUSTWARD_API_KEY: 'key-0123' };

function faultsOf(env: Environment, flags = {}): string[] {
  try {
    readConfig(env, flags);
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'config') throw error;
    return error.message.split('\n');
  }
}

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-config-'));
  writeFileSync(join(dir, 'key'), 'key-from-file\nsecond line\n');
  writeFileSync(join(dir, 'empty'), '\n');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('without anything set', () => {
  it('uses the embedded console, in mode enforce', () => {
    expect(readConfig({})).toMatchObject({
      api: undefined,
      mode: 'enforce',
      db: 'data/demo.db',
      schedule: '*/15 * * * * *',
    });
  });
  it('runs on a real organization in mode dry-run', () => {
    expect(readConfig(REAL)).toMatchObject({
      mode: 'dry-run',
      modeCap: undefined,
      db: 'data/trustward.db',
      listen: { host: '127.0.0.1', port: 8080 },
      api: { url: 'https://console.example', credential: { kind: 'api_key', secret: 'key-0123' } },
    });
  });
  it('treats empty values as not set', () => {
    expect(readConfig({ TRUSTWARD_API_URL: ' ', TRUSTWARD_API_KEY: '', TRUSTWARD_MODE: '' }).api).toBeUndefined();
  });
});

describe('the embedded console is refused', () => {
  it.each(['TRUSTWARD_API_KEY', 'TRUSTWARD_REFRESH_TOKEN', 'TRUSTWARD_ADMIN_TOKEN'])('when %s is set', (name) => {
    const [line, ...more] = faultsOf({ [name]: 'canary-77' });
    expect(line).toBe(
      `configuration: ${name} is set but TRUSTWARD_API_URL is not: set it to the base address of your console, or unset ${name} to use the embedded one`,
    );
    expect(more).toEqual([]);
  });
  it('with NODE_ENV=production', () => {
    expect(faultsOf({ NODE_ENV: 'production' })).toMatchObject([
      expect.stringContaining('TRUSTWARD_API_URL is not set'),
    ]);
  });
});

describe('one wrong value is one line', () => {
  it.each<[string, string, string]>([
    [
      'TRUSTWARD_API_URL',
      'console.example',
      'TRUSTWARD_API_URL is `console.example`: expected an address such as https://console.example.com',
    ],
    ['TRUSTWARD_API_URL', 'ftp://x', 'expected an address'],
    ['TRUSTWARD_API_URL', 'https://x.example/api/v1', 'give the base address without `/api/v1`'],
    ['TRUSTWARD_API_URL', 'https://x.example/?a=1', 'without query or fragment'],
    ['TRUSTWARD_MODE', 'Enforce', 'TRUSTWARD_MODE is `Enforce`: expected dry-run, approve, enforce'],
    ['TRUSTWARD_MODE', 'off', 'expected dry-run, approve, enforce'],
    ['TRUSTWARD_LISTEN', 'localhost', 'TRUSTWARD_LISTEN is `localhost`: expected host:port'],
    ['TRUSTWARD_LISTEN', '127.0.0.1:99999', 'expected host:port'],
    ['TRUSTWARD_SCHEDULE', 'daily', 'TRUSTWARD_SCHEDULE is `daily`'],
    ['TRUSTWARD_SCHEDULE', '0 0 30 2 *', 'it never matches'],
    [
      'TRUSTWARD_WATCH',
      '30',
      'TRUSTWARD_WATCH is `30`: expected a duration from 1s to 1d such as 30s, or 0s to switch it off',
    ],
    ['TRUSTWARD_WATCH', '500ms', 'from 1s to 1d'],
    [
      'TRUSTWARD_RECORD',
      'users,device',
      'TRUSTWARD_RECORD names `device`: expected some of devices, users, services, events',
    ],
    ['TRUSTWARD_WATCH', '5w', 'from 1s to 1d'],
    ['TRUSTWARD_LOG_LEVEL', 'loud', 'expected debug, info, warn, error, silent'],
    ['TRUSTWARD_LOG_FORMAT', 'xml', 'expected json, plain'],
    ['TRUSTWARD_REQUEST_TIMEOUT', '10', 'TRUSTWARD_REQUEST_TIMEOUT is `10`: expected a duration such as 10s'],
    ['TRUSTWARD_REQUEST_TIMEOUT', '0s', 'TRUSTWARD_REQUEST_TIMEOUT is `0s`: expected at least 1s'],
    ['TRUSTWARD_ATTEMPTS_MAX', '2.5', 'TRUSTWARD_ATTEMPTS_MAX is `2.5`: expected a whole number of at least 1'],
    ['TRUSTWARD_ATTEMPTS_MAX', '0', 'of at least 1'],
    ['TRUSTWARD_SERIAL_DEVICES_MAX', '0x10', 'expected a whole number'],
    ['TRUSTWARD_RECORDS_MAX', '5e6', 'expected a whole number of at least 1'],
    ['TRUSTWARD_TRUST_SHRUNK_PERCENT', '20%', 'expected 0 to 100, without `%`'],
    ['TRUSTWARD_TRUST_UNREADABLE_PERCENT', '101', 'expected 0 to 100'],
    ['TRUSTWARD_CEILING_RUN', '50', 'TRUSTWARD_CEILING_RUN is `50`: expected a number and a percentage such as 50,5%'],
    ['TRUSTWARD_TOKEN', 'short', 'expected 16 to 512 letters'],
    ['TRUSTWARD_ADMIN_TOKEN', 'two words', 'TRUSTWARD_ADMIN_TOKEN holds blanks'],
    ['TRUSTWARD_API_KEY_FILE', '/nowhere/key', '`/nowhere/key` cannot be read (ENOENT)'],
  ])('%s=%s', (name, value, words) => {
    const env: Environment = { ...REAL, [name]: value };
    if (name === 'TRUSTWARD_API_KEY_FILE') delete env.TRUSTWARD_API_KEY;
    const lines = faultsOf(env).filter((line) => !line.includes('no credential is'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(words);
    expect(lines[0]).toMatch(/^configuration: /);
  });

  it('names a flag by its own name', () => {
    expect(faultsOf(REAL, { mode: 'all' })).toEqual([
      'configuration: --mode is `all`: expected dry-run, approve, enforce',
    ]);
    expect(faultsOf(REAL, { listen: ':x' })[0]).toContain('--listen is `:x`');
    expect(faultsOf(REAL, { schedule: 'x' })[0]).toContain('--schedule is `x`');
    expect(faultsOf(REAL, { watch: 'x' })[0]).toContain('--watch is `x`');
    expect(faultsOf(REAL, { apiUrl: 'x' })[0]).toContain('--api-url is `x`');
  });

  it('reports a wrong value in the environment also when a flag wins over it', () => {
    expect(faultsOf({ ...REAL, TRUSTWARD_MODE: 'enforced' }, { mode: 'enforce' })).toHaveLength(1);
  });
});

it('the event log is looked at every 30 seconds, that of the embedded console every 5, and never with 0s', () => {
  const everyMs = (env: Environment, flags = {}) => readConfig(env, flags).watchMs;
  expect([everyMs(REAL), everyMs({}), everyMs({ ...REAL, TRUSTWARD_WATCH: '0s' })]).toEqual([30_000, 5_000, 0]);
  expect(everyMs({ ...REAL, TRUSTWARD_WATCH: '0s' }, { watch: '1m' })).toBe(60_000);
});

it('lists that no active rule reads are recorded when they are named, and only with a history', () => {
  const lists = (env: Environment) => [...readConfig({ ...REAL, ...env }).recordedLists];
  expect([lists({}), lists({ TRUSTWARD_RECORD: ' users, events,' })]).toEqual([[], ['users', 'events']]);
  expect(faultsOf({ ...REAL, TRUSTWARD_RECORD: 'users', TRUSTWARD_HISTORY: '0d' })).toEqual([
    expect.stringContaining('TRUSTWARD_HISTORY is 0d, so nothing is recorded: unset one of them'),
  ]);
});

it('all mistakes are reported together', () => {
  const env = { TRUSTWARD_API_URL: 'nowhere', TRUSTWARD_MODE: 'x', TRUSTWARD_LISTEN: 'y', TRUSTWARD_QUIET_PERIOD: 'z' };
  const names = faultsOf(env).map((line) => /TRUSTWARD_\w+/.exec(line)?.[0]);
  expect(names).toEqual([
    'TRUSTWARD_API_URL',
    'TRUSTWARD_API_URL',
    'TRUSTWARD_MODE',
    'TRUSTWARD_LISTEN',
    'TRUSTWARD_QUIET_PERIOD',
  ]);
});

describe('credentials', () => {
  it('come from a file: its first line', () => {
    const env = { TRUSTWARD_API_URL: REAL.TRUSTWARD_API_URL, TRUSTWARD_API_KEY_FILE: join(dir, 'key') };
    expect(readConfig(env).api?.credential.secret).toBe('key-from-file');
  });
  it('that stands where its file belongs is not repeated', () => {
    const { TRUSTWARD_API_URL } = REAL;
    const [fault] = faultsOf({ TRUSTWARD_API_URL, TRUSTWARD_API_KEY_FILE: 'the-key-itself' });
    expect(fault).toContain('TRUSTWARD_API_KEY_FILE cannot be read (ENOENT): give the path of a file');
    expect(fault).not.toContain('the-key-itself');
  });
  it('are refused as an empty file, in both forms, of both kinds, or when missing', () => {
    const { TRUSTWARD_API_URL } = REAL;
    expect(faultsOf({ TRUSTWARD_API_URL, TRUSTWARD_API_KEY_FILE: join(dir, 'empty') })[0]).toContain('is empty');
    expect(faultsOf({ ...REAL, TRUSTWARD_API_KEY_FILE: join(dir, 'key') })[0]).toContain('are both set');
    expect(faultsOf({ ...REAL, TRUSTWARD_REFRESH_TOKEN: 'r' })[0]).toContain('are both set');
    expect(faultsOf({ TRUSTWARD_API_URL })[0]).toContain('no credential is');
  });
  it('are in no message, even when wrong or in the address', () => {
    const secret = 'canary\u0007-5519';
    const env = { ...REAL, TRUSTWARD_API_KEY: secret, TRUSTWARD_ADMIN_TOKEN: secret, TRUSTWARD_TOKEN: secret };
    const lines = [...faultsOf(env), ...faultsOf({ ...REAL, TRUSTWARD_API_URL: 'https://a:canary-5519@x.example' })];
    expect(lines).toHaveLength(5);
    expect(lines.join('\n')).not.toContain('5519');
  });
});

describe('a derived value', () => {
  it('an address has one spelling, since a database is bound to it', () => {
    for (const text of ['HTTPS://Console.Example', 'https://console.example:443/', 'https://console.example//'])
      expect(readConfig({ ...REAL, TRUSTWARD_API_URL: text }).api?.url).toBe('https://console.example');
    expect(readConfig(REAL, { apiUrl: 'https://x.example/base/' }).api?.url).toBe('https://x.example/base');
  });
  it('the quiet period is longer than the request timeout by default', () => {
    expect(readConfig({ ...REAL, TRUSTWARD_REQUEST_TIMEOUT: '60s' }).timing.quietMs).toBe(90_000);
    expect(readConfig(REAL).timing.quietMs).toBe(15_000);
    expect(readConfig({ ...REAL, TRUSTWARD_QUIET_PERIOD: '0s' }).timing.quietMs).toBe(0);
  });
  it('flags win over the environment, which still caps a single run', () => {
    const env = { ...REAL, TRUSTWARD_MODE: 'approve', TRUSTWARD_DB: 'a.db', TRUSTWARD_RULES: 'r' };
    expect(readConfig(env, { mode: 'enforce', db: 'b.db' })).toMatchObject({
      mode: 'enforce',
      modeCap: 'approve',
      db: 'b.db',
      rulesDir: 'r',
    });
  });
  it.each([
    ['8080', { host: '127.0.0.1', port: 8080 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    ['0.0.0.0:65535', { host: '0.0.0.0', port: 65_535 }],
    ['::1:80', undefined],
    ['host:', undefined],
    ['http://host:1', undefined],
  ])('%s is an address to listen on, or not', (text, expected) => {
    expect(parseListen(text)).toEqual(expected);
  });
  it('reading commands find the database that the engine would use, without a credential', () => {
    expect(readDatabasePath({})).toBe(readConfig({}).db);
    expect(readDatabasePath({ TRUSTWARD_API_URL: REAL.TRUSTWARD_API_URL })).toBe(readConfig(REAL).db);
    expect(readDatabasePath({ TRUSTWARD_DB: ' x.db ' })).toBe(readConfig({ TRUSTWARD_DB: ' x.db ' }).db);
  });
});
