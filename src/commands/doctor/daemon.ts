// commands: `doctor`: which process writes to the database, and the daemon's endpoint: whether it answers, is ready,
// and accepts our token.
import { composeQuietPeriod } from '../../compose/compose.ts';
import type { Config } from '../../config/config.ts';
import { lineOf } from '../../domain/errors.ts';
import { describeQuietPeriod, QUIET_PERIOD } from '../../domain/quiet-period.ts';
import { timeText } from '../../domain/time-text.ts';
import { demandFree } from '../../http/index.ts';
import { CHANGE_WINDOW } from '../../report/index.ts';
import { type LockLook, lookAtLock } from '../../store/writer-lock.ts';
import { findDaemon } from '../daemon-client.ts';
import { type Check, ok, problem, warning } from './check.ts';

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
    await daemon.call('GET', '/api/runs?limit=1');
    return [ok('token', 'the endpoint accepts the token that commands send')];
  } catch (error) {
    return [problem('token', lineOf(error), 'set TRUSTWARD_TOKEN to a valid token')];
  }
}
