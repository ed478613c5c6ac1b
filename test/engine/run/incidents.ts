// test: what the judge of a walk remembers about the match of one rule with one subject. In: visible states. Out:
// whether it lasts. It is over when it was seen gone for as long as its rule requires.
import type { Shape } from '../../support/cases.ts';

/** A rule and a subject whose match was seen, and not seen gone since, or not for long enough. */
export interface Trouble {
  rule: string;
  subject: string;
  sinceMs: number;
  /** The operation that first saw it, or last acted on it. */
  begun: number;
  /** When a look first found it gone. */
  goneMs: number | undefined;
  /** `action target` that a look found so, or that was done for it, while it lasted. */
  so: Set<string>;
  /** Of those: what a person has changed back since. */
  reversed: Set<string>;
  /** Of those: what is ours, and is to stay while it lasts. */
  claims: Set<string>;
}

export function beginTrouble(rule: string, subject: string, sinceMs: number, begun: number): Trouble {
  return { rule, subject, sinceMs, begun, goneMs: undefined, so: new Set(), reversed: new Set(), claims: new Set() };
}

/** A look finds it gone. */
export function isOver(trouble: Trouble, { clearFor }: Shape, nowMs: number): boolean {
  trouble.goneMs ??= nowMs;
  return nowMs - trouble.goneMs >= (clearFor === '0s' ? 0 : 30_000);
}

/** A look finds it there: if it was gone, it counts from now on. */
export function seeAgain(trouble: Trouble, nowMs: number): void {
  if (trouble.goneMs !== undefined) trouble.sinceMs = nowMs;
  trouble.goneMs = undefined;
}
