// operate: a person resolves a doubt or a failure: they record what an intent did (done, not done), or allow one more try.
// In: an intent that is unknown, parked, or failed and still to be done. Out: the changed intent. Nothing is called here: the next run does that.

import type { Action } from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { AppError } from '../../domain/errors.ts';
import { INTENT_TRANSITIONS, type Intent, type Resolution, stateOf } from '../../domain/intent.ts';
import { type Operator, saidText } from '../../domain/operator.ts';
import type { ResolvedIntent, ResolveStore } from '../../domain/store-ports.ts';
import { claimNote, claimsAfter, closedNotes, episodesAfter } from '../act/settle.ts';
import type { Engine } from '../run/engine.ts';
import { checked } from './commands.ts';

type Resolving = Pick<Engine, 'clock' | 'ids' | 'actions'> & { store: ResolveStore };

/**
 * done: `confirmed`, with its claims. not-done: `failed`, and suppressed for its episodes. retry: the next run reads it back and, if
 * it is not done, sends it once more, under all checks. Errors: AppError `not_found`, `usage` for an ambiguous beginning of its id,
 * `conflict` when it is not in doubt, or failed and nothing is left to be done.
 */
export async function resolveIntent(
  engine: Resolving,
  id: string,
  as: Resolution,
  operator: Operator,
): Promise<Intent> {
  const who = checked(operator);
  const intent = await intentOf(engine, id);
  const now = stateOf(intent);
  if (!(now in INTENT_TRANSITIONS.resolve)) {
    const which = 'only one that is unknown, parked or failed can be resolved';
    throw new AppError('conflict', `action ${intent.id} is ${now}: ${which}`);
  }
  if (now === 'failed' && !(await isOpen(engine, intent)))
    throw new AppError('conflict', `action ${intent.id} failed, and it was given up or nothing is left to be done`);
  await engine.store.resolve(await resolvedAs(engine, intent, as, who));
  return intentOf(engine, intent.id);
}

async function isOpen({ store }: Resolving, { id }: Intent): Promise<boolean> {
  return (await store.openFailures()).some((open) => open.id === id);
}

async function intentOf({ store }: Resolving, id: string): Promise<Intent> {
  const intent = await store.intent(id);
  if (!intent) throw new AppError('not_found', `there is no action \`${id}\``);
  return intent;
}

/**
 * Whether the opposite was attempted since, and may be done. Then the resolved intent is superseded: it neither ends the claims of
 * the later action nor opens one that would be undone again.
 */
async function wasReplaced({ store }: Resolving, { inverse }: Action, intent: Intent): Promise<boolean> {
  const later = await store.sentAfter(intent);
  const last = later.filter(({ outcome }) => outcome !== 'failed').at(-1);
  return last !== undefined && last.action === inverse;
}

async function resolvedAs(engine: Resolving, intent: Intent, as: Resolution, who: Operator): Promise<ResolvedIntent> {
  const { id: intentId, action, target, outcome: was } = intent;
  const note = `${who.by} says ${as}: ${saidText(who)}`;
  const body = { intent: intentId, action, target, as, was, ...who };
  const resolved: AuditNote = { kind: 'intent.resolved', body };
  switch (as) {
    case 'done': {
      const done = engine.actions.get(action);
      // An action that this version does not have opens no claim, since this version could not undo it.
      if (!done) return { intentId, note, outcome: 'confirmed', notes: [resolved] };
      const isReplaced = await wasReplaced(engine, done, intent);
      const claims = isReplaced ? [] : await claimsAfter(engine, done, intent);
      const episodes = isReplaced ? [] : await episodesAfter(engine, done, intent);
      const notes = [resolved, ...claims.map(claimNote), ...closedNotes(episodes)];
      return { intentId, note, outcome: 'confirmed', claims, episodes, notes };
    }
    case 'not-done':
      return { intentId, note, outcome: 'failed', notes: [resolved] };
    case 'retry':
      return { intentId, note, outcome: 'unknown', notes: [resolved] };
  }
}
