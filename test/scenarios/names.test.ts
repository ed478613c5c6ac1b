// scenario: whatever a person calls a device, a user or a service is resolved by every command and endpoint in the same way. In: one
// organization with two banned devices, a daemon or none. Out: what is printed and answered, and what was really changed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { command, commandOrThrow } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

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
    expect(asked).toEqual([expect.stringMatching(/^`twin` may mean:\n {2}1 {2}Twin, NAME-2.*\n {2}2 {2}Twin, NAME-3/)]);
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
    expect(out).toContain('warning: whether it covers anything is not known now: `trustward exempt list` shows');
    expect(
      (await trustward('exempt', 'add', '--selector', 'Platform=Windoze', '--accept-forgeable', ...FOR)).out,
    ).toContain('warning: it covers nothing that is known now');
  });
  it('a name that a user chose changes nothing', async () => {
    await expect(trustward('exempt', 'add', 'ada macbook', ...FOR)).rejects.toThrow('give its serial number `NAME-1`');
    const [name, serial] = how === 'through the daemon' ? ['ada macbook', 'NAME-1'] : ['twin', 'NAME-2'];
    await expect(trustward('claims', 'release', name as string, ...WHY)).rejects.toThrow(`serial number \`${serial}\``);
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
    await expect(trustward('claims', 'release', 'name-4', ...WHY)).rejects.toThrow('no claim on `NAME-4` is open');
    expect((await trustward('claims', 'release', name, ...WHY)).out).toContain(`unban_device ${target}: released`);
  });
  it('a rule is explained for a device by its name', async () => {
    const { out } = await trustward('explain', 'ban-compromised-device', 'ada macbook', '--format', 'json');
    expect(JSON.parse(out)).toMatchObject({ explanation: { subject: { id: ids['NAME-1'] } } });
    await expect(trustward('explain', 'ban-compromised-device', 'twin')).rejects.toThrow('names 2');
  });
});
