// fidelity: one life of the engine's process in a month: the real engine on the surviving database, with ports that may end it at any await.
// In: what outlives a process. Out: a fresh engine.

import type { ChangeWindow } from '../../../src/domain/change-window.ts';
import { digestOf } from '../../../src/domain/digest.ts';
import type { Ids, Log } from '../../../src/domain/ports.ts';
import type { EventRows, HistoryReader, HistoryRecorder } from '../../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import { PLACEHOLDER_SERIALS } from '../../../src/engine/decide/earlier-answers.ts';
import { EVENT_PULL_DEFAULT } from '../../../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import type { ActiveRules, Engine } from '../../../src/engine/run/engine.ts';
import { GivenGate } from '../../../src/engine/run/given.ts';
import { silenceBefore } from '../../../src/engine/run/pulled-snapshot.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { activate } from '../../../src/rules/active/rule-holder.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { quietTime, steadyTime } from '../../../src/runtime/system/clock.ts';
import { readClockAgreement, saveClockAgreement } from '../../../src/store/run-rows.ts';
import { answered, type SqliteDb } from '../../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { replaced } from '../../harness/planted-bugs.ts';
import type { SimClock } from '../../harness/sim-clock.ts';
import { type Life, mortal } from '../../support/crash.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import type { MonthElsewhere } from './month-elsewhere.ts';
import type { MonthPlatform } from './month-platform.ts';
import type { Made } from './what-was-made.ts';

const QUIET_MS = 15_000;
const DAY_MS = 86_400_000;

/** Read from the configuration when a process starts; people change it now and then. */
export interface MonthSettings {
  runCeiling: number;
  dayCeiling: number;
  goneAfterMs: number;
  serialDevicesMax: number;
  credential: string | undefined;
  freeze: readonly ChangeWindow[];
}

export interface ProcessParts {
  db: SqliteDb;
  clock: SimClock;
  platform: MonthPlatform;
  elsewhere: MonthElsewhere;
  ids: Ids;
  settings: MonthSettings;
  rules(): readonly LoadedRule[];
  record(store: EventRows): HistoryRecorder | undefined;
  /** What rules that look back read. */
  recorded(): HistoryReader | undefined;
  /** What its runs decided, as soon as it is committed. */
  made: Made;
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export async function startMonthProcess(parts: ProcessParts, life: Life): Promise<Engine> {
  const { db, clock, platform, ids, settings } = parts;
  const writer = new SqliteStore(db, linkEntry, clock);
  const commitRun = writer.commitRun.bind(writer);
  writer.commitRun = async (commit) => {
    await commitRun(commit);
    const seq = (await writer.run(commit.runId))?.seq ?? 0;
    const { listed, hasShownSecret } = platform;
    parts.made.set(commit.runId, { commit, seq, listed, hasShownSecret });
  };
  const store = replaced(mortal(writer, life), unhurried(writer));
  const history = parts.record(writer);
  const recorded = parts.recorded();
  const steady = steadyTime(clock, clock.boot, answered(db, readClockAgreement));
  answered(db, (tables) => saveClockAgreement(tables, steady.agreement()));
  await writer.abortStaleRuns(clock.nowMs());
  const { runCeiling, dayCeiling, goneAfterMs, serialDevicesMax, credential, freeze } = settings;
  const ceilings = { run: { max: runCeiling, percent: 0 }, day: { max: dayCeiling, percent: 0 } };
  const decide = { ceilings, goneAfterMs, serialDevicesMax, placeholderSerials: PLACEHOLDER_SERIALS };
  return {
    api: mortal(platform, life),
    store,
    clock: mortal(clock, life),
    steady,
    quiet: quietTime(QUIET_MS, platform, steady, undefined),
    ids,
    log: silent,
    actions: ACTIONS,
    active: activeRules(parts),
    daemonMode: 'enforce',
    settings: {
      decide: { ...decide, ...(credential !== undefined && { credential }) },
      act: { ceilings, attemptsMax: 3, runFailuresMax: 5, concurrency: 1, rereadMs: 2_000 },
      trust: {
        ...TRUST_DEFAULT,
        shrunkRecords: 2,
        movedPoints: 60,
        movedRecords: 4,
        driftDayPercent: 70,
        driftWeekPercent: 80,
      },
      events: EVENT_PULL_DEFAULT,
      quietMs: QUIET_MS,
      planTtlMs: 3 * DAY_MS,
      keepRunsMs: 90 * DAY_MS,
      freeze,
    },
    demo: false,
    silence: silenceBefore(await writer.lastCompletedAt(), clock.nowMs()),
    printKey: PRINT_KEY,
    bindTo: platform.address,
    signal: new AbortController().signal,
    feed: { primed: new WeakSet(), triedMs: 0 },
    given: new GivenGate(parts.elsewhere),
    ...(history && { history }),
    ...(history && recorded && { lookBack: recordedLookBack(recorded, () => history.settled()) }),
  };
}

/** What only recording asks for is no step: a month with it dies where one without it does. */
function unhurried(writer: SqliteStore): EventRows {
  return {
    lastEventNo: () => writer.lastEventNo(),
    eventsBetween: (after, upTo) => writer.eventsBetween(after, upTo),
  };
}

/** Compiled once for each set in a life. */
function activeRules({ rules }: ProcessParts): () => ActiveRules {
  let known: readonly LoadedRule[] | undefined;
  let active: ActiveRules | undefined;
  return () => {
    const now = rules();
    if (active === undefined || now !== known) active = activate(now, digestOf(now.map(({ id, hash }) => [id, hash])));
    known = now;
    return active;
  };
}
