// domain: ceilings: how often an action may be attempted in one run and in 24 hours. Nothing exceeds them. decide/
// predicts what act/ will refuse; only act/ enforces, at its one door.

import type { ActionName, ActionTraits } from './action.ts';
import type { SubjectKind } from './subjects.ts';

export interface CeilingSettings {
  run: { max: number; percent: number };
  day: { max: number; percent: number };
}

/** Defaults (design, section 9): per run max(50, 5 %), per 24 h max(100, 10 %) of the subjects in the snapshot. */
export const CEILINGS_DEFAULT: CeilingSettings = { run: { max: 50, percent: 5 }, day: { max: 100, percent: 10 } };

export type CeilingWindow = 'run' | '24h';

/** What a run used of a ceiling, as it is kept with the run. */
export interface CeilingUse {
  action: ActionName;
  window: CeilingWindow;
  used: number;
  allowed: number;
}

/** The subjects that an action's percentages are of: the same for deciding and acting, whoever's rule names it. */
export function ceilingSubject({ subjects }: Pick<ActionTraits, 'subjects'>): SubjectKind {
  return subjects[0] ?? 'device';
}

/** How many attempts of one action are allowed at this moment. */
export function attemptsAllowed(
  settings: CeilingSettings,
  counts: { subjects: number; thisRun: number; lastDay: number },
): number {
  const run = ceilingOf(settings.run, counts.subjects) - counts.thisRun;
  const day = ceilingOf(settings.day, counts.subjects) - counts.lastDay;
  return Math.max(0, Math.min(run, day));
}

/** The greater of a number and a share of the subjects. */
export function ceilingOf({ max, percent }: CeilingSettings['run'], subjects: number): number {
  return Math.max(max, share(percent, subjects));
}

/** A percentage of a count, rounded up, so that 2 % of 40 is one. */
export function share(percent: number, count: number): number {
  return Math.ceil((percent * count) / 100 - 1e-9);
}
