// domain: further operator commands: stop, resume, and accept a reading; and what a run saw of them.

import { timeText } from '../base/time.ts';
import type { ActionName, CeilingUse } from './action.ts';
import { actorText } from './actor.ts';
import type { WindowNow } from './change-window.ts';
import type { Intent } from './intent.ts';
import type { Touch } from './passkey.ts';
import type { TrustReason } from './snapshot.ts';
import type { ReadingName } from './subjects.ts';

/** What a person writes beside a command (a reason, who is responsible): never empty, and at most this many characters, whichever way it comes. */
export const GIVEN_TEXT_MAX = 1_000;

/** While it is set nothing is called: no action, undo, retry or applied plan. */
export interface Stop {
  at: number;
  by: string;
  reason: string;
}

/** For people: why a run was a dry one. */
export function silenceText(sinceMs: number): string {
  return `no run was completed since ${timeText(sinceMs)}, for more than 24 hours, and a restored snapshot looks the same`;
}

/** For people, wherever the stop holds something back. */
export function stopText({ at, by, reason }: Stop): string {
  return `${actorText(by)} stopped everything at ${timeText(at)}: ${reason}`;
}

/**
 * What waits for a person, in the order of the inbox: plans without an answer or not applied whole; exemptions that persons ask for (`asked`);
 * actions that wait for a person, in doubt, failed and still to be done, and refused by the server before anything was done, also still to be done.
 */
export const INBOX_STATES = [
  'pending',
  'interrupted',
  'approved',
  'asked',
  'parked',
  'in_doubt',
  'failed',
  'refused',
] as const;
export type InboxState = (typeof INBOX_STATES)[number];

/** Causes of distrust that an operator can overrule: each compares a whole reading with earlier ones. */
const ACCEPTABLE_CAUSES = [
  'empty',
  'shrunk',
  'grown',
  'fact_moved',
  'fact_drifted',
  'count_drifted',
  'unreadable_records',
  'stands_still',
] as const satisfies readonly TrustReason['code'][];

/** A list with these causes differs from what the server has; nobody can accept it. */
export function isAcceptable(code: TrustReason['code']): boolean {
  return (ACCEPTABLE_CAUSES as readonly string[]).includes(code);
}

/** An operator's statement that a reading is correct. The next reading of that source uses it up. */
export interface Acceptance {
  source: ReadingName;
  at: number;
  by: string;
  reason: string;
  /** The run whose reading the operator saw, with its causes and its number of records. */
  run: string;
  causes: TrustReason['code'][];
  count: number;
}

/** The result of an acceptance: `overrode` are the reasons that it overruled; `refused` is why it did not apply. */
export interface UsedAcceptance extends Acceptance {
  overrode: TrustReason[];
  refused: string | undefined;
}

/** The operator commands that a run saw, and what it used of the ceilings that the operator set, for its report. */
export interface RunOperatorState {
  /** When the last run before it was completed, if so long ago that this one was a dry run. */
  silentSince?: number | undefined;
  stop: Stop | undefined;
  /** The change window in force when it decided. */
  freeze?: WindowNow | undefined;
  /** Exemptions in force that end soon, and those that never matched anything. */
  ending: { id: string; about: string; owner: string; expiresAt: number }[];
  unused: { id: string; about: string; owner: string; createdAt: number }[];
  accepted: UsedAcceptance[];
  /** Absent in runs of earlier versions. */
  ceilings?: CeilingUse[];
}

/** The result for a target that an operator released. */
export interface Released {
  target: string;
  action: ActionName;
  /** released: the claims ended. dry_run: the mode only allows a report. standing: the undo was not done (yet). */
  state: 'released' | 'dry_run' | 'standing';
  /** For people: what was done, would be done, or why it was not. */
  text: string;
  /** The undo that was sent; undefined when none was needed. */
  intent: Intent | undefined;
}

/** What a person says of what they command. */
interface Said {
  reason?: string | undefined;
  /** A ticket or change number of the organization. */
  reference?: string | undefined;
}

/** Who commands something, and what they say of it: the audit has each member. */
export interface Operator extends Said {
  /** A token's name, or one of the forms below. */
  by: string;
  /** Of a person whom a provider vouched for, when they asked: those that may approve. */
  groups?: string[] | undefined;
  /** What their passkey signed. */
  touch?: Touch | undefined;
}

/** What records keep of that, in one text; undefined: nothing was said. */
export function saidText(said: Said & { reason: string }): string;
export function saidText(said: Said): string | undefined;
export function saidText({ reason, reference }: Said): string | undefined {
  if (reference === undefined) return reason;
  return reason === undefined ? `[${reference}]` : `${reason} [${reference}]`;
}

/** The members of an input that a person says beside what is to be done. */
export function saidIn({ reason, reference }: Said): Said {
  return { reason, reference };
}
