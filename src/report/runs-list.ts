// report: runs as a list: JSON for programs, a table for a terminal. In: runs, each with the counts of what it did. Out: text of visible characters.
import { formatDuration } from '../domain/duration.ts';
import { leastMode } from '../domain/mode.ts';
import type { Run, RunCounts } from '../domain/run.ts';
import { countText } from './fact-text.ts';
import type { ReportRun } from './report.ts';
import { runView } from './run-view.ts';
import { type Cell, type TerminalOptions, terminalTable } from './terminal-table.ts';
import { timeCell } from './time-words.ts';

export interface CountedRun {
  run: Run;
  counts: RunCounts;
}

export function runLineView({ run, counts }: CountedRun) {
  const { rulesDir, rules, ...view } = runView(run);
  return {
    ...view,
    /** The lower of the run's and the daemon's mode: how far it could go. */
    modeInForce: leastMode(run.mode, run.daemonMode),
    tookMs: run.finishedAt === undefined ? null : run.finishedAt - run.startedAt,
    rules,
    rulesDir,
    counts,
  };
}

/** What started a run, and what it left out. */
export function triggerWords({ trigger, scoped, rules }: Pick<ReportRun, 'trigger' | 'scoped' | 'rules'>): string[] {
  if (trigger === 'watch') return [trigger, scoped ? 'only subjects of new events' : 'all subjects, after new events'];
  return [trigger, ...(scoped ? [`only ${rules.join(', ')}`] : [])];
}

/** One row per run, in the given order. */
export function runsText(runs: readonly CountedRun[], options: TerminalOptions = {}): string {
  if (runs.length === 0) return 'no runs\n';
  const rows = runs
    .map(runLineView)
    .map((run): Cell[] => [
      String(run.seq),
      timeCell(run.startedAt),
      triggerWords(run),
      run.modeInForce,
      [run.status, ...(run.error === null ? [] : [run.error])],
      run.tookMs === null ? '' : formatDuration(run.tookMs),
      countWords(run.counts),
    ]);
  return `${terminalTable(['Run', 'Started', 'Trigger', 'Mode', 'Status', 'Took', 'Newly decided, and done'], rows, options)}\n`;
}

/** Each that is not zero, the decisions first. */
export function countWords({ act, hold, skip, done, failed, open }: RunCounts): string[] {
  const words = (counts: readonly [string, number][]) =>
    counts.filter(([, count]) => count > 0).map(([word, count]) => `${countText(count)} ${word}`);
  const decided = words([
    ['act', act],
    ['hold', hold],
    ['skip', skip],
  ]);
  const called = words([
    ['done', done],
    ['failed', failed],
    ['open', open],
  ]);
  return [decided, called].filter((part) => part.length > 0).map((part) => part.join(', '));
}
