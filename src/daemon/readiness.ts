// The daemon's answer to `/readyz`: one check for each condition of its work. In: the composition and the result of the
// last run. Out: checks. They are public: they show how much is wrong, what to do, and which lines of which rule files;
// paths and contents are left to the log.
import { WAY_ON } from '../audit/belonging.ts';
import type { Composition } from '../compose/compose.ts';
import type { ChangeWindow } from '../domain/change-window.ts';
import { lineOf } from '../domain/errors.ts';
import type { Lists } from '../domain/lists.ts';
import { describeQuietPeriod, QUIET_PERIOD } from '../domain/quiet-period.ts';
import { distrustedNow } from '../domain/snapshot.ts';
import { isLasting } from '../domain/store-fault.ts';
import { timeText } from '../domain/time-text.ts';
import { type LoadedRule, rulesThatLose } from '../evaluate/index.ts';
import type { HttpDeps, ReadyCheck } from '../http/index.ts';
import type { HeartbeatState } from '../notify/heartbeat.ts';
import {
  CHANGE_WINDOW,
  changeWindowNow,
  changeWindowText,
  meanwhileText,
  plural,
  refusalText,
} from '../report/index.ts';
import type { QueueCounters } from '../schedule/queue-counters.ts';
import { meaningOf } from '../store/store-fault.ts';
import { backupCheck } from './backup-check.ts';
import type { Backups } from './backups.ts';
import { historyCheck } from './history-check.ts';
import type { Watch } from './watch.ts';
import { watchCheck } from './watch-check.ts';

/** The result of a run; `error` is undefined when it ended well. */
export interface LastRun {
  seq: number | undefined;
  error: unknown;
}

export async function readiness(
  { config, engine, rules, health, notifications, heartbeat, history }: Composition,
  last: LastRun | undefined,
  counters: QueueCounters,
  watch: Watch,
  backups: Backups | undefined,
): Promise<ReadyCheck[]> {
  return [
    await databaseCheck(engine.store, health),
    rulesCheck(rules, true),
    lastRunCheck(last),
    scheduleCheck(counters),
    watchCheck(watch.counters, (atMs) => watch.missedSince(atMs)),
    ...(history ? [historyCheck(history)] : []),
    ...(heartbeat ? [heartbeatCheck(heartbeat.state)] : []),
    ...(backups && config.backup ? [backupCheck(backups.state(), config.backup, engine.clock.nowMs())] : []),
    ...auditChecks(engine),
    ...(await sourceChecks(engine.store)),
    ...(await stopChecks(engine.store)),
    ...(await changeWindowChecks(engine.store, config.windows.freeze, engine.clock.nowMs())),
    ...feedChecks(await notifications.feeds().catch(() => [])),
    { name: QUIET_PERIOD, ok: true, text: describeQuietPeriod(engine.quiet.read()) },
    ...listsChecks(config.lists, rules.all()),
    { name: 'mode', ok: true, text: `${engine.daemonMode}${engine.demo ? ', DEMO: the embedded console' : ''}` },
  ];
}

/** INVARIANT: how many rules lose facts, and not which: their ids are not public. */
function listsChecks(lists: Lists, rules: readonly LoadedRule[]): ReadyCheck[] {
  if (lists === 'v1') return [];
  const losing = rulesThatLose(rules).length;
  const rest = losing === 0 ? '' : `; rules that lose facts: ${losing} of ${rules.length}`;
  return [{ name: 'lists', ok: true, text: `devices and users are read from lists of version 2${rest}` }];
}

/** Reading alone does not notice a full disk: the result of the last write is remembered. */
export async function databaseCheck(store: HttpDeps['reader'], health: Composition['health']): Promise<ReadyCheck> {
  const entries = await store.auditHead().then(
    ({ seq }) => `${seq} audit entries`,
    () => undefined,
  );
  const fault = health.fault();
  if (fault) {
    const since = `since ${timeText(fault.since)}`;
    const then = isLasting(fault) ? 'nothing is changed until a start with a whole one' : 'the next run tries again';
    return { name: 'database', ok: false, text: `${fault.text}; ${since}; ${then}` };
  }
  return { name: 'database', ok: entries !== undefined, text: entries ?? 'it cannot be read; see the log' };
}

/** `isDaemon`: as for meanwhileText. */
export function rulesCheck(rules: Composition['rules'], isDaemon: boolean): ReadyCheck {
  const wrong = rules.refusal;
  const { length } = rules.all();
  if (wrong === undefined) return { name: 'rules', ok: true, text: plural(length, 'rule') };
  const rest = '`trustward rules check`, the log and the audit (`rules.rejected`) have the details';
  return { name: 'rules', ok: false, text: `${refusalText(wrong)}; ${meanwhileText(length, isDaemon)}; ${rest}` };
}

function lastRunCheck(last: LastRun | undefined): ReadyCheck {
  const name = 'last run';
  if (!last) return { name, ok: true, text: 'none yet since the start' };
  if (last.error === undefined) return { name, ok: true, text: `run ${last.seq} completed` };
  const meaning = meaningOf(last.error);
  return { name, ok: false, text: meaning ? `the database failed: ${meaning.text}` : lineOf(last.error) };
}

/**
 * Fails when the last scheduled time was refused. INVARIANT: of the daemon alone: who asked for runs is not public.
 */
export function scheduleCheck({ since, lanes: { schedule } }: QueueCounters): ReadyCheck {
  const { accepted, joined, refused, refusal, waitMsMax } = schedule;
  const counted = [
    `${plural(accepted + refused, 'scheduled time')} since ${timeText(since)}`,
    ...(joined > 0 ? [`${joined} came while a run waited and became that run`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    `longest wait ${(waitMsMax / 1_000).toFixed(1)} s`,
  ].join('; ');
  const text = refusal
    ? `the last scheduled time, ${timeText(refusal.at)}, was refused (${refusal.reason}); ${counted}`
    : counted;
  return { name: 'schedule', ok: refusal === undefined, text };
}

/** It fails nothing: who waits for it elsewhere is alerted there. */
function heartbeatCheck({ acceptedAt, failingSince }: HeartbeatState): ReadyCheck {
  const last = acceptedAt === undefined ? 'none accepted since the start' : `last accepted ${timeText(acceptedAt)}`;
  const fails = failingSince === undefined ? '' : `fails since ${timeText(failingSince)} (see the log); `;
  return { name: 'heartbeat', ok: true, text: `${fails}${last}` };
}

export function auditChecks({ checkpointer }: Composition['engine']): ReadyCheck[] {
  if (!checkpointer) return [];
  const restored = checkpointer.restored();
  const isBehind = checkpointer.fault() !== undefined;
  const text = isBehind
    ? 'the file outside the database cannot be written; see the log'
    : 'sealed outside the database';
  const accept = `this database was restored, or its checkpoints outside were lost; nothing is called until ${WAY_ON}`;
  return [
    { name: 'checkpoints', ok: !isBehind, text },
    ...(restored === undefined ? [] : [{ name: 'restored database', ok: false, text: accept }]),
  ];
}

/** Configured by an operator: no fault. */
export async function changeWindowChecks(
  store: HttpDeps['reader'],
  windows: readonly ChangeWindow[],
  nowMs: number,
): Promise<ReadyCheck[]> {
  const text = await changeWindowNow(store, windows, nowMs).catch(() => changeWindowText(windows, nowMs));
  return text === undefined ? [] : [{ name: CHANGE_WINDOW, ok: true, text }];
}

/** A receiver that is down is no fault of the daemon, and a restart would not help. INVARIANT: its address is not public. */
function feedChecks(feeds: Awaited<ReturnType<Composition['notifications']['feeds']>>): ReadyCheck[] {
  return feeds.map(({ webhook, behind, failingSince }) => {
    const failing = failingSince === undefined ? undefined : `not delivered since ${timeText(failingSince)}`;
    const waiting = `${plural(behind, 'audit entry', 'audit entries')} behind`;
    return { name: `webhook ${webhook}`, ok: true, text: [failing, waiting].filter(Boolean).join('; ') };
  });
}

const RUNS_BACK = 20;

/**
 * A source that is not trusted: its rules do nothing, and a restart would not help. INVARIANT: causes, and not their texts, which name devices and
 * values; that of a source that stands still has times alone.
 */
export async function sourceChecks(store: Pick<HttpDeps['reader'], 'runsOverLists'>): Promise<ReadyCheck[]> {
  const latest = await store.runsOverLists(RUNS_BACK).catch(() => []); // what is wrong with the database has a check of its own
  const distrusted = distrustedNow(latest.filter(({ findings }) => findings !== undefined));
  if (distrusted.length === 0) return [];
  const texts = distrusted.map(({ run, reading }) => {
    const causes = reading.reasons.map(({ code, text }) => (code === 'stands_still' ? text : code));
    const { source } = reading;
    return `${source} are not trusted in run ${run.seq} (${causes.map((cause) => cause.replace(`${source}: `, '')).join(', ')})`;
  });
  return [{ name: 'sources', ok: true, text: `${texts.join('; ')}: nothing is done on that` }];
}

/** A stop is an operator's choice, not a fault; who and why are left to the log and the report. */
export async function stopChecks(store: HttpDeps['reader']): Promise<ReadyCheck[]> {
  const stop = await store.stop().catch(() => undefined); // what is wrong with the database has a check of its own
  const text = stop && `since ${timeText(stop.at)}: runs judge, and nothing is called until it is resumed`;
  return text === undefined ? [] : [{ name: 'stopped', ok: true, text }];
}
