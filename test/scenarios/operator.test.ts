// scenario: operator commands to the real daemon over HTTP, and from the command line, through the daemon or without
// it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { commandOrThrow } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const TOKEN = 'operator-token-0123456789';
const RULE = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
const NEVER = '0 0 1 1 *';

let org: Organization;
let daemon: Daemon | undefined;

beforeEach(async () => {
  org = await startOrganization({
    devices: 60,
    rules: { ban: RULE },
    env: { TRUSTWARD_TOKEN: TOKEN, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: NEVER },
  });
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

/** One command as an operator types it. Returns its exit code and its output. */
const command = (...args: string[]) => commandOrThrow(args, org.env);

const run = () => command('run', '--mode', 'enforce', '--format', 'json');
const add = (serial: string) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });

describe.each(['through the daemon', 'without a daemon'])('a person at the command line, %s', (how) => {
  beforeEach(async () => {
    if (how === 'through the daemon') daemon = await startDaemon(org.composition);
    else await org.composition.close();
  });

  it('approves a plan while everything is stopped, and reports that nothing is done yet and what to do', async () => {
    await run(); // a daemon begins with a run: what is arranged comes after it
    expect(await org.rule('ban', RULE.replace('mode: enforce', 'mode: approve'))).toBeUndefined();
    const id = add('COMMAND-9');
    const planned = JSON.parse((await command('plan', '--format', 'json')).out) as { plan: { id: string } };
    await command('stop', '--reason', 'wait');
    const { out } = await command('approve', planned.plan.id);
    expect(out).toBe(
      `plan ${planned.plan.id} is approved\n    ban_device COMMAND-9: Ada's MacBook, COMMAND-9 (${id})\nnothing is done yet: \`trustward apply ${planned.plan.id}\` applies it, or reports what prevents that\n`,
    );
    await expect(command('apply', planned.plan.id)).rejects.toThrow('`resume` comes first');
    expect(org.effects('device_banned')).toEqual([]);
  });

  it('exempts a device in advance, and ends the exemption', async () => {
    const id = add('COMMAND-1');
    await run();
    expect(org.effects('device_banned')).toEqual([id]);
    const other = org.console.fleet.addDevice({ serial: 'COMMAND-2' });
    const exempting = ['--owner', 'Ana', '--reason', 'travel', '--until', '7d', '--format', 'json'];
    const exempted = await command('exempt', 'add', 'device', other, '--unseen', ...exempting);
    const exemption = JSON.parse(exempted.out) as { id: string };
    org.console.fleet.patchDevice(other, { mdm_compromised: 'TRUE' });
    const report = JSON.parse((await run()).out) as { decisions: { target: string; reason: string }[] };
    expect(report.decisions.find(({ target }) => target === 'COMMAND-2')?.reason).toBe('exempt');
    expect((await command('exempt', 'list')).out).toContain('travel');
    await command('exempt', 'end', exemption.id, '--reason', 'back');
    await run();
    expect(org.effects('device_banned')).toEqual([id, other]);
  });

  it('stops everything, and resumes', async () => {
    await run();
    expect((await command('stop', '--reason', 'the MDM is wrong')).out).toContain('the MDM is wrong');
    add('COMMAND-1');
    const stopped = await run();
    expect(stopped.code).toBe(3);
    expect(JSON.parse(stopped.out)).toMatchObject({ operator: { stopped: { reason: 'the MDM is wrong' } } });
    expect((await command('report', '--format', 'md')).out).toContain('STOPPED by');
    expect(org.console.writes()).toEqual([]);
    await command('resume', '--reason', 'mended');
    await run();
    expect(org.console.writes()).toHaveLength(1);
  });

  it('undoes one ban now, and it is not repeated', async () => {
    const id = add('COMMAND-1');
    await run();
    expect((await command('claims', 'list')).out).toContain('COMMAND-1');
    const released = await command('claims', 'release', 'COMMAND-1', '--reason', 'the chief needs it');
    expect(released).toMatchObject({ code: 0, out: expect.stringContaining('unban_device COMMAND-1: released') });
    await run();
    expect(org.effects('device_unbanned')).toEqual([id]);
    expect(org.effects('device_banned')).toEqual([id]);
    expect((await command('claims', 'list')).out).toContain('no claims');
    expect((await command('audit', 'verify')).code).toBe(0);
  });
});

describe('an exemption of a group', () => {
  it('protects the devices of its people, whose groups no rule reads', async () => {
    const { console: server, composition } = org;
    const users: { SerialNumbers: string[]; Groups: string }[] = [];
    for await (const batch of composition.engine.api.stream('users')) users.push(...(batch as typeof users));
    const owner = users.find((user) => user.SerialNumbers.length > 0);
    const serial = owner?.SerialNumbers[0] as string;
    const [device] = await composition.engine.api.devicesOfSerial(serial);
    server.fleet.patchDevice(device?.DeviceID as string, { mdm_compromised: 'TRUE' });
    await composition.close();
    const group = owner?.Groups.split(',')[0]?.trim() as string;
    await command(
      'exempt',
      'add',
      '--selector',
      `Groups=${group}`,
      '--owner',
      'CISO',
      '--reason',
      'x',
      '--until',
      '1d',
    );
    const dry = JSON.parse((await command('run', '--mode', 'dry-run', '--format', 'json')).out);
    const live = JSON.parse((await run()).out);
    for (const { decisions } of [dry, live]) {
      expect(decisions.find(({ target }: { target: string }) => target === serial)).toMatchObject({ reason: 'exempt' });
    }
    expect(server.writes()).toEqual([]);
  });
});

describe('readiness', () => {
  it('shows a stop, and stays ready', async () => {
    daemon = await startDaemon(org.composition);
    await command('stop', '--reason', 'secret reason');
    const answer = await fetch(`${daemon.url}/readyz`);
    const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; text: string }[] };
    const stopped = checks.find(({ name }) => name === 'stopped');
    expect(stopped).toMatchObject({ ok: true, text: expect.stringContaining('nothing is called') });
    expect(JSON.stringify(checks)).not.toContain('secret reason');
  });
});
