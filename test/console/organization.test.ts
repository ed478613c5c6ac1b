// test console: the organization that it has: seeded, living, kept in its database, forgotten after its time.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConsoleOptions } from '../../src/console/console.ts';
import type { SeedOptions } from '../../src/console/seed/seed.ts';
import { openDatabase } from '../../src/console/store/store.ts';
import { migrate, openDatabase as openEngineDatabase } from '../../src/store/sqlite/database.ts';
import { type Organization, openOrganization, START_MS } from '../support/console-organization.ts';

describe('the database', () => {
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
});

const PATHS = ['/api/v1/devices', '/api/v1/endusers', '/api/v1/registered_services', '/api/v1/events?limit=10000'];

async function texts(seed: SeedOptions): Promise<string[]> {
  const org = await openOrganization({ seed });
  const all = [];
  for (const path of PATHS) all.push((await org.call('GET', path)).text);
  await org.console.close();
  return all;
}

describe('seeding', () => {
  it('gives the same organization for the same seed, byte for byte', async () => {
    const seed = { seed: 7, devices: 300, users: 180, services: 8, events: 400 };
    expect(await texts(seed)).toEqual(await texts(seed));
  });

  it('gives another organization for another seed', async () => {
    const [one] = await texts({ seed: 7, devices: 30 });
    const [other] = await texts({ seed: 8, devices: 30 });
    expect(other).not.toBe(one);
  });

  it('makes a small company by default', async () => {
    const org = await openOrganization({ seed: { seed: 1 } });
    const [devices, users, services, events] = await Promise.all([
      org.call('GET', '/api/v1/devices'),
      org.call('GET', '/api/v1/endusers'),
      org.call('GET', '/api/v1/registered_services'),
      org.call('GET', '/api/v1/events/count'),
    ]);
    expect([devices.json.length, users.json.length, services.json.length, events.json.data]).toEqual([
      400, 250, 12, 2_000,
    ]);
    await org.console.close();
  });

  it('compromises exactly the requested number of devices, each with a unique serial number', async () => {
    const org = await openOrganization({ seed: { seed: 2, devices: 2_000, users: 900, events: 0, compromised: 7 } });
    // biome-ignore lint/suspicious/noExplicitAny: records as they came
    const devices = (await org.call('GET', '/api/v1/devices')).json as any[];
    const found = devices.filter((each) => each.MdmData.CompromisedStatus === 'TRUE');
    expect(found).toHaveLength(7);
    for (const each of found) {
      expect(devices.filter((other) => other.SerialNumber === each.SerialNumber)).toHaveLength(1);
      expect(each.Banned).toBe('FALSE');
    }
    await org.console.close();
  });

  it('includes the odd devices of a real fleet', async () => {
    const org = await openOrganization({ seed: { seed: 3, devices: 2_000, users: 1_200, events: 0 } });
    // biome-ignore lint/suspicious/noExplicitAny: records as they came
    const devices = (await org.call('GET', '/api/v1/devices')).json as any[];
    const serials = devices.map((each) => each.SerialNumber);
    const has = (fits: (each: (typeof devices)[number]) => boolean) => expect(devices.some(fits)).toBe(true);
    has((each) => each.MdmData.Timestamp === 0);
    has((each) => each.SerialNumber === '');
    has((each) => each.SerialNumber === 'To Be Filled By O.E.M.');
    has((each) => each.SerialNumber.length > 7 && serials.filter((other) => other === each.SerialNumber).length === 2);
    has((each) => each.DeviceFriendlyName.includes('<script>'));
    has((each) => each.DeviceFriendlyName.includes(':1234567890123456789,'));
    has((each) => /\p{Script=Han}/u.test(each.DeviceFriendlyName));
    has((each) => /\p{Script=Arabic}/u.test(each.DeviceFriendlyName));
    has((each) => each.TrustData.Level === 'AlwaysDeny');
    has((each) => each.TrustData.Factors.length > 0);
    has((each) => each.Emails.length > 1);
    has((each) => each.LastLogin < (org.clock.nowMs() - 90 * 86_400_000) * 1e6);
    await org.console.close();
  });
});

describe('a living organization', () => {
  let org: Organization;
  afterEach(() => org.console.close());

  async function live(
    minutes: number,
    options: Partial<ConsoleOptions> = {},
    eachSecond?: () => Promise<void>,
  ): Promise<void> {
    org = await openOrganization({ seed: { seed: 1, events: 200 }, live: true, ...options });
    for (let second = 0; second < minutes * 60; second++) {
      await org.clock.advance(1_000);
      await eachSecond?.();
    }
  }

  const tally = () => {
    const counts: Record<string, number> = {};
    for (const { kind } of org.console.effects()) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  };

  describe('life', () => {
    it('on a disk that fails for a while logs the beginning and the end, not each second', async () => {
      const lines: string[] = [];
      const say = (_fields: object, message: string) => void lines.push(message);
      await live(0, { log: { debug: () => {}, info: say, warn: say, error: say } });
      const broken = vi.spyOn(Database.prototype, 'transaction').mockImplementation(() => {
        throw new Error('the disk is full');
      });
      for (let second = 0; second < 5; second += 1) await org.clock.advance(1_000);
      broken.mockRestore();
      for (let second = 0; second < 5; second += 1) await org.clock.advance(1_000);
      expect(lines).toEqual(['a moment of the living organization failed', 'the living organization continues']);
    });

    it('compromises devices, which recover within 40 seconds, never more than two percent at once', async () => {
      const since = new Map<string, number>();
      let most = 0;
      let longestMs = 0;
      let seen = 0;
      await live(5, {}, async () => {
        for (const effect of org.console.effects().slice(seen)) {
          seen++;
          if (effect.kind === 'device_compromised') since.set(effect.target, effect.atMs);
          if (effect.kind === 'device_recovered') {
            longestMs = Math.max(longestMs, effect.atMs - (since.get(effect.target) ?? effect.atMs));
            since.delete(effect.target);
          }
        }
        most = Math.max(most, since.size);
      });
      expect(tally().device_compromised).toBeGreaterThan(15);
      expect(tally().device_recovered).toBeGreaterThan(12);
      expect(most).toBeLessThanOrEqual(8);
      expect(longestMs).toBeLessThanOrEqual(41_000);
    });

    it('has incidents that last for a day, also through a restart', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'console-incident-'));
      const dbFile = join(folder, 'console.db');
      await live(1, { dbFile });
      const key = `Bearer ${org.apiKey}`;
      const compromised = async () =>
        (
          (await org.call('GET', '/api/v1/devices', undefined, key)).json as {
            DeviceID: string;
            MdmData: { CompromisedStatus: string };
          }[]
        )
          .filter(({ MdmData }) => MdmData.CompromisedStatus === 'TRUE')
          .map(({ DeviceID }) => DeviceID);
      org.console.life?.attack(12);
      const hit = await compromised();
      expect(hit.length).toBeGreaterThanOrEqual(12);
      const clock = org.clock;
      await org.console.close();
      await clock.advance(3 * 3_600_000);
      org = await openOrganization({ dbFile, live: true, clock });
      for (let second = 0; second < 90; second += 1) await clock.advance(1_000);
      expect(await compromised()).toEqual(expect.arrayContaining(hit));
      await clock.advance(30 * 3_600_000);
      expect((await compromised()).filter((id) => hit.includes(id))).toEqual([]);
      rmSync(folder, { recursive: true, force: true });
    });

    it('makes a service fail with five or more errors within ten minutes, but not all services', async () => {
      await live(8);
      const services = (await org.call('GET', '/api/v1/registered_services')).json as { ServiceName: string }[];
      const after = org.clock.nowMs() - 600_000;
      const errors = [];
      for (const { ServiceName: name } of services) {
        const query = `service_name=${name}&severity=ERROR&sub_type=Resource&after=${after}`;
        errors.push((await org.call('GET', `/api/v1/events/count?${query}`)).json.data);
      }
      expect(errors.filter((count) => count >= 5).length).toBeGreaterThan(0);
      expect(errors.filter((count) => count === 0).length).toBeGreaterThan(4);
    });

    it('logs people in, which updates their times', async () => {
      await live(1);
      const newest = (await org.call('GET', '/api/v1/endusers?Limit=1&OrderBy=lastlogin&Order=desc')).json.endusers[0];
      expect(newest.LastLogin).toBeGreaterThan((org.clock.nowMs() - 60_000) * 1e6);
    });

    it('leaves idle devices idle while the clock moves on by days, and brings the others with it', async () => {
      await live(0);
      const logins = async () =>
        ((await org.call('GET', '/api/v1/devices')).json as { LastLogin: number }[]).map(({ LastLogin: at }) => at);
      const idle = async () => (await logins()).filter((at) => at < (START_MS - 30 * 86_400_000) * 1e6).sort();
      const before = await idle();
      expect(before.length).toBeGreaterThan(3);
      await org.clock.advance(9 * 86_400_000);
      expect(await idle()).toEqual(before);
      const present = (await logins()).filter((at) => at > (org.clock.nowMs() - 8 * 86_400_000) * 1e6);
      expect(present.length + before.length).toBe((await logins()).length);
    });

    it('denies a banned device', async () => {
      await live(0);
      const devices = (await org.call('GET', '/api/v1/devices')).json as { SerialNumber: string }[];
      for (const serial of new Set(devices.map((each) => each.SerialNumber)))
        org.console.fleet.banByHand(serial, 'TRUE');
      for (let second = 0; second < 60; second++) await org.clock.advance(1_000);
      const after = org.clock.nowMs() - 55_000;
      const count = async (action: string) =>
        (await org.call('GET', `/api/v1/events/count?type=Identity&action=${action}&after=${after}`)).json.data;
      expect(await count('Deny')).toBeGreaterThan(5);
      expect(await count('Grant')).toBeLessThan(3);
    });

    it('includes an administrator’s own changes', async () => {
      await live(12);
      expect(org.console.effects().some((each) => each.via === 'hand' && each.kind === 'device_banned')).toBe(true);
    });

    it('repeats with the same seed', async () => {
      await live(2);
      const first = org.console.effects();
      await org.console.close();
      await live(2);
      expect(org.console.effects()).toEqual(first);
    });

    it('issues new certificates after an unban once the device reports in', async () => {
      await live(0, { seed: { seed: 1, devices: 3, users: 2, events: 0 } });
      const devices = (await org.call('GET', '/api/v1/devices')).json as { SerialNumber: string }[];
      const serial = devices[0]?.SerialNumber ?? '';
      org.console.fleet.banByHand(serial, 'TRUE');
      org.console.fleet.banByHand(serial, 'FALSE');
      const states = async () =>
        ((await org.call('GET', `/certificates?SerialNumber=${serial}`)).json.data as { state: string }[]).map(
          (each) => each.state,
        );
      expect(await states()).not.toContain('valid');
      for (let second = 0; second < 300 && !(await states()).includes('valid'); second++)
        await org.clock.advance(1_000);
      expect(await states()).toContain('valid');
    });
  });
});

describe("the event log's retention", () => {
  let org: Organization;
  beforeEach(async () => {
    org = await openOrganization({ retention: { eventsMax: 100 } });
  });
  afterEach(() => org.console.close());

  const submit = (count: number, fields: object = {}) =>
    org.call(
      'POST',
      '/api/v1/events',
      Array.from({ length: count }, (_, index) => ({ type: 'Audit', created_at: START_MS + index, ...fields })),
    );
  const count = async (query = '') => (await org.call('GET', `/api/v1/events/count${query}`)).json.data as number;
  const ids = async (query: string) =>
    ((await org.call('GET', `/api/v1/events?${query}`)).json.data as { created_at: number }[]).map(
      (each) => each.created_at,
    );

  describe('the last events', () => {
    it('are counted exactly up to the kept number', async () => {
      await submit(100);
      expect(await count()).toBe(100);
    });

    it('are counted as one more when there are more', async () => {
      await submit(150);
      expect(await count()).toBe(101);
      expect(await ids('limit=1000')).toHaveLength(100);
    });

    it('exclude the oldest ones', async () => {
      await submit(150);
      expect((await ids('order=ASC&limit=1'))[0]).toBe(START_MS + 50);
    });

    it('are counted by a filter only among the kept ones', async () => {
      await submit(90, { severity: 'ERROR' });
      await submit(60, { created_at: START_MS + 500 });
      expect(await count('?severity=ERROR')).toBe(40);
    });
  });

  describe('two weeks', () => {
    it('is the age at which an event disappears', async () => {
      await submit(5);
      await org.clock.advance(14 * 86_400_000);
      expect(await count()).toBe(5);
      await org.clock.advance(5);
      expect(await count()).toBe(0);
    });
  });

  describe('an event that is dated', () => {
    const DAY_MS = 86_400_000;

    it('more than a day ahead is refused: a client that reads from the newest time on would see no other', async () => {
      const answer = await submit(1, { created_at: START_MS + DAY_MS + 1 });
      expect([answer.status, answer.json.Message]).toEqual([400, expect.stringContaining('`created_at` of event 0')]);
      expect(await count()).toBe(0);
    });

    it('a little ahead is accepted: clocks differ', async () => {
      expect((await submit(1, { created_at: START_MS + DAY_MS })).status).toBe(200);
    });
  });
});
