// store: all open state that deciding needs, read in one transaction at the start of a run; and the failures that are open.
import { DAY_MS } from '../base/time.ts';
import type { ActionName } from '../domain/action.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import { intentKey } from '../domain/digest.ts';
import type { Claim } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import {
  attemptKey,
  latelyKey,
  latelyOf,
  type MatchedLately,
  type OpenState,
  type OpenStateAbout,
} from '../domain/store.ts';
import { decisionsOn, episodesInForce, intentsOn, openClaimsOn } from './intent-log.ts';
import { readOpenNotices } from './notices.ts';
import { readExemptions, readRollouts, readStop } from './operator.ts';
import { type Db, OPEN, ofEach, type Row, UNRESOLVED, type Work } from './queries.ts';
import { CLAIM, DECISION, episodeOfRow, INTENT } from './rows.ts';

const LARGE_FROM = 1_000;

/** In one state of the database. Where much is in force others get their turn, while a connection of its own reads. */
export async function readOpenState(db: Db, nowMs: number): Promise<OpenState> {
  const isLarge =
    (await db.reading(db.get(`SELECT 1 FROM decisions WHERE ended_seq IS NULL LIMIT 1 OFFSET ${LARGE_FROM}`))) !==
    undefined;
  if (isLarge) return db.elsewhere((snapshot) => readingOpenState(snapshot, nowMs));
  return db.reading(db.snapshot(() => readingOpenState(db, nowMs)));
}

function* readingOpenState(db: Db, nowMs: number): Work<OpenState> {
  const episodes = yield* nouns(
    db,
    `SELECT * FROM episodes WHERE state <> 'closed'
       OR id IN (SELECT episode_id FROM claims WHERE status ${OPEN})`,
    episodeOfRow,
  );
  const claims = yield* nouns(db, `SELECT * FROM claims WHERE status ${OPEN}`, CLAIM.nounOf);
  const decisions = yield* nouns(db, 'SELECT * FROM decisions WHERE ended_seq IS NULL', DECISION.nounOf);
  const intents = yield* nouns(
    db,
    `SELECT * FROM intents WHERE id IN (
         SELECT intent_id FROM intent_episodes JOIN episodes ON episodes.id = episode_id
         WHERE live = 1 AND (state <> 'closed'
           OR episode_id IN (SELECT episode_id FROM claims WHERE status ${OPEN}))
         UNION SELECT intent_id FROM claims WHERE status ${OPEN})
       OR ${UNRESOLVED}`,
    INTENT.nounOf,
  );
  return {
    episodes,
    claims,
    decisions,
    intents,
    lastAttempts: yield* readLastAttempts(db),
    lately: yield* readLately(db, nowMs),
    notices: yield* readOpenNotices(db),
    ...(yield* readAround(db, nowMs)),
  };
}

function* nouns<T>(db: Db, sql: string, nounOf: (row: Row) => T): Work<T[]> {
  const found: T[] = [];
  yield* db.each<Row>(sql, (row) => found.push(nounOf(row)));
  return found;
}

/** What is the same for every subject. */
function* readAround(
  db: Db,
  nowMs: number,
): Work<Pick<OpenState, 'rejected' | 'attempts24h' | 'exemptions' | 'stop' | 'rollouts'>> {
  return {
    rejected: yield* readRejected(db),
    attempts24h: yield* readAttempts(db, nowMs - DAY_MS),
    exemptions: yield* readExemptions(db, nowMs),
    stop: yield* readStop(db),
    rollouts: yield* readRollouts(db),
  };
}

const OVER: readonly ReasonCode[] = ['already_so', 'already_acted', 'overridden', 'rejected'];

/** Failed intents that are still to be done, oldest first. */
export function* readOpenFailures(db: Db): Work<Intent[]> {
  const failed = yield* db.all(
    `SELECT * FROM intents WHERE outcome = 'failed'
       AND EXISTS (SELECT 1 FROM intent_episodes AS one JOIN episodes ON episodes.id = one.episode_id
         WHERE one.intent_id = intents.id AND one.live = 1 AND (episodes.state <> 'closed' OR EXISTS (
           SELECT 1 FROM claims WHERE episode_id = episodes.id AND status ${OPEN})))
       AND NOT EXISTS (SELECT 1 FROM decisions WHERE intent_id = intents.id AND ended_seq IS NULL
         AND reason IN (SELECT value FROM json_each(?)))
     ORDER BY created_at, id`,
    JSON.stringify(OVER),
  );
  const givenUp = yield* readRejected(db);
  return failed
    .map(INTENT.nounOf)
    .filter(({ action, target, basis }) =>
      basis.some((one) => !givenUp.has(intentKey({ action, target, basis: [one] }))),
    );
}

function* readRejected(db: Db): Work<Set<string>> {
  const sql = `SELECT key FROM rejected_intents JOIN episodes ON episodes.id = episode_id
    WHERE state <> 'closed' OR episode_id IN (SELECT episode_id FROM claims WHERE status ${OPEN})`;
  return new Set((yield* db.all<{ key: string }>(sql)).map((row) => row.key));
}

/**
 * By their order, not by their times: an attempt recorded by a clock ahead does not stay the last one forever. `targets`: all by default.
 */
function* readLastAttempts(db: Db, targets?: readonly string[]): Work<Map<string, number>> {
  const about =
    targets === undefined
      ? ''
      : 'AND intent_id IN (SELECT id FROM intents WHERE target IN (SELECT value FROM json_each(?)))';
  const rows = yield* db.all<{ rule: string; action: string; target: string; at: number }>(
    `SELECT CASE WHEN intents.released = 1 THEN '' ELSE newest.rule END AS rule, attempts.action, attempts.target, attempts.sent_at AS at FROM (
       SELECT json_each.value AS rule, action, target, max(attempts.id) AS id
       FROM attempts, json_each(attempts.rules) WHERE refused = 0 ${about} GROUP BY 1, 2, 3) AS newest
     JOIN attempts ON attempts.id = newest.id LEFT JOIN intents ON intents.id = attempts.intent_id
     ORDER BY attempts.id`,
    ...(targets === undefined ? [] : [JSON.stringify(targets)]),
  );
  return new Map(rows.map((row) => [attemptKey(row.rule, row.action as ActionName, row.target), row.at]));
}

/** The index of attempts has them by action first: each action is looked up, or every attempt there ever was would be read. */
const KNOWN_ACTIONS = `known(action) AS (
      SELECT min(action) FROM attempts UNION ALL
      SELECT (SELECT min(action) FROM attempts WHERE action > known.action) FROM known WHERE known.action IS NOT NULL)`;

/** Rules with open episodes, one looked up after another. */
const OPEN_RULES = `named(rule) AS (
      SELECT min(rule) FROM episodes WHERE state <> 'closed' AND rule > ''
      UNION ALL SELECT (SELECT min(rule) FROM episodes WHERE state <> 'closed' AND rule > named.rule)
      FROM named WHERE named.rule IS NOT NULL)`;

/** `isPart`: also open episodes, which are not all read otherwise. Some were over before `for`: deciding knows that. */
function* readLately(db: Db, nowMs: number, isPart = false): Work<ReadonlyMap<string, MatchedLately>> {
  const lately = new Map<string, MatchedLately>();
  const lasted = ({ since, until = nowMs }: MatchedLately) => until - since;
  const fromMs = nowMs - DAY_MS;
  const sql = `WITH RECURSIVE ${KNOWN_ACTIONS}, ${OPEN_RULES}
    SELECT rule, subject, since, closed_at, 0 AS acted FROM episodes ${db.dialect.by('episodes_closed')}
      WHERE state = 'closed' AND closed_at > ? AND since > ?
    UNION ALL SELECT rule, subject, since, closed_at, 0 FROM episodes ${db.dialect.by('episodes_open')}
      WHERE state <> 'closed' AND ? = 1 AND rule IN (SELECT rule FROM named) AND since > ?
    UNION ALL SELECT rule, subject, since, closed_at, 1 FROM known
      JOIN attempts ON attempts.action = known.action AND attempts.sent_at > ? AND attempts.refused = 0
      JOIN intents ON intents.id = attempts.intent_id AND undo = 0
      JOIN intent_episodes ON intent_episodes.intent_id = intents.id
      JOIN episodes ON episodes.id = episode_id`;
  for (const row of yield* db.all<Row>(sql, fromMs, fromMs, isPart ? 1 : 0, fromMs, fromMs)) {
    const key = latelyKey(row.rule as string, row.subject as string);
    const one = latelyOf({ since: row.since as number, closedAt: (row.closed_at ?? undefined) as number | undefined });
    const known = lately.get(key);
    const longest = known && lasted(known) >= lasted(one) ? known : one;
    const acted = row.acted === 1 || known?.acted;
    lately.set(key, acted ? { ...longest, acted } : longest);
  }
  return lately;
}

function* readAttempts(db: Db, sinceMs: number): Work<Map<ActionName, number>> {
  const sql = `WITH RECURSIVE ${KNOWN_ACTIONS},
    counted AS (SELECT action, (SELECT count(*) FROM attempts AS one
      WHERE one.action = known.action AND one.sent_at >= ? AND one.refused = 0) AS n FROM known WHERE action IS NOT NULL)
    SELECT action, n FROM counted WHERE n > 0`;
  const rows = yield* db.all<{ action: string; n: number }>(sql, sinceMs);
  return new Map(rows.map((row) => [row.action as ActionName, row.n]));
}

// The open state of a few subjects, for deciding them alone: asking about one subject must not read that of the whole
// fleet. In: subjects, targets. Out: the same shape. INVARIANT: every query here is answered by an index
// (test/store/queries.test.ts), and the answer is what `readOpenState` has about them.

export function* readOpenStateOf(db: Db, nowMs: number, about: OpenStateAbout): Work<OpenState> {
  const episodeIds = yield* openEpisodesOf(db, about);
  const own = {
    claims: yield* ofEach(about.subjects, (id) => openClaimsOf(db, id)),
    decisions: yield* ofEach(about.subjects, (id) => decisionsOf(db, id)),
  };
  const targets = [
    ...new Set([
      ...about.targets,
      ...[...own.claims, ...own.decisions].map(({ target }) => target),
      ...(yield* targetsOfEpisodes(db, episodeIds)),
    ]),
  ].filter((target) => target !== '');
  const claims = unique([...own.claims, ...(yield* ofEach(targets, (target) => openClaimsOn(db, target)))]);
  const decisions = unique([...own.decisions, ...(yield* ofEach(targets, (target) => decisionsOn(db, target)))]);
  const intents = unique(yield* ofEach(targets, (target) => intentsOn(db, target)));
  const restedOn = [...claims, ...decisions, ...intents.flatMap(({ basis }) => basis)];
  const episodes = yield* episodesInForce(db, [...episodeIds, ...restedOn.flatMap(({ episodeId }) => episodeId ?? [])]);
  return {
    episodes,
    claims,
    decisions,
    intents,
    lastAttempts: yield* readLastAttempts(db, targets),
    lately: yield* readLately(db, nowMs, true),
    notices: yield* readOpenNotices(
      db,
      episodes.map(({ id }) => id),
    ),
    ...(yield* readAround(db, nowMs)),
  };
}

/** Of every rule, also of one that is missing now: the index has them by rule first, so the rules are looked up one after another. */
function* openEpisodesOf(db: Db, { kinds, subjects }: OpenStateAbout): Work<string[]> {
  const sql = `WITH RECURSIVE ${OPEN_RULES}
    SELECT id FROM episodes WHERE state <> 'closed' AND rule IN (SELECT rule FROM named)
      AND kind IN (SELECT value FROM json_each(?)) AND subject IN (SELECT value FROM json_each(?))`;
  const rows = yield* db.all<{ id: string }>(sql, JSON.stringify(kinds), JSON.stringify(subjects));
  return rows.map(({ id }) => id);
}

function* openClaimsOf(db: Db, subject: string): Work<Claim[]> {
  const sql = `SELECT * FROM claims WHERE subject = ? AND status ${OPEN}`;
  return (yield* db.all(sql, subject)).map(CLAIM.nounOf);
}

function* decisionsOf(db: Db, subject: string): Work<StoredDecision[]> {
  const sql = 'SELECT * FROM decisions WHERE subject = ? AND ended_seq IS NULL';
  return (yield* db.all(sql, subject)).map(DECISION.nounOf);
}

function* targetsOfEpisodes(db: Db, ids: readonly string[]): Work<string[]> {
  const sql =
    'SELECT DISTINCT target FROM intent_episodes WHERE live = 1 AND episode_id IN (SELECT value FROM json_each(?))';
  return (yield* db.all<{ target: string }>(sql, JSON.stringify(ids))).map(({ target }) => target);
}

function unique<T extends { id: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [one.id, one])).values()];
}
