// run: carries out what a run decided: its new intents, and failed ones of earlier runs that are due again. In: the committed decisions. Out:
// each intent with an outcome, or withdrawn.
import { carryOut } from '../act/carry-out.ts';
import type { ActContext } from '../act/context.ts';
import { isToBeCarriedOut, openAgain, reopened } from '../act/gate.ts';
import { timesRefused } from '../domain/intent.ts';
import type { OpenState } from '../domain/store.ts';
import type { DecidedRun } from './decided-run.ts';
import type { Engine } from './engine.ts';

export async function actOn(
  { store }: Pick<Engine, 'store'>,
  acting: ActContext,
  openState: Pick<OpenState, 'intents'>,
  { decided, intents }: DecidedRun,
): Promise<void> {
  // Based on the rules that propose it now: a rule that was removed or set to dry-run since gains no claim.
  const known = new Map(openState.intents.map((intent) => [intent.id, intent]));
  const retries = decided.acts.flatMap(({ retryOf, mode, draft: { basis } }) => {
    const failed = retryOf === undefined ? undefined : known.get(retryOf);
    return failed ? [openAgain({ ...failed, basis }, mode)] : [];
  });
  // A refusal (401) ends the run: what was refused before keeps nothing else waiting.
  retries.sort((a, b) => timesRefused(a) - timesRefused(b));
  await store.reopen(reopened(acting.runId, retries.filter(isToBeCarriedOut)));
  await carryOut(acting, [...intents, ...retries]);
}
