// decide, fourth step: questions that need all wishes of a run together: conflicts, limits, owners, approval, ceilings.
// Each answers wishes that have no answer yet, in the design's order.
import type { ActionName } from '../domain/action.ts';
import { attemptsAllowed, share } from '../domain/ceiling.ts';
import { isAtLeast, leastMode } from '../domain/mode.ts';
import { takesDevice } from '../domain/rule.ts';
import { stopText } from '../domain/steering.ts';
import { SEVERITIES, SOURCE_OF } from '../domain/subjects.ts';
import { targetKey } from '../domain/target-key.ts';
import type { Claims } from './claims.ts';
import type { DecideInput } from './input.ts';
import { act, aimOf, hold, isWishedByNow, type Wish, wishKey } from './wish.ts';

export function answerTogether(wishes: Wish[], claims: Claims, input: DecideInput): void {
  holdConflicts(wishes, claims, input);
  holdBeyondLimits(wishes, input);
  holdOwners(wishes);
  holdForApproval(wishes, input);
  holdBeyondCeilings(wishes, input);
  holdWhileStopped(wishes, input);
  for (const wish of open(wishes)) {
    wish.answer = wish.undo ? act('trouble_over', 'the last claim on it ended') : act('trouble', 'the rule matches');
  }
}

function open(wishes: readonly Wish[]): Wish[] {
  return wishes.filter((wish) => wish.answer === undefined);
}

/** What a rule in dry-run would do holds back other dry wishes only: trying a rule out changes nothing for the others. */
export function weighs(other: Wish, wish: Wish): boolean {
  return isAtLeast(other.ownMode, 'approve') || !isAtLeast(wish.ownMode, 'approve');
}

/**
 * Two wishes that cannot both be: both are held, each naming the other. One that has its state already stands against the
 * opposite alone: were that done, it would be next to act, and the target would swing to and fro.
 */
function holdConflicts(wishes: readonly Wish[], claims: Claims, input: DecideInput): void {
  const acting = byTarget(open(wishes).filter((wish) => wish.traits.changesFleet));
  const keeping = byTarget(
    wishes.filter((wish) => wish.answer?.reason === 'already_so' && isWishedByNow(wish, wish.episode, input.nowMs)),
  );
  for (const [key, group] of acting) {
    for (const wish of group) {
      const rival = group.find((other) => wishKey(other) !== wishKey(wish) && weighs(other, wish));
      const keeper = keeping
        .get(key)
        ?.find((other) => other.traits.name === wish.traits.inverse && weighs(other, wish));
      const claim = claims.opposing(wish);
      if (rival) wish.answer = hold('conflict', `rule ${rival.rule.id} wants ${rival.traits.name} for the same target`);
      else if (keeper) {
        const text = `rule ${keeper.rule.id} wants ${keeper.traits.name} for the same target, where it is so already`;
        wish.answer = hold('conflict', text);
      } else if (claim)
        wish.answer = hold('conflict', `rule ${claim.rule} holds a claim (${claim.action}) on the same target`);
    }
  }
}

function byTarget(wishes: readonly Wish[]): Map<string, Wish[]> {
  const groups = new Map<string, Wish[]>();
  for (const wish of wishes) {
    const key = targetKey(aimOf(wish));
    groups.set(key, [...(groups.get(key) ?? []), wish]);
  }
  return groups;
}

/** Crossing either limit holds the whole rule, never "the first N". Undoing is bounded by its ceilings alone. */
function holdBeyondLimits(wishes: readonly Wish[], input: DecideInput): void {
  for (const rule of input.judged) {
    const own = open(wishes).filter((wish) => wish.rule.id === rule.id && !wish.undo);
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
  const taking = open(wishes).filter((wish) => !wish.undo && takesDevice(wish.traits.name));
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
  for (const wish of open(wishes)) {
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
  for (const wish of open(wishes)) {
    if (!isAtLeast(wish.ownMode, 'approve')) continue;
    wish.answer = hold('stopped', stopText(stop));
  }
}

/** Says beforehand what act/ will refuse, the worst trouble first. act/ asks again before each call. */
function holdBeyondCeilings(wishes: readonly Wish[], input: DecideInput): void {
  const bySeverity = open(wishes)
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
