// check: no plan, retry or undo brings about the opposite of what another rule wants or claims. In: a contrary proposal, open claims
// on the target, the last run's answer. INVARIANT: asked before every call, on every path to it.
import { type Check, type ClaimFacts, hold, type Rival, type TargetFacts } from '../../domain/check.ts';
import { lastRunSaid } from './last-run-said.ts';

export const conflict: Check = {
  when: 'another rule wants the opposite for the target, or holds a claim on it',
  unlifted: true,
  ask(facts) {
    const claim = opposing(facts);
    if (facts.rival && !(claim && facts.rival.how === 'not_judged')) return hold('conflict', textOf(facts.rival));
    if (claim) return hold('conflict', `rule ${claim.rule} holds a claim (${claim.action}) on the same target`);
    return lastRunSaid(facts, 'conflict');
  },
};

function textOf({ rule, action, how }: Rival): string {
  const who = how === 'not_judged' ? `rule ${rule}, which this run does not judge,` : `rule ${rule}`;
  return `${who} wants ${action} for the same target${how === 'is_so' ? ', and the target is already in that state' : ''}`;
}

function opposing({ traits, undo, released, basis, claims = [] }: TargetFacts): ClaimFacts | undefined {
  const open = claims.filter(({ action }) => action === traits.inverse);
  // A claim whose own rule has ceased to match only waits to be undone, and opposes nothing.
  if (!undo) return open.find((claim) => !claim.isOver && basis.some(({ rule }) => rule !== claim.rule));
  // An undo covers only claims of this intent's own episodes. An orphaned claim is undone only when a person releases it.
  const own = new Set(basis.map(({ episodeId }) => episodeId));
  return open.find(({ episodeId, status }) => !own.has(episodeId) || (status === 'orphaned' && !released));
}
