// decide: a run over the few subjects that new events named, between two whole runs. In: what it counts with. Out: who else counts in a
// limit. INVARIANT: such a run starts episodes and acts; it ends and undoes nothing, and it counts as one run with the last whole one and
// with everything since (docs/decisions/0041). Pure.
import type { ActionName, ActionTraits, KnownTraits } from '../domain/action.ts';
import type { ReasonCode, StoredDecision } from '../domain/decision.ts';
import { isOnTrial, type Mode } from '../domain/mode.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import { keyOf } from '../domain/target-key.ts';
import type { CountedDecision } from '../domain/watch-store.ts';

export interface Part {
  /** The number of the last whole run. */
  sinceSeq: number;
  /** What that run counted, and what was decided since. */
  counted: readonly CountedDecision[];
  /** Attempts in the count of that run so far. */
  attempts: ReadonlyMap<ActionName, number>;
  hasRead(subject: SubjectRef): boolean;
}

/** Reasons of a proposal that came as far as the limits: limits and owners counted it. */
export const COUNTED_REASONS: readonly ReasonCode[] = [
  'limits',
  'owners',
  'approval_needed',
  'rule_matches',
  'matches_again',
  'ceiling',
  'stopped',
  'frozen',
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
