// endpoint: a run on demand, asked for here and made by a worker. In: what is asked for. Out: the run once a worker has begun it, and its end.
import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import type { AwaitJob, JobState, Jobs, JobValue } from '../domain/jobs.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { type Run, sameDryRun } from '../domain/run.ts';
import type { HttpDeps } from '../http/index.ts';
import type { Asks } from '../store/postgres/asks.ts';
import { demandDone } from '../worker/asks.ts';

export interface AskedRuns {
  jobs: Pick<Jobs, 'ask' | 'answerOf'>;
  asks: Pick<Asks, 'faultOf'>;
  /** A job has the id of its run alone. */
  reader: Pick<RecordReader, 'run'>;
  organization: string;
  /** Of the process that asks. */
  signal: AbortSignal;
}

/** Others may go before it; a run takes minutes at most. */
const BEGUN_WITHIN_MS = 10 * 60_000;
const ENDED_WITHIN_MS = 24 * 60 * 60_000;

export function runsByJobs({ jobs, asks, reader, organization, signal }: AskedRuns): HttpDeps['trigger'] {
  return async (request) => {
    const { id } = await jobs.ask({
      organization,
      kind: 'request',
      payload: JSON.parse(JSON.stringify(request)) as JobValue,
      by: request.by,
      // Repeats of a request with a key are its run, too.
      same: request.onceId === undefined ? sameDryRun(request) : `key ${request.onceId}`,
    });
    const answer = (until: AwaitJob['until'], timeoutMs: number) =>
      jobs.answerOf({ organization, id, until, timeoutMs, signal });
    const state = await answer('begun', BEGUN_WITHIN_MS);
    if (state.kind === 'waiting') throw notBegun();
    if (state.kind !== 'begun') await demandDone(asks, id, state);
    const run = await runIn(reader, state);
    const finished = answer('ended', ENDED_WITHIN_MS).then(async (end) => {
      await demandDone(asks, id, end);
      return runIn(reader, end);
    });
    // Whoever does not wait for its end leaves its failure to the record of the run.
    finished.catch(() => {});
    return { run, finished };
  };
}

/** What a worker shows of a run. */
const BEGUN = z.object({ id: z.string() });

async function runIn(reader: AskedRuns['reader'], state: JobState): Promise<Run> {
  const { id } = BEGUN.parse('value' in state ? state.value : undefined);
  const run = await reader.run(id);
  if (!run) throw new AppError('not_found', `run \`${id}\` was begun, and is no longer in the record`);
  return run;
}

function notBegun(): AppError {
  const text = `no worker has begun the run within ${BEGUN_WITHIN_MS / 60_000} minutes, and it still waits: look at \`/readyz\``;
  return new AppError('busy', text);
}
