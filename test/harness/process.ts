// harness: one life of the engine's process: the real cycle on the surviving store, with ports that may end it at any await.
// In: what outlives a process. Out: a fresh engine. What it held in memory is gone with it.

import { isLasting } from '../../src/domain/database.ts';
import type { Api, Ids, Log } from '../../src/domain/ports.ts';
import { leastMode, type Mode } from '../../src/domain/rule.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { type FileCheckpointer, openCheckpointer } from '../../src/engine/audit/checkpointer.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { PLACEHOLDER_SERIALS } from '../../src/engine/decide/earlier-answers.ts';
import { EVENT_PULL_DEFAULT } from '../../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../../src/engine/pull/trust-gate.ts';
import { type ActiveRules, type Engine, isClockRight } from '../../src/engine/run/engine.ts';
import { activate } from '../../src/rules/active/rule-holder.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { quietTime, steadyTime } from '../../src/runtime/system/clock.ts';
import { readClockAgreement, saveClockAgreement } from '../../src/store/run-rows.ts';
import { answered, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { StoreHealth } from '../../src/store/sqlite/opened-file.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Life, mortal } from '../support/crash.ts';
import { PRINT_KEY } from '../support/print-key.ts';
import { areGuarded, withGuards } from './check-guards.ts';
import { withRollout } from './check-rollout.ts';
import { RUN_FAILURES_MAX } from './check-together.ts';
import { databaseLine, PUBLIC_KEYS, type SimCheckpointFile, signing } from './checkpoints.ts';
import type { SimDisk } from './disk.ts';
import { hastyActions, hastyStore } from './planted-act-bugs.ts';
import { type PlantedBug, sickActions, sickApi, sickRules, sickSettings, sickStore } from './planted-bugs.ts';
import { sickEnd, sickSigning } from './planted-edit-bugs.ts';
import { lookingStore } from './planted-look-bugs.ts';
import { keptLatency, sickFile, sickQuiet, sickRestore, sickTime } from './planted-operator-bugs.ts';
import { forgetfulStore, sickGuards, sickRollout } from './planted-person-bugs.ts';
import { type Profile, QUIET_MS, REREAD_MS } from './profile.ts';
import type { SimClock } from './sim-clock.ts';

export interface Surroundings {
  checkpoints: SimCheckpointFile | undefined;
  db: SqliteDb;
  disk: SimDisk;
  clock: SimClock;
  api: Api;
  ids: Ids;
  profile: Profile;
  bug: PlantedBug | undefined;
  /** Called first: what an earlier process measured is forgotten. */
  beginMeasuring(): void;
  /** Called after each commit. */
  onCommit(): void;
  /** The writer of this life: what people say goes through it, as through the daemon. */
  opened(store: SqliteStore): void;
  rules(): readonly LoadedRule[];
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** As in `compose.ts`: the checkpoints outside are compared with the database before anything else. */
export async function startProcess(around: Surroundings, life: Life, daemonMode: Mode): Promise<Engine> {
  const { db, clock, profile, bug, checkpoints } = around;
  around.beginMeasuring();
  const health = new StoreHealth(clock, silent);
  around.disk.open(health);
  let checkpointer: FileCheckpointer | undefined;
  const writer = openWriter(around, () => void checkpointer?.publish());
  around.opened(writer);
  const store = mortal(writer, life);
  if (checkpoints) {
    checkpointer = await openCheckpointer({
      store: sickRestore(store, bug),
      file: sickFile(checkpoints.in(life), bug),
      databaseLine,
      keys: PUBLIC_KEYS,
      clock,
      ids: around.ids,
      log: silent,
    });
  }
  const settings = sickSettings(settingsOf(profile), bug);
  const isWrong = () => !isClockRight({ api: around.api, settings });
  const steady = sickTime(steadyTime(clock, clock.boot, answered(db, readClockAgreement), isWrong), bug);
  answered(db, (tables) => saveClockAgreement(tables, steady.agreement()));
  const isDoubtful = () => {
    const fault = health.fault();
    return checkpointer?.restored() !== undefined || (fault !== undefined && isLasting(fault));
  };
  return {
    api: sickApi(mortal(around.api, life), bug),
    store: forgetfulStore(lookingStore(hastyStore(sickStore(store, bug), bug), bug), bug),
    ...(checkpointer && { checkpointer }),
    clock: mortal(clock, life),
    steady,
    quiet: sickQuiet(quietTime(QUIET_MS, around.api, steady, keptLatency(db, bug)), bug),
    ids: around.ids,
    log: silent,
    actions: hastyActions(sickActions(ACTIONS, bug), bug),
    active: activeRules(around),
    get daemonMode() {
      return isDoubtful() ? leastMode(daemonMode, 'dry-run') : daemonMode;
    },
    settings,
    demo: false,
    printKey: PRINT_KEY,
    bindTo: around.api.address,
    signal: new AbortController().signal,
    feed: { primed: new WeakSet(), triedMs: 0 },
  };
}

/** The one writer of a database; it reports its commits. */
export function openWriter({ checkpoints, db, clock, bug, onCommit }: Surroundings, sealed = () => {}): SqliteStore {
  const sealing = checkpoints && { ...sickSigning(signing, bug), sealed };
  return watched(sickEnd(new SqliteStore(db, linkEntry, clock, sealing), db, bug), onCommit);
}

/** The rules as they are whenever the engine asks; compiled once for each set in a life. */
function activeRules({ rules, bug, profile, clock }: Surroundings): () => ActiveRules {
  let known: readonly LoadedRule[] | undefined;
  let wereGuarded = false;
  let active: ActiveRules | undefined;
  return () => {
    const now = rules();
    const guarded = areGuarded(profile, clock);
    if (active !== undefined && bug === 'reload_is_ignored') return active;
    if (active === undefined || now !== known || wereGuarded !== guarded) {
      const rolled = withRollout(now, sickRollout(profile.rollout, bug));
      const guards = guarded ? sickGuards(profile.guards, bug) : undefined;
      active = sickRules(activate(withGuards(rolled, guards), hashOf(now)), bug);
    }
    [known, wereGuarded] = [now, guarded];
    return active;
  };
}

function hashOf(rules: readonly LoadedRule[]): string {
  return rules.map((rule) => `${rule.hash} ${rule.mode}`).join(' ');
}

const WRITING = [
  'bind',
  'beginRun',
  'finishRun',
  'abortStaleRuns',
  'commitRun',
  'saveIdentities',
  'markSent',
  'settle',
  'withdraw',
  'reopen',
  'resolve',
  'changePlan',
  'replacePlans',
  'setRollout',
  'observeEvents',
  'appendAudit',
  'sealAudit',
  'nameDatabase',
  'expirePlans',
  'saveExemption',
  'setStop',
  'saveAcceptance',
  'acceptTables',
  'release',
] as const;

/**
 * Reports each commit; below the wrapper that may end the process, so that a commit is seen even when no caller learns
 * of it.
 */
function watched(store: SqliteStore, onCommit: () => void): SqliteStore {
  for (const name of WRITING) {
    const method = store[name].bind(store) as (...given: unknown[]) => Promise<unknown>;
    const notifications = async (...given: unknown[]) => {
      const answer = await method(...given);
      onCommit();
      return answer;
    };
    Object.defineProperty(store, name, { value: notifications, configurable: true, writable: true });
  }
  return store;
}

function settingsOf({ runCeiling, dayCeiling, concurrency, freeze = [], ignoresFreeze }: Profile): Engine['settings'] {
  const ceilings = { run: { max: runCeiling, percent: 0 }, day: { max: dayCeiling, percent: 0 } };
  return {
    decide: {
      ceilings,
      goneAfterMs: 30 * 86_400_000,
      serialDevicesMax: 5,
      placeholderSerials: PLACEHOLDER_SERIALS,
    },
    act: { ceilings, attemptsMax: 3, runFailuresMax: RUN_FAILURES_MAX, concurrency, rereadMs: REREAD_MS },
    trust: { ...TRUST_DEFAULT, shrunkRecords: 0, movedPoints: 100, driftDayPercent: 100, driftWeekPercent: 100 },
    events: EVENT_PULL_DEFAULT,
    quietMs: QUIET_MS,
    planTtlMs: 86_400_000,
    keepRunsMs: 90 * 86_400_000,
    freeze: ignoresFreeze ? [] : freeze,
  };
}
