// system: the only place that reads the time.
import { readFileSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // From the machine's start on, and not from this process's: what was kept by an earlier one can be held against it.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stopped = () => new AppError('stopped', 'stopped while waiting');
      if (signal?.aborted) return reject(stopped());
      const onAbort = () => {
        clearTimeout(timer);
        reject(stopped());
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** Which start of which machine this is; empty where the system does not tell. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
