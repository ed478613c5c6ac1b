// harness: the kind of life of one simulation: its fleet, its rules and how often each nemesis comes. In: a seed. Out:
// plain data, so that a failing seed can be read.
import type { ChangeWindow } from '../../src/domain/change-window.ts';
import type { Guards } from '../../src/domain/guards.ts';
import { ALL, type Rollout } from '../../src/domain/rollout.ts';
import { Dice } from './dice.ts';
import { START_MS } from './sim-clock.ts';

/** The fate of one writing request. `lying`: answered as done, and its effect is late or never comes. `slow`: times out. */
export type WriteFate =
  | 'done'
  | 'lost_request'
  | 'lost_reply'
  | 'late'
  | 'slow'
  | 'error_before'
  | 'error_after'
  | 'limited'
  | 'refused'
  | 'unauthorized'
  | 'lying_late'
  | 'lying';

export type ReadFate = 'fresh' | 'stale' | 'broken' | 'unauthorized';
export type ListFate = ReadFate | 'shifted' | 'truncated' | 'repeated' | 'emptied' | 'short';

export interface Profile {
  seed: number;
  devices: number;
  /** Two devices have one serial number. */
  sharesSerial: boolean;
  services: number;
  forMs: number;
  clearForMs: number;
  cooldownMs: number;
  /** Of the first rule: targets at once. */
  limit: number;
  runCeiling: number;
  dayCeiling: number;
  rounds: number;
  /** Of a process's life: the chance that it ends before its time. */
  crashShare: number;
  /** Steps within which it then ends. */
  crashWithin: number;
  writes: { [fate in WriteFate]: number };
  reads: { [fate in ReadFate]: number };
  lists: { [fate in ListFate]: number };
  /** Chances in a round. */
  edit: number;
  jump: number;
  ruleChange: number;
  /** The server sends its time. */
  hasDate: boolean;
  /**
   * Operator commands: stop, exempt, resolve, release and edit; and rules delete and bundle. Chances in a round; or
   * none of it.
   */
  people: PeopleProfile | undefined;
  /** People mark services as exposed or retired, and rules update or delete those. */
  tends: boolean;
  /** People approve parts of plans, release all of a rule by a plan, retry what failed, and write serial numbers in another case. */
  parts: boolean;
  /** The server lists the services of a bundle. */
  listsBundles: boolean;
  /** How long a request is waited for. */
  timeoutMs: number;
  /** How many targets the engine acts on at once. */
  concurrency: number;
  /** The daemon looks at the event log between whole runs; or it does not. */
  looks: LooksProfile | undefined;
  /** People reverse what the engine has just done, where several rules claim it; or they do so by chance alone. */
  reversals: ReversalsProfile | undefined;
  /** What happens to the database beside the engine, and in which round. */
  beside: { what: 'edit' | 'replace'; round: number } | undefined;
  /** Change windows, emptied when the life settles; absent: none. */
  freeze?: ChangeWindow[];
  /** The engine does not know them: a planted bug. */
  ignoresFreeze?: boolean;
  /** Of the first rule; absent: none. */
  rollout?: Rollout;
  guards?: GuardsProfile;
  notices?: NoticesProfile;
  /** Chances in a round: a device gets another owner; somebody has a device checked again. */
  moves?: number;
  checks?: number;
}

export interface GuardsProfile extends Guards {
  /** In force from then to then, true time. */
  fromMs: number;
  toMs: number;
}

export interface NoticesProfile {
  /** Those that warn people. */
  rules: readonly string[];
  /** How messages end. `hangs`: it takes as long as a message may, and whether it arrived is not known. */
  post: { delivered: number; not_sent: number; refused: number; doubt: number; hangs: number };
}

export interface LooksProfile {
  /** From one scheduled time to the next. */
  everyMs: number;
  /** Of an event: it can be read at once, later, or never. */
  events: { soon: number; late: number; beyond: number; twice: number; never: number };
  /** Events of a round that name strangers, or are forged: at most. */
  strangersMax: number;
  /** Chances of one request for events: a 403; events in disorder. */
  forbidden: number;
  disorder: number;
  /** The first rule takes one device of an owner. */
  ownersOne: boolean;
}

const BANNING_BY_THEMSELVES = ['ban-first', 'ban-second'] as const;

export interface ReversalsProfile {
  /** That an effect of the engine is reversed. */
  chance: number;
  /** When: as soon as it is there, within the quiet period, or after it. */
  when: { soon: number; quiet: number; later: number };
  /** That a device begins to match the rules of different `for` together, in a round. */
  together: number;
  /** This rule is judged by whole runs alone. */
  unwatched: (typeof BANNING_BY_THEMSELVES)[number] | 'none';
  /** The third rule enforces, too. */
  thirdEnforces: boolean;
}

export interface PeopleProfile {
  stop: number;
  exempt: number;
  /** They release a target, or resolve a doubt. */
  release: number;
  lose: number;
  leave: number;
  enroll: number;
  edit: number;
  jump: number;
}

export const QUIET_MS = 15_000;
export const REREAD_MS = 2_000;
/** A timeout makes the quiet period no longer, or on a slow platform four times as long. */
const TIMEOUT_MS = 2_000;
const SLOW_TIMEOUT_MS = 10_000;
/** In force after a timeout of a slow platform. Most of its effects come within it, and some later. */
export const SLOW_QUIET_MS = 6 * SLOW_TIMEOUT_MS;
export const SLOW_EFFECT_MS = { within: [SLOW_TIMEOUT_MS, 45_000], beyond: [65_000, 180_000] } as const;
/** A late effect comes within this, and a stale read is not older: together less than the quiet period. */
export const LATE_MAX_MS = 7_000;
export const STALE_MAX_MS = 5_000;
/** A fresh read and what follows it, with their latencies. */
export const LOOK_MS = STALE_MAX_MS + 1_500;
/** What one request may take at most. */
export const LATENCY_MAX_MS = 400;

/**
 * Lives from before the harness was extended: without operator commands, with them and without tended services, or
 * without slow platforms, without anybody beside the engine and without parts of plans; without several calls at once; without looks; without
 * people who reverse at once what was done; or without notices, guards, rollouts, new owners and checks again.
 */
export type Without = 'people' | 'tending' | 'slowness' | 'concurrency' | 'looks' | 'reversals' | 'warnings';

const NEWER: ReadonlySet<Without> = new Set(['concurrency', 'looks', 'reversals', 'warnings']);

export function drawProfile(seed: number, without?: Without): Profile {
  const isNewer = without === undefined || NEWER.has(without);
  const profile = drawLife(seed, isNewer ? undefined : without);
  if (!isNewer) return profile;
  const slow = slowed(profile, new Dice(seed, 'slowness of the profile'));
  const beside = besieged(slow, new Dice(seed, 'beside of the profile'));
  const answered = answering(beside, new Dice(seed, 'answers of the profile'));
  if (without === 'concurrency') return answered;
  const acted = acting(answered, new Dice(seed, 'concurrency of the profile'));
  if (without === 'looks') return acted;
  const looked = looking(acted, new Dice(seed, 'looks of the profile'));
  if (without === 'reversals') return looked;
  const reversed = reversing(looked, new Dice(seed, 'reversals of the profile'));
  return without === 'warnings' ? reversed : warning(reversed, new Dice(seed, 'warnings of the profile'));
}

/** In these lives some rules warn people, a rule begins with a share, guards ask, devices get other owners, and people have them checked again. */
function warning(profile: Profile, dice: Dice): Profile {
  if (!dice.chance(0.6)) return profile;
  return {
    ...profile,
    ...(dice.chance(0.5) && { notices: drawNotices(dice) }),
    ...(dice.chance(0.5) && { guards: drawGuards(dice) }),
    ...(dice.chance(0.4) && { rollout: drawRollout(dice) }),
    ...(dice.chance(0.5) && { moves: 0.3 * dice.share() }),
    ...(dice.chance(0.6) && { checks: 0.1 + 0.4 * dice.share() }),
  };
}

function drawNotices(dice: Dice): NoticesProfile {
  const trouble = (most: number) => (dice.chance(0.3) ? 0 : most * dice.share());
  const others = ['ban-second', 'ban-third', 'unmap-leaver'].filter(() => dice.chance(0.4));
  const post = { delivered: 60, not_sent: trouble(30), refused: trouble(10), doubt: trouble(15), hangs: trouble(10) };
  return { rules: ['ban-first', ...others], post };
}

function drawGuards(dice: Dice): GuardsProfile {
  const selectors: Guards['ask'][number]['selector'][] = [
    { kind: 'device', field: 'Platform', value: 'macOS' },
    { kind: 'user', field: 'Email', value: 'u0@main.test' },
    { kind: 'device', field: 'SerialNumber', value: 'S-2' },
  ];
  const asked = selectors.filter((_, at) => dice.chance(at === 0 ? 0.15 : 0.4));
  const fromMs = START_MS + dice.whole(0, 1_200_000);
  return {
    ask: asked.map((selector) => ({ selector, reason: undefined })),
    lastDevice: dice.chance(0.5),
    perDay: dice.chance(0.5) ? dice.whole(1, 2) : undefined,
    fromMs,
    toMs: dice.chance(0.5) ? fromMs + dice.whole(300_000, 1_800_000) : Number.POSITIVE_INFINITY,
  };
}

/** A share of one percent is nobody here. */
function drawRollout(dice: Dice): Rollout {
  return {
    steps: dice.pick([
      [ALL / 2, ALL],
      [ALL / 4, ALL / 2, ALL],
      [ALL / 100, ALL],
    ]),
    eachMs: dice.pick([60_000, 600_000, 3_600_000]),
    brake: { reversed: dice.whole(1, 2), exempted: dice.whole(1, 2) },
    meaning: 'of the simulation',
  };
}

/** In these lives a device matches rules of different `for` together, and what they do to it is reversed at once, or within the quiet period. */
function reversing(profile: Profile, dice: Dice): Profile {
  if (!dice.chance(0.5)) return profile;
  const reversals: ReversalsProfile = {
    chance: 0.2 + 0.5 * dice.share(),
    when: { soon: 2, quiet: 6, later: 3 },
    together: 0.3 + 0.4 * dice.share(),
    unwatched: dice.pick<ReversalsProfile['unwatched']>([...BANNING_BY_THEMSELVES, 'none']),
    thirdEnforces: dice.chance(0.5),
  };
  return { ...profile, reversals, forMs: dice.pick([0, 2_000, 2_000, 20_000]) };
}

/** Limits and ceilings are reached by looks in some of these lives. */
function looking(profile: Profile, dice: Dice): Profile {
  if (!dice.chance(0.5)) return profile;
  const trouble = (most: number) => (dice.chance(0.4) ? 0 : most * dice.share());
  const looks: LooksProfile = {
    everyMs: dice.pick([60_000, 600_000, 1_800_000]),
    events: { soon: 10, late: trouble(3), beyond: trouble(1), twice: trouble(2), never: trouble(2) },
    strangersMax: dice.whole(0, 3),
    forbidden: trouble(0.04),
    disorder: trouble(0.04),
    ownersOne: dice.chance(0.2),
  };
  const limit = dice.chance(0.3) ? dice.whole(1, 3) : profile.limit;
  const runCeiling = dice.chance(0.3) ? dice.whole(1, 3) : profile.runCeiling;
  return { ...profile, looks, limit, runCeiling };
}

/** More devices match at once in these lives, and ceilings are reached while calls are under way. */
function acting(profile: Profile, dice: Dice): Profile {
  if (!dice.chance(0.5)) return profile;
  const dayCeiling = dice.chance(0.3) ? dice.whole(3, 8) : profile.dayCeiling;
  return { ...profile, concurrency: dice.pick([2, 8, 8]), devices: profile.devices + dice.whole(0, 6), dayCeiling };
}

export function isSlow({ writes }: Profile): boolean {
  return writes.slow > 0;
}

function drawLife(seed: number, without?: Without): Profile {
  const dice = new Dice(seed, 'profile');
  const calm = dice.chance(0.1);
  const trouble = (weight: number) => (calm || dice.chance(0.35) ? 0 : weight * (0.3 + dice.share()));
  return {
    seed,
    devices: dice.whole(5, 10),
    sharesSerial: dice.chance(0.3),
    services: dice.chance(0.4) ? dice.whole(1, 2) : 0,
    forMs: dice.chance(0.3) ? dice.pick([20_000, 90_000]) : 0,
    clearForMs: dice.chance(0.3) ? dice.pick([20_000, 90_000]) : 0,
    cooldownMs: dice.chance(0.25) ? 300_000 : 0,
    limit: dice.chance(0.2) ? 2 : 100,
    runCeiling: dice.chance(0.25) ? dice.whole(1, 2) : 50,
    dayCeiling: dice.chance(0.2) ? dice.whole(3, 8) : 1_000,
    rounds: dice.whole(24, 48),
    crashShare: dice.pick([0.6, 0.85, 0.97]),
    crashWithin: dice.pick([40, 90, 160]),
    writes: {
      done: 6,
      lost_request: trouble(1.5),
      lost_reply: trouble(1.5),
      late: trouble(1.5),
      error_before: trouble(0.7),
      error_after: trouble(0.7),
      limited: trouble(0.8),
      refused: trouble(0.4),
      unauthorized: trouble(0.3),
      lying_late: trouble(0.7),
      lying: trouble(0.4),
      slow: 0,
    },
    reads: { fresh: 10, stale: trouble(2), broken: trouble(0.5), unauthorized: trouble(0.1) },
    lists: {
      fresh: 10,
      stale: trouble(2),
      broken: trouble(0.4),
      unauthorized: trouble(0.1),
      shifted: trouble(0.5),
      truncated: trouble(0.4),
      repeated: trouble(0.4),
      emptied: trouble(0.3),
      short: trouble(0.4),
    },
    edit: trouble(0.35),
    jump: trouble(0.12),
    ruleChange: trouble(0.2),
    hasDate: dice.chance(0.7),
    timeoutMs: TIMEOUT_MS,
    concurrency: 1,
    looks: undefined,
    reversals: undefined,
    beside: undefined,
    parts: false,
    ...(without === 'people'
      ? { people: undefined, listsBundles: false, tends: false }
      : drawPeople(new Dice(seed, 'people of the profile'))),
    ...((without === undefined || without === 'slowness') && drawTending(new Dice(seed, 'tending of the profile'))),
  };
}

function slowed(profile: Profile, dice: Dice): Profile {
  if (!dice.chance(0.2)) return profile;
  return { ...profile, timeoutMs: SLOW_TIMEOUT_MS, writes: { ...profile.writes, slow: 1 + 3 * dice.share() } };
}

/** Lives without people have no file outside, so no key. */
function besieged(profile: Profile, dice: Dice): Profile {
  const what = dice.weighted({ edit: 20, replace: 12, nothing: 68 });
  if (what === 'nothing' || !profile.people) return profile;
  return { ...profile, beside: { what, round: dice.whole(4, profile.rounds - 1) } };
}

/** In some of these lives the credential is refused again and again. */
function answering(profile: Profile, dice: Dice): Profile {
  if (!profile.people || !dice.chance(0.5)) return profile;
  const unauthorized = dice.chance(0.4) ? 1 + 3 * dice.share() : profile.writes.unauthorized;
  return { ...profile, parts: true, writes: { ...profile.writes, unauthorized } };
}

function drawTending(dice: Dice): Partial<Profile> {
  return dice.chance(0.35) ? { tends: true, services: dice.whole(1, 2) } : {};
}

function drawPeople(dice: Dice): Pick<Profile, 'people' | 'listsBundles' | 'tends'> & Partial<Profile> {
  if (dice.chance(0.2)) return { people: undefined, listsBundles: false, tends: false };
  const chance = (most: number) => (dice.chance(0.3) ? 0 : most * (0.3 + dice.share()));
  const people: PeopleProfile = {
    stop: chance(0.08),
    exempt: chance(0.2),
    release: chance(0.25),
    lose: chance(0.15),
    leave: chance(0.15),
    enroll: chance(0.2),
    edit: chance(0.2),
    jump: chance(0.2),
  };
  const lives = { rounds: dice.whole(36, 64), crashWithin: dice.pick([20, 60, 120]) };
  return { people, listsBundles: dice.chance(0.4), tends: false, ...lives };
}
