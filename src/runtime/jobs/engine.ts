// jobs: the engine (pg-boss) as this program uses it: its settings, its two queues, the form of what it stores. Only this folder uses pg-boss.
// In: an address. Out: a started engine.
import type { EventEmitter } from 'node:events';
import { type ConstructorOptions, type Db, PgBoss, systemClock as timers } from 'pg-boss';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  type AwaitJob,
  JOB_KINDS,
  type JobFault,
  type JobKind,
  type JobState,
  type JobValue,
} from '../../domain/jobs.ts';
import type { Listen, Listening } from '../../domain/lease.ts';
import type { Clock, Log } from '../../domain/ports.ts';

export const SCHEMA = 'trustward_jobs';

/** The table of the engine. Statements of ours that name its columns are tied to its exact version; the tests run each of them. */
export const JOB_TABLE = `${SCHEMA}.job`;

/** Jobs in lanes go one at a time for each organization; those beside them, one at a time for each organization and kind. */
export const QUEUES = { lanes: 'lanes', beside: 'beside' } as const;
export type Queue = keyof typeof QUEUES;

/** A dead worker is noticed after `heartbeat` and `supervise`; another one fetches its job after `poll` at the latest. */
export const SECONDS = { heartbeat: 10, refresh: 2, supervise: 2, poll: 3, expire: 86_000, prune: 30 } as const;
const KEPT_SECONDS = { awaited: 600, other: 60 } as const;
const TAKEOVERS_MAX = 2;
/** The pool of a process; a listening connection comes on top. */
const CONNECTIONS_MAX = 6;
/** Of each connection, as the client of PostgreSQL takes it. */
const CONNECTING = {
  // One that a network lost without a word must not hold a worker.
  keepAlive: true,
  query_timeout: 30_000,
  // One that the server ends while no statement is under way says so as an event, which would end the process if nobody heard it.
  onConnect: async (client: EventEmitter) => void client.on('error', () => {}),
} as const;
const UNIQUE_VIOLATION = '23505';

/** What is asked for, as the engine stores it. Text that holds JSON: `jsonb` takes no NUL and keeps no exact numbers. */
export interface StoredAsk {
  kind: JobKind;
  by?: string | undefined;
  same?: string | undefined;
  payload: string;
}

/** What became of it, in `output`; the engine's own text of a job whose worker died has none of these. */
export interface StoredEnd {
  begun?: string;
  done?: string;
  failed?: string;
}

export interface Engine {
  boss: PgBoss;
  db: Required<Pick<Db, 'beginTransaction'>> & Db;
  log: Log;
  listen: Listen;
  explain: EngineSettings['explain'];
}

export interface EngineSettings {
  /** `postgres://…`. The role of the first one that starts owns the schema of the jobs: all processes have the same. */
  url: string;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
  listen: Listen;
  /** A failure of PostgreSQL as an AppError that names the server and the remedy; another error as it is. */
  explain(error: unknown): unknown;
}

/** Errors: AppError `store_failed`. */
export async function startEngine({ url, clock, log, listen, explain }: EngineSettings): Promise<Engine> {
  const settings: ConstructorOptions = {
    connectionString: url,
    application_name: 'trustward jobs',
    clock: { ...timers, now: () => clock.nowMs() },
    schema: SCHEMA,
    max: CONNECTIONS_MAX,
    useListenNotify: true,
    // Schedules are ours: croner's expressions, and times that were missed by all workers.
    schedule: false,
    superviseIntervalSeconds: SECONDS.supervise,
    monitorIntervalSeconds: SECONDS.supervise,
    maintenanceIntervalSeconds: SECONDS.prune,
    flowIntervalSeconds: 3600,
    openTelemetry: { enabled: false },
  };
  const boss = new PgBoss({ ...settings, ...CONNECTING });
  const db = boss.getDb() as Engine['db'];
  // Not the engine's own: it leaves a connection that it is ending without a listener, and PostgreSQL may end it first.
  db.listen = async (channel, heard, missed) => listen(channel, { heard, missed });
  boss.on('error', (error) => noteFault(log, error, explain));
  boss.on('warning', ({ message }) => log.warn({}, `jobs: ${message}`));
  try {
    await boss.start();
    for (const queue of Object.values(QUEUES)) await keepQueue(boss, queue);
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {});
    throw faultOf(error, explain);
  }
  return { boss, db, log, listen, explain };
}

async function keepQueue(boss: PgBoss, name: string): Promise<void> {
  const settings = {
    notify: true,
    heartbeatSeconds: SECONDS.heartbeat,
    expireInSeconds: SECONDS.expire,
    retryDelay: 0,
  };
  // One active job of a key: a unique index, not a count.
  if (await boss.getQueue(name)) await boss.updateQueue(name, settings);
  else await boss.createQueue(name, { ...settings, policy: 'singleton' });
}

export function queueOf(kind: JobKind): Queue {
  return JOB_KINDS[kind].lane === undefined ? 'beside' : 'lanes';
}

/** What one job alone may hold. */
export function keyOf(organization: string, kind: JobKind): string {
  return queueOf(kind) === 'lanes' ? organization : `${organization} ${kind}`;
}

export function settingsOf(kind: JobKind) {
  const { isBegunAgain, isAwaited } = JOB_KINDS[kind];
  return {
    retryLimit: isBegunAgain ? TAKEOVERS_MAX : 0,
    deleteAfterSeconds: isAwaited ? KEPT_SECONDS.awaited : KEPT_SECONDS.other,
  };
}

export function parsed<T extends JobValue | JobFault>(text: string): T {
  return JSON.parse(text) as T;
}

/** Two workers that fetch at the same time may want the same organization: the index refuses one, which is no fault. */
function noteFault(log: Log, error: Error & { code?: string }, explain: EngineSettings['explain']): void {
  if (error.code === UNIQUE_VIOLATION) return;
  // Some are copies of an error, with the names of the engine's own workers.
  const whole = error instanceof Error ? error : Object.assign(new Error(), error);
  log.warn({ code: error.code }, `jobs: ${lineOf(faultOf(whole, explain))}`);
}

function faultOf(thrown: unknown, explain: EngineSettings['explain']): AppError {
  const error = explain(thrown);
  if (error instanceof AppError) return error;
  const why = error instanceof Error ? error.message || error.name : String(error);
  return new AppError('store_failed', `the jobs in PostgreSQL cannot be read or written (${why})`, { cause: error });
}

/** Runs `work` in one transaction. Errors: AppError; whatever was written is taken back then. */
export async function inTransaction<T>({ db, explain }: Engine, work: (tx: Db) => Promise<T>): Promise<T> {
  try {
    const transaction = await db.beginTransaction();
    try {
      const value = await work(transaction.db);
      await transaction.commit();
      return value;
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  } catch (error) {
    throw faultOf(error, explain);
  }
}

/** One statement of its own. */
export async function query<T>({ db, explain }: Engine, text: string, values: readonly unknown[] = []): Promise<T[]> {
  try {
    return (await db.executeSql(text, [...values])).rows as T[];
  } catch (error) {
    throw faultOf(error, explain);
  }
}

// What became of a job, for those who wait.

const CHANNEL = 'trustward_job_answers';
const POLL_MS = 1_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** In the transaction that makes an answer. */
export const NOTIFY_ANSWER = `SELECT pg_notify('${CHANNEL}', $1)`;

interface Row {
  kind: JobKind;
  state: 'created' | 'retry' | 'active' | 'completed' | 'cancelled' | 'failed';
  output: StoredEnd | null;
}

export class Answers {
  private readonly wakers = new Map<string, Set<() => void>>();
  private listening: Listening | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  ) {}

  async answerOf({ organization, id, until, timeoutMs, signal }: AwaitJob): Promise<JobState> {
    if (!UUID.test(id)) throw unknown(id);
    this.listening ??= this.listen();
    const endMs = this.clock.monotonicMs() + timeoutMs;
    for (;;) {
      if (signal.aborted) throw new AppError('stopped', 'the process is being stopped');
      // INVARIANT: the waker is set before the state is read: an answer in between is not missed.
      const woken = this.wokenBy(id);
      try {
        const state = await this.read(organization, id);
        const leftMs = endMs - this.clock.monotonicMs();
        if (isAnswer(state, until) || leftMs <= 0) return state;
        await this.first(woken.promise, Math.min(leftMs, POLL_MS), signal);
      } finally {
        woken.forget();
      }
    }
  }

  async close(): Promise<void> {
    await this.listening?.close();
  }

  private async read(organization: string, id: string): Promise<JobState> {
    const [row] = await query<Row>(this.engine, STATE, [id, organization]);
    if (!row) throw unknown(id);
    return stateOf(row);
  }

  private async first(woken: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const slept = this.clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => {});
    await Promise.race([woken, slept]);
    over.abort();
  }

  private wokenBy(id: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const all = this.wakers.get(id) ?? new Set();
    this.wakers.set(id, all.add(resolve));
    const forget = () => {
      all.delete(resolve);
      if (all.size === 0 && this.wakers.get(id) === all) this.wakers.delete(id);
    };
    return { promise, forget };
  }

  private listen(): Listening {
    const heard = (id: string) => {
      for (const waker of this.wakers.get(id) ?? []) waker();
    };
    const missed = () => {
      for (const id of this.wakers.keys()) heard(id);
    };
    return this.engine.listen(CHANNEL, { heard, missed });
  }
}

const STATE = `SELECT data->>'kind' AS kind, state, output FROM ${JOB_TABLE} WHERE id = $1 AND group_id = $2`;

function unknown(id: string): AppError {
  return new AppError('not_found', `there is no job \`${id}\`, or no longer: answers are kept for ten minutes`);
}

function isAnswer({ kind, ...state }: JobState, until: AwaitJob['until']): boolean {
  if (kind === 'begun') return until === 'begun' && 'value' in state && state.value !== undefined;
  return kind !== 'waiting';
}

function stateOf({ kind, state, output }: Row): JobState {
  if (output?.done !== undefined) return { kind: 'done', value: parsed<JobValue>(output.done) };
  if (output?.failed !== undefined) return { kind: 'failed', fault: parsed<JobFault>(output.failed) };
  if (state === 'created' || state === 'retry') return { kind: 'waiting' };
  if (state === 'active') {
    return { kind: 'begun', value: output?.begun === undefined ? undefined : parsed<JobValue>(output.begun) };
  }
  return { kind: 'failed', fault: { code: 'stopped', message: JOB_KINDS[kind].isBegunAgain ? GIVEN_UP : IN_DOUBT } };
}

const IN_DOUBT =
  'the worker that carried this out ended before it answered: some of it may have been done. Look at what is in force and in doubt before you ask again';
const GIVEN_UP = 'each worker that began this ended before it was done: see the logs of the workers';
