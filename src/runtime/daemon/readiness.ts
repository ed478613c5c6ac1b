// The daemon's answer to `/readyz`: one check for each condition of its work. In: the composition and the result of the
// last run. Out: checks. They are public: they show how much is wrong, what to do, and which lines of which rule files;
// paths and contents are left to the log.

import { formatDuration, isoTime, spanText, timeText } from '../../base/time.ts';
import type { ChangeWindow } from '../../domain/change-window.ts';
import { isLasting } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Lists } from '../../domain/lists.ts';
import type { Alert } from '../../domain/notification.ts';
import { type Clock, describeQuietPeriod, type Log, QUIET_PERIOD } from '../../domain/ports.ts';
import type { RestReason, WatchCounters, WatchLook, WatchRequest, WatchState } from '../../domain/run.ts';
import { distrustedNow } from '../../domain/snapshot.ts';
import { WAY_ON } from '../../engine/audit/sources.ts';
import type { HttpDeps, ReadyCheck } from '../../faces/http/deps.ts';
import { countText, meanwhileText, plural, refusalText, showHidden } from '../../faces/report/fact-text.ts';
import { CHANGE_WINDOW, changeWindowNow, changeWindowText } from '../../faces/report/plan-view.ts';
import type { RecorderState } from '../../history/record/run-recorder.ts';
import { rulesThatLose } from '../../rules/compile/expressions.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { meaningOf } from '../../store/store-fault.ts';
import type { Composition } from '../compose/compose.ts';
import type { BackupSettings } from '../config/config.ts';
import type { HeartbeatState } from '../notify/settings.ts';
import type { QueueCounters, RunQueue } from '../schedule/run-queue.ts';
import type { BackupState, Backups } from './own-process.ts';

export function backupCheck({ last, fault, isLate }: BackupState, settings: BackupSettings, nowMs: number): ReadyCheck {
  const good =
    last === undefined ? 'no good one yet' : `last good one ${timeText(last.atMs)}, ${spanText(nowMs - last.atMs)} ago`;
  const kept = `every ${formatDuration(settings.everyMs)}, ${settings.keep} kept; ${good}`;
  const wrong = fault ? `fails since ${timeText(fault.since)} (see the log); ` : isLate ? 'overdue; ' : '';
  return { name: 'backup', ok: wrong === '', text: `${wrong}${kept}` };
}

function historyCheck({ fault, recorded, lost }: RecorderState): ReadyCheck {
  const counted = `since the start ${plural(recorded, 'run')} recorded${lost > 0 ? `, ${lost} not` : ''}`;
  const wrong = fault ? `degraded: runs are not recorded since ${timeText(fault.sinceMs)} (see the log); ` : '';
  return { name: 'history', ok: true, text: `${wrong}${counted}` };
}

export function alertOfHistory({ history, notifications }: Composition): void {
  if (history) notifications.alsoAlert(() => historyAlerts(history));
}

/** One while it lasts. */
function historyAlerts({ fault, lost }: RecorderState): Alert[] {
  if (!fault) return [];
  const text = `runs are not recorded in the history since ${timeText(fault.sinceMs)}: ${fault.text}`;
  return [{ key: 'history', code: 'history', text, about: { fault: fault.text, since: isoTime(fault.sinceMs), lost } }];
}

// The daemon's looks at the event log between two scheduled runs.

interface WatchParts {
  everyMs: number;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'sleep'>;
  log: Log;
  queue: Pick<RunQueue, 'inTurn'>;
  look(request: Omit<WatchRequest, 'mode'>): Promise<WatchLook>;
  /** Errors: those of a run, which it has recorded and shown by itself. */
  runWhole(): Promise<unknown>;
  /** Scheduled times after this one, until now. */
  missedSince(atMs: number): number;
}

/** After so long without one, the next event that names a stranger is news again. */
const STRANGERS_AGAIN_MS = 86_400_000;

export class Watch {
  readonly counters: WatchCounters;
  private scheduledRuns = 0;
  /** The number of scheduled runs when the last extra whole run was asked for. */
  private wholeAfter: number | undefined;
  private strangersAtMs: number | undefined;
  private isWoken = false;
  private woken: AbortController | undefined;

  constructor(private readonly parts: WatchParts) {
    const none = { looks: 0, failed: 0, runs: 0, wholeRuns: 0, events: 0, named: 0, strangers: 0, unread: 0 };
    const since = parts.clock.nowMs();
    this.counters = { since, everyMs: parts.everyMs, ...none, lastLookAt: undefined, state: { kind: 'looks' } };
  }

  missedSince(atMs: number): number {
    return this.parts.missedSince(atMs);
  }

  /** A scheduled run begins: from now on, one more extra whole run may be made. */
  scheduledRunBegins(): void {
    this.scheduledRuns += 1;
  }

  /** Looks again and again until `ending`: a period after the look before began, or a quarter of one after it ended. It never rejects. */
  async untilEnding(ending: AbortSignal): Promise<void> {
    const { everyMs, clock } = this.parts;
    let tookMs = 0;
    while (everyMs > 0 && !ending.aborted) {
      await this.wait(Math.max(everyMs - tookMs, everyMs / 4), tookMs / 4, ending);
      const begunMs = clock.monotonicMs();
      if (!ending.aborted) await this.lookOnce(ending);
      tookMs = clock.monotonicMs() - begunMs;
    }
  }

  /** Signals have come: the next look is made at once. It returns at once. */
  wake(): void {
    this.isWoken = true;
    this.woken?.abort();
  }

  /** The next look comes after that, or when it is woken, which leaves some time to other work between two looks. */
  private async wait(ms: number, leastMs: number, ending: AbortSignal): Promise<void> {
    const { clock } = this.parts;
    this.woken = new AbortController();
    // The end of the process ends the wait, too.
    if (!this.isWoken) await clock.sleep(ms, AbortSignal.any([ending, this.woken.signal])).catch(() => {});
    if (this.isWoken && leastMs > 0) await clock.sleep(leastMs, ending).catch(() => {});
    this.isWoken = false;
  }

  /** INVARIANT: at most one look or extra run waits for its turn: the next look comes after both. */
  private async lookOnce(ending: AbortSignal): Promise<void> {
    const { queue, look, missedSince } = this.parts;
    let found: WatchLook;
    let scheduledRuns = 0;
    try {
      found = await queue.inTurn('watch', undefined, () => {
        scheduledRuns = this.scheduledRuns;
        return look({ missedSince, mayStartWhole: this.wholeAfter !== this.scheduledRuns });
      });
    } catch (error) {
      if (!ending.aborted) this.failed(error);
      return;
    }
    this.found(found);
    if (found.result === 'whole') await this.startWhole(found, scheduledRuns, ending);
  }

  /** A scheduled run that began since the look is that whole run. `scheduledRuns`: how many had begun at the look. */
  private async startWhole({ reason }: WatchLook, scheduledRuns: number, ending: AbortSignal): Promise<void> {
    const { log, queue, runWhole } = this.parts;
    log.info({ reason: reason?.code }, `watch asks for a whole run: ${showHidden(reason?.text ?? '')}`);
    try {
      await queue.inTurn('watch', undefined, async () => {
        if (this.scheduledRuns !== scheduledRuns) return;
        this.wholeAfter = scheduledRuns;
        this.counters.wholeRuns += 1;
        await runWhole();
      });
    } catch (error) {
      if (!ending.aborted) log.error({}, `the whole run that watch asked for failed: ${lineOf(error)}`);
    }
  }

  /** INVARIANT: a rest goes on while looks ask for whole runs with its reason: each period begins with such a look. */
  private found({ result, events, named, read, strangers, unread, run, reason }: WatchLook): void {
    const { clock, log } = this.parts;
    const { counters } = this;
    const atMs = clock.nowMs();
    counters.looks += 1;
    counters.lastLookAt = atMs;
    // What a look rests over, the next one sees again.
    if (result !== 'rest') {
      counters.events += events;
      counters.named += named;
      counters.strangers += strangers;
      counters.unread += unread;
    }
    if (run) {
      counters.runs += 1;
      const { id, seq, mode } = run;
      log.info({ run: id, seq, mode }, `run ${seq} (watch, ${mode}) is done: it read ${plural(read, 'subject')}`);
    }
    if (strangers > 0) this.sawStrangers(strangers, atMs);
    if (result === 'rest' && reason) this.becomes({ kind: 'rests', sinceMs: atMs, code: reason.code }, reason.text);
    else if (result !== 'whole' || codeOf(counters.state) !== reason?.code) this.becomes({ kind: 'looks' }, '');
  }

  private sawStrangers(count: number, atMs: number): void {
    const { log } = this.parts;
    const isNews = this.strangersAtMs === undefined || atMs - this.strangersAtMs >= STRANGERS_AGAIN_MS;
    this.strangersAtMs = atMs;
    if (isNews)
      log.warn({ strangers: count }, 'new events name subjects that are not found; /readyz counts those that follow');
  }

  private failed(error: unknown): void {
    const { clock } = this.parts;
    this.counters.failed += 1;
    const code = error instanceof AppError ? error.code : 'internal';
    this.becomes({ kind: 'fails', sinceMs: clock.nowMs(), code }, lineOf(error));
  }

  /** INVARIANT: the log has each change once: a state that stays with the same code keeps its beginning and adds no line. */
  private becomes(state: WatchState, text: string): void {
    const { log } = this.parts;
    const before = this.counters.state;
    const isSame = state.kind === before.kind && codeOf(state) === codeOf(before);
    if (isSame) return;
    this.counters.state = state;
    const shown = showHidden(text);
    if (state.kind === 'looks') log.info({}, 'watch reads the event log again');
    else if (state.kind === 'rests') log.warn({ reason: state.code }, `watch rests: ${shown}`);
    else log.error({ code: state.code }, `reading the event log failed: ${shown}; the next one tries again`);
  }
}

function codeOf(state: WatchState): string {
  return state.kind === 'looks' ? '' : state.code;
}

// The check `watch` of `/readyz`.

const REST_WORDS: Record<RestReason, string> = {
  no_whole_run: 'there is no whole run to count with',
  untrusted: 'the last whole run did not trust what it read',
  runs_missed: 'more than one scheduled run was missed',
  events_forbidden: 'the API does not let it read events (403): allow the credential to, or set TRUSTWARD_WATCH=0s',
  nothing_to_watch: 'no rule can be judged after events',
  many_subjects: 'new events name too many subjects for it',
  fact_moved: 'one fact moved the same way in many subjects',
  source_failed: 'the event log, or a subject that it names, could not be read',
};

/** What ends the rest; without an entry a whole run. */
const UNTIL: Partial<Record<RestReason, string>> = {
  nothing_to_watch: '',
  source_failed: ' while each reading tries again',
};

/**
 * Nothing is wrong with the daemon: rules stay out of it, the platform's edition has no event log, or a source is not trusted, which reports
 * and alerts show.
 */
const NEVER_LATE: ReadonlySet<RestReason> = new Set(['nothing_to_watch', 'events_forbidden', 'untrusted']);

/** Not ok when no look was made for longer than one period of the schedule. */
export function watchCheck(counters: WatchCounters, missedSince: (atMs: number) => number): ReadyCheck {
  const name = 'watch';
  const { everyMs, state, lastLookAt } = counters;
  if (everyMs === 0) return { name, ok: true, text: 'off' };
  const every = `every ${formatDuration(everyMs)}`;
  const last = lastLookAt === undefined ? 'not read yet' : `last read ${timeText(lastLookAt)}`;
  const rest = [every, last, countedText(counters)].join('; ');
  if (state.kind === 'looks') return { name, ok: true, text: rest };
  const isLate = missedSince(state.sinceMs) > 1;
  const since = `since ${timeText(state.sinceMs)}`;
  if (state.kind === 'fails')
    return { name, ok: !isLate, text: `readings fail ${since} (${state.code}; see the log); ${rest}` };
  const isWrong = isLate && !NEVER_LATE.has(state.code);
  const until = UNTIL[state.code] ?? ', until a whole run';
  return { name, ok: !isWrong, text: `rests ${since}${until}: ${REST_WORDS[state.code]}; ${rest}` };
}

function countedText({
  since,
  looks,
  failed,
  runs,
  wholeRuns,
  events,
  named,
  strangers,
  unread,
}: WatchCounters): string {
  const counted = [
    plural(looks, 'reading'),
    ...(failed > 0 ? [`${countText(failed)} failed`] : []),
    ...(events > 0 ? [plural(events, 'new event')] : []),
    ...(named > 0 ? [`${plural(named, 'subject')} named`] : []),
    ...(strangers > 0 ? [`${countText(strangers)} not found`] : []),
    ...(unread > 0 ? [`${countText(unread)} not readable`] : []),
    ...(runs > 0 ? [plural(runs, 'run')] : []),
    ...(wholeRuns > 0 ? [plural(wholeRuns, 'extra whole run')] : []),
  ];
  return `since ${timeText(since)}: ${counted.join(', ')}`;
}

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
    ...((await notifications.signals?.lines()) ?? []).map(({ receiver, text }) => ({
      name: `signals to ${receiver}`,
      ok: true,
      text,
    })),
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
