// act: what people said, looked at again before every call: the stop switch and the exemptions.
// In: an intent and its target as just read. Out: why not to call, or nothing. Undoing is stopped, but never exempted.
import { lineOf } from '../domain/errors.ts';
import { exemptionText } from '../domain/exemption.ts';
import type { Facts } from '../domain/facts.ts';
import type { Intent } from '../domain/intent.ts';
import { stopText } from '../domain/operator.ts';
import type { ActContext, Refusal } from './context.ts';

/** INVARIANT: asked of the store, not of what the run began with: a stop counts from the moment it is given. */
export async function refusedByOperator(
  context: ActContext,
  intent: Intent,
  records: readonly Facts[],
): Promise<Refusal | undefined> {
  return (await refusedByStop(context)) ?? (await refusedByExemption(context, intent, records));
}

export async function refusedByStop(context: Pick<ActContext, 'store'>): Promise<Refusal | undefined> {
  const stop = await context.store.stop();
  return stop && { decision: 'hold', reason: 'stopped', reasonText: stopText(stop) };
}

export async function refusedByExemption(
  context: ActContext,
  intent: Intent,
  records: readonly Facts[],
): Promise<Refusal | undefined> {
  if (intent.undo) return undefined;
  try {
    const exemption = await context.exemptionOf(intent, records);
    return exemption && { decision: 'skip', reason: 'exempt', reasonText: exemptionText(exemption) };
  } catch (error) {
    const text = `whether it is exempt cannot be told: ${lineOf(error)}`;
    return { decision: 'skip', reason: 'stopped', reasonText: text };
  }
}
