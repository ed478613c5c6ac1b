// system: the only place that reads the time.
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
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
