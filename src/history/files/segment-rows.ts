// history files: the rows of a segment, one by one, and which of them are of one run. In: columns. Out: rows, in the order in which they were written.
// For what is not in a hurry: whoever reads millions of rows reads columns.
import type { HistoryRow, RowKind } from '../rows.ts';
import type { CodedColumn, CodedTexts, RowGroup, SegmentColumns } from './segment-columns.ts';
import type { NewSegment } from './segment-files.ts';
import { stepDone } from './steps.ts';

/** All columns of one group, decoded. */
export interface DecodedGroup {
  rows: number;
  run: CodedColumn<number>;
  at: CodedColumn<number>;
  kind: CodedColumn<string>;
  subject: CodedColumn<string>;
  path: CodedColumn<string>;
  value: CodedTexts;
}

export function decodeGroup(group: RowGroup): DecodedGroup {
  stepDone();
  return {
    rows: group.rows,
    run: group.run(),
    at: group.at(),
    kind: group.kind(),
    subject: group.subject(),
    path: group.path(),
    value: group.value(),
  };
}

export function* rowsOf({ groups }: SegmentColumns): Generator<HistoryRow> {
  for (const group of groups) {
    const decoded = decodeGroup(group);
    for (let row = 0; row < group.rows; row++) yield rowAt(decoded, row);
  }
}

export function rowAt(group: DecodedGroup, row: number): HistoryRow {
  return {
    run: at(group.run, row) as number,
    at: at(group.at, row) as number,
    kind: at(group.kind, row) as RowKind,
    subject: at(group.subject, row) as string,
    path: at(group.path, row) as string,
    value: valueAt(group.value, row),
  };
}

function valueAt({ codes, text }: CodedTexts, row: number): string | undefined {
  const code = codes[row] as number;
  return code === -1 ? undefined : text(code);
}

function at<T>({ codes, dictionary }: CodedColumn<T>, row: number): T | undefined {
  const code = codes[row] as number;
  return code === -1 ? undefined : dictionary[code];
}

/** Whether a row is the first one of a run: its frame begins, or the run is another one. Numbers repeat after a database was restored. */
export class RunBoundaries {
  #run: number | undefined;
  #at: number | undefined;
  #wasFrame = false;

  begins(run: number, atMs: number, isFrame: boolean): boolean {
    const begins = run !== this.#run || atMs !== this.#at || (isFrame && !this.#wasFrame);
    this.#run = run;
    this.#at = atMs;
    this.#wasFrame = isFrame;
    return begins;
  }
}

/** What rows of runs are applied to: see standing.ts. */
export interface RowSink {
  /** Whether rows of this kind and path are of any use. */
  takes(kind: string, path: string): boolean;
  takesSubject(subject: string): boolean;
  apply(at: number, kind: string, subject: string, path: string, value: string | undefined): void;
}

/** Applies runs of a segment, from `skip` on up to the first one that is the end. Returns how many came before that, skipped ones too. */
export function applyRuns(
  { groups }: SegmentColumns,
  sink: RowSink,
  skip: number,
  isEnd: (atMs: number) => boolean,
): number {
  const boundaries = new RunBoundaries();
  let runs = 0;
  for (const group of groups) {
    const decoded = decodeGroup(group);
    const { run, at, kind, path } = decoded;
    const taken = kind.dictionary.map((one) =>
      Uint8Array.from(path.dictionary, (name) => (sink.takes(one, name) ? 1 : 0)),
    );
    const isFrame = kind.dictionary.map((one) => one === 'run');
    const ofSubject = Uint8Array.from(decoded.subject.dictionary, (one) => (sink.takesSubject(one) ? 1 : 0));
    for (let row = 0; row < decoded.rows; row++) {
      const kindCode = kind.codes[row] as number;
      const atMs = at.dictionary[at.codes[row] as number] as number;
      const runNow = run.dictionary[run.codes[row] as number] as number;
      if (boundaries.begins(runNow, atMs, isFrame[kindCode] as boolean)) {
        if (runs >= skip && isEnd(atMs)) return runs;
        runs++;
      }
      if (runs <= skip || taken[kindCode]?.[path.codes[row] as number] !== 1) continue;
      if (ofSubject[decoded.subject.codes[row] as number] !== 1) continue;
      const { kind: name, subject, path: fact, value } = rowAt(decoded, row);
      sink.apply(atMs, name, subject, fact, value);
    }
  }
  return runs;
}

/** The first run of a segment: when it began, and how many rows it has. */
export function firstRunOf({ groups }: SegmentColumns): { atMs: number; rows: number } {
  const boundaries = new RunBoundaries();
  let first: { atMs: number } | undefined;
  let rows = 0;
  for (const group of groups) {
    const [run, at, kind] = [group.run(), group.at(), group.kind()];
    const isFrame = kind.dictionary.map((one) => one === 'run');
    for (let row = 0; row < group.rows; row++, rows++) {
      const atMs = at.dictionary[at.codes[row] as number] as number;
      const runNow = run.dictionary[run.codes[row] as number] as number;
      if (!boundaries.begins(runNow, atMs, isFrame[kind.codes[row] as number] as boolean)) continue;
      if (first) return { ...first, rows };
      first = { atMs };
    }
  }
  return { atMs: first?.atMs ?? 0, rows };
}

/** Adds all rows of a segment to another one. */
export function addRows(columns: SegmentColumns, { rows }: NewSegment): void {
  for (const row of rowsOf(columns)) rows.addRow(row);
}
