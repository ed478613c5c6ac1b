// scenario: `why` about things with hostile names, about what waits, and about an owner of banned devices.
import { afterEach, describe, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const WIDE = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
const WAITS = WIDE.replace('mode: enforce', 'mode: approve');
const REPORT = `
id: report-compromised
title: Report devices that MDM reports as compromised
severity: low
subject: device
when:
  "==": [{ var: MdmData.CompromisedStatus }, "TRUE"]
then: notify
mode: approve
limits: { max: 1000, percent: 100 }
`;
const IDLE = `
id: report-idle
title: Report idle devices
severity: low
subject: device
when: { ">=": [{ age: { var: LastLogin } }, 90d] }
then: notify
`;

let org: Organization;
afterEach(() => org.close());

const trustward = (...args: string[]) => command(args, org.env);

async function why(...args: string[]): Promise<string> {
  const { code, out, err } = await trustward('why', ...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out.replace(/\s+/g, ' ');
}

interface Arranged {
  rules: Record<string, string>;
  devices: { serial: string; friendly_name?: string }[];
  mode?: string;
}

/** Compromised devices of one owner, after a run. Returns their ids. */
async function arrange({ rules, devices, mode = 'enforce' }: Arranged): Promise<string[]> {
  org = await startOrganization({ devices: 60, rules });
  const { fleet } = org.console;
  fleet.addUser('grace.field@acme.example');
  const added = devices.map((device) =>
    fleet.addDevice({ ...device, mdm_compromised: 'TRUE' }, ['grace.field@acme.example']),
  );
  await org.composition.close();
  await trustward('run', '--mode', mode);
  return added;
}

describe('why', () => {
  it.each(['--rule=ban-compromised-device', '\u001b[2Jx', 'a\u202eb'])(
    'gives commands with the id when the serial number is an option or hidden: %j',
    async (serial) => {
      const [id] = await arrange({ rules: { ban: WIDE }, devices: [{ serial }] });
      const text = await why('--', serial);
      expect(text).toContain('STATE BANNED');
      expect(text).toContain(`\`trustward claims release ${id} --reason TEXT\``);
      expect(text).toContain(`\`trustward exempt add ${id} --owner`);
      expect(await trustward('claims', 'release', id as string, '--reason', 'x')).toMatchObject({ code: 0 });
    },
  );

  it('cuts a name of any length', async () => {
    await arrange({ rules: { ban: WIDE }, devices: [{ serial: 'LONG-1', friendly_name: 'x'.repeat(10_000) }] });
    expect((await why('LONG-1')).length).toBeLessThan(2_500);
    expect((await why('grace.field@acme.example')).length).toBeLessThan(2_500);
  });

  it('gives one command to approve all that waits for a device in a plan, and it works', async () => {
    const [id] = await arrange({
      rules: { ban: WAITS, report: REPORT },
      devices: [{ serial: 'WAIT-1' }, { serial: 'WAIT-2' }],
    });
    const text = await why('WAIT-1');
    const [, plan] = /`trustward approve (\S+) --only (\S+ \S+)`/.exec(text) ?? [];
    expect(text).toContain(`\`trustward approve ${plan} --only WAIT-1 ${id}\``);
    expect(text.split(`\`trustward plans ${plan}\``)).toHaveLength(2);
    expect(await trustward('approve', plan as string, '--only', 'WAIT-1', id as string)).toMatchObject({ code: 0 });
    expect(await why('WAIT-1')).toContain('(approved)');
    expect(await why('WAIT-2')).toContain('(pending)');
  });

  it('shows the facts on which a rule matches', async () => {
    await arrange({ rules: { ban: WAITS }, devices: [{ serial: 'WAIT-1' }] });
    expect(await why('WAIT-1')).toContain(
      'ban-compromised-device (approve): MATCHES, MdmData.CompromisedStatus = "TRUE"; held: the rule has mode `approve`',
    );
  });

  it('about an owner names the banned devices and the command that shows why', async () => {
    await arrange({ rules: { ban: WIDE }, devices: [{ serial: 'OWN-1' }] });
    const text = await why('grace.field@acme.example');
    expect(text).toContain('NEXT ban_device is in force on device OWN-1');
    expect(text).not.toContain('nothing is in force');
    expect(text).toContain('why it is so: `trustward why OWN-1`');
  });

  it('names the age at which a rule would match as the rule does', async () => {
    org = await startOrganization({ devices: 60, rules: { idle: IDLE } });
    const id = org.console.fleet.addDevice({ serial: 'IDLE-1' });
    await org.composition.close();
    await trustward('run');
    expect(await why(id)).toContain('it would match if LastLogin were 90 days');
  });
});
