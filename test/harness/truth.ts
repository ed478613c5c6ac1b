// harness: what was really so, told from the world's versions alone: whether a rule's trouble could be seen, or could be
// seen gone, within a stretch of true time. Nothing here asks the engine.
import { ERRORS_MIN, FIELD_OF, SERVICE_RULE, WINDOW_MS } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import type { Verb, Version, World } from './world.ts';

/** What a look can find: trouble, its absence, or nothing that tells. */
export type Sight = 'match' | 'no_match' | 'unknown';

export const ACTION_OF: { readonly [verb in Verb]: string } = {
  ban: 'ban_device',
  unban: 'unban_device',
  disable: 'disable_service',
  enable: 'enable_service',
};
export const VERB_OF: { readonly [action: string]: Verb | undefined } = Object.fromEntries(
  Object.entries(ACTION_OF).map(([verb, action]) => [action, verb as Verb]),
);
export const INVERSE_OF: { readonly [verb in Verb]: Verb } = {
  ban: 'unban',
  unban: 'ban',
  disable: 'enable',
  enable: 'disable',
};

/** Clocks are read a little before and after what they date. */
const SLACK_MS = 10_000;

export class Truth {
  constructor(
    private readonly world: World,
    private readonly clock: SimClock,
  ) {}

  /** Whether a look at some moment of the stretch could have found this. For windows, ends as far as the engine's clock may err. */
  couldSee(sight: Sight, rule: string, subject: string, fromMs: number, toMs: number): boolean {
    if (rule === SERVICE_RULE) return this.couldCount(sight, subject, fromMs, toMs);
    return this.world.during(fromMs, toMs).some((version) => deviceSight(version, rule, subject) === sight);
  }

  /** Whether every look within the stretch found this. */
  alwaysSaw(sight: Sight, rule: string, subject: string, fromMs: number, toMs: number): boolean {
    if (rule === SERVICE_RULE) return false; // windows end where the engine's clock says: never certain here
    return this.world.during(fromMs, toMs).every((version) => deviceSight(version, rule, subject) === sight);
  }

  /** Whether the target was in the state that the verb sets, throughout. */
  wasSoThroughout(verb: Verb, target: string, fromMs: number, toMs: number): boolean {
    return this.world.during(fromMs, toMs).every((version) => isSo(version, verb, target));
  }

  wasSoAtTimes(verb: Verb, target: string, fromMs: number, toMs: number): boolean {
    return this.world.during(fromMs, toMs).some((version) => isSo(version, verb, target));
  }

  /** The engine's window may have ended anywhere between true time and its own wall clock, however wrong that ever was. */
  private couldCount(sight: Sight, service: string, fromMs: number, toMs: number): boolean {
    const skew = this.clock.offsetMaxMs;
    const own = this.world.events.filter((event) => event.service === service).map(({ atMs }) => atMs);
    const count = (from: number, to: number) => own.filter((atMs) => atMs > from && atMs <= to).length;
    if (sight === 'match') return count(fromMs - WINDOW_MS - skew - SLACK_MS, toMs + skew) >= ERRORS_MIN;
    if (skew > SLACK_MS) return true;
    return count(toMs - WINDOW_MS + SLACK_MS, fromMs - SLACK_MS) < ERRORS_MIN;
  }
}

export function deviceSight(version: Version, rule: string, subject: string): Sight {
  const field = FIELD_OF[rule];
  const value = field && version.devices.find(({ id }) => id === subject)?.trouble[field];
  return value === 'TRUE' ? 'match' : value === 'FALSE' ? 'no_match' : 'unknown';
}

export function isSo(version: Version, verb: Verb, target: string): boolean {
  switch (verb) {
    case 'ban':
    case 'unban': {
      const wanted = verb === 'ban' ? 'TRUE' : 'FALSE';
      return version.devices.every((device) => device.serial !== target || device.banned === wanted);
    }
    case 'enable':
    case 'disable': {
      const wanted = verb === 'enable' ? 'TRUE' : 'FALSE';
      return version.services.every((service) => service.id !== target || service.enabled === wanted);
    }
  }
}
