// commands: `doctor`: the workers of an organization in PostgreSQL: whether one acts or can, what waits for them, and whether its runs are made when
// they are due. They are processes elsewhere, so only what they leave in the database is looked at.
import type { WorkersLook } from '../../compose/workers.ts';
import type { Config } from '../../config/config.ts';
import { spanText } from '../../domain/age-text.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { areForgotten, WAITS_LONG_MS } from '../../domain/jobs.ts';
import { timeText } from '../../domain/time-text.ts';
import { showHidden } from '../../report/index.ts';
import { MISSED_MOST, overdueAfter } from '../../schedule/schedule.ts';
import { systemClock } from '../../system/clock.ts';
import { type Check, countOfWords, ok, problem, warning } from './check.ts';

const NAME = 'workers';
const ADVICE = 'look whether `trustward worker` runs, with this organization, and what its log says';

/** None for a SQLite file: its daemon has checks of its own. */
export async function workerChecks({ database, schedule }: Pick<Config, 'database' | 'schedule'>): Promise<Check[]> {
  if (database.kind !== 'postgres') return [];
  try {
    const { lookAtWorkers } = await import('../../compose/workers.ts');
    return checksOf(await lookAtWorkers(database, systemClock), schedule, systemClock.nowMs());
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // A database without tables has a check of its own.
    if (error.code === 'not_found') return [warning(NAME, 'none has ever worked on this database', ADVICE)];
    return [problem(NAME, lineOf(error), 'see the check of the database')];
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
  if (!lease) return warning(NAME, 'none has ever acted for this organization', ADVICE);
  const holder = showHidden(lease.holder);
  const ago = `${spanText(lease.silentMs)} ago`;
  if (lease.isReleased) return ok(NAME, `nobody acts at this moment; the last was \`${holder}\`, ${ago}`);
  if (lease.silentMs <= lease.leaseMs) return ok(NAME, `\`${holder}\` acts now`);
  const text = `\`${holder}\` ended without giving its lease back: its last sign of life was ${ago}, and nobody has taken over`;
  return warning(NAME, text, ADVICE);
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
