// store: plans for pages: a list without their intents, and one plan with a part of them. In: a status, an id, a text. Out: lines, a page.
// It reads the intents of one plan at most: those of a large plan are megabytes.
import { nameKey } from '../domain/identity.ts';
import type { PlanHead, PlanIntentQuery, PlanLine, PlanPage } from '../domain/page-reader.ts';
import {
  type BegunIntent,
  episodesOf,
  hasProgress,
  type Plan,
  type PlannedIntent,
  type PlanOutline,
  type PlanProgress,
  type PlanStatus,
  progressOf,
  releasedRule,
  statusAt,
} from '../domain/plan.ts';
import { plannedCounts } from '../domain/planned-counts.ts';
import type { Db, Row } from './database.ts';
import { newestPlans } from './lists.ts';
import { planOfRow } from './rows.ts';

/** The expressions are those of migration 0020: the index has their values. */
const LINES = `SELECT id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by,
    CASE WHEN json_valid(intents) THEN json_array_length(intents) END AS planned,
    CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END AS releases
  FROM plans INDEXED BY plans_heads WHERE id IN (SELECT value FROM json_each(?))`;

export function planLines(
  db: Db,
  status: PlanStatus | undefined,
  { before, limit }: { before?: string; limit: number },
  nowMs: number,
): PlanLine[] {
  const ids = newestPlans(db, status, nowMs, limit, { columns: 'id', before }).map(({ id }) => id as string);
  const lines = new Map(db.all(LINES, JSON.stringify(ids)).map((row) => [row.id, lineOf(row, nowMs)]));
  return ids.flatMap((id) => lines.get(id) ?? []);
}

function lineOf(row: Row, nowMs: number): PlanLine {
  return {
    ...headOf(planOfRow(row, []), nowMs),
    intents: (row.planned as number | null) ?? undefined,
    releases: (row.releases as string | null) ?? undefined,
  };
}

function headOf({ intents: _, ...head }: Plan, nowMs: number): PlanHead {
  return { ...head, status: statusAt(head, nowMs) };
}

export function planPageOf(db: Db, plan: Plan, query: PlanIntentQuery, nowMs: number): PlanPage {
  const found = plan.intents.filter((planned) => isAbout(planned, query));
  const from = query.after === undefined ? 0 : found.findIndex(({ key }) => key === query.after) + 1;
  const isUnknown = query.after !== undefined && from === 0;
  return {
    head: headOf(plan, nowMs),
    counts: plannedCounts(plan.intents),
    intents: plan.intents.length,
    held: plan.intents.filter(({ held }) => held).length,
    progress: hasProgress(plan) ? planProgress(db, plan) : undefined,
    releases: releasedRule(plan),
    page: { rows: isUnknown ? [] : found.slice(from, from + query.limit), total: found.length },
  };
}

function isAbout({ target, basis, effect }: PlannedIntent, { text, rule }: PlanIntentQuery): boolean {
  if (rule !== undefined && !basis.some((one) => one.rule === rule)) return false;
  const part = nameKey(text ?? '');
  if (part === '') return true;
  const devices = effect.devices.flatMap(({ id, name, serial, owners = [] }) => [id, name, serial ?? '', ...owners]);
  return [target, ...basis.map(({ subjectId }) => subjectId), ...devices].some((name) => nameKey(name).includes(part));
}

export function planProgress(db: Db, plan: PlanOutline): PlanProgress {
  return progressOf(plan, liveOf(db, plan));
}

const LIVE = `SELECT one.episode_id, one.action, one.target, status, outcome, sent_at FROM intent_episodes AS one
  JOIN intents ON intents.id = one.intent_id WHERE one.live = 1 AND one.episode_id IN (SELECT value FROM json_each(?))`;

/** The live intents of its episodes, without their facts. */
function liveOf(db: Db, plan: PlanOutline): BegunIntent[] {
  return db.all(LIVE, JSON.stringify(episodesOf(plan))).map((row) => ({
    action: row.action as BegunIntent['action'],
    target: row.target as string,
    status: row.status as BegunIntent['status'],
    outcome: (row.outcome ?? undefined) as BegunIntent['outcome'],
    sentAt: (row.sent_at ?? undefined) as BegunIntent['sentAt'],
    basis: [{ episodeId: row.episode_id as string }],
  }));
}
