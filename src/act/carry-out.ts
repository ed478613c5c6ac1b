// act: carries out planned intents, several at once. In: committed intents. Out: each with an outcome, or withdrawn; those that a run
// which ended early did not begin stay planned. Each is read, asked and sent in attempt.ts.
import type { Action, ReadBack } from '../domain/action.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import { attempt } from './attempt.ts';
import { type ActContext, noSuchAction } from './context.ts';
import { isToBeCarriedOut } from './gate.ts';
import { recordFound, withdraw } from './settle.ts';
import { sideBySide } from './side-by-side.ts';

/** Errors: AppError `api_refused`, which ends the run; those of the store. */
export async function carryOut(context: ActContext, intents: readonly Intent[]): Promise<void> {
  const due = intents.filter(isToBeCarriedOut);
  await sideBySide(context, due, async (intent, done) => {
    const { action, target } = intent;
    context.progress?.({ phase: 'acting', what: `${action} ${target}`, done, total: due.length });
    await carryOutOne(context, intent);
  });
}

/** For one of several that its caller runs side by side. Errors: those of `carryOut`. */
export async function carryOutOne(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action);
  if (!action)
    return withdraw(context, intent, {
      decision: 'skip',
      reason: 'impossible_target',
      reasonText: noSuchAction(intent),
    });
  for (;;) {
    const fresh = await readOrWithdraw(context, action, intent);
    if (!fresh) return;
    const refused = await attempt(context, 'preflight', action, intent, fresh);
    if (refused === 'read_again') continue;
    if (refused?.check === 'already-so' && isSeenByReadingAlone(action, fresh))
      return recordFound(context, action, intent, fresh);
    if (refused) await withdraw(context, intent, refused);
    return;
  }
}

async function readOrWithdraw(context: ActContext, action: Action, intent: Intent): Promise<ReadBack | undefined> {
  try {
    return await action.readBack(context.api, intent.target, intent.settings);
  } catch (error) {
    await withdraw(context, intent, {
      decision: 'skip',
      reason: 'stopped',
      reasonText: `the target could not be read: ${lineOf(error)}`,
    });
    if (endsTheRun(error)) throw error;
    return undefined;
  }
}

/** No snapshot shows whether the target is in that state: if the intent were withdrawn, every run would create it again. */
function isSeenByReadingAlone(action: Action, fresh: ReadBack): boolean {
  return action.changesFleet && action.fieldWritten === undefined && fresh.records.length > 0;
}

function endsTheRun(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'api_refused' || error.code === 'stopped');
}
