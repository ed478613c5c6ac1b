// cli: `runs`: the list of runs, newest first, each with what it did. Reading only.

import { givenTime } from '../../domain/given-time.ts';
import type { RunQuery, RunStatus } from '../../domain/run.ts';
import { composeRunReader } from '../../runtime/compose/run-reader.ts';
import { withReader } from '../../runtime/compose/with-reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { type CountedRun, runLineView, runsText } from '../report/lists-text.ts';
import { type CommonOptions, countOf, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';

export interface RunsOptions extends CommonOptions {
  limit: string;
  since?: string;
  status?: RunStatus;
}

export async function runsCommand(io: Io, options: RunsOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const query: RunQuery = { limit: countOf(options.limit, '--limit', 10_000) };
  if (options.status !== undefined) query.status = options.status;
  if (options.since !== undefined) query.since = givenTime(options.since, '--since', systemClock.nowMs(), 'before');
  return withReader(composeRunReader(databaseOf(io, options)), async (reader) => {
    const runs: CountedRun[] = [];
    for (const run of await reader.runLines(query)) runs.push({ run, counts: await reader.countsOfRun(run) });
    const json = () => JSON.stringify({ runs: runs.map(runLineView) }, null, 2);
    write(io, options, format === 'json' ? json() : runsText(runs, widthOf(options)));
    return 0;
  });
}
