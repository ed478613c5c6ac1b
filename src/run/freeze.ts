// run: the change window in force at this moment. In: the configured windows, the clock. Out: the window, or undefined. It holds nothing itself: the
// check `frozen` does.
import { type ChangeWindow, type WindowNow, windowAt } from '../domain/change-window.ts';
import type { Clock } from '../domain/ports.ts';

/** What an engine has of it. */
export interface Freezing {
  settings: { freeze?: readonly ChangeWindow[] };
  clock: Pick<Clock, 'nowMs'>;
}

export function freezeNow({ settings, clock }: Freezing): WindowNow | undefined {
  return windowAt(settings.freeze ?? [], clock.nowMs());
}
