// history: what is asked of a replay, as it was or what if. In: nothing. Out: the form.
import type { Progress } from '../../domain/progress.ts';

export interface ReplayOptions {
  /** Epoch ms, inclusive: runs that began from then on. */
  fromMs: number;
  toMs: number;
  /** Only the first whole run of each stretch of this length is decided; undefined: every run. */
  everyMs?: number | undefined;
  /** Ids of the rules that are reported; all are decided together. */
  only?: readonly string[] | undefined;
  signal?: AbortSignal | undefined;
  progress?: Progress | undefined;
}
