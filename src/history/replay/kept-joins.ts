// history: joined records of `$owners` and `$devices`, kept from run to run. In: the records that changed. Out: the joins as a pull makes
// them, and for whom they changed.
import { type Facts, own } from '../../domain/facts.ts';
import type { Evaluator, Joins } from '../../domain/verdict.ts';
import { project } from '../../run/projection.ts';
import type { RecordedWorld, Views } from './recorded-world.ts';
import type { WorldSubject } from './world-kind.ts';

export class KeptJoins implements Joins {
  readonly users = new Map<string, Facts>();
  readonly devices = new Map<string, Facts[]>();
  private readonly touchedUsers: Set<WorldSubject> | undefined;
  private readonly touchedDevices: Set<WorldSubject> | undefined;
  private readonly serials = new Map<WorldSubject, string>();
  private viewKeys = '';

  constructor(
    private readonly world: RecordedWorld,
    private readonly evaluator: Evaluator,
  ) {
    if (evaluator.needs.owners) this.touchedUsers = world.kinds.user.touched();
    if (evaluator.needs.devices) this.touchedDevices = world.kinds.device.touched();
  }

  close(): void {
    this.world.kinds.user.leave(this.touchedUsers);
    this.world.kinds.device.leave(this.touchedDevices);
  }

  /** Returns the devices and users whose owners or devices have changed. */
  renew(views: Views): { device: Set<WorldSubject>; user: Set<WorldSubject> } {
    const { user, device } = this.world.kinds;
    const keys = JSON.stringify([views.user.key, views.device.key]);
    if (keys !== this.viewKeys) {
      for (const one of user.all) this.touchedUsers?.add(one);
      for (const one of device.all) this.touchedDevices?.add(one);
    }
    this.viewKeys = keys;
    return { device: this.renewUsers(views), user: this.renewDevices(views) };
  }

  private renewUsers({ user: view }: Views): Set<WorldSubject> {
    const found = new Set<WorldSubject>();
    if (!this.touchedUsers || this.touchedUsers.size === 0) return found;
    const { user, device } = this.world.kinds;
    const paths = this.evaluator.joinedPaths('users');
    for (const { id } of this.touchedUsers) {
      const email = id.toLowerCase();
      const [one] = [...user.byEmail.of(email)].sort((a, b) => (a.id < b.id ? 1 : -1));
      const record = one && view.of(one);
      if (record) this.users.set(email, project(record, paths));
      else this.users.delete(email);
      for (const owned of device.byEmail.of(email)) found.add(owned);
    }
    this.touchedUsers.clear();
    return found;
  }

  private renewDevices({ device: view }: Views): Set<WorldSubject> {
    const found = new Set<WorldSubject>();
    if (!this.touchedDevices || this.touchedDevices.size === 0) return found;
    const { user, device } = this.world.kinds;
    const paths = this.evaluator.joinedPaths('devices');
    const changed = new Set<string>();
    for (const one of this.touchedDevices) {
      const before = this.serials.get(one);
      if (before !== undefined) changed.add(before);
      if (!one.record) this.serials.delete(one);
      else {
        const serial = String(own(one.record, 'SerialNumber'));
        this.serials.set(one, serial);
        changed.add(serial);
      }
    }
    this.touchedDevices.clear();
    for (const serial of changed) {
      const those = [...device.bySerial.of(serial)].sort((a, b) => (a.id < b.id ? -1 : 1));
      if (those.length === 0) this.devices.delete(serial);
      else
        this.devices.set(
          serial,
          those.map((one) => project(view.of(one) as Facts, paths)),
        );
      for (const owner of user.bySerial.of(serial)) found.add(owner);
    }
    return found;
  }
}
