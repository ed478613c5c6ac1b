// system: the only place that reads the time.
import { readFileSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Counted from the machine's start, not from this process's: values kept by an earlier process are comparable.
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

/** Which start of which machine this is; empty when the system does not report it. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
