// scenario: a database that is older than what was done: a backup on a new machine, and a first run after silence.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { exempt } from '../../src/engine/operate/exempt.ts';
import { silenceBefore } from '../../src/engine/run/pulled-snapshot.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { type Answered, command } from '../support/in-process.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

describe('a backup with its key on a new machine, without the checkpoints outside', () => {
  let org: Organization;
  let there: Record<string, string>;
  let file: string;
  let banned: string;

  beforeEach(async () => {
    org = await startOrganization({
      devices: 40,
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
    });
    banned = org.console.fleet.addDevice({ serial: 'BEFORE-1', mdm_compromised: 'TRUE' });
    await org.run('enforce');
    const backup = join(org.dir, 'backup.db');
    expect(await command(['db', 'backup', backup], org.env)).toMatchObject({ code: 0 });
    // Since then: a ban that a person reversed, and a device that is exempt.
    org.console.fleet.addDevice({ serial: 'REVERSED-1', mdm_compromised: 'TRUE' });
    await org.run('enforce');
    org.console.fleet.banByHand('REVERSED-1', 'FALSE');
    const { engine } = org.composition;
    const about = { kind: 'device', id: org.console.fleet.addDevice({ serial: 'EXEMPT-1', mdm_compromised: 'TRUE' }) };
    await exempt(engine, { subject: about, unseen: true, owner: 'ana', reason: 'the director', until: '30d' }, 'ana');
    await org.run('enforce');
    expect(org.effects('device_banned')).toHaveLength(2);
    await org.composition.close();

    mkdirSync(join(org.dir, 'new'));
    file = join(org.dir, 'new', 'trustward.db');
    there = { ...org.env, TRUSTWARD_DB: file };
    copyFileSync(backup, file);
    copyFileSync(`${org.dbFile}.audit-key`, `${file}.audit-key`);
    chmodSync(`${file}.audit-key`, 0o600);
  });
  afterEach(() => org.close());

  const trustward = (...args: string[]): Promise<Answered> => command(args, there);
  const writes = () => org.console.writes().length;

  async function nothingIsCalled(...args: string[]): Promise<Answered> {
    const before = writes();
    const answered = await trustward(...args);
    expect(writes(), args.join(' ')).toBe(before);
    return answered;
  }

  describe('a backup without its checkpoints outside', () => {
    it('begins stopped and dry, and its report names the reason and the way on', async () => {
      const { code, out } = await nothingIsCalled('run', '--mode', 'enforce', '--format', 'json');
      expect(code).toBe(3);
      const { run, operator, decisions } = JSON.parse(out);
      expect(run.daemonMode).toBe('dry-run');
      expect(operator.stoppedNow).toMatchObject({
        by: 'trustward',
        reason: expect.stringMatching(/restored.*`trustward audit accept-restore.*`.*resume/),
      });
      expect(decisions.filter(({ reason }: { reason: string }) => reason === 'stopped')).toHaveLength(2);
      expect((await trustward('report')).out).toMatch(/STOPPED by trustward.*accept-restore/s);
    });

    it('stays so, start after start, and calls nothing for anybody', async () => {
      await nothingIsCalled('run', '--mode', 'enforce');
      const { out } = await nothingIsCalled('run', '--mode', 'dry-run', '--format', 'json');
      const { plan } = JSON.parse(out);
      expect(await nothingIsCalled('claims', 'release', 'BEFORE-1', '--reason', 'x')).toMatchObject({ code: 1 });
      if (plan.id) {
        await nothingIsCalled('approve', plan.id);
        expect(await nothingIsCalled('apply', plan.id)).toMatchObject({ code: 1 });
      }
      expect(await nothingIsCalled('resume', '--reason', 'go on')).toMatchObject({
        code: 1,
        err: expect.stringContaining('audit accept-restore'),
      });
      await nothingIsCalled('run', '--mode', 'enforce');
      expect(existsSync(`${file}.checkpoints`)).toBe(false);
    });

    it('is not ready, and doctor names it', async () => {
      const doctor = await trustward('doctor', '--format', 'json');
      expect(doctor.code).toBe(1);
      expect(doctor.out).toContain('audit accept-restore');
      expect(doctor.out).toMatch(/no checkpoints outside/);
      const composition = await composeEngine(readConfig(there));
      const daemon = await startDaemon(composition);
      try {
        const answer = await fetch(`${daemon.url}/readyz`);
        const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; text: string }[] };
        expect(answer.status).toBe(503);
        expect(checks).toContainEqual({
          name: 'restored database',
          ok: false,
          text: expect.stringMatching(/accept-restore.*resume/),
        });
        expect(checks.map(({ name }) => name)).toContain('stopped');
      } finally {
        await daemon.stop();
        await composition.close();
      }
    });

    it('is a dry run at most for explain and a what-if, which only read', async () => {
      const { out } = await trustward('explain', 'ban-compromised-device', banned, '--format', 'json');
      expect(JSON.parse(out).decisions[0].mode).toBe('dry-run');
    });

    it('acts again once it is accepted and resumed, and the next start is an ordinary one', async () => {
      await trustward('run', '--mode', 'enforce');
      const accepted = await trustward('audit', 'accept-restore', '--reason', 'the disk died');
      expect(accepted).toMatchObject({ code: 0, out: expect.stringContaining('everything is stopped') });
      await nothingIsCalled('run', '--mode', 'enforce');
      expect(await trustward('audit', 'verify')).toMatchObject({ code: 0 });
      expect(await trustward('resume', '--reason', 'its report is right')).toMatchObject({ code: 0 });
      const before = writes();
      const { out } = await trustward('run', '--mode', 'enforce', '--format', 'json');
      expect(JSON.parse(out).run.daemonMode).toBe('enforce');
      expect(writes()).toBeGreaterThan(before);
    });
  });

  describe.each([
    ['empty', () => ''],
    ['of another database', () => readFileSync(`${org.dir}/other/trustward.db.checkpoints`, 'utf8')],
    [
      'of this database at another time without its first line',
      () => readFileSync(`${org.dbFile}.checkpoints`, 'utf8').split('\n').slice(1).join('\n'),
    ],
  ])('a backup with a file of checkpoints %s', (_, text) => {
    it('is a restored one too', async () => {
      mkdirSync(join(org.dir, 'other'));
      await command(['run', '--mode', 'dry-run'], { ...there, TRUSTWARD_DB: join(org.dir, 'other', 'trustward.db') });
      writeFileSync(`${file}.checkpoints`, text(), { mode: 0o600 });
      const { out } = await nothingIsCalled('run', '--mode', 'enforce', '--format', 'json');
      expect(JSON.parse(out).run.daemonMode).toBe('dry-run');
      expect(JSON.parse(out).operator.stoppedNow).toMatchObject({ by: 'trustward' });
    });
  });

  describe('a database whose checkpoints outside were deleted', () => {
    it('is a restored one, as far as anybody can know', async () => {
      rmSync(`${org.dbFile}.checkpoints`);
      org.console.fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
      const before = writes();
      await command(['run', '--mode', 'enforce'], org.env);
      expect(writes()).toBe(before);
      await command(['audit', 'accept-restore', '--reason', 'I deleted it'], org.env);
      await command(['resume', '--reason', 'I deleted it'], org.env);
      const { out } = await command(['run', '--mode', 'enforce', '--format', 'json'], org.env);
      expect(JSON.parse(out).run.daemonMode).toBe('enforce');
    });
  });
});

describe('a process starts on a database that is a day behind', () => {
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
});
