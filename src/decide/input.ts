// decide: what comes in and what goes out. Everything here is data; deciding calls nothing and reads no clock.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Bundles } from '../domain/bundles.ts';
import type { CeilingSettings } from '../domain/ceiling.ts';
import type { WindowNow } from '../domain/change-window.ts';
import type { Claim } from '../domain/claim.ts';
import type { Decision, StoredDecision } from '../domain/decision.ts';
import type { Episode } from '../domain/episode.ts';
import type { Fleet } from '../domain/fleet.ts';
import type { IntentDraft } from '../domain/intent.ts';
import type { Mode } from '../domain/mode.ts';
import type { NamedAct } from '../domain/named-act.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import type { Ids } from '../domain/ports.ts';
import type { Rule } from '../domain/rule.ts';
import type { RuleLimits } from '../domain/run.ts';
import type { OwnRead, SourceReading } from '../domain/snapshot.ts';
import type { SteadyReading } from '../domain/steady-time.ts';
import type { OpenState } from '../domain/store.ts';
import type { Source } from '../domain/subjects.ts';
import type { Judgement } from '../domain/verdict.ts';
import type { OwnerFacts } from './exemptions.ts';
import type { Part } from './part.ts';

export interface DecideSettings {
  ceilings: CeilingSettings;
  /** A subject gone from trusted snapshots for this long closes its episodes as `gone`. */
  goneAfterMs: number;
  /** A serial number with more devices than this is held. */
  serialDevicesMax: number;
  /** How many times what one run may take a rule newly matches within 24 hours before it is held, unless it says itself; 2 by default. */
  perDayTimes?: number | undefined;
  /** Serial numbers that name no device, compared without case. */
  placeholderSerials: readonly string[];
  /** A mark of the credential in use: what another one was refused for is tried at once. */
  credential?: string | undefined;
}

export interface DecideInput {
  runMode: Mode;
  daemonMode: Mode;
  nowMs: number;
  /** The change window in force at that time. */
  freeze?: WindowNow | undefined;
  /** When this run began to read. */
  steady: SteadyReading;
  /** The quiet period: after an attempt, reads may be stale for this long, and no reversal is concluded from them. */
  quietMs: number;
  /** Rules judged in this run. */
  judged: readonly Rule[];
  /** Rules of this run that could not be judged because a source they need was unreadable. */
  unjudged: readonly Rule[];
  /**
   * All active rules that are not `off`, by id, including those outside this run. Claims of any other rule are orphaned. Undefined: a replay knows
   * that it was active, and this version refuses it.
   */
  activeRules: ReadonlyMap<string, Rule | undefined>;
  traits: ReadonlyMap<ActionName, ActionTraits>;
  judgements: readonly Judgement[];
  sources: Record<Source, SourceReading>;
  fleet: Fleet;
  /** Undefined when nothing asks for them, or the server does not list them. */
  bundles?: Bundles | undefined;
  openState: OpenState;
  /** Decisions in force for a what-if, which reconciles none of them but needs what only they record. Default: those of `openState`. */
  said?: readonly StoredDecision[];
  /** By `seenKey`, what the own records of targets show that the lists show otherwise than what was done; undefined: no list was read. */
  ownReads?: ReadonlyMap<string, OwnRead> | undefined;
  /** What the event log names others to have done to subjects of open claims; absent: nothing, or it cannot be set against our own acts. */
  namedActs?: readonly NamedAct[] | undefined;
  /** Records of owners that some exemption names by more than their e-mail address. */
  exemptOwners?: OwnerFacts;
  /** Only some subjects were read, between two whole runs. `sources` are then the readings of the last whole run. */
  part?: Part | undefined;
  ids: Ids;
  settings: DecideSettings;
}

/** An intent to carry out now; `retryOf` names the failed one that it continues. */
export interface DraftToAct {
  draft: IntentDraft;
  mode: Mode;
  retryOf: string | undefined;
  /** Every decision of this draft is unchanged since an earlier run: nothing new is written for it. */
  isUnchanged: boolean;
}

export interface Decided {
  /** Episodes and claims that changed. */
  episodes: Episode[];
  claims: Claim[];
  /** New and changed decisions. Decisions of `acts` have no intent yet. */
  decisions: Decision[];
  /** Ids of decisions that were in force and are no longer made. */
  ended: string[];
  acts: DraftToAct[];
  /** What a person may approve; in a dry run also what a live run would do by itself. */
  planned: PlannedIntent[];
  /** Exemptions that prevented an action on a match. */
  exemptionsUsed: string[];
  /** By rule that was judged: what was compared with its limits. */
  limits: ReadonlyMap<string, RuleLimits>;
  notes: AuditNote[];
}
