// jobs: a worker. In: handlers, and the organizations that it serves. Out: each job carried out, its answer written in one transaction with the
// notification of those who wait. INVARIANT: what is written is fenced to this taking of the job: after another worker has it, nothing lands.
import type { JobWithMetadata } from 'pg-boss';
import { AppError, lineOf } from '../domain/errors.ts';
import {
  JOB_KINDS,
  type Job,
  type JobFault,
  type JobValue,
  PRIORITY_MAX,
  priorityOf,
  type Working,
  type WorkSettings,
} from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { NOTIFY_ANSWER } from './answers.ts';
import {
  type Engine,
  inTransaction,
  JOB_TABLE,
  parsed,
  QUEUES,
  type Queue,
  query,
  SCHEMA,
  SECONDS,
  type StoredAsk,
  type StoredEnd,
} from './engine.ts';

/** A person's job that waited longer is not begun: who asked has given up, and the state is another one. */
const AWAITED_MS_MAX = 15 * 60_000;
/** After how long nobody serves the organization of a job that workers leave to each other. */
const UNSERVED_MS_MAX = 60_000;
const WRITE_AGAIN_MS = 500;

type Taken = JobWithMetadata<StoredAsk>;
type End = { done: JobValue } | { failed: JobFault };

interface Work extends WorkSettings {
  engine: Engine;
  clock: Pick<Clock, 'nowMs' | 'sleep'>;
}

export async function startWork(work: Work): Promise<Working> {
  const { signal, engine } = work;
  const { boss } = engine;
  const loops: { queue: Queue; id: string }[] = [];
  for (const queue of Object.values(QUEUES))
    for (let slot = 0; slot < work.concurrency[queue]; slot += 1) loops.push(await startLoop(work, queue));
  const ended = new Promise<void>((resolve, reject) => {
    const stop = () => {
      const stopped = loops.map(({ queue, id }) => boss.offWork(queue, { id, wait: true }));
      Promise.all(stopped).then(() => resolve(), reject);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  const startedAtMs = work.clock.nowMs();
  return { ended, fetchedAtMs: () => lastFetch(engine, work.clock.nowMs(), startedAtMs) };
}

/** A loop with a job in its hands looks again when that has ended. */
function lastFetch({ boss }: Engine, nowMs: number, startedAtMs: number): number {
  const idle = boss.getWipData().filter(({ count }) => count === 0);
  if (idle.length === 0) return nowMs;
  return Math.max(startedAtMs, ...idle.map(({ lastFetchedOn }) => lastFetchedOn ?? 0));
}

async function startLoop(work: Work, queue: Queue): Promise<{ queue: Queue; id: string }> {
  const { boss } = work.engine;
  const settings = {
    includeMetadata: true,
    heartbeatRefreshSeconds: SECONDS.refresh,
    pollingIntervalSeconds: SECONDS.poll,
    notifyPollingIntervalSeconds: SECONDS.poll,
  } as const;
  const id: string = await boss.work<StoredAsk>(queue, settings, async ([taken]) => {
    await carryOut(work, queue, taken as Taken);
    // A notification wakes a loop once, and more than one job may be waiting: it looks again before it sleeps.
    boss.notifyWorker(id);
  });
  return { queue, id };
}

async function carryOut(work: Work, queue: Queue, taken: Taken): Promise<void> {
  // It was fetched while the worker was being stopped.
  if (work.signal.aborted) return leaveToOthers(work, queue, taken);
  const organization = taken.groupId as string;
  const waitedMs = Math.max(0, taken.startedOn.getTime() - taken.createdOn.getTime());
  if (!work.organizations().has(organization)) {
    if (waitedMs < UNSERVED_MS_MAX) await leaveToOthers(work, queue, taken);
    else await settle(work, queue, taken, { failed: unserved(organization) });
    return;
  }
  if (JOB_KINDS[taken.data.kind].isAwaited && taken.retryCount === 0 && waitedMs > AWAITED_MS_MAX) {
    await settle(work, queue, taken, { failed: tooLate(waitedMs) });
    return;
  }
  if (queue === 'lanes') await raiseOthers(work.engine, organization, taken);
  await settle(work, queue, taken, await endOf(work, taken, organization, waitedMs));
}

async function endOf(work: Work, taken: Taken, organization: string, waitedMs: number): Promise<End> {
  const { kind, by, payload } = taken.data;
  const job: Job = {
    id: taken.id,
    organization,
    kind,
    payload: parsed<JobValue>(payload),
    by,
    takeovers: taken.retryCount,
    waitedMs,
    lost: taken.signal,
    begun: (value) => show(work.engine, taken, value),
  };
  try {
    return { done: await work.handlers[kind](job) };
  } catch (error) {
    // INVARIANT: its text may name subjects, and is not stored here (src/domain/jobs.ts).
    if (!(error instanceof AppError)) return { failed: { code: 'internal', message: IN_LOG } };
    return { failed: { code: error.code, message: IN_LOG, retryAfterMs: error.options.retryAfterMs } };
  }
}

const IN_LOG = 'the worker that took it could not do it: its log has the reason';

/** While PostgreSQL is away, an end is written again and again, until it lands or the job is another worker's. */
async function settle(work: Work, queue: Queue, taken: Taken, end: End): Promise<void> {
  const stored: StoredEnd = 'done' in end ? { done: textOf(end.done) } : { failed: textOf({ ...end.failed }) };
  for (;;) {
    try {
      await inTransaction(work.engine, async (tx) => {
        await work.engine.boss.complete(queue, { id: taken.id, retryCount: taken.retryCount }, stored, { db: tx });
        await tx.executeSql(NOTIFY_ANSWER, [taken.id]);
        await tx.executeSql(NOTIFY_NEXT, [queue, taken.singletonKey]);
      });
      return;
    } catch (error) {
      work.engine.log.warn({ job: taken.id }, `jobs: an end is not written yet: ${lineOf(error)}`);
      if (taken.signal.aborted) return;
      await work.clock.sleep(WRITE_AGAIN_MS, taken.signal).catch(() => {});
    }
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** All loops of all workers that wait at the queue look at once. */
const WAKE = `SELECT pg_notify('pgboss_' || left(encode(sha224('${SCHEMA}'::bytea), 'hex'), 24), $1)`;

/** The next job of the same key can be fetched from now on; its own notification came too early. */
const NOTIFY_NEXT = `
  ${WAKE}
  WHERE EXISTS (SELECT FROM ${JOB_TABLE} WHERE name = $1 AND singleton_key = $2 AND state < 'active')`;

async function show(engine: Engine, taken: Taken, value: JobValue): Promise<void> {
  const stored = JSON.stringify({ begun: textOf(value) } satisfies StoredEnd);
  await inTransaction(engine, async (tx) => {
    await tx.executeSql(SHOW, [stored, taken.name, taken.id, taken.retryCount]);
    await tx.executeSql(NOTIFY_ANSWER, [taken.id]);
  });
}

const SHOW = `
  UPDATE ${JOB_TABLE} SET output = $1::jsonb WHERE name = $2 AND id = $3 AND state = 'active' AND retry_count = $4`;

/**
 * As if it had not been fetched. All are woken when it can be fetched again: by themselves they look at times of their own, and one of them would
 * always be the first. INVARIANT: not before the engine has ended this taking, whose end would count for the next one: both have one number.
 */
async function leaveToOthers({ engine, clock, signal }: Work, queue: Queue, taken: Taken): Promise<void> {
  const [left] = await query<{ ms: number }>(engine, LEAVE, [queue, taken.id, taken.retryCount]);
  if (!left) return;
  void clock
    .sleep(left.ms, signal)
    .then(() => query(engine, WAKE, [queue]))
    .catch(() => {}); // they look by themselves
}

const LEAVE = `
  UPDATE ${JOB_TABLE} SET state = CASE WHEN retry_count = 0 THEN 'created' ELSE 'retry' END::${SCHEMA}.job_state,
    started_on = CASE WHEN retry_count = 0 THEN NULL ELSE started_on END, heartbeat_on = NULL,
    retry_count = greatest(retry_count - 1, 0), start_after = now() + (0.2 + random()) * interval '1 second'
  WHERE name = $1 AND id = $2 AND state = 'active' AND retry_count = $3
  RETURNING ceil(extract(epoch FROM start_after - now()) * 1000)::float8 AS ms`;

/** Lanes: what waits in others comes nearer, and what waits in this one goes back to its place (`priorityOf`). */
async function raiseOthers(engine: Engine, organization: string, { id, data: { kind } }: Taken): Promise<void> {
  await query(engine, RAISE, [QUEUES.lanes, organization, kind, priorityOf(kind), PRIORITY_MAX, id]);
}

const RAISE = `
  UPDATE ${JOB_TABLE} SET priority = CASE WHEN data->>'kind' = $3 THEN $4 ELSE least(priority + 1, $5) END
  WHERE name = $1 AND group_id = $2 AND state < 'active' AND id <> $6`;

function unserved(organization: string): JobFault {
  const message = `no worker serves the organization \`${organization}\`: see \`trustward organizations check\` where the workers run`;
  return { code: 'config', message };
}

function tooLate(waitedMs: number): JobFault {
  const message = `it waited for ${Math.round(waitedMs / 60_000)} minutes and was not begun: ask again if it is still wanted`;
  return { code: 'stopped', message };
}
