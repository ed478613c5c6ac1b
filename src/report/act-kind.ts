// report: how far an act of a decision goes: done, would be done, or only reported. In: a decision. Out: one of the three.
// Summary and sections both ask here, so that their figures agree.
import type { RunDecision } from './report.ts';

/**
 * `done`: this run did it or was to. `would`: a live run would do it, were the mode not lowered. `reported`: its rule's
 * own mode is `dry-run`, so that no run does it.
 */
export type ActKind = 'done' | 'would' | 'reported';

/** The kind of a decision to act; undefined for one that holds or skips. */
export function actKindOf({ decision, mode, cappedBy, outcome }: RunDecision): ActKind | undefined {
  if (decision !== 'act') return undefined;
  const dry = outcome === 'dry_run' || (outcome === null && mode === 'dry-run');
  if (!dry) return 'done';
  // What lowered the mode is named; a mode that nothing lowered is the rule's own, also of a rule that is loaded no more.
  return mode === 'dry-run' && cappedBy === null ? 'reported' : 'would';
}
