// decide: how proposals for one target affect each other: contrary ones hold each other, a deletion waits for all others, and what an
// undo does anyway needs no intent of its own. In: the proposals that the check is asked of; earlier runs' answers of rules that are
// not judged now. Out: facts to add to some of the proposals. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { isRefusal, type Other, type Refusal, type Rival, type TargetFacts } from '../domain/check.ts';
import { isSo, isStillToBeDone, type ProposalInForce } from './earlier-answers.ts';
import { aimOf, effectOf, isProposedByNow, keyOfTarget, type Proposal, proposalKey, weighs } from './proposal.ts';
import type { Added, Others } from './together.ts';

/** An undo of several claims is one intent: an answer that keeps one part from acting keeps the others from it too. */
export function weighUndoParts(asked: readonly Proposal[], { proposals }: Others): Added {
  const kept = new Map<string, Refusal>();
  for (const part of proposals) {
    if (part.undo && part.answer && isRefusal(part.answer)) kept.set(proposalKey(part), part.answer);
  }
  return new Map(
    asked.flatMap((part) => {
      const otherPart = part.undo ? kept.get(proposalKey(part)) : undefined;
      return otherPart ? [[part, { otherPart }] as const] : [];
    }),
  );
}

/**
 * Two proposals that exclude each other: each gets the other as its rival. A proposal whose state is already reached opposes only its
 * inverse: if the inverse were done, the proposal would act next, and the target would switch back and forth. Rules that are not
 * judged in this run still count with their last proposals: leaving them out of a run lifts no conflict.
 */
export function weighRivals(asked: readonly Proposal[], { proposals, input, earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const acting = byTarget(asked);
  const keeping = byTarget(
    proposals.filter(
      (proposal) =>
        proposal.answer?.reason === 'already_so' && isProposedByNow(proposal, proposal.episode, input.nowMs),
    ),
  );
  for (const [key, group] of acting) {
    for (const proposal of group) {
      const wants = group.find((other) => isContrary(other, proposal) && weighs(other, proposal));
      const keeps = keeping
        .get(key)
        ?.find((other) => other.traits.name === proposal.traits.inverse && weighs(other, proposal));
      const said = earlier
        .on(aimOf(proposal))
        .find((other) => isContraryToSaid(proposal, other) && weighs(other, proposal));
      const rival = rivalOf('wants', wants) ?? rivalOf('is_so', keeps) ?? rivalOf('not_judged', said);
      if (rival) added.set(proposal, { rival });
    }
  }
  return added;
}

function rivalOf(how: Rival['how'], proposal: Proposal | ProposalInForce | undefined): Rival | undefined {
  return proposal && { ...otherOf(proposal), how };
}

function otherOf({ rule, traits }: Proposal | ProposalInForce): Other {
  return { rule: rule.id, action: traits.name };
}

/**
 * Contrary are an action and its inverse, one action with two settings, and a deletion and an action that gives something back.
 * An undo has no settings: its target shows what it undoes. It gives back nothing that a deletion could not take later.
 */
function isContrary(a: Proposal, b: Proposal): boolean {
  if (a.traits.name === b.traits.name) return !a.undo && !b.undo && proposalKey(a) !== proposalKey(b);
  return isOpposite(a, b);
}

/** The same for a stored decision. It has no settings: what it would change shows whether they differ. */
function isContraryToSaid(proposal: Proposal, other: ProposalInForce): boolean {
  const { traits, undo, said } = other;
  // A state that is already reached opposes only the inverse.
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
 * An action that keeps the target goes before a deletion of it: a ban does not wait for a deletion, and the deletion is judged and
 * approved for the state after the ban. The deletion waits until the other proposal is done, rejected or over. It does not wait for
 * one that preflight withdrew.
 */
export function weighDeletions(asked: readonly Proposal[], { earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const deleting = asked.filter(({ traits }) => traits.removesTarget);
  const groups = deleting.length === 0 ? new Map<string, Proposal[]>() : byTarget(asked);
  for (const proposal of deleting) {
    const group = groups.get(keyOfTarget(proposal)) ?? [];
    const first =
      group.find((other) => goesFirst(other, proposal) && !earlier.wasGivenUp(other)) ??
      earlier.on(aimOf(proposal)).find((other) => goesFirst(other, proposal) && isStillToBeDone(other));
    if (first) added.set(proposal, { first: otherOf(first) });
  }
  return added;
}

function goesFirst(other: Proposal | ProposalInForce, proposal: Proposal): boolean {
  return !other.traits.removesTarget && weighs(other, proposal);
}

/**
 * A rule may propose what an undo does anyway, such as to lift the ban whose rule has ceased to match. They never share an intent:
 * an undo is based on a rule that does not match, and leaves no claim; a proposal is based on a rule that matches, and opens one.
 * The undo is enough if it acts, or if both wait for a person: the proposal is skipped, and nobody is asked twice.
 * If the undo waits and the proposal may act, the proposal acts: a rule needs no approval because another one does.
 * In all other cases (the undo is rejected, parked, withdrawn by preflight, or of a rule on trial) the proposal keeps its own answer.
 */
export function weighUndoings(asked: readonly Proposal[], { earlier }: Others): Added {
  const added = new Map<Proposal, Partial<TargetFacts>>();
  const undoing = byTarget(asked.filter((proposal) => proposal.undo && !earlier.wasGivenUp(proposal)));
  if (undoing.size === 0) return added;
  for (const proposal of asked.filter(({ undo }) => !undo)) {
    const enough = undoing
      .get(keyOfTarget(proposal))
      ?.find(
        (other) => other.traits.name === proposal.traits.name && weighs(other, proposal) && isNoSlower(other, proposal),
      );
    if (enough) added.set(proposal, { undoing: otherOf(enough) });
  }
  return added;
}

/** A proposal that has no answer yet acts. */
function isNoSlower(other: Proposal, than: Proposal): boolean {
  return other.answer === undefined || than.answer !== undefined;
}

function byTarget(proposals: readonly Proposal[]): Map<string, Proposal[]> {
  const groups = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    const key = keyOfTarget(proposal);
    groups.set(key, [...(groups.get(key) ?? []), proposal]);
  }
  return groups;
}
