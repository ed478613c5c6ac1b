// act: the registry of actions: one file each in actions/, one contract (domain/action.ts).
import type { Action, ActionName } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import { addToBundle, removeFromBundle } from './actions/bundle-membership.ts';
import { deleteDevice, deleteService } from './actions/deletions.ts';
import { notify, notifyThrough } from './actions/notify.ts';
import { banDevice, disableService, enableService, unbanDevice } from './actions/switches.ts';
import { updateService } from './actions/update-service.ts';

const ALL: readonly Action[] = [
  banDevice,
  unbanDevice,
  deleteDevice,
  enableService,
  disableService,
  deleteService,
  updateService,
  addToBundle,
  removeFromBundle,
  notify,
];

/** Errors: AppError `internal` for two of one name, and for an action that its inverse does not undo. */
export function actionsOf(all: readonly Action[]): ReadonlyMap<ActionName, Action> {
  const actions = new Map(all.map((action) => [action.name, action]));
  if (actions.size < all.length) throw new AppError('internal', 'two actions have one name');
  for (const { name, inverse } of all) {
    if (inverse !== undefined && actions.get(inverse)?.inverse !== name)
      throw new AppError('internal', `\`${name}\` names \`${inverse}\` as its inverse, which does not name it`);
  }
  return actions;
}

export const ACTIONS = actionsOf(ALL);

/** The same with known webhooks: a rule that names any other is refused. */
export function actionsWith(webhooks: readonly string[]): ReadonlyMap<ActionName, Action> {
  return new Map([...ACTIONS, [notify.name, notifyThrough(webhooks)]]);
}
