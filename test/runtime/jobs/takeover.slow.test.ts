// jobs: what becomes of the work of a worker that was killed, and of all work when PostgreSQL ends in between.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { JOB_TABLE } from '../../../src/runtime/jobs/engine.ts';
import { built } from '../../support/built.ts';
import { hasNoPostgres, NEEDS_POSTGRES, startCluster } from '../../support/postgres.ts';
import { after, asked, ended, held, newDatabase, opened, working } from './opened.ts';

const CHILD = built('test/runtime/jobs/worker-child.ts');

/** `next`: the next line that it writes. Two may come at once: none of them is lost. */
async function startWorker(url: string): Promise<{ process: ChildProcess; next(): Promise<string> }> {
  const process_ = spawn(process.execPath, [CHILD, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => kill(process_));
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value as string;
  await next();
  return { process: process_, next };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** As if the heartbeat of the work under way were old already: that a silence is noticed by itself is shown by another test. */
async function isSilentForLong(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const aged = `UPDATE ${JOB_TABLE} SET heartbeat_on = heartbeat_on - interval '1 hour' WHERE state = 'active'`;
  expect((await client.query(aged)).rowCount).toBe(1);
  await client.end();
}

describe.skipIf(hasNoPostgres)(`the jobs of a killed worker${NEEDS_POSTGRES}`, () => {
  it('are taken over in time: a run is begun anew, a command is answered with its doubt and never repeated', async () => {
    const url = await newDatabase();
    const jobs = await opened(url);
    const { process: worker, next: nextLine } = await startWorker(url);
    const run = await asked(jobs, 'run', 'hang');
    await nextLine();
    const command = await jobs.ask({ organization: 'other', kind: 'operate', payload: 'hang' });
    await nextLine();
    await kill(worker);
    const seen = held();
    await working(jobs, seen.handler, { organizations: ['acme', 'other'] });
    const [again] = await seen.count(1);
    expect(again).toMatchObject({ id: run.id, organization: 'acme', takeovers: 1 });
    seen.end(run.id, 'again');
    expect(await ended(jobs, run.id)).toEqual({ kind: 'done', value: 'again' });
    const answer = await ended(jobs, command.id, 'other');
    expect(answer).toMatchObject({ kind: 'failed', fault: { code: 'stopped' } });
    expect(answer.kind === 'failed' && answer.fault.message).toMatch(/some of it may have been done/);
    // The organization is free again, and what follows is the first thing that is begun there.
    const next = await jobs.ask({ organization: 'other', kind: 'operate', payload: 'next' });
    expect((await seen.count(2))[1]).toMatchObject({ id: next.id, takeovers: 0 });
  }, 300_000);

  it('are given up when every worker that began them was killed', async () => {
    const url = await newDatabase();
    const jobs = await opened(url);
    const { id } = await asked(jobs, 'request', 'hang');
    for (let takeover = 0; takeover <= 2; takeover += 1) {
      const { process: worker, next } = await startWorker(url);
      expect(JSON.parse(await next())).toEqual({ id, takeovers: takeover });
      await kill(worker);
      await isSilentForLong(url);
    }
    const answer = await ended(jobs, id);
    expect(answer.kind === 'failed' && answer.fault.message).toMatch(/^each worker that began this ended/);
  }, 300_000);
});

describe.skipIf(hasNoPostgres)(`a restart of PostgreSQL${NEEDS_POSTGRES}`, () => {
  it('loses no job and no answer: the one under way lands, the one that waited is begun, new ones are taken', async () => {
    const cluster = await startCluster();
    after(() => cluster.close());
    const url = cluster.url(await cluster.createDatabase());
    const jobs = await opened(url);
    const work = held();
    const seen: string[] = [];
    await working(jobs, (job) => {
      seen.push(job.id);
      return work.handler(job);
    });
    const underWay = await asked(jobs, 'request', 'under way');
    await work.count(1);
    const waits = await asked(jobs, 'operate', 'waits');
    const answer = ended(jobs, underWay.id);
    answer.catch(() => {}); // it may ask while PostgreSQL is away
    await cluster.stop('immediate');
    // Its end cannot be written yet.
    work.end(underWay.id, 'whole');
    await expect(asked(jobs, 'look')).rejects.toMatchObject({ code: 'store_failed' });
    await cluster.start();
    await work.count(2);
    expect(await ended(jobs, underWay.id)).toEqual({ kind: 'done', value: 'whole' });
    work.end(waits.id, 'also');
    expect(await ended(jobs, waits.id)).toEqual({ kind: 'done', value: 'also' });
    const later = await asked(jobs, 'look');
    expect((await work.count(3))[2]?.id).toBe(later.id);
    expect(seen).toEqual([underWay.id, waits.id, later.id]);
  }, 300_000);
});
