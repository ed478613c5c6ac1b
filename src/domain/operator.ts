// domain: what else a person can say to the engine: stop, go on, and take a reading as it is; and what a run saw of it.
import type { TrustReason } from './snapshot.ts';
import type { Source } from './subjects.ts';
import { isoTime } from './time-text.ts';

/** While it is there nothing is called: no action, undo, retry or applied plan. */
export interface Stop {
  at: number;
  by: string;
  reason: string;
}

/** For people, wherever something is not done because of it. */
export function stopText({ at, by, reason }: Stop): string {
  return `${by} stopped everything at ${isoTime(at)}: ${reason}`;
}

/** Causes of distrust that a person can overrule, since they compare a whole list with an earlier one. */
export const ACCEPTABLE_CAUSES = [
  'empty',
  'shrunk',
  'fact_moved',
  'unreadable_records',
] as const satisfies readonly TrustReason['code'][];

/** A list with these is not what the server has, whatever a person says of it. */
export function isAcceptable(code: TrustReason['code']): boolean {
  return (ACCEPTABLE_CAUSES as readonly string[]).includes(code);
}

/** A person's word that what a source showed is really so. Used up by the next reading of that source. */
export interface Acceptance {
  source: Source;
  at: number;
  by: string;
  reason: string;
  /** The run whose reading the person saw, with its causes and its number of records. */
  run: string;
  causes: TrustReason['code'][];
  count: number;
}

/** What became of an acceptance: `overrode` are the reasons that it overruled; `refused` is why it did not apply. */
export interface UsedAcceptance extends Acceptance {
  overrode: TrustReason[];
  refused: string | undefined;
}

/** What a run saw of people's steering, for its report. */
export interface RunOperatorState {
  stop: Stop | undefined;
  /** Exemptions in force whose end comes soon, and those that never matched anything. */
  ending: { id: string; about: string; owner: string; expiresAt: number }[];
  unused: { id: string; about: string; owner: string; createdAt: number }[];
  accepted: UsedAcceptance[];
}
