// decide: what wishes of one target mean to each other: contrary ones hold each other, a deletion waits for all else, and a wish
// that an undoing brings about by itself needs no intent of its own. In: wishes, of which some have answers. Out: more of them have one. Pure.
import { targetKey } from '../domain/target-key.ts';
import type { Claims } from './claims.ts';
import type { DecideInput } from './input.ts';
import { aimOf, hold, isPlannable, isWishedByNow, skip, unanswered, type Wish, weighs, wishKey } from './wish.ts';

/**
 * Two wishes that cannot both be: both are held, each naming the other. One that has its state already stands against the
 * opposite alone: were that done, it would be next to act, and the target would swing to and fro.
 */
export function holdConflicts(wishes: readonly Wish[], claims: Claims, input: DecideInput): void {
  const acting = byTarget(unanswered(wishes).filter((wish) => wish.traits.changesFleet));
  const keeping = byTarget(
    wishes.filter((wish) => wish.answer?.reason === 'already_so' && isWishedByNow(wish, wish.episode, input.nowMs)),
  );
  for (const [key, group] of acting) {
    for (const wish of group) {
      const rival = group.find((other) => isContrary(other, wish) && weighs(other, wish));
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

/**
 * Contrary are an action and its inverse, one action with two settings, and a deletion and what a rule wishes to give back.
 * An undoing has no settings, what it undoes is told by its target; and it gives nothing that a deletion could not take later.
 */
function isContrary(a: Wish, b: Wish): boolean {
  if (a.traits.name === b.traits.name) return !a.undo && !b.undo && wishKey(a) !== wishKey(b);
  return a.traits.inverse === b.traits.name || takesWhatIsGiven(a, b) || takesWhatIsGiven(b, a);
}

function takesWhatIsGiven({ traits }: Wish, giving: Wish): boolean {
  return traits.removesTarget === true && giving.traits.givesAccess === true && !giving.undo;
}

/**
 * What leaves the target there goes first: a ban is not kept waiting by a deletion, and the deletion is judged and approved for what
 * is there after it. It waits for as long as the other one is wished: until that is done, rejected or over.
 */
export function holdDeletions(wishes: readonly Wish[]): void {
  const acting = unanswered(wishes).filter((wish) => wish.traits.changesFleet);
  const deleting = acting.filter(({ traits }) => traits.removesTarget);
  if (deleting.length === 0) return;
  const groups = byTarget(acting);
  for (const wish of deleting) {
    const group = groups.get(targetKey(aimOf(wish))) ?? [];
    const first = group.find((other) => !other.traits.removesTarget && weighs(other, wish));
    if (first)
      wish.answer = hold('other_first', `rule ${first.rule.id} wants ${first.traits.name} for the same target first`);
  }
}

/**
 * A rule may wish of a target what an undoing does anyway, such as to lift the ban whose trouble is over. They never share an
 * intent: an undoing rests on a trouble that is gone and leaves no claim, a wish on one that is there, and claims what it did.
 * The undoing alone is enough where it acts, and where both wait for a person: the wish is skipped, and nobody is asked twice.
 * Where the undoing waits and the wish may act, the wish acts: no approval is asked of a rule because another one needs it.
 * In any other case (the undoing is rejected, parked, of a rule on trial) the wish is what it is by itself.
 */
export function leaveToUndoing(wishes: readonly Wish[]): void {
  const undoing = byTarget(wishes.filter(({ undo, answer }) => undo && answer !== undefined && isPlannable(answer)));
  if (undoing.size === 0) return;
  for (const wish of wishes) {
    if (wish.undo || wish.answer === undefined || !isPlannable(wish.answer)) continue;
    const enough = undoing
      .get(targetKey(aimOf(wish)))
      ?.find((other) => other.traits.name === wish.traits.name && weighs(other, wish) && isNoSlower(other, wish));
    if (enough)
      wish.answer = skip('trouble_over', `undoing what rule ${enough.rule.id} did is the same, and is enough`);
  }
}

function isNoSlower({ answer }: Wish, than: Wish): boolean {
  return answer?.decision === 'act' || than.answer?.decision === 'hold';
}

function byTarget(wishes: readonly Wish[]): Map<string, Wish[]> {
  const groups = new Map<string, Wish[]>();
  for (const wish of wishes) {
    const key = targetKey(aimOf(wish));
    groups.set(key, [...(groups.get(key) ?? []), wish]);
  }
  return groups;
}
