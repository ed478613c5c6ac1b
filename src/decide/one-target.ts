// decide: what wishes of one target mean to each other: contrary ones hold each other, a deletion waits for all else, and a wish
// that an undoing brings about by itself needs no intent of its own. In: wishes, of which some have answers; what earlier runs said of
// rules that are not judged now. Out: more of them have an answer. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { targetKey } from '../domain/target-key.ts';
import type { Claims } from './claims.ts';
import { isSo, isStillToBeDone, type LastWord, type StandingWish } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import {
  aimOf,
  effectOf,
  hold,
  isPlannable,
  isWishedByNow,
  skip,
  type Wish,
  weighable,
  weighs,
  wishKey,
} from './proposal.ts';

/**
 * Two wishes that cannot both be: both are held, each naming the other. One that has its state already stands against the
 * opposite alone: were that done, it would be next to act, and the target would swing to and fro.
 */
export function holdConflicts(wishes: readonly Wish[], claims: Claims, input: DecideInput, lastWord: LastWord): void {
  const acting = byTarget(weighable(wishes).filter((wish) => wish.traits.changesFleet));
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
      else holdBySaid(wish, lastWord);
    }
  }
}

/** Rules that are not judged in this run wish what they wished: to leave them out of a run lifts no conflict with them. */
function holdBySaid(wish: Wish, lastWord: LastWord): void {
  const rival = lastWord.on(aimOf(wish)).find((other) => isContraryToSaid(wish, other) && weighs(other, wish));
  if (!rival) return;
  const text = `rule ${rival.rule.id}, which this run does not judge, wants ${rival.traits.name} for the same target`;
  wish.answer = hold('conflict', text);
}

/**
 * Contrary are an action and its inverse, one action with two settings, and a deletion and what a rule wishes to give back.
 * An undoing has no settings, what it undoes is told by its target; and it gives nothing that a deletion could not take later.
 */
function isContrary(a: Wish, b: Wish): boolean {
  if (a.traits.name === b.traits.name) return !a.undo && !b.undo && wishKey(a) !== wishKey(b);
  return isOpposite(a, b);
}

/** The same; a decision has no settings, and tells by what it would change whether they are others. */
function isContraryToSaid(wish: Wish, other: StandingWish): boolean {
  const { traits, undo, said } = other;
  // What has its state stands against the inverse alone.
  if (isSo(other)) return traits.name === wish.traits.inverse;
  if (traits.name !== wish.traits.name) return isOpposite(wish, other);
  if (undo || wish.undo || traits.changes === undefined) return false;
  return canonicalJson(said.effect.changes ?? null) !== canonicalJson(effectOf(wish).changes ?? null);
}

interface OneWish {
  traits: ActionTraits;
  undo: boolean;
}

function isOpposite(a: OneWish, b: OneWish): boolean {
  return a.traits.inverse === b.traits.name || takesWhatIsGiven(a, b) || takesWhatIsGiven(b, a);
}

function takesWhatIsGiven({ traits }: OneWish, giving: OneWish): boolean {
  return traits.removesTarget === true && giving.traits.givesAccess === true && !giving.undo;
}

/**
 * What leaves the target there goes first: a ban is not kept waiting by a deletion, and the deletion is judged and approved for what
 * is there after it. It waits for as long as the other one is wished: until that is done, rejected or over; not for one that was
 * given up at its last look.
 */
export function holdDeletions(wishes: readonly Wish[], lastWord: LastWord): void {
  const acting = weighable(wishes).filter((wish) => wish.traits.changesFleet);
  const deleting = acting.filter(({ traits }) => traits.removesTarget);
  if (deleting.length === 0) return;
  const groups = byTarget(acting);
  for (const wish of deleting) {
    const group = groups.get(targetKey(aimOf(wish))) ?? [];
    const first =
      group.find((other) => goesFirst(other, wish) && !lastWord.wasGivenUp(other)) ??
      lastWord.on(aimOf(wish)).find((other) => goesFirst(other, wish) && isStillToBeDone(other));
    if (first)
      wish.answer = hold('other_first', `rule ${first.rule.id} wants ${first.traits.name} for the same target first`);
  }
}

function goesFirst(other: Wish | StandingWish, wish: Wish): boolean {
  return !other.traits.removesTarget && weighs(other, wish);
}

/**
 * A rule may wish of a target what an undoing does anyway, such as to lift the ban whose trouble is over. They never share an
 * intent: an undoing rests on a trouble that is gone and leaves no claim, a wish on one that is there, and claims what it did.
 * The undoing alone is enough where it acts, and where both wait for a person: the wish is skipped, and nobody is asked twice.
 * Where the undoing waits and the wish may act, the wish acts: no approval is asked of a rule because another one needs it.
 * In any other case (the undoing is rejected, parked, of a rule on trial, given up at its last look) the wish is what it is by itself.
 */
export function leaveToUndoing(wishes: readonly Wish[], lastWord: LastWord): void {
  const undoing = byTarget(
    wishes.filter((wish) => wish.undo && wish.answer && isPlannable(wish.answer) && !lastWord.wasGivenUp(wish)),
  );
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
