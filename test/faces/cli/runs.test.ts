// commands: `runs` lists runs with what each did, and `report` without a number never shows a run that is still under way.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { takeWriterLock } from '../../../src/store/sqlite/writer-lock.ts';
import { addLiveRun, addRun, decision, fakeClock, openStore, START_MS } from '../../support/filled-store.ts';
import { command } from '../../support/in-process.ts';
import { startOrganization } from '../../support/organization.ts';

const at = (minutes: number) => START_MS + minutes * 60_000;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-runs-'));
  const store = openStore(fakeClock(), join(dir, 'trustward.db'));
  await addLiveRun(store);
  const held = [decision({ id: 'd2', decision: 'hold' }), decision({ id: 'd3', decision: 'hold' })];
  await addRun(store, { id: 'run2', mode: 'enforce', daemonMode: 'approve', startedAt: at(5), decisions: held });
  await addRun(store, { id: 'run3', startedAt: at(10), error: 'the server is gone' });
  await addRun(store, { id: 'run4', mode: 'enforce', startedAt: at(15), finished: false });
  await store.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ask = (...args: string[]) => command(args, { TRUSTWARD_DB: join(dir, 'trustward.db') });
const listed = async (...args: string[]) => JSON.parse((await ask('runs', ...args, '--format', 'json')).out).runs;

it('`runs` shows the mode in force, the status, the time taken and what each run did, newest first', async () => {
  const none = { act: 0, hold: 0, skip: 0, done: 0, failed: 0, open: 0 };
  expect(await listed()).toMatchObject([
    { seq: 4, status: 'running', modeInForce: 'enforce', tookMs: null, counts: none },
    { seq: 3, status: 'aborted', error: 'the server is gone', modeInForce: 'dry-run' },
    {
      seq: 2,
      status: 'completed',
      mode: 'enforce',
      modeInForce: 'approve',
      tookMs: 3_000,
      counts: { ...none, hold: 2 },
    },
    { seq: 1, modeInForce: 'enforce', counts: { ...none, act: 1, done: 1 } },
  ]);
  const { out } = await ask('runs');
  expect(out).toMatch(/3 {2}2026-11-21 09:10:00Z {2}command +dry-run +aborted, the server is gone +3s/);
});

it.each([
  [
    ['--status', 'completed'],
    [2, 1],
  ],
  [['--status', 'aborted'], [3]],
  [
    ['--since', new Date(at(7)).toISOString()],
    [4, 3],
  ],
  [['--limit', '1'], [4]],
])('`runs` %j lists the runs %j', async (args, seqs) => {
  expect((await listed(...args)).map(({ seq }: { seq: number }) => seq)).toEqual(seqs);
});

it('`report` shows the last run that ended, and names the one under way only while its process lives', async () => {
  const dead = await ask('report', '--format', 'json');
  expect(JSON.parse(dead.out).run.seq).toBe(3);
  expect(dead.err).toBe(
    'run 4 (enforce) began at 2026-11-21 09:15:00 UTC and did not come to its end; this is the report of run 3\n',
  );
  const lock = takeWriterLock(join(dir, 'trustward.db'));
  try {
    const { err } = await ask('report');
    expect(err).toBe(
      'run 4 (enforce) began at 2026-11-21 09:15:00 UTC and is under way: it has decided; this is the report of run 3\n',
    );
  } finally {
    lock.release();
  }
  expect((await ask('report', '4')).err).toBe('');
});

it('`report --completed` leaves out aborted runs and runs over chosen rules', async () => {
  const { out, err } = await ask('report', '--completed', '--format', 'json');
  expect([JSON.parse(out).run.seq, err]).toEqual([2, expect.stringContaining('run 4')]);
  const org = await startOrganization({ devices: 20 });
  await org.run('dry-run');
  await org.run('dry-run', ['ban-compromised-device']);
  const shown = await command(['report', '--completed', '--format', 'json'], org.env);
  expect(JSON.parse(shown.out).run.seq).toBe(1);
  expect((await command(['runs'], org.env)).out).toContain('only');
  expect(await command(['report', '1', '--completed'], org.env)).toMatchObject({ code: 2 });
  await org.close();
});
