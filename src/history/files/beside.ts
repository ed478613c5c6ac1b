// history files: what lies beside the runs of a query: the run before the first one, the run after the last one. In: segments, a place. Out: its number
// and time, or what is lost there. So a stretch that is not in the record is named also when a query begins or ends within it.
import { UnreadableSegment } from './segment-columns.ts';
import type { Lost, Walk, WalkedSegment } from './walk.ts';

export interface RunBeside {
  run: number;
  atMs: number;
}

type Beside = RunBeside | { lost: Lost } | undefined;

/** Undefined: it is in the segment of that place, too, or none before it is kept. */
export function runBefore(walk: Walk, place: number): Beside {
  const walked = walk.segments.some(({ last }) => last < place) ? walk.at(place - 1) : undefined;
  if (!walked) return undefined;
  if (walked.kind === 'lost') return { lost: walked };
  return walked.next === place ? edgeOf(walked, 'last') : undefined;
}

export function runAfter(walk: Walk, place: number): Beside {
  const walked = walk.at(place + 1);
  if (!walked) return undefined;
  return walked.kind === 'lost' ? { lost: walked } : edgeOf(walked, 'first');
}

/** Its checksum and its form held: what cannot be decoded now was written wrong, and is named where its runs are read. */
function edgeOf({ columns: { groups }, segment }: WalkedSegment, edge: 'first' | 'last'): RunBeside | undefined {
  const [at, atMs] = edge === 'first' ? [0, segment.fromMs] : [-1, segment.toMs];
  try {
    const column = groups.at(at)?.run();
    const run = column?.dictionary[column.codes.at(at) ?? -1];
    return run === undefined ? undefined : { run, atMs };
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}
