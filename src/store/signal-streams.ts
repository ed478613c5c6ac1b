// store: streams of receivers, and the signed tokens that wait in them. In: a connection, and for writing the store's unit of work. Out: the port of
// domain/signal-stream.ts.
import { canonicalJson } from '../base/json.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type {
  KeptKey,
  SignalStream,
  StreamChanges,
  StreamSettings,
  StreamState,
  StreamStore,
  WaitingSet,
} from '../domain/signal-stream.ts';
import { headOf } from './audit-rows.ts';
import type { Unit } from './outbox.ts';
import { type Db, keepMeta, type Row, readMeta, type Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

/** The key of a row in `meta`. A copy of the database has it, too: receivers go on after a restore. */
export const SIGNAL_KEYS = 'signal_keys';

const WAITING = 'SELECT count(*) AS n, min(at) AS oldest FROM signal_sets WHERE stream = ?';
const COLUMNS = ['stream', 'seq', 'jti', 'at', 'text'];

function nounOf({ id, receiver, settings, seq, due_at, failures, note, delivered_at, verified_at }: Row): SignalStream {
  return {
    ...(storedJson(settings) as unknown as StreamSettings),
    ...{
      id: String(id),
      receiver: String(receiver),
      seq: Number(seq),
      dueAt: Number(due_at),
      failures: Number(failures),
    },
    note: note === null ? undefined : String(note),
    deliveredAt: delivered_at === null ? undefined : Number(delivered_at),
    verifiedAt: verified_at === null ? undefined : Number(verified_at),
  };
}

function rowOf({ id, receiver, seq, dueAt, failures, note, deliveredAt, verifiedAt, ...settings }: SignalStream): Row {
  return {
    ...{ id, receiver, settings: canonicalJson(settings), seq, due_at: dueAt, failures, note: note ?? null },
    ...{ delivered_at: deliveredAt ?? null, verified_at: verifiedAt ?? null },
  };
}

function* oneOf(db: Db, id: string): Work<SignalStream | undefined> {
  const row = yield* db.get<Row>('SELECT * FROM signal_streams WHERE id = ?', id);
  return row && nounOf(row);
}

export class SqlStreams implements StreamStore {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit,
  ) {}

  async streams(): Promise<StreamState[]> {
    const { db } = this;
    return db.reading(
      db.snapshot(function* () {
        const found: StreamState[] = [];
        for (const row of yield* db.all<Row>('SELECT * FROM signal_streams ORDER BY id')) {
          const stream = nounOf(row);
          const { n, oldest } = (yield* db.get<Row>(WAITING, stream.id)) ?? { n: 0, oldest: null };
          found.push({ ...stream, waiting: Number(n), oldestAt: oldest === null ? undefined : Number(oldest) });
        }
        return found;
      }),
    );
  }

  add(id: string, receiver: string, settings: StreamSettings, notes: AuditNote[]): Promise<boolean> {
    const { db, unit } = this;
    return unit.run(function* () {
      const { seq } = yield* headOf(db);
      const row = rowOf({ ...settings, id, receiver, seq, dueAt: 0, failures: 0 });
      const added = yield* db.insert('signal_streams', row, 'ON CONFLICT DO NOTHING');
      if (added > 0) unit.append(notes);
      return added > 0;
    });
  }

  async change(id: string, changes: StreamChanges, notes: AuditNote[], fromNow = false): Promise<void> {
    const { db, unit } = this;
    await unit.run(function* () {
      const stream = yield* oneOf(db, id);
      if (!stream) return;
      const seq = fromNow ? (yield* headOf(db)).seq : stream.seq;
      if (fromNow) yield* db.run('DELETE FROM signal_sets WHERE stream = ?', id);
      yield* db.upsert(
        'signal_streams',
        rowOf({ ...stream, ...(typeof changes === 'function' ? changes(stream) : changes), seq }),
        'id',
      );
      unit.append(notes);
    });
  }

  async remove(id: string, notes: AuditNote[]): Promise<void> {
    const { db, unit } = this;
    await unit.run(function* () {
      yield* db.run('DELETE FROM signal_sets WHERE stream = ?', id);
      if ((yield* db.run('DELETE FROM signal_streams WHERE id = ?', id)) > 0) unit.append(notes);
    });
  }

  collect(id: string, from: number, upTo: number, sets: readonly WaitingSet[]): Promise<boolean> {
    const { db } = this;
    return this.unit.run(function* () {
      // INVARIANT: the position and what it passed are one commit: no outcome is told twice, and none is left out.
      const moved = yield* db.run('UPDATE signal_streams SET seq = ? WHERE id = ? AND seq = ?', upTo, id, from);
      if (moved === 0) return false;
      const rows = sets.map(({ seq, jti, at, text }) => [id, seq, jti, at, text]);
      if (rows.length > 0) yield* db.insertMany('signal_sets', COLUMNS, rows, 'ON CONFLICT DO NOTHING');
      return true;
    });
  }

  async waiting(id: string, limit: number): Promise<WaitingSet[]> {
    const sql = 'SELECT seq, jti, at, text FROM signal_sets WHERE stream = ? ORDER BY seq, jti LIMIT ?';
    const rows = await this.db.reading(this.db.all<Row>(sql, id, limit));
    return rows.map(({ seq, jti, at, text }) => ({
      seq: Number(seq),
      jti: String(jti),
      at: Number(at),
      text: String(text),
    }));
  }

  taken(id: string, jtis: readonly string[], at: number, notes: AuditNote[] = []): Promise<string[]> {
    const { db, unit } = this;
    return unit.run(function* () {
      const those = 'signal_sets WHERE stream = ? AND jti IN (SELECT value FROM json_each(?))';
      const found = yield* db.all<{ jti: string }>(`SELECT jti FROM ${those}`, id, JSON.stringify(jtis));
      if (found.length === 0) return [];
      yield* db.run(`DELETE FROM ${those}`, id, JSON.stringify(jtis));
      yield* db.run('UPDATE signal_streams SET delivered_at = ?, failures = 0, note = NULL WHERE id = ?', at, id);
      unit.append(notes);
      return found.map(({ jti }) => jti);
    });
  }

  async claim({ id, dueAt }: Pick<SignalStream, 'id' | 'dueAt'>, untilMs: number): Promise<boolean> {
    const sql = 'UPDATE signal_streams SET due_at = ? WHERE id = ? AND due_at = ?';
    return (await this.unit.run(() => this.db.run(sql, untilMs, id, dueAt))) > 0;
  }

  async keys(): Promise<KeptKey[]> {
    return keptKeysIn(await this.db.reading(readMeta(this.db, SIGNAL_KEYS)));
  }

  keepKeys(known: readonly KeptKey[], keys: readonly KeptKey[]): Promise<KeptKey[]> {
    const { db } = this;
    return this.unit.run(function* () {
      const kept = keptKeysIn(yield* readMeta(db, SIGNAL_KEYS));
      if (JSON.stringify(kept) !== JSON.stringify(known)) return kept;
      yield* keepMeta(db, SIGNAL_KEYS, JSON.stringify(keys));
      return [...keys];
    });
  }
}

export function keptKeysIn(text: string | undefined): KeptKey[] {
  return text === undefined ? [] : (JSON.parse(text) as KeptKey[]);
}
