// test: what can be seen of a case's world, without the engine: whether a rule matches, does not, or cannot know, the
// targets of an action and their state, and whom it touches. In: a stage. Out: plain answers.
import type { ActionName } from '../../../src/domain/action.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { BUNDLE, DEVICES, SERVICES, type Shape, type Subject, USERS } from '../../support/cases.ts';
import type { Stage } from './stage.ts';

/** window: it depends on events, and slides by itself. */
export type Sight = 'match' | 'no_match' | 'unknown' | 'absent' | 'window';

export const ACTION_OF: { readonly [verb: string]: ActionName } = {
  ban: 'ban_device',
  unban: 'unban_device',
  delete: 'delete_device',
  enable: 'enable_service',
  disable: 'disable_service',
  drop: 'delete_service',
  write: 'update_service',
  bundle: 'add_to_bundle',
  unbundle: 'remove_from_bundle',
};

export const INVERSE_OF: { readonly [action in ActionName]?: ActionName } = {
  ban_device: 'unban_device',
  unban_device: 'ban_device',
  enable_service: 'disable_service',
  disable_service: 'enable_service',
  add_to_bundle: 'remove_from_bundle',
  remove_from_bundle: 'add_to_bundle',
};

export const IDS: { readonly [kind in Subject['kind']]: readonly string[] } = {
  device: DEVICES,
  user: USERS,
  service: SERVICES,
};

export class Sights {
  constructor(private readonly stage: Stage) {}

  ofRule(rule: string, id: string): Sight {
    const shape = this.stage.shapeOf(rule);
    return shape ? this.of(shape, id) : 'unknown';
  }

  of({ subject: kind, trouble }: Shape, id: string): Sight {
    const record = this.stage.world.recordsOf(kind).get(id);
    if (!record) return 'absent';
    if (trouble === 'errors') return 'window';
    if (trouble === 'owners') return this.ownersInTrouble(record) ? 'match' : 'no_match';
    const field = sightOf(record[trouble === 'enabled' ? 'T1' : trouble]);
    if (trouble !== 'enabled' || field === 'no_match') return field;
    return sightOf(record.Enabled) === 'no_match' ? 'no_match' : field;
  }

  /** The target of a rule's action on a subject; only for actions that something undoes. */
  targetOf(action: ActionName, { subject: kind }: Shape, id: string): string {
    if (kind === 'device') return String(this.stage.on.platform.devices.get(id)?.SerialNumber ?? '');
    return action.endsWith('_bundle') ? `${id} ${BUNDLE}` : id;
  }

  /** Whether the target is wholly in the state that the action sets, and whether no part of it is. */
  isSo(action: ActionName, target: string): { so: boolean; reversed: boolean } {
    const { platform } = this.stage.on;
    const wanted = action === 'ban_device' || action === 'enable_service' || action === 'add_to_bundle';
    const states = action.endsWith('_device')
      ? this.devicesOf(target).map((device) => device.Banned === 'TRUE')
      : action.endsWith('_service')
        ? [platform.services.get(target)?.Enabled === 'TRUE']
        : [platform.bundles.get(BUNDLE)?.has(target.slice(0, -BUNDLE.length - 1)) === true];
    return {
      so: states.length > 0 && states.every((state) => state === wanted),
      reversed: states.every((state) => state !== wanted),
    };
  }

  /** Everybody whom an action on the target touches: devices and their owners, a user, a service. */
  touchedBy(target: string): Subject[] {
    const [first = '', last = ''] = [
      target.slice(0, target.lastIndexOf(' ')),
      target.slice(target.lastIndexOf(' ') + 1),
    ];
    const ids = new Set([target, first]);
    const devices = [...this.devicesOf(target), ...this.devicesOf(first)];
    return [
      ...SERVICES.filter((id) => ids.has(id)).map((id): Subject => ({ kind: 'service', id })),
      ...USERS.filter((id) => id === last).map((id): Subject => ({ kind: 'user', id })),
      ...devices.flatMap(({ DeviceID, Emails }): Subject[] => [
        { kind: 'device', id: String(DeviceID) },
        ...(Emails as string[]).map((id): Subject => ({ kind: 'user', id })),
      ]),
    ];
  }

  private ownersInTrouble({ Emails }: Facts): boolean {
    return (Emails as string[]).some((email) => this.stage.on.platform.users.get(email)?.Groups === 'Trouble');
  }

  private devicesOf(serial: string): Facts[] {
    return [...this.stage.on.platform.devices.values()].filter((device) => device.SerialNumber === serial);
  }
}

function sightOf(value: unknown): Sight {
  return value === 'TRUE' ? 'match' : value === 'FALSE' ? 'no_match' : 'unknown';
}
