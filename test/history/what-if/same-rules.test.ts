// test: the very rules that were active, replayed as a what-if over a past without faults, limits or people, give the acts that were made, one for
// one: real runs over a platform in memory, random fleets, rules, gaps between runs.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { START_MS } from '../../support/platform.ts';
import { DAY, MINUTE, ruleOf } from '../../support/recorded.ts';

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
  fc.record({ steps: fc.array(step, { maxLength: 4 }), minutes: fc.constantFrom(1, 5, 30, 90), isLook: fc.boolean() }),
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
    loaded.push(banRule({ id: 'second', field: 'Other', does: rule.second === 'ban' ? 'ban_device' : 'unban_device' }));
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
      numRuns: 20,
      // A device that is registered anew between a ban and the next reading: no reading shows that it was banned.
      examples: [[QUIET_RULE, REGISTERED_ANEW, 0]],
    },
  );
  expect(made).toBeGreaterThan(20);
}, 120_000);
