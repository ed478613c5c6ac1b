// decide: one proposal: what a rule wants done about one match (or undone), and the answer that a check gives.

import { canonicalJson } from '../../base/json.ts';
import { eachInSteps } from '../../base/turns.ts';
import {
  type ActionName,
  type ActionOnTarget,
  type ActionTraits,
  type Deletion,
  type Effect,
  type EffectDevice,
  isShownByOthers,
  type KnownTraits,
  keyOf,
  stateOfAll,
  summaryOfTarget,
  targetKey,
} from '../../domain/action.ts';
import { isIn } from '../../domain/change-window.ts';
import type { Answer, Joined, OlderReport, TargetFacts } from '../../domain/check.ts';
import { LIFTED_BY_APPROVAL } from '../../domain/decision.ts';
import type { Episode } from '../../domain/episode.ts';
import type { Exemption } from '../../domain/exemption.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import { type Intent, isDone, isUnresolved, settledMs } from '../../domain/intent.ts';
import { type NoticeState, nameOfUnwarned } from '../../domain/notice.ts';
import type { RolloutFacts } from '../../domain/rollout.ts';
import { isOnTrial, leastMode, type Mode, type Rule } from '../../domain/rule.ts';
import { type Fleet, type FleetDevice, hasNoKnownDevice, type SubjectSummary } from '../../domain/subjects.ts';
import type { Flip, Match } from '../../domain/verdict.ts';
import type { FollowedMatch } from './episodes.ts';
import type { DecideInput } from './input.ts';

export interface Proposal {
  rule: Rule;
  trusted: boolean;
  traits: ActionTraits;
  settings: Facts;
  target: string;
  summary: SubjectSummary;
  facts: { [path: string]: Fact };
  flip?: Flip | undefined;
  /** The platform's own, for people who are warned. */
  advice?: Match['advice'];
  episode: Episode | undefined;
  /** All devices that the action touches: those of the serial number. */
  devices: FleetDevice[];
  /** What a deletion of devices takes; set when all proposals have their answers. */
  deletion?: { devices: FleetDevice[]; deletion: Deletion } | undefined;
  /** If the action removes its target: our open claims on it, which end with it, as `ACTION of rule RULE`. */
  ends?: readonly string[];
  /** The live intent of this action, target and episode, if there is one. */
  intent: Intent | undefined;
  /** A live intent on the same target, of any episode and action, whose effect is not known yet. */
  doubt: Intent | undefined;
  /** It was done or attempted just now, and the target does not show it: a stale read, or a person's reversal. */
  isUnsettled?: boolean;
  /** A list shows it reversed, and its own record could not be read. */
  isUnread?: boolean;
  undo: boolean;
  /** Of an undo: a list showed what it undoes reversed, its own record was not read, and it is as we left it again. */
  mayBeTheirs?: boolean;
  /** Of an undo: its subject still matches, and the target is somebody else's now. */
  isPassedOn?: boolean;
  /** Of an undo: the report that clears its subject is not newer than what the episode has seen. */
  older?: OlderReport | undefined;
  /** Of a rule that warns first; set when it is answered. */
  notice?: NoticeState | undefined;
  /** The lowest of its rules' own modes. */
  ownMode: Mode;
  /** The lowest of `ownMode`, the run's and the daemon's mode. */
  mode: Mode;
  cappedBy: 'run' | 'daemon' | undefined;
  answer: Answer | undefined;
  /** What protects its target; not set for an undo. */
  exemption?: Exemption | undefined;
  /** What its target joined later; not set for an undo. */
  joined?: Joined | undefined;
  /** Of a rule with a rollout; not set for an undo. */
  rollout?: RolloutFacts | undefined;
  /** The guard that is about it; not set for an undo. */
  guard?: TargetFacts['guard'];
}

/** Whether a plan may contain it: it acts, or waits for a person. A change window is lifted by an approval with `--break-glass`. */
export function isPlannable({ decision, reason }: Answer): boolean {
  return decision === 'hold' ? LIFTED_BY_APPROVAL.has(reason) || reason === 'frozen' : decision === 'act';
}

/** Whether later checks are still asked: it has no answer, or one that a person can overrule. Refusals that no approval lifts come first. */
export function weighable(proposals: readonly Proposal[]): Proposal[] {
  return proposals.filter(({ answer }) => answer === undefined || isPlannable(answer));
}

export function unanswered(proposals: readonly Proposal[]): Proposal[] {
  return proposals.filter((proposal) => proposal.answer === undefined);
}

/** A proposal of a rule in dry-run holds back only other dry ones: trying a rule out changes nothing for the others. */
export function weighs(other: Pick<Proposal, 'ownMode'>, proposal: Proposal): boolean {
  return !isOnTrial(other.ownMode) || isOnTrial(proposal.ownMode);
}

/** The action's target as an object, identified by `targetKey`. */
export function aimOf({ traits, target, settings }: Proposal): ActionOnTarget {
  return { action: traits.name, target, settings };
}

/** The key that all proposals for one target share: its `targetKey`. */
export function keyOfTarget({ traits, target, settings }: Proposal): string {
  return keyOf(traits, target, settings);
}

/** The serial number whose devices it hits; undefined where it hits none, or no device of the user is known. */
export function serialHit({ traits, target, settings, summary }: Proposal): string | undefined {
  const isWithoutDevices = summary.kind === 'user' && hasNoKnownDevice(summary);
  return isWithoutDevices ? undefined : traits.target.serialOf?.(target, settings);
}

/** Of the devices that it touches, in lower case. */
export function ownersOf({ devices }: Pick<Proposal, 'devices'>): string[] {
  return [...new Set(devices.flatMap(({ owners }) => owners ?? []).map((owner) => owner.toLowerCase()))];
}

/** Equal proposals of several rules or subjects are one intent: the same action, target and settings. */
export function proposalKey(
  proposal: Pick<Proposal, 'target' | 'settings'> & { traits: { name: ActionName } },
): string {
  return `${proposal.traits.name}\u0000${proposal.target}\u0000${settingsKey(proposal.settings)}`;
}

/** Most actions take no settings: skips the canonical text for them. */
function settingsKey(settings: Facts): string {
  return Object.keys(settings).length === 0 ? '' : canonicalJson(settings);
}

/** Whether the target is already in the state that the action sets: every device of a serial number counts. */
export function isAlreadySo(proposal: Proposal): boolean {
  const { fieldWritten, valueWritten, target } = proposal.traits;
  if (fieldWritten === undefined) return false;
  if (target.serialOf === undefined) return proposal.summary.state[fieldWritten] === valueWritten;
  return proposal.devices.length > 0 && proposal.devices.every((device) => device.state[fieldWritten] === valueWritten);
}

/** The state that the matched subject itself shows: another device of its serial number may have joined later. */
export function ownStateOf({ traits, summary, devices }: Proposal): string | undefined {
  const { fieldWritten } = traits;
  if (fieldWritten === undefined) return undefined;
  if (!isShownByOthers(traits, summary.kind)) return summary.state[fieldWritten];
  const states = devices.map(({ state }) => state[fieldWritten]);
  return stateOfAll(states, traits);
}

export function isOwnStateSo(proposal: Proposal): boolean {
  const state = ownStateOf(proposal);
  return state !== undefined && state === proposal.traits.valueWritten;
}

/** The devices that an action touches through its subject. What a deletion takes of a user's is described later. */
export function devicesTouched(
  traits: ActionTraits,
  target: string,
  { kind, serial }: Pick<SubjectSummary, 'kind' | 'serial'>,
  fleet: Pick<Fleet, 'devicesOf'>,
): FleetDevice[] {
  if (isShownByOthers(traits, kind)) return fleet.devicesOf(target);
  return kind === 'device' ? fleet.devicesOf(serial) : [];
}

/** What the action would do to the target as it was read. */
export function effectOf({ traits, target, settings, summary, ...proposal }: Proposal): Effect {
  const changes = traits.changes?.(summary.spec, settings);
  const { devices, deletion } = proposal.deletion ?? { devices: proposal.devices };
  const text = traits.effect(target, devices, settings, changes, deletion);
  return {
    text: proposal.ends?.length ? `${text}; ends what is in force on it: ${proposal.ends.join(', ')}` : text,
    devices: devices.map((device) =>
      effectDeviceOf(device, traits.target.serialOf?.(target, settings) ?? summary.serial),
    ),
    ...(changes && { changes }),
    ...(deletion && { deletion }),
    ...(proposal.ends?.length && { ends: proposal.ends }),
    ...(proposal.joined && { joined: proposal.joined.ids }),
    ...(proposal.notice?.unwarned.length && { unwarned: proposal.notice.unwarned.map(nameOfUnwarned) }),
  };
}

function effectDeviceOf({ id, name, platform, model, owners }: FleetDevice, serial: string): EffectDevice {
  return { id, name, platform, model, serial, ...(owners && { owners }) };
}

/** Whether the rule proposes it by now: not before its `for` has passed, not outside of its windows and its share, and not after a person reversed it. */
export function isProposedByNow(
  { rule, exemption, rollout }: Proposal,
  episode: Episode | undefined,
  nowMs: number,
): boolean {
  if (rollout && (!rollout.isAmong || rollout.braked !== undefined)) return false;
  // An exempt target is not kept in its state for longer than the rule that put it there proposes.
  if (!episode || episode.overriddenAt !== undefined || exemption !== undefined) return false;
  if (rule.whenAllowed && !rule.whenAllowed.some((one) => isIn(one, nowMs))) return false;
  return rule.forMs === 0 || nowMs - episode.matchingSince >= rule.forMs;
}

// Decide, second step: matches → proposals: one for each action of the rule and each target of the subject.

/** Live intents by action, target and episode: the look-up for what an episode has already led to. */
export class KnownIntents {
  private readonly byKey = new Map<string, Intent>();
  private readonly doubts = new Map<string, Intent>();
  private readonly ids = new Map<string, Intent>();
  private readonly done = new Map<string, Intent[]>();

  constructor(
    intents: readonly Intent[],
    private readonly traits: KnownTraits,
  ) {
    for (const intent of intents) {
      this.ids.set(intent.id, intent);
      if (intent.mode === 'dry-run' || intent.status === 'withdrawn') continue;
      if (isUnresolved(intent)) this.doubts.set(targetKey(intent, traits), intent);
      if (isDone(intent)) add(this.done, targetKey(intent, traits), intent);
      for (const { episodeId } of intent.basis) this.byKey.set(key(intent.action, intent.target, episodeId), intent);
    }
  }

  byId(id: string): Intent | undefined {
    return this.ids.get(id);
  }

  /** An intent on this target whose effect is not known yet. */
  doubtOn(aim: ActionOnTarget): Intent | undefined {
    return this.doubts.get(targetKey(aim, this.traits));
  }

  /** What was done last on this target to the field that the action writes. */
  lastDoneOn(
    aim: ActionOnTarget,
    { fieldWritten }: ActionTraits,
  ): { intent: Intent; traits: ActionTraits } | undefined {
    const done = (this.done.get(targetKey(aim, this.traits)) ?? []).flatMap((intent) => {
      const traits = this.traits.get(intent.action);
      return traits !== undefined && traits.fieldWritten === fieldWritten ? [{ intent, traits }] : [];
    });
    return done.toSorted((a, b) => (settledMs(a.intent) ?? 0) - (settledMs(b.intent) ?? 0)).at(-1);
  }

  of(action: ActionName, target: string, episodeId: string | undefined): Intent | undefined {
    return episodeId === undefined ? undefined : this.byKey.get(key(action, target, episodeId));
  }
}

export function add<T>(map: Map<string, T[]>, key: string, one: T): void {
  const all = map.get(key);
  if (all) all.push(one);
  else map.set(key, [one]);
}

function key(action: ActionName, target: string, episodeId: string): string {
  return `${action}\u0000${target}\u0000${episodeId}`;
}

export function* proposalsOf(
  input: DecideInput,
  matches: readonly FollowedMatch[],
  known: KnownIntents,
  rolloutOf: (rule: Rule, subjectId: string) => RolloutFacts | undefined,
): Generator<void, Proposal[]> {
  const proposals: Proposal[] = [];
  yield* eachInSteps(matches, (matched) => {
    const rollout = rolloutOf(matched.rule, matched.match.summary.id);
    for (const proposal of proposalsOfMatch(input, matched, known))
      proposals.push(rollout ? { ...proposal, rollout } : proposal);
  });
  return proposals;
}

function proposalsOfMatch(
  input: DecideInput,
  { rule, match, trusted, episode }: FollowedMatch,
  known: KnownIntents,
): Proposal[] {
  return rule.then.flatMap(({ action, with: settings }) => {
    const traits = input.traits.get(action);
    if (!traits) return [];
    const own = traits.target.settingsOf?.(match.summary) ?? settings;
    // A record may name one device twice.
    return [...new Set(traits.target.of(match.summary, settings))].map(
      (target): Proposal => ({
        rule,
        trusted,
        traits,
        settings: own,
        target,
        summary: summaryOfTarget(match.summary, traits, target, input.bundles),
        facts: match.facts,
        flip: match.flip,
        advice: match.advice,
        episode,
        devices: devicesTouched(traits, target, match.summary, input.fleet),
        intent: known.of(action, target, episode?.id),
        doubt: traits.changesFleet ? known.doubtOn({ action, target, settings: own }) : undefined,
        undo: false,
        ...cappedMode([rule], input),
        answer: undefined,
      }),
    );
  });
}

/** The lowest of the rules', the run's and the daemon's mode, and what made it lower than the rules' own. */
export function cappedMode(
  rules: readonly Rule[],
  input: DecideInput,
): Pick<Proposal, 'ownMode' | 'mode' | 'cappedBy'> {
  const ownMode = leastMode(...rules.map((rule) => rule.mode));
  const mode = leastMode(ownMode, input.runMode, input.daemonMode) as Mode;
  if (mode === ownMode) return { ownMode, mode, cappedBy: undefined };
  return { ownMode, mode, cappedBy: mode === input.daemonMode ? 'daemon' : 'run' };
}
