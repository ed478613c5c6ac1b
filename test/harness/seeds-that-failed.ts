// harness: the seeds whose lives once failed (seeds.json), by the kind of their lives. In: some of them. Out: nothing; it throws when one fails again.
import { expect } from 'vitest';
import type { Without } from './profile.ts';
import seedsThatFailed from './seeds.json' with { type: 'json' };
import { simulate } from './simulation.ts';

export { seedsThatFailed };
export type Kind = keyof typeof seedsThatFailed;
export const KINDS = Object.keys(seedsThatFailed) as Kind[];

/** What the lives of a kind have not. */
const WITHOUT: { readonly [kind in Kind]: Without | undefined } = {
  alone: 'people',
  reversed: 'warnings',
  steered: 'reversals',
  tended: 'slowness',
  warned: undefined,
};

export async function survives(kind: Kind, seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    const { violations } = await simulate(seed, { without: WITHOUT[kind] });
    expect({ kind, seed, violations }).toEqual({ kind, seed, violations: [] });
  }
}
