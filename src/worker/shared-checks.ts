// worker: what `/readyz` of each process on PostgreSQL shows, of a worker as of an endpoint. In: the state of the server, what waits for workers. Out:
// checks. INVARIANT: they are public: they name no organization.
import type { PostgresServer } from '../compose/postgres.ts';
import { AppError } from '../domain/errors.ts';
import { areForgotten, type JobCount, type Jobs, WAITS_LONG_MS } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import type { Organizations } from './organizations.ts';

/** Whoever asks for `/readyz` gives up soon, and a network that is cut says nothing for minutes. */
const ANSWER_MS = 3_000;
export const NO_ANSWER: ReadyCheck = { name: 'database', ok: false, text: 'PostgreSQL does not answer; see the log' };

/** Errors: those of `asked`; AppError `store_failed` when no answer comes. */
export async function inTime<T>(asked: Promise<T>, clock: Pick<Clock, 'sleep'>): Promise<T> {
  const isOver = new AbortController();
  const late = clock.sleep(ANSWER_MS, isOver.signal).then(() => {
    throw new AppError('store_failed', `PostgreSQL did not answer within ${ANSWER_MS / 1_000} s`);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    isOver.abort();
    late.catch(() => {});
    asked.catch(() => {});
  }
}

interface Reached {
  pool: Pick<PostgresServer['pool'], 'demandWritable'>;
  health: Pick<PostgresServer['health'], 'fault'>;
}

export async function serverCheck({ pool, health }: Reached, clock: Pick<Clock, 'sleep'>): Promise<ReadyCheck> {
  const isReached = await inTime(pool.demandWritable(), clock).then(
    () => true,
    () => false,
  );
  const fault = health.fault();
  const since = fault && `${fault.text}; since ${timeText(fault.since)}`;
  const broken = since ?? (isReached ? undefined : NO_ANSWER.text);
  return { name: 'database', ok: broken === undefined, text: broken ?? 'it answers' };
}

/** INVARIANT: others on the same database are not told of: with one organization here, its tokens read this. Errors: as `inTime`. */
export async function jobsOf(
  organizations: Pick<Organizations, 'all'>,
  jobs: Pick<Jobs, 'counts'>,
  clock: Pick<Clock, 'sleep'>,
): Promise<readonly JobCount[]> {
  const own = new Set(organizations.all().map(({ id }) => id));
  return (await inTime(jobs.counts(), clock)).filter(({ organization }) => own.has(organization));
}

/** INVARIANT: it counts none. Workers keep the schedules, so nothing waits either when none runs. */
function textOf(counts: readonly JobCount[]): string {
  if (counts.some(({ underWay }) => underWay > 0)) return 'workers take them';
  if (counts.some(({ waiting }) => waiting > 0)) return `some wait, none for more than ${WAITS_LONG_MS / 1_000} s`;
  return 'none waits; `trustward doctor` shows whether workers run';
}

/** Reading and stopping need no worker, and one worker does not stand for all: it is a part of the work. */
export async function jobsCheck(
  jobs: Pick<Jobs, 'counts'>,
  clock: Pick<Clock, 'sleep'>,
  organization?: string,
): Promise<ReadyCheck> {
  const check = { name: 'jobs', isPartial: true as const };
  try {
    const counts = await inTime(jobs.counts(), clock);
    const own = counts.filter((one) => organization === undefined || one.organization === organization);
    if (!own.some(areForgotten)) return { ...check, ok: true, text: textOf(own) };
    const text = `some wait for more than ${WAITS_LONG_MS / 1_000} s: look whether workers (\`trustward worker\`) run and log no fault`;
    return { ...check, ok: false, text };
  } catch {
    return { ...check, ok: false, text: 'they cannot be read; see the log' };
  }
}
