// store: acting's queries about one target, and the side tables that answer them. In: a target, ids, an action. Out: nouns.
// It changes only the side tables. INVARIANT: every query here is answered by an index (test/store/per-target-queries.test.ts).
import type { ActionName } from '../domain/action.ts';
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import { type Episode, seenOfKey } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import type { Db, Work } from './queries.ts';
import { claimOfRow, decisionOfRow, episodeOfRow, intentOfRow, rowOfEpisode } from './rows.ts';

const MINUTE_MS = 60_000;

export function* openClaimsOn(db: Db, target: string): Work<Claim[]> {
  const sql = `SELECT * FROM claims WHERE status IN ('standing', 'orphaned') AND target = ?
    ORDER BY status DESC, opened_at, id`;
  return (yield* db.all(sql, target)).map(claimOfRow);
}

export function* episodesInForce(db: Db, ids: readonly string[]): Work<Episode[]> {
  const sql = `SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(?)) AND (state <> 'closed'
    OR EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id AND status IN ('standing', 'orphaned')))
    ORDER BY since, id`;
  return (yield* db.all(sql, JSON.stringify(ids))).map(episodeOfRow);
}

export function* episodesThatSaw(db: Db, target: string): Work<Episode[]> {
  const sql = `SELECT * FROM episodes WHERE id IN (SELECT episode_id FROM episode_seen WHERE target = ?)
    ORDER BY since, id`;
  return (yield* db.all(sql, target)).map(episodeOfRow);
}

/** INVARIANT: the intents of this target that `OpenState` has. */
export function* intentsOn(db: Db, target: string): Work<Intent[]> {
  const sql = `SELECT * FROM intents WHERE target = ? AND (
      status IN ('planned', 'sent') OR outcome IN ('unknown', 'parked')
      OR EXISTS (SELECT 1 FROM claims WHERE intent_id = intents.id AND status IN ('standing', 'orphaned'))
      OR EXISTS (SELECT 1 FROM intent_episodes AS one JOIN episodes ON episodes.id = one.episode_id
        WHERE one.intent_id = intents.id AND one.live = 1 AND (episodes.state <> 'closed' OR EXISTS (
          SELECT 1 FROM claims WHERE episode_id = episodes.id AND status IN ('standing', 'orphaned')))))
    ORDER BY created_at, id`;
  return (yield* db.all(sql, target)).map(intentOfRow);
}

/** Two targets may have one text, and a few attempts on one of them follow each other: these are enough to find the last of each. */
const ATTEMPTS_MAX = 10;

export function* attemptedOn(db: Db, target: string): Work<Intent[]> {
  const sql = `SELECT intent_id AS id FROM attempts
    WHERE refused = 0 AND intent_id IN (SELECT id FROM intents WHERE target = ?)
    GROUP BY intent_id ORDER BY max(id) DESC LIMIT ${ATTEMPTS_MAX}`;
  const ids = (yield* db.all<{ id: string }>(sql, target)).map(({ id }) => id);
  const rows = yield* db.all('SELECT * FROM intents WHERE id IN (SELECT value FROM json_each(?))', JSON.stringify(ids));
  const found = new Map(rows.map(intentOfRow).map((intent) => [intent.id, intent]));
  return ids.map((id) => found.get(id) as Intent);
}

export function* decisionsOn(db: Db, target: string): Work<StoredDecision[]> {
  return (yield* db.all('SELECT * FROM decisions WHERE target = ? AND ended_seq IS NULL', target)).map(decisionOfRow);
}

/** The minute that contains the time is counted attempt by attempt, the others as whole minutes. */
export function* attemptsSince(db: Db, action: ActionName, sinceMs: number): Work<number> {
  const minute = Math.floor(sinceMs / MINUTE_MS);
  const whole = 'SELECT coalesce(sum(n), 0) AS n FROM attempt_counts WHERE action = ? AND minute > ?';
  const part = 'SELECT count(*) AS n FROM attempts WHERE action = ? AND sent_at >= ? AND sent_at < ? AND refused = 0';
  const inWhole = yield* db.get<{ n: number }>(whole, action, minute);
  const inPart = yield* db.get<{ n: number }>(part, action, sinceMs, (minute + 1) * MINUTE_MS);
  return Number(inWhole?.n) + Number(inPart?.n);
}

/** INVARIANT: called with every row that is added to `attempts`. */
export function* countAttempt(db: Db, action: ActionName, at: number): Work<void> {
  const row = { action, minute: Math.floor(at / MINUTE_MS), n: 1 };
  yield* db.insert(
    'attempt_counts',
    row,
    `${db.dialect.conflict('action, minute')} DO UPDATE SET n = attempt_counts.n + 1`,
  );
}

/** INVARIANT: called with every row of `attempts` that turns out to be refused. */
export function* uncountAttempt(db: Db, action: ActionName, at: number): Work<void> {
  const minute = Math.floor(at / MINUTE_MS);
  yield* db.run('UPDATE attempt_counts SET n = n - 1 WHERE action = ? AND minute = ?', action, minute);
}

/** The only function that writes an episode: its observations are indexed by target. */
export function* saveEpisode(db: Db, episode: Episode): Work<void> {
  yield* db.upsert('episodes', rowOfEpisode(episode), 'id');
  yield* db.run('DELETE FROM episode_seen WHERE episode_id = ?', episode.id);
  if (episode.state === 'closed') return;
  for (const key of new Set(episode.seenSo))
    yield* db.insert('episode_seen', { ...seenOfKey(key), episode_id: episode.id });
}
