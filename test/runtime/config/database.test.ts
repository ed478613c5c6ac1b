// test: which database the settings name, whose it is, and where what belongs beside it lies. No password is ever part of what is shown.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseName } from '../../../src/domain/database.ts';
import { type AppError, lineOf } from '../../../src/domain/errors.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import {
  consoleDatabaseOf,
  databaseFlags,
  databaseIn,
  type Environment,
} from '../../../src/runtime/config/name-reader.ts';

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
    [`${URL}&options=-c%20x`, 'has a parameter that is not known here: expected application_name'],
    ['postgres://h/d?sslmode=maybe', 'has another sslmode: expected disable'],
    ['postgresql://h/d#x', 'has a fragment'],
    ['postgres:/d', 'is `postgres:…`: expected an address such as'],
    ['postgres//u:hidden@h/d', 'is `postgres//…`: expected an address such as'],
  ])('is checked: %s', (address, text) => {
    expect(faultOf(pg({ TRUSTWARD_DB: address })).text).toContain(text);
  });
  it.each(['prefer', 'require', 'verify-ca'])('takes sslmode=%s for the strongest one, as its client does', (mode) => {
    const address = (sslmode: string) => `postgres://h/d?sslmode=${sslmode}&connect_timeout=3`;
    expect(databaseIn(pg({ TRUSTWARD_DB: address(mode) }))).toMatchObject({ url: address('verify-full') });
  });
  it('needs a place for what lies beside a file otherwise', () => {
    expect(faultOf({ TRUSTWARD_DB: URL }).text).toMatch(/TRUSTWARD_STATE is not set: give the folder [^\n]+$/);
  });
  it('is backed up by its own tools', () => {
    expect(() => readConfig(pg({ TRUSTWARD_BACKUP: '1d' }))).toThrow(
      /TRUSTWARD_BACKUP copies a SQLite file[^\n]+pg_dump/,
    );
  });
});
