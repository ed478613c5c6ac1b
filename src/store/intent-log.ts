// store: intents, their attempts, and the decisions that follow their outcomes.
// A repeated intent (same action, target and episode) is refused by the table itself, not by a look before it.

import type { IntentChange } from '../domain/act-store.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { AppError } from '../domain/errors.ts';
import { type Intent, type IntentBasis, intentKey } from '../domain/intent.ts';
import { countAttempt } from './by-target.ts';
import type { Db } from './database.ts';
import { intentOfRow, rowOfIntent } from './rows.ts';

export function addIntent(db: Db, intent: Intent): void {
  db.insert('intents', rowOfIntent(intent));
  for (const episodeId of new Set(intent.basis.map((basis) => basis.episodeId))) {
    const { id, action, target } = intent;
    const live = intent.mode === 'dry-run' ? 0 : 1;
    db.insert('intent_episodes', { intent_id: id, episode_id: episodeId, action, target, live });
  }
}

/** An approved intent answers the decisions that stand for it now: from here on its outcome is theirs. */
export function linkDecisions(db: Db, intent: Intent): void {
  for (const { episodeId } of intent.basis) {
    db.run(
      'UPDATE decisions SET intent_id = ?, outcome = ? WHERE episode_id = ? AND action = ? AND target = ? AND ended_seq IS NULL',
      intent.id,
      intent.outcome ?? null,
      episodeId,
      intent.action,
      intent.target,
    );
  }
}

export function applyIntentChange(db: Db, change: IntentChange, at: number): void {
  const row = db.get('SELECT * FROM intents WHERE id = ?', change.intentId);
  if (!row) throw new AppError('not_found', `there is no intent \`${change.intentId}\``);
  const intent = intentOfRow(row);
  db.run(
    'UPDATE intents SET status = ?, outcome = ?, note = ?, sent_at = ?, settled_at = ?, attempts = ?, doubt_retries = ? WHERE id = ?',
    change.status,
    change.outcome ?? null,
    change.note ?? null,
    change.status === 'sent' ? at : (intent.sentAt ?? null),
    change.status === 'settled' ? at : null,
    intent.attempts + (isBegin(change) ? 1 : 0),
    change.forgetDoubtRetries ? 0 : intent.doubtRetries + (change.doubtRetry ? 1 : 0),
    intent.id,
  );
  if (change.settings)
    db.run('UPDATE intents SET settings = ? WHERE id = ?', canonicalJson(change.settings), intent.id);
  if (change.basis) restOn(db, intent, change.basis);
  if (change.effect) db.run('UPDATE intents SET effect = ? WHERE id = ?', canonicalJson(change.effect), intent.id);
  if (change.status === 'withdrawn') db.run('UPDATE intent_episodes SET live = 0 WHERE intent_id = ?', intent.id);
  if (change.suppress) suppressIntent(db, intent, intent.planId ?? '');
  recordAttempt(db, intent, change, at);
  reviseDecisions(db, change);
}

/** An episode that it rests on no more may have an intent of its own again; one that has one keeps it. */
function restOn(db: Db, { id, action, target }: Intent, basis: readonly IntentBasis[]): void {
  db.run('UPDATE intents SET basis = ? WHERE id = ?', canonicalJson(basis), id);
  const episodes = [...new Set(basis.map(({ episodeId }) => episodeId))];
  const others = 'episode_id NOT IN (SELECT value FROM json_each(?))';
  db.run(`UPDATE intent_episodes SET live = 0 WHERE intent_id = ? AND ${others}`, id, JSON.stringify(episodes));
  for (const episode of episodes) {
    const other = 'SELECT 1 FROM intent_episodes WHERE episode_id = ? AND action = ? AND target = ? AND live = 1';
    const isTaken = db.get(`${other} AND intent_id <> ?`, episode, action, target, id) !== undefined;
    const row = { intent_id: id, episode_id: episode, action, target, live: isTaken ? 0 : 1 };
    db.upsert('intent_episodes', row, 'intent_id, episode_id');
  }
}

/** An undo that a person asked for. One that failed before is tried again, with what it rests on now. */
export function addRelease(db: Db, intent: Intent, isAgain: boolean): void {
  if (!isAgain) {
    addIntent(db, intent);
    return;
  }
  db.upsert('intents', rowOfIntent(intent), 'id');
  for (const { episodeId } of intent.basis) {
    const { id, action, target } = intent;
    const row = { intent_id: id, episode_id: episodeId, action, target, live: 1 };
    db.insert('intent_episodes', row, 'ON CONFLICT DO NOTHING');
  }
}

/** By episode: what several rules wished is suppressed for each of them, for as long as the trouble lasts. */
export function suppressIntent(db: Db, intent: Pick<Intent, 'action' | 'target' | 'basis'>, planId: string): void {
  const { action, target, basis } = intent;
  for (const one of basis) {
    const key = intentKey({ action, target, basis: [one] });
    const row = { key, episode_id: one.episodeId, plan_id: planId };
    db.insert('rejected_intents', row, 'ON CONFLICT DO NOTHING');
  }
}

function isBegin(change: IntentChange): boolean {
  return change.attempt !== undefined && 'begun' in change.attempt;
}

function recordAttempt(db: Db, intent: Intent, change: IntentChange, at: number): void {
  if (change.attempt === undefined) return;
  if ('answered' in change.attempt) {
    const sql = `UPDATE attempts SET answered_at = ?, answer = ?
      WHERE id = (SELECT max(id) FROM attempts WHERE intent_id = ?)`;
    db.run(sql, at, change.attempt.answered, intent.id);
    return;
  }
  const rules = canonicalJson([...new Set((change.basis ?? intent.basis).map((basis) => basis.rule))]);
  const { id, action, target } = intent;
  db.insert('attempts', {
    intent_id: id,
    action,
    target,
    rules,
    sent_at: at,
    run_id: change.attempt.run ?? null,
  });
  countAttempt(db, action, at);
}

/** Only decisions in force: what an earlier run's report said of its own outcome stays as it was. */
function reviseDecisions(db: Db, change: IntentChange): void {
  db.run(
    'UPDATE decisions SET outcome = ?, outcome_text = ? WHERE intent_id = ? AND ended_seq IS NULL',
    change.outcome ?? null,
    change.note ?? null,
    change.intentId,
  );
  if (!change.revise) return;
  const { decision, reason, reasonText } = change.revise;
  const sql =
    'UPDATE decisions SET decision = ?, reason = ?, reason_text = ? WHERE intent_id = ? AND ended_seq IS NULL';
  db.run(sql, decision, reason, reasonText, change.intentId);
}
