// harness: judges a writing request against the change windows of a life: nothing acts in one, except in the moment between preflight and the call.
// Undoing goes on. In: a request, its intent. Out: violations; how many undos went through.
import { type ChangeWindow, isIn, parseWindows } from '../../src/domain/change-window.ts';
import type { Intent } from '../../src/domain/intent.ts';
import { BETWEEN_MS, type Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';

/** Half of a life is in one: fifteen minutes of each half hour, in a zone whose hours are not those of UTC. */
export function halfOfTheTime(): ChangeWindow[] {
  const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
  const text = hours.map((hour) => `${hour}:05-${hour}:20; ${hour}:35-${hour}:50`).join('; ');
  return parseWindows(text, 'Asia/Kolkata').windows;
}

export function checkFreeze(checker: Checker, { atMs, target }: PlatformRequest, intent: Intent): void {
  const { clock, profile } = checker;
  const hasJumped = clock.jumps.some((jumpMs) => jumpMs >= atMs - BETWEEN_MS);
  if (profile.freeze === undefined || hasJumped) return;
  const isFrozen = (wallMs: number) => profile.freeze?.some((window) => isIn(window, wallMs)) === true;
  const wallMs = atMs + clock.offsetMs;
  if (!isFrozen(wallMs) || !isFrozen(wallMs - BETWEEN_MS)) return;
  if (intent.undo) checker.undoneInFreeze += 1;
  else checker.report('in_freeze', `${intent.action} ${target}: sent in a change window`);
}
