// test: a worker in a process of its own, to be killed. Arguments: the address. One JSON a line on standard output: `ready`, then each job as
// it begins. A job with the payload `hang` never ends; others end at once, with how often they were taken over.
import { writeSync } from 'node:fs';
import { JOB_KIND_NAMES, type JobHandler, type WorkSettings } from '../../../src/domain/jobs.ts';
import type { Listen } from '../../../src/domain/lease.ts';
import { openJobs } from '../../../src/runtime/jobs/jobs.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { listening } from '../../../src/store/postgres/lease.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { postgresError } from '../../../src/store/postgres/shared-tables.ts';

const [, , url] = process.argv as [string, string, string];
const say = (value: object) => writeSync(1, `${JSON.stringify(value)}\n`);
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const handler: JobHandler = ({ id, payload, takeovers }) => {
  say({ id, takeovers });
  return payload === 'hang' ? new Promise(() => {}) : Promise.resolve(takeovers);
};
const explain = (error: unknown) => postgresError(error, 'the test');
const pool = new PostgresPool(url);
const listen: Listen = (channel, hearing) => listening({ pool, clock: systemClock, log }, channel, hearing);
const jobs = await openJobs({ url, log, listen, clock: systemClock, explain });
await jobs.work({
  handlers: Object.fromEntries(JOB_KIND_NAMES.map((kind) => [kind, handler])) as WorkSettings['handlers'],
  concurrency: { lanes: 4, beside: 1 },
  organizations: () => new Set(['acme', 'other']),
  signal: new AbortController().signal,
});
say({ ready: true });
