// metrics: jobs and workers, with PostgreSQL. What waits and what is under way everywhere is the same in each process; the rest is of one worker.
import { type Definition, WORK_BUCKETS } from './definition.ts';

export const WORKERS = [
  {
    name: 'trustward_jobs_waiting',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'Jobs that wait for a worker, in the database; those of organizations beyond the first 100 are of `(others)`',
  },
  {
    name: 'trustward_jobs_under_way',
    kind: 'gauge',
    labels: ['organization', 'kind'],
    help: 'Jobs that workers carry out now, in the database',
  },
  {
    name: 'trustward_jobs_wait_max_seconds',
    kind: 'gauge',
    labels: ['kind'],
    help: 'How long the oldest waiting job of a kind has waited, in the database; 0 when none waits',
  },
  {
    name: 'trustward_jobs_total',
    kind: 'counter',
    labels: ['organization', 'kind', 'result'],
    help: 'Jobs of this worker that ended: done, failed, or broken_off (the right to act was lost, or the worker was stopped)',
  },
  {
    name: 'trustward_job_lag_seconds',
    kind: 'histogram',
    labels: ['kind'],
    buckets: WORK_BUCKETS,
    help: 'Time from when a job was due, or asked for, until this worker began it',
  },
  {
    name: 'trustward_job_duration_seconds',
    kind: 'histogram',
    labels: ['kind'],
    buckets: WORK_BUCKETS,
    help: 'Time of a job at this worker, from its begin to its end',
  },
  {
    name: 'trustward_job_under_way_max_seconds',
    kind: 'gauge',
    help: 'How long the oldest job under way at this worker has taken; 0 when none is',
  },
  {
    name: 'trustward_jobs_fetched_timestamp_seconds',
    kind: 'gauge',
    help: 'When this worker last looked for jobs; now while all of its places are taken',
  },
  {
    name: 'trustward_leases_total',
    kind: 'counter',
    labels: ['change'],
    help: 'Leases of organizations that this worker has taken, lost, or was refused since another process acts',
  },
  {
    name: 'trustward_organizations_failing',
    kind: 'gauge',
    labels: ['organization'],
    help: '1 for an organization whose credential, webhooks or rules cannot be used, or whose last job at this worker failed within an hour; of `(others)`, their number',
  },
] as const satisfies readonly Definition[];
