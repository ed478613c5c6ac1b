// domain: the store for answering and applying plans. In: a plan that changes, and the intents opened for it. Out: the plan, and the
// digests with which the audit records its sealing and approval.
import type { IntentTransitions } from './act-store.ts';
import type { AuditNote } from './audit-entry.ts';
import type { Episode } from './episode.ts';
import type { Intent } from './intent.ts';
import type { Plan } from './plan.ts';
import type { RecordReader } from './record-reader.ts';
import type { RunStore } from './run-store.ts';

export interface PlanStore
  extends Pick<RecordReader, 'run' | 'runs' | 'plan' | 'intents' | 'stop'>,
    Pick<RunStore, 'openState' | 'expirePlans'>,
    Pick<IntentTransitions, 'reopen'> {
  /** The digest that the audit has for this plan; if there are several entries of the kind, that of the first. */
  auditedDigest(kind: 'plan.sealed' | 'plan.approved', planId: string): Promise<string | undefined>;
  /** Episodes with these ids, open or closed. */
  episodes(ids: readonly string[]): Promise<Episode[]>;
  changePlan(plan: Plan, intents: Intent[], notes: AuditNote[]): Promise<void>;
}
