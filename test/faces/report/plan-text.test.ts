// test: plans on a terminal: names that a device chose control nothing, and an end is a duration.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plan, PlanStatus } from '../../../src/domain/plan.ts';
import { plansText, planText } from '../../../src/faces/report/plan-text.ts';
import { decision, plan, START_MS } from '../../support/filled-store.ts';
import { hostileText } from './hostile.ts';

const context = { nowMs: START_MS, run: 1, live: [], difference: null };
const held = decision({ decision: 'hold', reason: 'approval_needed', reasonText: 'the rule has mode `approve`' });
const shown = (over: Partial<Plan>, nowMs = START_MS) => planText(plan(held, over), { ...context, nowMs });

describe('a plan as text', () => {
  it('has no control and no override of a hostile name, target or reason', () => {
    fc.assert(
      fc.property(hostileText, (name) => {
        const made = decision({
          target: name,
          effect: { text: name, devices: [{ id: name, name, platform: '', model: '' }] },
        });
        const hostile = plan(made, { decidedBy: 'ada', decidedReason: name });
        for (const text of [planText(hostile, context), plansText([hostile], START_MS)])
          expect(text).not.toMatch(/(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.each([
    [0, 'expires in 1d 0h'],
    [1, 'expires in 23h 59m'],
    [82_800_000, 'expires in 1h 0m'],
    [86_400_000 - 120_000, 'expires in 2m'],
    [86_400_000 - 59_000, 'expires in less than a minute'],
    [86_400_000, 'expired 2'],
  ])('says after %i ms how long it waits on', (passed, words) => {
    expect(shown({}, START_MS + passed).replace(/\s+/g, ' ')).toContain(words);
  });

  it.each<[PlanStatus, string | undefined]>([
    ['pending', 'trustward approve plan1'],
    ['approved', 'trustward apply plan1'],
    ['interrupted', 'trustward apply plan1'],
    ['applied', undefined],
  ])('that is %s names the command that comes next', (status, line) => {
    const text = shown({ status });
    if (line === undefined) expect(text).not.toContain('  trustward');
    else expect(text).toContain(`  ${line}`);
  });

  it('shows the facts on which each action rests, and why it waits', () => {
    const text = planText(plan(held), context, { width: 400 });
    expect(text).toContain('MdmData.CompromisedStatus = "TRUE"');
    expect(text).toContain('the rule has mode `approve`');
  });

  it('that is superseded names what is in its place', () => {
    const over: Partial<Plan> = { status: 'superseded', supersededBy: ['p2'] };
    const text = planText(plan(held, over), { ...context, difference: { added: 2, removed: 1, changed: 0 } });
    expect(text).toContain('It is superseded by plan p2: 2 added, 1 removed.');
  });
});
