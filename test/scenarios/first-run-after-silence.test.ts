// scenario: a process starts on a database that is a day behind: a machine's snapshot was restored, with the checkpoints beside it, or
// nothing ran for a day. The first run only shows what it would do; the next one does it.
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { silenceBefore } from '../../src/engine/run/pulled-snapshot.ts';
import { command } from '../support/in-process.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

const HOUR_MS = 3_600_000;

let org: Organization;
beforeEach(async () => {
  org = await startOrganization({ devices: 40 });
  org.console.fleet.addDevice({ serial: 'BEFORE-1', mdm_compromised: 'TRUE' });
  await org.run('enforce');
});
afterEach(() => org.close());

/** Like a snapshot of that time: all files are from then. */
async function wasLastRun(hoursAgo: number): Promise<void> {
  await org.composition.close();
  const db = new Database(org.dbFile);
  db.prepare('UPDATE runs SET started_at = started_at - ?, finished_at = finished_at - ?').run(
    hoursAgo * HOUR_MS,
    hoursAgo * HOUR_MS,
  );
  db.close();
  org.console.fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
}

const effects = () => org.effects('device_banned').length;

it('a one-shot run after more than a day is dry and says why, and the next one is an ordinary one', async () => {
  await wasLastRun(25);
  const first = await command(['run', '--mode', 'enforce', '--format', 'json'], org.env);
  const report = JSON.parse(first.out);
  expect(effects()).toBe(1);
  expect(report.run).toMatchObject({ mode: 'dry-run', status: 'completed' });
  expect(report.operator.silentSince).toMatch(/^\d{4}-/);
  expect(report.plan.held).toEqual([]);
  expect(report.decisions).toContainEqual(expect.objectContaining({ target: 'LATER-1', outcome: 'dry_run' }));
  expect(first.code).toBe(3);
  const text = await command(['report'], org.env);
  const said = text.out.replace(/\s+/g, ' ');
  expect(said).toMatch(/DRY RUN: no run was completed.*for more than 24 hours.*next run is an ordinary one/i);
  const [started] = JSON.parse(
    (await command(['audit', 'list', '--kind', 'run.started', '--limit', '1', '--format', 'json'], org.env)).out,
  ).entries;
  expect(started.body).toMatchObject({ mode: 'dry-run', silentSince: expect.any(Number) });

  const second = await command(['run', '--mode', 'enforce', '--format', 'json'], org.env);
  expect(JSON.parse(second.out)).toMatchObject({ run: { mode: 'enforce' }, operator: { silentSince: null } });
  expect(effects()).toBe(2);
});

it('a run within a day is an ordinary one', async () => {
  await wasLastRun(23);
  const { out } = await command(['run', '--mode', 'enforce', '--format', 'json'], org.env);
  expect(JSON.parse(out)).toMatchObject({ run: { mode: 'enforce' }, operator: { silentSince: null } });
  expect(effects()).toBe(2);
});

it('a process that lives stays dry until a run is completed, whatever an operator commands meanwhile', async () => {
  await wasLastRun(25);
  await command(
    ['exempt', 'add', 'device', 'x', '--unseen', '--owner', 'ana', '--reason', 'x', '--until', '1d'],
    org.env,
  );
  await org.restart();
  const { api } = org.composition.engine;
  const { stream, pages } = api;
  const fail = () => {
    throw new AppError('api_unreachable', 'the line is cut');
  };
  Object.assign(api, { stream: fail, pages: fail });
  await expect(org.run('enforce')).rejects.toMatchObject({ code: 'api_unreachable' });
  Object.assign(api, { stream, pages });
  expect((await org.run('enforce')).run.mode).toBe('dry-run');
  expect(effects()).toBe(1);
  expect((await org.run('enforce')).run.mode).toBe('enforce');
  expect(effects()).toBe(2);
});

it('a clock that was set back is no silence, and neither is a database without a completed run', () => {
  expect(silenceBefore(2_000, 1_000)).toEqual({ since: undefined });
  expect(silenceBefore(undefined, 1_000)).toEqual({ since: undefined });
  expect(silenceBefore(0, 24 * HOUR_MS)).toEqual({ since: undefined });
  expect(silenceBefore(0, 24 * HOUR_MS + 1)).toEqual({ since: 0 });
});
