// decide: what wishes of one target mean to each other: contrary ones hold each other, a deletion waits for all else, and a wish
// that an undoing brings about by itself needs no intent of its own. In: wishes, of which some have answers; what earlier runs said of
// rules that are not judged now. Out: more of them have an answer. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { Claims } from './claims.ts';
import { type EarlierAnswers, isSo, isStillToBeDone, type ProposalInForce } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import {
  aimOf,
  effectOf,
  hold,
  isPlannable,
  isProposedByNow,
  keyOfTarget,
  type Proposal,
  proposalKey,
  skip,
  weighable,
  weighs,
} from './proposal.ts';

/**
 * Two wishes that cannot both be: both are held, each naming the other. One that has its state already stands against the
 * opposite alone: were that done, it would be next to act, and the target would swing to and fro.
 */
export function holdConflicts(
  proposals: readonly Proposal[],
  claims: Claims,
  input: DecideInput,
  earlier: EarlierAnswers,
): void {
  const acting = byTarget(weighable(proposals).filter((proposal) => proposal.traits.changesFleet));
  const keeping = byTarget(
    proposals.filter(
      (proposal) =>
        proposal.answer?.reason === 'already_so' && isProposedByNow(proposal, proposal.episode, input.nowMs),
    ),
  );
  for (const [key, group] of acting) {
    for (const proposal of group) {
      const rival = group.find((other) => isContrary(other, proposal) && weighs(other, proposal));
      const keeper = keeping
        .get(key)
        ?.find((other) => other.traits.name === proposal.traits.inverse && weighs(other, proposal));
      const claim = claims.opposing(proposal);
      if (rival)
        proposal.answer = hold('conflict', `rule ${rival.rule.id} wants ${rival.traits.name} for the same target`);
      else if (keeper) {
        const text = `rule ${keeper.rule.id} wants ${keeper.traits.name} for the same target, where it is so already`;
        proposal.answer = hold('conflict', text);
      } else if (claim)
        proposal.answer = hold('conflict', `rule ${claim.rule} holds a claim (${claim.action}) on the same target`);
      else holdBySaid(proposal, earlier);
    }
  }
}

/** Rules that are not judged in this run wish what they wished: to leave them out of a run lifts no conflict with them. */
function holdBySaid(proposal: Proposal, earlier: EarlierAnswers): void {
  const rival = earlier
    .on(aimOf(proposal))
    .find((other) => isContraryToSaid(proposal, other) && weighs(other, proposal));
  if (!rival) return;
  const text = `rule ${rival.rule.id}, which this run does not judge, wants ${rival.traits.name} for the same target`;
  proposal.answer = hold('conflict', text);
}

/**
 * Contrary are an action and its inverse, one action with two settings, and a deletion and what a rule wishes to give back.
 * An undoing has no settings, what it undoes is told by its target; and it gives nothing that a deletion could not take later.
 */
function isContrary(a: Proposal, b: Proposal): boolean {
  if (a.traits.name === b.traits.name) return !a.undo && !b.undo && proposalKey(a) !== proposalKey(b);
  return isOpposite(a, b);
}

/** The same; a decision has no settings, and tells by what it would change whether they are others. */
function isContraryToSaid(proposal: Proposal, other: ProposalInForce): boolean {
  const { traits, undo, said } = other;
  // What has its state stands against the inverse alone.
  if (isSo(other)) return traits.name === proposal.traits.inverse;
  if (traits.name !== proposal.traits.name) return isOpposite(proposal, other);
  if (undo || proposal.undo || traits.changes === undefined) return false;
  return canonicalJson(said.effect.changes ?? null) !== canonicalJson(effectOf(proposal).changes ?? null);
}

interface OneProposal {
  traits: ActionTraits;
  undo: boolean;
}

function isOpposite(a: OneProposal, b: OneProposal): boolean {
  return a.traits.inverse === b.traits.name || takesWhatIsGiven(a, b) || takesWhatIsGiven(b, a);
}

function takesWhatIsGiven({ traits }: OneProposal, giving: OneProposal): boolean {
  return traits.removesTarget === true && giving.traits.givesAccess === true && !giving.undo;
}

/**
 * What leaves the target there goes first: a ban is not kept waiting by a deletion, and the deletion is judged and approved for what
 * is there after it. It waits for as long as the other one is wished: until that is done, rejected or over; not for one that was
 * given up at its last look.
 */
export function holdDeletions(proposals: readonly Proposal[], earlier: EarlierAnswers): void {
  const acting = weighable(proposals).filter((proposal) => proposal.traits.changesFleet);
  const deleting = acting.filter(({ traits }) => traits.removesTarget);
  if (deleting.length === 0) return;
  const groups = byTarget(acting);
  for (const proposal of deleting) {
    const group = groups.get(keyOfTarget(proposal)) ?? [];
    const first =
      group.find((other) => goesFirst(other, proposal) && !earlier.wasGivenUp(other)) ??
      earlier.on(aimOf(proposal)).find((other) => goesFirst(other, proposal) && isStillToBeDone(other));
    if (first)
      proposal.answer = hold(
        'other_first',
        `rule ${first.rule.id} wants ${first.traits.name} for the same target first`,
      );
  }
}

function goesFirst(other: Proposal | ProposalInForce, proposal: Proposal): boolean {
  return !other.traits.removesTarget && weighs(other, proposal);
}

/**
 * A rule may wish of a target what an undoing does anyway, such as to lift the ban whose trouble is over. They never share an
 * intent: an undoing rests on a trouble that is gone and leaves no claim, a wish on one that is there, and claims what it did.
 * The undoing alone is enough where it acts, and where both wait for a person: the wish is skipped, and nobody is asked twice.
 * Where the undoing waits and the wish may act, the wish acts: no approval is asked of a rule because another one needs it.
 * In any other case (the undoing is rejected, parked, of a rule on trial, given up at its last look) the wish is what it is by itself.
 */
export function leaveToUndoing(proposals: readonly Proposal[], earlier: EarlierAnswers): void {
  const undoing = byTarget(
    proposals.filter(
      (proposal) => proposal.undo && proposal.answer && isPlannable(proposal.answer) && !earlier.wasGivenUp(proposal),
    ),
  );
  if (undoing.size === 0) return;
  for (const proposal of proposals) {
    if (proposal.undo || proposal.answer === undefined || !isPlannable(proposal.answer)) continue;
    const enough = undoing
      .get(keyOfTarget(proposal))
      ?.find(
        (other) => other.traits.name === proposal.traits.name && weighs(other, proposal) && isNoSlower(other, proposal),
      );
    if (enough) proposal.answer = skip('cleared', `undoing what rule ${enough.rule.id} did is the same, and is enough`);
  }
}

function isNoSlower({ answer }: Proposal, than: Proposal): boolean {
  return answer?.decision === 'act' || than.answer?.decision === 'hold';
}

function byTarget(proposals: readonly Proposal[]): Map<string, Proposal[]> {
  const groups = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    const key = keyOfTarget(proposal);
    groups.set(key, [...(groups.get(key) ?? []), proposal]);
  }
  return groups;
}
