// The daemon's part of the operator commands, for the HTTP endpoint. A stop takes effect and is answered at once; a
// command that calls something, or changes the basis of a run under way, waits for its turn among the runs.

import type { OperatorPort } from '../http/index.ts';
import { acceptSnapshot, endExemption, resumeEverything, stopEverything } from '../operator/commands.ts';
import { confirmJoined } from '../operator/confirm-joined.ts';
import { exempt } from '../operator/exempt.ts';
import type { Engine } from '../run/engine.ts';
import type { Turns } from './operations.ts';

export function operatorPort(engine: Engine, turns: Turns): OperatorPort {
  /**
   * It is committed and in force; alerts go out now, not at the end of a run. INVARIANT: the answer does not wait for
   * them: they take their turn behind other alerts, and may be sent to a webhook that hangs.
   */
  const withAlerts = async <T>(change: Promise<T>): Promise<T> => {
    const answer = await change;
    void engine.afterwards?.();
    return answer;
  };
  return {
    stop: (operator) => withAlerts(stopEverything(engine, operator)),
    resume: (operator) => withAlerts(resumeEverything(engine, operator)),
    // Without a release it calls nothing, and counts from the next call on.
    exempt: (request, by) => (request.release ? turns.operate('exempt', { request, by }) : exempt(engine, request, by)),
    endExemption: (id, operator) => endExemption(engine, id, operator),
    confirmJoined: (id, operator) => confirmJoined(engine, id, operator),
    accept: (source, operator) => acceptSnapshot(engine, source, operator),
    resolve: (id, as, operator) => turns.operate('resolve', { intent: id, as, ...operator }),
    release: (target, operator) => turns.operate('release', { target, ...operator }),
    releaseRule: (rule, by, reason) => withAlerts(turns.operate('releaseRule', { rule, by, reason })),
  };
}
