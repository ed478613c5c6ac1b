// decide, fourth step: questions that need all wishes of a run together: conflicts, limits, owners, approval, ceilings.
// Each answers wishes that have no answer yet, in the design's order. What wishes of one target mean to each other: one-target.ts.
import type { ActionName } from '../domain/action.ts';
import { attemptsAllowed, share } from '../domain/ceiling.ts';
import { isAtLeast, leastMode } from '../domain/mode.ts';
import { stopText } from '../domain/operator.ts';
import { SEVERITIES, SOURCE_OF } from '../domain/subjects.ts';
import type { Claims } from './claims.ts';
import { EarlierAnswers } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import { holdConflicts, holdDeletions, leaveToUndoing } from './one-target.ts';
import { act, hold, keyOfTarget, type Proposal, unanswered, weighs } from './proposal.ts';

export function answerTogether(proposals: Proposal[], claims: Claims, input: DecideInput): void {
  const earlier = new EarlierAnswers(input);
  holdConflicts(proposals, claims, input, earlier);
  holdDeletions(proposals, earlier);
  holdBeyondLimits(proposals, input);
  holdOwners(proposals);
  holdForApproval(proposals, input);
  holdBeyondCeilings(proposals, input);
  holdWhileStopped(proposals, input);
  for (const proposal of unanswered(proposals)) {
    proposal.answer = proposal.undo
      ? act('cleared', 'the last claim on it ended')
      : act('rule_matches', 'the rule matches');
  }
  leaveToUndoing(proposals, earlier);
}

/** Crossing either limit holds the whole rule, never "the first N". Undoing is bounded by its ceilings alone. */
function holdBeyondLimits(proposals: readonly Proposal[], input: DecideInput): void {
  for (const rule of input.judged) {
    const own = unanswered(proposals).filter((proposal) => proposal.rule.id === rule.id && !proposal.undo);
    const targets = mostTargetsOfOneAction(own);
    const subjects = input.sources[SOURCE_OF[rule.subject]].count;
    const byShare = share(rule.limits.percent, subjects);
    if (targets <= rule.limits.max && targets <= byShare) continue;
    const limit =
      targets > rule.limits.max ? `max ${rule.limits.max}` : `${rule.limits.percent} % of ${subjects} = ${byShare}`;
    for (const proposal of own)
      proposal.answer = hold('limits', `${targets} targets at once cross the rule's limit (${limit})`);
  }
}

/** A rule that disables a service and tells about it has one target, not two. */
function mostTargetsOfOneAction(proposals: readonly Proposal[]): number {
  const byAction = new Map<ActionName, Set<string>>();
  for (const proposal of proposals) {
    const { name } = proposal.traits;
    byAction.set(name, (byAction.get(name) ?? new Set()).add(keyOfTarget(proposal)));
  }
  return Math.max(0, ...[...byAction.values()].map((targets) => targets.size));
}

/** Two or more devices of one owner in one run: somebody would be left with nothing. */
function holdOwners(proposals: readonly Proposal[]): void {
  const taking = unanswered(proposals).filter((proposal) => !proposal.undo && proposal.traits.takesDevice);
  const ofOwner = new Map<string, Proposal[]>();
  for (const proposal of taking) {
    for (const owner of ownersOf(proposal)) ofOwner.set(owner, [...(ofOwner.get(owner) ?? []), proposal]);
  }
  for (const proposal of taking) {
    if (proposal.rule.owners === 'all') continue;
    for (const owner of ownersOf(proposal)) {
      const others = (ofOwner.get(owner) ?? []).filter((other) => weighs(other, proposal));
      const targets = new Set(others.map(({ target }) => target)).size;
      if (targets > 1)
        proposal.answer = hold(
          'owners',
          `${targets} devices of ${owner} in one run (\`owners: all\` in the rule allows it)`,
        );
    }
  }
}

function ownersOf(proposal: Proposal): string[] {
  return [...new Set(proposal.devices.flatMap((device) => device.owners ?? []).map((owner) => owner.toLowerCase()))];
}

/** A daemon of mode `approve` holds what any run of it would do: a dry run says so too. */
function holdForApproval(proposals: readonly Proposal[], input: DecideInput): void {
  const capped = leastMode(input.runMode, input.daemonMode) === 'approve' || input.daemonMode === 'approve';
  for (const proposal of unanswered(proposals)) {
    if (proposal.ownMode === 'approve') proposal.answer = hold('approval_needed', 'the rule has mode `approve`');
    else if (proposal.traits.changesFleet && proposal.traits.inverse === undefined) {
      proposal.answer = hold('approval_needed', `${proposal.traits.name} cannot be undone`);
    } else if (capped && isAtLeast(proposal.ownMode, 'approve')) {
      proposal.answer = hold(
        'approval_needed',
        `the ${input.daemonMode === 'approve' ? 'daemon' : 'run'} has mode \`approve\``,
      );
    }
  }
}

/** While a person has stopped everything, nothing is opened that act/ would only give up again, run after run. */
function holdWhileStopped(proposals: readonly Proposal[], { openState: { stop } }: DecideInput): void {
  if (stop === undefined) return;
  for (const proposal of unanswered(proposals)) {
    if (!isAtLeast(proposal.ownMode, 'approve')) continue;
    proposal.answer = hold('stopped', stopText(stop));
  }
}

/** Says beforehand what act/ will refuse, the worst trouble first. act/ asks again before each call. */
function holdBeyondCeilings(proposals: readonly Proposal[], input: DecideInput): void {
  const bySeverity = unanswered(proposals)
    .filter((proposal) => proposal.traits.changesFleet && isAtLeast(proposal.ownMode, 'approve'))
    .sort((a, b) => SEVERITIES.indexOf(b.rule.severity) - SEVERITIES.indexOf(a.rule.severity));
  const taken = new Map<ActionName, Set<string>>();
  for (const proposal of bySeverity) {
    const { name } = proposal.traits;
    const targets = taken.get(name) ?? new Set<string>();
    taken.set(name, targets);
    if (targets.has(proposal.target)) continue;
    const subjects = input.sources[SOURCE_OF[proposal.summary.kind]].count;
    const lastDay = (input.openState.attempts24h.get(name) ?? 0) + targets.size;
    const allowed = attemptsAllowed(input.settings.ceilings, { subjects, thisRun: targets.size, lastDay });
    if (allowed > 0) targets.add(proposal.target);
    else proposal.answer = hold('ceiling', `the ceiling of ${name} (in a run, or in 24 hours) is reached`);
  }
}
