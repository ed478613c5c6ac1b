// support: the real cycle with real rules and a real SQLite store, on the platform in memory. Nothing waits for real time.

import { CEILINGS_DEFAULT } from '../../src/domain/action.ts';
import type { StoredDecision } from '../../src/domain/decision.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Plan } from '../../src/domain/plan.ts';
import type { Ids, Log } from '../../src/domain/ports.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { PLACEHOLDER_SERIALS } from '../../src/engine/decide/earlier-answers.ts';
import { type Applied, applyPlan, approvePart } from '../../src/engine/operate/plans.ts';
import { EVENT_PULL_DEFAULT } from '../../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../../src/engine/pull/trust-gate.ts';
import type { ActiveRules, Engine, EngineSettings } from '../../src/engine/run/engine.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { filesOf } from '../../src/rules/load/guards-file.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { quietTime, steadyTime } from '../../src/runtime/system/clock.ts';
import { readKeptLatency } from '../../src/store/intent-log.ts';
import { readClockAgreement, saveClockAgreement } from '../../src/store/run-rows.ts';
import { answered, migrate, openDatabase, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { freshDatabase } from './memory-database.ts';
import { FakeClock, Platform } from './platform.ts';
import { PRINT_KEY } from './print-key.ts';

export const QUIET_MS = 15_000;
export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface RuleOptions {
  id?: string;
  mode?: Mode;
  /** The field of MdmData that makes this rule match when it is TRUE. */
  field?: string;
  does?: 'ban_device' | 'unban_device' | 'delete_device' | 'notify';
  cooldown?: string;
  more?: string;
}

/** A rule over devices, which bans by default. Rules of different fields can match one device together. */
export function banRule({
  id = 'ban',
  mode = 'enforce',
  field = 'CompromisedStatus',
  does = 'ban_device',
  cooldown = '0s',
  more = '',
}: RuleOptions = {}): LoadedRule {
  const text = `
id: ${id}
title: Ban
severity: critical
subject: device
when: { "==": [{ var: MdmData.${field} }, "TRUE"] }
then: ${does}
mode: ${mode}
cooldown: ${cooldown}
revert: true
limits: { max: 1000, percent: 100 }
declares: { MdmData.Other: text }
${more}
tests:
  - { name: trouble, given: { MdmData: { ${field}: "TRUE" } }, expect: match }
`;
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

export interface Round {
  run: RunRecord;
  decisions: StoredDecision[];
  plan: Plan | undefined;
}

export interface OnPlatform {
  engine: Engine;
  platform: Platform;
  clock: FakeClock;
  store: SqliteStore;
  rules(...rules: LoadedRule[]): void;
  run(mode?: Mode, rules?: string[]): Promise<Round>;
  approve(plan: Plan | undefined): Promise<Plan>;
  apply(plan: Plan | undefined): Promise<Applied>;
  intents(): Promise<Pick<Intent, 'action' | 'target' | 'status' | 'outcome'>[]>;
  openStore(): SqliteStore;
  /** The process ended, and the next one looks at the clocks. */
  restart(): void;
  close(): Promise<void>;
}

export interface Options {
  rules?: LoadedRule[];
  file?: string;
  /** Instead of a file: a database that is there already. */
  db?: SqliteDb;
  /** The registry; all that there are unless said otherwise. */
  actions?: Engine['actions'];
  daemonMode?: Mode;
  settings?: (settings: EngineSettings) => EngineSettings;
}

export function startOnPlatform({
  rules = [banRule()],
  file = ':memory:',
  actions = ACTIONS,
  db: given,
  daemonMode,
  settings,
}: Options = {}): OnPlatform {
  const clock = new FakeClock();
  const platform = new Platform(clock);
  let active = activate(rules);
  const openDb = () => {
    if (given) return given;
    if (file === ':memory:') return freshDatabase();
    const db = openDatabase(file);
    migrate(db);
    return db;
  };
  const openStore = () => new SqliteStore(openDb(), linkEntry, clock);
  const db = openDb();
  const store = new SqliteStore(db, linkEntry, clock);
  const chosen = (settings ?? ((given) => given))(settingsDefault());
  const beginTime = () => {
    const steady = steadyTime(clock, clock.boot, answered(db, readClockAgreement));
    answered(db, (tables) => saveClockAgreement(tables, steady.agreement()));
    platform.beginMeasuring();
    return { steady, quiet: quietTime(chosen.quietMs, platform, steady, answered(db, readKeptLatency)) };
  };
  const engine: Engine = {
    api: platform,
    store,
    clock,
    ...beginTime(),
    ids: countingIds(),
    log: silent,
    actions,
    active: () => active,
    daemonMode: daemonMode ?? 'enforce',
    settings: chosen,
    demo: false,
    printKey: PRINT_KEY,
    bindTo: platform.address,
    signal: new AbortController().signal,
    feed: { primed: new WeakSet(), triedMs: 0 },
  };
  return {
    engine,
    platform,
    clock,
    store,
    rules: (...next) => {
      active = activate(next);
    },
    run: (mode = 'enforce', chosen) => runOnce(engine, mode, chosen),
    approve: async (plan) => {
      const read = { rules: [], only: [], except: [], digest: plan?.digest };
      return (await approvePart(engine, idOf(plan), read, { by: 'a person' })).plan;
    },
    apply: (plan) => applyPlan(engine, idOf(plan), { by: 'ana' }),
    intents: async () =>
      (await store.intents({})).map(({ action, target, status, outcome }) => ({ action, target, status, outcome })),
    openStore,
    restart: () => {
      Object.assign(engine, beginTime());
    },
    close: () => store.close(),
  };
}

async function runOnce(engine: Engine, mode: Mode, rules: string[] | undefined): Promise<Round> {
  const { id } = await runCycle(engine, { mode, trigger: 'command', rules, waitForDoubts: false });
  const run = (await engine.store.run(id)) as RunRecord;
  const plan = run.planId === undefined ? undefined : await engine.store.plan(run.planId);
  return { run, decisions: await engine.store.decisionsOfRun(run), plan };
}

function idOf(plan: Plan | undefined): string {
  if (!plan) throw new Error('the run made no plan');
  return plan.id;
}

export function activate(rules: readonly LoadedRule[]): ActiveRules {
  const on = rules.filter((rule) => rule.mode !== 'off');
  const hash = on.map((rule) => rule.hash).join(' ');
  const evaluator = compileRules(on);
  return {
    rules: on,
    hash,
    files: filesOf(rules),
    evaluator,
    only: (ids) =>
      compileRules(
        on.filter((rule) => ids.includes(rule.id)),
        'v1',
        evaluator.lookBack,
      ),
  };
}

export function settingsDefault(): EngineSettings {
  const common = { ceilings: CEILINGS_DEFAULT };
  return {
    decide: { ...common, goneAfterMs: 86_400_000, serialDevicesMax: 5, placeholderSerials: PLACEHOLDER_SERIALS },
    act: { ...common, attemptsMax: 3, runFailuresMax: 5, concurrency: 1, rereadMs: 2_000 },
    // Tests turn whole small fleets: the gate has tests of its own.
    trust: { ...TRUST_DEFAULT, movedPoints: 100, shrunkPercent: 100, driftDayPercent: 100, driftWeekPercent: 100 },
    events: EVENT_PULL_DEFAULT,
    quietMs: QUIET_MS,
    planTtlMs: 86_400_000,
    keepRunsMs: 90 * 86_400_000,
  };
}

export function countingIds(): Ids {
  let last = 0;
  return {
    next: () => {
      last += 1;
      return String(last).padStart(8, '0');
    },
  };
}
