// scenario: `why` answers what a person asks about one laptop, by any of its names, through a daemon and without one.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const TOKEN = 'operator-token-0123456789';
const RULE = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
const SERIAL = 'WHY-0001';
const NAME = "Grace's field laptop";
const OWNER = 'grace.field@acme.example';

let org: Organization;
let daemon: Daemon | undefined;
let id: string;

beforeEach(async () => {
  org = await startOrganization({
    devices: 60,
    rules: { ban: RULE },
    env: { TRUSTWARD_TOKEN: TOKEN, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
  org.console.fleet.addUser(OWNER, 'Grace Field');
  id = org.console.fleet.addDevice({ serial: SERIAL, friendly_name: NAME, mdm_compromised: 'TRUE' }, [OWNER]);
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

const trustward = (...args: string[]) => command(args, org.env);
const run = () => trustward('run', '--mode', 'enforce');

/** Without the breaks of lines: what is said, however wide the terminal is. */
async function why(name: string): Promise<string> {
  const { code, out, err } = await trustward('why', name);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out.replace(/\s+/g, ' ');
}

describe.each(['through the daemon', 'without a daemon'])('why, %s', (how) => {
  beforeEach(async () => {
    if (how === 'through the daemon') daemon = await startDaemon(org.composition);
    else await org.composition.close();
    await run();
  });

  it.each([SERIAL.toLowerCase(), NAME, 'the DeviceID'])(
    'names the rule, the run and the facts of a ban: %s',
    async (name) => {
      const text = await why(name === 'the DeviceID' ? id : name);
      expect(text).toContain(`${NAME}, ${SERIAL}, owned by ${OWNER}`);
      expect(text).toMatch(
        /STATE BANNED ban_device WHY-0001: succeeded, \S+ \S+ UTC, by rule ban-compromised-device in run \d/,
      );
      expect(text).toContain('because MdmData.CompromisedStatus = "TRUE"');
      expect(text).toContain('ban_device WHY-0001 is undone when rule ban-compromised-device no longer matches');
      expect(text).toContain('`trustward exempt add WHY-0001 --owner NAME --reason TEXT --until 30d --release`');
    },
  );

  it('shows the devices of an owner with their state', async () => {
    expect(await why(OWNER.toUpperCase())).toContain(`DEVICES ${NAME}, ${SERIAL}, BANNED`);
  });

  it('shows why a device is not banned, and what would change that', async () => {
    org.console.fleet.addDevice({ serial: 'WHY-0002' });
    await run();
    const text = await why('why-0002');
    expect(text).toContain('STATE not banned');
    expect(text).toContain(
      'ban-compromised-device (enforce): does not match; it would match if MdmData.CompromisedStatus were "TRUE"',
    );
    expect(text).toContain('NEXT nothing: no rule proposes anything for it, and nothing is in force');
  });

  it('names who released a device, and that the rule leaves it alone', async () => {
    expect(await trustward('claims', 'release', SERIAL, '--reason', 'a loan')).toMatchObject({ code: 0 });
    const text = await why(SERIAL);
    expect(text).toContain('STATE not banned');
    expect(text).toMatch(/released .*: a loan/);
    expect(text).not.toContain('the next run does ban_device');
  });

  it('shows that somebody else lifted the ban', async () => {
    org.console.fleet.banByHand(SERIAL, 'FALSE');
    await run();
    expect(await why(SERIAL)).toContain(
      "not banned: somebody else changed it after Trustward's last action on WHY-0001",
    );
  });

  it('announces an undo that the next run does', async () => {
    org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    const text = await why(SERIAL);
    expect(text).toContain(
      'the next run does unban_device WHY-0001, since rule ban-compromised-device no longer matches',
    );
    expect(text).not.toContain('is undone when');
  });

  it('lets a person at a terminal choose among devices of one name, and lists them elsewhere', async () => {
    org.console.fleet.addDevice({ serial: 'WHY-0003', friendly_name: NAME });
    await run();
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return `${question.split('\n').findIndex((line) => line.includes('WHY-0003'))}`;
    };
    const { out } = await command(['why', NAME], org.env, { ask });
    expect(out).toContain('WHY-0003');
    expect(out).toContain('not banned');
    expect(asked).toEqual([expect.stringContaining(SERIAL)]);
    const { code, err } = await trustward('why', NAME);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('WHY-0003') });
  });

  it('fails for a name that no trusted snapshot has shown', async () => {
    const { code, out, err } = await trustward('why', 'nobody@acme.example');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('nothing is known as `nobody@acme.example`');
  });

  it('answers from the records when the platform does not answer', async () => {
    await org.console.close();
    const text = await why(SERIAL);
    expect(text).toContain('IN FORCE ban_device WHY-0001, by rule ban-compromised-device');
    expect(text).toContain('it could not be read now');
    expect(text).toContain('ban-compromised-device (enforce): not judged');
  });
});
