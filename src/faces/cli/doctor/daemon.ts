// cli: `doctor`: which process writes to the database, and the daemon's endpoint: whether it answers, is ready,
// and accepts our token.

import { statSync } from 'node:fs';
import { didYouMean } from '../../../base/nearest-name.ts';
import { shellWord } from '../../../base/text.ts';
import { formatDuration, spanText, timeText } from '../../../base/time.ts';
import { remoteOperations } from '../../../contract/client.ts';
import { AppError, lineOf } from '../../../domain/errors.ts';
import { areForgotten, WAITS_LONG_MS } from '../../../domain/jobs.ts';
import { describeQuietPeriod, QUIET_PERIOD } from '../../../domain/ports.ts';
import { composeQuietPeriod } from '../../../runtime/compose/compose.ts';
import type { WorkersLook } from '../../../runtime/compose/workers.ts';
import type { Config } from '../../../runtime/config/config.ts';
import type { Environment } from '../../../runtime/config/name-reader.ts';
import { MISSED_MOST, overdueAfter } from '../../../runtime/schedule/run-queue.ts';
import { systemClock } from '../../../runtime/system/clock.ts';
import { type LockLook, lookAtLock } from '../../../store/sqlite/writer-lock.ts';
import { demandFree } from '../../http/listen.ts';
import { showHidden } from '../../report/fact-text.ts';
import { CHANGE_WINDOW, changeWindowText, quietHoursText } from '../../report/plan-view.ts';
import { findDaemon } from '../daemon-client.ts';
import { type Check, countOfWords, ok, problem, warning } from './check.ts';

const ANSWER_WITHIN_MS = 5_000;

export async function daemonChecks(config: Config): Promise<Check[]> {
  const { database } = config;
  if (database.kind === 'postgres') return [modeOfWorkers(config), ...(await quietAsKept(config))];
  let look: LockLook;
  try {
    look = lookAtLock(database.file);
  } catch (error) {
    return [problem('daemon', lineOf(error), 'run `doctor` as the user who owns the database')];
  }
  const { isHeld, daemon } = look;
  if (isHeld && daemon) {
    const since = `runs since ${timeText(daemon.sinceMs)}`;
    return [ok('daemon', `${since} (process ${daemon.pid}, ${daemon.url})`), ...(await endpointChecks(config, daemon))];
  }
  const quiet = await quietAsKept(config);
  if (isHeld) {
    const text = 'none listens; a command, or a daemon that starts, writes to the database now';
    return [ok('daemon', text), modeWithoutDaemon(config), ...quiet];
  }
  return [idle(look), await freePlace(config), modeWithoutDaemon(config), ...quiet];
}

/** The next process begins with it. What is wrong with the database has a check of its own. */
async function quietAsKept(config: Config): Promise<Check[]> {
  try {
    return [ok(QUIET_PERIOD, describeQuietPeriod(await composeQuietPeriod(config)))];
  } catch {
    return [];
  }
}

function idle({ daemon }: LockLook): Check {
  if (!daemon) return ok('daemon', 'none runs on this database');
  const text = `process ${daemon.pid}, which listened on ${daemon.url}, did not end cleanly`;
  return warning('daemon', text, 'read its log; `trustward serve` starts a new one');
}

async function freePlace({ listen }: Config): Promise<Check> {
  try {
    await demandFree(listen);
    return ok('endpoint', `${listen.host}:${listen.port} is free for \`trustward serve\``);
  } catch (error) {
    return problem('endpoint', lineOf(error), 'set TRUSTWARD_LISTEN to another address');
  }
}

/** `dry-run (nothing is changed)`. */
function modeText(mode: string): string {
  return mode === 'dry-run' ? `${mode} (nothing is changed)` : mode;
}

function modeWithoutDaemon({ mode, modeCap }: Config): Check {
  const set = modeCap === undefined ? 'TRUSTWARD_MODE is not set, and `run --mode` sets another' : 'TRUSTWARD_MODE';
  return ok('mode', `${modeText(mode)}: that of a run or a daemon that begins with these settings (${set})`);
}

/** Its file decides, and the environment is the most that any organization may do. Without a file it is the environment alone. */
function modeOfWorkers({ mode }: Config): Check {
  const set = 'the lower of the organization’s `mode` and TRUSTWARD_MODE; without a file, TRUSTWARD_MODE';
  return ok('mode', `${modeText(mode)}: that of workers with these settings (${set})`);
}

/** INVARIANT: the daemon's own answer. Its settings may be others than those of this shell. */
function modeOfDaemon({ mode }: Config, checks: NonNullable<Readiness['checks']>): Check[] {
  const [inForce] = checks.find(({ name }) => name === 'mode')?.text.split(',') ?? [];
  if (inForce === undefined) return [];
  const other = inForce === mode ? '' : `; with these settings the next one begins in mode ${mode}`;
  return [ok('mode', `${modeText(inForce)}: that of the daemon that runs${other}`)];
}

/** It fails nothing, and is to be mended all the same. */
function historyOfDaemon(checks: NonNullable<Readiness['checks']>): Check[] {
  const { text } = checks.find(({ name }) => name === 'history') ?? {};
  if (!text?.startsWith('degraded')) return [];
  return [
    warning(
      'history',
      `the daemon: ${text}`,
      'the log names the reason: free space, or correct the folder’s owner or mode',
    ),
  ];
}

interface Readiness {
  checks?: { name: string; ok: boolean; text: string }[];
}

async function endpointChecks(config: Config, { url }: { url: string }): Promise<Check[]> {
  let readiness: Readiness;
  try {
    const answer = await fetch(`${url}/readyz`, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    readiness = (await answer.json()) as Readiness;
  } catch (error) {
    const text = `${url} does not answer (${lineOf(error)})`;
    return [problem('endpoint', text, 'read the daemon’s log; restart it if needed')];
  }
  const unwell = (readiness.checks ?? []).filter((check) => !check.ok);
  const failing = unwell.map(({ name, text }) =>
    problem('endpoint', `${name}: ${text}`, 'docs/operating.md, under Health'),
  );
  const ready = ok('endpoint', `${url} answers, and is ready`);
  const told = (readiness.checks ?? []).filter(({ name }) => name === QUIET_PERIOD || name === CHANGE_WINDOW);
  return [
    ...(unwell.length === 0 ? [ready] : failing),
    ...historyOfDaemon(readiness.checks ?? []),
    ...modeOfDaemon(config, readiness.checks ?? []),
    ...told.map(({ name, text }) => ok(name, name === CHANGE_WINDOW ? `the daemon: ${text}` : text)),
    ...(await tokenChecks(config)),
  ];
}

/** The token that commands send: a refused one is found now, not when something has to be stopped. */
async function tokenChecks(config: Config): Promise<Check[]> {
  const daemon = await findDaemon(config).catch((error) => error as Error);
  if (daemon === undefined) return [];
  if (daemon instanceof Error) return [problem('token', lineOf(daemon), 'read it as the daemon’s user')];
  try {
    await remoteOperations(daemon).listRuns({ limit: '1' });
    return [ok('token', 'the endpoint accepts the token that commands send')];
  } catch (error) {
    return [problem('token', lineOf(error), 'set TRUSTWARD_TOKEN to a valid token')];
  }
}

// `doctor`: the configuration: what is set, what is set without effect, and what is set unwisely.

const NAME = 'configuration';
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

/** An environment that remembers which names were read: those are the known names. */
export function rememberingNames(env: Environment): { env: Environment; asked: ReadonlySet<string> } {
  const asked = new Set<string>();
  const get = (all: Environment, name: string | symbol) => {
    asked.add(String(name));
    return all[String(name)];
  };
  return { env: new Proxy(env, { get }), asked };
}

/** @param asked the names that reading the configuration used. */
export function configurationChecks(config: Config, env: Environment, asked: ReadonlySet<string>): Check[] {
  const { api, schedule, watchMs } = config;
  const where = api ? `Management API at ${api.url}` : 'embedded console (a made-up organization)';
  return [
    ok(NAME, `${where}, schedule \`${schedule}\`, watch ${watchMs === 0 ? 'off' : `every ${formatDuration(watchMs)}`}`),
    ...windowChecks(config),
    ...unknownNames(env, asked),
    ...openFiles(env, asked),
    ...unwise(config),
  ];
}

function windowChecks({ windows: { freeze, quietHours } }: Config): Check[] {
  const text = changeWindowText(freeze, systemClock.nowMs());
  return [
    ...(text === undefined ? [] : [ok(CHANGE_WINDOW, text)]),
    ...(quietHours.length === 0 ? [] : [ok('quiet hours', quietHoursText(quietHours, systemClock.nowMs()))]),
  ];
}

function unknownNames(env: Environment, asked: ReadonlySet<string>): Check[] {
  const known = [...asked].filter((name) => name.startsWith('TRUSTWARD_'));
  return Object.keys(env)
    .filter((name) => name.startsWith('TRUSTWARD_') && !asked.has(name))
    .map((name) =>
      warning(
        NAME,
        `${name} is set, but Trustward has no such setting${didYouMean(name, known)}`,
        'correct its name, or unset it',
      ),
    );
}

function openFiles(env: Environment, asked: ReadonlySet<string>): Check[] {
  return [...asked].flatMap((name) => {
    const file = /^TRUSTWARD_.*_FILE$/.test(name) ? env[name]?.trim() : undefined;
    const mode = file ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0;
    if ((mode & 0o004) === 0) return [];
    return [
      warning(
        NAME,
        `${name}: \`${file}\` can be read by every user of this machine`,
        `chmod 600 ${shellWord(file as string)}`,
      ),
    ];
  });
}

function unwise({ api, listen, timing }: Config): Check[] {
  const checks: Check[] = [];
  const url = api && new URL(api.url);
  if (url?.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    checks.push(
      warning(NAME, `${api?.url} is not https: the credential travels in the clear`, 'give an https address'),
    );
  if (timing.quietMs < timing.requestTimeoutMs) {
    const [quiet, request] = [formatDuration(timing.quietMs), formatDuration(timing.requestTimeoutMs)];
    const text = `the quiet period (${quiet}) is shorter than the request timeout (${request}): a late effect is read too early`;
    checks.push(warning(NAME, text, 'unset TRUSTWARD_QUIET_PERIOD'));
  }
  if (!LOOPBACK.test(listen.host)) {
    const text = `the HTTP endpoint listens on ${listen.host}, beyond this machine, without TLS of its own`;
    checks.push(warning(NAME, text, 'put a proxy with TLS before it, or listen on 127.0.0.1'));
  }
  return checks;
}

// `doctor`: the workers of an organization in PostgreSQL: whether one acts or can, what waits for them, and whether its
// runs are made when they are due.

const WORKERS_NAME = 'workers';
const ADVICE = 'look whether `trustward worker` runs, with this organization, and what its log says';

/** None for a SQLite file: its daemon has checks of its own. */
export async function workerChecks({ database, schedule }: Pick<Config, 'database' | 'schedule'>): Promise<Check[]> {
  if (database.kind !== 'postgres') return [];
  try {
    const { lookAtWorkers } = await import('../../../runtime/compose/workers.ts');
    return checksOf(await lookAtWorkers(database, systemClock), schedule, systemClock.nowMs());
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // A database without tables has a check of its own.
    if (error.code === 'not_found') return [warning(WORKERS_NAME, 'none has ever worked on this database', ADVICE)];
    return [problem(WORKERS_NAME, lineOf(error), 'see the check of the database')];
  }
}

export function checksOf(look: WorkersLook, schedule: string, nowMs: number): Check[] {
  return [leaseCheck(look), jobsCheck(look), scheduleCheck(look, schedule, nowMs), stateCheck(look)].flat();
}

/** The clocks of PostgreSQL and of the folder's server may differ by this. */
const CLOCKS_MS = 60 * 60_000;

/** What was sent is recorded in the folder of whoever sent it. In another copy, a replica that lacks it would not be noticed. */
function stateCheck({ lastSentAt, positionAt }: WorkersLook): Check[] {
  if (lastSentAt === undefined || positionAt === undefined || lastSentAt - positionAt <= CLOCKS_MS) return [];
  const text = `the last request was sent ${timeText(lastSentAt)}, and the folder of TRUSTWARD_STATE here recorded none since ${timeText(positionAt)}: it is a copy, or another process has another folder`;
  return [
    problem(
      'state',
      text,
      'let every process have the same folder: what is sent is recorded there, and a failover is checked against it',
    ),
  ];
}

function leaseCheck({ lease }: WorkersLook): Check {
  if (!lease) return warning(WORKERS_NAME, 'none has ever acted for this organization', ADVICE);
  const holder = showHidden(lease.holder);
  const ago = `${spanText(lease.silentMs)} ago`;
  if (lease.isReleased)
    return ok(WORKERS_NAME, `no worker is acting right now; the last one was \`${holder}\`, ${ago}`);
  if (lease.silentMs <= lease.leaseMs) return ok(WORKERS_NAME, `\`${holder}\` acts now`);
  const text = `\`${holder}\` ended without returning its lease: its last sign of life was ${ago}, and nobody has taken over`;
  return warning(WORKERS_NAME, text, ADVICE);
}

function jobsCheck({ jobs }: WorkersLook): Check[] {
  if (jobs === undefined) return [problem('jobs', 'no worker has ever started on this database', ADVICE)];
  const waiting = jobs.reduce((sum, one) => sum + one.waiting, 0);
  const underWay = jobs.reduce((sum, one) => sum + one.underWay, 0);
  const longest = Math.max(0, ...jobs.map(({ waitingMsMax }) => waitingMsMax));
  const text = `${countOfWords(waiting, 'waits', 'wait')}, ${underWay} under way`;
  if (longest <= WAITS_LONG_MS) return [ok('jobs', text)];
  const long = `${text}; the oldest has waited for ${spanText(longest)}`;
  return [jobs.some(areForgotten) ? problem('jobs', long, ADVICE) : warning('jobs', long, ADVICE)];
}

/** By the schedule as these settings have it. */
function scheduleCheck({ lastRun }: WorkersLook, schedule: string, nowMs: number): Check[] {
  if (!lastRun) return [warning('schedule', 'no run yet', ADVICE)];
  const last = `run ${lastRun.seq} began ${timeText(lastRun.startedAt)}`;
  const overdue = overdueAfter(schedule, lastRun.startedAt, nowMs);
  if (!overdue) return [ok('schedule', `${last}, and none is late`)];
  const { times: missed } = overdue;
  const times = missed === MISSED_MOST ? `${missed} times or more` : countOfWords(missed, 'time');
  const text = `${last}, and a run has been due ${times} since`;
  if (lastRun.status === 'running') return [warning('schedule', `${text}: that one is still under way`, ADVICE)];
  return [missed === 1 ? warning('schedule', text, ADVICE) : problem('schedule', text, ADVICE)];
}
