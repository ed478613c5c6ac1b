// jobs: the port of jobs on PostgreSQL, over a kept engine (docs/decisions/0048-the-job-engine.md). In: an address. Out: asking, waiting,
// working, schedules and figures; each for the organization that the caller names.
import type { Db, JobWithMetadata } from 'pg-boss';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  JOB_KINDS,
  type Job,
  type JobAsk,
  type JobCount,
  type JobFault,
  type JobKind,
  type JobSchedule,
  type Jobs,
  type JobTicket,
  type JobValue,
  PRIORITY_MAX,
  priorityOf,
  refusalIn,
  retryAfterMsOf,
  type Working,
  type WorkSettings,
} from '../../domain/jobs.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import {
  Answers,
  type Engine,
  type EngineSettings,
  inTransaction,
  JOB_TABLE,
  keyOf,
  NOTIFY_ANSWER,
  parsed,
  QUEUES,
  type Queue,
  query,
  queueOf,
  SCHEMA,
  SECONDS,
  type StoredAsk,
  type StoredEnd,
  settingsOf,
  startEngine,
} from './engine.ts';

// One more job.

const PAYLOAD_CHARACTERS_MAX = 200_000;

interface Waiting {
  id: string;
  kind: JobKind;
  by: string | null;
  same: string | null;
}

/** Errors: AppError `busy`, `usage`, `store_failed`. */
function ask(engine: Engine, job: JobAsk): Promise<JobTicket> {
  return inTransaction(engine, (tx) => askIn(engine, tx, job));
}

/** INVARIANT: asks of one organization go one after another, so that two of them cannot take one place. */
async function askIn({ boss }: Engine, tx: Db, job: JobAsk): Promise<JobTicket> {
  const { organization, kind, by } = job;
  const stored = storedOf(job);
  const queue = QUEUES[queueOf(kind)];
  await tx.executeSql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`trustward jobs of ${organization}`]);
  const { rows } = (await tx.executeSql(WAITING, [queue, organization])) as { rows: Waiting[] };
  const same = rows.find((one) => one.kind === kind && one.same !== null && one.same === stored.same);
  if (same) return { id: same.id, isJoined: true };
  const refusal = refusalOf(rows, kind, by);
  if (refusal) throw new AppError('busy', refusal, { retryAfterMs: await retryAfterMs(tx, queue, organization) });
  const id = await boss.send(queue, stored, {
    ...settingsOf(kind),
    priority: priorityOf(kind),
    singletonKey: keyOf(organization, kind),
    group: { id: organization },
    db: tx,
  });
  if (id === null) throw new AppError('internal', 'the engine of the jobs took no job');
  return { id, isJoined: false };
}

const WAITING = `
  SELECT id, data->>'kind' AS kind, data->>'by' AS by, data->>'same' AS same FROM ${JOB_TABLE}
  WHERE name = $1 AND group_id = $2 AND state < 'active' ORDER BY created_on`;

function storedOf({ kind, payload, by, same }: JobAsk): StoredAsk {
  const text = JSON.stringify(payload);
  if (text.length > PAYLOAD_CHARACTERS_MAX)
    throw new AppError(
      'usage',
      `the request has ${text.length} characters; at most ${PAYLOAD_CHARACTERS_MAX} are taken`,
    );
  return { kind, by, same: same ?? (JOB_KINDS[kind].lane === undefined ? kind : undefined), payload: text };
}

function refusalOf(waiting: readonly Waiting[], kind: JobKind, by: string | undefined): string | undefined {
  const { lane } = JOB_KINDS[kind];
  if (lane === undefined) return undefined; // one of each kind waits, by its `same`
  const inLane = waiting.filter((one) => one.kind === kind);
  return refusalIn(lane, inLane, by);
}

async function retryAfterMs(tx: Db, queue: string, organization: string): Promise<number> {
  const { rows } = (await tx.executeSql(LAST_TOOK, [queue, organization])) as { rows: { ms: number }[] };
  return retryAfterMsOf(rows[0]?.ms ?? 0);
}

const LAST_TOOK = `
  SELECT (extract(epoch FROM completed_on - started_on) * 1000)::float8 AS ms FROM ${JOB_TABLE}
  WHERE name = $1 AND group_id = $2 AND state = 'completed' ORDER BY completed_on DESC LIMIT 1`;

const COUNTS = `
  SELECT group_id AS organization, data->>'kind' AS kind,
    (count(*) FILTER (WHERE state < 'active'))::int AS waiting,
    (count(*) FILTER (WHERE state = 'active'))::int AS "underWay",
    coalesce(max(extract(epoch FROM now() - created_on) * 1000) FILTER (WHERE state < 'active'), 0)::float8 AS "waitingMsMax"
  FROM ${JOB_TABLE} WHERE state <= 'active' AND group_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`;

const IS_THERE = `SELECT to_regclass('${JOB_TABLE}') IS NOT NULL AS there`;

/** Undefined: no process has made the tables of the jobs, so no worker ever ran. Errors: those of `read`. */
export async function countJobs(
  read: <T extends object>(sql: string) => Promise<T[]>,
): Promise<readonly JobCount[] | undefined> {
  const [found] = await read<{ there: boolean }>(IS_THERE);
  return found?.there ? read<JobCount>(COUNTS) : undefined;
}

// The regular work of organizations.

const TICK_MS = 1_000;
const TABLE = `${SCHEMA}_times.schedules`;

/** Errors: AppError `store_failed`. Several processes may do it at the same time. */
async function prepareSchedules(engine: Engine): Promise<void> {
  await inTransaction(engine, async (tx) => {
    await tx.executeSql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [TABLE]);
    await tx.executeSql(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}_times`);
    await tx.executeSql(`CREATE TABLE IF NOT EXISTS ${TABLE} (
      organization text NOT NULL, kind text NOT NULL, asked_at_ms bigint NOT NULL, PRIMARY KEY (organization, kind))`);
  });
}

/** Until `signal` aborts. A fault is logged, and the next tick tries again: no time is lost by it. */
async function keepSchedules(
  engine: Engine,
  clock: Pick<Clock, 'sleep'>,
  schedules: () => readonly JobSchedule[],
  signal: AbortSignal,
): Promise<void> {
  const due = new DueTimes();
  while (!signal.aborted) {
    try {
      const { nowMs, asked } = await readTimes(engine);
      for (const one of due.of(schedules(), asked, nowMs)) await askOnce(engine, one);
    } catch (error) {
      engine.log.warn({}, `jobs: schedules wait: ${lineOf(error)}`);
    }
    await clock.sleep(TICK_MS, signal).catch(() => {});
  }
}

/** The next time of each schedule, which is computed once and not with each tick. */
class DueTimes {
  private next = new Map<string, { schedule: JobSchedule; askedMs: number; nextMs: number | undefined }>();

  of(schedules: readonly JobSchedule[], asked: ReadonlyMap<string, number>, nowMs: number): JobSchedule[] {
    const before = this.next;
    this.next = new Map();
    return schedules.filter((schedule) => {
      const key = nameOf(schedule);
      // A clock that was set back must not silence a schedule.
      const askedMs = Math.min(asked.get(key) ?? Number.NEGATIVE_INFINITY, nowMs);
      if (askedMs === Number.NEGATIVE_INFINITY) return true;
      const known = before.get(key);
      const isKnown = known?.schedule === schedule && known.askedMs === askedMs;
      const nextMs = isKnown ? known.nextMs : schedule.nextMs(askedMs);
      this.next.set(key, { schedule, askedMs, nextMs });
      return nextMs !== undefined && nextMs <= nowMs;
    });
  }
}

function nameOf({ organization, kind }: Pick<JobSchedule, 'organization' | 'kind'>): string {
  return `${organization} ${kind}`;
}

async function readTimes(engine: Engine): Promise<{ nowMs: number; asked: Map<string, number> }> {
  const rows = await query<{ organization: string; kind: JobSchedule['kind']; asked: number; now: number }>(
    engine,
    `SELECT organization, kind, asked_at_ms::float8 AS asked, ${NOW} AS now FROM (SELECT) AS one LEFT JOIN ${TABLE} ON true`,
  );
  const times = rows.filter((row) => row.organization !== null).map((row) => [nameOf(row), row.asked] as const);
  return { nowMs: rows[0]?.now as number, asked: new Map(times) };
}

const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::float8';

/** INVARIANT: the time and the job are one transaction, and the row is locked: of all workers that notice it, one asks. */
async function askOnce(engine: Engine, schedule: JobSchedule): Promise<void> {
  const { organization, kind } = schedule;
  await inTransaction(engine, async (tx) => {
    const first = await tx.executeSql(FIRST, [organization, kind]);
    const { rows } = await tx.executeSql(LOCK, [organization, kind]);
    const { asked, now } = rows[0] as { asked: number; now: number };
    const sinceMs = Math.min(asked, now);
    const isFirst = first.rows.length > 0;
    const times = isFirst ? 1 : schedule.timesBetween(sinceMs, now);
    if (times === 0) return;
    const lateMs = isFirst ? 0 : Math.max(0, now - (schedule.nextMs(sinceMs) ?? now));
    await tx.executeSql(`UPDATE ${TABLE} SET asked_at_ms = $3 WHERE organization = $1 AND kind = $2`, [
      organization,
      kind,
      now,
    ]);
    await askIn(engine, tx, { organization, kind, payload: { missed: times - 1, lateMs }, same: 'schedule' });
  });
}

const FIRST = `INSERT INTO ${TABLE} VALUES ($1, $2, ${NOW}) ON CONFLICT DO NOTHING RETURNING 1`;
const LOCK = `SELECT asked_at_ms::float8 AS asked, ${NOW} AS now FROM ${TABLE} WHERE organization = $1 AND kind = $2 FOR UPDATE`;

const AGAIN_MS = 60_000;
/** Texts are few; one that names a job is forgotten with the others. */
const TEXTS_MAX = 100;

export function seldom(log: Log, clock: Pick<Clock, 'monotonicMs'>): Log {
  const lastAt = new Map<string, number>();
  return {
    ...log,
    warn(fields, message) {
      const now = clock.monotonicMs();
      const last = lastAt.get(message);
      if (last !== undefined && now - last < AGAIN_MS) return;
      if (lastAt.size >= TEXTS_MAX) lastAt.clear();
      lastAt.set(message, now);
      log.warn(fields, message);
    },
  };
}

// A worker. In: handlers, and the organizations that it serves. Out: each job carried out, its answer written in one
// transaction with the notification of those who wait. INVARIANT: what is written is fenced to this taking of the job:
// after another worker has it, nothing lands.

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

async function startWork(work: Work): Promise<Working> {
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

interface JobsSettings extends EngineSettings {
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'sleep'>;
}

/** Makes or updates what the engine stores. Errors: AppError `store_failed`. */
export async function openJobs(settings: JobsSettings): Promise<Jobs> {
  const { clock } = settings;
  const engine = await startEngine({ ...settings, log: seldom(settings.log, clock) });
  await prepareSchedules(engine);
  const answers = new Answers(engine, clock);
  return {
    ask: (job: JobAsk) => ask(engine, job),
    answerOf: (wanted) => answers.answerOf(wanted),
    work: (settings: WorkSettings) => startWork({ ...settings, engine, clock }),
    keepSchedules: (schedules: () => readonly JobSchedule[], signal: AbortSignal) =>
      keepSchedules(engine, clock, schedules, signal),
    counts: () => query<JobCount>(engine, COUNTS),
    close: async () => {
      await answers.close();
      await engine.boss.stop({ graceful: false });
    },
  };
}
