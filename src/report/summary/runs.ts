// report: the runs of a summary: how they ended, and where none was made. In: runs. Out: counts, aborted runs with the reason, outages.
import { giveWay } from '../../domain/give-way.ts';
import { isOfLook, type Run } from '../../domain/run.ts';
import { isoTime } from '../../domain/time-text.ts';
import type { SummaryReader, SummaryRuns } from './summary.ts';

const PAGE = 200;
const RUNS_MAX = 20_000;
const NAMED_MAX = 5;
/** Every number of a run is smaller. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;
/** Fewer intervals show no habit. */
const INTERVALS_MIN = 3;

export interface SummedRuns {
  summary: SummaryRuns;
  /** The number of a run of this time, by its id. */
  seqOf(id: unknown): number | null;
}

export async function sumRuns(reader: SummaryReader, sinceMs: number, untilMs: number): Promise<SummedRuns> {
  const { runs, isCut } = await runsSince(reader, sinceMs);
  const newest = await reader.runLines({ before: AFTER_ALL, limit: PAGE, overLists: true });
  const usualMs = usualOf(newest);
  const [oldest] = runs;
  const [earlier] = await reader.runLines({ before: oldest?.seq ?? AFTER_ALL, limit: 1, overLists: true });
  // Looks go on while whole runs are missing.
  const others = runs.filter((run) => !isOfLook(run));
  const outages =
    usualMs === null ? [] : outagesOf(sinceSchedule(earlier ? [earlier, ...others] : others, newest), usualMs, untilMs);
  const aborted = runs.filter(({ status }) => status === 'aborted').reverse();
  const count = (status: Run['status']) => runs.filter((run) => run.status === status).length;
  const aborts = aborted.slice(0, NAMED_MAX).map(({ seq, startedAt, error }) => {
    return { run: seq, at: isoTime(startedAt), error: error ?? 'no reason was recorded' };
  });
  const numbers = new Map(runs.map(({ id, seq }) => [id, seq]));
  return {
    seqOf: (id) => numbers.get(String(id)) ?? null,
    summary: {
      completed: count('completed'),
      aborted: aborted.length,
      running: count('running'),
      afterEvents: runs.length - others.length,
      first: oldest?.seq ?? null,
      last: runs.at(-1)?.seq ?? null,
      usualMs,
      aborts: { count: aborted.length, some: aborts },
      outages: { count: outages.length, some: outages.reverse().slice(0, NAMED_MAX) },
      isCut,
    },
  };
}

/** Oldest first. */
async function runsSince(reader: SummaryReader, since: number): Promise<{ runs: Run[]; isCut: boolean }> {
  const runs: Run[] = [];
  for (let before = AFTER_ALL; ; ) {
    const page = await reader.runLines({ since, before, limit: PAGE });
    runs.push(...page);
    if (page.length < PAGE || runs.length >= RUNS_MAX) return { runs: runs.reverse(), isCut: page.length === PAGE };
    before = page.at(-1)?.seq as number;
    await giveWay();
  }
}

/** The median between the starts of scheduled runs that follow each other. */
function usualOf(newest: readonly Run[]): number | null {
  const starts = newest.filter(({ trigger }) => trigger === 'schedule').map(({ startedAt }) => startedAt);
  const intervals = starts.slice(1).map((start, at) => (starts[at] as number) - start);
  const sorted = intervals.filter((ms) => ms > 0).sort((one, other) => one - other);
  return sorted.length < INTERVALS_MIN ? null : (sorted[Math.floor(sorted.length / 2)] as number);
}

/** Without the runs before the first scheduled one: where no schedule was, none was missed. */
function sinceSchedule(runs: readonly Run[], newest: readonly Run[]): Run[] {
  const first = newest.length < PAGE ? newest.findLast(({ trigger }) => trigger === 'schedule') : undefined;
  return runs.filter(({ seq }) => seq >= (first?.seq ?? 0));
}

/** A schedule allows one interval between two runs; a run that takes longer than that joins the next one. */
function outagesOf(runs: readonly Run[], usualMs: number, untilMs: number): SummaryRuns['outages']['some'] {
  return runs.flatMap((run, at) => {
    const next = runs[at + 1];
    const from = run.finishedAt ?? run.startedAt;
    if ((run.status === 'running' && !next) || (next?.startedAt ?? untilMs) - from <= 2 * usualMs) return [];
    return [{ from: isoTime(from), to: next ? isoTime(next.startedAt) : null, after: run.seq }];
  });
}
