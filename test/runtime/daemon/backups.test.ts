// test: backups that the daemon makes: one each period, verified, the newest few kept, and nothing of a person's removed. The loop has a clock
// that the test moves; the copies are real, made by the command in a process of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/domain/ports.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { Backups, faultOf, type MakeBackup, makeBackup } from '../../../src/runtime/daemon/own-process.ts';
import { backupCheck } from '../../../src/runtime/daemon/readiness.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BackupFolder, inspectDatabase } from '../../../src/store/sqlite/backup.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../../support/receiver.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 22, 2, 0, 0);
const ID = 'database-k3f9x2ab';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-backups-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Days pass in its pauses; after `days` it ends the loop. */
function passing(days: number, fromMs = START_MS): { clock: Clock; signal: AbortSignal } {
  const ending = new AbortController();
  let nowMs = fromMs;
  const sleep = async (ms: number) => {
    nowMs += ms;
    if (nowMs - fromMs >= days * DAY_MS) ending.abort();
  };
  return { clock: { ...systemClock, nowMs: () => nowMs, sleep }, signal: ending.signal };
}

const writes: MakeBackup = async (_database, target) => {
  writeFileSync(target, 'a copy');
  return { bytes: 6, entries: 1 };
};

function backupsWith(make: MakeBackup, clock: Clock, { keep = 3, everyMs = DAY_MS } = {}) {
  const lines: string[] = [];
  const write = (_: object, text: string) => void lines.push(text);
  const folder = new BackupFolder(join(dir, 'backups'), '/data/trustward.db', ID);
  const settings = { everyMs, folder: folder.folder, keep };
  const log = { debug: write, info: write, warn: write, error: write };
  const afterwards = async () => {};
  return { backups: new Backups({ settings, database: '', folder, make, clock, log, afterwards }), lines, settings };
}

const kept = () => readdirSync(join(dir, 'backups')).sort();

describe('backups of the daemon', () => {
  it('are made once a period, and the newest few stay, in names that sort by time', async () => {
    const { clock, signal } = passing(5);
    await backupsWith(writes, clock).backups.untilEnding(signal);
    expect(kept()).toEqual([
      'trustward-20261124T020000Z-k3f9x2ab.db',
      'trustward-20261125T020000Z-k3f9x2ab.db',
      'trustward-20261126T020000Z-k3f9x2ab.db',
    ]);
  });

  it('are not due again after a restart, and are when a clock that ran ahead made the newest', async () => {
    const first = passing(0.1);
    await backupsWith(writes, first.clock).backups.untilEnding(first.signal);
    const second = passing(0.5, START_MS + DAY_MS / 4);
    await backupsWith(writes, second.clock).backups.untilEnding(second.signal);
    expect(kept()).toEqual(['trustward-20261122T020000Z-k3f9x2ab.db']);
    const before = passing(0.1, START_MS - 10 * DAY_MS);
    await backupsWith(writes, before.clock, { keep: 1 }).backups.untilEnding(before.signal);
    expect(kept()).toEqual(['trustward-20261112T020000Z-k3f9x2ab.db']);
  });

  it('that fail remove no good one, leave nothing, are tried again after an hour, and alert until one is good', async () => {
    const good = passing(2.5);
    await backupsWith(writes, good.clock, { keep: 2 }).backups.untilEnding(good.signal);
    const before = kept();
    const states: object[] = [];
    let attempts = 0;
    const failing: MakeBackup = async (_database, target) => {
      attempts += 1;
      states.push(backups.conditions());
      writeFileSync(target, 'half');
      writeFileSync(`${target}.99.new`, 'half');
      throw new Error('the disk is full');
    };
    const { clock, signal } = passing(0.5, START_MS + 3 * DAY_MS);
    const { backups, lines, settings } = backupsWith(failing, clock, { keep: 2 });
    await backups.untilEnding(signal);
    expect(kept()).toEqual(before);
    expect(attempts).toBe(12);
    expect(lines[0]).toBe('no backup was made: the disk is full; the good ones stay, and it is tried again');
    expect(states[0]).toEqual([]);
    expect(backups.conditions()).toMatchObject([
      { key: 'backup', code: 'backup', about: { fault: 'the disk is full' } },
    ]);
    const check = backupCheck(backups.state(), settings, clock.nowMs());
    expect(check).toMatchObject({ ok: false, text: expect.stringContaining('last good one 2026-11-24 02:00:00 UTC') });
    expect(check.text).not.toContain('disk is full');

    const again = passing(0.1, clock.nowMs());
    const repaired = backupsWith(writes, again.clock, { keep: 2 });
    await repaired.backups.untilEnding(again.signal);
    expect(repaired.backups.conditions()).toEqual([]);
    expect(backupCheck(repaired.backups.state(), settings, again.clock.nowMs()).ok).toBe(true);
  });

  it('never remove a file of a person, of another database, or of the database before a restore', async () => {
    const own = [
      'trustward-monday.db',
      'trustward-20200101T000000Z-k3f9x2ab.db.keep',
      'trustward-20200101T000000Z-otherone.db',
      'other-20200101T000000Z-k3f9x2ab.db',
      '.trustward-otherone.partial',
      'notes.txt',
    ];
    mkdirSync(join(dir, 'backups'));
    for (const name of own) writeFileSync(join(dir, 'backups', name), 'mine');
    const { clock, signal } = passing(4);
    await backupsWith(writes, clock, { keep: 1 }).backups.untilEnding(signal);
    expect(kept()).toEqual([...own, 'trustward-20261125T020000Z-k3f9x2ab.db'].sort());
  });

  it('that cannot be written are reported, and leave the folder as it was', async () => {
    writeFileSync(join(dir, 'backups'), 'a file where the folder should be');
    const { clock, signal } = passing(0.1);
    const { backups } = backupsWith(writes, clock);
    await backups.untilEnding(signal);
    expect(backups.state().fault?.text).toMatch(/EEXIST|ENOTDIR/);
  });
});

describe('one backup of a database that a daemon writes to', () => {
  let org: Organization;
  beforeEach(async () => {
    org = await startOrganization({
      devices: 40,
      compromised: 2,
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
    });
    await org.run('enforce');
  });
  afterEach(() => org.close());

  it('is whole, verified, readable by its owner alone, and made at the start of a daemon that has none', async () => {
    Object.assign(org.env, { TRUSTWARD_BACKUP: '1d' });
    await org.restart();
    const daemon = await startDaemon(org.composition);
    const folder = join(org.dir, 'backups');
    const made = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.db')) : []);
    while (made().length === 0) await systemClock.sleep(20);
    const [name = ''] = made();
    expect(name).toMatch(/^trustward-\d{8}T\d{6}Z-\w{8}\.db$/);
    expect(inspectDatabase(join(folder, name), 'whole').damage).toEqual([]);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    let text = '';
    for (; !text.includes('last good one'); await systemClock.sleep(20))
      text = await (await fetch(`${daemon.url}/readyz`)).text();
    expect(text).toMatch(/"name":"backup","ok":true,"text":"every 1d, 7 kept; last good one 20/);
    await daemon.stop();
    expect(readdirSync(folder)).toEqual([name]);
  });

  it('whose audit is broken is refused, and leaves no file', async () => {
    const connection = new Database(org.dbFile);
    connection.exec('DROP TRIGGER audit_no_update');
    connection.exec("UPDATE audit SET bytes = replace(bytes, 'run.started', 'run.stopped') WHERE seq = 2");
    connection.close();
    const target = join(dir, 'copy.db');
    await expect(makeBackup(org.dbFile, target, new AbortController().signal)).rejects.toMatchObject({
      code: 'store_damaged',
    });
  });

  it('is broken off at once by the end of the daemon', async () => {
    const target = join(dir, 'copy.db');
    const ending = new AbortController();
    const making = makeBackup(org.dbFile, target, ending.signal);
    ending.abort();
    await expect(making).rejects.toMatchObject({ code: 'stopped' });
    expect(existsSync(target)).toBe(false);
  });

  it('whose process crashes fails with what went wrong, not with the end of its stack', () => {
    const { stderr } = spawnSync(process.execPath, ['-e', 'throw new RangeError("too deep")'], { encoding: 'utf8' });
    expect(faultOf(stderr)).toBe('RangeError: too deep');
  });

  it('of a database that is not there fails with the reason in one line', async () => {
    const making = makeBackup(join(dir, 'none.db'), join(dir, 'copy.db'), new AbortController().signal);
    await expect(making).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('there is no database at'),
    });
  });
});

describe('a daemon whose backup fails', () => {
  let org: Organization;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
    org = await startOrganization({
      devices: 20,
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
    });
  });
  afterEach(async () => {
    await org.close();
    await receiver.close();
  });

  it('alerts, is not ready, and the doctor names the folder', async () => {
    writeFileSync(join(dir, 'ca.pem'), CERTIFICATE);
    writeFileSync(join(dir, 'secret'), 'a secret of some length');
    const url = `https://localhost:${receiver.port}/`;
    const webhook = { url, secretFile: join(dir, 'secret'), allowPrivate: true, caFile: join(dir, 'ca.pem') };
    writeFileSync(join(dir, 'webhooks.json'), JSON.stringify({ ops: webhook }));
    Object.assign(org.env, {
      TRUSTWARD_BACKUP: '1d',
      TRUSTWARD_BACKUP_DIR: join(dir, 'ca.pem', 'no-folder'),
      TRUSTWARD_WEBHOOKS: join(dir, 'webhooks.json'),
      TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
      TRUSTWARD_ALERTS_TO: 'ops',
    });
    await org.restart();
    const daemon = await startDaemon(org.composition);
    await receiver.arrived(1);
    expect(receiver.received.map(({ body }) => JSON.parse(body).about)).toContainEqual(
      expect.objectContaining({ alert: 'backup', lastGood: null, fault: expect.stringMatching(/ENOTDIR|EEXIST/) }),
    );
    const answer = await fetch(`${daemon.url}/readyz`);
    expect(answer.status).toBe(503);
    const { checks } = (await answer.json()) as { checks: { name: string; text: string }[] };
    const { text } = checks.find(({ name }) => name === 'backup') ?? { text: '' };
    expect(text).toMatch(/^fails since .* \(see the log\); every 1d, 7 kept; no good one yet$/);
    const doctor = await command(['doctor'], org.env);
    expect(doctor.out).toMatch(/problem +backups +one every 1d into/);
    await daemon.stop();
  });
});
