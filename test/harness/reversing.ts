// harness: people who reverse what the engine has just done, most of them within the quiet period, where several rules claim it. In: effects of the
// engine, dice. Out: their own changes, on the clock. Nothing here knows the engine.
import type { Dice } from './dice.ts';
import { LATE_MAX_MS, QUIET_MS, type ReversalsProfile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';
import { INVERSE_OF } from './truth.ts';
import type { Verb, World } from './world.ts';

export interface ReversingParts {
  world: World;
  clock: SimClock;
  dice: Dice;
  reversals: ReversalsProfile;
  /** Nobody does anything by chance any more. */
  isCalm(): boolean;
}

/** After the effect. The last ones come before a life settles. */
const AFTER_MS = { soon: [0, 400], quiet: [400, QUIET_MS], later: [QUIET_MS, QUIET_MS + 20_000] } as const;

/** Waits for effects of the engine from now on. */
export function reverseEffects({ world, clock, dice, reversals, isCalm }: ReversingParts): void {
  world.onChanged = (verb, target) => {
    if (isCalm() || !REVERSED.has(verb) || !dice.chance(reversals.chance)) return;
    const [from, to] = AFTER_MS[dice.weighted(reversals.when)];
    clock.after(dice.whole(from, to), () => world.take(INVERSE_OF[verb], target, undefined));
  };
}

/** What people do to a device or a service with one click; also what the engine undid. */
const REVERSED: ReadonlySet<Verb> = new Set(['ban', 'unban', 'disable', 'enable', 'bundle', 'unbundle']);

/** A device begins to match two rules of different `for`, one soon after the other, and one of them may clear. */
export function scheduleTogether({ world, clock, dice, reversals }: ReversingParts, withinMs: number): void {
  if (!dice.chance(reversals.together)) return;
  const { id } = dice.pick(world.born.devices);
  const fields = dice.pick([
    ['CompromisedStatus', 'Second'],
    ['Second', 'CompromisedStatus'],
    ['CompromisedStatus', 'Third'],
    ['Second', 'Third'],
  ] as const);
  const atMs = dice.whole(0, withinMs);
  for (const field of fields) clock.after(atMs + dice.whole(0, LATE_MAX_MS), () => world.setTrouble(id, field, 'TRUE'));
  const [first] = fields;
  const cleared = dice.whole(LATE_MAX_MS, 2 * QUIET_MS);
  if (dice.chance(0.4)) clock.after(atMs + cleared, () => world.setTrouble(id, first, 'FALSE'));
}
