// harness: judges the undo that a person asked for: nothing is released twice, and nothing that another rule claims too. In: a writing
// request of a release. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { Checker } from './checker.ts';
import { ACTION_OF, INVERSE_OF, verbOf } from './truth.ts';

export function checkRelease(checker: Checker, intent: Intent): void {
  const { ledger } = checker;
  const { id, action, target } = intent;
  const episodes = new Set(intent.basis.map(({ episodeId }) => episodeId));
  for (const other of ledger.intents.values()) {
    if (other.id === id || other.action !== action || other.target !== target) continue;
    const isOfIt = ledger.intent(other.id)?.basis.some(({ episodeId }) => episodes.has(episodeId));
    if (isOfIt && other.requests.some(({ answer }) => answer !== 'failed'))
      checker.report('doubled', `${action} ${target}: intent ${id} releases what intent ${other.id} has undone`);
  }
  const done = ACTION_OF[INVERSE_OF[verbOf(action, target)]];
  for (const claim of ledger.openClaims(target))
    if (claim.action === done && !episodes.has(claim.episodeId))
      checker.report('against_a_claim', `${action} ${target}: it is released, and rule ${claim.rule} claims it too`);
}
