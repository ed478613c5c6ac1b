// history: when an event changes what a window counts: when it comes, when it is no longer ahead of the clock, when it leaves a window. In:
// events, lengths of windows. Out: the events whose subjects are to be judged again.
import type { TrustEvent } from '../../domain/event.ts';
import { SKEW_MAX_MS } from '../../evaluate/index.ts';
import { DueTimes } from './due-times.ts';
import type { RecordedWorld } from './recorded-world.ts';
import type { WorldSubject } from './world-kind.ts';

type Keys = Pick<TrustEvent, 'deviceId' | 'serialNumber' | 'email' | 'serviceId' | 'serviceName'>;

export class EventTurns {
  private readonly due = new DueTimes<Keys>();
  private fresh: Keys[] = [];

  /** `windowsMs`: the lengths of all windows of the rules. */
  constructor(private readonly windowsMs: readonly number[]) {}

  observe(events: readonly TrustEvent[]): void {
    if (this.windowsMs.length === 0) return;
    for (const { createdAtMs, deviceId, serialNumber, email, serviceId, serviceName } of events) {
      const keys = { deviceId, serialNumber, email, serviceId, serviceName };
      this.fresh.push(keys);
      this.due.add(createdAtMs - SKEW_MAX_MS, keys);
      for (const withinMs of this.windowsMs) this.due.add(createdAtMs + withinMs + 1, keys);
    }
  }

  /** By kind, the subjects whose counts may have changed until now. */
  take(nowMs: number, world: RecordedWorld): Record<WorldSubject['kind'], Set<WorldSubject>> {
    const found = { device: new Set<WorldSubject>(), user: new Set<WorldSubject>(), service: new Set<WorldSubject>() };
    const { device, user, service } = world.kinds;
    const turned = [...this.fresh, ...this.due.take(nowMs)];
    this.fresh = [];
    for (const { deviceId, serialNumber, email, serviceId, serviceName } of turned) {
      const named = deviceId === undefined ? undefined : device.get(deviceId);
      if (named) found.device.add(named);
      if (serialNumber !== undefined) for (const one of device.bySerial.of(serialNumber)) found.device.add(one);
      if (email !== undefined) for (const one of user.byEmail.of(email.toLowerCase())) found.user.add(one);
      // There are few services, and an event may name one by its name alone.
      if (serviceId !== undefined || serviceName !== undefined) for (const one of service.all) found.service.add(one);
    }
    return found;
  }
}
