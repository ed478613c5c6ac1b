// domain: the store for answering and applying plans. In: a plan that changes, and the intents opened for it. Out: the plan, and the
// digests with which the audit records its sealing and approval.
import type { IntentTransitions } from './act-store.ts';
import type { AuditNote } from './audit-entry.ts';
import type { Episode } from './episode.ts';
import type { Intent } from './intent.ts';
import type { Plan, PlanAuditKind, PlanStatus } from './plan.ts';
import type { RecordReader } from './record-reader.ts';
import type { RunStore } from './run-store.ts';

export interface PlanStore
  extends Pick<RecordReader, 'run' | 'runs' | 'latestRun' | 'plan' | 'plans' | 'intents' | 'claims' | 'stop'>,
    Pick<RunStore, 'openState' | 'expirePlans'>,
    Pick<IntentTransitions, 'reopen'> {
  /** The digest that the audit has for this plan; if there are several entries of the kind, that of the first. */
  auditedDigest(kind: PlanAuditKind, planId: string): Promise<string | undefined>;
  /** Episodes with these ids, open or closed. */
  episodes(ids: readonly string[]): Promise<Episode[]>;
  /** Errors: AppError `conflict` when the stored plan no longer has the status `was`; then nothing is changed. */
  changePlan(plan: Plan, intents: Intent[], notes: AuditNote[], was?: PlanStatus): Promise<void>;
  /** Puts new plans in the place of pending ones, in one transaction. Errors: AppError `conflict` when one no longer waits. */
  replacePlans(pending: readonly string[], plans: readonly Plan[], notes: AuditNote[]): Promise<void>;
}
