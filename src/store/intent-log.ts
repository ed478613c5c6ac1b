// store: intents, their attempts, and the decisions that follow their outcomes. In: one transition of an intent. Out: its row,
// checked against the table of transitions and changed. INVARIANT: called inside a transaction that appends the notes too.
// A repeated intent (same action, target and episode) is refused by the table itself, not by a query before the insert.

import type { ResolvedIntent, SentIntent, SettledIntent, WithdrawnIntent } from '../domain/act-store.ts';
import type { ActionName } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Outcome } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import { type Intent, type IntentTransition, mayChange, stateOf } from '../domain/intent.ts';
import { intentKey } from '../domain/intent-key.ts';
import { countAttempt, uncountAttempt } from './by-target.ts';
import type { Db, Work } from './queries.ts';
import { intentOfRow, rowOfIntent } from './rows.ts';

export function* addIntent(db: Db, intent: Intent): Work<void> {
  yield* db.insert('intents', rowOfIntent(intent));
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
  const before = intentOfRow(row);
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
