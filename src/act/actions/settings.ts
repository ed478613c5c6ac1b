// act: the settings that an action takes in a rule's `with`.
import type { ActionName } from '../../domain/action.ts';
import type { Facts } from '../../domain/facts.ts';

/** For actions without settings: the fault names the first setting that is given. */
export function refuseAnySettings(name: ActionName): (settings: Facts) => string | undefined {
  return (settings) => {
    const first = Object.keys(settings)[0];
    return first === undefined ? undefined : `${name} takes no settings, but \`${first}\` is given`;
  };
}
