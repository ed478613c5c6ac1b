// test: who is meant: identities and owners as runs keep them, and names that a device chose so that two things look like one.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type CountingDb, countingDatabase } from '../../support/counting-db.ts';
import { banRule, type OnPlatform, type Options, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

describe('whole runs keep identities up by difference', () => {
  const WRITE = /^(INSERT INTO|UPDATE|DELETE FROM) (identities|identity_owners)\b/;
  const PAGES = { more: 'owners: all' }; // no rule asks for owners: pages are read

  function start(options: Options = {}): OnPlatform & { db: CountingDb; rows(): object[]; writes(): number } {
    const db = countingDatabase();
    const on = startOnPlatform({ db, rules: [banRule(PAGES)], ...options });
    const rows = () =>
      db.all('SELECT id, serial, name, owners, changed_at, gone_at FROM identities ORDER BY kind, id') as object[];
    const writes = () => {
      const found = [...db.asked].filter(([sql]) => WRITE.test(sql)).reduce((sum, [, { times }]) => sum + times, 0);
      db.asked.clear();
      return found;
    };
    return { ...on, db, rows, writes };
  }

  const shown = (id: string, at: number, over: object = {}) => ({
    id,
    serial: `S-${id}`,
    name: `device ${id}`,
    owners: null,
    changed_at: at,
    gone_at: null,
    ...over,
  });

  it('a run keeps what it has read, and the next run over the same fleet writes nothing of it', async () => {
    const { platform, clock, run, rows, writes } = start();
    for (const id of ['a', 'b', 'c']) platform.addDevice(id);
    const at = clock.now;
    await run('dry-run');
    expect(rows()).toEqual(['a', 'b', 'c'].map((id) => shown(id, at)));
    expect(writes()).toBeGreaterThan(0);
    clock.pass(60_000);
    await run('enforce');
    await run('enforce');
    expect(writes()).toBe(0);
  });

  it('only what differs is written: new, renamed, registered anew and gone, and what is gone stays known', async () => {
    const { platform, clock, run, rows, writes } = start();
    for (const id of ['a', 'b', 'c', 'd']) platform.addDevice(id);
    const first = clock.now;
    await run();
    writes();
    clock.pass(60_000);
    const second = clock.now;
    platform.patch('b', { DeviceFriendlyName: 'Renamed' });
    platform.devices.delete('c');
    platform.addDevice('c2', { SerialNumber: 'S-c' });
    await run();
    const expected = [
      shown('a', first),
      shown('b', second, { name: 'Renamed' }),
      shown('c', second, { gone_at: second }),
      shown('c2', second, { serial: 'S-c', name: 'device c2' }),
      shown('d', first),
    ];
    expect(rows()).toEqual(expected);
    expect(writes()).toBeLessThan(8);
    await run();
    expect(rows()).toEqual(expected);
    expect(writes()).toBe(0);
    clock.pass(60_000);
    platform.addDevice('c');
    await run();
    expect(rows()[2]).toEqual(shown('c', clock.now));
  });

  it('owners are kept from readings that show them, also through readings that do not', async () => {
    const { platform, clock, run, rows, rules, writes } = start({ rules: [banRule()] });
    platform.addDevice('a', { Emails: ['Ada@x.org'] });
    const at = clock.now;
    await run();
    expect(rows()).toEqual([shown('a', at, { owners: '["Ada@x.org"]' })]);
    writes();
    for (const rule of [banRule(PAGES), banRule()]) {
      rules(rule);
      await run();
    }
    expect(rows()).toEqual([shown('a', at, { owners: '["Ada@x.org"]' })]);
    expect(writes()).toBe(0);
  });

  it('an untrusted or broken reading changes nothing', async () => {
    const { platform, run, rows, writes } = start({
      settings: (all) => ({ ...all, trust: { ...all.trust, shrunkPercent: 20, shrunkRecords: 2 } }),
    });
    for (let at = 0; at < 20; at += 1) platform.addDevice(`d${at}`);
    await run();
    const before = rows();
    writes();
    platform.patch('d0', { DeviceFriendlyName: 'Renamed' });
    for (let at = 10; at < 20; at += 1) platform.devices.delete(`d${at}`);
    await run();
    platform.onRead = () => {
      throw new AppError('api_unreachable', 'down');
    };
    await expect(run()).rejects.toThrow('nothing was judged');
    expect([rows(), writes()]).toEqual([before, 0]);
  });

  it('a large first reading is kept whole', async () => {
    const { platform, db, run, writes } = start();
    for (let at = 0; at < 2_500; at += 1) platform.addDevice(`d${at}`);
    await run();
    expect(db.get('SELECT count(*) AS n FROM identities')).toEqual({ n: 2_500 });
    writes();
    await run();
    expect(writes()).toBe(0);
  });
});

describe('acting on devices', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  function leaverRule(more = ''): LoadedRule {
    const text = `
id: leaver
title: Delete the devices of a leaver
severity: high
subject: user
when: { "==": [{ var: Email }, ann@example.com] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
${more}
tests: [{ name: left, given: { Email: ann@example.com }, expect: match }]
`;
    const parsed = parseRule(text, 'leaver.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  function withDevices(...rules: LoadedRule[]): OnPlatform {
    const started = startOnPlatform({ rules });
    for (const id of ['d1', 'd2'])
      started.platform.addDevice(id, { Emails: ['ann@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
    started.platform.addDevice('d3', { Emails: ['bob@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
    return started;
  }

  async function devicesForm(): Promise<string | undefined> {
    return (await on.run('dry-run')).run.findings?.snapshot.sources.devices.form;
  }

  describe('a ban', () => {
    it('does not affect two devices of one owner in one run, whatever the conditions of the rules read', async () => {
      on = withDevices(banRule());
      const { decisions } = await on.run();
      expect(on.platform.effects).toEqual(['ban S-d3']);
      expect(decisions.filter(({ reason }) => reason === 'owners').map(({ target }) => target)).toEqual([
        'S-d1',
        'S-d2',
      ]);
    });

    it('by two rules, one with `owners: all`, does not affect two of one owner by the other', async () => {
      on = withDevices(banRule({ id: 'all', more: 'owners: all' }), banRule({ id: 'one', field: 'Other' }));
      on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
      on.platform.patch('d2', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
      await on.run();
      expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d3']);
    });

    it.each([
      ['owners: one', 'unpaged'],
      ['owners: all', 'paged'],
    ])('with `%s` reads the %s list of devices', async (more, form) => {
      on = withDevices(banRule({ more }));
      expect(await devicesForm()).toBe(form);
    });

    it('in a rule set without effects on devices needs only pages', async () => {
      on = withDevices(banRule({ does: 'notify' }));
      expect(await devicesForm()).toBe('paged');
    });
  });

  describe('a user', () => {
    function ann(fields: Record<string, string[] | null>): void {
      on.platform.users.set('ann@example.com', { Email: 'ann@example.com', Name: 'Ann', Groups: '', ...fields });
      on.platform.users.set('bob@example.com', {
        Email: 'bob@example.com',
        Name: 'Bob',
        Groups: '',
        SerialNumbers: ['S-d3'],
      });
    }

    it('whose devices are to be deleted loses each of them, whatever the condition reads', async () => {
      on = withDevices(leaverRule());
      ann({ SerialNumbers: ['S-d1', 'S-d2'] });
      const { decisions, plan } = await on.run();
      expect(decisions.map(({ target, reason }) => [target, reason])).toEqual([
        ['S-d1 ann@example.com', 'approval_needed'],
        ['S-d2 ann@example.com', 'approval_needed'],
      ]);
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.effects).toEqual(['delete S-d1 ann@example.com', 'delete S-d2 ann@example.com']);
      expect((await on.run()).decisions).toMatchObject([{ target: 'ann@example.com', reason: 'already_so' }]);
    });

    it.each([
      [{ SerialNumbers: [] }, 'already_so', 'the user has no device left'],
      [{}, 'impossible_target', 'the server does not report which devices the user has'],
      [{ SerialNumbers: null }, 'impossible_target', 'the server does not report which devices the user has'],
    ])('with devices %o is reported with its reason, not skipped silently', async (fields, reason, reasonText) => {
      on = withDevices(leaverRule());
      ann(fields);
      const { decisions, plan } = await on.run();
      expect(decisions).toMatchObject([
        {
          decision: 'skip',
          reason,
          reasonText,
          target: 'ann@example.com',
          effect: { text: 'delete the devices of ann@example.com: none is known' },
        },
      ]);
      expect(plan).toBeUndefined();
    });
  });
});

describe('targets with one text that are two things', () => {
  const ANN = 'ann@example.com';
  /** What a device calls itself. */
  const AS_MAPPING = `S-ann ${ANN}`;
  const AS_SERVICE = 'web.eu-1.acme';

  function parsed(id: string, text: string): LoadedRule {
    const limits = 'mode: enforce\ncooldown: 0s\nlimits: { max: 100, percent: 100 }\ntests: []\n';
    const made = parseRule(`id: ${id}\ntitle: ${id}\nseverity: high\n${text}\n${limits}`, `${id}.yaml`, {
      traits: ACTIONS,
    });
    if ('problems' in made) throw new Error(JSON.stringify(made.problems));
    return made.rule;
  }

  const ban = banRule();
  const leaver = parsed(
    'leaver',
    'subject: user\nwhen: { "==": [{ var: Leaver }, "TRUE"] }\nthen: delete_device\ndeclares: { Leaver: text }',
  );
  const down = parsed(
    'down',
    'subject: service\nwhen: { "==": [{ var: Type }, "HTTP"] }\nthen: disable_service\ndeclares: { Type: text }',
  );

  let on: OnPlatform;
  afterEach(() => on.close());

  function start(rules: LoadedRule[], serial: string): void {
    on = startOnPlatform({ rules });
    on.platform.addDevice('d1', {
      SerialNumber: serial,
      Emails: ['eve@example.com'],
      MdmData: { CompromisedStatus: 'TRUE' },
    });
  }

  function addAnn(): void {
    on.platform.addDevice('d2', { SerialNumber: 'S-ann', Emails: [ANN] });
    on.platform.users.set(ANN, { Email: ANN, Name: 'Ann', Groups: '', Leaver: 'TRUE', SerialNumbers: ['S-ann'] });
  }

  function addService(): void {
    on.platform.services.set(AS_SERVICE, { ServiceID: AS_SERVICE, ServiceName: 'web', Enabled: 'TRUE', Type: 'HTTP' });
  }

  const answers = async () => (await on.run()).decisions.map(({ rule, reason }) => `${rule}: ${reason}`).sort();
  const openClaims = async () =>
    (await on.store.claims({ status: 'standing' })).map(({ action, target }) => `${action} ${target}`);

  describe('a device whose serial number looks like a user’s mapping', () => {
    it('is banned, and the mapping waits for its approval: neither holds the other', async () => {
      start([ban, leaver], AS_MAPPING);
      addAnn();
      expect(await answers()).toEqual(['ban: rule_matches', 'leaver: approval_needed']);
      expect(on.platform.effects).toEqual([`ban ${AS_MAPPING}`]);
    });

    it('does not block the deletion of a mapping while its own ban is in doubt', async () => {
      start([ban, leaver], AS_MAPPING);
      on.platform.answer(AS_MAPPING, 'lost');
      await on.run();
      addAnn();
      const { plan, decisions } = await on.run();
      expect(decisions.find(({ rule }) => rule === 'leaver')?.reason).toBe('approval_needed');
      const { intents } = await on.apply(await on.approve(plan));
      expect(intents.map(({ outcome }) => outcome)).toEqual(['succeeded']);
      expect(on.platform.users.get(ANN)).toMatchObject({ SerialNumbers: [] });
    });

    it('stays claimed when that mapping is deleted, and its ban is undone when its own match clears', async () => {
      start([ban, leaver], AS_MAPPING);
      addAnn();
      const { plan } = await on.run();
      await on.apply(await on.approve(plan));
      expect(on.platform.users.get(ANN)).toMatchObject({ SerialNumbers: [] });
      expect(await openClaims()).toEqual([`ban_device ${AS_MAPPING}`]);
      on.clock.pass(QUIET_MS);
      on.platform.compromised('d1', 'FALSE');
      await on.run();
      expect(on.platform.isBanned(AS_MAPPING)).toBe(false);
    });
  });

  describe('a device whose serial number looks like a ServiceID', () => {
    it('is banned, and that service is disabled', async () => {
      start([ban, down], AS_SERVICE);
      addService();
      expect(await answers()).toEqual(['ban: rule_matches', 'down: rule_matches']);
      expect([...on.platform.effects].sort()).toEqual([`ban ${AS_SERVICE}`, `disable ${AS_SERVICE}`]);
    });

    it('is released by an exemption, and the service stays disabled', async () => {
      start([ban, down], AS_SERVICE);
      addService();
      await on.run();
      on.clock.pass(QUIET_MS);
      const about = { kind: 'device', id: 'd1' } as const;
      const { released } = await exempt(
        on.engine,
        { subject: about, owner: 'eve', reason: 'a test', until: '1d', release: true },
        'ada',
      );
      expect(released.map(({ action, state }) => `${action} ${state}`)).toEqual(['unban_device released']);
      expect(await openClaims()).toEqual([`disable_service ${AS_SERVICE}`]);
    });
  });
});

describe('A device chooses its names', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  /** The arithmetic of earlier versions: cyrb53, two characters a step. */
  interface State {
    a: number;
    b: number;
  }
  const BEGIN: State = { a: 0xdeadbeef | 0, b: 0x41c6ce57 };
  const [P, Q] = [2_654_435_761, 1_597_334_677];
  const step = ({ a, b }: State, units: number): State => ({ a: Math.imul(a ^ units, P), b: Math.imul(b ^ units, Q) });

  function mixed(state: State, text: string): State {
    let now = state;
    for (let at = 1; at < text.length; at += 2) now = step(now, unitsOf(text.slice(at - 1)));
    now = step(now, text.length % 2 === 1 ? text.charCodeAt(text.length - 1) : 0);
    return { a: now.a ^ text.length, b: now.b ^ text.length };
  }

  function finished({ a, b }: State): State {
    return {
      a: Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909),
      b: Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909),
    };
  }

  const unitsOf = (text: string) => text.charCodeAt(0) | (text.charCodeAt(1) << 16);
  const textOf = (units: number) => String.fromCharCode(units & 0xffff, units >>> 16);
  const isPlain = (text: string) => /^[^\p{C}\p{Z}\p{Lu}\p{Lt}]{2}$/u.test(text) && text.normalize() === text;

  /** Two texts of four characters that lead from one state to one state: half of the second pair is free, and half makes up for the first. */
  function twins(from: State): [string, string] {
    const known = new Map<number, number>();
    for (let one = 0; one < 0x40000; one += 1) {
      const units = (0x4e00 + (one & 0x1ff)) | ((0x4e00 + (one >> 9)) << 16);
      const { a, b } = step(from, units);
      const other = known.get(a ^ b);
      if (other === undefined) known.set(a ^ b, units);
      else {
        const apart = a ^ step(from, other).a;
        for (let second = 0x4e00; second < 0x9000; second += 1) {
          const pair = second | ((second ^ 0x55) << 16);
          const [first, last] = [textOf(pair), textOf(pair ^ apart)];
          if (isPlain(first) && isPlain(last)) return [textOf(units) + first, textOf(other) + last];
        }
      }
    }
    throw new Error('no twins were found');
  }

  const NAME = 'DeviceFriendlyName';

  describe('a device that takes a name of the same unkeyed fingerprint', () => {
    it('is found by it', async () => {
      on = startOnPlatform();
      const [before, after] = twins(mixed(mixed(BEGIN, 'd1'), 'S-d1'));
      on.platform.addDevice('d1', { [NAME]: before });
      await on.run();
      on.platform.patch('d1', { [NAME]: after });
      await on.run();
      const found = await on.store.identitiesNamed(after);
      expect(found.map(({ identity }) => identity.id)).toEqual(['d1']);
      expect(await on.store.identitiesNamed(before)).toEqual([]);
    });

    it('has it in the history', async () => {
      on = startOnPlatform();
      const history = new MemoryHistory(on.store);
      on.engine.history = history;
      const seed = finished(mixed(BEGIN, NAME));
      const [before, after] = twins({ a: seed.a ^ 1, b: seed.b });
      on.platform.addDevice('d1', { [NAME]: before });
      await on.run();
      on.platform.patch('d1', { [NAME]: after });
      await on.run();
      await history.settled();
      expect(history.runs.at(-1)?.changes).toMatchObject([{ subject: 'd1', path: NAME, value: after }]);
    });
  });

  it('a device is found by its name among many whose names share its hash', async () => {
    on = startOnPlatform();
    const name = mixed(BEGIN, 'name');
    let [state, texts] = [name, ['']];
    for (let part = 0; part < 6; part += 1) {
      const pair = twins(state);
      state = step(step(state, unitsOf(pair[0])), unitsOf(pair[0].slice(2)));
      texts = texts.flatMap((text) => pair.map((one) => text + one));
    }
    const [own = '', ...others] = texts.toReversed();
    for (const [at, other] of others.entries()) on.platform.addDevice(`a${at}`, { [NAME]: other });
    on.platform.addDevice('z', { [NAME]: own });
    await on.run('dry-run');
    expect((await on.store.identitiesNamed(own)).map(({ identity }) => identity.id)).toEqual(['z']);
  });
});
