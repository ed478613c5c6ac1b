// act: the kinds of targets that several actions share. A kind that only one action uses is in that action's file.
import type { ActionName, TargetTraits } from '../../../domain/action.ts';
import type { Facts } from '../../../domain/facts.ts';
import { hasNoKnownDevice } from '../../../domain/subjects.ts';

/** Every device of a serial number. A user has one target for each; one without a known device is a target too, so that this is reported. */
export const SERIAL: TargetTraits = {
  of: (summary) => {
    if (summary.kind !== 'user') return [summary.serial];
    return hasNoKnownDevice(summary) ? [summary.id] : (summary.serials ?? []);
  },
  identity: (target) => ['serial', target],
  serialOf: (target) => target,
};

/** A service, by its ServiceID. */
export const SERVICE: TargetTraits = {
  of: ({ id }) => [id],
  identity: (target) => ['service', target],
};

/** For actions without settings: the fault names the first setting that is given. */
export function refuseAnySettings(name: ActionName): (settings: Facts) => string | undefined {
  return (settings) => {
    const first = Object.keys(settings)[0];
    return first === undefined ? undefined : `${name} takes no settings, but \`${first}\` is given`;
  };
}
