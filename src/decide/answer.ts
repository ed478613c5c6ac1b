// decide, third step: every proposal gets its answer: the first refusal of the checks of deciding, in their order, or `act`.
// In: proposals. Out: each with its answer. Each check is asked of all proposals before the next check is, since some answers depend
// on those of other proposals. Pure.
import type { Answer, CheckName, TargetFacts } from '../domain/check.ts';
import { eachInSteps } from '../domain/give-way.ts';
import { isOnTrial } from '../domain/mode.ts';
import type { RuleLimits } from '../domain/run.ts';
import { timeText } from '../domain/time-text.ts';
import { CHECKS } from './checks/ask.ts';
import { LISTS } from './checks/stages.ts';
import type { Claims } from './claims.ts';
import { EarlierAnswers } from './earlier-answers.ts';
import type { DecideInput } from './input.ts';
import { weighDeletions, weighRivals, weighUndoings, weighUndoParts } from './one-target.ts';
import { OwnUndos } from './own-undos.ts';
import { type Proposal, unanswered, weighable } from './proposal.ts';
import { targetFacts } from './target-facts.ts';
import { type Weigh, weighCeilings, weighLimits, weighOwners } from './together.ts';

/** Facts that depend on other proposals, added before the check that needs them is asked. */
const WEIGH: { readonly [check in CheckName]?: Weigh } = {
  'whole-undo': weighUndoParts,
  conflict: weighRivals,
  'other-first': weighDeletions,
  limits: weighLimits,
  owners: weighOwners,
  ceiling: weighCeilings,
  'undone-anyway': weighUndoings,
};

/** Whether the check weighs a proposal among the others of its run. */
export function weighsOthers(check: CheckName): boolean {
  return WEIGH[check] !== undefined;
}

/** Returns what was compared with the limits of each rule. */
export function* answer(
  proposals: readonly Proposal[],
  claims: Claims,
  input: DecideInput,
): Generator<void, ReadonlyMap<string, RuleLimits>> {
  const compared = new Map<string, RuleLimits>();
  const facts = new Map<Proposal, TargetFacts>();
  const ownUndos = new OwnUndos(input.openState.lastAttempts);
  yield* eachInSteps(proposals, (proposal) => facts.set(proposal, targetFacts(proposal, claims, input, ownUndos)));
  const earlier = new EarlierAnswers(input);
  for (const { check, of } of LISTS.deciding) {
    const { ask, unlifted } = CHECKS[check];
    const asked = (unlifted ? weighable(proposals) : unanswered(proposals)).filter(
      ({ traits }) => of === 'all' || traits.changesFleet,
    );
    const added = WEIGH[check]?.(asked, { proposals, input, earlier, compared });
    yield;
    for (const proposal of asked) {
      const [known, more] = [facts.get(proposal) as TargetFacts, added?.get(proposal)];
      proposal.answer = ask(more ? { ...known, ...more } : known) ?? proposal.answer;
    }
    yield;
  }
  for (const proposal of unanswered(proposals)) proposal.answer = toAct(proposal, ownUndos.flap(proposal, input.nowMs));
  return compared;
}

function toAct({ undo, traits }: Proposal, undoneMs: number | undefined): Answer {
  if (undo) return { decision: 'act', reason: 'cleared', reasonText: 'no rule that claims it matches any longer' };
  if (undoneMs === undefined) return { decision: 'act', reason: 'rule_matches', reasonText: 'the rule matches' };
  const text = `the rule matches again: Trustward undid ${traits.name} at ${timeText(undoneMs)}`;
  return { decision: 'act', reason: 'matches_again', reasonText: text };
}

/** A rule on trial is never held, since nobody can approve it: its answer names what would hold it if the rule were live. */
export function reportTrials(proposals: readonly Proposal[]): void {
  for (const proposal of proposals) {
    const { answer, ownMode } = proposal;
    if (answer?.decision !== 'hold' || !isOnTrial(ownMode)) continue;
    proposal.answer = { ...answer, decision: 'act', reasonText: `it would be held: ${answer.reasonText}` };
  }
}
