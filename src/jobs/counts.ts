// jobs: how many wait and are under way, by organization and kind. In: a way to read. Out: figures. It only reads, and starts nothing.
import type { JobCount } from '../domain/jobs.ts';
import { JOB_TABLE } from './engine.ts';

export const COUNTS = `
  SELECT group_id AS organization, data->>'kind' AS kind,
    (count(*) FILTER (WHERE state < 'active'))::int AS waiting,
    (count(*) FILTER (WHERE state = 'active'))::int AS "underWay",
    coalesce(max(extract(epoch FROM now() - created_on) * 1000) FILTER (WHERE state < 'active'), 0)::float8 AS "waitingMsMax"
  FROM ${JOB_TABLE} WHERE state <= 'active' AND group_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`;

const IS_THERE = `SELECT to_regclass('${JOB_TABLE}') IS NOT NULL AS there`;

/** Undefined: no process has made the tables of the jobs, so no worker ever ran. Errors: those of `read`. */
export async function countJobs(
  read: <T extends object>(sql: string) => Promise<T[]>,
): Promise<readonly JobCount[] | undefined> {
  const [found] = await read<{ there: boolean }>(IS_THERE);
  return found?.there ? read<JobCount>(COUNTS) : undefined;
}
