// scenario: files beside the database fail: the checkpoints outside, the embedded console's own database, and files
// that a start writes; and a failing disk interrupts an approved plan. The engine continues, or reports in one line why
// it cannot.
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { DISABLE_FAILING, type Organization, startOrganization } from '../support/organization.ts';
import { trustward } from '../support/trustward.ts';
import {
  committed,
  DAEMON_ENV,
  type FailingDisk,
  intentsOf,
  limitedDisk,
  openDoor,
  openScene,
  type RunningDaemon,
  readOnlyDisk,
  runUntilSettled,
  startDaemonProcess,
} from './failing-disk.ts';

const NOBODY = 65_534;

let org: Organization;
let daemon: RunningDaemon;
let disk: FailingDisk | undefined;
let door: Awaited<ReturnType<typeof openDoor>> | undefined;

afterEach(async () => {
  daemon?.started.child.kill('SIGKILL');
  await daemon?.started.ended;
  door?.server.closeAllConnections();
  door?.server.close();
  door = undefined;
  await org?.close();
  disk?.remove();
  disk = undefined;
});

async function startOrg(options: Parameters<typeof startOrganization>[0] = {}): Promise<Record<string, string>> {
  org = await startOrganization({ devices: 40, ...options });
  await org.composition.close(); // the engine runs in a separate process here
  return { ...org.env, ...DAEMON_ENV };
}

const run = (mode = 'enforce') => daemon.ask('POST', '/api/runs', { mode, wait: true });
const checkOf = async (name: string) => (await daemon.ready()).checks.find((check) => check.name === name);
const until = async (isSo: () => boolean | Promise<boolean>) => {
  while (!(await isSo())) await systemClock.sleep(20);
};

describe('beside a database that works', { timeout: 120_000 }, () => {
  it('unwritable checkpoints outside keep the run, are reported, and are completed later', async () => {
    const env = await startOrg();
    daemon = await startDaemonProcess(env);
    await until(async () => (await checkOf('last run'))?.text === 'run 1 completed');
    const file = `${org.dbFile}.checkpoints`;
    renameSync(file, `${file}.aside`);
    mkdirSync(file);
    org.console.fleet.addDevice({ serial: 'OUT-1', mdm_compromised: 'TRUE' });
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(await checkOf('checkpoints')).toMatchObject({
      ok: false,
      text: expect.stringContaining('cannot be written'),
    });
    expect((await daemon.ready()).text).not.toContain(org.dir);
    rmdirSync(file);
    renameSync(`${file}.aside`, file);
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    expect(await checkOf('checkpoints')).toMatchObject({ ok: true });
    const lines = committed<number>(org.dbFile, 'SELECT size FROM checkpoints ORDER BY size');
    const outside = readFileSync(file, 'utf8').trim().split('\n').slice(1); // the first line names the database
    expect(outside.map((line) => (JSON.parse(line) as { size: number }).size)).toEqual(lines);
    expect(await daemon.ask('POST', '/api/audit/verify', {})).toMatchObject({ json: { ok: true } });
  });

  it('an unwritable database of the embedded console fails its calls, the engine continues, and the console recovers', async () => {
    const env = await startOrg();
    disk = readOnlyDisk('demo-console');
    daemon = await startDaemonProcess({
      ...DAEMON_ENV,
      ...disk.env,
      TRUSTWARD_DB: join(disk.dir, 'demo.db'),
      TRUSTWARD_RULES: env.TRUSTWARD_RULES as string,
      TRUSTWARD_MODE: 'enforce',
    });
    await until(async () => (await checkOf('last run'))?.ok === true);
    disk.fail(daemon.pid);
    const said = () => daemon.started.said().err;
    await until(() => said().includes('a moment of the living organization failed'));
    expect(await run()).toMatchObject({ status: 200 });
    expect(await checkOf('database')).toMatchObject({ ok: true });
    disk.mend(daemon.pid);
    await until(() => said().includes('the living organization continues'));
    expect(said().split('a moment of the living organization failed')).toHaveLength(2);
    expect(await run()).toMatchObject({ status: 200, json: { status: 'completed' } });
    expect(await daemon.stop()).toBe(0);
  });
});

describe('a plan that was approved', { timeout: 120_000 }, () => {
  it('and that a failing disk interrupts is not applied twice, and its effects are found done', async () => {
    disk = readOnlyDisk();
    const env = await startOrg({ rules: { service: DISABLE_FAILING } });
    const dbFile = join(disk.dir, 'trustward.db');
    const serviceId = org.console.fleet.addService('payroll', 'eu-1');
    for (let count = 0; count < 5; count += 1)
      org.console.fleet.addEvent({
        type: 'Access',
        subType: 'Resource',
        action: 'Unauthorized',
        severity: 'ERROR',
        serviceId,
      });
    let hasStruck = false;
    door = await openDoor(org.console.address, ({ method, address, isAnswered }) => {
      if (hasStruck || !isAnswered || method === 'GET' || !address.includes(serviceId)) return;
      hasStruck = true;
      disk?.fail(daemon.pid);
    });
    daemon = await startDaemonProcess({ ...env, ...disk.env, TRUSTWARD_DB: dbFile, TRUSTWARD_API_URL: door.url });
    await run();
    const { json } = await daemon.ask('GET', '/api/plans?status=pending');
    const plan = (json as { plans: { id: string }[] }).plans[0]?.id;
    const approve = () => daemon.ask('POST', `/api/plans/${plan}/approve`, { reason: 'seen' });
    expect((await approve()).status).toBe(503);
    expect(intentsOf(dbFile, serviceId)).toEqual(['intent.sent']);
    expect(await checkOf('database')).toMatchObject({ ok: false, text: expect.stringMatching(disk.says) });
    expect(await run()).toMatchObject({ status: 503 });
    disk.mend(daemon.pid);
    expect(await runUntilSettled(daemon, dbFile, serviceId)).toMatchObject({ status: 200 });
    expect(intentsOf(dbFile, serviceId).slice(1)).toEqual(['intent.settled unknown', 'intent.settled confirmed']);
    expect(committed(dbFile, 'SELECT status FROM plans WHERE id = ?', plan as string)).toEqual(['interrupted']);
    expect((await approve()).status).toBe(409);
    expect(org.effects('service_disabled')).toEqual([serviceId]);
    expect(org.console.writes()).toHaveLength(1);
  });
});

describe('a start', { timeout: 120_000 }, () => {
  it('on a disk that still fails is refused in one line; on a repaired one it reads back what the last end left in doubt', async () => {
    const scene = await openScene(limitedDisk);
    daemon = scene.daemon;
    disk = scene.disk;
    try {
      scene.org.console.fleet.addDevice({ serial: 'END-1', mdm_compromised: 'TRUE' });
      scene.strikeWhen(
        ({ method, address, isAnswered }) => method === 'POST' && isAnswered && address.includes('END-1'),
      );
      expect((await run()).status).toBe(503);
      expect(await daemon.stop()).toBe(0);
      expect(daemon.started.said().err).not.toMatch(/\n\s+at /);
      const limited = await trustward(['serve'], scene.env, { fileBytesMax: 0 });
      expect(limited).toMatchObject({ code: 1, out: '' });
      expect(limited.err.match(/^trustward: .*$/gm)).toEqual([
        expect.stringMatching(/the disk does not answer as it should/),
      ]);
      expect(limited.err).not.toMatch(/\n\s+at /);
      daemon = await startDaemonProcess(scene.env);
      expect(await runUntilSettled(daemon, scene.dbFile, 'END-1')).toMatchObject({ status: 200 });
      expect(intentsOf(scene.dbFile, 'END-1').slice(1)).toEqual([
        'intent.sent',
        'intent.settled unknown',
        'intent.settled confirmed',
      ]);
      expect(scene.banned).toEqual(['END-1']);
    } finally {
      await scene.close();
      disk = undefined;
    }
  });

  it('on files that may not be written is refused in one line, and changes nothing', async () => {
    const env = await startOrg();
    const dir = join(org.dir, 'kept');
    mkdirSync(dir);
    for (const name of readdirSync(org.dir).filter((one) => one.startsWith('trustward.db')))
      cpSync(join(org.dir, name), join(dir, name));
    // No mode stops root: then it is started as nobody.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) {
      chmodSync(org.dir, 0o755);
      chmodSync(join(org.dir, 'rules'), 0o755);
      for (const name of readdirSync(dir)) chownSync(join(dir, name), NOBODY, NOBODY);
      chownSync(dir, NOBODY, NOBODY);
    }
    for (const name of readdirSync(dir)) chmodSync(join(dir, name), 0o400);
    chmodSync(dir, 0o500);
    const kept = () => readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'hex')]);
    const before = kept();
    const options = isRoot ? { uid: NOBODY } : {};
    const ended = await trustward(['serve'], { ...env, TRUSTWARD_DB: join(dir, 'trustward.db'), HOME: '/' }, options);
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err.split('\n').filter((line) => line !== '' && !/Warning|node --trace/.test(line))).toEqual([
      expect.stringMatching(
        /^trustward: database `.*` \((SQLITE|E)[A-Z_]+\): it (cannot be written|cannot be opened): check/,
      ),
    ]);
    expect(kept()).toEqual(before);
    chmodSync(dir, 0o700); // otherwise it could not be removed
  });
});
