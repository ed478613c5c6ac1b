// test: rows of a history, made up. In: a number of a run, what it saw. Out: rows in the form of the recorder.

import type { HistoryRow, RowKind } from '../../../src/history/codec/run-encoder.ts';
import { lastStanding } from '../../../src/history/files/tidy.ts';

export const START = Date.UTC(2026, 5, 1, 10);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type Said = [kind: RowKind, subject: string, path: string, value?: string];

/** One run: its frame, then what it saw. */
export function runRows(run: number, at: number, said: readonly Said[] = []): HistoryRow[] {
  return [['run', '', 'frame', `{"seq":${run}}`] as Said, ...said].map(([kind, subject, path, value]) => ({
    run,
    at,
    kind,
    subject,
    path,
    value,
  }));
}

/** What a recorder that begins is given, as one list. */
export async function lastRows(folder: string, address: string, changesMax?: number): Promise<HistoryRow[]> {
  const rows: HistoryRow[] = [];
  for await (const part of (await lastStanding(folder, address, changesMax)) ?? []) rows.push(...part);
  return rows;
}
