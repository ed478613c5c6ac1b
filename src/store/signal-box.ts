// store: signals as they are received, until a run or a look takes them up. In: what was accepted, with what it proves of its stream. Out: what is new,
// and what is known of each transmitter. INVARIANT: a signal, its id and what it proves commit together, and an id counts once; what is taken up leaves
// in the transaction that makes it events.
import {
  type NewSignals,
  SIGNALS_WAITING_MAX,
  type SignalBatch,
  type SignalBox,
  type StreamState,
  type TransmitterState,
} from '../domain/signal.ts';
import type { Coverage } from '../domain/snapshot.ts';
import { EVENT_COLUMNS, eventOfRow, forgetProven, rowOfEvent } from './event-log.ts';
import type { Unit } from './outbox.ts';
import type { Db, Row, Value, Work } from './queries.ts';
import { storedJson } from './stored-json.ts';

/** Taken up at once. The rest follows. */
const TAKEN_MAX = 20_000;
/** What nothing takes up for so long, no rule reads. */
const KEPT_MS = 7 * 86_400_000;
/** A signal may be of a time that is so far ahead of the one when it came. */
const AHEAD_MS = 300_000;

const WAITING = 'SELECT count(*) AS count FROM (SELECT 1 FROM signals LIMIT ?) AS waiting';
const COLUMNS = [...EVENT_COLUMNS, 'received_at'];

/** In one state of the database, so that no stretch reaches beyond the signals that are here. */
export function* newSignals(db: Db): Work<NewSignals> {
  return yield* db.snapshot(function* () {
    const sql = `SELECT ${EVENT_COLUMNS.join(', ')} FROM signals ORDER BY received_at, id LIMIT ?`;
    const rows = yield* db.all(sql, TAKEN_MAX);
    const states = rows.length === TAKEN_MAX ? [] : yield* db.all<Row>('SELECT * FROM transmitters ORDER BY name');
    return { events: rows.map(eventOfRow), coverage: states.flatMap(coverageOf) };
  });
}

function coverageOf({ name, known_from: from, known_to: to }: Row): Coverage[] {
  return from === null || to === null ? [] : [{ transmitter: name as string, fromMs: Number(from), toMs: Number(to) }];
}

export function* hasNewSignals(db: Db): Work<boolean> {
  return (yield* db.get('SELECT id FROM signals ORDER BY received_at, id LIMIT 1')) !== undefined;
}

export class SqlSignalBox implements SignalBox {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit,
  ) {}

  receive(batch: SignalBatch): Promise<{ repeated: number; waiting: number }> {
    return this.unit.run(() => received(this.db, batch));
  }

  async states(): Promise<TransmitterState[]> {
    return this.db.reading(transmitterStates(this.db));
  }
}

function* received(db: Db, batch: SignalBatch): Work<{ repeated: number; waiting: number }> {
  const { transmitter, atMs, signals, refused } = batch;
  const rows: Value[][] = [];
  const counts = new Map<string, number>(Object.entries(refused));
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const { event, jti, untilMs, isUnknown } of signals) {
    const row = { transmitter, jti, until: untilMs };
    if ((yield* db.insert('signal_ids', row, 'ON CONFLICT DO NOTHING')) === 0) count('repeated');
    else {
      count('accepted');
      if (isUnknown) count('unknown');
      if (event) rows.push([...rowOfEvent(event), atMs]);
    }
  }
  if (rows.length > 0) yield* db.insertMany('signals', COLUMNS, rows, 'ON CONFLICT DO NOTHING');
  const adding = `${db.dialect.conflict('transmitter, what')} DO UPDATE SET count = signal_counts.count + excluded.count`;
  for (const [what, added] of counts) yield* db.insert('signal_counts', { transmitter, what, count: added }, adding);
  yield* keepState(db, batch);
  yield* db.run('DELETE FROM signal_ids WHERE until < ?', atMs);
  const dropped = yield* db.run('DELETE FROM signals WHERE received_at < ?', atMs - KEPT_MS);
  if (dropped > 0) yield* forgetProven(db, atMs - KEPT_MS + AHEAD_MS);
  const waiting = yield* db.get<{ count: number }>(WAITING, SIGNALS_WAITING_MAX);
  return { repeated: counts.get('repeated') ?? 0, waiting: waiting?.count ?? 0 };
}

function* keepState(db: Db, { transmitter, atMs, signals, proven, stream }: SignalBatch): Work<void> {
  const before = yield* db.get<Row>('SELECT * FROM transmitters WHERE name = ?', transmitter);
  const isContact = signals.length > 0 || proven !== undefined;
  if (!isContact && stream === undefined) return;
  const known = stretchOf(before, proven);
  yield* db.upsert(
    'transmitters',
    {
      name: transmitter,
      contact_at: isContact ? atMs : (before?.contact_at ?? null),
      known_from: known?.fromMs ?? null,
      known_to: known?.toMs ?? null,
      stream: stream ? JSON.stringify(stream) : (before?.stream ?? null),
    },
    'name',
  );
}

/** The stretch that was known goes on, if what is proven reaches back to it. */
function stretchOf(
  before: Row | undefined,
  proven: SignalBatch['proven'],
): { fromMs: number; toMs: number } | undefined {
  const [from, to] = [before?.known_from ?? null, before?.known_to ?? null];
  const known = from === null || to === null ? undefined : { fromMs: Number(from), toMs: Number(to) };
  if (!proven) return known;
  if (!known || proven.isAnew) return { fromMs: proven.toMs, toMs: proven.toMs };
  if (proven.toMs <= known.toMs) return known;
  return proven.fromMs <= known.toMs ? { ...known, toMs: proven.toMs } : { fromMs: proven.fromMs, toMs: proven.toMs };
}

export function* transmitterStates(db: Db): Work<TransmitterState[]> {
  const counts = yield* db.all<{ transmitter: string; what: string; count: number }>(
    'SELECT transmitter, what, count FROM signal_counts ORDER BY transmitter, what',
  );
  const rows = yield* db.all<Row>('SELECT * FROM transmitters ORDER BY name');
  const names = new Set([...rows.map(({ name }) => name as string), ...counts.map(({ transmitter }) => transmitter)]);
  return [...names].sort().map((name) => {
    const row = rows.find((one) => one.name === name);
    const own = counts.filter(({ transmitter }) => transmitter === name);
    return {
      name,
      contactAt: row?.contact_at === null ? undefined : (row?.contact_at as number | undefined),
      known: row && coverageOf(row)[0],
      counts: Object.fromEntries(own.map(({ what, count }) => [what, Number(count)])),
      stream: typeof row?.stream === 'string' ? storedJson<StreamState>(row.stream) : undefined,
    };
  });
}
