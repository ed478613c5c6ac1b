// test: jobs on a database of their own, on a real PostgreSQL, and handlers that a test ends. In: nothing. Out: ports, closed after each test.
import { afterEach } from 'vitest';
import {
  JOB_KIND_NAMES,
  type Job,
  type JobHandler,
  type JobKind,
  type JobState,
  type Jobs,
  type JobValue,
  type WorkSettings,
} from '../../../src/domain/jobs.ts';
import type { Listen } from '../../../src/domain/lease.ts';
import type { Log } from '../../../src/domain/ports.ts';
import { openJobs } from '../../../src/runtime/jobs/jobs.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { listening } from '../../../src/store/postgres/lease.ts';
import { PostgresPool } from '../../../src/store/postgres/pool.ts';
import { postgresError } from '../../../src/store/postgres/shared-tables.ts';
import { sharedCluster } from '../../support/postgres.ts';

const LONG_MS = 240_000;
export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export const explain = (error: unknown) => postgresError(error, 'the database of this test');

let undo: (() => Promise<unknown>)[] = [];
const release: (() => void)[] = [];
afterEach(async () => {
  // A worker stops when its jobs have ended: these first.
  for (const one of release.splice(0)) one();
  const all = undo.reverse();
  undo = [];
  for (const one of all) await one();
});
export function after(work: () => Promise<unknown>): void {
  undo.push(work);
}

/** The address of an empty database. */
export async function newDatabase(): Promise<string> {
  const cluster = await sharedCluster();
  const name = await cluster.createDatabase();
  after(() => cluster.dropDatabase(name));
  return cluster.url(name);
}

export async function opened(url: string): Promise<Jobs> {
  const jobs = await openJobs({ url, log: silent, listen: listenOn(url), clock: systemClock, explain });
  after(() => jobs.close());
  return jobs;
}

export function listenOn(url: string): Listen {
  const pool = new PostgresPool(url);
  return (channel, hearing) => listening({ pool, clock: systemClock, log: silent }, channel, hearing);
}

export interface Worker {
  /** Stops taking, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

export async function working(
  jobs: Jobs,
  handler: JobHandler,
  {
    organizations = ['acme'],
    lanes = 4,
    beside = 1,
  }: { organizations?: string[]; lanes?: number; beside?: number } = {},
): Promise<Worker> {
  const ending = new AbortController();
  const served = new Set(organizations);
  const handlers = Object.fromEntries(JOB_KIND_NAMES.map((kind) => [kind, handler])) as WorkSettings['handlers'];
  const settings = { handlers, concurrency: { lanes, beside }, organizations: () => served, signal: ending.signal };
  const { ended } = await jobs.work(settings);
  const stop = () => {
    ending.abort();
    return ended;
  };
  after(stop);
  return { stop };
}

/** A handler whose jobs go on until the test ends them. */
export function held() {
  const begun: Job[] = [];
  const ends = new Map<string, (value: JobValue) => void>();
  let noticed = Promise.withResolvers<void>();
  let isOver = false;
  const handler: JobHandler = (job) => {
    const { promise, resolve } = Promise.withResolvers<JobValue>();
    ends.set(job.id, resolve);
    begun.push(job);
    noticed.resolve();
    noticed = Promise.withResolvers();
    if (isOver) resolve(null);
    return promise;
  };
  const count = async (least: number): Promise<Job[]> => {
    while (begun.length < least) await noticed.promise;
    return begun;
  };
  const end = (id: string, value: JobValue = null) => ends.get(id)?.(value);
  release.push(() => {
    isOver = true;
    for (const id of ends.keys()) end(id);
  });
  return { handler, count, end, begun };
}

export function ended(jobs: Jobs, id: string, organization = 'acme'): Promise<JobState> {
  return jobs.answerOf({ organization, id, until: 'ended', timeoutMs: LONG_MS, signal: new AbortController().signal });
}

export function asked(jobs: Jobs, kind: JobKind, payload: JobValue = null, more: { by?: string; same?: string } = {}) {
  return jobs.ask({ organization: 'acme', kind, payload, ...more });
}
