// test: flips found while judging: they do flip the verdict, stay within their budget, and change nothing else of a pass.
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import type { JudgeContext, Judgement, OpenVerdict, VerdictName, WantedFlips } from '../../src/domain/verdict.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { loadRules } from '../../src/rules/load/read-rule.ts';
import { type Arranged, arrangeTest } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, NOW_MS, ruleOf } from './sample-traits.ts';

const wanted = (budget = { flips: 1_000, tries: 100_000 }): WantedFlips => ({ isNew: () => true, budget });
const compromised = ruleOf({ '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] });
const devices = (count: number): Facts[] =>
  Array.from({ length: count }, (_, at) => ({ DeviceID: `d${at}`, MdmData: { CompromisedStatus: 'TRUE' } }));

function judged(rule: LoadedRule, records: readonly Facts[], more: Partial<JudgeContext> = {}): Judgement {
  const judge = compileRules([rule]).judge(rule.subject, contextOf(more));
  for (const record of records) judge.accept(record);
  return judge.finish();
}

function arranged(
  rule: LoadedRule,
  { record, events, context }: Arranged,
): Pick<OpenVerdict, 'facts' | 'flip'> & { verdict: VerdictName } {
  const evaluator = compileRules([rule]);
  evaluator.observe(events);
  const judge = evaluator.judge(rule.subject, { ...context, isOpen: () => true, flips: wanted() });
  judge.accept(record);
  const { matches, open } = judge.finish();
  return matches[0] ? { verdict: 'match', ...matches[0] } : (open[0] as OpenVerdict);
}

function changed(record: Facts, [key = '', ...rest]: string[], to: Fact | undefined): Facts {
  const { [key]: before, ...others } = record;
  const value = rest.length > 0 ? changed((before ?? {}) as Facts, rest, to) : to;
  return value === undefined ? others : { ...others, [key]: value };
}

/** A count of events that came one by one: without some, or with copies of the last. */
function recounted(events: Arranged['events'], to: number): Arranged['events'] {
  const last = events.at(-1);
  const more = Array.from({ length: Math.max(0, to - events.length) }, (_, at) => ({ ...last, id: `more-${at}` }));
  return [...events.slice(0, to), ...(more as Arranged['events'])];
}

describe('a flip that is found while judging', () => {
  it('flips the verdict of every sample rule that it is found for', async () => {
    const flipped = { byField: 0, byCount: 0 };
    for (const folder of ['rules', 'rules/examples']) {
      const { rules } = await loadRules(new URL(`../../${folder}`, import.meta.url).pathname, { traits: ACTIONS });
      for (const rule of rules) {
        for (const test of rule.tests) {
          const before = arrangeTest(rule, test, NOW_MS);
          const { verdict, facts, flip } = arranged(rule, before);
          if (!flip) continue;
          const after = structuredClone(before);
          const isCount = flip.changes.some(({ fact }) => fact.includes('('));
          // Where some events do not count, or in several windows, it is not known which to leave out.
          const counts = Object.entries(facts).filter(([fact]) => fact.includes('('));
          if (isCount && (counts.length > 1 || counts[0]?.[1] !== before.events.length)) continue;
          for (const { fact, to } of flip.changes) {
            if (isCount) after.events = recounted(after.events, to as number);
            else after.record = changed(after.record, fact.split('.'), to);
          }
          flipped[isCount ? 'byCount' : 'byField'] += 1;
          expect(arranged(rule, after).verdict, `${rule.id}: ${test.name}`).toBe(flip.verdict);
          expect(flip.verdict).not.toBe(verdict);
        }
      }
    }
    expect(flipped.byField).toBeGreaterThan(40);
    expect(flipped.byCount).toBeGreaterThan(10);
  });

  it('is looked for as often as the budget allows, and the verdicts stay the same', () => {
    const budget = { flips: 3, tries: 100_000 };
    const { matches } = judged(compromised, devices(10), { flips: wanted(budget) });
    expect(matches.map(({ flip }) => flip !== undefined)).toEqual([...Array(3).fill(true), ...Array(7).fill(false)]);
    expect(budget.flips).toBe(0);
  });

  it('is given up when the tries are used up', () => {
    const facts = ['OS', 'Model', 'SerialNumber', 'DeviceFriendlyName'];
    const rule = ruleOf({ or: facts.map((fact) => ({ in: [{ var: fact }, ['a', 'b', 'c', 'd']] })) });
    const record = Object.fromEntries([['DeviceID', 'd'], ...facts.map((fact) => [fact, 'a'])]);
    const budget = { flips: 1_000, tries: 100 };
    const { matches } = judged(rule, [record, record, record], { flips: wanted(budget) });
    expect(matches.map(({ flip }) => flip)).toEqual([undefined, undefined, undefined]);
    expect(budget.flips).toBe(999);
  });

  it('is not looked for where a decision in force is about the verdict', () => {
    const budget = { flips: 10, tries: 100_000 };
    const { matches } = judged(compromised, devices(3), { flips: { budget, isNew: (_, id) => id === 'd1' } });
    expect(matches.map(({ flip }) => flip?.changes)).toEqual([
      undefined,
      [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' }],
      undefined,
    ]);
    expect(budget.flips).toBe(9);
  });

  it('leaves the counted values and all else of the pass as they are', () => {
    const records = [...devices(5), { DeviceID: 'x', MdmData: { CompromisedStatus: 'FALSE' } }];
    const { matches, ...found } = judged(compromised, records, { flips: wanted() });
    const plain = judged(compromised, records);
    expect({ ...found, matches: matches.map(({ flip: _, ...match }) => match) }).toEqual(plain);
  });

  it('is none for a value that cannot be written', () => {
    let deep: Fact = 'x';
    for (let level = 0; level < 5_000; level++) deep = [deep];
    const rule = ruleOf({ or: [{ '==': [{ var: 'OS' }, 'x'] }, { '==': [{ var: 'Model' }, 'm'] }] });
    const long = 'x'.repeat(20_000);
    for (const value of [deep, { a: deep }, long])
      expect(
        judged(rule, [{ DeviceID: 'd', OS: value, Model: 'm' }], { flips: wanted() }).matches.map(({ rule: id }) => id),
      ).toEqual(['a-rule']);
    const groups = ruleOf({ '!': [{ in_group: [{ var: 'Groups' }, 'staff'] }] }, {}, 'user');
    const { matches } = judged(groups, [{ Email: 'a@b.c', Groups: long }], { flips: wanted() });
    expect(matches).toMatchObject([{ rule: 'a-rule' }]);
    expect(matches[0]?.flip).toBeUndefined();
  });
});
