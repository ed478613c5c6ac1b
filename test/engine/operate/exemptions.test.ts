// test: an exemption protects what a person named and covers what it covered when it was made; dry run, live run and explain agree on it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aboutText, coveredBy, coveredText, type Exemption } from '../../../src/domain/exemption.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { whyOf } from '../../../src/engine/explain/why.ts';
import { type AboutRequest, addExemption, type ExemptionAsked } from '../../../src/engine/operate/commands.ts';
import { confirmJoined, exempt } from '../../../src/engine/operate/exempt.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { operatorAlerts } from '../../../src/runtime/notify/alerts.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const WHY = { owner: 'Ada', reason: 'travel', until: '30d' };

const add = ({ engine }: OnPlatform, about: AboutRequest) => exempt(engine, { ...about, ...WHY }, 'ana');

/** Devices that were read once, with nothing wrong. */
async function seen(...devices: [id: string, fields: object][]): Promise<OnPlatform> {
  const on = startOnPlatform();
  for (const [id, fields] of devices) on.platform.addDevice(id, fields as never);
  await on.run();
  return on;
}

async function banned(on: OnPlatform, ...ids: string[]): Promise<string[]> {
  for (const id of ids) on.platform.compromised(id, 'TRUE');
  await on.run('enforce');
  return on.platform.effects;
}

describe('an exemption', () => {
  it.each([[{ kind: 'device', id: 'PFE112IXO' }], [{ id: 'pfe112ixo' }], [{ kind: 'device', id: ' Pfe112IXO ' }]])(
    'of a serial number protects it in the next run, however it is written: %j',
    async (subject) => {
      const on = await seen(['d1', { SerialNumber: 'PFE112IXO' }], ['d2', {}]);
      const { exemption, covers } = await add(on, { subject });
      expect(aboutText(exemption)).toBe('SerialNumber = PFE112IXO');
      expect(covers && coveredText(covers)).toBe('covers 1 device: device d1, PFE112IXO (device d1)');
      expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
    },
  );
  it('of a serial number outlives a new registration of it', async () => {
    const on = await seen(['d1', { SerialNumber: 'C02' }]);
    await add(on, { subject: { id: 'c02' } });
    on.platform.devices.delete('d1');
    on.platform.addDevice('d9', { SerialNumber: 'C02' });
    expect(await banned(on, 'd9')).toEqual([]);
  });
  it('of a DeviceID keeps the DeviceID', async () => {
    const on = await seen(['d1', {}], ['d2', {}]);
    const { exemption, covers } = await add(on, { subject: { kind: 'device', id: 'D1' } });
    expect(exemption).toMatchObject({ subject: { kind: 'device', id: 'd1' }, selector: undefined });
    expect(covers).toMatchObject({ count: 1 });
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
  });
  it('of an e-mail address in another case protects the devices of that owner', async () => {
    const on = await seen(['d1', { Emails: ['Ada@x.org'] }], ['d2', { Emails: ['bo@x.org'] }]);
    const { exemption, covers } = await add(on, { subject: { id: 'ADA@X.ORG' } });
    expect(exemption.subject).toEqual({ kind: 'user', id: 'Ada@x.org' });
    expect(covers).toEqual({ kind: 'user', count: 1, examples: ['user Ada@x.org'] });
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d2']);
  });
  it('of the serial number of one device does not protect another one that is called like it', async () => {
    const on = await seen(['d1', { DeviceFriendlyName: 'C02' }], ['d2', { SerialNumber: 'C02' }]);
    const { exemption } = await add(on, { subject: { id: 'C02' } });
    expect(aboutText(exemption)).toBe('SerialNumber = C02');
    expect(await banned(on, 'd1', 'd2')).toEqual(['ban S-d1']);
  });
  it('of a device by the name that its user chose is refused with its serial number', async () => {
    const on = await seen(['d1', { DeviceFriendlyName: 'CEO laptop' }]);
    await expect(add(on, { subject: { id: 'ceo laptop' } })).rejects.toThrow(
      '`ceo laptop` is only the name of CEO laptop, S-d1 (device d1), and names are chosen by their users: give its serial number `S-d1`',
    );
    expect(await on.store.exemptions()).toEqual([]);
  });
  it('of a name that several things have is refused with all of them', async () => {
    const on = await seen(['d1', { SerialNumber: 'X' }], ['X', {}]);
    await expect(add(on, { subject: { id: 'X' } })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/names 2: .*\(device d1\).*\(device X\)/),
    });
  });
  it('of something that nothing is known of is refused, unless it is meant', async () => {
    const on = await seen(['d1', {}], ['d3', { DeviceFriendlyName: 'd8' }]);
    await expect(add(on, { subject: { kind: 'device', id: 'd7' } })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/^nothing is known as `d7`: no trusted snapshot has shown it.*--unseen/),
    });
    await expect(add(on, { subject: { id: 'd7' }, unseen: true })).rejects.toThrow('give its kind too');
    const { covers } = await add(on, { subject: { kind: 'device', id: 'd7' }, unseen: true });
    expect(covers && coveredText(covers)).toBe('covers nothing that is known now');
    const eighth = await add(on, { subject: { kind: 'device', id: 'd8' }, unseen: true });
    expect(eighth.exemption.subject).toEqual({ kind: 'device', id: 'd8' });
    on.platform.addDevice('d7');
    expect(await banned(on, 'd7')).toEqual([]);
  });
  it('of a device that nothing is known of protects it once it is there, whether its DeviceID or its serial number was given', async () => {
    const on = await seen(['d1', {}]);
    const { exemption } = await add(on, { subject: { kind: 'device', id: 'c02new' }, unseen: true });
    on.platform.addDevice('d7', { SerialNumber: 'C02NEW' });
    on.platform.addDevice('d8', { SerialNumber: 'C02OTHER' });
    expect(await banned(on, 'd7', 'd8')).toEqual(['ban C02OTHER']);
    const covers = await coveredBy(on.engine.store, exemption);
    expect(covers && coveredText(covers)).toBe('covers 1 device: device d7, C02NEW (device d7)');
  });
  it('by a selector shows how many it covers, and three of them', async () => {
    const on = await seen(...(['a', 'b', 'c', 'd'].map((id) => [id, {}]) as [string, object][]));
    const { covers } = await add(on, { selector: { field: 'Platform', value: 'macOS' }, acceptForgeable: true });
    expect(covers && coveredText(covers)).toBe(
      'covers 4 devices: device a, S-a (device a); device b, S-b (device b); device c, S-c (device c) and 1 more',
    );
    const other = await add(on, { selector: { field: 'Platform', value: 'macos' }, acceptForgeable: true });
    expect(other.covers).toMatchObject({ count: 0 });
    expect((await add(on, { selector: { field: 'Groups', value: 'Staff' } })).covers).toBeUndefined();
  });
});

describe('an exemption covers what it covered when it was made', () => {
  const ANA = { by: 'ana', reason: 'hers' };

  /** `ceo` is a device of an exempt person; `spoof` is one that becomes compromised. Both were read, with nothing wrong. */
  async function seen(): Promise<OnPlatform> {
    const on = startOnPlatform();
    on.platform.users.set('ceo@x.org', { Email: 'ceo@x.org', Name: 'Cleo', Groups: 'vip' });
    on.platform.users.set('eve@x.org', { Email: 'eve@x.org', Name: 'Eve', Groups: 'staff' });
    on.platform.addDevice('ceo', { SerialNumber: 'C02', Emails: ['ceo@x.org'], DeviceFriendlyName: 'KIOSK' });
    on.platform.addDevice('spoof', { Emails: ['eve@x.org'] });
    await on.run();
    return on;
  }

  /** Each way in: what is exempt, and what the device does to become it. */
  const WAYS: [way: string, about: AboutRequest, (on: OnPlatform) => void][] = [
    [
      'gets an exempt person as a second owner',
      { subject: { id: 'ceo@x.org' } },
      (on) => on.platform.patch('spoof', { Emails: ['eve@x.org', 'ceo@x.org'] }),
    ],
    [
      'takes an exempt serial number',
      { subject: { id: 'C02' } },
      (on) => on.platform.patch('spoof', { SerialNumber: 'c02' }),
    ],
    [
      'takes the serial number of a device that is exempt by its DeviceID',
      { subject: { kind: 'device', id: 'ceo' } },
      (on) => on.platform.patch('spoof', { SerialNumber: 'C02' }),
    ],
    [
      'renames itself to what a selector names',
      { selector: { field: 'DeviceFriendlyName', value: 'KIOSK' }, acceptForgeable: true },
      (on) => on.platform.patch('spoof', { DeviceFriendlyName: 'KIOSK' }),
    ],
  ];

  const whySpoof = (on: OnPlatform) =>
    whyOf({ ...on.engine, reader: on.store, rules: [banRule()], isWhatIf: false }, { kind: 'device', id: 'spoof' });
  const seeSpoof = (on: OnPlatform) => on.platform.compromised('spoof', 'TRUE');
  const held = { decision: 'hold', reason: 'joined_later' };

  describe('a device that', () => {
    it.each(WAYS)('%s waits for a person, and is done once a plan with it is approved', async (_way, about, joins) => {
      const on = await seen();
      await add(on, about);
      joins(on);
      seeSpoof(on);
      const { decisions, plan } = await on.run('enforce');
      expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
      expect(on.platform.effects).toEqual([]);
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toEqual([`ban ${on.platform.devices.get('spoof')?.SerialNumber}`]);
    });

    it.each(WAYS)('%s is exempt once a person said yes to it', async (_way, about, joins) => {
      const on = await seen();
      const { exemption } = await add(on, about);
      joins(on);
      seeSpoof(on);
      await on.run('enforce');
      const why = await whySpoof(on);
      expect([why.exemption, why.joined?.id]).toEqual([undefined, exemption.id]);
      expect(why.commands.map(({ command }) => command)).toContain(
        `trustward exempt confirm ${exemption.id} --subject ${why.subject.serial} --reason TEXT`,
      );
      const { confirmed } = await confirmJoined(on.engine, exemption.id, { ...ANA, subject: 'spoof' });
      expect(await whySpoof(on)).toMatchObject({ exemption: { id: exemption.id }, joined: undefined });
      expect(confirmed).toHaveLength(1);
      const { decisions } = await on.run('enforce');
      expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, decision: 'skip', reason: 'exempt' }]);
      const [entry] = await on.store.audit({ kind: 'exemption.confirmed', limit: 9 });
      expect(JSON.parse(entry?.bytes ?? '{}').body).toMatchObject({ by: 'ana', reason: 'hers', count: 1 });
      await expect(confirmJoined(on.engine, exemption.id, ANA)).rejects.toThrow('nothing waits');
    });

    it.each(WAYS)('%s between deciding and the call is neither called nor exempt', async (_way, about, joins) => {
      const on = await seen();
      await add(on, about);
      seeSpoof(on);
      on.platform.onRead = (what) => {
        if (what === 'target') joins(on);
      };
      await on.run('enforce');
      const { decisions } = await on.run('enforce');
      expect(on.platform.effects).toEqual([]);
      expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
    });

    it('gets an owner who is exempt by address waits, although no list of users was read and another device names no owner', async () => {
      const on = startOnPlatform();
      on.platform.addDevice('ceo', { SerialNumber: 'C02', Emails: ['ceo@x.org'] });
      on.platform.addDevice('spoof', { Emails: ['eve@x.org'] });
      on.platform.addDevice('silent');
      await on.run();
      await add(on, { selector: { field: 'Email', value: 'ceo@x.org' } });
      on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
      seeSpoof(on);
      const { decisions } = await on.run('enforce');
      expect(decisions).toMatchObject([{ subject: { id: 'spoof' }, ...held }]);
    });

    it('joins a group through its new member waits', async () => {
      const on = await seen();
      await add(on, { selector: { field: 'Groups', value: 'vip' } });
      await on.run(); // shows who is in the group
      on.platform.users.set('eve@x.org', { Email: 'eve@x.org', Name: 'Eve', Groups: 'staff,vip' });
      seeSpoof(on);
      on.platform.compromised('ceo', 'TRUE');
      const { decisions } = await on.run('enforce');
      expect(decisions.map(({ subject, reason }) => [subject.id, reason]).sort()).toEqual([
        ['ceo', 'exempt'],
        ['spoof', 'joined_later'],
      ]);
    });

    it('joins after its plan was approved is not done by that plan', async () => {
      const on = await seen();
      on.rules(banRule({ mode: 'approve' }));
      await add(on, { subject: { id: 'ceo@x.org' } });
      seeSpoof(on);
      const { plan } = await on.run();
      await on.approve(plan);
      on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
      await on.apply(plan);
      expect(on.platform.effects).toEqual([]);
      expect(await on.intents()).toMatchObject([{ status: 'withdrawn' }]);
    });

    it('joined two exemptions waits as one plan that names both', async () => {
      const on = await seen();
      on.rules(banRule({ mode: 'approve' }));
      const ids: string[] = [];
      for (const _ of [1, 2]) ids.push((await add(on, { subject: { id: 'ceo@x.org' } })).exemption.id);
      seeSpoof(on);
      on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
      const { plan } = await on.run('enforce');
      const [intent] = plan?.intents ?? [];
      expect([...(intent?.effect.joined ?? [])].sort()).toEqual(ids.sort());
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toEqual(['ban S-spoof']);
    });

    it('joined, and is already banned, stays banned without another question', async () => {
      const on = await seen();
      seeSpoof(on);
      await on.run('enforce');
      on.clock.pass(QUIET_MS);
      await add(on, { subject: { id: 'ceo@x.org' } });
      on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
      const { decisions } = await on.run('enforce');
      expect(decisions).toMatchObject([{ reason: 'already_so' }]);
      expect(on.platform.effects).toEqual(['ban S-spoof']);
    });
  });

  describe('what an exemption covered when it was made', () => {
    it.each(WAYS)('stays covered: with a device that %s', async (_way, about, joins) => {
      const on = await seen();
      await add(on, about);
      joins(on);
      on.platform.compromised('ceo', 'TRUE');
      const { decisions } = await on.run('enforce');
      expect(decisions).toMatchObject([{ subject: { id: 'ceo' }, decision: 'skip', reason: 'exempt' }]);
      // It is away for a while, and comes back as it was.
      const ceo = on.platform.devices.get('ceo') as object;
      on.platform.devices.delete('ceo');
      await on.run('enforce');
      on.platform.addDevice('ceo', ceo as never);
      expect((await on.run('enforce')).decisions).toMatchObject([{ subject: { id: 'ceo' }, reason: 'exempt' }]);
      expect(on.platform.effects).toEqual([]);
    });

    it('is not inherited with its serial number changed: the device waits', async () => {
      const on = await seen();
      await add(on, { subject: { id: 'ceo@x.org' } });
      on.platform.patch('ceo', { SerialNumber: 'OTHER' });
      on.platform.compromised('ceo', 'TRUE');
      expect((await on.run('enforce')).decisions).toMatchObject([{ subject: { id: 'ceo' }, ...held }]);
    });

    it('is taken from the first trusted reading where nobody knew it', async () => {
      const on = startOnPlatform();
      on.platform.addDevice('ceo', { Emails: ['ceo@x.org'] });
      const { exemption } = await add(on, { subject: { kind: 'user', id: 'ceo@x.org' }, unseen: true });
      expect(exemption.members).toBeUndefined();
      await on.run();
      expect((await on.store.exemption(exemption.id))?.members).toBeDefined();
      on.platform.addDevice('later', { Emails: ['ceo@x.org'] });
      on.platform.compromised('ceo', 'TRUE');
      on.platform.compromised('later', 'TRUE');
      const { decisions } = await on.run('enforce');
      expect(decisions.map(({ subject, reason }) => [subject.id, reason]).sort()).toEqual([
        ['ceo', 'exempt'],
        ['later', 'joined_later'],
      ]);
      expect((await on.store.joinedLater((await on.store.exemption(exemption.id)) as Exemption, 9)).some).toMatchObject(
        [{ kind: 'device', id: 'later' }],
      );
    });
  });

  describe('a selector over what devices report themselves', () => {
    it.each(['DeviceFriendlyName', 'Platform', 'Model'])(
      '%s is refused unless a person accepts that',
      async (field) => {
        const on = await seen();
        const selector = { field, value: 'KIOSK' };
        await expect(add(on, { selector })).rejects.toMatchObject({
          code: 'usage',
          message: expect.stringContaining('--accept-forgeable'),
        });
        const { exemption } = await add(on, { selector, acceptForgeable: true });
        expect(await on.store.exemption(exemption.id)).toMatchObject({ acceptForgeable: true });
        const [entry] = await on.store.audit({ kind: 'exemption.added', limit: 1 });
        expect(JSON.parse(entry?.bytes ?? '{}').body).toMatchObject({ acceptForgeable: true });
      },
    );
  });

  describe('an alert', () => {
    it('names each that joined an exemption, whether a rule matches it or not', async () => {
      const on = await seen();
      const { exemption } = await add(on, { subject: { id: 'ceo@x.org' } });
      const joined = async () => {
        const alerts = await operatorAlerts(on.store, { warnMs: 0, unusedMs: Number.POSITIVE_INFINITY }, on.clock.now);
        return alerts.map(({ key, code }) => [code, key]);
      };
      expect(await joined()).toEqual([]);
      on.platform.patch('spoof', { Emails: ['ceo@x.org'] });
      await on.run();
      const one = [['exemption_joined', `exemption ${exemption.id} joined by device spoof S-spoof`]];
      expect(await joined()).toEqual(one);
      await on.run();
      expect(await joined()).toEqual(one);
      await confirmJoined(on.engine, exemption.id, ANA);
      expect(await joined()).toEqual([]);
    });
  });
});

describe('a rule about users leaves an exempt device of a user alone, and a dry run, a live one and explain agree on it', () => {
  const ANN = 'ann@example.com';
  const BOB = 'bob@example.com';

  /** It reads no device. Its SerialNumbers make them known. */
  function leaverRule(): LoadedRule {
    const parsed = parseRule(
      `
id: leaver
subject: user
when: { and: [{ "==": [{ var: Email }, ${ANN}] }, { "!!": { var: SerialNumbers } }] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
`,
      'leaver.yaml',
      { traits: ACTIONS },
    );
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  let on: OnPlatform;
  let rule: LoadedRule;

  beforeEach(() => {
    rule = leaverRule();
    on = startOnPlatform({ rules: [rule] });
    on.platform.addDevice('d1', { Emails: [ANN, BOB] });
    on.platform.addDevice('d2', { Emails: [ANN] });
    for (const [Email, Name, Groups] of [
      [ANN, 'Ann', 'Leavers'],
      [BOB, 'Bob', 'Board'],
    ] as const)
      on.platform.users.set(Email, { Email, Name, Groups, SerialNumbers: Email === ANN ? ['S-d1', 'S-d2'] : ['S-d1'] });
  });
  afterEach(() => on.close());

  async function explained(): Promise<string[][]> {
    const { api, clock, ids, actions, quiet, daemonMode, settings, store } = on.engine;
    const deps = {
      api,
      clock,
      ids,
      actions,
      quiet,
      daemonMode,
      reader: store,
      rules: [rule],
      settings: { ...settings, ...settings.decide },
    };
    const { decisions } = await explainSubject(deps as unknown as ExplainDeps, rule.id, ANN);
    return decisions.map(({ target, reason }) => [target, reason]);
  }

  async function decided(mode: 'dry-run' | 'enforce'): Promise<string[][]> {
    return (await on.run(mode)).decisions.map(({ target, reason }) => [target, reason]).sort();
  }

  const exempt = (about: Pick<ExemptionAsked, 'subject' | 'selector'>) =>
    addExemption(on.engine, { ...about, unseen: true, owner: 'Ana', reason: 'on a ship', until: '30d' }, 'ann');

  describe('a device of a user whose devices are to be deleted', () => {
    it.each([
      ['by its serial number', { selector: { field: 'SerialNumber', value: 'S-d1' } }],
      ['by its id', { subject: { kind: 'device', id: 'd1' } }],
      ['by another owner of it', { subject: { kind: 'user', id: BOB } }],
      ['by a group of another owner', { selector: { field: 'Groups', value: 'Board' } }],
    ])('that is exempt %s is left alone, and the other is not', async (_, about) => {
      await exempt(about);
      const expected = [
        [`S-d1 ${ANN}`, 'exempt'],
        [`S-d2 ${ANN}`, 'approval_needed'],
      ];
      expect(await decided('dry-run')).toEqual(expected);
      expect(await decided('enforce')).toEqual(expected);
      expect(await explained()).toEqual(expected);
    });

    it('is read with its owners even without exemptions: they decide whether it is deleted', async () => {
      const { run } = await on.run();
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ state: 'read', form: 'unpaged' });
    });
  });
});
