// test: an engine on a restored older database: what it does to devices, what it reports, and how an operator lets it
// continue.
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resumeEverything } from '../../../src/engine/operate/commands.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { commandOrThrow } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
beforeEach(async () => {
  org = await startOrganization({
    devices: 60,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
});
afterEach(() => org.close());

const command = (...args: string[]) => commandOrThrow(args, org.env);

async function restoreOlder(): Promise<void> {
  const backup = join(org.dir, 'backup.db');
  await org.run('enforce');
  await org.composition.close(); // the write-ahead log goes into the database itself
  copyFileSync(org.dbFile, backup);
  await org.restart();
  org.console.fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
  await org.run('enforce');
  expect(org.effects('device_banned')).toHaveLength(1);
  await org.composition.close();
  for (const suffix of ['-wal', '-shm']) rmSync(`${org.dbFile}${suffix}`, { force: true });
  copyFileSync(backup, org.dbFile);
  await org.restart();
}

describe('each run', () => {
  it('ends with a signed checkpoint over everything that it recorded', async () => {
    const { run } = await org.run('dry-run');
    const check = await org.composition.verifyAudit();
    expect(run.status).toBe('completed');
    expect(check).toMatchObject({ ok: true, notes: [] });
    expect(check.sealed).toBe(check.entries);
    await org.run('dry-run');
    const later = await org.composition.verifyAudit();
    expect(later.checkpoints).toBe(check.checkpoints + 1);
    expect(later.sealed).toBe(later.entries);
  });
});

describe('an engine on a restored older database', () => {
  it('bans nobody again', async () => {
    await restoreOlder();
    org.console.fleet.addDevice({ serial: 'LATER-2', mdm_compromised: 'TRUE' });
    const { run, of } = await org.run('enforce');
    expect(run.daemonMode).toBe('dry-run');
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(of('hold', 'stopped').map(({ target }) => target)).toContain('LATER-2');
    // What was done since the backup is found done.
    expect(of('skip', 'already_so').map(({ target }) => target)).toEqual(['LATER-1']);
  });

  it('is not ready', async () => {
    await restoreOlder();
    const daemon = await startDaemon(org.composition);
    const answer = await fetch(`${daemon.url}/readyz`);
    const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; text: string }[] };
    await daemon.stop();
    expect(answer.status).toBe(503);
    expect(checks).toContainEqual({
      name: 'restored database',
      ok: false,
      text: expect.stringContaining('accept-restore'),
    });
    expect(checks.find(({ name }) => name === 'mode')?.text).toBe('dry-run');
  });

  it('changes devices again after it is accepted and resumed', async () => {
    await restoreOlder();
    await expect(command('audit', 'accept-restore', '--reason', 'the disk died')).rejects.toThrow(
      /has an active writer/,
    );
    await org.composition.close();
    expect(await command('audit', 'accept-restore', '--reason', 'the disk died')).toMatchObject({
      code: 0,
      out: expect.stringContaining('the former ones are in'),
    });
    await org.restart();
    org.console.fleet.addDevice({ serial: 'LATER-3', mdm_compromised: 'TRUE' });
    await resumeEverything(org.composition.engine, { by: 'ana', reason: 'its report is right' });
    const { run } = await org.run('enforce');
    expect(run.daemonMode).toBe('enforce');
    expect(org.effects('device_banned')).toHaveLength(2);
    expect(await org.composition.verifyAudit()).toMatchObject({ ok: true });
  });
});
