// console seed: moments of the past, in nanoseconds whose last digits are not zeros.
// In: the store's clock and choices. Out: 19-digit integers, as real servers send them.
import type { ConsoleStore } from '../store/store.ts';
import type { Choices } from './random.ts';

export function agoNs(store: ConsoleStore, choices: Choices, agoMs: number): bigint {
  const ms = Math.max(0, Math.floor(store.clock.nowMs() - agoMs));
  return BigInt(ms) * 1_000_000n + BigInt(choices.int(1_000_000));
}
