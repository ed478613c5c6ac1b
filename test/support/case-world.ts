// support: the world of a case on the platform in memory: its fleet, the visible fields, failures, and people's own
// changes. In: a case's fleet. Out: records on the platform. Nothing here knows the engine.
import type { Facts } from '../../src/domain/facts.ts';
import { BUNDLE, DEVICES, type FleetCase, SERVICES, type Subject, USERS } from './cases.ts';
import type { FakeClock, Platform } from './platform.ts';

export class CaseWorld {
  constructor(
    private readonly platform: Platform,
    private readonly clock: FakeClock,
    fleet: FleetCase,
  ) {
    this.addDevices(fleet);
    this.addUsers(fleet);
    this.addServices(fleet);
    this.tellAll('device', DEVICES, fleet.devices);
    this.tellAll('user', USERS, fleet.users);
    this.tellAll('service', SERVICES, fleet.services);
  }

  recordsOf(kind: Subject['kind']): Map<string, Facts> {
    const { devices, users, services } = this.platform;
    return { device: devices, user: users, service: services }[kind];
  }

  /** A hidden field is absent. */
  tell({ kind, id }: Subject, field: string, shown: string | null): void {
    const records = this.recordsOf(kind);
    const { [field]: _, ...rest } = records.get(id) ?? {};
    if (records.has(id)) records.set(id, shown === null ? rest : { ...rest, [field]: shown });
  }

  give(id: string, owner: string): void {
    const { devices, users } = this.platform;
    Object.assign(devices.get(id) ?? {}, { Emails: [owner] });
    for (const [email, user] of users) {
      const own = [...devices.values()].filter(({ Emails }) => (Emails as string[]).includes(email));
      users.set(email, { ...user, SerialNumbers: [...new Set(own.map(({ SerialNumber }) => SerialNumber as string))] });
    }
  }

  fail(id: string): void {
    this.platform.eventLog.push({
      id: `e${this.platform.eventLog.length}`,
      created_at: this.clock.now,
      severity: 'ERROR',
      type: 'Access',
      sub_type: 'Connection',
      action: 'Unauthorized',
      result: '',
      service: { id, name: id },
    });
  }

  /** What actions on a subject are aimed at. */
  targetsOf({ kind, id }: Subject): string[] {
    if (kind === 'service') return [id, `${id} ${BUNDLE}`];
    if (kind === 'device') return [this.serialOf(id)];
    return [];
  }

  /**
   * Somebody bans or unbans, switches a service, or adds it to or removes it from the bundle. Returns the target; none
   * for a user.
   */
  byHand({ kind, id }: Subject, bundle: boolean): string | undefined {
    if (kind === 'user' || !this.recordsOf(kind).has(id)) return undefined;
    if (kind === 'service' && bundle) {
      const members = this.platform.bundles.get(BUNDLE);
      if (!members?.delete(id)) members?.add(id);
      return `${id} ${BUNDLE}`;
    }
    const field = kind === 'device' ? 'Banned' : 'Enabled';
    const value = this.recordsOf(kind).get(id)?.[field] === 'TRUE' ? 'FALSE' : 'TRUE';
    const serial = this.serialOf(id);
    const alike = kind === 'service' ? [id] : DEVICES.filter((one) => this.serialOf(one) === serial);
    for (const one of alike) this.tell({ kind, id: one }, field, value);
    return kind === 'device' ? serial : id;
  }

  private serialOf(id: string): string {
    return String(this.platform.devices.get(id)?.SerialNumber ?? '');
  }

  private addDevices({ devices }: FleetCase): void {
    devices.forEach(({ serial, platform, owners, banned }, index) => {
      const fields = { SerialNumber: serial, Platform: platform, Emails: owners, Banned: banned };
      this.platform.addDevice(DEVICES[index] as string, fields);
    });
  }

  private addUsers({ users, devices }: FleetCase): void {
    users.forEach(({ group }, index) => {
      const Email = USERS[index] as (typeof USERS)[number];
      const own = devices.filter(({ owners }) => owners.includes(Email)).map(({ serial }) => serial);
      this.platform.users.set(Email, { Email, Name: Email, Groups: group, SerialNumbers: [...new Set(own)] });
    });
  }

  private addServices({ services, listsBundles }: FleetCase): void {
    const bundled = new Set<string>();
    this.platform.bundles.set(BUNDLE, bundled);
    this.platform.listsBundles = listsBundles;
    services.forEach((service, index) => {
      const id = SERVICES[index] as string;
      const [name, cluster] = id.split('.') as [string, string];
      const spec = { ServiceSpec: JSON.stringify({ metadata: { name, cluster } }) };
      const record = { ServiceID: id, ServiceName: name, ClusterName: cluster, Enabled: service.enabled, ...spec };
      this.platform.services.set(id, record);
      if (service.bundled) bundled.add(id);
      for (let count = 0; count < service.fails; count += 1) this.fail(id);
    });
  }

  private tellAll(
    kind: Subject['kind'],
    ids: readonly string[],
    shown: readonly Pick<FleetCase['users'][0], 'T1' | 'T2'>[],
  ) {
    shown.forEach(({ T1, T2 }, index) => {
      this.tell({ kind, id: ids[index] as string }, 'T1', T1);
      this.tell({ kind, id: ids[index] as string }, 'T2', T2);
    });
  }
}
