// scenario: `why` and every other command answer what a person asks, by any name, however hostile.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { command, commandOrThrow } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

describe('`why` answers what a person asks about one laptop, by any of its names, through a daemon and without one', () => {
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
      expect(text).toContain('NEXT nothing: no rule proposes an action, and none is in force');
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
      expect(err).toContain('nothing is known as `nobody@acme.example`: no trusted snapshot has shown it');
    });

    it('offers those that have the beginning of a word in their names', async () => {
      const [part] = NAME.toLowerCase().split(/[^a-z]/) as [string];
      const { code, err } = await trustward('why', part);
      expect(code).toBe(1);
      expect(err.replaceAll(/\s+/g, ' ')).toContain(`nothing is known as \`${part}\`; names that have it: `);
      expect(err).toContain(SERIAL);
    });

    it('answers from the records when the platform does not answer', async () => {
      await org.console.close();
      const text = await why(SERIAL);
      expect(text).toContain('IN FORCE ban_device WHY-0001, by rule ban-compromised-device');
      expect(text).toContain('it could not be read now');
      expect(text).toContain('ban-compromised-device (enforce): not judged');
    });
  });
});

describe('`why` about things with hostile names, about what waits, and about an owner of banned devices', () => {
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
      const [, plan, digest] = /`trustward approve (\S+) --digest (\S+) --only \S+ \S+`/.exec(text) ?? [];
      expect(text).toContain(`\`trustward approve ${plan} --digest ${digest} --only WAIT-1 ${id}\``);
      expect(text.split(`\`trustward plans ${plan}\``)).toHaveLength(2);
      const read = [plan, '--digest', digest] as string[];
      expect(await trustward('approve', ...read, '--only', 'WAIT-1', id as string)).toMatchObject({ code: 0 });
      expect(await why('WAIT-1')).toContain('(approved)');
      expect(await why('WAIT-2')).toContain('(pending)');
    });

    it('and nothing says that it waits once a person said yes or no, also before the next run', async () => {
      await arrange({ rules: { ban: WAITS }, devices: [{ serial: 'WAIT-1' }, { serial: 'WAIT-2' }] });
      const said = async (...args: string[]) => (await trustward(...args)).out.replace(/\s+/g, ' ');
      expect(await said('summary')).toMatch(/ WAITS .*: 2, 2 still: WAIT-/);
      const [, plan = ''] = /`trustward approve (\S+)/.exec(await why('WAIT-1')) ?? [];
      expect(await trustward('approve', plan, '--only', 'WAIT-1')).toMatchObject({ code: 0 });
      const [, part = ''] = /(\w{26}) approved/.exec(await said('plans')) ?? [];
      expect(await trustward('apply', part)).toMatchObject({ code: 0 });
      expect(await said('summary')).toMatch(/ WAITS .*: 1, 1 still: WAIT-/);
      expect(await said('decisions')).toMatch(/waited until a person said yes \(done\): 2 devices of grace/);
      const [, rest = ''] = /`trustward approve (\S+)/.exec(await why('WAIT-2')) ?? [];
      expect(await trustward('reject', rest)).toMatchObject({ code: 0 });
      expect(await said('summary')).not.toMatch(/ WAITS | still/);
      expect(await said('summary')).toMatch(
        / WAITED, AND DOES NO MORE ban-compromised-device, several devices .*: 1: WAIT-2/,
      );
      const decided = await said('decisions', '--decision', 'hold');
      expect(decided).toMatch(/WAIT-2 waited until a person said no: 2 devices of grace/);
      expect(decided).not.toContain(' waits: ');
      const listed = JSON.parse((await trustward('decisions', '--format', 'json')).out) as {
        decisions: { target: string; isRejected?: true }[];
      };
      expect(listed.decisions.map(({ target, isRejected = false }) => [target, isRejected]).sort()).toEqual([
        ['WAIT-1', false],
        ['WAIT-2', true],
      ]);
    });

    it('shows the facts on which a rule matches', async () => {
      await arrange({ rules: { ban: WAITS }, devices: [{ serial: 'WAIT-1' }] });
      expect(await why('WAIT-1')).toContain(
        'ban-compromised-device (approve): MATCHES, MdmData.CompromisedStatus = "TRUE"; waits: the rule has mode `approve`',
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
      expect(await why(id)).toContain('it would match if LastLogin were at least 90 days ago');
    });
  });
});

describe('what a person asks at two in the morning', () => {
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
      const plan = (by === 'owner' ? /(\w{26}) pending / : /waits in plan (\S+)/).exec(first)?.[1] as string;
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
    expect(text).toContain('WAITS ban-lost-device');
    expect(text).toMatch(/WHAT PEOPLE DID .* released what was in force: unban .*ASK-Di.*: a false alarm/);
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
});

describe('whatever a person calls a device, a user or a service is resolved by every command and endpoint in the same way', () => {
  const TOKEN = 'names-token-0123456789';
  const RULE = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
  const WHY = ['--reason', 'a test'];
  const FOR = ['--owner', 'Ana', '--until', '7d', ...WHY];

  let org: Organization;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    org = await startOrganization({
      devices: 60,
      rules: { ban: RULE },
      env: { TRUSTWARD_TOKEN: TOKEN, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
    });
    const { fleet } = org.console;
    fleet.addUser('ada@example.com', 'Ada');
    const add = (serial: string, name: string, compromised: string, owners: string[] = []) => {
      ids[serial] = fleet.addDevice({ serial, friendly_name: name, mdm_compromised: compromised } as never, owners);
    };
    add('NAME-1', 'Ada MacBook', 'TRUE', ['ada@example.com']);
    add('NAME-2', 'Twin', 'TRUE');
    add('NAME-3', 'Twin', 'FALSE');
    add('NAME-4', 'NAME-1', 'FALSE');
    add('NAME-5', 'Twin\u202e\nx', 'FALSE');
    await org.run('enforce');
    expect(org.effects('device_banned')).toHaveLength(2);
  });
  afterAll(() => org.close());

  const trustward = (...args: string[]) => commandOrThrow(args, org.env);

  describe('decisions', () => {
    it.each([
      ['--target', 'name-1'],
      ['--target', 'ADA@example.com'],
      ['--target', 'ada macbook'],
      ['--subject', 'Name-1'],
      ['--subject', 'ada macbook'],
    ])('are found by %s %s, and the device that is meant is named', async (option, name) => {
      const { code, out } = await trustward('decisions', option, name);
      expect(code).toBe(0);
      expect(out).toContain(`decisions about Ada MacBook, NAME-1, ada@example.com (device ${ids['NAME-1']})`);
      expect(out).toContain('act: the rule matches');
      const json = JSON.parse((await trustward('decisions', option, name, '--format', 'json')).out);
      expect(json.decisions).toMatchObject([{ target: 'NAME-1' }]);
    });
    it('of a known device without any are none, and it is named', async () => {
      const { code, out } = await trustward('decisions', '--target', 'name-4');
      expect([code, out]).toEqual([0, `no decisions about NAME-1, NAME-4 (device ${ids['NAME-4']})\n`]);
    });
    it('of nothing that is known are refused, and not an empty list', async () => {
      for (const [option, name] of [
        ['--target', 'NAME-9'],
        ['--subject', 'nobody@example.com'],
      ] as const) {
        const failed = trustward('decisions', option, name);
        await expect(failed).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining(name) });
      }
      await expect(trustward('decisions', '--rule', 'ban')).rejects.toThrow(
        'there is no rule `ban`: the last run had ban-compromised-device',
      );
      expect((await trustward('decisions', '--rule', 'BAN-compromised-device')).out).toContain('NAME-1');
    });
    it('of a name that two devices have are refused with both', async () => {
      await expect(trustward('decisions', '--target', 'twin')).rejects.toThrow(/names 2: .*NAME-2.*NAME-3/);
    });
  });

  describe('the audit', () => {
    it.each(['NAME-1', 'name-1', 'ada macbook', 'ada@example.com'])(
      'of a target is found by its name %s',
      async (name) => {
        const { out } = await trustward(
          'audit',
          'list',
          '--target',
          name,
          '--kind',
          'intent.settled',
          '--format',
          'json',
        );
        expect(JSON.parse(out).entries).toMatchObject([{ body: { target: 'NAME-1', outcome: 'succeeded' } }]);
      },
    );
    it('of nothing that is known is refused, and not an empty list', async () => {
      await expect(trustward('audit', 'list', '--target', 'NAME-77')).rejects.toMatchObject({ code: 'not_found' });
      expect((await trustward('audit', 'list', '--target', 'NAME-3')).out).toContain('no audit entries');
    });
  });

  describe('at a terminal, a person', () => {
    const at = (answer: string, args: string[]) => {
      const asked: string[] = [];
      const ask = async (question: string) => {
        asked.push(question);
        return answer;
      };
      return { asked, done: commandOrThrow(args, { ...org.env }, ask) };
    };
    const exempt = (name: string) => ['exempt', 'add', name, ...FOR];
    beforeAll(() => org.composition.close());

    it('chooses one of several, which is named by its serial number', async () => {
      const { asked, done } = at('2', exempt('twin'));
      expect((await done).out).toContain('SerialNumber = NAME-3 is left alone');
      expect(asked).toEqual([
        expect.stringMatching(/^`twin` may mean:\n {2}1 {2}Twin, NAME-2.*\n {2}2 {2}Twin, NAME-3/),
      ]);
    });
    it('confirms a name that a user chose, or changes nothing', async () => {
      const { done } = at('y', exempt('ada macbook'));
      expect((await done).out).toContain('covers 1 device: Ada MacBook, NAME-1');
      await expect(at('', exempt('ada macbook')).done).rejects.toThrow('nothing was changed');
      await expect(at('9', exempt('twin')).done).rejects.toThrow('none was chosen');
    });
    it('is not asked about a serial number, an address or a DeviceID', async () => {
      for (const name of ['name-4', 'ada@EXAMPLE.com', ids['NAME-2'] as string]) {
        const { asked, done } = at('', exempt(name));
        expect([(await done).code, asked]).toEqual([0, []]);
      }
    });
  });

  describe.each(['through the daemon', 'without a daemon'])('without a terminal, %s,', (how) => {
    let daemon: Daemon | undefined;
    beforeAll(async () => {
      if (how === 'without a daemon') return;
      await org.restart();
      daemon = await startDaemon(org.composition);
    });
    afterAll(async () => {
      await daemon?.stop();
      if (daemon) await org.composition.close();
    });

    it('a serial number in another case is exempt, and the answer names what it covers', async () => {
      const { out } = await trustward('exempt', 'add', 'device', 'name-4', ...FOR);
      expect(out).toContain('SerialNumber = NAME-4 is left alone');
      expect(out).toContain(`\ncovers 1 device: NAME-1, NAME-4 (device ${ids['NAME-4']})\n`);
    });
    it('what is not known is refused unless it is meant, and then shown with a warning', async () => {
      await expect(trustward('exempt', 'add', 'device', 'NAME-9', ...FOR)).rejects.toMatchObject({ code: 'not_found' });
      const { out } = await trustward('exempt', 'add', 'device', 'NAME-9', '--unseen', ...FOR);
      expect(out).toContain('warning: it covers nothing that is known now');
      expect((await trustward('exempt', 'list')).out).toContain('covers nothing that is known now');
      expect((await trustward('doctor')).out).toMatch(
        /exemption \S+ of device NAME-9 covers nothing that is\s+known now/,
      );
    });
    it('a selector of which nobody can say whom it covers is shown with a warning', async () => {
      const { out } = await trustward('exempt', 'add', '--selector', 'Groups=Borad', ...FOR);
      expect(out).toContain(
        'warning: it cannot be checked now whether this covers anything: `trustward exempt list` shows',
      );
      expect(
        (await trustward('exempt', 'add', '--selector', 'Platform=Windoze', '--accept-forgeable', ...FOR)).out,
      ).toContain('warning: it covers nothing that is known now');
    });
    it('a name that a user chose changes nothing', async () => {
      await expect(trustward('exempt', 'add', 'ada macbook', ...FOR)).rejects.toThrow(
        'give its serial number `NAME-1`',
      );
      const [name, serial] = how === 'through the daemon' ? ['ada macbook', 'NAME-1'] : ['twin', 'NAME-2'];
      await expect(trustward('claims', 'release', name as string, ...WHY)).rejects.toThrow(
        `serial number \`${serial}\``,
      );
    });
    it('a name with hidden characters is refused with these spelled out, on one line', async () => {
      const { code, err } = await command(['exempt', 'add', 'twin\u202e\nx', ...FOR], org.env);
      expect([code, err.split('\n').length]).toEqual([2, 2]);
      expect(err).toContain('Twin⟨U+202E⟩ x, NAME-5 (device');
      expect(err).not.toContain('\u202e');
    });
    it('a claim is released by the serial number in another case, or by the address of the owner', async () => {
      const name = how === 'through the daemon' ? 'ADA@example.com' : 'name-2';
      const target = how === 'through the daemon' ? 'NAME-1' : 'NAME-2';
      await expect(trustward('claims', 'release', 'name-4', ...WHY)).rejects.toThrow('nothing is in force on `NAME-4`');
      expect((await trustward('claims', 'release', name, ...WHY)).out).toContain(`unban_device ${target}: released`);
    });
    it('a rule is explained for a device by its name', async () => {
      const { out } = await trustward('explain', 'ban-compromised-device', 'ada macbook', '--format', 'json');
      expect(JSON.parse(out)).toMatchObject({ explanation: { subject: { id: ids['NAME-1'] } } });
      await expect(trustward('explain', 'ban-compromised-device', 'twin')).rejects.toThrow('names 2');
    });
  });
});
