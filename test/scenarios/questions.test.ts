// scenario: the questions that a person asks at two in the morning. Each is answered by at most two commands, from a serial number, the
// owner's e-mail address and the name of the device.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const SERIAL = 'Q2-0001';
const NAME = "Grace's night laptop";
const OWNER = 'grace.night@acme.example';
const CLEAN = { serial: 'Q2-0002', name: "Henry's day laptop", owner: 'henry.day@acme.example' };
const WHY_NAMES = [
  ['a serial number', SERIAL],
  ["an owner's e-mail address", OWNER],
  ['a device name', NAME],
] as const;

let org: Organization;

beforeEach(async () => {
  const rule = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
  org = await startOrganization({ devices: 40, rules: { ban: rule } });
  org.console.fleet.addUser(OWNER, 'Grace Night');
  org.console.fleet.addDevice({ serial: SERIAL, friendly_name: NAME, mdm_compromised: 'TRUE' }, [OWNER]);
  org.console.fleet.addUser(CLEAN.owner, 'Henry Day');
  org.console.fleet.addDevice({ serial: CLEAN.serial, friendly_name: CLEAN.name }, [CLEAN.owner]);
  await org.composition.close();
});
afterEach(() => org.close());

const run = () => command(['run', '--mode', 'enforce'], org.env);

/** What the commands of one answer print, without the breaks of lines. INVARIANT: two at most. */
async function ask(...commands: [string[]] | [string[], string[]]): Promise<string> {
  let text = '';
  for (const args of commands) {
    const { code, out, err } = await command(args, org.env);
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
    text += `${out.replace(/\s+/g, ' ')}\n`;
  }
  return text;
}

/** An e-mail address is of a person: their devices are named, and the second command asks about the one. */
function why(name: string, serial: string): Promise<string> {
  return name.includes('@') ? ask(['why', name], ['why', serial]) : ask(['why', name]);
}

describe.each(WHY_NAMES)('from %s', (_, name) => {
  it('why was this laptop banned?', async () => {
    await run();
    const text = await why(name, SERIAL);
    expect(text).toContain(SERIAL);
    expect(text).toMatch(/BANNED ban_device Q2-0001: succeeded, \S+ \S+ UTC, by rule ban-compromised-device in run 1/);
    expect(text).toContain('because MdmData.CompromisedStatus = "TRUE"');
  });

  it('unban it, and keep it unbanned', async () => {
    await run();
    const kept = ['--owner', 'Ana', '--reason', 'on call', '--until', '7d', '--release'];
    const add = ['exempt', 'add', name === NAME ? SERIAL : name, ...kept];
    const text = name === NAME ? await ask(['why', name], add) : await ask(add);
    expect(text).toContain('unban_device Q2-0001: released');
    await run();
    expect(org.effects('device_unbanned')).toHaveLength(1);
    expect(org.effects('device_banned')).toHaveLength(1);
    expect(await why(name, SERIAL)).toMatch(/EXEMPT .*on call/);
  });

  it('who released it?', async () => {
    await run();
    await ask(['claims', 'release', SERIAL, '--reason', 'a loan']);
    expect(await why(name, SERIAL)).toMatch(
      /\(command line\) released ban_device Q2-0001: a loan|released by \S+ \(command line\): a loan/,
    );
  });

  it('what happened to it last night?', async () => {
    await run();
    const text = await ask(
      ['summary', '--since', '12h'],
      ['decisions', ...(name === OWNER ? ['--owner', name] : ['--subject', name])],
    );
    expect(text).toContain('ban_device');
    expect(text).toContain(SERIAL);
  });
});

describe.each([
  ['a serial number', CLEAN.serial.toLowerCase()],
  ["an owner's e-mail address", CLEAN.owner],
  ['a device name', CLEAN.name],
])('from %s', (_, name) => {
  it('why is this one not banned?', async () => {
    await run();
    const text = await why(name, CLEAN.serial);
    expect(text).toContain('STATE not banned');
    expect(text).toContain('does not match; it would match if MdmData.CompromisedStatus were "TRUE"');
  });
});

it('what waits for me, and what does approving it do?', async () => {
  const held = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve');
  expect(await org.rule('ban', held)).toBeUndefined();
  expect((await run()).code).toBe(3);
  const waiting = JSON.parse((await command(['plans', '--status', 'pending', '--format', 'json'], org.env)).out);
  const [{ id }] = waiting.plans as [{ id: string }];
  const text = await ask(['plans', '--status', 'pending'], ['plans', id]);
  expect(text).toContain(id);
  expect(text).toContain('ban_device');
  expect(text).toContain(SERIAL);
  expect(text).toContain(`trustward approve ${id}`);
});
