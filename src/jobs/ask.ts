// jobs: one more job. In: what is asked for. Out: its id, or that of an equal one that waits, or a refusal when too much waits.
import type { Db } from 'pg-boss';
import { AppError } from '../domain/errors.ts';
import { JOB_KINDS, type JobAsk, type JobKind, type JobTicket, priorityOf } from '../domain/jobs.ts';
import { refusalIn, retryAfterMsOf } from '../domain/lanes.ts';
import { type Engine, inTransaction, JOB_TABLE, keyOf, QUEUES, queueOf, type StoredAsk, settingsOf } from './engine.ts';

const PAYLOAD_CHARACTERS_MAX = 200_000;

interface Waiting {
  id: string;
  kind: JobKind;
  by: string | null;
  same: string | null;
}

/** Errors: AppError `busy`, `usage`, `store_failed`. */
export function ask(engine: Engine, job: JobAsk): Promise<JobTicket> {
  return inTransaction(engine, (tx) => askIn(engine, tx, job));
}

/** INVARIANT: asks of one organization go one after another, so that two of them cannot take one place. */
export async function askIn({ boss }: Engine, tx: Db, job: JobAsk): Promise<JobTicket> {
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
