// domain: the store as plans are answered and applied with it. In: a plan that changes, and what is opened for it. Out: the plan, and
// what the audit says that it was sealed or approved with.
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
  /** The digest that the audit has for this plan: of its first entry of the kind, should there be several. */
  auditedDigest(kind: 'plan.sealed' | 'plan.approved', planId: string): Promise<string | undefined>;
  /** Open or closed, of these ids. */
  episodes(ids: readonly string[]): Promise<Episode[]>;
  changePlan(plan: Plan, intents: Intent[], notes: AuditNote[]): Promise<void>;
}
