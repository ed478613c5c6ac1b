// scenario: the database's file, its lock or its write-ahead log is deleted or replaced under a running engine: what it would write
// is in no file that anybody finds again, so nothing is called, nothing counts as committed, and people see what to do.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stopEverything } from '../../src/engine/operate/commands.ts';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

let org: Organization;
beforeEach(async () => {
  org = await startOrganization({
    devices: 40,
    // One call at a time: what was sent before the file was replaced is under way.
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_ACT_CONCURRENCY: '1' },
  });
  await org.run('enforce');
});
afterEach(() => org.close());

const ANA = { by: 'ana', reason: 'to be safe' };
const compromise = (serial: string) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });

function replace(file: string): void {
  copyFileSync(file, `${file}.other`);
  renameSync(`${file}.other`, file);
}

const CASES: [string, () => void][] = [
  ['database deleted', () => rmSync(org.dbFile)],
  ['database replaced by a copy of itself', () => replace(org.dbFile)],
  ['database moved away', () => renameSync(org.dbFile, `${org.dbFile}.moved`)],
  ['write-ahead log deleted', () => rmSync(`${org.dbFile}-wal`)],
  ['lock deleted', () => rmSync(`${org.dbFile}.lock`)],
  ['lock replaced', () => replace(`${org.dbFile}.lock`)],
];

describe.each(CASES)('%s under an engine', (_, happen) => {
  it('calls nothing, and claims no commit', async () => {
    compromise('LATER-1');
    const before = await org.composition.engine.store.auditHead();
    happen();
    await expect(org.run('enforce')).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringMatching(/was deleted or replaced.*restart/),
    });
    await expect(stopEverything(org.composition.engine, ANA)).rejects.toMatchObject({ code: 'store_failed' });
    expect(org.effects('device_banned')).toEqual([]);
    expect(await org.composition.engine.store.auditHead()).toEqual(before);
  });

  it('is not ready, also before the next run, until a restart', async () => {
    const daemon: Daemon = await startDaemon(org.composition);
    const readyz = async () => {
      const answer = await fetch(`${daemon.url}/readyz`);
      const { checks } = (await answer.json()) as { checks: { name: string; text: string }[] };
      return { status: answer.status, text: checks.find(({ name }) => name === 'database')?.text };
    };
    try {
      await expect.poll(async () => (await readyz()).status).toBe(200);
      happen();
      expect(await readyz()).toEqual({
        status: 503,
        text: expect.stringMatching(/deleted or replaced.*restart/),
      });
      expect(org.composition.engine.daemonMode).toBe('dry-run');
    } finally {
      await daemon.stop();
    }
  });
});

describe('a file replaced in the middle of a run', () => {
  it('lets no further call through', async () => {
    const banned = ['LATER-1', 'LATER-2', 'LATER-3'].map(compromise);
    const { engine } = org.composition;
    const { updateDevices } = engine.api;
    engine.api.updateDevices = async (...given) => {
      const answer = await updateDevices.apply(engine.api, given);
      replace(org.dbFile);
      return answer;
    };
    await expect(org.run('enforce')).rejects.toMatchObject({ code: 'store_failed' });
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(banned).toContain(org.effects('device_banned')[0]);
  });
});

it('an engine whose lock was taken over leaves the address of the other daemon alone', async () => {
  const address = `${org.dbFile}.daemon.json`;
  rmSync(`${org.dbFile}.lock`);
  writeFileSync(address, '{"pid":1,"url":"http://127.0.0.1:1"}\n');
  await org.composition.close();
  expect(existsSync(address)).toBe(true);
  expect(readFileSync(address, 'utf8')).toContain('"pid":1');
  rmSync(address);
  await org.restart();
});
