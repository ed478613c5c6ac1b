// what if: the same rules give the same; two rule sets compared; the model of the platform; lists that no active rule reads.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/facts.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { RuleSetDifference } from '../../../src/domain/replay.ts';
import type { Source } from '../../../src/domain/subjects.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ModelledWorld, PlatformModel, RecordedEffects } from '../../../src/history/replay/platform-model.ts';
import { unreadLists } from '../../../src/history/replay/recorded-world.ts';
import { compareRuleSets, whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { doneIntent } from '../../support/filled-store.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { START_MS } from '../../support/platform.ts';
import { DAY, MINUTE, NOTHING_OPEN, Recording, ruleOf, T0 } from '../../support/recorded.ts';

describe('the very rules that were active, replayed as a what-if over a past without faults, limits or people, give the acts that were made, one for one', () => {
  const IDS = ['d1', 'd2', 'd3', 'd4', 'd5'];

  const SEVERAL_EVENTS = { '>=': [{ event_count: { within: '40m' } }, 2] };

  const FIELDS = ['CompromisedStatus', 'Other'] as const;

  type Step =
    | { id: string; events: number }
    | { id: string; field: (typeof FIELDS)[number]; value: 'TRUE' | 'FALSE' }
    | { id: string; leaves: boolean };

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        id: fc.constantFrom(...IDS),
        field: fc.constantFrom(...FIELDS),
        value: fc.constantFrom('TRUE' as const, 'FALSE' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ id: fc.constantFrom(...IDS), leaves: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ id: fc.constantFrom(...IDS), events: fc.nat(2) }) },
  );

  const rounds = fc.array(
    fc.record({
      steps: fc.array(step, { maxLength: 4 }),
      minutes: fc.constantFrom(1, 5, 30, 90),
      isLook: fc.boolean(),
    }),
    { minLength: 10, maxLength: 25 },
  );

  const rules = fc.record({
    revert: fc.boolean(),
    for: fc.constantFrom('0s', '20m'),
    clear_for: fc.constantFrom('0s', '30m'),
    cooldown: fc.constantFrom('0s', '1h'),
    second: fc.constantFrom('none', 'ban', 'unban', 'events'),
  });

  interface Life {
    on: OnPlatform;
    history: MemoryHistory;
    loaded: LoadedRule[];
  }

  type Made<A> = A extends fc.Arbitrary<infer T> ? T : never;

  async function live(rule: Made<typeof rules>, played: Made<typeof rounds>): Promise<Life> {
    const more = `for: ${rule.for}\nclear_for: ${rule.clear_for}`;
    const loaded = [banRule({ cooldown: rule.cooldown, more })];
    if (rule.second === 'events')
      loaded.push(ruleOf({ id: 'second', mode: 'enforce', revert: true, when: SEVERAL_EVENTS }));
    else if (rule.second !== 'none')
      loaded.push(
        banRule({ id: 'second', field: 'Other', does: rule.second === 'ban' ? 'ban_device' : 'unban_device' }),
      );
    const on = startOnPlatform({ rules: loaded });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    // Two devices of one serial number.
    for (const id of IDS) on.platform.addDevice(id, { SerialNumber: id === 'd2' ? 'S-d1' : `S-${id}` });
    for (const { steps, minutes, isLook } of played) {
      for (const one of steps) move(on, one);
      if (isLook) await lookOn(on, { mayStartWhole: false });
      else await on.run();
      on.clock.pass(minutes * MINUTE);
    }
    await history.settled();
    return { on, history, loaded };
  }

  function move(on: OnPlatform, one: Step): void {
    const { platform } = on;
    const device = platform.devices.get(one.id);
    if ('events' in one) {
      for (let count = 0; count < one.events; count += 1) addEvent(on, one.id);
    } else if ('leaves' in one) {
      if (one.leaves) platform.devices.delete(one.id);
      else if (!device) platform.addDevice(one.id, { SerialNumber: one.id === 'd2' ? 'S-d1' : `S-${one.id}` });
    } else if (device) platform.patch(one.id, { MdmData: { ...(device.MdmData as object), [one.field]: one.value } });
  }

  const QUIET_RULE = { revert: false, for: '0s', clear_for: '0s', cooldown: '0s', second: 'none' };

  const REGISTERED_ANEW: Made<typeof rounds> = [
    { steps: [{ id: 'd1', field: 'CompromisedStatus', value: 'TRUE' }], minutes: 1, isLook: false },
    {
      steps: [
        { id: 'd1', leaves: true },
        { id: 'd1', leaves: false },
      ],
      minutes: 1,
      isLook: false,
    },
    { steps: [], minutes: 1, isLook: false },
  ];

  async function actsMade({ on }: Life, fromMs: number): Promise<string[]> {
    const done = (await on.store.intents({})).filter(
      ({ outcome, sentAt = 0 }) => outcome === 'succeeded' && sentAt >= fromMs,
    );
    return done.map(({ action, target, sentAt }) => `${sentAt} ${action} ${target}`).sort();
  }

  async function actsFound({ history, loaded }: Life, fromMs: number): Promise<string[]> {
    const { acts } = await whatIf(history, loaded, { fromMs, toMs: START_MS + 30 * DAY, actions: ACTIONS });
    return [...new Set(acts.map(({ atMs, action, target }) => `${atMs} ${action} ${target}`))].sort();
  }

  test('the acts that were made, one for one, from the beginning and from the middle', async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(rules, rounds, fc.nat(30), async (rule, played, middle) => {
        const life = await live(rule, played);
        // A replay begins with a run over whole lists: a look shows a few subjects.
        const whole = life.history.runs.filter(({ frame }) => frame.part === undefined);
        const runs = [START_MS, ...whole.map(({ frame }) => frame.run.startedAt)];
        for (const fromMs of [START_MS, runs[middle % runs.length] as number]) {
          const expected = await actsMade(life, fromMs);
          expect(await actsFound(life, fromMs)).toEqual(expected);
          made += expected.length;
        }
        await life.on.close();
      }),
      {
        numRuns: 8,
        // A device that is registered anew between a ban and the next reading: no reading shows that it was banned.
        examples: [[QUIET_RULE, REGISTERED_ANEW, 0]],
      },
    );
    expect(made).toBeGreaterThan(20);
  }, 120_000);
});

const LIMITS = { max: 25, percent: 100 };
const COMPROMISED = { MdmData: { CompromisedStatus: 'TRUE' } };
const NON_COMPLIANT = { MdmData: { CompliantStatus: 'FALSE' } };

function past(): Recording {
  const recording = new Recording().devices(100).run();
  for (let number = 1; number <= 40; number += 1) recording.now('device', `d${number}`, NON_COMPLIANT);
  recording.now('device', 'd1', COMPROMISED).now('device', 'd99', COMPROMISED).runs(3);
  return recording.now('device', 'd99', { MdmData: { CompromisedStatus: 'FALSE' } }).runs(2);
}

function compared(old: LoadedRule[], fresh: LoadedRule[]): Promise<RuleSetDifference> {
  const options = { fromMs: T0, toMs: T0 + DAY, actions: ACTIONS };
  return compareRuleSets(past().reader(), { old, new: fresh }, options);
}

const over = ruleOf({ limits: LIMITS, when: { '==': [{ var: 'MdmData.CompliantStatus' }, 'FALSE'] } });
const tight = ruleOf({ limits: LIMITS });

test('a rule set has no difference from itself', async () => {
  const found = await compared([over, ruleOf({ id: 'other' })], [over, ruleOf({ id: 'other' })]);
  expect(found.rules).toEqual([]);
  expect(found.all).toEqual({ now: { added: 0, gone: 0 }, overTime: { added: 0, gone: 0 } });
});

test('who is added and who goes, now and over the time', async () => {
  const found = await compared([over], [tight]);
  const [rule] = found.rules;
  expect(found).toMatchObject({ nowAtMs: T0 + 25 * MINUTE, runs: 6 });
  expect(rule).toMatchObject({
    id: 'ban',
    change: 'changed',
    now: {
      old: { matches: 40, unknown: 0 },
      new: { matches: 1, unknown: 0 },
      added: { total: 0 },
      gone: { total: 39 },
    },
    overTime: {
      old: { acts: 0, mostTargets: 40 },
      new: { acts: 2, mostInRun: 2 },
      added: { total: 1 },
      gone: { total: 39 },
    },
  });
  expect(rule?.overTime.added.first).toMatchObject([{ subject: { id: 'd99' }, atMs: T0 + 5 * MINUTE }]);
  expect(found.all).toEqual({ now: { added: 0, gone: 39 }, overTime: { added: 1, gone: 39 } });
});

test('a rule that is new is added, and one that is off is not there', async () => {
  const found = await compared([over, ruleOf({ id: 'second', mode: 'off' })], [over, ruleOf({ id: 'second' })]);
  expect(found.rules.find(({ id }) => id === 'second')).toMatchObject({
    change: 'added',
    now: { old: undefined, new: { matches: 1 } },
    overTime: { old: undefined, new: { acts: 2 } },
  });
});

test('a rule whose text is the same is named when another one changes what it does', async () => {
  const found = await compared([tight], [tight, ruleOf({ id: 'lift', then: 'unban_device' })]);
  expect(found.rules.map(({ id, change }) => [id, change])).toEqual([
    ['ban', 'same'],
    ['lift', 'added'],
  ]);
});

test('new unknowns are shown', async () => {
  const fresh = ruleOf({ limits: LIMITS, fresh: { 'MdmData.Timestamp': '1m' } });
  const found = await compared([tight], [fresh]);
  expect(found.rules[0]?.now).toMatchObject({ old: { unknown: 0 }, new: { unknown: 100 } });
});

/** Two devices of one serial number, and one of another. */
const DEVICES: readonly (readonly [id: string, serial: string])[] = [
  ['d1', 'S1'],
  ['d2', 'S1'],
  ['d3', 'S2'],
];

class Facts implements ModelledWorld {
  private readonly facts = new Map<string, Fact | undefined>();

  apply(changes: readonly FactChange[]): void {
    for (const { kind, subject, path, value } of changes) this.facts.set(`${kind} ${subject} ${path}`, value);
  }

  factOf(kind: string, id: string, path: string): Fact | undefined {
    return this.facts.get(`${kind} ${id} ${path}`);
  }

  isThere(kind: string, id: string): boolean {
    return this.factOf(kind, id, 'SerialNumber') !== undefined;
  }

  idsOfSerial(serial: string): string[] {
    return DEVICES.flatMap(([id]) => (this.factOf('device', id, 'SerialNumber') === serial ? [id] : []));
  }

  banned(serial: string): (Fact | undefined)[] {
    return this.idsOfSerial(serial).map((id) => this.factOf('device', id, 'Banned'));
  }
}

function intentOf(id: string, action: string, target: string, sentAt: number, more: Partial<Intent> = {}): Intent {
  return doneIntent(sentAt, { id, action, target, ...more });
}

interface Modelled {
  world: Facts;
  model: PlatformModel;
  /** One run over whole lists: the recorded values, and the intents of its open state. */
  sees(banned: Record<string, Fact>, intents?: Intent[], isTrusted?: boolean): ReturnType<PlatformModel['seen']>;
}

function modelled(): Modelled {
  const world = new Facts();
  const effects = new RecordedEffects(ACTIONS);
  const model = new PlatformModel(ACTIONS, effects, world);
  const recorded = new Map<string, Fact>();
  for (const [id, serial] of DEVICES) {
    world.apply([
      { kind: 'device', subject: id, path: 'SerialNumber', value: serial },
      { kind: 'device', subject: id, path: 'Banned', value: 'FALSE' },
    ]);
    recorded.set(serial, 'FALSE');
  }
  let atMs = T0;
  effects.learn(NOTHING_OPEN, true, undefined);
  return {
    world,
    model,
    sees(banned, intents = [], isTrusted = true) {
      atMs += 5 * MINUTE;
      effects.learn({ ...NOTHING_OPEN, intents }, true, undefined);
      const changes = DEVICES.flatMap(([subject, serial]): FactChange[] =>
        banned[serial] === undefined || banned[serial] === recorded.get(serial)
          ? []
          : [{ kind: 'device', subject, path: 'Banned', value: banned[serial] }],
      );
      const seen = model.seen(changes, () => isTrusted);
      if (isTrusted) {
        world.apply([...seen.changes]);
        for (const [serial, value] of Object.entries(banned)) recorded.set(serial, value);
        effects.wereRead(atMs, 15_000);
      }
      return seen;
    },
  };
}

test('a recorded ban of Trustward is left out, and one of a person holds', () => {
  const { world, sees } = modelled();
  const { people } = sees({ S1: 'TRUE', S2: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE)]);
  expect([world.banned('S1'), world.banned('S2')]).toEqual([['FALSE', 'FALSE'], ['TRUE']]);
  expect(people).toEqual([{ field: 'Banned', target: 'S2', value: 'TRUE' }]);
});

test("what a person asked Trustward to release is a person's change", () => {
  const { world, sees } = modelled();
  sees({ S1: 'TRUE' });
  const released = intentOf('i1', 'unban_device', 'S1', T0 + 7 * MINUTE, { undo: true, released: true });
  expect(sees({ S1: 'FALSE' }, [released]).people).toEqual([{ field: 'Banned', target: 'S1', value: 'FALSE' }]);
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
});

test("a person's ban long after Trustward's own one is theirs", () => {
  const { world, sees } = modelled();
  const own = intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE);
  sees({ S1: 'TRUE' }, [own]);
  sees({ S1: 'FALSE' }, [own]);
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
  expect(sees({ S1: 'TRUE' }, [own]).people).toHaveLength(1);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
});

test('an act of the replay hits every device of the serial number, and holds until a person changes it', () => {
  const { world, model, sees } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
  // The real past banned it too, and undid it.
  sees({ S1: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE)]);
  sees({ S1: 'FALSE' }, [intentOf('i2', 'unban_device', 'S1', T0 + 7 * MINUTE, { undo: true })]);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
  // Then a person banned it and unbanned it.
  expect(sees({ S1: 'TRUE' }).people).toHaveLength(1);
  sees({ S1: 'FALSE' });
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
});

test('a change in a reading that was not trusted does not stay', () => {
  const { world, model, sees } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  expect([...sees({ S1: 'TRUE' }, [], false).changes]).toHaveLength(2);
  sees({ S1: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 6 * MINUTE)]);
  sees({ S1: 'FALSE' }, [intentOf('i2', 'unban_device', 'S1', T0 + 12 * MINUTE, { undo: true })]);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
});

test('after a gap the acts of the replay stay where the record did not move, and what Trustward did meanwhile is taken back', () => {
  const { world, model } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  const stated = DEVICES.map(([subject, serial]): FactChange => {
    return { kind: 'device', subject, path: 'Banned', value: serial === 'S2' ? 'TRUE' : 'FALSE' };
  });
  world.apply(model.restated(stated));
  expect([world.banned('S1'), world.banned('S2')]).toEqual([['TRUE', 'TRUE'], ['TRUE']]);
  world.apply(model.afterGap([{ action: 'ban_device', target: 'S2', openedAt: T0 + DAY }], T0));
  expect(world.banned('S2')).toEqual(['FALSE']);
});

test('without acts the model is the record, less the effects of recorded intents', () => {
  const step = fc.record({
    serial: fc.constantFrom('S1', 'S2'),
    by: fc.constantFrom('person', 'trustward', 'release'),
    ban: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { world, sees } = modelled();
      const [recorded, expected] = [new Map<string, Fact>(), new Map<string, Fact>()];
      let intents: Intent[] = [];
      for (const [index, { serial, by, ban }] of steps.entries()) {
        const value = ban ? 'TRUE' : 'FALSE';
        const moves = (recorded.get(serial) ?? 'FALSE') !== value;
        if (by !== 'person') {
          const sentAt = T0 + (index * 5 + 2) * MINUTE;
          const released = by === 'release' ? { released: true } : {};
          intents = [...intents, intentOf(`i${index}`, ban ? 'ban_device' : 'unban_device', serial, sentAt, released)];
        }
        if (by !== 'trustward' && moves) expected.set(serial, value);
        recorded.set(serial, value);
        sees({ [serial]: value }, intents);
      }
      for (const [id, serial] of DEVICES)
        expect(world.factOf('device', id, 'Banned')).toBe(expected.get(serial) ?? 'FALSE');
    }),
    { numRuns: 300 },
  );
});

describe('lists that no active rule reads', () => {
  const ANN = 'ann@example.com';
  const ALWAYS = { fromMs: START_MS - DAY, toMs: START_MS + DAY, actions: ACTIONS };

  function ruleOf(id: string, subject: string, when: string): LoadedRule {
    const parsed = parseRule(
      `id: ${id}\ntitle: T\nseverity: low\nsubject: ${subject}\nwhen: ${when}\nthen: notify\nmode: dry-run\n` +
        'limits: { max: 100, percent: 100 }\ntests: [{ name: t, given: {}, expect: no_match }]\n',
      `${id}.yaml`,
      { traits: ACTIONS },
    );
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const LEAVERS = ruleOf('leavers', 'user', '{ in_group: leaver }');
  const REFUSED = ruleOf('refused', 'device', '{ ">=": [{ event_count: { type: Access, within: 2h } }, 2] }');

  let on: OnPlatform;
  afterEach(() => on.close());

  function refuse(): void {
    on.platform.eventLog.push({
      id: `e${on.platform.eventLog.length}`,
      created_at: on.clock.now,
      severity: 'ERROR',
      type: 'Access',
      user_principal: { device: { id: 'd1', serial_number: 'S-d1' } },
    });
  }

  /** Runs of a rule over devices, one every half an hour, and one event before each. `lists`: of each run. */
  async function recorded(lists: readonly (readonly Source[])[], run: () => Promise<unknown> = () => on.run()) {
    on = startOnPlatform({ rules: [banRule()] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    on.platform.addDevice('d1');
    on.platform.users.set(ANN, { Email: ANN, Name: 'Ann', Groups: 'leaver' });
    for (const names of lists) {
      history.lists = new Set(names);
      on.clock.pass(30 * MINUTE);
      refuse();
      await run();
    }
    await history.settled();
    return history;
  }

  test('a rule over a list that runs record although no active rule reads it is judged in a replay', async () => {
    const history = await recorded([['users'], ['users'], ['users']]);
    expect(history.runs.at(-1)?.frame).toMatchObject({ judged: ['ban'], sources: { users: { state: 'read' } } });
    const { rules, unread, neverRecorded } = await whatIf(history, [LEAVERS], ALWAYS);
    expect([rules[0]?.matches, unread, neverRecorded]).toEqual([1, [], []]);
  });

  test('events that no active rule reads are recorded for windows of rules that do', async () => {
    const history = await recorded(Array(5).fill(['events']));
    const { rules } = await whatIf(history, [REFUSED], { ...ALWAYS, fromMs: START_MS + 150 * MINUTE });
    expect(rules[0]).toMatchObject({ matches: 1, unknown: 0 });
  });

  test('what no run read is named before a replay, with the rules that need it and what to do', async () => {
    const history = await recorded([[], ['events'], []]);
    const [users, events, ...others] = await unreadLists(history, [LEAVERS, REFUSED], ALWAYS);
    expect(others).toEqual([]);
    expect(users).toMatchObject({ list: 'users', rules: ['leavers'], runs: 3, of: 3 });
    expect(users?.text).toBe(
      'users were not read by any recorded run, so `leavers` is unknown for everybody; `TRUSTWARD_RECORD=users` has runs record them from now on',
    );
    expect(events).toMatchObject({ list: 'events', rules: ['refused'], runs: 2, of: 3 });
    expect(events?.text).toMatch(
      /^the event log was not read by 2 of 3 runs, .* to .*, so `refused` is unknown .* then; /,
    );
    expect((await whatIf(history, [LEAVERS, REFUSED], ALWAYS)).unread).toEqual([users, events]);
  });

  test('a run over chosen rules reads what these need alone', async () => {
    const history = await recorded([['users']], () => on.run('enforce', ['ban']));
    expect(history.runs[0]?.frame.sources.users.state).toBe('skipped');
  });
});
