// The daemon's half of people's steering: what the HTTP endpoint is handed. A stop is heard at once; what calls something, or
// changes what a run under way rests on, waits for its turn among the runs.

import type { SteeringPort } from '../http/index.ts';
import { acceptSnapshot, endExemption, resumeEverything, stopEverything } from '../operator/commands.ts';
import { exempt } from '../operator/exempt.ts';
import { releaseClaims } from '../operator/release-claims.ts';
import { resolveIntent } from '../operator/resolve-intent.ts';
import type { Engine } from '../run/engine.ts';
import type { RunQueue } from '../schedule/run-queue.ts';

export function steeringPort(engine: Engine, queue: RunQueue): SteeringPort {
  /** It is committed, and counts; people are told of it now, not when a run is over. */
  const told = async <T>(said: Promise<T>): Promise<T> => {
    const answer = await said;
    await engine.afterwards?.();
    return answer;
  };
  return {
    stop: (person) => told(stopEverything(engine, person)),
    resume: (person) => told(resumeEverything(engine, person)),
    // Without a release it calls nothing, and counts from the next call on.
    exempt: (request, by) =>
      request.release ? queue.inTurn(() => exempt(engine, request, by)) : exempt(engine, request, by),
    endExemption: (id, person) => endExemption(engine, id, person),
    accept: (source, person) => acceptSnapshot(engine, source, person),
    resolve: (id, as, person) => queue.inTurn(() => resolveIntent(engine, id, as, person)),
    release: (target, person) => queue.inTurn(() => releaseClaims(engine, target, person)),
  };
}
