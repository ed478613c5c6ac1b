// act: carries out planned intents, one after the other, through the one door to the outside.
// In: committed intents. Out: each with an outcome, or withdrawn. No call without an audit entry before it.
import type { Action, ReadBack } from '../domain/action.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import type { WriteAnswer } from '../domain/ports.ts';
import { textWithoutSecrets } from '../domain/secrets.ts';
import { type ActContext, noSuchAction } from './context.ts';
import { isToBeCarriedOut } from './gate.ts';
import { isRefusedUndone, recordFound, settle, withdraw } from './settle.ts';
import { targetFacts } from './target-facts.ts';

/** Each ends with an outcome, or withdrawn. Errors: AppError `api_refused`, which ends the run. */
export async function carryOut(context: ActContext, intents: readonly Intent[]): Promise<void> {
  const due = intents.filter(isToBeCarriedOut);
  for (const [done, intent] of due.entries()) {
    const { action, target } = intent;
    context.progress?.({ phase: 'acting', what: `${action} ${target}`, done, total: due.length });
    await carryOutOne(context, intent);
  }
}

async function carryOutOne(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action);
  if (!action)
    return withdraw(context, intent, {
      decision: 'skip',
      reason: 'impossible_target',
      reasonText: noSuchAction(intent),
    });
  let fresh: ReadBack;
  try {
    fresh = await action.readBack(context.api, intent.target, intent.settings);
  } catch (error) {
    await withdraw(context, intent, {
      decision: 'skip',
      reason: 'stopped',
      reasonText: `the target could not be read: ${lineOf(error)}`,
    });
    if (endsTheRun(error)) throw error;
    return;
  }
  const refused = context.ask('preflight', await targetFacts(context, intent, fresh));
  if (refused?.check === 'already-so' && isSeenByReadingAlone(action, fresh))
    return recordFound(context, action, intent, fresh);
  if (refused) return withdraw(context, intent, refused);
  await sendAndSettle(context, action, intent, fresh);
}

/** No snapshot shows whether the target is in that state: if the intent were withdrawn, every run would create it again. */
function isSeenByReadingAlone(action: Action, fresh: ReadBack): boolean {
  return action.changesFleet && action.fieldWritten === undefined && fresh.records.length > 0;
}

/** One whole attempt. Errors: AppError `api_refused` after a 401, which ends the run; the outcome is committed before. */
export async function sendAndSettle(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
  doubtRetry = false,
): Promise<void> {
  const answer = await send(context, action, intent, fresh, doubtRetry);
  if (answer.kind !== 'done') context.counts.failures += 1;
  if (isRefusedUndone(answer)) countAttempts(context, action, -1);
  await settle(context, action, intent, answer, fresh);
  if (answer.kind === 'failed' && answer.status === 401) throw new AppError('api_refused', answer.text);
}

/**
 * Commits `sent`, then calls.
 * INVARIANT: the commit comes first, and when it fails nothing is called.
 */
async function send(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
  doubtRetry: boolean,
): Promise<WriteAnswer> {
  const { id, target, basis } = intent;
  await context.demandIntact();
  // Records earlier clock jumps now, including one that is reversed before anybody waits for this attempt or while no process runs.
  context.steady.read();
  countAttempts(context, action, 1);
  await context.store.markSent({
    intentId: id,
    run: context.counts.run,
    clocks: context.steady.agreement(),
    latency: context.quiet.unanswered(),
    notes: [
      {
        kind: 'intent.sent',
        body: {
          intent: id,
          run: context.runId,
          action: action.name,
          target,
          rules: basis.map((item) => item.rule),
          read: fresh.evidence,
          retry: doubtRetry,
        },
      },
    ],
  });
  const answer = await answerOf(context, action, intent, fresh);
  // A server may echo the request: a whole spec, with its secrets.
  return { ...answer, text: textWithoutSecrets(answer.text) };
}

function countAttempts({ counts }: ActContext, { name }: Action, more: 1 | -1): void {
  counts.attempts.set(name, (counts.attempts.get(name) ?? 0) + more);
}

async function answerOf({ api }: ActContext, action: Action, intent: Intent, fresh: ReadBack): Promise<WriteAnswer> {
  try {
    return await action.perform(api, intent.target, fresh, intent.settings);
  } catch (error) {
    return hadNoEffect(error)
      ? { kind: 'failed', status: (error as AppError).code === 'api_refused' ? 401 : undefined, text: lineOf(error) }
      : { kind: 'doubtful', status: undefined, text: lineOf(error) };
  }
}

/** Errors of the client after which nothing was done: the call was refused, or never sent. Any other error is a doubt. */
function hadNoEffect(error: unknown): boolean {
  return error instanceof AppError && ['api_refused', 'usage', 'config', 'stopped'].includes(error.code);
}

function endsTheRun(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'api_refused' || error.code === 'stopped');
}
