// history files: the runs of a segment: its facts as changes, its other rows as they are. In: columns, which facts are wanted. Out: one run after
// another. Millions of rows go through here: each dictionary is looked at once, and no object is made of a row that nobody wants.
import type { FactChange } from '../../domain/recorded-history.ts';
import { factKindOf, type HistoryRow } from '../rows.ts';
import { FactScan, type Wanted } from './scan-facts.ts';
import type { RowGroup, SegmentColumns } from './segment-columns.ts';
import { decodeGroup, RunBoundaries, rowAt } from './segment-rows.ts';

export interface ScannedRun {
  run: number;
  atMs: number;
  /** An array, or of a run with very many, what reads them each time it is asked. */
  changes: Iterable<FactChange>;
  /** Without facts. */
  rows: HistoryRow[];
}

/** More changes than these are not held: the first recorded run has every fact of a fleet. */
const HELD_MAX = 100_000;

interface Place {
  group: number;
  row: number;
}

interface Scanning {
  run: number;
  atMs: number;
  from: Place;
  /** Undefined: they are too many. */
  changes: FactChange[] | undefined;
  rows: HistoryRow[];
}

/** Runs in order; a run is given when all its rows were read. */
export function* scanRuns(columns: SegmentColumns, wanted: Wanted): Generator<ScannedRun> {
  const boundaries = new RunBoundaries();
  let current: Scanning | undefined;
  let at: Place = { group: 0, row: 0 };
  for (const [index, group] of columns.groups.entries()) {
    if (hasFactsAlone(group, wanted)) continue;
    const decoded = decodeGroup(group);
    const facts = new FactScan(decoded, wanted);
    const { run, at: times, kind } = decoded;
    const isFrame = kind.dictionary.map((name) => name === 'run');
    let before = { run: -1, time: -1, wasFrame: true };
    for (let row = 0; row < decoded.rows; row++) {
      const runCode = run.codes[row] as number;
      const timeCode = times.codes[row] as number;
      const isFrameNow = isFrame[kind.codes[row] as number] as boolean;
      if (isFrameNow || before.wasFrame || runCode !== before.run || timeCode !== before.time) {
        before = { run: runCode, time: timeCode, wasFrame: isFrameNow };
        const [runNow, atMs] = [run.dictionary[runCode] as number, times.dictionary[timeCode] as number];
        if (boundaries.begins(runNow, atMs, isFrameNow)) {
          at = { group: index, row };
          if (current) yield scanned(current, columns, wanted, at);
          current = { run: runNow, atMs, from: at, changes: [], rows: [] };
        }
      }
      const now = current as Scanning;
      if (facts.isFact(row)) {
        if (!facts.isWanted(row) || !now.changes) continue;
        now.changes.push(facts.changeAt(row));
        if (now.changes.length > HELD_MAX) now.changes = undefined;
      } else if (facts.isOther(row)) now.rows.push(rowAt(decoded, row));
    }
  }
  if (current) yield scanned(current, columns, wanted, { group: columns.groups.length, row: 0 });
}

/** Nobody wants them, and no run begins there: it would with its frame. */
function hasFactsAlone(group: RowGroup, { noFacts }: Wanted): boolean {
  return noFacts === true && group.kind().dictionary.every((kind) => factKindOf(kind) !== undefined);
}

function scanned({ run, atMs, from, changes, rows }: Scanning, of: SegmentColumns, wanted: Wanted, end: Place) {
  const again = { [Symbol.iterator]: () => changesBetween(of, wanted, from, end) };
  return { run, atMs, changes: changes ?? again, rows };
}

/** One group of rows at a time is in memory. */
function* changesBetween({ groups }: SegmentColumns, wanted: Wanted, from: Place, end: Place): Generator<FactChange> {
  for (const [index, group] of groups.entries()) {
    if (index < from.group || index > end.group || (index === end.group && end.row === 0)) continue;
    const decoded = decodeGroup(group);
    const facts = new FactScan(decoded, wanted);
    const last = index === end.group ? end.row : decoded.rows;
    for (let row = index === from.group ? from.row : 0; row < last; row++)
      if (facts.isFact(row) && facts.isWanted(row)) yield facts.changeAt(row);
  }
}
