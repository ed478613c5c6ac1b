// store: operator commands: exemptions, the stop switch, accepted readings; and rollouts. Rows to nouns and back.
// INVARIANT: the writing functions are called inside a transaction that also appends their audit entries.
import { canonicalJson } from '../base/json.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { Acceptance, RunOperatorState, Stop } from '../domain/operator.ts';
import type { RolloutState } from '../domain/rollout.ts';
import type { Newest, PageReader } from '../domain/store-ports.ts';
import { Columns, flag, json, members } from './columns.ts';
import { noted, saveMembers, withMembers } from './exemption-members.ts';
import { newest } from './lists.ts';
import { type Db, rowByPrefix, Where, type Work } from './queries.ts';

/** Its members have a table of their own. */
const EXEMPTION = new Columns<Omit<Exemption, 'members' | 'acceptForgeable'>>({
  id: 'id',
  subject: members({ kind: 'subject_kind', id: 'subject_id' }),
  selector: members({ kind: 'selector_kind', field: 'selector_field', value: 'selector_value' }),
  owner: 'owner',
  reason: 'reason',
  expiresAt: 'expires_at',
  createdAt: 'created_at',
  createdBy: 'created_by',
  endedAt: 'ended_at',
  endedBy: 'ended_by',
  endedReason: 'ended_reason',
  usedAt: 'used_at',
  warnedAt: 'warned_at',
});

export function* readExemptions(db: Db, inForceAt?: number): Work<Exemption[]> {
  const rows =
    inForceAt === undefined
      ? yield* db.all('SELECT * FROM exemptions ORDER BY created_at DESC, id DESC')
      : yield* db.all(
          `SELECT * FROM exemptions ${db.dialect.unindexed} WHERE ended_at IS NULL AND expires_at > ? ORDER BY created_at, id`,
          inForceAt,
        );
  return yield* withMembers(db, rows.map(EXEMPTION.nounOf));
}

type ExemptionQuery = Parameters<PageReader['exemptionPage']>[0];

/** No index is believed: a person wrote each of them. */
export function* exemptionPage(db: Db, { inForceAt, overAt, before, limit }: ExemptionQuery): Work<Newest<Exemption>> {
  const where = new Where();
  where.add('ended_at IS NULL AND expires_at > ?', inForceAt);
  where.add('(ended_at IS NOT NULL OR expires_at <= ?)', overAt);
  const { rows, total } = yield* newest(db, `exemptions ${db.dialect.unindexed}`, where, 'created_at', limit, before);
  return { rows: yield* withMembers(db, rows.map(EXEMPTION.nounOf)), total };
}

/** Errors: AppError `usage` for a beginning that fits several. */
export function* readExemption(db: Db, idOrPrefix: string): Work<Exemption | undefined> {
  const row = yield* rowByPrefix(db, 'exemptions', idOrPrefix);
  return row && (yield* withMembers(db, [EXEMPTION.nounOf(row)]))[0];
}

export function* saveExemption(db: Db, exemption: Exemption): Work<void> {
  yield* db.upsert('exemptions', EXEMPTION.rowOf(exemption), 'id');
  yield* saveMembers(db, exemption);
}

export function* readStop(db: Db): Work<Stop | undefined> {
  const row = yield* db.get('SELECT * FROM stop_switch WHERE one = 1');
  return row && { at: row.stopped_at as number, by: row.stopped_by as string, reason: row.reason as string };
}

export function* saveStop(db: Db, stop: Stop | undefined): Work<void> {
  yield* db.run('DELETE FROM stop_switch');
  if (stop) yield* db.insert('stop_switch', { one: 1, stopped_at: stop.at, stopped_by: stop.by, reason: stop.reason });
}

const ROLLOUT = new Columns<RolloutState>({
  rule: 'rule',
  meaning: 'meaning',
  step: 'step',
  passedMs: 'passed_ms',
  countedAt: 'counted_at',
  beganAt: 'began_at',
  since: 'since',
  reversed: json('reversed'),
  exempted: json('exempted'),
  braked: members({ at: 'braked_at', why: 'braked_why' }),
  isPlanned: flag('is_planned'),
});

export function* readRollouts(db: Db): Work<RolloutState[]> {
  return (yield* db.all('SELECT * FROM rollouts ORDER BY rule')).map(ROLLOUT.nounOf);
}

export function* saveRollout(db: Db, state: RolloutState): Work<void> {
  yield* noted(db, 'rollouts', 'rule', state.rule, () => db.upsert('rollouts', ROLLOUT.rowOf(state), 'rule'));
}

export function* dropRollout(db: Db, rule: string): Work<void> {
  yield* noted(db, 'rollouts', 'rule', rule, function* () {
    yield* db.run('DELETE FROM rollouts WHERE rule = ?', rule);
  });
}

const ACCEPTANCE = new Columns<Acceptance>({
  source: 'source',
  at: 'accepted_at',
  by: 'accepted_by',
  reason: 'reason',
  run: 'run_id',
  causes: json('causes'),
  count: 'count',
});

export function* readAcceptances(db: Db): Work<Acceptance[]> {
  return (yield* db.all('SELECT * FROM acceptances ORDER BY source')).map(ACCEPTANCE.nounOf);
}

export function* saveAcceptance(db: Db, acceptance: Acceptance): Work<void> {
  yield* db.upsert('acceptances', ACCEPTANCE.rowOf(acceptance), 'source');
}

/** They were given in a period whose end the database has lost: what they allowed may have been used. */
export function* dropAcceptances(db: Db): Work<void> {
  yield* db.run('DELETE FROM acceptances');
}

/** The commands that a run saw and used, written with its findings. */
export function* saveOperatorState(
  db: Db,
  run: { id: string; at: number },
  operator: RunOperatorState | undefined,
  exemptions: { used: readonly string[]; warned: readonly string[] },
): Work<void> {
  for (const id of exemptions.used) yield* db.run('UPDATE exemptions SET used_at = ? WHERE id = ?', run.at, id);
  for (const id of exemptions.warned) yield* db.run('UPDATE exemptions SET warned_at = ? WHERE id = ?', run.at, id);
  if (operator === undefined) return;
  // Only the acceptance that the run saw: a later one is for the next reading.
  for (const { source, at } of operator.accepted)
    yield* db.run('DELETE FROM acceptances WHERE source = ? AND accepted_at = ?', source, at);
  yield* db.run('UPDATE runs SET operator = ? WHERE id = ?', canonicalJson(operator), run.id);
}
