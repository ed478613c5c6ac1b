// endpoint: a run on demand, asked for here and made by a worker. In: what is asked for. Out: the run once a worker has begun it, and its end.
import { AppError } from '../domain/errors.ts';
import type { AwaitJob, JobState, Jobs, JobValue } from '../domain/jobs.ts';
import type { Run, RunRequest } from '../domain/run.ts';
import type { HttpDeps } from '../http/index.ts';
import { demandDone } from '../worker/asks.ts';

export interface AskedRuns {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  organization: string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** Others may go before it; a run takes minutes at most. */
const BEGUN_WITHIN_MS = 10 * 60_000;
const ENDED_WITHIN_MS = 24 * 60 * 60_000;

export function runsByJobs({ jobs, organization, signal }: AskedRuns): HttpDeps['trigger'] {
  return async (request) => {
    const { id } = await jobs.ask({
      organization,
      kind: 'request',
      payload: JSON.parse(JSON.stringify(request)) as JobValue,
      by: request.by,
      same: sameOf(request),
    });
    const answer = (until: AwaitJob['until'], timeoutMs: number) =>
      jobs.answerOf({ organization, id, until, timeoutMs, signal });
    const state = await answer('begun', BEGUN_WITHIN_MS);
    const run = runIn(state);
    if (!run) demandDone(state); // it throws: a job that is done has a run
    const finished = answer('ended', ENDED_WITHIN_MS).then((end) => {
      demandDone(end);
      return runIn(end) as Run;
    });
    // Whoever does not wait for its end leaves its failure to the record of the run.
    finished.catch(() => {});
    return { run: run as Run, finished };
  };
}

/** Equal dry runs that wait are one. A request with a key has a run of its own, which is stored with the key: its repeats are that one. */
function sameOf({ mode, rules, onceId }: RunRequest): string | undefined {
  if (onceId !== undefined) return `key ${onceId}`;
  if (mode !== 'dry-run') return undefined;
  return JSON.stringify(rules ? [...rules].sort() : null);
}

function runIn(state: JobState): Run | undefined {
  if (state.kind === 'waiting')
    throw new AppError(
      'busy',
      `no worker has begun the run within ${BEGUN_WITHIN_MS / 60_000} minutes, and it still waits: look at \`/readyz\``,
    );
  return 'value' in state && state.value !== undefined ? (state.value as unknown as Run) : undefined;
}
