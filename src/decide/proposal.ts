// decide: one proposal: what a rule wants done about one match (or undone), and the answer that a check gives.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Answer, Joined, OlderReport } from '../domain/check.ts';
import type { ReasonCode } from '../domain/decision.ts';
import type { Deletion } from '../domain/deletion.ts';
import type { Effect, EffectDevice } from '../domain/effect.ts';
import type { Episode } from '../domain/episode.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { Fact, Facts } from '../domain/facts.ts';
import type { FleetDevice } from '../domain/fleet.ts';
import type { Intent } from '../domain/intent.ts';
import { isOnTrial, type Mode } from '../domain/mode.ts';
import type { Rule } from '../domain/rule.ts';
import { hasNoKnownDevice, type SubjectSummary } from '../domain/target.ts';
import { type ActionOnTarget, keyOf } from '../domain/target-key.ts';
import type { Flip } from '../domain/verdict.ts';

export interface Proposal {
  rule: Rule;
  trusted: boolean;
  traits: ActionTraits;
  settings: Facts;
  target: string;
  summary: SubjectSummary;
  facts: { [path: string]: Fact };
  flip?: Flip | undefined;
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
  /** Of an undo: the report that clears its subject is not newer than what the episode has seen. */
  older?: OlderReport | undefined;
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
}

/** Reasons to hold that a person's approval answers; a change window is answered by an approval with `--break-glass`. */
const APPROVABLE: ReadonlySet<ReasonCode> = new Set([
  'limits',
  'owners',
  'approval_needed',
  'serial_shared',
  'joined_later',
  'frozen',
]);

/** Whether a plan may contain it: it acts, or waits for a person. */
export function isPlannable({ decision, reason }: Answer): boolean {
  return decision === 'hold' ? APPROVABLE.has(reason) : decision === 'act';
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
  const { fieldWritten, valueWritten } = proposal.traits;
  if (fieldWritten === undefined) return false;
  if (proposal.summary.kind !== 'device') return proposal.summary.state[fieldWritten] === valueWritten;
  return proposal.devices.length > 0 && proposal.devices.every((device) => device.state[fieldWritten] === valueWritten);
}

/** Whether the matched subject itself is in that state: another device of its serial number may have joined later. */
export function isOwnStateSo(proposal: Proposal): boolean {
  const { fieldWritten, valueWritten } = proposal.traits;
  return fieldWritten !== undefined && proposal.summary.state[fieldWritten] === valueWritten;
}

/** What the action would do to the target as it was read. */
export function effectOf({ traits, target, settings, summary, ...proposal }: Proposal): Effect {
  const changes = traits.changes?.(summary.spec, settings);
  const { devices, deletion } = proposal.deletion ?? { devices: proposal.devices };
  const text = traits.effect(target, devices, settings, changes, deletion);
  return {
    text: proposal.ends?.length ? `${text}; ends the open claims on it: ${proposal.ends.join(', ')}` : text,
    devices: devices.map((device) =>
      effectDeviceOf(device, traits.target.serialOf?.(target, settings) ?? summary.serial),
    ),
    ...(changes && { changes }),
    ...(deletion && { deletion }),
    ...(proposal.ends?.length && { ends: proposal.ends }),
    ...(proposal.joined && { joined: [proposal.joined.exemption.id] }),
  };
}

function effectDeviceOf({ id, name, platform, model, owners }: FleetDevice, serial: string): EffectDevice {
  return { id, name, platform, model, serial, ...(owners && { owners }) };
}

/** Whether the rule proposes it by now: not before its `for` has passed, and not after a person reversed it. */
export function isProposedByNow({ rule, exemption }: Proposal, episode: Episode | undefined, nowMs: number): boolean {
  // An exempt target is not kept in its state for longer than the rule that put it there proposes.
  if (!episode || episode.overriddenAt !== undefined || exemption !== undefined) return false;
  return rule.forMs === 0 || nowMs - episode.matchingSince >= rule.forMs;
}
