// worker: two machines whose clocks are two hours apart take turns at one organization in a real PostgreSQL: they record by one time, trust what
// the platform sends, and settle each other's doubts.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Console, startConsole } from '../../../src/console/console.ts';
import type { PostgresDatabase } from '../../../src/domain/database.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import { composeEngine } from '../../../src/runtime/compose/compose.ts';
import { openServer, type PostgresServer } from '../../../src/runtime/compose/postgres.ts';
import { type Config, readConfig } from '../../../src/runtime/config/config.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { Ending } from '../../../src/runtime/system/process.ts';
import { postgresRunReader } from '../../../src/store/postgres/postgres-store.ts';
import { BAN_BY_PAGES, silentLog } from '../../support/organization.ts';
import { hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';

const HOUR = 3_600_000;
/** A machine that is busy does not take a lease away. */
const LEASE_MS = 60_000;
const BAN = '/api/v1/mdm/update_device';

let folder: string;
let console: Console;
let config: Config;
let machines: PostgresServer[];

beforeEach(async () => {
  if (hasNoPostgres) return;
  folder = mkdtempSync(join(tmpdir(), 'trustward-apart-'));
  for (const name of ['rules', 'state']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'rules/ban.yaml'), BAN_BY_PAGES);
  const listen = { host: '127.0.0.1', port: 0 };
  console = await startConsole({
    ...{ listen, dbFile: ':memory:', seed: { seed: 1, devices: 20, compromised: 0 } },
    ...{ clock: systemClock, log: silentLog, faults: true },
  });
  const cluster = await sharedCluster();
  config = readConfig({
    ...{ TRUSTWARD_DB: cluster.url(await migratedDatabase(cluster)), TRUSTWARD_STATE: join(folder, 'state') },
    ...{ TRUSTWARD_API_URL: console.address, TRUSTWARD_API_KEY: console.issueApiKey('worker', 'Admin') },
    ...{ TRUSTWARD_RULES: join(folder, 'rules'), TRUSTWARD_MODE: 'enforce', TRUSTWARD_QUIET_PERIOD: '1s' },
    ...{ TRUSTWARD_HISTORY: '0d', TRUSTWARD_LOG_LEVEL: 'silent' },
  });
  machines = [];
  for (const aheadMs of [-HOUR, HOUR]) {
    const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs };
    machines.push(await openServer(config.database as PostgresDatabase, clock, silentLog, LEASE_MS));
  }
});
afterEach(async () => {
  if (hasNoPostgres) return;
  for (const server of machines) await server.close();
  await console.close();
  rmSync(folder, { recursive: true, force: true });
});

async function runAt(machine: number, quietMs = config.timing.quietMs) {
  const server = machines[machine] as PostgresServer;
  const place = { part: 'actor', server } as const;
  const settings = { ...config, timing: { ...config.timing, quietMs } };
  const composition = await composeEngine(settings, config.mode, [], new Ending(), undefined, place);
  try {
    const request = { mode: 'enforce', trigger: 'schedule', rules: undefined, waitForDoubts: false } as const;
    await runCycle(composition.engine, request);
    return await composition.engine.store.intents({});
  } finally {
    await composition.close();
  }
}

describe.skipIf(hasNoPostgres)(`two machines with clocks two hours apart${NEEDS_POSTGRES}`, () => {
  it('record by one time, trust the platform, and settle what the other left in doubt', async () => {
    const begunMs = Date.now();
    await runAt(0);
    console.fleet.addDevice({ serial: 'APART-1', mdm_compromised: 'TRUE' });
    console.faults?.set([{ kind: 'late_effect', match: { method: 'POST', path: BAN }, ms: 500, times: 1 }]);
    expect(await runAt(1, HOUR)).toMatchObject([{ target: 'APART-1', outcome: 'unknown' }]);
    for (let turn = 0; ; turn += 1) {
      const intents = await runAt(turn % 2);
      if (intents.every(({ outcome }) => outcome === 'confirmed')) break;
      await systemClock.sleep(100);
    }
    const runs = await postgresRunReader(
      (machines[0] as PostgresServer).pool,
      (config.database as PostgresDatabase).organization,
      systemClock,
    ).runs(100);
    expect(runs.length).toBeGreaterThan(2);
    for (const { startedAt, status, findings } of runs) {
      expect(status).toBe('completed');
      expect(JSON.stringify(findings ?? {})).not.toContain('untrusted');
      expect(startedAt).toBeGreaterThan(begunMs - 5_000);
      expect(startedAt).toBeLessThan(Date.now() + 5_000);
    }
  });
});
