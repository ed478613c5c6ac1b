// decide, fourth step: questions that need all wishes of a run together: conflicts, limits, owners, approval, ceilings.
// Each answers wishes that have no answer yet, in the design's order. What wishes of one target mean to each other: one-target.ts.
import type { ActionName } from '../domain/action.ts';
import { attemptsAllowed, share } from '../domain/ceiling.ts';
import { isAtLeast, leastMode } from '../domain/mode.ts';
import { stopText } from '../domain/operator.ts';
import { takesDevice } from '../domain/rule.ts';
import { SEVERITIES, SOURCE_OF } from '../domain/subjects.ts';
import { targetKey } from '../domain/target-key.ts';
import type { Claims } from './claims.ts';
import { LastWord } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import { holdConflicts, holdDeletions, leaveToUndoing } from './one-target.ts';
import { act, aimOf, hold, unanswered, type Wish, weighs } from './proposal.ts';

export function answerTogether(wishes: Wish[], claims: Claims, input: DecideInput): void {
  const lastWord = new LastWord(input);
  holdConflicts(wishes, claims, input, lastWord);
  holdDeletions(wishes, lastWord);
  holdBeyondLimits(wishes, input);
  holdOwners(wishes);
  holdForApproval(wishes, input);
  holdBeyondCeilings(wishes, input);
  holdWhileStopped(wishes, input);
  for (const wish of unanswered(wishes)) {
    wish.answer = wish.undo ? act('trouble_over', 'the last claim on it ended') : act('trouble', 'the rule matches');
  }
  leaveToUndoing(wishes, lastWord);
}

/** Crossing either limit holds the whole rule, never "the first N". Undoing is bounded by its ceilings alone. */
function holdBeyondLimits(wishes: readonly Wish[], input: DecideInput): void {
  for (const rule of input.judged) {
    const own = unanswered(wishes).filter((wish) => wish.rule.id === rule.id && !wish.undo);
    const targets = mostTargetsOfOneAction(own);
    const subjects = input.sources[SOURCE_OF[rule.subject]].count;
    const byShare = share(rule.limits.percent, subjects);
    if (targets <= rule.limits.max && targets <= byShare) continue;
    const limit =
      targets > rule.limits.max ? `max ${rule.limits.max}` : `${rule.limits.percent} % of ${subjects} = ${byShare}`;
    for (const wish of own)
      wish.answer = hold('limits', `${targets} targets at once cross the rule's limit (${limit})`);
  }
}

/** A rule that disables a service and tells about it has one target, not two. */
function mostTargetsOfOneAction(wishes: readonly Wish[]): number {
  const byAction = new Map<ActionName, Set<string>>();
  for (const wish of wishes) {
    const { name } = wish.traits;
    byAction.set(name, (byAction.get(name) ?? new Set()).add(targetKey(aimOf(wish))));
  }
  return Math.max(0, ...[...byAction.values()].map((targets) => targets.size));
}

/** Two or more devices of one owner in one run: somebody would be left with nothing. */
function holdOwners(wishes: readonly Wish[]): void {
  const taking = unanswered(wishes).filter((wish) => !wish.undo && takesDevice(wish.traits.name));
  const ofOwner = new Map<string, Wish[]>();
  for (const wish of taking) {
    for (const owner of ownersOf(wish)) ofOwner.set(owner, [...(ofOwner.get(owner) ?? []), wish]);
  }
  for (const wish of taking) {
    if (wish.rule.owners === 'all') continue;
    for (const owner of ownersOf(wish)) {
      const others = (ofOwner.get(owner) ?? []).filter((other) => weighs(other, wish));
      const targets = new Set(others.map(({ target }) => target)).size;
      if (targets > 1)
        wish.answer = hold(
          'owners',
          `${targets} devices of ${owner} in one run (\`owners: all\` in the rule allows it)`,
        );
    }
  }
}

function ownersOf(wish: Wish): string[] {
  return [...new Set(wish.devices.flatMap((device) => device.owners ?? []).map((owner) => owner.toLowerCase()))];
}

/** A daemon of mode `approve` holds what any run of it would do: a dry run says so too. */
function holdForApproval(wishes: readonly Wish[], input: DecideInput): void {
  const capped = leastMode(input.runMode, input.daemonMode) === 'approve' || input.daemonMode === 'approve';
  for (const wish of unanswered(wishes)) {
    if (wish.ownMode === 'approve') wish.answer = hold('approval_needed', 'the rule has mode `approve`');
    else if (wish.traits.changesFleet && wish.traits.inverse === undefined) {
      wish.answer = hold('approval_needed', `${wish.traits.name} cannot be undone`);
    } else if (capped && isAtLeast(wish.ownMode, 'approve')) {
      wish.answer = hold(
        'approval_needed',
        `the ${input.daemonMode === 'approve' ? 'daemon' : 'run'} has mode \`approve\``,
      );
    }
  }
}

/** While a person has stopped everything, nothing is opened that act/ would only give up again, run after run. */
function holdWhileStopped(wishes: readonly Wish[], { standing: { stop } }: DecideInput): void {
  if (stop === undefined) return;
  for (const wish of unanswered(wishes)) {
    if (!isAtLeast(wish.ownMode, 'approve')) continue;
    wish.answer = hold('stopped', stopText(stop));
  }
}

/** Says beforehand what act/ will refuse, the worst trouble first. act/ asks again before each call. */
function holdBeyondCeilings(wishes: readonly Wish[], input: DecideInput): void {
  const bySeverity = unanswered(wishes)
    .filter((wish) => wish.traits.changesFleet && isAtLeast(wish.ownMode, 'approve'))
    .sort((a, b) => SEVERITIES.indexOf(b.rule.severity) - SEVERITIES.indexOf(a.rule.severity));
  const taken = new Map<ActionName, Set<string>>();
  for (const wish of bySeverity) {
    const { name } = wish.traits;
    const targets = taken.get(name) ?? new Set<string>();
    taken.set(name, targets);
    if (targets.has(wish.target)) continue;
    const subjects = input.sources[SOURCE_OF[wish.card.kind]].count;
    const lastDay = (input.standing.attempts24h.get(name) ?? 0) + targets.size;
    const allowed = attemptsAllowed(input.settings.ceilings, { subjects, thisRun: targets.size, lastDay });
    if (allowed > 0) targets.add(wish.target);
    else wish.answer = hold('ceiling', `the ceiling of ${name} (in a run, or in 24 hours) is reached`);
  }
}
