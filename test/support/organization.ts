// support: one organization over real loopback HTTP and one engine on a real SQLite file, for whole runs.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Console, startConsole } from '../../src/console/console.ts';
import type { StoredDecision } from '../../src/domain/decision.ts';
import type { Log } from '../../src/domain/ports.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { type Composition, composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export const BAN_COMPROMISED = `
id: ban-compromised-device
title: Ban devices that MDM reports as compromised
severity: critical
subject: device
when:
  "==": [{ var: MdmData.CompromisedStatus }, "TRUE"]
then: ban_device
mode: enforce
cooldown: 0s
revert: true
tests:
  - { name: compromised, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }
`;

/** Only the whole list has owners: rules that do not read them are judged by pages. */
export const BAN_BY_PAGES = BAN_COMPROMISED.replace('revert: true', 'revert: true\nowners: all');

export const DISABLE_FAILING = `
id: disable-failing-service
title: Disable a service after repeated errors
severity: high
subject: service
when:
  ">=": [{ event_count: { severity: ERROR, within: 10m } }, 5]
then: disable_service
mode: approve
tests:
  - { name: five, events: [{ severity: ERROR, ago: 1m, times: 5 }], expect: match }
`;

export interface RunResult {
  run: RunRecord;
  decisions: StoredDecision[];
  of(decision: string, reason?: string): StoredDecision[];
}

export interface Organization {
  dir: string;
  dbFile: string;
  rulesDir: string;
  console: Console;
  composition: Composition;
  env: Record<string, string>;
  run(mode: Mode, rules?: string[]): Promise<RunResult>;
  /** Writes or, with undefined, removes a rule file, and loads the folder again. Returns what is wrong. */
  rule(name: string, text: string | undefined): Promise<string | undefined>;
  /** Serial numbers whose state really changed, in order. */
  effects(kind: 'device_banned' | 'device_unbanned' | 'service_disabled'): string[];
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface OrganizationOptions {
  devices?: number;
  compromised?: number;
  rules?: Record<string, string>;
  env?: Record<string, string>;
}

export async function startOrganization(options: OrganizationOptions = {}): Promise<Organization> {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-'));
  const rulesDir = join(dir, 'rules');
  mkdirSync(rulesDir);
  const rules = options.rules ?? { ban: BAN_COMPROMISED };
  for (const [name, text] of Object.entries(rules)) writeFileSync(join(rulesDir, `${name}.yaml`), text);
  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: join(dir, 'console.db'),
    seed: {
      seed: 7,
      devices: options.devices ?? 200,
      users: 120,
      services: 6,
      events: 50,
      compromised: options.compromised ?? 0,
    },
    faults: true,
    clock: systemClock,
    log: silentLog,
  });
  const env = {
    TRUSTWARD_API_URL: console.address,
    TRUSTWARD_API_KEY: console.credentials?.apiKey ?? '',
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    // Tests of the history turn it on: each start would begin a thread.
    TRUSTWARD_HISTORY: '0d',
    TRUSTWARD_RULES: rulesDir,
    TRUSTWARD_MODE: 'enforce',
    TRUSTWARD_LOG_LEVEL: 'silent',
    TRUSTWARD_QUIET_PERIOD: '0s',
    ...options.env,
  };
  let composition = await composeEngine(readConfig(env));
  const since = console.effects().at(-1)?.seq ?? 0;
  return {
    dir,
    dbFile: env.TRUSTWARD_DB,
    rulesDir,
    console,
    get composition() {
      return composition;
    },
    env,
    run: (mode, chosen) => runOnce(composition, mode, chosen),
    rule: async (name, text) => {
      const file = join(rulesDir, `${name}.yaml`);
      if (text === undefined) rmSync(file);
      else writeFileSync(file, text);
      return composition.rules.reload(async () => {});
    },
    effects: (kind) =>
      console
        .effects()
        .filter((effect) => effect.seq > since && effect.kind === kind && effect.via !== 'hand')
        .map((effect) => effect.target),
    restart: async () => {
      await composition.close();
      composition = await composeEngine(readConfig(env));
    },
    close: async () => {
      await composition.close();
      await console.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function runOnce({ engine }: Composition, mode: Mode, rules?: string[]): Promise<RunResult> {
  const { id } = await runCycle(engine, { mode, trigger: 'command', rules, waitForDoubts: false });
  const run = (await engine.store.run(id)) as RunRecord;
  const decisions = await engine.store.decisionsOfRun(run);
  const of = (decision: string, reason?: string) =>
    decisions.filter((item) => item.decision === decision && (reason === undefined || item.reason === reason));
  return { run, decisions, of };
}
