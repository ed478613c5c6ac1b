// history files: the item that says what held before the next run. In: what held, the codec. Out: facts and events in pieces, read when they are asked
// for; what was open is handed to the codec at once.
import type { TrustEvent } from '../../domain/event.ts';
import { giveWay } from '../../domain/give-way.ts';
import type { FactChange, HistoryItem } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { factKindOf, type HistoryRow } from '../rows.ts';
import type { RunDecoder } from '../run-decoder.ts';
import { changeOf, readValue, type Wanted } from './scan-facts.ts';
import type { Standing } from './standing.ts';

const PIECE = 5_000;

export function stateOf(standing: Standing, decoder: RunDecoder, wanted: Wanted, atMs: number): HistoryItem {
  const isOther = (kind: string) => factKindOf(kind) === undefined && kind !== 'event' && wanted.row(kind);
  decoder.begin(standing.rows(isOther));
  return { kind: 'state', atMs, facts: facts(standing, wanted), events: events(standing, decoder) };
}

async function* facts(standing: Standing, wanted: Wanted): AsyncGenerator<readonly FactChange[]> {
  const isFact = (kind: string) => factKindOf(kind) !== undefined;
  for await (const rows of inPieces(standing.rows(isFact, wanted.fact))) {
    yield rows.map(({ kind, subject, path, value }) =>
      changeOf(kind as SubjectKind, subject, path, value === undefined ? undefined : readValue(value)),
    );
  }
}

async function* events(standing: Standing, decoder: RunDecoder): AsyncGenerator<readonly TrustEvent[]> {
  for await (const rows of inPieces(standing.rows((kind) => kind === 'event'))) yield decoder.events(rows);
}

async function* inPieces(rows: Iterable<HistoryRow>): AsyncGenerator<HistoryRow[]> {
  let piece: HistoryRow[] = [];
  for (const row of rows) {
    piece.push(row);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
    await giveWay();
  }
  if (piece.length > 0) yield piece;
}
