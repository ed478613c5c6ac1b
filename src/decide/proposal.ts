// decide: one wish: what a rule wants done about one match (or undone), and the answer that a step gives.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Answer } from '../domain/check.ts';
import type { ReasonCode } from '../domain/decision.ts';
import type { Deletion } from '../domain/deletion.ts';
import type { Effect } from '../domain/effect.ts';
import type { Episode } from '../domain/episode.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { Fact, Facts } from '../domain/facts.ts';
import type { FleetDevice } from '../domain/fleet.ts';
import type { Intent } from '../domain/intent.ts';
import { isOnTrial, type Mode } from '../domain/mode.ts';
import type { Rule } from '../domain/rule.ts';
import { hasNoKnownDevice, type SubjectSummary } from '../domain/target.ts';
import { type ActionOnTarget, keyOf } from '../domain/target-key.ts';

export interface Proposal {
  rule: Rule;
  trusted: boolean;
  traits: ActionTraits;
  settings: Facts;
  target: string;
  summary: SubjectSummary;
  facts: { [path: string]: Fact };
  episode: Episode | undefined;
  /** All devices that the action touches: those of the serial number. */
  devices: FleetDevice[];
  /** Of a deletion of devices: what it takes, told when all wishes have their answers. */
  deletion?: { devices: FleetDevice[]; deletion: Deletion } | undefined;
  /** Of what removes its target: what stands on it by our doing, and ends with it, as `ACTION of rule RULE`. */
  ends?: readonly string[];
  /** The live intent of this action, target and episode, if there is one. */
  intent: Intent | undefined;
  /** A live intent on the same target, of whatever episode and action, of which it is not known yet what it did. */
  doubt: Intent | undefined;
  /** It was so, was attempted just now, and is not read so: a stale read, or a person's reversal. */
  isUnsettled?: boolean;
  undo: boolean;
  /** The least of its rules' own modes. */
  ownMode: Mode;
  /** The least of `ownMode`, the run's and the daemon's. */
  mode: Mode;
  cappedBy: 'run' | 'daemon' | undefined;
  answer: Answer | undefined;
  /** What protects its target; an undo is never asked. */
  exemption?: Exemption | undefined;
}

/** Held for a reason that a person's approval answers. */
const APPROVABLE: ReadonlySet<ReasonCode> = new Set(['limits', 'owners', 'approval_needed', 'serial_shared']);

/** Whether a plan may hold it: it acts, or waits for a person. */
export function isPlannable({ decision, reason }: Answer): boolean {
  return decision === 'hold' ? APPROVABLE.has(reason) : decision === 'act';
}

/** Still to be weighed: without an answer, or with one that a person can overrule, which what no approval lifts must come before. */
export function weighable(proposals: readonly Proposal[]): Proposal[] {
  return proposals.filter(({ answer }) => answer === undefined || isPlannable(answer));
}

export function unanswered(proposals: readonly Proposal[]): Proposal[] {
  return proposals.filter((proposal) => proposal.answer === undefined);
}

/** What a rule in dry-run would do holds back other dry wishes only: trying a rule out changes nothing for the others. */
export function weighs(other: Pick<Proposal, 'ownMode'>, proposal: Proposal): boolean {
  return !isOnTrial(other.ownMode) || isOnTrial(proposal.ownMode);
}

/** What it would do to what: told apart by `targetKey`. */
export function aimOf({ traits, target, settings }: Proposal): ActionOnTarget {
  return { action: traits.name, target, settings };
}

/** The same for those of one thing: its `targetKey`. */
export function keyOfTarget({ traits, target, settings }: Proposal): string {
  return keyOf(traits, target, settings);
}

/** The serial number whose devices it hits; undefined where it hits none, or no device of the user is known. */
export function serialHit({ traits, target, settings, summary }: Proposal): string | undefined {
  const isWithoutDevices = summary.kind === 'user' && hasNoKnownDevice(summary);
  return isWithoutDevices ? undefined : traits.target.serialOf?.(target, settings);
}

/** Equal wishes of several rules or subjects are one intent: the same action, target and settings. */
export function proposalKey(
  proposal: Pick<Proposal, 'target' | 'settings'> & { traits: { name: ActionName } },
): string {
  return `${proposal.traits.name}\u0000${proposal.target}\u0000${settingsKey(proposal.settings)}`;
}

/** Most actions take no settings: spares the canonical text. */
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
    text: proposal.ends?.length ? `${text}; ends what stands on it: ${proposal.ends.join(', ')}` : text,
    devices: devices.map(({ id, name, platform, model }) => ({ id, name, platform, model })),
    ...(changes && { changes }),
    ...(deletion && { deletion }),
    ...(proposal.ends?.length && { ends: proposal.ends }),
  };
}

/** Whether the rule wishes it by now: not before it has matched for as long as it says, nor once a person reversed it. */
export function isProposedByNow({ rule, exemption }: Proposal, episode: Episode | undefined, nowMs: number): boolean {
  // What an exemption protects is not held in its state any longer than who put it there wished.
  if (!episode || episode.overriddenAt !== undefined || exemption !== undefined) return false;
  return rule.forMs === 0 || nowMs - episode.matchingSince >= rule.forMs;
}
