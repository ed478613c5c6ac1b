// store: plans for pages: a list without their intents, which may be megabytes, and how far applying one is. In: a status, a plan. Out: lines,
// counts.
import type { PlanHead, PlanLine } from '../domain/page-reader.ts';
import {
  type BegunIntent,
  episodesOf,
  type Plan,
  type PlanOutline,
  type PlanProgress,
  type PlanStatus,
  progressOf,
  statusAt,
} from '../domain/plan.ts';
import type { Dialect } from './dialect.ts';
import { newestPlans } from './lists.ts';
import type { Db, Row, Work } from './queries.ts';
import { planOfRow } from './rows.ts';

/** An index, or the row, has the number of intents: they are not read. */
const linesOf = ({
  by,
  planned,
  releases,
}: Dialect) => `SELECT id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by, dropped, break_glass,
    ${planned} AS planned, ${releases} AS releases
  FROM plans ${by('plans_heads')} WHERE id IN (SELECT value FROM json_each(?))`;

export function* planLines(
  db: Db,
  status: PlanStatus | undefined,
  { before, limit }: { before?: string; limit: number },
  nowMs: number,
): Work<PlanLine[]> {
  const ids = (yield* newestPlans(db, status, nowMs, limit, { columns: 'id', before })).map(({ id }) => id as string);
  const lines = new Map(
    (yield* db.all(linesOf(db.dialect), JSON.stringify(ids))).map((row) => [row.id, lineOf(row, nowMs)]),
  );
  return ids.flatMap((id) => lines.get(id) ?? []);
}

function lineOf(row: Row, nowMs: number): PlanLine {
  const head = headOf(planOfRow(row, []), nowMs);
  return {
    ...head,
    intents: head.dropped?.intents ?? (row.planned as number | null) ?? undefined,
    releases: (row.releases as string | null) ?? undefined,
  };
}

function headOf({ intents: _, ...head }: Plan, nowMs: number): PlanHead {
  return { ...head, status: statusAt(head, nowMs) };
}

export function* planProgress(db: Db, plan: PlanOutline): Work<PlanProgress> {
  return progressOf(plan, yield* liveOf(db, plan));
}

const LIVE = `SELECT one.episode_id, one.action, one.target, status, outcome, sent_at FROM intent_episodes AS one
  JOIN intents ON intents.id = one.intent_id WHERE one.live = 1 AND one.episode_id IN (SELECT value FROM json_each(?))`;

/** The live intents of its episodes, without their facts. */
function* liveOf(db: Db, plan: PlanOutline): Work<BegunIntent[]> {
  return (yield* db.all(LIVE, JSON.stringify(episodesOf(plan)))).map((row) => ({
    action: row.action as BegunIntent['action'],
    target: row.target as string,
    status: row.status as BegunIntent['status'],
    outcome: (row.outcome ?? undefined) as BegunIntent['outcome'],
    sentAt: (row.sent_at ?? undefined) as BegunIntent['sentAt'],
    basis: [{ episodeId: row.episode_id as string }],
  }));
}
