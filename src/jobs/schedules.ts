// jobs: the regular work of organizations. In: their schedules, as their files have them now. Out: one job for each that is due, whichever
// worker notices it first. Time is that of PostgreSQL: the clocks of workers may differ.
import { lineOf } from '../domain/errors.ts';
import type { JobSchedule } from '../domain/jobs.ts';
import type { Clock } from '../domain/ports.ts';
import { askIn } from './ask.ts';
import { type Engine, inTransaction, query, SCHEMA } from './engine.ts';

const TICK_MS = 1_000;
const TABLE = `${SCHEMA}_times.schedules`;

/** Errors: AppError `store_failed`. Several processes may do it at the same time. */
export async function prepareSchedules(engine: Engine): Promise<void> {
  await inTransaction(engine, async (tx) => {
    await tx.executeSql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [TABLE]);
    await tx.executeSql(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}_times`);
    await tx.executeSql(`CREATE TABLE IF NOT EXISTS ${TABLE} (
      organization text NOT NULL, kind text NOT NULL, asked_at_ms bigint NOT NULL, PRIMARY KEY (organization, kind))`);
  });
}

/** Until `signal` aborts. A fault is logged, and the next tick tries again: no time is lost by it. */
export async function keepSchedules(
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
