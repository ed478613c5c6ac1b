// decide: what comes in and what goes out. Everything here is data; deciding calls nothing and reads no clock.

import type { SteadyReading } from '../../base/time.ts';
import {
  type ActionName,
  type ActionTraits,
  type Bundles,
  type CeilingSettings,
  type KnownTraits,
  keyOf,
} from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { WindowNow } from '../../domain/change-window.ts';
import type { Decision, ReasonCode, StoredDecision } from '../../domain/decision.ts';
import type { Claim, Episode } from '../../domain/episode.ts';
import type { NamedAct } from '../../domain/event.ts';
import type { IntentDraft } from '../../domain/intent.ts';
import type { EndedNotices, NewNotice } from '../../domain/notice.ts';
import type { PlannedIntent } from '../../domain/plan.ts';
import type { Ids } from '../../domain/ports.ts';
import type { RolloutState } from '../../domain/rollout.ts';
import { isOnTrial, type Mode, type Rule } from '../../domain/rule.ts';
import type { RuleLimits } from '../../domain/run.ts';
import type { OwnRead, SourceReading } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import type { CountedDecision } from '../../domain/store-ports.ts';
import type { Fleet, Source, SubjectRef } from '../../domain/subjects.ts';
import type { Judgement } from '../../domain/verdict.ts';
import type { OwnerFacts } from './exemptions.ts';

// A run over the few subjects that new events named, between two whole runs. In: what it counts with. Out: who else
// counts in a limit. INVARIANT: such a run starts episodes and acts; it ends and undoes nothing, and it counts as one
// run with the last whole one and with everything since (docs/decisions/0041). A check again is the other way round: it
// ends and undoes what its subjects show, and starts nothing (docs/decisions/0079). Pure.

export interface Part {
  /** The number of the last whole run. */
  sinceSeq: number;
  /** What that run counted, and what was decided since. */
  counted: readonly CountedDecision[];
  /** Attempts in the count of that run so far. */
  attempts: ReadonlyMap<ActionName, number>;
  hasRead(subject: SubjectRef): boolean;
  /** A check again. */
  isCheck?: boolean | undefined;
}

/** Reasons of a proposal that limits and owners counted: one that came as far as them, or that guards hold. */
export const COUNTED_REASONS: readonly ReasonCode[] = [
  'guarded',
  'last_device',
  'devices_of_a_day',
  'limits',
  'owners',
  'approval_needed',
  'rule_matches',
  'matches_again',
  'ceiling',
  'stopped',
  'frozen',
  'notice',
  'notice_undelivered',
  'cleared',
  'drifted',
];

/** The stored mode of a capped decision is lower than its rule's own mode. */
export function ownModeOf({ mode, cappedBy }: Pick<StoredDecision, 'mode' | 'cappedBy'>): Mode {
  return cappedBy === undefined ? mode : 'approve';
}

/** The key that proposals for its target have. */
function keyOfCounted(counted: CountedDecision, traits: ActionTraits): string {
  return keyOf(traits, counted.target, traits.target.settingsOf?.(counted.subject) ?? {});
}

/** Targets of one rule by action, as keys. */
export function countedTargets(part: Part | undefined, rule: string, known: KnownTraits): Map<ActionName, Set<string>> {
  const byAction = new Map<ActionName, Set<string>>();
  for (const one of part?.counted ?? []) {
    const traits = known.get(one.action);
    if (one.rule !== rule || !traits) continue;
    const targets = byAction.get(one.action) ?? new Set();
    byAction.set(one.action, targets.add(keyOfCounted(one, traits)));
  }
  return byAction;
}

/** Serial numbers that were taken from this owner since the last whole run, or that it counted. On trial: also by rules on trial. */
export function countedDevices(part: Part | undefined, owner: string, mode: Mode, known: KnownTraits): Set<string> {
  // What the limits held is held: owners are asked after them.
  const taken = (part?.counted ?? []).filter(
    (one) =>
      one.reason !== 'limits' &&
      one.owners.includes(owner) &&
      known.get(one.action)?.takesDevice &&
      (!isOnTrial(ownModeOf(one)) || isOnTrial(mode)),
  );
  return new Set(taken.map(({ target }) => target));
}

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
  /** Nobody can be warned. */
  hasNoMailer?: boolean | undefined;
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

/** A notice to begin: at once, or when a person has approved what it is about (`grounds`, as `groundsOf` gives them). */
export interface NoticeToBegin {
  notice: NewNotice;
  grounds: readonly string[];
  isNow: boolean;
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
  notices: { begin: NoticeToBegin[]; ended: EndedNotices[] };
  /** Exemptions that prevented an action on a match. */
  exemptionsUsed: string[];
  /** By rule that was judged: what was compared with its limits. */
  limits: ReadonlyMap<string, RuleLimits>;
  /** Of a live run over whole lists: rollouts that began, moved or were stopped. */
  rollouts: readonly RolloutState[];
  notes: AuditNote[];
}
