// The daemon's half of people's steering: what the HTTP endpoint is handed. A stop is heard at once; what calls something, or
// changes what a run under way rests on, waits for its turn among the runs.

import type { OperatorPort } from '../http/index.ts';
import { acceptSnapshot, endExemption, resumeEverything, stopEverything } from '../operator/commands.ts';
import { exempt } from '../operator/exempt.ts';
import { releaseClaims } from '../operator/release-claims.ts';
import { resolveIntent } from '../operator/resolve-intent.ts';
import type { Engine } from '../run/engine.ts';
import type { RunQueue } from '../schedule/run-queue.ts';

export function operatorPort(engine: Engine, queue: RunQueue): OperatorPort {
  /** It is committed, and counts; people are told of it now, not when a run is over. */
  const told = async <T>(said: Promise<T>): Promise<T> => {
    const answer = await said;
    await engine.afterwards?.();
    return answer;
  };
  return {
    stop: (operator) => told(stopEverything(engine, operator)),
    resume: (operator) => told(resumeEverything(engine, operator)),
    // Without a release it calls nothing, and counts from the next call on.
    exempt: (request, by) =>
      request.release ? queue.inTurn(() => exempt(engine, request, by)) : exempt(engine, request, by),
    endExemption: (id, operator) => endExemption(engine, id, operator),
    accept: (source, operator) => acceptSnapshot(engine, source, operator),
    resolve: (id, as, operator) => queue.inTurn(() => resolveIntent(engine, id, as, operator)),
    release: (target, operator) => queue.inTurn(() => releaseClaims(engine, target, operator)),
  };
}
