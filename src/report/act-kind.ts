// report: how far a decision to act goes: done, would be done, or only reported. In: a decision. Out: one of the three.
// Summary and sections both call this, so their figures agree.
import type { ReportDecision } from './report.ts';

/**
 * `done`: this run did it or was to do it. `would`: a live run would do it if the mode were not lowered. `reported`:
 * its rule's own mode is `dry-run`, so no run does it.
 */
export type ActKind = 'done' | 'would' | 'reported';

/** The kind of a decision to act; undefined for one that holds or skips. */
export function actKindOf({ decision, mode, cappedBy, outcome }: ReportDecision): ActKind | undefined {
  if (decision !== 'act') return undefined;
  const dry = outcome === 'dry_run' || (outcome === null && mode === 'dry-run');
  if (!dry) return 'done';
  // What lowered the mode is named; a mode that nothing lowered is the rule's own, even of a rule that is no longer
  // loaded.
  return mode === 'dry-run' && cappedBy === null ? 'reported' : 'would';
}
