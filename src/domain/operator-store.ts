// domain: the store for operator commands: stop, exempt, accept, resolve, release. In: the change with its audit notes.
// Out: what is in force now. Each method is one transaction.
import type { ActStore, IntentTransitions } from './act-store.ts';
import type { AuditNote } from './audit-entry.ts';
import type { StoredDecision } from './decision.ts';
import type { Exemption } from './exemption.ts';
import type { ExemptionMember, MemberReader } from './exemption-members.ts';
import type { IdentityReader } from './identity.ts';
import type { Intent } from './intent.ts';
import type { Acceptance, Stop } from './operator.ts';
import type { RecordReader } from './record-reader.ts';
import type { Release } from './store.ts';

export interface OperatorStore
  extends Pick<RecordReader, 'runsOverLists' | 'exemptions' | 'stop'>,
    IdentityReader,
    MemberReader {
  exemption(idOrPrefix: string): Promise<Exemption | undefined>;
  /** Adds or updates an exemption. */
  saveExemption(exemption: Exemption, notes: AuditNote[]): Promise<void>;
  /** From now on it covers these too. */
  addExemptionMembers(exemption: string, members: readonly ExemptionMember[], notes: AuditNote[]): Promise<void>;
  /** Sets the stop switch; undefined lifts it. */
  setStop(stop: Stop | undefined, notes: AuditNote[]): Promise<void>;
  saveAcceptance(acceptance: Acceptance, notes: AuditNote[]): Promise<void>;
}

/** Resolves doubts and failures. */
export interface ResolveStore
  extends Pick<IntentTransitions, 'resolve'>,
    Pick<RecordReader, 'openFailures'>,
    Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'> {
  intent(idOrPrefix: string): Promise<Intent | undefined>;
  /** Intents on the same target text that were last attempted after this one; by order, since the clock may have jumped. */
  sentAfter(intent: Pick<Intent, 'id' | 'target'>): Promise<Intent[]>;
}

/** Releases targets. */
export interface ReleaseStore
  extends Pick<RecordReader, 'latestRun' | 'claims' | 'intents' | 'stop'>,
    Pick<IntentTransitions, 'reopen'> {
  /** The decisions in force about this target. */
  decisionsOn(target: string): Promise<StoredDecision[]>;
  release(release: Release): Promise<void>;
}
