// test: configuration: every mistake is reported at once, each in one line that names the value; the database; windows; no secret is shown.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { databaseName } from '../../../src/domain/database.ts';
import { AppError, lineOf } from '../../../src/domain/errors.ts';
import { EVIDENCE_THRESHOLDS } from '../../../src/domain/evidence.ts';
import { evidenceThresholdsOf, readConfig, readSchedule } from '../../../src/runtime/config/config.ts';
import {
  consoleDatabaseOf,
  databaseFlags,
  databaseIn,
  type Environment,
  readDatabasePath,
} from '../../../src/runtime/config/name-reader.ts';
import { parseListen } from '../../../src/runtime/config/reader.ts';

describe('configuration', () => {
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
      [
        'TRUSTWARD_CEILING_RUN',
        '50',
        'TRUSTWARD_CEILING_RUN is `50`: expected a number and a percentage such as 50,5%',
      ],
      ['TRUSTWARD_TOKEN', 'short', 'expected 16 to 512 letters'],
      ['TRUSTWARD_ADMIN_TOKEN', 'two words', 'TRUSTWARD_ADMIN_TOKEN holds blanks'],
      ['TRUSTWARD_API_KEY', 'one\nAPI_KEY=two', 'TRUSTWARD_API_KEY holds blanks, line breaks'],
      [
        'TRUSTWARD_API_KEY',
        'API_KEY=key-0123',
        'TRUSTWARD_API_KEY holds a name and `=` before the credential: give only what',
      ],
      ['TRUSTWARD_API_KEY', '"key-0123"', 'TRUSTWARD_API_KEY is in quotes: give the credential without them'],
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

  it('signing in at a provider is configured as a whole, and what is wrong with it is named', () => {
    const whole = {
      ...{ TRUSTWARD_OIDC_ISSUER: 'https://id.example.com/acme', TRUSTWARD_OIDC_CLIENT_ID: 'trustward' },
      ...{ TRUSTWARD_OIDC_CLIENT_SECRET: 'secret-0123', TRUSTWARD_OIDC_SCOPES: 'a=b=admin, staff = read,' },
    };
    const { provider } = readConfig({ ...REAL, ...whole, TRUSTWARD_OIDC_ASK: 'email offline_access' });
    expect(provider).toEqual({
      ...{ issuer: 'https://id.example.com/acme', clientId: 'trustward', secret: 'secret-0123', groupsClaim: 'groups' },
      asks: ['openid', 'email', 'offline_access'],
      scopes: [
        { group: 'a=b', scope: 'admin', organization: undefined },
        { group: 'staff', scope: 'read', organization: undefined },
      ],
    });
    expect(readConfig(REAL).provider).toBeUndefined();
    const wrong = (over: Environment) => faultsOf({ ...REAL, ...whole, ...over });
    for (const issuer of [
      'http://id.example.com',
      'id.example.com',
      'https://a@id.example.com',
      'https://id.example.com?a=1',
    ])
      expect(wrong({ TRUSTWARD_OIDC_ISSUER: issuer })).toEqual([
        expect.stringContaining('is no address of a provider'),
      ]);
    expect(wrong({ TRUSTWARD_OIDC_ISSUER: 'http://127.0.0.1:3000' })).toEqual([]);
    for (const scopes of ['staff', 'staff=root', 'staff=read@acme', '=read'])
      expect(wrong({ TRUSTWARD_OIDC_SCOPES: scopes })).toEqual([
        expect.stringContaining(`has \`${scopes}\`: expected`),
      ]);
    for (const name of ['TRUSTWARD_OIDC_ISSUER', 'TRUSTWARD_OIDC_CLIENT_ID', 'TRUSTWARD_OIDC_SCOPES'])
      expect(wrong({ [name]: '' })).toEqual([expect.stringContaining(`${name} is not set, and TRUSTWARD_OIDC_`)]);
    expect(wrong({ TRUSTWARD_OIDC_CLIENT_SECRET: '' })).toEqual([
      expect.stringContaining('CLIENT_SECRET_FILE is not set'),
    ]);
    expect(wrong({ TRUSTWARD_LINKS: 'no' })).toEqual([expect.stringContaining('expected on, off')]);
  });

  it('all mistakes are reported together', () => {
    const env = {
      TRUSTWARD_API_URL: 'nowhere',
      TRUSTWARD_MODE: 'x',
      TRUSTWARD_LISTEN: 'y',
      TRUSTWARD_QUIET_PERIOD: 'z',
    };
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
    it('may hold what a name and quotes are made of', () => {
      for (const key of ['QUJD=', 'KEY==', 'key-"x', 'a=b'])
        expect(readConfig({ ...REAL, TRUSTWARD_API_KEY: key }).api?.credential.secret).toBe(key);
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
      expect(faultsOf({ TRUSTWARD_API_URL })[0]).toContain('TRUSTWARD_API_URL is set but no credential is');
      expect(faultsOf({}, { apiUrl: TRUSTWARD_API_URL })[0]).toContain('--api-url is set but no credential is');
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
});

describe('which database the settings name, whose it is, and where what belongs beside it lies', () => {
  const URL = 'postgres://trustward@db.example:5432/trust?sslmode=verify-full';
  const CANARY = 'canary-4711';

  let dir: string;
  let ORGS: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-database-'));
    ORGS = join(dir, 'organizations');
    mkdirSync(ORGS);
    for (const id of ['acme', 'beta']) writeFileSync(join(ORGS, `${id}.yaml`), 'never read here: [');
    for (const other of ['.hidden.yaml', 'README.md', 'Not_An_Id.yaml']) writeFileSync(join(ORGS, other), '');
    mkdirSync(join(dir, 'one'));
    writeFileSync(join(dir, 'one', 'acme.yaml'), '');
    mkdirSync(join(dir, 'none'));
    writeFileSync(join(dir, 'password'), `${CANARY}\n`);
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const pg = (env: Environment = {}): Environment => ({ TRUSTWARD_DB: URL, TRUSTWARD_STATE: '/state', ...env });

  function faultOf(env: Environment, flags = {}): { code: string; text: string } {
    try {
      databaseIn(env, flags);
    } catch (error) {
      return { code: (error as AppError).code, text: lineOf(error) };
    }
    throw new Error('nothing was wrong with it');
  }

  describe('a SQLite file', () => {
    it('has everything beside it, under the names that it always had', () => {
      const database = databaseIn({ TRUSTWARD_DB: 'data/x.db' });
      expect(database).toEqual({ kind: 'sqlite', file: 'data/x.db', beside: 'data/x.db' });
      expect(consoleDatabaseOf(database)).toBe('data/demo-console.db');
      expect([databaseName(database), databaseFlags(database)]).toEqual(['data/x.db', ['--db', 'data/x.db']]);
    });
    it('has one organization: --org is refused, and so is a folder of them', () => {
      expect(faultOf({ TRUSTWARD_DB: 'x.db' }, { org: 'acme' })).toEqual({
        code: 'usage',
        text: '`x.db` is a SQLite database, which has one organization: leave out --org, or set TRUSTWARD_DB to a PostgreSQL database to work on `acme`',
      });
      expect(() => readConfig({ TRUSTWARD_DB: 'x.db', TRUSTWARD_ORGANIZATIONS: ORGS })).toThrow(
        /^configuration: TRUSTWARD_ORGANIZATIONS is set, and `x\.db` is a SQLite database, which has one organization: [^\n]+$/,
      );
    });
    it('is not what another scheme names', () => {
      expect(faultOf({ TRUSTWARD_DB: `mysql://u:${CANARY}@h/d` }).text).toBe(
        'configuration: TRUSTWARD_DB is `mysql://…`: expected a file, or an address such as postgres://user@host/name',
      );
    });
  });

  describe('a PostgreSQL database', () => {
    it('has one organization without a folder of them, with its own place beside', () => {
      const database = databaseIn(pg());
      expect(database).toEqual({
        kind: 'postgres',
        url: URL,
        password: undefined,
        organization: 'default',
        beside: '/state/default/trustward',
      });
      expect(consoleDatabaseOf(database)).toBe('/state/default/demo-console.db');
      expect(databaseIn(pg(), { org: 'default' })).toEqual(database);
      expect(faultOf(pg(), { org: 'acme' })).toMatchObject({
        code: 'not_found',
        text: expect.stringContaining('`acme`'),
      });
    });
    it('has the organizations of the folder: --org names one of several, by the names of their files alone', () => {
      const env = pg({ TRUSTWARD_ORGANIZATIONS: ORGS });
      const database = databaseIn(env, { org: 'beta' });
      expect(database).toMatchObject({ organization: 'beta', beside: '/state/beta/trustward' });
      expect(databaseFlags(database)).toEqual(['--db', URL, '--org', 'beta']);
      expect(databaseName(database)).toBe(`${URL} (organization beta)`);
      expect(faultOf(env)).toEqual({
        code: 'usage',
        text: `--org is missing: \`${ORGS}\` has 2 organizations: acme, beta`,
      });
      for (const org of ['gamma', '../beta', 'BETA', ''])
        expect(faultOf(env, { org })).toEqual({
          code: 'not_found',
          text: `there is no organization \`${org}\` in \`${ORGS}\`: it has acme, beta`,
        });
    });
    it('takes the only one, and none is a mistake', () => {
      expect(databaseIn(pg({ TRUSTWARD_ORGANIZATIONS: join(dir, 'one') }))).toMatchObject({ organization: 'acme' });
      expect(faultOf(pg({ TRUSTWARD_ORGANIZATIONS: join(dir, 'none') })).text).toContain('there is no organization in');
      expect(faultOf(pg({ TRUSTWARD_ORGANIZATIONS: join(dir, 'gone') })).text).toContain('does not exist');
    });
    it('has its password apart from its address, and never shows it', () => {
      expect(databaseIn(pg({ TRUSTWARD_DB_PASSWORD_FILE: join(dir, 'password') }))).toMatchObject({ password: CANARY });
      expect(databaseIn(pg({ TRUSTWARD_DB_PASSWORD: CANARY }))).toMatchObject({ url: URL, password: CANARY });
      for (const address of [`postgres://u:${CANARY}@h/d`, `postgres://u@h/d?password=${CANARY}`]) {
        const fault = `configuration: TRUSTWARD_DB holds a password: leave it out, and give it in TRUSTWARD_DB_PASSWORD_FILE, PGPASSWORD or ~/.pgpass`;
        expect(faultOf(pg({ TRUSTWARD_DB: address })).text).toBe(fault);
        expect(faultOf(pg(), { db: address }).text).toBe(fault.replace('TRUSTWARD_DB', '--db'));
      }
      for (const address of [`postgres://u:${CANARY}@`, `postgres://u:${CANARY}@h:x/d`, `postgres://h/d?x=${CANARY}`])
        expect(faultOf(pg({ TRUSTWARD_DB: address })).text).not.toContain(CANARY);
    });
    it.each([
      ['postgres://h', 'expected an address such as'],
      [`${URL}&options=-c%20x`, 'has an unknown parameter: expected application_name'],
      ['postgres://h/d?sslmode=maybe', 'has another sslmode: expected disable'],
      ['postgresql://h/d#x', 'has a fragment'],
      ['postgres:/d', 'is `postgres:…`: expected an address such as'],
      ['postgres//u:hidden@h/d', 'is `postgres//…`: expected an address such as'],
    ])('is checked: %s', (address, text) => {
      expect(faultOf(pg({ TRUSTWARD_DB: address })).text).toContain(text);
    });
    it.each(['prefer', 'require', 'verify-ca'])(
      'takes sslmode=%s for the strongest one, as its client does',
      (mode) => {
        const address = (sslmode: string) => `postgres://h/d?sslmode=${sslmode}&connect_timeout=3`;
        expect(databaseIn(pg({ TRUSTWARD_DB: address(mode) }))).toMatchObject({ url: address('verify-full') });
      },
    );
    it('needs a place for what lies beside a file otherwise', () => {
      expect(faultOf({ TRUSTWARD_DB: URL }).text).toMatch(/TRUSTWARD_STATE is not set: give the folder [^\n]+$/);
    });
    it('is backed up by its own tools', () => {
      expect(() => readConfig(pg({ TRUSTWARD_BACKUP: '1d' }))).toThrow(
        /TRUSTWARD_BACKUP copies a SQLite file[^\n]+pg_dump/,
      );
    });
  });
});

describe('change windows and quiet hours in the environment', () => {
  const faultsOf = (env: Record<string, string>) => {
    try {
      readConfig(env);
      return [];
    } catch (error) {
      return (error as Error).message.split('\n');
    }
  };

  it('a window without a time zone has TRUSTWARD_TIME_ZONE, and without that UTC', () => {
    const zonesOf = (env: Record<string, string>) => readConfig(env).windows.freeze.map(({ timeZone }) => timeZone);
    const TRUSTWARD_FREEZE = 'Fri 18:00-Mon 06:00; 22:00-06:00 Asia/Kolkata';
    expect(zonesOf({ TRUSTWARD_FREEZE })).toEqual(['UTC', 'Asia/Kolkata']);
    expect(zonesOf({ TRUSTWARD_FREEZE, TRUSTWARD_TIME_ZONE: 'Europe/Berlin' })).toEqual([
      'Europe/Berlin',
      'Asia/Kolkata',
    ]);
    expect(readConfig({}).windows).toEqual({ freeze: [], quietHours: [] });
  });

  it('each wrong window is one line that names the setting, the window and what is expected', () => {
    const faults = faultsOf({
      TRUSTWARD_FREEZE: 'weekends; 22:00-06:00 Mars/Olympus',
      TRUSTWARD_QUIET_HOURS: '00:00-24:00',
      TRUSTWARD_TIME_ZONE: 'Berlin',
    });
    expect(faults).toEqual([
      'configuration: TRUSTWARD_TIME_ZONE is `Berlin`: expected a time zone such as Europe/Berlin',
      expect.stringMatching(/^configuration: TRUSTWARD_FREEZE: `weekends`: expected `Fri 18:00-Mon 06:00`/),
      expect.stringMatching(/^configuration: TRUSTWARD_FREEZE: .*there is no time zone `Mars\/Olympus`/),
      expect.stringMatching(/^configuration: TRUSTWARD_QUIET_HOURS: .*covers the whole day/),
    ]);
    expect(() => readSchedule({ TRUSTWARD_FREEZE: 'weekends' })).toThrow('TRUSTWARD_FREEZE: `weekends`');
  });
});

const read = (text: string) => evidenceThresholdsOf({ TRUSTWARD_EVIDENCE: text });

test('thresholds that are not named keep their defaults', () => {
  expect(evidenceThresholdsOf({})).toEqual(EVIDENCE_THRESHOLDS);
  expect(read('enforce-days=30, unknown=2 %')).toEqual({
    ...EVIDENCE_THRESHOLDS,
    daysMin: { approve: 7, enforce: 30 },
    unknownPercentMax: 2,
  });
});

test.each(['days=3', 'enforce-days', 'flaps=-1', 'coverage=101', 'unknown=many', 'constructor=1'])(
  '`%s` is refused with what was expected',
  (text) => {
    expect(() => read(text)).toThrow(/^configuration: TRUSTWARD_EVIDENCE has `.*`: expected /);
  },
);

test('enforce cannot be earned in fewer days than approve', () => {
  expect(() => read('approve-days=20')).toThrow('enforce-days is less than approve-days');
});
