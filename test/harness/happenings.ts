// harness: what happens to the world by itself: matches come and go, services fail, people act, clocks jump, rules
// change. In: dice and the world. Out: events on the clock, at moments that may fall between any two awaits of a run.
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { Dice } from './dice.ts';
import type { Named } from './event-log.ts';
import type { Profile } from './profile.ts';
import { type BAN_FIELDS, edited, inMode } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import type { Trouble, World } from './world.ts';

const HOUR_MS = 3_600_000;
/** Small ones fall into a quiet period. */
export const JUMPS = [-HOUR_MS, HOUR_MS, -20_000, 14_000, 16_000, -14_000, 5_000, 30 * HOUR_MS];

/** The rule set in force, as people change it. */
export class RuleShelf {
  current: readonly LoadedRule[];
  /** All that ever were in it. */
  readonly seen = new Set<LoadedRule>();
  /** True time of the last change. */
  changedAtMs = 0;

  constructor(
    private readonly all: readonly LoadedRule[],
    private readonly clock: SimClock,
    private readonly profile: Pick<Profile, 'tends'>,
  ) {
    this.current = all;
    for (const rule of all) this.seen.add(rule);
  }

  get isWhole(): boolean {
    return this.current === this.all;
  }

  restore(): void {
    this.set(this.all);
  }

  /** Edits a rule, perhaps its mode as well, or lets it do no more than what a person approves. */
  edit(dice: Dice): void {
    const chosen = dice.pick(this.current.length > 0 ? this.current : this.all);
    const isSaidBetter = dice.chance(0.5) || chosen.mode === 'dry-run';
    const isMoved = this.profile.tends && dice.chance(0.3);
    const better = () =>
      isMoved ? inMode(edited(chosen), dice.pick(['enforce', 'approve', 'dry-run'])) : edited(chosen);
    const next = isSaidBetter ? better() : inMode(chosen, 'approve');
    this.set(this.current.map((rule) => (rule === chosen ? next : rule)));
  }

  private set(rules: readonly LoadedRule[]): void {
    this.current = rules;
    for (const rule of rules) this.seen.add(rule);
    this.changedAtMs = this.clock.trueMs;
  }

  /** Removes a rule, sets one to dry-run, or restores all. */
  change(dice: Dice): void {
    if (this.current !== this.all && dice.chance(0.6)) {
      this.restore();
      return;
    }
    const chosen = dice.pick(this.all);
    const dry = dice.chance(0.4);
    this.set(this.all.flatMap((rule) => (rule !== chosen ? [rule] : dry ? [inMode(rule, 'dry-run')] : [])));
  }
}

export interface Stage {
  world: World;
  clock: SimClock;
  shelf: RuleShelf;
  profile: Profile;
  dice: Dice;
  /** Of events that nothing happened for. */
  looks: Dice;
}

/** Puts a round's happenings on the clock, within so many ms from now. */
export function scheduleHappenings(stage: Stage, withinMs: number): void {
  const { dice, clock, profile } = stage;
  const at = (happen: () => void) => clock.after(dice.whole(0, withinMs), happen);
  for (let count = dice.whole(0, 2); count > 0; count -= 1) at(troubleChange(stage));
  if (dice.chance(profile.edit)) at(personEdit(stage));
  if (profile.services > 0 && dice.chance(0.3)) at(outage(stage));
  if (profile.looks) scheduleStrangers(stage, withinMs);
  if (profile.looks && stage.looks.chance(0.4)) scheduleAttack(stage, withinMs);
  if (dice.chance(profile.jump)) at(clockJump(stage));
  if (dice.chance(profile.ruleChange)) {
    const chance = dice;
    at(() => stage.shelf.change(chance));
  }
}

function troubleChange({ world, dice }: Stage): () => void {
  const { id } = dice.pick(world.born.devices);
  const field = dice.weighted<(typeof BAN_FIELDS)[number]>({ CompromisedStatus: 45, Second: 30, Third: 17, Fourth: 8 });
  const told = dice.weighted({ TRUE: 45, FALSE: 45, unlisted: 10 });
  const value: Trouble = told === 'unlisted' ? undefined : told;
  return () => world.setTrouble(id, field, value);
}

/** Several devices are compromised, one soon after the other. */
function scheduleAttack({ world, clock, looks: dice }: Stage, withinMs: number): void {
  const fromMs = dice.whole(0, withinMs);
  for (let count = dice.whole(2, 4); count > 0; count -= 1) {
    const { id } = dice.pick(world.born.devices);
    clock.after(fromMs + dice.whole(0, 20_000), () => world.setTrouble(id, 'CompromisedStatus', 'TRUE'));
  }
}

/** Events of logins, of strangers, and forged ones: with the serial number of another device, or that of nobody. */
function scheduleStrangers({ world, clock, profile, looks: dice }: Stage, withinMs: number): void {
  for (let count = dice.whole(0, profile.looks?.strangersMax ?? 0); count > 0; count -= 1) {
    const { id, serial, owner } = dice.pick(world.born.devices);
    const other = dice.pick(world.born.devices).serial;
    const named = dice.pick<Named>([
      { device: { id, serial }, email: owner },
      { device: { id } },
      { device: { serial } },
      { device: { id, serial: other } },
      { device: { id: 'stranger', serial } },
      { device: { id: 'stranger', serial: 'S-of-nobody' }, email: 'nobody@main.test' },
      { device: { id: 'stranger' } },
      { email: owner.toUpperCase() },
      { service: 'svc-of-nobody' },
    ]);
    clock.after(dice.whole(0, withinMs), () => world.log.tell(named));
  }
}

/** A person bans, unbans, disables or enables. */
function personEdit({ world, dice, profile }: Stage): () => void {
  if (profile.services > 0 && dice.chance(0.25)) {
    const { id } = dice.pick(world.born.services);
    return () =>
      world.take(
        world.now.services.find((service) => service.id === id)?.enabled === 'TRUE' ? 'disable' : 'enable',
        id,
        undefined,
      );
  }
  const banned = world.now.devices.filter((device) => device.banned === 'TRUE');
  const { serial } = dice.pick(banned.length > 0 && dice.chance(0.7) ? banned : world.born.devices);
  return () =>
    world.take(
      world.now.devices.find((device) => device.serial === serial)?.banned === 'TRUE' ? 'unban' : 'ban',
      serial,
      undefined,
    );
}

function outage({ world, dice }: Stage): () => void {
  const { id } = dice.pick(world.born.services);
  const errors = dice.whole(1, 4);
  return () => {
    for (let count = 0; count < errors; count += 1) world.log.fail(id);
  };
}

/** The engine's wall clock is set wrong, or right again. */
function clockJump({ clock, dice }: Stage): () => void {
  const offsetMs =
    clock.offsetMs !== 0 && dice.chance(0.6)
      ? 0
      : dice.pick([-HOUR_MS, HOUR_MS, -120_000, 120_000, 3 * HOUR_MS, -20_000]);
  return () => {
    clock.jump(offsetMs);
  };
}
