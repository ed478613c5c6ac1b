// store: all rows of what a run found and decided. In: a run's commit, the connection of its transaction. Out: rows, written in steps of a
// few milliseconds. It begins and commits nothing, and writes no audit entry: see `unitInTurns`.
import { canonicalJson } from '../base/json.ts';
import type { ClockAgreement } from '../base/time.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Decision, StoredDecision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import type { Plan } from '../domain/plan.ts';
import type { Baseline, KeptReading } from '../domain/snapshot.ts';
import type { RunCommit } from '../domain/store.ts';
import type { ReadingName } from '../domain/subjects.ts';
import { saveEvents } from './event-log.ts';
import { addIntent, saveEpisode } from './intent-log.ts';
import { saveNotices } from './notices.ts';
import { saveOperatorState, saveRollout } from './operator.ts';
import { type Db, eachWork, keepMeta, readMeta, type Work } from './queries.ts';
import { CLAIM, DECISION, packFindings, talliedCounts } from './rows.ts';
import { carryOn, savePlanInSteps, supersede } from './save-plan.ts';
import { storedJson } from './stored-json.ts';

const EARLIER = '…earlier';

function* saveBaseline(db: Db, { source, takenAt, count, values, earlier = [] }: Baseline): Work<void> {
  const kept = earlier.length === 0 ? values : { ...values, [EARLIER]: { readings: earlier } };
  const row = { source, taken_at: takenAt, count, fact_values: canonicalJson(kept) };
  yield* db.upsert('baselines', row, 'source');
}

export function* readBaseline(db: Db, source: ReadingName): Work<Baseline | undefined> {
  const row = yield* db.get('SELECT * FROM baselines WHERE source = ?', source);
  if (!row) return undefined;
  const { [EARLIER]: kept, ...values } = storedJson<Record<string, unknown>>(row.fact_values);
  const readings = (kept as { readings?: unknown } | undefined)?.readings;
  const earlier = Array.isArray(readings) ? (readings as KeptReading[]) : [];
  return {
    source,
    takenAt: row.taken_at as number,
    count: row.count as number,
    values: values as Baseline['values'],
    ...(earlier.length > 0 && { earlier }),
  };
}

/** From this many rows on, a commit is written in turns. Fewer take some tens of milliseconds at most. */
export const LARGE_FROM = 500;
const ROWS_OF_STEP = 20;
const SEALS: ReadonlySet<AuditNote['kind']> = new Set(['plan.sealed', 'plan.carried']);

export function rowsOf({ episodes, claims, decisions, endedDecisions, intents, plan, notes }: RunCommit): number {
  const isNew = notes.some(({ kind, body }) => SEALS.has(kind) && body.plan === plan?.id);
  const lists = [episodes, claims, decisions, endedDecisions, intents, isNew ? (plan?.intents ?? []) : [], notes];
  return lists.reduce((sum, { length }) => sum + length, 0);
}

/** Errors: AppError `not_found` for an unknown run. */
export function* writeRunCommit(db: Db, commit: RunCommit, atMs: number): Work<void> {
  const run = yield* db.get<{ seq: number }>('SELECT seq FROM runs WHERE id = ?', commit.runId);
  if (!run) throw new AppError('not_found', `there is no run \`${commit.runId}\``);
  if (commit.observed) yield* saveEvents(db, commit.observed);
  for (const baseline of commit.baselines) yield* saveBaseline(db, baseline);
  for (const movement of commit.movements) {
    const { source, form } = movement;
    yield* db.upsert('movements', { source, form, movement: canonicalJson(movement) }, 'source, form');
  }
  yield* eachWork(commit.episodes, (episode) => saveEpisode(db, episode), ROWS_OF_STEP);
  yield* eachWork(commit.intents, (intent) => addIntent(db, intent), ROWS_OF_STEP);
  yield* eachWork(commit.claims, (claim) => db.upsert('claims', CLAIM.rowOf(claim), 'id'), ROWS_OF_STEP);
  const end = 'UPDATE decisions SET ended_seq = ? WHERE id = ?';
  yield* eachWork(commit.endedDecisions, (id) => db.run(end, run.seq, id), ROWS_OF_STEP);
  yield* addDecisions(db, commit.decisions, { runId: commit.runId, runSeq: run.seq, writtenAt: atMs });
  yield* supersede(db, commit.supersededPlans, commit.plan ? [commit.plan] : []);
  for (const carried of commit.carriedPlans) yield* carryOn(db, carried, ROWS_OF_STEP);
  if (commit.plan) yield* addPlan(db, commit.plan);
  if (commit.notices) yield* saveNotices(db, commit.notices);
  const { planDigest, operator } = commit.findings;
  yield* db.run(
    'UPDATE runs SET findings = ?, tallies = ?, plan_digest = ?, plan_id = ? WHERE id = ?',
    packFindings(commit.findings),
    talliedCounts(commit.findings),
    planDigest,
    commit.plan?.id ?? null,
    commit.runId,
  );
  for (const rollout of commit.rollouts ?? []) yield* saveRollout(db, rollout);
  yield* saveOperatorState(db, { id: commit.runId, at: atMs }, operator, commit.exemptions ?? { used: [], warned: [] });
}

/** A plan that is there already was kept as it was: a person may have answered it since the run read it. */
function* addPlan(db: Db, plan: Plan): Work<void> {
  if (yield* db.get('SELECT 1 FROM plans WHERE id = ?', plan.id)) return;
  yield* savePlanInSteps(db, plan, ROWS_OF_STEP);
}

function* addDecisions(
  db: Db,
  decisions: readonly Decision[],
  written: Pick<StoredDecision, 'runId' | 'runSeq' | 'writtenAt'>,
): Work<void> {
  for (let at = 0; at < decisions.length; at += ROWS_OF_STEP) {
    const rows = decisions
      .slice(at, at + ROWS_OF_STEP)
      .map((decision) => Object.values(DECISION.rowOf({ ...decision, ...written, endedSeq: undefined })));
    yield* db.insertMany('decisions', DECISION.names, rows);
    yield;
  }
}

const KEY = 'clock_agreement';

type Later = 'seenMs' | 'jumpedMs' | 'setBackMs';
type Stored = Omit<ClockAgreement, Later> & Partial<Pick<ClockAgreement, Later>>;

export function* readClockAgreement(db: Db): Work<ClockAgreement | undefined> {
  const text = yield* readMeta(db, KEY);
  if (text === undefined) return undefined;
  const kept = storedJson<Stored>(text);
  // Written by an earlier version, which looked back only to its last jump or boot.
  return { seenMs: kept.sinceMs, jumpedMs: kept.sinceMs, setBackMs: kept.sinceMs, ...kept };
}

export function* saveClockAgreement(db: Db, agreement: ClockAgreement): Work<void> {
  yield* keepMeta(db, KEY, canonicalJson(agreement));
}
