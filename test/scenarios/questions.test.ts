// scenario: what a person asks at two in the morning. Each question is answered by at most two commands, from a serial number, from the
// owner's e-mail address and from the name of the device. Nobody answers at a terminal here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const BAN = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
const BAN_OLD = BAN.replace('id: ban-compromised-device', 'id: ban-lost-device')
  .replace('mode: enforce', 'mode: approve')
  .replace('MdmData.CompromisedStatus }, "TRUE"', 'Model }, "Lost 1"')
  .replace('given: { MdmData: { CompromisedStatus: "TRUE" } }', 'given: { Model: "Lost 1" }');
const REASON = ['--reason', 'a false alarm'];

interface Laptop {
  serial: string;
  name: string;
  owner: string;
}
const laptop = (key: string): Laptop => ({
  serial: `ASK-${key}`,
  name: `${key}'s field laptop`,
  owner: `${key.toLowerCase()}@acme.example`,
});
const [BANNED, WAITING, FINE, RELEASED] = ['Ada', 'Bo', 'Cy', 'Di'].map(laptop) as [Laptop, Laptop, Laptop, Laptop];
/** Kept unbanned, each from another name. */
const KEPT = ['Ed', 'Flo', 'Gus'].map(laptop) as [Laptop, Laptop, Laptop];

let org: Organization;
const trustward = (...args: string[]) => command(args, org.env);

/** Without the breaks of lines. */
async function answer(...args: string[]): Promise<string> {
  const { code, out, err } = await trustward(...args);
  expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' });
  return out.replace(/\s+/g, ' ');
}

function add({ serial, name, owner }: Laptop, facts: object): void {
  org.console.fleet.addUser(owner, name);
  org.console.fleet.addDevice({ serial, friendly_name: name, ...facts } as never, [owner]);
}

beforeAll(async () => {
  org = await startOrganization({ devices: 60, rules: { ban: BAN, lost: BAN_OLD } });
  for (const one of [BANNED, RELEASED, ...KEPT]) add(one, { mdm_compromised: 'TRUE' });
  add(WAITING, { model: 'Lost 1' });
  add(FINE, {});
  await org.composition.close();
  await trustward('run', '--mode', 'enforce');
  await trustward('claims', 'release', RELEASED.serial, ...REASON);
});
afterAll(() => org.close());

/** The words of `why` about the device, by at most two commands. An address leads to the devices of its owner. */
async function why(of: Laptop, by: keyof Laptop): Promise<string> {
  const first = await answer('why', of[by]);
  if (by !== 'owner') return first;
  expect(first).toContain(`${of.name}, ${of.serial}`);
  return answer('why', of.serial);
}

describe.each(['serial', 'owner', 'name'] as const)('from the %s of a laptop', (by) => {
  it('`why` answers why it was banned', async () => {
    const text = await why(BANNED, by);
    expect(text).toMatch(/STATE BANNED ban_device ASK-Ada: succeeded, .* by rule ban-compromised-device in run 1/);
    expect(text).toContain('because MdmData.CompromisedStatus = "TRUE"');
  });

  it('`why` answers why it is not banned, and what would change that', async () => {
    const text = await why(FINE, by);
    expect(text).toContain('STATE not banned');
    expect(text).toMatch(
      /ban-compromised-device \(enforce\): does not match; it would match if MdmData.CompromisedStatus/,
    );
  });

  it('`why` answers who released it', async () => {
    expect(await why(RELEASED, by)).toMatch(/released ban_device ASK-Di: a false alarm/);
  });

  it('two commands answer what waits, and what approving it does', async () => {
    const first = await (by === 'owner' ? answer('plans') : answer('why', WAITING[by]));
    const plan = (by === 'owner' ? /│ (\w{26}) │ pending │/ : /waits in plan (\S+)/).exec(first)?.[1] as string;
    const shown = await answer('plans', plan);
    expect(shown).toMatch(/ban-lost-device: 1 ban_device .* ASK-Bo .*Bo's field laptop .*owner bo@acme.example/);
    expect(shown).toContain('Approving it allows exactly these actions.');
    expect(shown).toContain('ban serial number ASK-Bo: 1 device');
    expect(shown).toContain(`trustward approve ${plan}`);
  });
});

it('`summary` answers what happened last night', async () => {
  const text = await answer('summary');
  expect(text).toMatch(/RUNS 1 run \(run 1\): 1 completed, 0 aborted/);
  expect(text).toMatch(/DONE ban_device: 5: .*ASK-Ada \(run 1\)/);
  expect(text).toContain('HELD ban-lost-device');
  expect(text).toMatch(/WHAT PEOPLE DID .* released a claim: unban_device ASK-Di: a false alarm/);
  expect(JSON.parse((await trustward('summary', '--format', 'json')).out)).toBeTypeOf('object');
  expect(await answer('summary', '--format', 'md')).toContain('## Done');
});

it('`exempt add --release` unbans it and keeps it unbanned, from its serial number, its owner and its name', async () => {
  const [first, second, third] = KEPT;
  const until = ['--owner', 'Ada', '--until', '7d', ...REASON, '--release'];
  expect(await answer('exempt', 'add', first.serial, ...until)).toContain('unban_device ASK-Ed: released');
  expect(await answer('exempt', 'add', second.owner, ...until)).toContain('unban_device ASK-Flo: released');
  // A name that its user chose changes nothing by itself: the error gives the serial number.
  const { err } = await trustward('exempt', 'add', third.name, ...until);
  expect(err).toContain('give its serial number `ASK-Gus`');
  expect(await answer('exempt', 'add', third.serial, ...until)).toContain('unban_device ASK-Gus: released');
  await trustward('run', '--mode', 'enforce');
  for (const { serial } of KEPT) expect(await answer('why', serial)).toMatch(/STATE not banned .*EXEMPT/);
});
