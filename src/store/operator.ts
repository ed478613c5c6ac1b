// store: operator commands: exemptions, the stop switch, accepted readings. Rows to nouns and back.
// INVARIANT: the writing functions are called inside a transaction that also appends their audit entries.
import { canonicalJson } from '../base/json.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { Acceptance, RunOperatorState, Stop } from '../domain/operator.ts';
import type { Newest, PageReader } from '../domain/store-ports.ts';
import { saveMembers, withMembers } from './exemption-members.ts';
import { newest } from './lists.ts';
import { type Db, type Row, rowByPrefix, type Work } from './queries.ts';
import { storedJson } from './stored-json.ts';
import { Where } from './where.ts';

export function* readExemptions(db: Db, inForceAt?: number): Work<Exemption[]> {
  const rows =
    inForceAt === undefined
      ? yield* db.all('SELECT * FROM exemptions ORDER BY created_at DESC, id DESC')
      : yield* db.all(
          `SELECT * FROM exemptions ${db.dialect.unindexed} WHERE ended_at IS NULL AND expires_at > ? ORDER BY created_at, id`,
          inForceAt,
        );
  return yield* withMembers(db, rows.map(exemptionOfRow));
}

type ExemptionQuery = Parameters<PageReader['exemptionPage']>[0];

/** No index is believed: a person wrote each of them. */
export function* exemptionPage(db: Db, { inForceAt, overAt, before, limit }: ExemptionQuery): Work<Newest<Exemption>> {
  const where = new Where();
  where.add('ended_at IS NULL AND expires_at > ?', inForceAt);
  where.add('(ended_at IS NOT NULL OR expires_at <= ?)', overAt);
  const { rows, total } = yield* newest(db, `exemptions ${db.dialect.unindexed}`, where, 'created_at', limit, before);
  return { rows: yield* withMembers(db, rows.map(exemptionOfRow)), total };
}

/** Errors: AppError `usage` for a beginning that fits several. */
export function* readExemption(db: Db, idOrPrefix: string): Work<Exemption | undefined> {
  const row = yield* rowByPrefix(db, 'exemptions', idOrPrefix);
  return row && (yield* withMembers(db, [exemptionOfRow(row)]))[0];
}

export function* saveExemption(db: Db, exemption: Exemption): Work<void> {
  const { subject, selector } = exemption;
  yield* db.upsert(
    'exemptions',
    {
      id: exemption.id,
      subject_kind: subject?.kind ?? null,
      subject_id: subject?.id ?? null,
      selector_kind: selector?.kind ?? null,
      selector_field: selector?.field ?? null,
      selector_value: selector?.value ?? null,
      owner: exemption.owner,
      reason: exemption.reason,
      expires_at: exemption.expiresAt,
      created_at: exemption.createdAt,
      created_by: exemption.createdBy,
      ended_at: exemption.endedAt ?? null,
      ended_by: exemption.endedBy ?? null,
      ended_reason: exemption.endedReason ?? null,
      used_at: exemption.usedAt ?? null,
      warned_at: exemption.warnedAt ?? null,
    },
    'id',
  );
  yield* saveMembers(db, exemption);
}

function exemptionOfRow(row: Row): Exemption {
  const orUndefined = <T>(value: unknown): T | undefined => (value === null ? undefined : (value as T));
  const subject = { kind: row.subject_kind, id: row.subject_id } as Exemption['subject'];
  const selector = { kind: row.selector_kind, field: row.selector_field, value: row.selector_value };
  return {
    id: row.id as string,
    subject: row.subject_id === null ? undefined : subject,
    selector: row.selector_field === null ? undefined : (selector as Exemption['selector']),
    owner: row.owner as string,
    reason: row.reason as string,
    expiresAt: row.expires_at as number,
    createdAt: row.created_at as number,
    createdBy: row.created_by as string,
    endedAt: orUndefined(row.ended_at),
    endedBy: orUndefined(row.ended_by),
    endedReason: orUndefined(row.ended_reason),
    usedAt: orUndefined(row.used_at),
    warnedAt: orUndefined(row.warned_at),
  };
}

export function* readStop(db: Db): Work<Stop | undefined> {
  const row = yield* db.get('SELECT * FROM stop_switch WHERE one = 1');
  return row && { at: row.stopped_at as number, by: row.stopped_by as string, reason: row.reason as string };
}

export function* saveStop(db: Db, stop: Stop | undefined): Work<void> {
  yield* db.run('DELETE FROM stop_switch');
  if (stop) yield* db.insert('stop_switch', { one: 1, stopped_at: stop.at, stopped_by: stop.by, reason: stop.reason });
}

export function* readAcceptances(db: Db): Work<Acceptance[]> {
  return (yield* db.all('SELECT * FROM acceptances ORDER BY source')).map((row) => ({
    source: row.source as Acceptance['source'],
    at: row.accepted_at as number,
    by: row.accepted_by as string,
    reason: row.reason as string,
    run: row.run_id as string,
    causes: storedJson<Acceptance['causes']>(row.causes),
    count: row.count as number,
  }));
}

export function* saveAcceptance(db: Db, { source, at, by, reason, run, causes, count }: Acceptance): Work<void> {
  const row = { source, accepted_at: at, accepted_by: by, reason, run_id: run, causes: canonicalJson(causes), count };
  yield* db.upsert('acceptances', row, 'source');
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
