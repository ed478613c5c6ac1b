// history files: whether a history is whole. In: a folder, the address that it must be of. Out: what every file has, and each problem by its file. It
// only reads, so it works while a recorder writes.
import { relative } from 'node:path';
import { type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { listHistory, type SegmentFile, sizeOf } from './segment-files.ts';
import { decodeGroup, RunBoundaries, rowAt } from './segment-rows.ts';
import { causeOf, Walk } from './walk.ts';

export interface HistoryProblem {
  /** Day and file; undefined: of the history as a whole. */
  file: string | undefined;
  text: string;
}

export interface HistoryCheck {
  ok: boolean;
  files: number;
  bytes: number;
  /** Each recorded run once, also where segments overlap. */
  runs: number;
  rows: number;
  /** The first and the last recorded run, epoch ms. */
  fromMs: number | undefined;
  toMs: number | undefined;
  problems: HistoryProblem[];
}

/** Errors: AppError `store_failed` when the folder cannot be read. */
export function verifyHistory(folder: string, address: string | undefined): HistoryCheck {
  const { segments, foreign } = listHistory(folder);
  const walk = new Walk(folder, address);
  const problems: HistoryProblem[] = foreign.map((file) => ({
    file: relative(folder, file),
    text: 'it has no name of a segment: move it elsewhere',
  }));
  let rows = 0;
  const places = new Set<number>();
  for (const segment of segments) {
    const columns = walk.open(segment);
    if (columns instanceof UnreadableSegment) {
      if (columns.reason !== 'gone') problems.push(problemOf(segment, columns.message));
      continue;
    }
    rows += columns.rows;
    const text = faultOf(segment, columns);
    if (text !== undefined) problems.push(problemOf(segment, text));
    else if (segment.level !== 'base')
      for (let place = segment.first; place <= segment.last; place++) places.add(place);
  }
  problems.push(...missingOf(segments, places));
  const times = segments.filter(({ level }) => level !== 'base').flatMap(({ fromMs, toMs }) => [fromMs, toMs]);
  return {
    ok: problems.length === 0,
    files: segments.length,
    bytes: segments.reduce((sum, { file }) => sum + sizeOf(file), 0),
    runs: places.size,
    rows,
    fromMs: times.length === 0 ? undefined : Math.min(...times),
    toMs: times.length === 0 ? undefined : Math.max(...times),
    problems,
  };
}

function problemOf({ day, file }: SegmentFile, text: string): HistoryProblem {
  return { file: `${day}/${file.split('/').at(-1)}`, text };
}

/** What the rows do not hold of what the name promises. */
function faultOf(segment: SegmentFile, columns: SegmentColumns): string | undefined {
  try {
    return segment.level === 'base' ? baseFault(columns) : runsFault(segment, columns);
  } catch (error) {
    return `it cannot be decoded (${causeOf(error)})`;
  }
}

function baseFault({ groups }: SegmentColumns): string | undefined {
  const isOfRun = groups.some((group) => group.run().dictionary.some((run) => run !== 0));
  return isOfRun ? 'it is a base with rows of a run' : undefined;
}

function runsFault({ first, last, fromMs, toMs }: SegmentFile, { groups }: SegmentColumns): string | undefined {
  const boundaries = new RunBoundaries();
  const times: number[] = [];
  for (const group of groups) {
    const decoded = decodeGroup(group);
    for (let row = 0; row < decoded.rows; row++) {
      const { run, at, kind } = rowAt(decoded, row);
      if (!boundaries.begins(run, at, kind === 'run')) continue;
      if (kind !== 'run') return `run ${run} in it is not whole`;
      times.push(at);
    }
  }
  if (times.length !== last - first + 1) return `it has ${times.length} runs instead of ${last - first + 1}`;
  return times[0] === fromMs && times.at(-1) === toMs ? undefined : 'its runs are of other times than its name';
}

/** Places that no whole segment has. A history begins with place 1, or with a base. */
function missingOf(segments: readonly SegmentFile[], places: ReadonlySet<number>): HistoryProblem[] {
  const last = segments.reduce((most, one) => Math.max(most, one.last), 0);
  const begin = segments.find(({ level }) => level === 'base');
  const first = segments.find(({ level }) => level !== 'base');
  const from = begin && (!first || begin.last < first.first) ? begin.last + 1 : 1;
  const missing: number[] = [];
  for (let place = from; place <= last; place++) if (!places.has(place)) missing.push(place);
  if (missing.length === 0) return [];
  const text = missing.length === 1 ? 'a recorded run is' : `${missing.length} recorded runs are`;
  return [{ file: undefined, text: `${text} lost: replays name the time as a gap` }];
}
