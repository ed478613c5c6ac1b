// run: the change window in force at this moment. In: the configured windows, the clock. Out: the window, or undefined. It holds nothing itself: the
// check `frozen` does.
import { type WindowNow, windowAt } from '../domain/change-window.ts';
import type { Engine } from './engine.ts';

export function freezeNow({
  settings,
  clock,
}: {
  settings: Pick<Engine['settings'], 'freeze'>;
  clock: Pick<Engine['clock'], 'nowMs'>;
}): WindowNow | undefined {
  return windowAt(settings.freeze ?? [], clock.nowMs());
}
