// store: what the database shows in numbers. In: a connection, the time. Out: figures. INVARIANT: every query here is answered by an index
// or reads a table of a few rows (test/runtime/metrics/parts.test.ts): it is asked every second, also beside a run over 100,000 devices.

import { DAY_MS, MINUTE_MS } from '../base/time.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import type { intentKey } from '../domain/digest.ts';
import { CLAIM_STATUSES, isOpenClaim, OPEN_CLAIM_STATUSES } from '../domain/episode.ts';
import { isUsable } from '../domain/snapshot.ts';
import type { LastFindings, StoreFigures, Waiting } from '../domain/store.ts';
import type { DoneInStep, DoneSteps, HeldSince, InboxCounts, InForceSince, WorkNow } from '../domain/store-ports.ts';
import { SOURCES, type Source } from '../domain/subjects.ts';
import { countWaiting } from './exemption-requests.ts';
import { FIRST_OF_RUN, firstRunSince, ONCE } from './lists.ts';
import { readStop } from './operator.ts';
import { type Db, type Dialect, OPEN, ofEach, type Work } from './queries.ts';
import { runOfRow } from './rows.ts';
import { transmitterStates } from './signal-box.ts';

type Counted = { count: number; at: number | null };

const PLANS = ({ by }: Dialect) => `SELECT count(*) AS count, min(created_at) AS at FROM plans ${by('plans_status')}
  WHERE status = ? AND expires_at > ?`;
const INTENTS = ({
  by,
}: Dialect) => `SELECT count(*) AS count, min(created_at) AS at FROM intents ${by('intents_status')}
  WHERE status = ? AND outcome IS NOT DISTINCT FROM ?`;
const NOTIFICATIONS = ({
  by,
}: Dialect) => `SELECT count(*) AS count, min(at) AS at FROM notifications ${by('notifications_by_status')}
  WHERE status = 'waiting'`;
const ALERTS = 'SELECT code, count(*) AS count FROM alerts GROUP BY code ORDER BY code';
const CLAIMS = ({ by }: Dialect) => `SELECT count(*) AS count FROM claims ${by('claims_by_status')} WHERE status = ?`;
const EXEMPTIONS = 'SELECT count(*) AS count FROM exemptions WHERE ended_at IS NULL AND expires_at > ?';
const TRUSTED = 'SELECT source, taken_at AS at, count FROM baselines ORDER BY source';
const KNOWN = "SELECT max(to_ms) AS at FROM coverage WHERE transmitter = ''";
const COMPLETED = ({ by }: Dialect) => `SELECT finished_at AS at FROM runs WHERE seq =
  (SELECT max(seq) FROM runs ${by('runs_whole')} WHERE status = 'completed' AND scoped = 0)`;
const ENTRIES = 'SELECT max(seq) AS count FROM audit';
const FOUND = ({
  by,
}: Dialect) => `SELECT max(seq) FROM (SELECT seq, snapshot, findings FROM runs ${by('runs_over_lists')}
  WHERE counts_with IS NULL ORDER BY seq DESC LIMIT 50) AS newest WHERE snapshot IS NOT NULL OR findings IS NOT NULL`;

export function* readFigures(db: Db, nowMs: number): Work<StoreFigures> {
  const one = function* (sql: string, ...values: (string | number | null)[]): Work<Waiting> {
    const { count, at } = (yield* db.get<Counted>(sql, ...values)) as Counted;
    return { count: Number(count), oldestAt: at ?? undefined };
  };
  const count = function* (sql: string, ...values: (string | number)[]): Work<number> {
    return Number((yield* db.get<Counted>(sql, ...values))?.count ?? 0);
  };
  const { dialect } = db;
  const intents = INTENTS(dialect);
  const [sent, unknown] = [yield* one(intents, 'sent', null), yield* one(intents, 'settled', 'unknown')];
  return {
    stoppedAt: (yield* readStop(db))?.at,
    plans: yield* one(PLANS(dialect), 'pending', nowMs),
    approvedPlans: yield* one(PLANS(dialect), 'approved', nowMs),
    plannedIntents: yield* one(intents, 'planned', null),
    inDoubt: both(sent, unknown),
    parked: yield* one(intents, 'settled', 'parked'),
    notifications: yield* one(NOTIFICATIONS(dialect)),
    alerts: yield* db.all<StoreFigures['alerts'][number]>(ALERTS),
    claims: yield* ofEach(OPEN_CLAIM_STATUSES, function* (status) {
      return [{ status, count: yield* count(CLAIMS(dialect), status) }];
    }),
    exemptions: yield* count(EXEMPTIONS, nowMs),
    lastTrusted: [...(yield* db.all<StoreFigures['lastTrusted'][number]>(TRUSTED)), ...(yield* eventsKnown(db))],
    lastCompletedAt: (yield* db.get<Counted>(COMPLETED(dialect)))?.at ?? undefined,
    auditEntries: yield* count(ENTRIES),
    transmitters: yield* transmitterStates(db),
  };
}

function both(one: Waiting, other: Waiting): Waiting {
  const times = [one, other].flatMap(({ oldestAt }) => (oldestAt === undefined ? [] : [oldestAt]));
  return { count: one.count + other.count, oldestAt: times.length > 0 ? Math.min(...times) : undefined };
}

function* eventsKnown(db: Db): Work<StoreFigures['lastTrusted']> {
  const at = (yield* db.get<Counted>(KNOWN))?.at ?? undefined;
  return at === undefined ? [] : [{ source: 'events', at, count: undefined }];
}

/** Undefined before the first. It reads one whole row: for after a run, not for every second. */
export function* readLastFindings(db: Db): Work<LastFindings | undefined> {
  const row = yield* db.get(`SELECT * FROM runs WHERE seq = (${FOUND(db.dialect)})`);
  const run = row && runOfRow(row);
  if (!run?.findings) return undefined;
  const { snapshot, tallies } = run.findings;
  const read = (source: Source) => snapshot.sources[source].state !== 'skipped';
  return {
    seq: run.seq,
    sources: SOURCES.filter(read).map((source) => ({ source, isUsable: isUsable(snapshot.sources[source]) })),
    rules: tallies.flatMap(({ rule, judged, match, no_match, unknown, error }) =>
      judged ? [{ rule, match, no_match, unknown, error }] : [],
    ),
  };
}

// What waits or went wrong, and what was done lately: what the first sentence of every face is made of.

const ENDED_RUN = ({ by }: Dialect) => `SELECT seq, status FROM runs ${by('runs_over_lists')}
  WHERE counts_with IS NULL AND seq < ? AND status <> 'running' ORDER BY seq DESC LIMIT 1`;
const FIRST_RUN = ({ by }: Dialect) => `SELECT started_at AS at FROM runs WHERE seq =
  (SELECT min(seq) FROM runs ${by('runs_over_lists')} WHERE counts_with IS NULL)`;
const DAYS = 8;
const FOR_RULE = 'AND EXISTS (SELECT 1 FROM json_each(attempts.rules) AS named WHERE named.value = ?) ';
/** `outcome || ''`: not by the index of outcomes, which has most intents for one value. */
const DONE = (
  { by }: Dialect,
  { stepMs, rule }: Pick<DoneSteps, 'stepMs' | 'rule'>,
) => `SELECT action, step, count(*) AS targets FROM (
    SELECT DISTINCT attempts.action, attempts.target, CAST((? - attempts.sent_at) / ${stepMs} AS BIGINT) AS step
    FROM attempts ${by('attempts_by_action')} JOIN intents ON intents.id = attempts.intent_id
    WHERE attempts.action IN (SELECT action FROM attempt_counts WHERE minute >= ?)
      AND attempts.sent_at > ? AND attempts.sent_at <= ? ${rule === undefined ? '' : FOR_RULE}AND intents.outcome || '' IN ('succeeded', 'confirmed')) AS done
  GROUP BY action, step ORDER BY action, step`;

export function* doneInSteps(db: Db, asked: DoneSteps): Work<DoneInStep[]> {
  const { untilMs, steps, stepMs, rule } = asked;
  const fromMs = untilMs - steps * stepMs;
  const named = rule === undefined ? [] : [rule];
  const values = [untilMs, Math.floor(fromMs / MINUTE_MS), fromMs, untilMs, ...named];
  const rows = yield* db.all<DoneInStep>(DONE(db.dialect, asked), ...values);
  return rows.map(({ action, step, targets }) => ({ action, step: Number(step), targets: Number(targets) }));
}

// What was in force over a time: most of it from its beginning until now, which is counted; the rest is named.

const OVER = CLAIM_STATUSES.filter((status) => !isOpenClaim({ status }))
  .map((status) => `'${status}'`)
  .join(', ');
const LASTING = ({
  by,
}: Dialect) => `SELECT action, count(DISTINCT target) AS count FROM claims ${by('claims_by_status')}
  WHERE status ${OPEN} AND opened_at <= ? GROUP BY action ORDER BY action`;
const CHANGED = (
  { by }: Dialect,
  index: string,
  of: string,
) => `SELECT action, target, opened_at, ended_at FROM claims ${by(index)}
  WHERE ${of} AND NOT EXISTS (SELECT 1 FROM claims AS lasting WHERE lasting.status ${OPEN}
    AND lasting.target = claims.target AND lasting.action = claims.action AND lasting.opened_at <= ?) ORDER BY opened_at, id`;
const BEGAN = (dialect: Dialect) => CHANGED(dialect, 'claims_newest', 'opened_at > ?');
const ENDED = (dialect: Dialect) =>
  CHANGED(dialect, 'claims_by_status', `status IN (${OVER}) AND opened_at <= ? AND ended_at > ?`);

interface ChangedRow {
  action: string;
  target: string;
  opened_at: number;
  ended_at: number | null;
}

export function* inForceSince(db: Db, fromMs: number): Work<InForceSince> {
  const { dialect } = db;
  const lasting = yield* db.all<{ action: string; count: number }>(LASTING(dialect), fromMs);
  const began = yield* db.all<ChangedRow>(BEGAN(dialect), fromMs, fromMs);
  const ended = yield* db.all<ChangedRow>(ENDED(dialect), fromMs, fromMs, fromMs);
  return {
    lasting: lasting.map(({ action, count }) => ({ action, count: Number(count) })),
    changed: [...began, ...ended].map(({ action, target, opened_at, ended_at }) => ({
      action,
      target,
      openedAt: opened_at,
      endedAt: ended_at ?? undefined,
    })),
  };
}

/** `failed`: all that ever did, refused ones too, of which some are over; none is usual. */
export function* readInboxCounts(db: Db, nowMs: number): Work<Omit<InboxCounts, 'refused'>> {
  const count = function* (sql: string, ...values: (string | number | null)[]): Work<number> {
    return Number((yield* db.get<Counted>(sql, ...values))?.count ?? 0);
  };
  const [plans, intents] = [PLANS(db.dialect), INTENTS(db.dialect)];
  return {
    pending: yield* count(`${plans} AND ${ONCE(db.dialect)}`, 'pending', nowMs, nowMs),
    interrupted: yield* count(plans, 'interrupted', nowMs),
    approved: yield* count(plans, 'approved', nowMs),
    asked: yield* countWaiting(db, nowMs),
    parked: yield* count(intents, 'settled', 'parked'),
    in_doubt: yield* count(intents, 'settled', 'unknown'),
    failed: yield* count(intents, 'settled', 'failed'),
  };
}

export function* readWork(db: Db, doneUntilMs: number): Work<Omit<WorkNow, 'inbox'>> {
  const { dialect } = db;
  const done = yield* doneInSteps(db, { untilMs: doneUntilMs, steps: DAYS, stepMs: DAY_MS });
  return {
    ended: yield* db.get<NonNullable<WorkNow['ended']>>(ENDED_RUN(dialect), Number.MAX_SAFE_INTEGER),
    isStopped: (yield* readStop(db)) !== undefined,
    sinceMs: (yield* db.get<{ at: number }>(FIRST_RUN(dialect)))?.at,
    done: done.map(({ step, ...one }) => ({ ...one, day: step })),
  };
}

// What decisions of a time hold, counted for a summary.

/** What a person said yes to has an intent, and waits no more. What was sent since is no longer what waited: it is done, failed or in doubt. */
const HELD = `SELECT rule, reason, action, target, run_seq, episode_id, ended_seq IS NULL AND intent_id IS NULL AS in_force,
    EXISTS (SELECT 1 FROM intents WHERE intents.target = decisions.target AND intents.action = decisions.action
      AND intents.sent_at >= decisions.written_at) AS was_sent FROM decisions
  WHERE decision = 'hold' AND rowid >= (${FIRST_OF_RUN}) AND written_at >= ? ORDER BY rowid DESC`;

/** Of what is held, that to which a person said no, until a run decides again. `keyOf`: most commands start without hashing. */
export function* rejectedAmong<T extends Pick<StoredDecision, 'action' | 'target' | 'episodeId'>>(
  db: Db,
  held: readonly T[],
  keyOf: typeof intentKey,
): Work<Set<T>> {
  const sql = 'SELECT key FROM rejected_intents WHERE episode_id IN (SELECT value FROM json_each(?))';
  const episodes = JSON.stringify(held.flatMap(({ episodeId }) => episodeId ?? []));
  const keys = new Set((yield* db.all<{ key: string }>(sql, episodes)).map(({ key }) => key));
  const isRejected = ({ action, target, episodeId }: T) =>
    episodeId !== undefined && keys.has(keyOf({ action, target, basis: [{ episodeId }] }));
  return new Set(keys.size === 0 ? [] : held.filter(isRejected));
}

const inForce = (index: string) => `SELECT count(*) AS held FROM (SELECT DISTINCT action, target FROM decisions ${index}
  WHERE ended_seq IS NULL AND decision = 'hold' AND reason = ?) AS waiting`;

/** How many actions wait now for this reason. */
export function* heldInForce(db: Db, reason: ReasonCode): Work<number> {
  return (yield* db.get<{ held: number }>(inForce(db.dialect.by('decisions_held')), reason))?.held ?? 0;
}

interface HeldRow {
  rule: string;
  reason: string;
  action: string;
  target: string;
  run_seq: number;
  episode_id: string | null;
  in_force: 0 | 1;
  was_sent: 0 | 1 | boolean;
}

/** An action that several rules propose has a decision for each, and is held once: as it is now, or was last. */
export function* heldSince(db: Db, sinceMs: number, named: number, keyOf: typeof intentKey): Work<HeldSince[]> {
  const rows = yield* db.all<HeldRow>(HELD, yield* firstRunSince(db, sinceMs), sinceMs);
  const held = rows
    .filter(({ in_force }) => in_force)
    .map((row) => ({ ...row, episodeId: row.episode_id ?? undefined, row }));
  for (const { row } of yield* rejectedAmong(db, held, keyOf)) row.in_force = 0;
  const acts = new Map<string, HeldRow[]>();
  for (const row of rows) {
    if (row.was_sent && !row.in_force) continue;
    const key = `${row.action} ${row.target}`;
    const act = acts.get(key);
    if (act === undefined) acts.set(key, [row]);
    else act.push(row);
  }
  const groups = new Map<string, HeldSince>();
  for (const all of acts.values()) {
    const now = all.filter(({ in_force }) => in_force);
    // The newest is the first.
    const shown = now.length > 0 ? now : all;
    const { reason, target, run_seq } = shown[0] as HeldRow;
    const rules = [...new Set(shown.map(({ rule }) => rule))].sort();
    const key = `${rules.join(' ')} ${reason}`;
    const group = groups.get(key) ?? { rules, reason, count: 0, inForce: 0, some: [] };
    group.count += 1;
    group.inForce += Number(now.length > 0);
    if (group.some.length < named) group.some.push({ target, run: run_seq });
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}
