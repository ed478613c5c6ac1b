// scenario, long form: a daemon whose disk fails again and again, each time at another moment of a run, and is
// repaired.
import { afterEach, describe, expect, it } from 'vitest';
import { committed, disks, type FailingScene, intentsOf, openScene, readOnlyDisk } from './failing-disk.ts';

/**
 * More than the requests of one run that bans two devices: every moment is covered, and some rounds have no failure.
 */
const MOMENTS = 24;

let scene: FailingScene;
afterEach(() => scene?.close());

const run = () => scene.daemon.ask('POST', '/api/runs', { mode: 'enforce', wait: true });

describe.each([...disks(), ['that is read-only', readOnlyDisk] as const])('a disk %s', (_name, make) => {
  it('at each moment of a run in turn leaves every device banned once, by a call that was recorded before', async () => {
    scene = await openScene(() => make());
    const { daemon, disk, dbFile, org } = scene;
    const serials: string[] = [];
    const refused = new Set<number>();
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const pair = [`MOMENT-${moment}-A`, `MOMENT-${moment}-B`];
      serials.push(...pair);
      for (const serial of pair) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
      let passed = 0;
      scene.strikeWhen(() => passed++ === moment);
      const struck = await run();
      refused.add(struck.status);
      scene.strikeWhen(undefined);
      // Nothing that it shows as done is only in its memory.
      expect(scene.unaudited).toEqual([]);
      disk.mend(daemon.pid);
      expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
      expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
      expect(await daemon.ready()).toMatchObject({ status: 200 });
      for (const serial of pair) expect(intentsOf(dbFile, serial).at(-1)).toMatch(/succeeded|confirmed/);
    }
    expect([...refused].sort()).toEqual([200, 503]);
    expect([...scene.banned].sort()).toEqual([...serials].sort());
    expect(org.effects('device_banned')).toHaveLength(serials.length);
    expect(await daemon.ask('POST', '/api/audit/verify', {})).toMatchObject({ json: { ok: true } });
    expect(committed(dbFile, "SELECT count(*) FROM runs WHERE status = 'running'")).toEqual([0]);
    expect(
      committed(dbFile, "SELECT count(*) FROM intents WHERE status <> 'settled' AND status <> 'withdrawn'"),
    ).toEqual([0]);
    expect(await daemon.stop()).toBe(0);
  });
});
