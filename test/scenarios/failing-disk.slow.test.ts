// scenario: the disk under a running daemon fails in the middle of its calls, and is repaired: no call without an audit
// entry, the daemon reports what is wrong, continues without a restart, and loses nothing that was acknowledged.
import { afterEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/time.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { committed, disks, type FailingScene, intentsOf, openScene, runUntilSettled } from './failing-disk.ts';

const IN_A_YEAR = isoTime(systemClock.nowMs() + 365 * 86_400_000);

let scene: FailingScene;

afterEach(() => scene?.close());

const addBad = (...serials: string[]) => {
  // Targets are acted on in the order of their ids.
  for (const serial of serials)
    scene.org.console.fleet.addDevice({
      serial,
      device_id: `00000000-0000-4000-8000-00000000000${serial.at(-1)}`,
      mdm_compromised: 'TRUE',
    });
};
const run = () => scene.daemon.ask('POST', '/api/runs', { mode: 'enforce', wait: true });
const exempt = (id: string) =>
  scene.daemon.ask('POST', '/api/exemptions', {
    subject: { kind: 'device', id },
    unseen: true,
    owner: 'ada',
    reason: 'a spare',
    until: IN_A_YEAR,
  });
const checkOf = async (name: string) => (await scene.daemon.ready()).checks.find((check) => check.name === name);
const times = (text: string) => scene.daemon.started.said().err.split(text).length - 1;

describe.each(disks())('a disk %s', { timeout: 120_000 }, (_name, make) => {
  it('in the middle of an enforcing run loses nothing, hides nothing, and doubles nothing', async () => {
    scene = await openScene(make);
    const { daemon, dbFile, disk, banned } = scene;
    expect((await run()).status).toBe(200);
    expect((await exempt('before')).status).toBe(201);

    // After the second call had its effect: its outcome cannot be committed.
    addBad('DISK-1', 'DISK-2', 'DISK-3');
    scene.strikeWhen(
      ({ address, method, isAnswered }) => method === 'POST' && isAnswered && address.includes('DISK-2'),
    );
    const struck = await run();
    expect(struck).toMatchObject({ status: 503, json: { type: expect.stringContaining('store-failed') } });
    expect(banned).toEqual(['DISK-1', 'DISK-2']);
    expect(intentsOf(dbFile, 'DISK-2')).toEqual(['intent.planned', 'intent.sent']);
    expect(intentsOf(dbFile, 'DISK-3')).toEqual(['intent.planned']);

    // It reports the fault publicly, without a path; nothing is acknowledged, and nothing is called.
    const { status, text } = await daemon.ready();
    expect(status).toBe(503);
    expect(text).not.toContain(disk.dir);
    expect(await checkOf('database')).toMatchObject({ ok: false, text: expect.stringMatching(disk.says) });
    expect((await checkOf('database'))?.text).toContain('the next run tries again');
    expect((await checkOf('last run'))?.ok).toBe(false);
    expect((await run()).status).toBe(503);
    expect((await exempt('meanwhile')).status).toBe(503);
    expect((await daemon.ask('POST', '/api/stop', { reason: 'try' })).status).toBe(503);
    expect(banned).toEqual(['DISK-1', 'DISK-2']);
    expect(times('the database fails')).toBe(1);

    // With free space again it continues by itself.
    disk.mend(daemon.pid);
    expect(await runUntilSettled(daemon, dbFile, 'DISK-2')).toMatchObject({
      status: 200,
      json: { status: 'completed' },
    });
    expect(await daemon.ready()).toMatchObject({ status: 200 });
    expect(times('the database can be written again')).toBe(1);
    expect(banned).toEqual(['DISK-1', 'DISK-2', 'DISK-3']);
    expect(intentsOf(dbFile, 'DISK-2')).toEqual([
      'intent.planned',
      'intent.sent',
      'intent.settled unknown',
      'intent.settled confirmed',
    ]);

    // Before the fourth call could be recorded: it is not made.
    addBad('DISK-4');
    scene.strikeWhen(
      ({ address, method, isAnswered }) => method === 'GET' && isAnswered && /serialnumber=DISK-4/i.test(address),
    );
    expect((await run()).status).toBe(503);
    expect(banned).not.toContain('DISK-4');
    expect(intentsOf(dbFile, 'DISK-4')).toEqual(['intent.planned']);
    disk.mend(daemon.pid);
    expect((await run()).status).toBe(200);
    expect(intentsOf(dbFile, 'DISK-4').slice(0, 2)).toEqual(['intent.planned', 'intent.withdrawn']);

    expect(banned).toEqual(['DISK-1', 'DISK-2', 'DISK-3', 'DISK-4']);
    expect(scene.org.effects('device_banned')).toHaveLength(4);
    expect(scene.unaudited).toEqual([]);
    expect(await daemon.ask('POST', '/api/audit/verify', {})).toMatchObject({ json: { ok: true } });
    expect(committed(dbFile, 'SELECT subject_id FROM exemptions')).toEqual(['before']);
    expect(committed(dbFile, "SELECT count(*) FROM runs WHERE status = 'running'")).toEqual([0]);
    expect(await daemon.stop()).toBe(0);
  });
});
