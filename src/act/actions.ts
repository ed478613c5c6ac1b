// act: the registry of actions: one file each in actions/, one contract (domain/action.ts).
import type { Action, ActionName } from '../domain/action.ts';
import { addToBundle } from './actions/add-to-bundle.ts';
import { banDevice } from './actions/ban-device.ts';
import { deleteDevice } from './actions/delete-device.ts';
import { deleteService } from './actions/delete-service.ts';
import { disableService } from './actions/disable-service.ts';
import { enableService } from './actions/enable-service.ts';
import { notify, notifyThrough } from './actions/notify.ts';
import { removeFromBundle } from './actions/remove-from-bundle.ts';
import { unbanDevice } from './actions/unban-device.ts';
import { updateService } from './actions/update-service.ts';

export const ACTIONS: ReadonlyMap<ActionName, Action> = new Map(
  [
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
  ].map((action) => [action.name, action]),
);

/** The same where it is known which webhooks there are: a rule that names another one is refused. */
export function actionsWith(webhooks: readonly string[]): ReadonlyMap<ActionName, Action> {
  return new Map([...ACTIONS, ['notify', notifyThrough(webhooks)]]);
}
