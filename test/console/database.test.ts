// test console: the database: fresh, reopened, of a newer version, and a file that is something else.
// In: files in a temporary folder. Out: tests; each file is opened as the console opens it.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/console/store/store.ts';
import { migrate, openDatabase as openEngineDatabase } from '../../src/store/sqlite/database.ts';
import { openOrganization } from '../support/console-organization.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'console-db-'));
  file = join(folder, 'sub', 'console.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the console database', () => {
  it('is made in a folder that does not exist yet, and can be opened again', () => {
    openDatabase(file).close();
    const db = openDatabase(file);
    expect(db.pragma('user_version', { simple: true })).toBe(3);
    db.close();
  });

  it('can be read by nobody else, including its log: it holds the key of access tokens', () => {
    const db = openDatabase(file);
    for (const name of [file, `${file}-wal`]) expect(statSync(name).mode & 0o777).toBe(0o600);
    db.close();
  });

  it('of a newer version is refused and left unchanged', () => {
    const db = openDatabase(file);
    db.pragma('user_version = 99');
    db.close();
    expect(() => openDatabase(file)).toThrow(/newer version/);
  });

  it('that is another program’s is refused', () => {
    const other = join(folder, 'other.db');
    const db = new Database(other);
    db.exec('CREATE TABLE notes (text TEXT)');
    db.close();
    expect(() => openDatabase(other)).toThrow(/not a database of the console/);
    const engine = openEngineDatabase(join(folder, 'engine.db'));
    migrate(engine);
    engine.exec('PRAGMA user_version = 99'); // of any version
    engine.close();
    expect(() => openDatabase(join(folder, 'engine.db'))).toThrow(/not a database of the console/);
  });

  it('that is not a database at all is refused with its name', () => {
    const text = join(folder, 'letter.txt');
    writeFileSync(text, 'Dear Sir or Madam, '.repeat(500));
    expect(() => openDatabase(text)).toThrow(/cannot open the console's database `.*letter\.txt`/);
  });

  it('keeps its organization, and prints its credentials only once', async () => {
    const first = await openOrganization({ dbFile: file, seed: { seed: 4, devices: 12, users: 8, events: 20 } });
    const before = (await first.call('GET', '/api/v1/devices')).text;
    await first.console.close();

    const second = await openOrganization({ dbFile: file, seed: { seed: 5, devices: 99 } });
    expect(second.console.credentials).toBeUndefined();
    const after = await second.call('GET', '/api/v1/devices', undefined, `Bearer ${first.apiKey}`);
    expect(after.text).toBe(before);
    await second.console.close();
  });

  it('of the version before is brought up to date, with all that it has', async () => {
    const first = await openOrganization({ dbFile: file, seed: { seed: 4, devices: 12, users: 8, events: 20 } });
    const before = (await first.call('GET', '/api/v2/devices')).json.data;
    await first.console.close();
    const db = new Database(file);
    db.exec(
      `ALTER TABLE device DROP COLUMN mdm_marked; ALTER TABLE service DROP COLUMN friendly_name;
        DROP TABLE policy_attachment; DROP TABLE policy; DROP TABLE api_key; PRAGMA user_version = 1`,
    );
    db.close();

    const second = await openOrganization({ dbFile: file });
    const after = await second.call('GET', '/api/v2/devices', undefined, `Bearer ${first.apiKey}`);
    expect(after.json.data).toEqual(before);
    await second.console.close();
  });

  it('keeps the suffix of ServiceIDs until another one is given, for new services alone', async () => {
    const ids: string[] = [];
    for (const [name, serviceSuffix] of [
      ['a', undefined],
      ['b', 'corp.example'],
      ['c', undefined],
    ] as const) {
      const org = await openOrganization({ dbFile: file, serviceSuffix });
      ids.push(org.console.fleet.addService(name, 'eu'));
      await org.console.close();
    }
    expect(ids).toEqual(['a.eu.tw', 'b.eu.corp.example', 'c.eu.corp.example']);
  });

  it('holds no secret in the clear', async () => {
    const org = await openOrganization({ dbFile: file });
    const made = (await org.call('POST', '/api/v2/api_key', { name: 'made', scope: 'ReadOnly' })).json.data.secret;
    await org.console.close();
    const db = new Database(file, { readonly: true });
    const credentials = ['credential', 'api_key', 'effect', 'event'].map((table) =>
      JSON.stringify(db.prepare(`SELECT * FROM ${table}`).all()),
    );
    db.close();
    for (const secret of [org.apiKey, org.adminToken, org.refreshToken, made])
      expect(credentials.join('')).not.toContain(secret);
  });
});

describe('starting', () => {
  it('on a taken port is refused in one clear line, and the successful start prints the credentials', async () => {
    const first = await openOrganization({ listen: { host: '127.0.0.1', port: 0 } });
    const port = Number(new URL(first.console.address).port);
    await expect(openOrganization({ dbFile: file, listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
      code: 'port_busy',
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
    await first.console.close();
    const second = await openOrganization({ dbFile: file, listen: { host: '127.0.0.1', port: 0 } });
    expect(second.console.credentials, 'the failed start did not print them').toBeDefined();
    expect((await second.call('GET', '/api/v1/devices')).status).toBe(200);
    await second.console.close();
  });

  it('can be undone by closing twice like once', async () => {
    const org = await openOrganization({ listen: { host: '127.0.0.1', port: 0 }, live: true });
    await Promise.all([org.console.close(), org.console.close()]);
  });
});
