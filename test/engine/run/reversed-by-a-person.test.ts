// test: a person's change wins every time: whoever sees it first records it for every rule, and until it can be told from a stale
// read nobody acts on the target.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Mode } from '../../../src/domain/rule.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { historyOf } from '../../../src/engine/explain/history-of.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

let on: OnPlatform;
afterEach(() => on.close());

const AT_ONCE = banRule({ id: 'at-once' });
const LATER = banRule({ id: 'later', more: 'for: 2s' });
/** Over the same devices, and matching none. */
const OTHER = banRule({ id: 'other', field: 'Other' });

/** `d1` is banned by the first of the rules; a day of normal lists lies behind. */
async function banned(...rules: ReturnType<typeof banRule>[]): Promise<void> {
  on = startOnPlatform({ rules });
  for (const id of ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'])
    on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' } });
  on.platform.compromised('d1', 'TRUE');
  await on.run();
  expect(on.platform.sent).toEqual(['ban S-d1']);
}

const liftBan = () => on.platform.patch('d1', { Banned: 'FALSE' });

const openClaims = async () => (await on.store.openState(on.clock.now)).claims.map(({ rule }) => rule).sort();

const overridden = async () =>
  (await on.store.openState(on.clock.now)).episodes
    .filter(({ overriddenAt }) => overriddenAt !== undefined)
    .map(({ rule }) => rule)
    .sort();

describe('a ban that a person lifts', () => {
  it('is not repeated within the quiet period by a rule that did not ban it and is due now', async () => {
    await banned(AT_ONCE, LATER);
    liftBan();
    on.clock.pass(5_000);
    const { decisions } = await on.run();
    expect(decisions.map(({ rule, reason }) => `${rule} ${reason}`).sort()).toEqual([
      'at-once already_acted',
      'later in_doubt',
    ]);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toEqual(['at-once', 'later']);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is not repeated by a rule that matches since then, within the quiet period', async () => {
    await banned(AT_ONCE, OTHER);
    liftBan();
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.clock.pass(5_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to every rule when a run over another rule sees it first', async () => {
    await banned(AT_ONCE, LATER, OTHER);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run('enforce', ['other']);
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to a rule that looks do not judge when a look sees it first', async () => {
    await banned(AT_ONCE, banRule({ id: 'later', more: 'for: 2s\nwatch: false' }));
    liftBan();
    on.clock.pass(QUIET_MS);
    addEvent(on, 'd1');
    await lookOn(on);
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is known to a rule that could not be judged when it was seen', async () => {
    const last = banRule({ id: 'later', field: 'Other', more: 'for: 2s' });
    await banned(AT_ONCE, last);
    on.platform.patch('d1', { Banned: 'FALSE', MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run(); // too early to tell
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await overridden()).toEqual(['at-once', 'later']);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is not repeated by a rule that was missing when it was seen', async () => {
    await banned(AT_ONCE, LATER);
    on.rules(AT_ONCE);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run();
    on.rules(AT_ONCE, LATER);
    for (let round = 0; round < 3; round += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('is nothing to a rule that was missing when it was seen and does something else', async () => {
    const DELETES = banRule({ id: 'deletes', does: 'delete_device', mode: 'approve' });
    await banned(AT_ONCE, DELETES);
    on.rules(AT_ONCE);
    liftBan();
    on.clock.pass(QUIET_MS);
    await on.run();
    on.rules(AT_ONCE, DELETES);
    for (let round = 0; round < 2; round += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    const [plan] = await on.store.plans({ status: 'pending' }, 1);
    expect(plan?.intents).toMatchObject([{ action: 'delete_device', target: 'S-d1' }]);
  });

  it.each([1_000, QUIET_MS])(
    'is not repeated by an approved plan from before it, %i ms after the ban',
    async (afterMs) => {
      await banned(AT_ONCE, banRule({ id: 'asks', mode: 'approve' }));
      const [plan] = await on.store.plans({ status: 'pending' }, 1);
      expect(plan?.intents).toMatchObject([{ target: 'S-d1' }]);
      await on.approve(plan);
      liftBan();
      on.clock.pass(afterMs);
      await on.apply(plan);
      expect(on.platform.sent).toEqual(['ban S-d1']);
    },
  );
});

describe('a ban that a list showed lifted while its own record could not be read, and that is there again in the next list', () => {
  /** Ana lifts it, one run sees that and cannot make sure, and she bans again. */
  async function seenInVain(mode: Mode = 'enforce'): Promise<void> {
    const { devicesOfSerial } = on.platform;
    on.platform.devicesOfSerial = async () => {
      throw new AppError('api_unreachable', 'no answer');
    };
    liftBan();
    on.clock.pass(60_000);
    await on.run(mode);
    Object.assign(on.platform, { devicesOfSerial });
    on.platform.patch('d1', { Banned: 'TRUE' });
    on.clock.pass(60_000);
    await on.run();
  }

  const pending = async () => (await on.store.plans({ status: 'pending' }, 5))[0];

  it.each(['enforce', 'dry-run'] as const)(
    'may be hers: seen by a run in %s, it is undone with a yes',
    async (mode) => {
      await banned(AT_ONCE);
      await seenInVain(mode);
      expect([await overridden(), await openClaims()]).toEqual([[], ['at-once']]);
      await clears();
      expect(on.platform.sent).toEqual(['ban S-d1']);
      const plan = await pending();
      const reasonText = expect.stringMatching(
        /^a list showed ban_device reversed while .+ could not be read: a person may have/,
      );
      expect(plan?.intents).toMatchObject([{ action: 'unban_device', target: 'S-d1', held: true, reasonText }]);
      await on.approve(plan);
      await on.apply(plan);
      expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
      expect(await openClaims()).toEqual([]);
    },
  );

  it('waits so when the match was over by the time it was seen', async () => {
    await banned(AT_ONCE);
    on.platform.compromised('d1', 'FALSE');
    await seenInVain();
    await clears();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect((await pending())?.intents).toMatchObject([{ action: 'unban_device', held: true }]);
  });

  it('waits so when another rule has taken over the claim since, and its own match ends later', async () => {
    await banned(AT_ONCE, OTHER);
    await seenInVain();
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run();
    on.rules(OTHER);
    on.clock.pass(60_000);
    await on.run();
    expect(await openClaims()).toEqual(['other']);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
    for (let round = 0; round < 3; round += 1) {
      on.clock.pass(60_000);
      await on.run();
    }
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect((await pending())?.intents).toMatchObject([{ action: 'unban_device', held: true }]);
  });

  it('is decided so again by a replay', async () => {
    on = startOnPlatform({ rules: [AT_ONCE] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    for (const id of ['d1', 'd2']) on.platform.addDevice(id);
    on.platform.compromised('d1', 'TRUE');
    await on.run();
    await seenInVain();
    await clears();
    await history.settled();
    const replay = await asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
    expect(replay).toMatchObject({ runs: 6, differences: [] });
  });
});

/** Matches nothing, and counts events: whole runs read the log. */
const COUNTS = `
id: counts
title: Counts
severity: low
subject: device
when: { ">=": [{ event_count: { type: Threat, within: 10m } }, 9] }
then: ban_device
mode: enforce
tests:
  - { name: threats, events: [{ type: Threat, ago: 1m, times: 9 }], expect: match }
`;

const countsEvents = () => ruleOf(COUNTS);

function ruleOf(text: string): ReturnType<typeof banRule> {
  const parsed = parseRule(text, 'rule.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

/** The platform writes an `Audit` event of each ban and switch, with its caller. */
function audited(action: string, by = 'Ana@example.org', atMs = on.clock.now): void {
  const user_principal = { device: { id: 'd1', serial_number: 'S-d1' }, user: { email: by } };
  addEvent(on, 'd1', { type: 'Audit', sub_type: 'Device', action, user_principal, created_at: atMs });
}

/** Ana lifts the ban and bans again, half a minute after ours; no reading is between. */
function awayAndBack(afterMs = 30_000): void {
  on.clock.pass(afterMs);
  audited('Unban');
  on.clock.pass(5_000);
  audited('Ban');
  on.clock.pass(5_000);
}

const clears = async () => {
  on.platform.compromised('d1', 'FALSE');
  for (let round = 0; round < 3; round += 1) {
    on.clock.pass(60_000);
    await on.run();
  }
};

describe('a ban that a person lifts and sets again between two readings', () => {
  it('is the person’s from then on: it does not end with our match, whichever rule banned', async () => {
    await banned(AT_ONCE, LATER, countsEvents());
    awayAndBack();
    await on.run();
    expect(await overridden()).toEqual(['at-once', 'later']);
    expect(await openClaims()).toEqual([]);
    await clears();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(on.platform.isBanned('S-d1')).toBe(true);
  });

  it('is shown with both events, their times and who it was', async () => {
    await banned(AT_ONCE, countsEvents());
    awayAndBack();
    await on.run();
    const lines = await historyOf(on.store, { target: 'S-d1' }, { limit: 20, nowMs: on.clock.now });
    const texts = lines.filter(({ kind }) => kind === 'reversal').map(({ text }) => text);
    expect(texts).toEqual([
      expect.stringMatching(
        /^somebody reversed ban_device S-d1 and did it again: by the event log, unban_device \(.+, event e\d+, ana@example\.org\), then ban_device \(.+, event e\d+, ana@example\.org\); left alone/,
      ),
    ]);
  });

  it('is seen by a look', async () => {
    await banned(AT_ONCE, LATER);
    awayAndBack();
    await lookOn(on);
    expect(await overridden()).toEqual(['at-once', 'later']);
    expect(await openClaims()).toEqual([]);
  });

  it('is seen by the look that reads the second event', async () => {
    await banned(AT_ONCE);
    on.clock.pass(30_000);
    audited('Unban');
    await lookOn(on); // the device is banned again by then
    expect(await overridden()).toEqual([]);
    on.clock.pass(30_000);
    audited('Ban');
    await lookOn(on);
    expect(await overridden()).toEqual(['at-once']);
  });

  it('is seen by a whole run after one that could not read the list', async () => {
    await banned(AT_ONCE, countsEvents());
    awayAndBack();
    on.platform.onRead = (what) => {
      if (what === 'devices') throw new AppError('api_unreachable', 'the platform does not answer');
    };
    await expect(on.run()).rejects.toMatchObject({ code: 'api_unreachable' });
    expect(await openClaims()).toEqual(['at-once']);
    on.platform.onRead = () => {};
    on.clock.pass(400_000); // longer than readings of the log overlap
    await on.run();
    expect(await overridden()).toEqual(['at-once']);
  });

  it('is what a replay decides again', async () => {
    on = startOnPlatform({ rules: [AT_ONCE, LATER, countsEvents()] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    for (const id of ['d1', 'd2']) on.platform.addDevice(id);
    on.platform.compromised('d1', 'TRUE');
    await on.run();
    awayAndBack();
    await on.run();
    await clears();
    await history.settled();
    const replay = await asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
    expect(replay).toMatchObject({ runs: 5, differences: [] });
    const [, second] = history.runs;
    expect(second?.frame.namedActs?.map(({ action }) => action)).toEqual(['unban_device', 'ban_device']);
    expect(JSON.stringify(second?.frame)).not.toContain('ana@example.org');
  });
});

describe('nothing is a person’s reversal', () => {
  const seen = async () => {
    await on.run();
    return { overridden: await overridden(), claims: await openClaims() };
  };
  const NOTHING = { overridden: [], claims: ['at-once'] };

  it('when one event says lifted and the device is banned: the log and the list contradict each other', async () => {
    await banned(AT_ONCE, countsEvents());
    on.clock.pass(30_000);
    audited('Unban');
    on.clock.pass(5_000);
    expect(await seen()).toEqual(NOTHING);
  });

  it('when the log names another ban only', async () => {
    await banned(AT_ONCE, countsEvents());
    on.clock.pass(30_000);
    audited('Ban');
    expect(await seen()).toEqual(NOTHING);
  });

  it('within the quiet period after what we did', async () => {
    await banned(AT_ONCE, countsEvents());
    awayAndBack(2_000);
    on.clock.pass(QUIET_MS);
    expect(await seen()).toEqual(NOTHING);
  });

  it('when the events are of another type, or of no kind that actions write', async () => {
    await banned(AT_ONCE, countsEvents());
    on.clock.pass(30_000);
    for (const action of ['Unban', 'Ban']) {
      addEvent(on, 'd1', { type: 'Threat', action });
      addEvent(on, 'd1', { type: 'Audit', action: 'Update' });
      on.clock.pass(1_000);
    }
    await lookOn(on);
    expect(await seen()).toEqual(NOTHING);
  });

  it('when we did it ourselves: banned, undone and banned again', async () => {
    await banned(AT_ONCE, countsEvents());
    on.clock.pass(60_000);
    on.platform.onWrite = ({ action }) => audited(action === 'ban' ? 'Ban' : 'Unban', 'trustward@example.org');
    await clears();
    on.platform.compromised('d1', 'TRUE');
    on.clock.pass(60_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
    on.clock.pass(60_000);
    expect(await seen()).toEqual(NOTHING);
  });

  it('while an undo of ours is in doubt, or was given up in doubt: it may have come late', async () => {
    await banned(AT_ONCE, countsEvents());
    on.platform.answer('S-d1', ...Array<'lost'>(9).fill('lost'));
    on.platform.compromised('d1', 'FALSE');
    const outcome = async () => (await on.intents()).find(({ action }) => action === 'unban_device')?.outcome;
    for (const expected of ['unknown', 'parked']) {
      for (let round = 0; round < 9 && (await outcome()) !== expected; round += 1) {
        on.clock.pass(60_000);
        await on.run();
      }
      expect(await outcome()).toBe(expected);
      awayAndBack();
      expect(await seen()).toEqual(NOTHING);
    }
  });

  it('where the server does not show its time: its events cannot be set against ours', async () => {
    await banned(AT_ONCE, countsEvents());
    awayAndBack();
    on.platform.skewMs = () => undefined;
    expect(await seen()).toEqual(NOTHING);
  });

  it('by the server’s clock: what it dates later than our act happened before it', async () => {
    await banned(AT_ONCE, countsEvents());
    on.platform.skewMs = () => 200_000;
    on.clock.pass(60_000);
    audited('Unban', 'Ana@example.org', on.clock.now + 60_000);
    audited('Ban', 'Ana@example.org', on.clock.now + 61_000);
    expect(await seen()).toEqual(NOTHING);
  });

  it('to a device of the same serial number that matched before it, and is not banned: it is banned when it is due', async () => {
    await banned(AT_ONCE, banRule({ id: 'slow', field: 'Other', more: 'for: 2m' }), countsEvents());
    on.platform.addDevice('twin', { SerialNumber: 'S-d1', MdmData: { Other: 'TRUE' } });
    on.clock.pass(1_000);
    await on.run();
    awayAndBack();
    await on.run();
    expect(await overridden()).toEqual(['at-once']);
    on.clock.pass(120_000);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
  });
});

const DISABLES = `
id: disables
subject: service
when: { "==": [{ var: Description }, "trouble"] }
then: disable_service
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: trouble }, expect: match }
`;

describe('a service that we disabled, and for which the log names that a person enabled and disabled it', () => {
  const service = (fields: Facts) =>
    on.platform.services.set('web', { ...on.platform.services.get('web'), ServiceID: 'web', ...fields });
  const nanoseconds = (ms: number) => BigInt(ms) * 1_000_000n;

  async function disabled(): Promise<void> {
    on = startOnPlatform({ rules: [ruleOf(DISABLES), countsEvents()] });
    on.platform.addDevice('d1');
    service({ Description: 'trouble', Enabled: 'TRUE', LastUpdatedAt: nanoseconds(on.clock.now - 60_000) });
    await on.run();
    expect(on.platform.sent).toEqual(['disable web']);
    service({ LastUpdatedAt: nanoseconds(on.clock.now) });
    on.clock.pass(30_000);
    for (const action of ['Enable', 'Disable']) {
      addEvent(on, '', { type: 'Audit', action, user_principal: {}, service: { id: 'web', name: 'web' } });
      on.clock.pass(5_000);
    }
  }

  it('stays disabled after our match when its record was changed since as well', async () => {
    await disabled();
    service({ LastUpdatedAt: nanoseconds(on.clock.now - 5_000), LastUpdatedBy: 'ana@example.org' });
    await on.run();
    expect(await overridden()).toEqual(['disables']);
    service({ Description: 'fine' });
    for (let round = 0; round < 3; round += 1) {
      on.clock.pass(60_000);
      await on.run();
    }
    expect(on.platform.sent).toEqual(['disable web']);
  });

  it.each<[string, Facts]>([
    ['was not changed since our act', {}],
    ['does not say when it was changed', { LastUpdatedAt: 0 }],
  ])('is ours as before when its record %s: anybody who may submit events can name it', async (_, fields) => {
    await disabled();
    service(fields);
    await on.run();
    expect(await overridden()).toEqual([]);
    expect(await openClaims()).toEqual(['disables']);
  });

  it('is seen so by a look', async () => {
    await disabled();
    await lookOn(on);
    expect(await openClaims()).toEqual(['disables']);
    service({ LastUpdatedAt: nanoseconds(on.clock.now) });
    addEvent(on, '', { type: 'Audit', action: 'Disable', user_principal: {}, service: { id: 'web', name: 'web' } });
    await lookOn(on);
    expect(await openClaims()).toEqual([]);
  });

  it('was changed otherwise: no event names a switch, so nobody reversed it', async () => {
    await disabled();
    on.platform.eventLog.length = 0;
    service({ LastUpdatedAt: nanoseconds(on.clock.now), LastUpdatedBy: 'ana@example.org', ServiceVersion: 2 });
    await on.run();
    expect(await openClaims()).toEqual(['disables']);
  });
});
