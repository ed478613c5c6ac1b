// metrics: what a scrape asks about the present: the ports that the daemon fills in. In: nothing. Out: types. Each answers at once, or reads
// the store by indexes.
import type { ApiListener } from '../domain/api-call.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { LaneCounters } from '../domain/lane-counters.ts';
import type { Mode } from '../domain/mode.ts';
import type { Clock } from '../domain/ports.ts';
import type { WorkProgress } from '../domain/progress.ts';
import type { StoreFault } from '../domain/store-fault.ts';
import type { DiskUse, LastFindings, StoreFigures } from '../domain/store-figures.ts';
import type { Source } from '../domain/subjects.ts';
import type { WatchCounters } from '../domain/watch.ts';

export interface MetricSources {
  version: string;
  clock: Clock;
  /** Errors: those of reading the store. */
  store: {
    figures(): Promise<StoreFigures>;
    lastFindings(): Promise<LastFindings | undefined>;
    diskUse(): Promise<DiskUse>;
    onAudited(listener: (notes: readonly AuditNote[]) => void): void;
  };
  watchCalls(listener: ApiListener): void;
  onProgress(listener: (progress: WorkProgress | undefined) => void): void;
  /** All loaded rules, in the same list until they are loaded again. */
  rules(): readonly { id: string; mode: Mode }[];
  now(): PresentState;
}

/** What is known without asking anybody. */
export interface PresentState {
  mode: Mode;
  configuredMode: Mode;
  fault: StoreFault | undefined;
  isCheckpointBehind: boolean;
  isRestored: boolean;
  /** Undefined: the history is off. */
  isHistoryFailing: boolean | undefined;
  /** The end of the change window in force. */
  frozenUntil: number | undefined;
  areRulesRefused: boolean;
  /** Undefined in a process that works on one organization alone. */
  organizations?: { count: number; areRefused: boolean } | undefined;
  /** That active rules read. */
  sourcesRead: ReadonlySet<Source>;
  /** Undefined before the first whole run. */
  hasLastRunFailed: boolean | undefined;
  nextRunAt: number | undefined;
  lanes: { name: string; waiting: number; counters: LaneCounters }[];
  watch: WatchCounters;
  skewMs: number | undefined;
  quietMs: number;
}
