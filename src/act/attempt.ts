// act: one attempt: through the door, the call, the outcome. In: an intent, its target as just read. Out: the attempt is settled; or why it
// was not made. No call without an audit entry before it, and no transport retry.
import type { Action, ReadBack } from '../domain/action.ts';
import type { Refused } from '../domain/check.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import type { WriteAnswer } from '../domain/ports.ts';
import { textWithoutSecrets } from '../domain/secrets.ts';
import type { ActContext } from './context.ts';
import type { Place } from './counts.ts';
import type { Visitor } from './door.ts';
import { isRefusedUndone, settle } from './settle.ts';
import { exemptionFacts, targetFacts } from './target-facts.ts';
import { ownersJustRead, touchedBy } from './touched.ts';

/** A read is acted on within this time; after that the target is read again. */
const READ_MS_MAX = 500;

/** Why no attempt was made. `read_again`: it had to wait for so long that the read is old. */
export type NotMade = Refused | 'read_again';

/**
 * Undefined: it is settled, or the run has ended and the intent is left as it is. Errors: AppError `api_refused` after a 401, which ends
 * the run; the outcome is committed before.
 */
export async function attempt(
  context: ActContext,
  stage: 'preflight' | 'retrying',
  action: Action,
  intent: Intent,
  fresh: ReadBack,
): Promise<NotMade | undefined> {
  const readMs = context.clock.monotonicMs();
  const exempt = await exemptionFacts(context, intent, fresh);
  const { counts, settings } = context;
  const visitor: Visitor = {
    touches: new Set([...touchedBy(intent, context.actions), ...ownersJustRead(fresh)]),
    isOld: () => context.clock.monotonicMs() - readMs > READ_MS_MAX,
    ask: async () => context.ask(stage, await targetFacts(context, intent, fresh, exempt)),
    mayChange: ({ check }) =>
      (check === 'ceiling' && counts.mayGiveBack(action.name)) ||
      (check === 'breaker' && counts.failures < settings.runFailuresMax),
    take: () => counts.take(action.name),
    send: () => markSent(context, action, intent, fresh, stage === 'retrying'),
  };
  const entry = await context.door.enter(visitor);
  if (entry.kind === 'refused') return entry.refused;
  if (entry.kind === 'read_again') return entry.kind;
  if (entry.kind === 'sent') await callAndSettle(context, action, intent, fresh, entry.place, visitor);
  return undefined;
}

/** INVARIANT: the commit comes first, and when it fails nothing is called. */
async function markSent(
  context: ActContext,
  action: Action,
  { id, target, basis }: Intent,
  fresh: ReadBack,
  retry: boolean,
): Promise<void> {
  // Records earlier clock jumps now, including one that is reversed before anybody waits for this attempt or while no process runs.
  context.steady.read();
  const rules = basis.map((item) => item.rule);
  const body = { intent: id, run: context.runId, action: action.name, target, rules, read: fresh.evidence, retry };
  await context.store.markSent({
    intentId: id,
    run: context.counts.run,
    clocks: context.steady.agreement(),
    latency: context.quiet.unanswered(),
    notes: [{ kind: 'intent.sent', body }],
  });
}

async function callAndSettle(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
  place: Place,
  visitor: Visitor,
): Promise<void> {
  let isGivenBack = false;
  try {
    const answer = await answerOf(context, action, intent, fresh);
    place.answered(answer.kind === 'done');
    if (isUnauthorized(answer)) context.door.close();
    context.door.changed();
    await settle(context, action, intent, answer, fresh);
    isGivenBack = isRefusedUndone(answer);
    if (isUnauthorized(answer)) throw new AppError('api_refused', answer.text);
  } finally {
    place.end(isGivenBack);
    context.door.leave(visitor);
  }
}

function isUnauthorized(answer: WriteAnswer): boolean {
  return answer.kind === 'failed' && answer.status === 401;
}

async function answerOf({ api }: ActContext, action: Action, intent: Intent, fresh: ReadBack): Promise<WriteAnswer> {
  const answer = await answerOrFault(() => action.perform(api, intent.target, fresh, intent.settings));
  // A server may echo the request: a whole spec, with its secrets.
  return { ...answer, text: textWithoutSecrets(answer.text) };
}

async function answerOrFault(perform: () => Promise<WriteAnswer>): Promise<WriteAnswer> {
  try {
    return await perform();
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
