// support: looks at the event log between two whole runs, on the platform in memory: events of devices, and the requests that a look makes.

import type { Facts } from '../../src/domain/facts.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { WatchLook, WatchRequest } from '../../src/domain/run.ts';
import { watchCycle } from '../../src/engine/cycle.ts';
import { isQuiet } from '../../src/engine/run/look.ts';
import type { OnPlatform } from './engine-on-platform.ts';

export interface LookOptions extends Partial<Pick<WatchRequest, 'mayStartWhole'>> {
  mode?: Mode;
  missed?: number;
}

/** Whoever is told before that nothing is new is told the truth. */
export async function lookOn(
  on: Pick<OnPlatform, 'engine' | 'platform'>,
  { mode = 'enforce', missed = 0, mayStartWhole = true }: LookOptions = {},
): Promise<WatchLook> {
  const isStill = await isStillOn(on);
  const look = await watchCycle(on.engine, { mode, missedSince: () => missed, mayStartWhole });
  if (isStill && (look.result === 'acted' || look.result === 'whole' || look.events > 0))
    throw new Error(`nothing was new, and the look found ${JSON.stringify(look)}`);
  return look;
}

/** Its request is none of those that are recorded. */
export function isStillOn({ engine, platform }: Pick<OnPlatform, 'engine' | 'platform'>): Promise<boolean> {
  const { clock, store, settings, feed } = engine;
  return isQuiet({ api: platform, clock, store, settings }, feed.looks ?? {});
}

let last = 0;

/** An event at this moment; by default of the device of this id. */
export function addEvent(
  { platform, clock }: Pick<OnPlatform, 'platform' | 'clock'>,
  id: string,
  more: Facts = {},
): void {
  last += 1;
  const device = { id, serial_number: `S-${id}` };
  platform.eventLog.push({
    id: `e${String(last).padStart(6, '0')}`,
    created_at: clock.now,
    type: 'device',
    user_principal: { device },
    ...more,
  });
}

/** The device becomes compromised, and the log shows an event of it. */
export function compromise(on: OnPlatform, ...ids: string[]): void {
  for (const id of ids) {
    on.clock.pass(1_000);
    on.platform.compromised(id, 'TRUE');
    addEvent(on, id);
  }
}

/** Every request from now on, by the name of the method. */
export function recordRequests(on: OnPlatform): string[] {
  const made: string[] = [];
  on.engine.api = new Proxy(on.platform, {
    get: (platform, name) => {
      const value: unknown = Reflect.get(platform, name, platform);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (!['skewMs', 'latency', 'unansweredMs'].includes(String(name))) made.push(String(name));
        return value.apply(platform, args);
      };
    },
  });
  return made;
}

export async function addFleet(on: OnPlatform, size: number): Promise<void> {
  for (let number = 1; number <= size; number += 1) on.platform.addDevice(`d${number}`);
  await on.run();
  on.clock.pass(30_000);
}
