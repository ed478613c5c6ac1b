// harness: what was really so, from the world's versions alone: whether a rule's match could be seen, or could be seen
// cleared, within a stretch of true time. Nothing here asks the engine.
import { ERRORS_MIN, FIELD_OF, SERVICE_FIELD_OF, USER_RULE, WINDOW_MS } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import { BUNDLE, type Trouble, type Verb, type Version, type World } from './world.ts';

/** The possible results of a read: a match, its absence, or neither. */
export type Sight = 'match' | 'no_match' | 'unknown';

export const ACTION_OF: { readonly [verb in Verb]: string } = {
  ban: 'ban_device',
  unban: 'unban_device',
  disable: 'disable_service',
  enable: 'enable_service',
  delete: 'delete_device',
  unmap: 'delete_device',
  bundle: 'add_to_bundle',
  unbundle: 'remove_from_bundle',
  tighten: 'update_service',
  loosen: 'done by people alone',
  remove: 'delete_service',
  enroll: 'done by people alone',
};
/** What takes it back; of what cannot be undone it is what people do. */
export const INVERSE_OF: { readonly [verb in Verb]: Verb } = {
  ban: 'unban',
  unban: 'ban',
  disable: 'enable',
  enable: 'disable',
  delete: 'enroll',
  unmap: 'enroll',
  bundle: 'unbundle',
  unbundle: 'bundle',
  tighten: 'loosen',
  loosen: 'tighten',
  remove: 'enroll',
  enroll: 'delete',
};

/** Deleting is about a whole device, or about one user's mapping to it, which the target names. */
export function verbOf(action: string, target: string): Verb {
  if (action === 'delete_device') return target.includes('@') ? 'unmap' : 'delete';
  return Object.entries(ACTION_OF).find(([, name]) => name === action)?.[0] as Verb;
}

/** Clocks are read a little before and after the events that they date. */
const SLACK_MS = 10_000;

export class Truth {
  constructor(
    private readonly world: World,
    private readonly clock: SimClock,
  ) {}

  /**
   * Whether a read at some moment of the stretch could have found this. For windows, ends as far as the engine's clock
   * may err.
   */
  couldSee(sight: Sight, rule: string, subject: string, fromMs: number, toMs: number): boolean {
    if (rule in ERRORS_MIN) return this.couldCount(rule, sight, subject, fromMs, toMs);
    return this.world.during(fromMs, toMs).some((version) => sightOf(version, rule, subject) === sight);
  }

  /** Whether every read within the stretch found this. */
  alwaysSaw(sight: Sight, rule: string, subject: string, fromMs: number, toMs: number): boolean {
    if (rule in ERRORS_MIN) return false; // windows end where the engine's clock says: never certain here
    return this.world.during(fromMs, toMs).every((version) => sightOf(version, rule, subject) === sight);
  }

  /** Whether the target was in the state that the verb sets, throughout. */
  wasSoThroughout(verb: Verb, target: string, fromMs: number, toMs: number): boolean {
    return this.world.during(fromMs, toMs).every((version) => isSo(version, verb, target));
  }

  wasSoAtTimes(verb: Verb, target: string, fromMs: number, toMs: number): boolean {
    return this.world.during(fromMs, toMs).some((version) => isSo(version, verb, target));
  }

  /** The engine's window may have ended anywhere between true time and its own wall clock, however wrong that ever was. */
  private couldCount(rule: string, sight: Sight, service: string, fromMs: number, toMs: number): boolean {
    const least = ERRORS_MIN[rule] as number;
    const skew = this.clock.offsetMaxMs;
    const own = this.world.events.filter((event) => event.isError && event.service === service);
    const count = (from: number, to: number, seen = own) => seen.filter(({ atMs }) => atMs > from && atMs <= to).length;
    if (sight === 'match') return count(fromMs - WINDOW_MS - skew - SLACK_MS, toMs + skew) >= least;
    if (skew > SLACK_MS) return true;
    // One that came late may never have been read.
    const inTime = own.filter(({ atMs, seenMs }) => seenMs === atMs);
    return count(toMs - WINDOW_MS + SLACK_MS, fromMs - SLACK_MS, inTime) < least;
  }
}

export function sightOf(version: Version, rule: string, subject: string): Sight {
  const value = troubleIn(version, rule, subject);
  return value === 'TRUE' ? 'match' : value === 'FALSE' ? 'no_match' : 'unknown';
}

function troubleIn({ devices, services, users }: Version, rule: string, subject: string): Trouble {
  if (rule === USER_RULE) return users.find(({ email }) => email === subject)?.leaver;
  const ofService = SERVICE_FIELD_OF[rule];
  if (ofService) return services.find(({ id }) => id === subject)?.trouble[ofService];
  const field = FIELD_OF[rule];
  return field && devices.find(({ id }) => id === subject)?.trouble[field];
}

/** Whether the target is in the state of the verb. A missing target is neither banned nor not. */
export function isSo({ devices, services, users }: Version, verb: Verb, target: string): boolean {
  switch (verb) {
    case 'ban':
    case 'unban': {
      const own = devices.filter(({ serial }) => serial === target);
      return own.length > 0 && own.every(({ banned }) => banned === (verb === 'ban' ? 'TRUE' : 'FALSE'));
    }
    case 'enable':
    case 'disable':
      return services.every(({ id, enabled }) => id !== target || enabled === (verb === 'enable' ? 'TRUE' : 'FALSE'));
    case 'bundle':
    case 'unbundle': {
      const wanted = verb === 'bundle' ? 'TRUE' : 'FALSE';
      return services.every(({ id, bundled }) => `${id} ${BUNDLE}` !== target || bundled === wanted);
    }
    case 'tighten':
    case 'loosen':
      return services.every(({ id, tls }) => id !== target || tls === (verb === 'tighten' ? 'TRUE' : 'FALSE'));
    case 'remove':
      return services.every(({ id }) => id !== target);
    case 'delete':
      return devices.every(({ serial }) => serial !== target);
    case 'unmap':
      return users.every(({ email, serials }) => serials.every((serial) => `${serial} ${email}` !== target));
    case 'enroll':
      return true;
  }
}
