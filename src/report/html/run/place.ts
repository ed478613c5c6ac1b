// report: where an HTML report of a run is shown: among the pages, or as a file of its own. Out: the addresses that names lead to.

import type { RunDecision } from '../../report.ts';
import type { RowGroup } from '../../row-groups.ts';

export interface Place {
  /** There are pages beside it; a file that is mailed has none. */
  isPage: boolean;
  /** The rows of a group that are shown at first. */
  rowsMax: number;
  /** A decision with all that its row shows; undefined: it was removed meanwhile. */
  whole(decision: RunDecision): RunDecision | undefined;
  /** The address of the rows after `after`. */
  more?(group: RowGroup, after: RunDecision): string;
  /** The text that a person narrowed the rows with. */
  text?: string;
}

export function rulePath(rule: string): string {
  return `/rules/${encodeURIComponent(rule)}`;
}

export function planPath(plan: string): string {
  return `/plans/${encodeURIComponent(plan)}`;
}
