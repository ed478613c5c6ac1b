// test: a codec that is as plain as can be: it keeps the rows, so that tests see what the reader handed over. In: rows. Out: runs with those rows.
import type { TrustEvent } from '../../../src/domain/event.ts';
import type { RecordedRun } from '../../../src/domain/recorded-history.ts';
import type { HistoryRow, RunDecoder } from '../../../src/history/codec/run-encoder.ts';

export interface PlainRun extends RecordedRun {
  rows: readonly HistoryRow[];
  /** What was open before the first run of the stretch. */
  begun: readonly HistoryRow[];
}

export function plainDecoder(): RunDecoder {
  let begun: HistoryRow[] = [];
  return {
    begin: (rows) => {
      begun = [...rows];
    },
    run: (rows, changes) => {
      const [first] = rows;
      if (first?.kind !== 'run') throw new Error('it has no frame');
      const read = { state: 'read', trusted: true, reasons: [] };
      const frame = {
        run: { seq: first.run, startedAt: first.at },
        sources: { devices: read, users: read, services: read, events: read },
      };
      return { frame, changes, rows, begun, events: [] } as unknown as PlainRun;
    },
    events: (rows) => rows.map(({ subject }) => ({ id: subject }) as TrustEvent),
    ruleSet: (hash, rows) => ({
      hash,
      files: new Map(rows.map(({ path, value }) => [path, JSON.parse(value as string) as string])),
    }),
  };
}
