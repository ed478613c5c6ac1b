// test: lists that are read and judged by other threads, against the same read by the main thread.
import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunRecord } from '../../../src/domain/store.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import { ManagementClient } from '../../../src/platform/client.ts';
import { ReaderPool } from '../../../src/platform/threads/reader-pool.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemRandom } from '../../../src/runtime/system/ids.ts';
import type { SqliteDb } from '../../../src/store/sqlite/database.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { GivenInventory, inventoryRule } from '../../support/given-facts.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import {
  devicesOf,
  deviceText,
  eventText,
  type FleetServer,
  type RandomDevice,
  startFleetServer,
} from './fleet-server.ts';

describe('a run whose devices are read and judged by other threads, against one in which the main thread reads everything', () => {
  vi.setConfig({ testTimeout: 120_000 }); // whole runs over thousands of devices, each in two ways

  const LENGTH = 2_300;
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  let server: FleetServer;
  let pool: ReaderPool;
  beforeAll(async () => {
    server = await startFleetServer();
    server.users = ['ada', 'ben'].map((name, index) =>
      JSON.stringify({ Email: `${name}@acme.example`, Name: name, TrustData: { EntityTrustscore: 30 + index } }),
    );
    pool = new ReaderPool(silent, false, 2, 100);
  });
  afterAll(async () => {
    await pool.close();
    await server.close();
  });

  function rule(id: string, when: unknown, then = 'ban_device'): LoadedRule {
    const text = JSON.stringify({
      id,
      title: id,
      severity: 'low',
      subject: 'device',
      when,
      then,
      mode: 'approve',
      owners: 'all',
      revert: true,
      limits: { max: 100_000, percent: 100 },
      tests: [{ name: 'a sample', given: {}, expect: 'no_match' }],
    });
    const parsed = parseRule(text, `${id}.json`, { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const count = { event_count: { type: 'Access', action: 'Unauthorized', within: '1h' } };
  const PAGED = [
    rule('compromised', { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }),
    rule(
      'low',
      { and: [{ '<': [{ var: 'TrustData.EntityTrustscore' }, 20] }, { '==': [{ var: 'Platform' }, 'iOS'] }] },
      'notify',
    ),
    rule('named', { in: [{ var: 'DeviceFriendlyName' }, ['a\tb', 'Zoë 💻']] }, 'notify'),
    rule('model', { '==': [{ var: 'Model' }, 'model 7'] }, 'notify'),
    rule('stale', { '>=': [{ age: { var: 'TrustData.UpdatedAt' } }, '900d'] }, 'notify'),
    rule('refused', { '>=': [count, 2] }),
    inventoryRule('returned'),
    inventoryRule('unlisted', { missing: ['$facts.inventory.status'] }),
  ];
  const OWNED = [
    rule('owned', { some: [{ var: '$owners' }, { '<': [{ var: 'TrustData.EntityTrustscore' }, 31] }] }, 'notify'),
    rule('owner-refused', { some: [{ var: '$owners' }, { '>=': [count, 20] }] }, 'notify'),
  ];

  function start(rules: LoadedRule[], threads: boolean): { on: OnPlatform; db: SqliteDb; client: ManagementClient } {
    const db = freshDatabase();
    const on = startOnPlatform({ rules, db });
    const common = {
      clock: systemClock,
      random: systemRandom,
      retries: 0,
      requestTimeoutMs: 90_000,
      progressTimeoutMs: 90_000,
    };
    const client = new ManagementClient({
      ...common,
      address: server.address,
      credential: { kind: 'api_key', secret: 'k' },
    });
    const inventory = new GivenInventory();
    const rows = Array.from(
      { length: 1_000 },
      (_, at) => [`S${2 * at}`, { status: at % 2 === 0 ? 'returned' : 'kept' }] as const,
    );
    inventory.read(rows, on.clock.nowMs());
    Object.assign(on.engine, { api: client, readers: threads ? pool : undefined, given: inventory.gate });
    return { on, db, client };
  }

  /** Every row of every table. How long calls took is the clock's. */
  function contents(db: SqliteDb): Record<string, unknown[]> {
    const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    const compared = tables.filter(({ name }) => !/latency|sqlite_stat/.test(name));
    return Object.fromEntries(compared.map(({ name }) => [name, db.all(`SELECT * FROM "${name}"`)]));
  }

  /** Runs over each fleet in turn, and returns what the database holds in the end. */
  async function databaseAfter(rules: LoadedRule[], threads: boolean, fleets: string[][]) {
    const { on, db, client } = start(rules, threads);
    try {
      server.requests = 0;
      for (const devices of fleets) {
        server.devices = devices;
        server.events = Array.from({ length: 300 }, (_, index) =>
          eventText(index, on.clock.nowMs() - 1_000 * (300 - index)),
        );
        await on.run('dry-run');
        on.clock.pass(60_000);
      }
      return contents(db);
    } finally {
      await client.close();
      await on.close();
    }
  }

  const textsOf = (devices: RandomDevice[]) => devices.map(deviceText);
  /** The same fleet later: some devices changed, some gone, some new. */
  const later = (devices: RandomDevice[], shift: number) =>
    devices.flatMap((each, index) =>
      index % 53 === 0
        ? []
        : [deviceText(index % 31 === 0 ? (devices[(index + shift) % devices.length] as RandomDevice) : each, index)],
    );

  const FORMS: [string, LoadedRule[], number][] = [
    // A first run asks for some pages ahead before it knows that the list is large.
    ['in pages', PAGED, 16],
    ['in the unpaged list, with owners', [...PAGED, ...OWNED], 3],
  ];

  describe('devices that other threads read and judge', () => {
    it.each(FORMS)('give the same database as one thread, %s', async (_, rules, requestsMax) => {
      await fc.assert(
        fc.asyncProperty(devicesOf(LENGTH), fc.nat(LENGTH), async (devices, shift) => {
          const fleets = [textsOf(devices), later(devices, shift)];
          const expected = await databaseAfter(rules, false, fleets);
          expect(expected.baselines).toHaveLength(rules === PAGED ? 2 : 3); // trusted
          expect(await databaseAfter(rules, true, fleets)).toEqual(expected);
          expect(server.requests).toBeLessThanOrEqual(requestsMax); // no list was read again by one thread
        }),
        { numRuns: 1, endOnFailure: true },
      );
    });

    it.each(FORMS)('are read again by one thread when anything is not as it should be, %s', async (_, rules) => {
      const [sample] = fc.sample(devicesOf(LENGTH), { seed: 7, numRuns: 1 }) as [RandomDevice[]];
      const whole = textsOf(sample);
      const odds = [
        whole[1_200] as string,
        '{"DeviceID":"broken',
        `{"DeviceID":"deep","x":${'['.repeat(300)}${']'.repeat(300)}}`,
      ];
      const fleets = [whole, ...odds.slice(0, rules === PAGED ? 3 : 1).map((odd) => whole.with(2_100, odd))];
      expect(await databaseAfter(rules, true, fleets)).toEqual(await databaseAfter(rules, false, fleets));
    });

    it('leave nothing behind when a thread dies: one thread reads the list', async () => {
      const [sample] = fc.sample(devicesOf(LENGTH), { seed: 8, numRuns: 1 }) as [RandomDevice[]];
      const fleets = [textsOf(sample)];
      const expected = await databaseAfter(PAGED, false, fleets);
      const begin = pool.begin.bind(pool);
      pool.begin = async (...setup) => {
        const read = await begin(...setup);
        return async (piece) => {
          await pool.close();
          return (read as NonNullable<typeof read>)(piece);
        };
      };
      expect(await databaseAfter(PAGED, true, fleets)).toEqual(expected);
      pool.begin = begin;
      expect(await databaseAfter(PAGED, true, fleets)).toEqual(expected);
    });

    it('are read by one thread when a thread ends without a failure, while its answers are waited for', async () => {
      const [sample] = fc.sample(devicesOf(LENGTH), { seed: 9, numRuns: 1 }) as [RandomDevice[]];
      const fleets = [textsOf(sample)];
      const expected = await databaseAfter(PAGED, false, fleets);
      const begin = pool.begin.bind(pool);
      pool.begin = async (...setup) => {
        const read = await begin(...setup);
        return (piece) => {
          const { threads } = pool as unknown as { threads: { worker: Worker }[] };
          for (const { worker } of threads) void worker.terminate();
          return (read as NonNullable<typeof read>)(piece);
        };
      };
      expect(await databaseAfter(PAGED, true, fleets)).toEqual(expected);
      pool.begin = begin;
      expect(await databaseAfter(PAGED, true, fleets)).toEqual(expected);
    }, 30_000);

    it('refuse a refused credential at once, as one thread does', async () => {
      const [sample] = fc.sample(devicesOf(LENGTH), { seed: 9, numRuns: 1 }) as [RandomDevice[]];
      server.fault = (request) => (request > 2 ? { status: 401 } : undefined);
      await expect(databaseAfter(PAGED, true, [textsOf(sample)])).rejects.toMatchObject({ code: 'api_refused' });
      server.fault = undefined;
    });
  });
});

describe('v2 lists of a large fleet, read and judged by other threads, against the same read by the main thread alone', () => {
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

  const DEVICES = 5_200;

  function rule(id: string, when: unknown): string {
    const tests = [{ name: 'a sample', given: {}, expect: 'no_match' }];
    const limits = { max: 100_000, percent: 100 };
    return JSON.stringify({
      id,
      severity: 'low',
      subject: 'device',
      when,
      then: 'ban_device',
      mode: 'enforce',
      limits,
      tests,
    });
  }

  const RULES = {
    low: rule('low', { '==': [{ var: 'TrustData.Level' }, 'Low'] }),
    mdm: rule('mdm', { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }),
    idle: rule('idle', { '>': [{ age: { var: 'LastLogin' } }, '20d'] }),
    unset: rule('unset', { '!!': [{ missing: ['MdmData.Timestamp'] }] }),
    owned: rule('owned', { some: [{ var: '$owners' }, { starts_with: [{ var: 'Name' }, 'A'] }] }),
  };

  let org: Organization;
  beforeAll(async () => {
    org = await startOrganization({ devices: DEVICES, rules: RULES, env: { TRUSTWARD_API_LISTS: 'v2' } });
  });
  afterAll(() => org.close());

  async function runOf(engine: Engine) {
    const { id } = await runCycle(engine, {
      mode: 'dry-run',
      trigger: 'command',
      rules: undefined,
      waitForDoubts: false,
    });
    const run = (await engine.store.run(id)) as RunRecord;
    const decisions = await engine.store.decisionsOfRun(run);
    const decided = decisions.map(({ rule, subject, target, facts, effect, decision, reason }) => ({
      rule,
      subject,
      target,
      facts,
      effect,
      decision,
      reason,
    }));
    const { state, form, lists, count, trusted } = (run.findings as NonNullable<RunRecord['findings']>).snapshot.sources
      .devices;
    return { devices: { state, form, lists, count, trusted }, tallies: run.findings?.tallies, decided };
  }

  describe('v2 lists of 5,200 devices', () => {
    it('give in other threads what the main thread alone finds', async () => {
      const { engine } = org.composition;
      const pieces = vi.spyOn(engine.api as Required<Engine['api']>, 'inPieces');
      const alone = await runOf({ ...engine, readers: undefined });
      expect(pieces).not.toHaveBeenCalled();
      const threads = await runOf(engine);
      expect(pieces).toHaveBeenCalledOnce();
      expect(threads).toEqual(alone);
      expect(threads.devices).toEqual({ state: 'read', form: 'paged', lists: 'v2', count: DEVICES, trusted: true });
      const verdicts = threads.tallies
        ?.map(({ rule, match, unknown }) => [rule, match > 0, unknown === DEVICES])
        .sort();
      expect(verdicts).toEqual([
        ['idle', true, false],
        ['low', true, false],
        ['mdm', false, true],
        ['owned', true, false],
        ['unset', false, true],
      ]);
      expect(threads.decided.length).toBeGreaterThan(100);
    });
  });
});
