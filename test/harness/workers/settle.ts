// harness: the end of a torment: workers go on without any fault until nothing is open, and then end on request. In: a world. Out: nothing;
// what is still open after the most time is found by the checks.
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { WorkerLives } from './worker-lives.ts';
import { databaseOf, type WorkersWorld } from './world.ts';

const LOOK_MS = 500;

export interface Settling {
  /** How long nothing is open, and the most that is waited for it. */
  quietMs: number;
  mostMs: number;
}

export async function settle(world: WorkersWorld, lives: WorkerLives, { quietMs, mostMs }: Settling): Promise<void> {
  const sinceMs = systemClock.nowMs();
  const readers = await Promise.all(world.organizations.map(({ id }) => composeReader(databaseOf(world, id))));
  try {
    let quietSinceMs = Number.POSITIVE_INFINITY;
    for (let nowMs = sinceMs; nowMs < sinceMs + mostMs; nowMs = systemClock.nowMs()) {
      const open = await Promise.all(readers.map((reader) => isOpen(reader, sinceMs)));
      quietSinceMs = open.some(Boolean) ? Number.POSITIVE_INFINITY : Math.min(quietSinceMs, nowMs);
      if (nowMs - quietSinceMs >= quietMs) break;
      await systemClock.sleep(LOOK_MS);
    }
  } finally {
    for (const reader of readers) await reader.close();
  }
  await lives.stopAll();
}

type Reader = Awaited<ReturnType<typeof composeReader>>;

/** Until two whole runs have completed since everything is well: the second one sees what the first one did. */
async function isOpen(reader: Reader, sinceMs: number): Promise<boolean> {
  const open = [
    ...(await reader.intents({ status: 'planned' })),
    ...(await reader.intents({ status: 'sent' })),
    ...(await reader.intents({ outcome: 'unknown' })),
  ];
  if (open.length > 0) return true;
  const runs = await reader.runs(50);
  const whole = runs.filter(
    ({ trigger, status, startedAt }) => trigger === 'schedule' && status === 'completed' && startedAt >= sinceMs,
  );
  return whole.length < 2 || runs.slice(1).some(({ status }) => status === 'running');
}
