// store: intents, their attempts, and the decisions that follow their outcomes. In: one transition of an intent. Out: its row,
// checked against the table of transitions and changed. INVARIANT: called inside a transaction that appends the notes too.
// A repeated intent (same action, target and episode) is refused by the table itself, not by a query before the insert.

import { canonicalJson } from '../base/json.ts';
import { MINUTE_MS } from '../base/time.ts';
import type { ActionName } from '../domain/action.ts';
import type { Outcome, StoredDecision } from '../domain/decision.ts';
import { intentKey } from '../domain/digest.ts';
import { type Claim, type Episode, seenOfKey } from '../domain/episode.ts';
import { AppError } from '../domain/errors.ts';
import { type Intent, type IntentTransition, mayChange, stateOf } from '../domain/intent.ts';
import type { KeptLatency } from '../domain/ports.ts';
import type { ResolvedIntent, SentIntent, SettledIntent, WithdrawnIntent } from '../domain/store-ports.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import { type Db, keepMeta, OPEN, readMeta, UNRESOLVED, type Work } from './queries.ts';
import { CLAIM, DECISION, episodeOfRow, INTENT, rowOfEpisode } from './rows.ts';
import { storedJson } from './stored-json.ts';

// Acting's queries about one target, and the side tables that answer them. In: a target, ids, an action. Out: nouns. It
// changes only the side tables. INVARIANT: every query here is answered by an index
// (test/store/queries.test.ts).

export function* openClaimsOn(db: Db, target: string): Work<Claim[]> {
  const sql = `SELECT * FROM claims WHERE status ${OPEN} AND target = ?
    ORDER BY status DESC, opened_at, id`;
  return (yield* db.all(sql, target)).map(CLAIM.nounOf);
}

export function* episodesInForce(db: Db, ids: readonly string[]): Work<Episode[]> {
  const sql = `SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(?)) AND (state <> 'closed'
    OR EXISTS (SELECT 1 FROM claims WHERE episode_id = episodes.id AND status ${OPEN}))
    ORDER BY since, id`;
  return (yield* db.all(sql, JSON.stringify(ids))).map(episodeOfRow);
}

/** Those of these rules about these subjects, of any kind. */
export function* openEpisodes(db: Db, rules: readonly string[], subjects: readonly string[]): Work<Episode[]> {
  const sql = `SELECT * FROM episodes WHERE state <> 'closed' AND rule IN (SELECT value FROM json_each(?))
      AND kind IN (SELECT value FROM json_each(?)) AND subject IN (SELECT value FROM json_each(?))
    ORDER BY since, id`;
  return (yield* db.all(sql, ...[rules, SUBJECT_KINDS, subjects].map((each) => JSON.stringify(each)))).map(
    episodeOfRow,
  );
}

export function* episodesThatSaw(db: Db, target: string): Work<Episode[]> {
  const sql = `SELECT * FROM episodes WHERE id IN (SELECT episode_id FROM episode_seen WHERE target = ?)
    ORDER BY since, id`;
  return (yield* db.all(sql, target)).map(episodeOfRow);
}

/** INVARIANT: the intents of this target that `OpenState` has. */
export function* intentsOn(db: Db, target: string): Work<Intent[]> {
  const sql = `SELECT * FROM intents WHERE target = ? AND (
      ${UNRESOLVED}
      OR EXISTS (SELECT 1 FROM claims WHERE intent_id = intents.id AND status ${OPEN})
      OR EXISTS (SELECT 1 FROM intent_episodes AS one JOIN episodes ON episodes.id = one.episode_id
        WHERE one.intent_id = intents.id AND one.live = 1 AND (episodes.state <> 'closed' OR EXISTS (
          SELECT 1 FROM claims WHERE episode_id = episodes.id AND status ${OPEN}))))
    ORDER BY created_at, id`;
  return (yield* db.all(sql, target)).map(INTENT.nounOf);
}

/** Two targets may have one text, and a few attempts on one of them follow each other: these are enough to find the last of each. */
const ATTEMPTS_MAX = 10;

export function* attemptedOn(db: Db, target: string): Work<Intent[]> {
  const sql = `SELECT intent_id AS id FROM attempts
    WHERE refused = 0 AND intent_id IN (SELECT id FROM intents WHERE target = ?)
    GROUP BY intent_id ORDER BY max(id) DESC LIMIT ${ATTEMPTS_MAX}`;
  const ids = (yield* db.all<{ id: string }>(sql, target)).map(({ id }) => id);
  const rows = yield* db.all('SELECT * FROM intents WHERE id IN (SELECT value FROM json_each(?))', JSON.stringify(ids));
  const found = new Map(rows.map(INTENT.nounOf).map((intent) => [intent.id, intent]));
  return ids.map((id) => found.get(id) as Intent);
}

export function* decisionsOn(db: Db, target: string): Work<StoredDecision[]> {
  return (yield* db.all('SELECT * FROM decisions WHERE target = ? AND ended_seq IS NULL', target)).map(DECISION.nounOf);
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
function* countAttempt(db: Db, action: ActionName, at: number): Work<void> {
  const row = { action, minute: Math.floor(at / MINUTE_MS), n: 1 };
  yield* db.insert(
    'attempt_counts',
    row,
    `${db.dialect.conflict('action, minute')} DO UPDATE SET n = attempt_counts.n + 1`,
  );
}

/** INVARIANT: called with every row of `attempts` that turns out to be refused. */
function* uncountAttempt(db: Db, action: ActionName, at: number): Work<void> {
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

export function* addIntent(db: Db, intent: Intent): Work<void> {
  yield* db.insert('intents', INTENT.rowOf(intent));
  for (const episodeId of new Set(intent.basis.map((basis) => basis.episodeId))) {
    const { id, action, target } = intent;
    const live = intent.mode === 'dry-run' ? 0 : 1;
    yield* db.insert('intent_episodes', { intent_id: id, episode_id: episodeId, action, target, live });
  }
}

/** An approved intent answers the decisions in force for it: from now on they show its outcome. */
export function* linkDecisions(db: Db, intent: Intent): Work<void> {
  for (const { episodeId } of intent.basis) {
    yield* db.run(
      // `+`: not by the index of actions, which has half of the table for one value.
      "UPDATE decisions SET intent_id = ?, outcome = ? WHERE episode_id = ? AND action || '' = ? AND target = ? AND ended_seq IS NULL",
      intent.id,
      intent.outcome ?? null,
      episodeId,
      intent.action,
      intent.target,
    );
  }
}

/** INVARIANT: the only way in which the state of a stored intent changes. Returns the intent before the change. */
function* change(db: Db, id: string, transition: IntentTransition, to: (before: Intent) => NextState): Work<Intent> {
  const row = yield* db.get('SELECT * FROM intents WHERE id = ?', id);
  if (!row) throw new AppError('not_found', `there is no intent \`${id}\``);
  const before = INTENT.nounOf(row);
  const next = to(before);
  const [from, state] = [stateOf(before), stateOf(next)];
  if (!mayChange(transition, from, state))
    throw new AppError('conflict', `intent ${id} is ${from}: it cannot become ${state} now`);
  const sql = 'UPDATE intents SET status = ?, outcome = ?, note = ?, sent_at = ?, settled_at = ? WHERE id = ?';
  const { status, outcome = null, note = null, at } = next;
  const sentAt = status === 'sent' ? at : (before.sentAt ?? null);
  yield* db.run(sql, status, outcome, note, sentAt, status === 'settled' ? at : null, id);
  // Only decisions in force: an earlier run's report keeps its own outcome.
  const inForce = 'UPDATE decisions SET outcome = ?, outcome_text = ? WHERE intent_id = ? AND ended_seq IS NULL';
  yield* db.run(inForce, outcome, note, id);
  return before;
}

interface NextState extends Pick<Intent, 'status'> {
  outcome?: Outcome;
  note?: string;
  at: number;
}

export function* markSent(db: Db, { intentId, run }: SentIntent, at: number): Work<void> {
  const { id, action, target, basis, outcome } = yield* change(db, intentId, 'markSent', () => ({
    status: 'sent',
    at,
  }));
  const sql = 'UPDATE intents SET attempts = attempts + 1, doubt_retries = doubt_retries + ? WHERE id = ?';
  yield* db.run(sql, outcome === 'unknown' ? 1 : 0, id);
  const rules = canonicalJson([...new Set(basis.map(({ rule }) => rule))]);
  yield* db.insert('attempts', { intent_id: id, action, target, rules, sent_at: at, run_id: run ?? null });
  yield* countAttempt(db, action, at);
}

export function* settle(db: Db, { intentId, outcome, note, refused }: SettledIntent, at: number): Work<void> {
  const before = yield* change(db, intentId, 'settle', () => ({ status: 'settled', outcome, note, at }));
  if (before.status === 'planned') return; // nothing was called that could have answered
  const last = 'SELECT max(id) FROM attempts WHERE intent_id = ?';
  yield* db.run(`UPDATE attempts SET answered_at = ?, answer = ? WHERE id = (${last})`, at, note, intentId);
  if (refused) yield* countNot(db, intentId, refused.credential);
  else yield* db.run('UPDATE intents SET refusals = 0, refused_with = NULL WHERE id = ?', intentId);
}

/** The last request was refused before anything was done: it is no attempt. */
function* countNot(db: Db, intentId: string, credential: string | undefined): Work<void> {
  const sql = 'SELECT id, action, sent_at FROM attempts WHERE intent_id = ? ORDER BY id DESC LIMIT 1';
  const last = yield* db.get<{ id: number; action: ActionName; sent_at: number }>(sql, intentId);
  if (!last) return;
  yield* db.run('UPDATE attempts SET refused = 1 WHERE id = ?', last.id);
  yield* uncountAttempt(db, last.action, last.sent_at);
  const change = 'attempts = attempts - 1, refusals = refusals + 1, refused_with = ?';
  yield* db.run(`UPDATE intents SET ${change} WHERE id = ?`, credential ?? null, intentId);
}

/** An intent that was called before and failed stays `failed`: its attempts still count, and a refusal stays visible. */
export function* withdraw(db: Db, { intentId, why }: WithdrawnIntent, at: number): Work<void> {
  const { decision, reason, reasonText } = why;
  const wasCalled = ({ attempts, refused }: Intent) => attempts > 0 || refused !== undefined;
  const withdrawn = yield* change(db, intentId, 'withdraw', (before) => {
    const note = reasonText;
    return wasCalled(before) ? { status: 'settled', outcome: 'failed', note, at } : { status: 'withdrawn', note, at };
  });
  if (!wasCalled(withdrawn)) yield* db.run('UPDATE intent_episodes SET live = 0 WHERE intent_id = ?', intentId);
  const sql =
    'UPDATE decisions SET decision = ?, reason = ?, reason_text = ? WHERE intent_id = ? AND ended_seq IS NULL';
  yield* db.run(sql, decision, reason, reasonText, intentId);
}

/** INVARIANT: `approved` keeps the value of its own plan: another plan covers only this attempt, and no later one. */
export function* reopen(db: Db, intent: Intent, at: number): Work<void> {
  yield* change(db, intent.id, 'reopen', () => ({ status: 'planned', at }));
  const { id, settings, effect, released } = intent;
  const sql = 'UPDATE intents SET settings = ?, effect = ?, released = ? WHERE id = ?';
  yield* db.run(sql, canonicalJson(settings), canonicalJson(effect), released ? 1 : 0, id);
  yield* restOn(db, intent);
}

export function* resolve(db: Db, { intentId, outcome, note }: ResolvedIntent, at: number): Work<void> {
  const intent = yield* change(db, intentId, 'resolve', () => ({ status: 'settled', outcome, note, at }));
  if (outcome === 'unknown') yield* db.run('UPDATE intents SET doubt_retries = 0, refusals = 0 WHERE id = ?', intentId);
  if (outcome === 'failed') yield* suppressIntent(db, intent, intent.planId ?? '');
}

/** An episode that it is no longer based on may have its own intent again; an episode that has one keeps it. */
function* restOn(db: Db, { id, action, target, basis }: Intent): Work<void> {
  yield* db.run('UPDATE intents SET basis = ? WHERE id = ?', canonicalJson(basis), id);
  const episodes = [...new Set(basis.map(({ episodeId }) => episodeId))];
  const others = 'episode_id NOT IN (SELECT value FROM json_each(?))';
  yield* db.run(`UPDATE intent_episodes SET live = 0 WHERE intent_id = ? AND ${others}`, id, JSON.stringify(episodes));
  for (const episode of episodes) {
    const other = 'SELECT 1 FROM intent_episodes WHERE episode_id = ? AND action = ? AND target = ? AND live = 1';
    const isTaken = (yield* db.get(`${other} AND intent_id <> ?`, episode, action, target, id)) !== undefined;
    const row = { intent_id: id, episode_id: episode, action, target, live: isTaken ? 0 : 1 };
    yield* db.upsert('intent_episodes', row, 'intent_id, episode_id');
  }
}

/** By episode: a rejected intent of several rules is suppressed for each of them, as long as its match lasts. */
export function* suppressIntent(
  db: Db,
  intent: Pick<Intent, 'action' | 'target' | 'basis'>,
  planId: string,
): Work<void> {
  const { action, target, basis } = intent;
  for (const one of basis) {
    const key = intentKey({ action, target, basis: [one] });
    const row = { key, episode_id: one.episodeId, plan_id: planId };
    yield* db.insert('rejected_intents', row, 'ON CONFLICT DO NOTHING');
  }
}

const LATENCY = 'latency';

export function* readKeptLatency(db: Db): Work<KeptLatency | undefined> {
  const kept = yield* readMeta(db, LATENCY);
  return kept === undefined ? undefined : storedJson<KeptLatency>(kept);
}

export function* keepLatency(db: Db, latency: KeptLatency): Work<void> {
  yield* keepMeta(db, LATENCY, canonicalJson(latency));
}
