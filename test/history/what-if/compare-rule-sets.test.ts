import { expect, test } from 'vitest';
import type { RuleSetDifference } from '../../../src/domain/replay.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { compareRuleSets } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { DAY, MINUTE, Recording, ruleOf, T0 } from '../../support/recorded.ts';

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
