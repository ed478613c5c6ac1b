// jobs: a log that repeats itself seldom. In: a log, a clock. Out: the same log, whose warnings of one text come once a minute: while PostgreSQL is
// gone, each lane and each clock of a worker has the same complaint every second.
import type { Clock, Log } from '../domain/ports.ts';

const AGAIN_MS = 60_000;
/** Texts are few; one that names a job is forgotten with the others. */
const TEXTS_MAX = 100;

export function seldom(log: Log, clock: Pick<Clock, 'monotonicMs'>): Log {
  const lastAt = new Map<string, number>();
  return {
    ...log,
    warn(fields, message) {
      const now = clock.monotonicMs();
      const last = lastAt.get(message);
      if (last !== undefined && now - last < AGAIN_MS) return;
      if (lastAt.size >= TEXTS_MAX) lastAt.clear();
      lastAt.set(message, now);
      log.warn(fields, message);
    },
  };
}
