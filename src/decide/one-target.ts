// decide: what proposals of one target mean to each other: contrary ones hold each other, a deletion waits for all else, and what
// an undoing brings about by itself needs no intent of its own. In: the proposals that the check is asked of; what earlier runs said of
// rules that are not judged now. Out: facts to add to some of them. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { isRefusal, type Other, type Refusal, type Rival, type TargetFacts } from '../domain/check.ts';
import { isSo, isStillToBeDone, type ProposalInForce } from './earlier-answers.ts';
import { aimOf, effectOf, isProposedByNow, keyOfTarget, type Proposal, proposalKey, weighs } from './proposal.ts';
import type { Added, Others } from './together.ts';

/** An undo of several claims is one intent: what keeps one part of it from acting keeps the others, too. */
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
 * Two proposals that cannot both be: each is told of the other. One that has its state already stands against the opposite alone:
 * were that done, it would be next to act, and the target would swing to and fro. Rules that are not judged in this run want
 * what they wanted: to leave them out of a run lifts no conflict with them.
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
 * is there after it. It waits for as long as the other one is wanted: until that is done, rejected or over; not for one that was
 * given up at preflight.
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
 * A rule may want of a target what an undoing does anyway, such as to lift the ban whose rule has ceased to match. They never share an
 * intent: an undoing rests on a rule that does not match and leaves no claim, a proposal on one that does, and claims what it did.
 * The undoing alone is enough where it acts, and where both wait for a person: the proposal is skipped, and nobody is asked twice.
 * Where the undoing waits and the proposal may act, the proposal acts: no approval is asked of a rule because another one needs it.
 * In any other case (the undoing is rejected, parked, of a rule on trial, given up at preflight) the proposal is what it is by itself.
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

/** Without an answer by now it acts. */
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
