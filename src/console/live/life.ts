// console live: an organization that changes over time: devices are found tampered with and recover, people log in,
// services fail. In: a seed and the clock. Out: changed rows, events and effects, a few each second. It must never stop
// the server: a failure is logged, and life continues.
import { AppError } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { choicesFrom } from '../seed/random.ts';
import { pruneEffects } from '../store/effects.ts';
import { pruneEvents } from '../store/events.ts';
import { pruneNotifications } from '../store/services.ts';
import { type ConsoleStore, nextNumber, setMeta } from '../store/store.ts';
import { administrate } from './administrator.ts';
import { openCompromises } from './compromises.ts';
import type { Life } from './moment.ts';
import { openOutages } from './outages.ts';
import { accessUnauthorized, beginIntrusion, logIn, syncMdm } from './people.ts';
import { catchUpWithTime } from './present.ts';
import { changeRegistrations } from './registrations.ts';

export interface LiveOptions {
  /** Choices repeat with it; the organization's own seed when left out. */
  seed?: number | undefined;
  /** How often life moves, ms; a second when left out. */
  tickMs?: number | undefined;
}

/** One kind of thing that happens again and again, about every `everyMs`. */
interface Activity {
  everyMs: number;
  /** Larger fleets have more of it. */
  growsWithFleet: boolean;
  happen(life: Life): void;
}

/** 400 devices have about one new compromise in 12 seconds. */
const FLEET_OF_ONE = 400;
const TIMES_MAX = 40;
const KEEP_HOUSE_MS = 20_000;

export interface LivingOrganization {
  /** Moves life on to the clock's time; called by itself while it runs. */
  tick(): void;
  stop(): Promise<void>;
}

/** Starts life; times of an old database are first moved up to now, so that not everything is stale. */
export function startLife(
  store: ConsoleStore,
  clock: Clock,
  log: Log,
  options: LiveOptions,
  seed: number,
): LivingOrganization {
  const tick = openLife(store, clock, options.seed ?? seed);
  const ending = new AbortController();
  const running = (async () => {
    // A full disk fails every moment: its beginning and its end are logged, not each second.
    let failing = false;
    while (!ending.signal.aborted) {
      await clock.sleep(options.tickMs ?? 1_000, ending.signal);
      try {
        tick();
        if (failing) log.info({}, 'the living organization continues');
        failing = false;
      } catch (error) {
        if (!failing) log.error({ error: String(error) }, 'a moment of the living organization failed');
        failing = true;
      }
    }
  })().catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'stopped')) log.error({ error: String(error) }, 'life stopped');
  });
  return {
    tick,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

function openLife(store: ConsoleStore, clock: Clock, seed: number): () => void {
  catchUpWithTime(store);
  // A restart continues with other choices than those already made.
  const choices = choicesFrom(seed * 1_000 + nextNumber(store.sql, 'life'));
  const life: Life = { store, choices, actor: { name: 'mdm', via: 'life' }, nowMs: clock.nowMs() };
  const activities = activitiesOf(life);
  // The first time of each comes early, so that a new organization is not quiet for minutes.
  const dueMs = activities.map(({ everyMs }) => life.nowMs + everyMs * choices.next() * 0.5);
  return () => {
    life.nowMs = clock.nowMs();
    store.sql.atomically(() => {
      for (const [index, activity] of activities.entries()) {
        if (life.nowMs < (dueMs[index] as number)) continue;
        dueMs[index] = life.nowMs + activity.everyMs * (0.7 + choices.next() * 0.6);
        for (let times = timesOf(store, activity); times > 0; times--) activity.happen(life);
      }
    });
  };
}

function activitiesOf(life: Life): Activity[] {
  const compromises = openCompromises(life);
  const outages = openOutages();
  const each = (everyMs: number, happen: (life: Life) => void, growsWithFleet = false): Activity => ({
    everyMs,
    growsWithFleet,
    happen,
  });
  return [
    each(1_000, compromises.recover),
    each(12_000, compromises.begin, true),
    each(3_000, logIn, true),
    each(4_000, syncMdm, true),
    each(25_000, accessUnauthorized),
    each(200_000, beginIntrusion),
    each(180_000, outages.begin),
    each(2_000, outages.goOn),
    each(150_000, administrate),
    each(45_000, changeRegistrations),
    each(KEEP_HOUSE_MS, keepHouse),
  ];
}

function timesOf(store: ConsoleStore, activity: Activity): number {
  if (!activity.growsWithFleet) return 1;
  const devices = store.sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  return Math.min(TIMES_MAX, Math.max(1, Math.floor(devices / FLEET_OF_ONE)));
}

function keepHouse(life: Life): void {
  setMeta(life.store.sql, 'alive_at_ms', String(Math.floor(life.nowMs)));
  pruneEvents(life.store);
  pruneEffects(life.store);
  pruneNotifications(life.store);
}
