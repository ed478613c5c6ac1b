// test: `ban_devices` through real runs: what is read of the user before a call, of the devices, and between two runs.
import { afterEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { RunCounts } from '../../../src/engine/act/door.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { type WhyDeps, whyOf } from '../../../src/engine/explain/why.ts';
import { addExemption } from '../../../src/engine/operate/commands.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';

const ANN = 'ann@example.org';
const BEN = 'ben@example.org';

const LOW = `
when: { "==": [{ var: TrustData.Level }, "Low"] }
tests:
  - { name: low, given: { TrustData: { Level: "Low" } }, expect: match }
`;
const SOME_COMPROMISED = `
when: { some: [{ var: $devices }, { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }] }
tests:
  - { name: one, devices: [{ MdmData: { CompromisedStatus: "TRUE" } }], expect: match }
`;

function userRule({ mode = 'enforce', when = LOW }: { mode?: string; when?: string } = {}): LoadedRule {
  const text = `
id: distrusted
title: Ban the devices of users of the lowest trust
severity: critical
subject: user
then: ban_devices
mode: ${mode}
revert: true
owners: all
limits: { max: 1000, percent: 100 }
${when}`;
  const parsed = parseRule(text, 'distrusted.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

describe('a rule about users that bans their devices', () => {
  let on: OnPlatform;
  let reportedAt: number;
  afterEach(() => on.close());

  function user(email: string, level: string, ...serials: string[]): void {
    reportedAt += 1_000;
    on.platform.users.set(email, {
      Email: email,
      Name: email.split('@')[0] as string,
      SerialNumbers: serials,
      Groups: 'Staff',
      TrustData: { Level: level, UpdatedAt: BigInt(reportedAt) * 1_000_000n },
    });
  }

  function start(...rules: LoadedRule[]): void {
    on = startOnPlatform({ rules: rules.length > 0 ? rules : [userRule()] });
    reportedAt = on.clock.now - 60_000;
    on.platform.addDevice('d1', { Emails: [ANN] });
    on.platform.addDevice('d2', { Emails: [ANN] });
    on.platform.addDevice('d3', { Emails: [BEN] });
    user(ANN, 'Low', 'S-d1', 'S-d2');
    user(BEN, 'High', 'S-d3');
  }

  async function later(...args: Parameters<OnPlatform['run']>) {
    on.clock.pass(QUIET_MS);
    return on.run(...args);
  }

  /** Between the lists and the first read of a single record. */
  function meanwhile(change: () => void): void {
    let isOver = false;
    on.platform.onRead = (what) => {
      if (what !== 'target' || isOver) return;
      isOver = true;
      change();
    };
  }

  const left = async () =>
    (await on.store.intents({})).map(({ target, status, outcome, note }) => ({ target, status, outcome, note }));

  it('bans them, and lifts the bans when a newer report of the user no longer matches', async () => {
    start();
    await on.run();
    expect(on.platform.effects.toSorted()).toEqual(['ban S-d1', 'ban S-d2']);
    await later();
    user(ANN, 'High', 'S-d1', 'S-d2');
    await later();
    expect(on.platform.effects.slice(2).toSorted()).toEqual(['unban S-d1', 'unban S-d2']);
    await later();
    expect(on.platform.effects).toHaveLength(4);
  });

  it('does in a dry run as a live one would, and calls nothing', async () => {
    start();
    const { decisions, plan } = await on.run('dry-run');
    expect(decisions.map(({ subject, target, decision }) => [subject.id, target, decision]).sort()).toEqual([
      [ANN, 'S-d1', 'act'],
      [ANN, 'S-d2', 'act'],
    ]);
    expect(plan?.intents.map(({ action, target }) => `${action} ${target}`).sort()).toEqual([
      'ban_device S-d1',
      'ban_device S-d2',
    ]);
    expect(on.platform.sent).toEqual([]);
  });

  it('judges by the device of a shared serial number that is theirs, not by those of others', async () => {
    start(userRule({ when: SOME_COMPROMISED }));
    on.platform.addDevice('p1', { SerialNumber: 'Default string', Emails: [ANN] });
    on.platform.addDevice('p2', { SerialNumber: 'Default string', Emails: [BEN] });
    user(ANN, 'High', 'S-d1', 'S-d2', 'Default string');
    user(BEN, 'High', 'S-d3', 'Default string');
    on.platform.compromised('p2', 'TRUE');
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d3']);
  });

  describe('reads the user again before the call', () => {
    it('and leaves the devices alone when the rule no longer matches', async () => {
      start();
      meanwhile(() => user(ANN, 'High', 'S-d1', 'S-d2'));
      await on.run();
      expect(on.platform.sent).toEqual([]);
      expect(await left()).toMatchObject([
        { target: 'S-d1', status: 'withdrawn', note: expect.stringContaining('TrustData.Level was "Low"') },
        { target: 'S-d2', status: 'withdrawn' },
      ]);
    });

    it('and leaves alone the device that is no longer theirs', async () => {
      start();
      meanwhile(() => {
        user(ANN, 'Low', 'S-d2');
        on.platform.patch('d1', { Emails: [BEN] });
      });
      await on.run();
      expect(on.platform.sent).toEqual(['ban S-d2']);
      expect(await left()).toMatchObject([
        { target: 'S-d1', status: 'withdrawn', note: expect.stringContaining(`no longer a device of ${ANN}`) },
        { target: 'S-d2', outcome: 'succeeded' },
      ]);
    });

    it('also for a plan that a person approved', async () => {
      start(userRule({ mode: 'approve' }));
      const { plan } = await on.run();
      expect(plan?.intents).toHaveLength(2);
      const approved = await on.approve(plan);
      user(ANN, 'Low', 'S-d2');
      await on.apply(approved);
      expect(on.platform.sent).toEqual(['ban S-d2']);
    });

    it('and a plan that was approved is refused when the user’s record changed', async () => {
      start(userRule({ mode: 'approve' }));
      const approved = await on.approve((await on.run()).plan);
      user(ANN, 'Medium', 'S-d1', 'S-d2');
      const { refused } = await on.apply(approved);
      expect(on.platform.sent).toEqual([]);
      expect(refused).toHaveLength(0);
      expect(await left()).toMatchObject([
        { status: 'withdrawn', note: expect.stringContaining('TrustData.Level was "Low"') },
        { status: 'withdrawn' },
      ]);
    });

    it('and a ban in doubt is tried again only while the user still matches and has the device', async () => {
      start();
      on.platform.answer('S-d1', 'lost');
      on.platform.answer('S-d2', 'lost');
      await on.run();
      user(ANN, 'Low', 'S-d2');
      on.platform.patch('d1', { Emails: [BEN] });
      await later();
      expect(on.platform.sent.toSorted()).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d2']);
      expect(await left()).toMatchObject([{ target: 'S-d1', outcome: 'parked' }, { target: 'S-d2' }]);
    });
  });

  it('lifts the ban of a device that passed to somebody else, while the user still matches', async () => {
    start();
    await on.run();
    await later();
    user(ANN, 'Low', 'S-d2');
    on.platform.patch('d1', { Emails: [BEN] });
    await later();
    expect(on.platform.effects.slice(2)).toEqual(['unban S-d1']);
    await later();
    expect(on.platform.effects).toHaveLength(3);
    expect(on.platform.isBanned('S-d2')).toBe(true);
  });

  describe('before it lifts a ban, asks the user’s record and those of the device', () => {
    it.each([
      ['the user, who matches again', () => user(ANN, 'High', 'S-d1', 'S-d2'), () => user(ANN, 'Low', 'S-d2')],
      [
        'the device, which is theirs again',
        () => {
          user(ANN, 'Low', 'S-d2');
          on.platform.patch('d1', { Emails: [BEN] });
        },
        () => on.platform.patch('d1', { Emails: [ANN] }),
      ],
    ])('and leaves it when one of the two changed meanwhile: %s', async (_, before, change) => {
      start();
      await on.run();
      await later();
      before();
      meanwhile(change);
      await later();
      expect(on.platform.effects).toHaveLength(2);
    });

    it('and lifts it when the record of a user who no longer matches names no devices', async () => {
      start();
      await on.run();
      await later();
      user(ANN, 'High', 'S-d1', 'S-d2');
      on.platform.users.set(ANN, { ...on.platform.users.get(ANN), SerialNumbers: null });
      await later();
      expect(on.platform.effects.slice(2).toSorted()).toEqual(['unban S-d1', 'unban S-d2']);
    });

    it('and refuses it in an approved plan when the device is theirs again', async () => {
      start(userRule({ mode: 'approve' }));
      await on.apply(await on.approve((await on.run()).plan));
      await later();
      user(ANN, 'Low', 'S-d2');
      on.platform.patch('d1', { Emails: [BEN] });
      const approved = await on.approve((await later()).plan);
      user(ANN, 'Low', 'S-d1', 'S-d2');
      on.platform.patch('d1', { Emails: [ANN] });
      await on.apply(approved);
      expect(on.platform.effects).toHaveLength(2);
      expect(await left()).toContainEqual(
        expect.objectContaining({ target: 'S-d1', note: expect.stringContaining('SerialNumbers was ["S-d2"]') }),
      );
    });
  });

  describe('`why` of a device that no longer names the user whose ban it is', () => {
    const why = async () => {
      const { rules } = on.engine.active();
      const deps = { ...on.engine, reader: on.store, rules, isWhatIf: false } as unknown as WhyDeps;
      return whyOf(deps, { kind: 'device', id: 'd1' });
    };

    it('says that the ban is undone since it passed on', async () => {
      start();
      await on.run();
      await later();
      user(ANN, 'Low', 'S-d2');
      on.platform.patch('d1', { Emails: [BEN] });
      on.clock.pass(QUIET_MS);
      expect((await why()).next).toEqual([
        `the next run does unban_device S-d1, of rule distrusted about ${ANN}: it is no longer a device of ${ANN}, if a whole run allows it`,
      ]);
    });

    it('says of whom the rule has to cease to match', async () => {
      start();
      await on.run();
      on.platform.patch('d1', { Emails: [] });
      await later();
      expect((await why()).next).toEqual([`ban_device S-d1 is undone when rule distrusted no longer matches ${ANN}`]);
    });
  });

  it.each([
    ['the user', { kind: 'user', id: ANN }, []],
    ['a device of theirs', { kind: 'device', id: 'd1' }, ['ban S-d2']],
  ] as const)('bans nothing that is exempt through %s', async (_, subject, sent) => {
    start();
    await addExemption(on.engine, { subject, unseen: true, owner: 'ana', reason: 'on the road', until: '1d' }, 'ana');
    await on.run();
    expect(on.platform.sent).toEqual([...sent]);
  });

  it('bans nothing of a user whose group is exempt, as the user’s own record shows it then', async () => {
    start();
    const selector = { kind: 'user', field: 'Groups', value: 'Staff' } as const;
    await addExemption(on.engine, { selector, unseen: true, owner: 'ana', reason: 'a trial', until: '1d' }, 'ana');
    await on.run();
    expect(on.platform.sent).toEqual([]);
  });

  it('shares one call with a rule about devices, and the ban stays until neither matches', async () => {
    start(userRule(), banRule({ id: 'compromised', more: 'owners: all' }));
    on.platform.compromised('d1', 'TRUE');
    await on.run();
    expect(on.platform.sent.toSorted()).toEqual(['ban S-d1', 'ban S-d2']);
    user(ANN, 'High', 'S-d1', 'S-d2');
    await later();
    expect(on.platform.sent.slice(2)).toEqual(['unban S-d2']);
    on.platform.compromised('d1', 'FALSE');
    await later();
    expect(on.platform.sent.slice(3)).toEqual(['unban S-d1']);
  });

  it('leaves alone a device that a person unbanned', async () => {
    start();
    await on.run();
    await later();
    on.platform.patch('d1', { Banned: 'FALSE' });
    await later();
    const { decisions } = await later();
    expect(on.platform.sent).toHaveLength(2);
    expect(decisions.find(({ target }) => target === 'S-d1')?.reason).toBe('overridden');
  });

  it('bans their devices between two whole runs, when an event names the user', async () => {
    start();
    user(ANN, 'High', 'S-d1', 'S-d2');
    await on.run();
    on.clock.pass(1_000);
    user(ANN, 'Low', 'S-d1', 'S-d2');
    addEvent(on, 'd3', { user_principal: { user: { email: ANN } } });
    expect(await lookOn(on)).toMatchObject({ result: 'acted' });
    expect(on.platform.effects.toSorted()).toEqual(['ban S-d1', 'ban S-d2']);
  });

  it('is released on one device: the matches of device rules on the others stay', async () => {
    start(userRule(), banRule());
    on.platform.compromised('d2', 'TRUE');
    await on.run();
    await later();
    await releaseClaims(on.engine, 'S-d1', { by: 'ana', reason: 'checked' });
    const noted = await on.store.audit({ kind: 'episode.overridden', limit: 9 });
    expect(noted.map(({ bytes }) => (JSON.parse(bytes) as { body: { rule: string } }).body.rule)).toEqual([
      'distrusted',
    ]);
  });

  it('is released by a person, and not banned again', async () => {
    start();
    await on.run();
    await later();
    const claim = (await on.store.claims({})).find(({ target }) => target === 'S-d1');
    if (!claim) throw new Error('there is no claim');
    await releaseClaims(on.engine, claim, { by: 'ana', reason: 'checked' }, new RunCounts(undefined));
    await later();
    expect(on.platform.sent.slice(2)).toEqual(['unban S-d1']);
  });

  it('is explained with the devices as targets', async () => {
    start();
    await on.run('dry-run');
    const { api, store, clock, quiet, ids, log, actions, daemonMode, settings } = on.engine;
    const deps = { api, reader: store, clock, quiet, ids, log, actions, daemonMode, settings, isWhatIf: false };
    const explained = await explainSubject(
      { ...deps, rules: on.engine.active().rules } as unknown as ExplainDeps,
      'distrusted',
      ANN,
    );
    expect(explained.decisions.map(({ action, target, decision }) => [action, target, decision])).toEqual([
      ['ban_device', 'S-d1', 'act'],
      ['ban_device', 'S-d2', 'act'],
    ]);
  });
});

describe('the name of the action in a rule', () => {
  function problemsOf(text: string, subject = 'user', when = '{ "==": [{ var: Email }, "a"] }'): string {
    const parsed = parseRule(`id: a\nsubject: ${subject}\nwhen: ${when}\nthen: ${text}\n`, 'a.yaml', {
      traits: ACTIONS,
    });
    return 'problems' in parsed ? parsed.problems.map(({ message }) => message).join('\n') : 'none';
  }

  it.each([
    ['ban_devices', 'user', 'none'],
    [
      'ban_device',
      'user',
      "`ban_device` acts on a device, and this rule's subject is a user; it can name `ban_devices`",
    ],
    ['ban_devicess', 'user', 'unknown action `ban_devicess`; did you mean `ban_devices`?'],
    ['[ban_devices, ban_devices]', 'user', '`ban_devices` is named twice'],
  ])('%s in a rule about a %s: %s', (name, subject, expected) => {
    expect(problemsOf(name, subject)).toBe(expected);
  });

  it('is `ban_device` in a rule about devices', () => {
    expect(problemsOf('ban_devices', 'device', '{ "==": [{ var: Platform }, "macOS"] }')).toBe(
      "`ban_devices` acts on a user, and this rule's subject is a device; it can name `ban_device`",
    );
  });

  it('is refused where `when` reads the ban of the user’s devices', () => {
    const when = '{ some: [{ var: $devices }, { "==": [{ var: Banned }, "FALSE"] }] }';
    expect(problemsOf('ban_devices', 'user', when)).toContain(
      '`when` reads `Banned`, which `ban_devices` itself writes',
    );
    expect(problemsOf('notify', 'user', when)).toBe('none');
  });

  it('makes the rule read the list of devices too', () => {
    expect(userRule().sources).toEqual(['users', 'devices']);
  });
});
