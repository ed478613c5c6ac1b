// test: nothing that `guards.yaml` asks a person about is called without a person's yes: deciding, preflight and retrying ask. A dry run shows it.
import { describe, expect, it } from 'vitest';
import type { Guard, Guards } from '../../../src/domain/guards.ts';
import { type WhyDeps, whyOf } from '../../../src/engine/explain/why.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, compromise, lookOn } from '../../support/looks.ts';

const NOTHING: Guards = { ask: [], lastDevice: false, perDay: undefined };
const asking = (field: string, value: string, kind: Guard['selector']['kind'] = 'user'): Guards => ({
  ...NOTHING,
  ask: [{ selector: { kind, field, value }, reason: 'call first' }],
});
const LAST: Guards = { ...NOTHING, lastDevice: true };
const perDay = (allowed: number): Guards => ({ ...NOTHING, perDay: allowed });

function guarded(guards: Guards, options: Parameters<typeof banRule>[0] = {}): LoadedRule {
  return { ...banRule({ more: 'owners: all', ...options }), guards: { ...guards, files: [] } };
}

/** `ann` has `a1` and `a2`, `bob` has `b1`; read once, with nothing wrong. */
async function seen(guards: Guards): Promise<OnPlatform> {
  const on = startOnPlatform({ rules: [guarded(guards)] });
  own(on, 'ann@x.org', 'staff', 'a1', 'a2');
  own(on, 'bob@x.org', 'Board', 'b1');
  await on.run();
  return on;
}

function own(on: OnPlatform, email: string, groups: string, ...ids: string[]): void {
  on.platform.users.set(email, {
    Email: email,
    Name: email,
    Groups: groups,
    SerialNumbers: ids.map((id) => `S-${id}`),
  });
  for (const id of ids) on.platform.addDevice(id, { Emails: [email] });
}

async function banning(on: OnPlatform, ...ids: string[]) {
  for (const id of ids) on.platform.compromised(id, 'TRUE');
  const round = await on.run();
  const decided = round.decisions.map(({ subject, decision, reason }) => `${subject.id} ${decision} ${reason}`).sort();
  return { ...round, decided };
}

describe('a guard that always asks', () => {
  it.each([
    ['an owner by address, in another case', asking('Email', 'BOB@x.org')],
    ['an owner by group, although no rule reads users', asking('Groups', 'Board')],
    ['a device by its serial number', asking('SerialNumber', 's-B1', 'device')],
  ])('about %s holds the ban in each run until a person says yes', async (_about, guards) => {
    const on = await seen(guards);
    const { decided, decisions, plan } = await banning(on, 'b1', 'a1');
    expect(decided).toEqual(['a1 act rule_matches', 'b1 hold guarded']);
    expect(decisions.map(({ reasonText }) => reasonText).join()).toMatch(
      /`guards.yaml` asks a person about .*: call first/,
    );
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-a1']);
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['ban S-a1', 'ban S-b1']);
    on.platform.compromised('b1', 'FALSE');
    on.platform.compromised('a1', 'FALSE');
    await on.run();
    expect(on.platform.effects.slice(2).sort()).toEqual(['unban S-a1', 'unban S-b1']);
  });

  it('waits for a person where it was not read who owns the device, and not where nobody does', async () => {
    const on = await seen({ ...asking('Email', 'bob@x.org'), lastDevice: true, perDay: 1 });
    on.platform.addDevice('silent');
    on.platform.addDevice('nobodys', { Emails: [] });
    const { decided } = await banning(on, 'nobodys', 'silent');
    expect(decided).toEqual(['nobodys act rule_matches', 'silent hold guarded']);
    expect(on.platform.effects).toEqual(['ban S-nobodys']);
  });

  it('is asked before the call: who becomes an owner between deciding and the call is not banned', async () => {
    const on = await seen(asking('Email', 'bob@x.org'));
    on.platform.onRead = (what) => what === 'target' && on.platform.patch('a1', { Emails: ['ann@x.org', 'bob@x.org'] });
    expect((await banning(on, 'a1')).decided).toEqual(['a1 hold guarded']);
    expect(on.platform.sent).toEqual([]);
    expect(await on.intents()).toMatchObject([{ status: 'withdrawn' }]);
  });

  it('is asked before a retry: a doubt whose device became guarded is not sent again', async () => {
    const on = await seen(asking('Email', 'bob@x.org'));
    on.platform.answer('S-a1', 'lost');
    await banning(on, 'a1');
    on.platform.patch('a1', { Emails: ['bob@x.org'] });
    for (let run = 0; run < 4; run += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    expect(on.platform.sent).toHaveLength(1);
  });

  it('and that is added later holds from the next run on', async () => {
    const on = await seen(NOTHING);
    on.rules(guarded(asking('Email', 'bob@x.org')));
    expect((await banning(on, 'b1')).decided).toEqual(['b1 hold guarded']);
  });
});

describe('the guard of a last device', () => {
  it('lets one of two devices be banned and holds the other, always the same one', async () => {
    for (const order of [
      ['a1', 'a2'],
      ['a2', 'a1'],
    ] as const) {
      const on = await seen(LAST);
      expect((await banning(on, ...order)).decided).toEqual(['a1 act rule_matches', 'a2 hold last_device']);
      const { decided } = await banning(on);
      expect(decided).toContain('a2 hold last_device');
      expect(on.platform.effects).toEqual(['ban S-a1']);
    }
  });

  it('holds an only device, and lets it be banned once there is another', async () => {
    const on = await seen(LAST);
    expect((await banning(on, 'b1')).decided).toEqual(['b1 hold last_device']);
    own(on, 'bob@x.org', 'Board', 'b1', 'b2');
    on.platform.compromised('b1', 'TRUE');
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-b1']);
  });

  it('is asked before the call: a person who banned the other one meanwhile keeps this one', async () => {
    const on = await seen(LAST);
    on.platform.onRead = (what) => what === 'target' && on.platform.patch('a2', { Banned: 'TRUE' });
    expect((await banning(on, 'a1')).decided).toEqual(['a1 hold last_device']);
    expect(on.platform.sent).toEqual([]);
  });

  it('a rule in dry-run does not hold what a live rule does', async () => {
    const on = await seen(LAST);
    on.rules(guarded(LAST), guarded(LAST, { id: 'dry', mode: 'dry-run', field: 'Other' }));
    on.platform.patch('a1', { MdmData: { Other: 'TRUE', CompromisedStatus: 'FALSE' } });
    const { decided } = await banning(on, 'a2');
    expect(decided).toContain('a2 act rule_matches');
    expect(on.platform.effects).toEqual(['ban S-a2']);
  });
});

describe('a look between two whole runs', () => {
  async function looking(on: OnPlatform, ...ids: string[]): Promise<string[]> {
    compromise(on, ...ids);
    const { run } = await lookOn(on);
    const decided = run ? await on.store.decisions({ runSeq: run.seq, limit: 100 }) : [];
    return decided.map(({ subject, decision, reason }) => `${subject.id} ${decision} ${reason}`).sort();
  }

  it('bans who keeps a device, and asks a person about who would have none', async () => {
    const on = await seen(LAST);
    expect(await looking(on, 'a2', 'b1')).toEqual(['a2 act rule_matches', 'b1 hold last_device']);
    expect(await looking(on, 'a1')).toEqual(['a1 hold last_device']);
    expect(on.platform.effects).toEqual(['ban S-a2']);
    expect(await on.intents()).toHaveLength(1);
  });

  it('counts as taken what waits for a person, and as kept only what it knows', async () => {
    const on = startOnPlatform({
      rules: [guarded(LAST, { mode: 'approve' }), guarded(LAST, { id: 'now', field: 'Other' })],
    });
    own(on, 'ann@x.org', 'staff', 'a1', 'a2');
    await on.run();
    await banning(on, 'a1');
    on.platform.patch('a2', { MdmData: { Other: 'TRUE' } });
    own(on, 'new@x.org', 'staff', 'n1', 'n2');
    for (const id of ['a2', 'n1']) addEvent(on, id);
    on.platform.patch('n1', { MdmData: { Other: 'TRUE' } });
    expect(await looking(on)).toEqual(['a2 hold last_device', 'n1 hold last_device']);
  });

  it('and `why` says what a run would: it is asked, or banned', async () => {
    const on = await seen(LAST);
    await banning(on, 'b1');
    on.platform.compromised('a1', 'TRUE');
    const { rules } = on.engine.active();
    const deps = { ...on.engine, reader: on.store, rules, isWhatIf: false } as unknown as WhyDeps;
    const next = async (id: string) => (await whyOf(deps, { kind: 'device', id })).next.join('; ');
    expect(await next('b1')).not.toContain('the next run does');
    expect(await next('a1')).toContain('the next run does ban_device S-a1');
  });

  it('counts what was done to the devices of a person within 24 hours before it decides', async () => {
    const on = await seen(perDay(1));
    await looking(on, 'a1');
    expect(await looking(on, 'a2')).toEqual(['a2 hold devices_of_a_day']);
    expect(await on.intents()).toHaveLength(1);
  });
});

describe('the guard of devices of one person a day', () => {
  it('holds what is more within 24 hours, over runs, and lets it go after them', async () => {
    const on = await seen(perDay(1));
    own(on, 'ann@x.org', 'staff', 'a1', 'a2', 'a3');
    expect((await banning(on, 'a2', 'a3', 'b1')).decided).toEqual([
      'a2 act rule_matches',
      'a3 hold devices_of_a_day',
      'b1 act rule_matches',
    ]);
    on.clock.pass(3_600_000);
    expect((await banning(on, 'a1')).decided.filter((one) => one.includes('hold'))).toEqual([
      'a1 hold devices_of_a_day',
      'a3 hold devices_of_a_day',
    ]);
    on.clock.pass(24 * 3_600_000);
    await on.run();
    expect(on.platform.effects.sort()).toEqual(['ban S-a1', 'ban S-a2', 'ban S-b1']);
  });

  it('is asked before the call: a device that becomes theirs meanwhile is not banned', async () => {
    const on = await seen(perDay(1));
    await banning(on, 'a1');
    on.platform.onRead = (what) => what === 'target' && on.platform.patch('b1', { Emails: ['bob@x.org', 'ann@x.org'] });
    expect((await banning(on, 'b1')).decided).toContain('b1 hold devices_of_a_day');
    expect(on.platform.effects).toEqual(['ban S-a1']);
  });
});
