// test: the flips of a run's decisions: found once, for new decisions, and kept by those that replace them.
import { afterEach, describe, expect, it } from 'vitest';
import type { StoredDecision } from '../../../src/domain/decision.ts';
import { FLIPS_MAX, type Flip } from '../../../src/domain/verdict.ts';
import { whatIf } from '../../../src/engine/run/what-if.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const HOUR_MS = 3_600_000;
const CLEAN: Flip = {
  verdict: 'no_match',
  changes: [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' }],
};
const COMPROMISED: Flip = {
  verdict: 'match',
  changes: [{ fact: 'MdmData.CompromisedStatus', from: 'FALSE', to: 'TRUE' }],
};

let on: OnPlatform;
afterEach(() => on.close());

function withCompromised(count: number, ...rules: Parameters<typeof banRule>): void {
  on = startOnPlatform({ rules: [banRule(...rules)] });
  for (let at = 1; at <= count; at += 1) compromise(`d${at}`);
  on.platform.addDevice('clean', { MdmData: { CompromisedStatus: 'FALSE' } });
}

const compromise = (id: string) => on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
const flipsOf = (decisions: readonly StoredDecision[]) =>
  decisions.map(({ target, reason, flip }) => [target, reason, flip]);

/** How many flips each run looks for from now on. */
function looked(): number[] {
  const counts: number[] = [];
  const { active } = on.engine;
  on.engine.active = () => {
    const { evaluator, ...rest } = active();
    return {
      ...rest,
      evaluator: {
        ...evaluator,
        judge: (kind, context) => {
          const judge = evaluator.judge(kind, context);
          const before = context.flips?.budget.flips;
          return {
            accept: (record) => judge.accept(record),
            finish: () => {
              if (before !== undefined) counts.push(before - (context.flips?.budget.flips ?? 0));
              return judge.finish();
            },
          };
        },
      },
    };
  };
  return counts;
}

describe('the flip of a decision', () => {
  it('is found once, by the run that decides first, and stays while the decision is in force', async () => {
    withCompromised(2);
    const counts = looked();
    const first = await on.run('dry-run');
    const second = await on.run('dry-run');
    expect(second.decisions).toEqual(first.decisions);
    expect(flipsOf(second.decisions)).toEqual([
      ['S-d1', 'rule_matches', CLEAN],
      ['S-d2', 'rule_matches', CLEAN],
    ]);
    compromise('d3');
    await on.run('dry-run');
    expect(counts).toEqual([2, 0, 1]);
  });

  it('is kept by the decision that replaces it, without another look', async () => {
    withCompromised(1, { more: 'for: 1h' });
    const counts = looked();
    const waiting = await on.run();
    expect(flipsOf(waiting.decisions)).toEqual([['S-d1', 'for_not_reached', CLEAN]]);
    on.clock.pass(HOUR_MS);
    const acting = await on.run();
    expect(flipsOf(acting.decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
    expect(acting.decisions[0]?.id).not.toBe(waiting.decisions[0]?.id);
    expect(counts).toEqual([1, 0]);
  });

  it('is found again when the rule was edited', async () => {
    withCompromised(1);
    const counts = looked();
    await on.run('dry-run');
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.rules(banRule({ field: 'Other' }));
    const { decisions } = await on.run('dry-run');
    expect(decisions.map(({ flip }) => flip?.changes[0]?.fact)).toEqual(['MdmData.Other']);
    expect(counts).toEqual([1, 1]);
  });

  it('of an undo shows what would make the rule match again', async () => {
    withCompromised(1);
    await on.run();
    on.clock.pass(HOUR_MS);
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE' } });
    const { decisions } = await on.run();
    expect(flipsOf(decisions)).toEqual([['S-d1', 'cleared', COMPROMISED]]);
  });

  it('is the same in a dry run, a live run and a what-if', async () => {
    withCompromised(1);
    const { run, reader } = await whatIf({ ...on.engine, reader: on.store }, { rules: undefined });
    expect(flipsOf(await reader.decisionsOfRun(run))).toEqual([['S-d1', 'rule_matches', CLEAN]]);
    expect(flipsOf((await on.run('dry-run')).decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
    expect(flipsOf((await on.run()).decisions)).toEqual([['S-d1', 'rule_matches', CLEAN]]);
  });

  it('is looked for at most so often a run, and the decisions beyond are made without one', async () => {
    withCompromised(FLIPS_MAX + 5);
    const { decisions } = await on.run('dry-run');
    expect(decisions).toHaveLength(FLIPS_MAX + 5);
    expect(decisions.filter(({ flip }) => flip)).toHaveLength(FLIPS_MAX);
  });

  it('is no part of a plan: its digest is the same whether one was found or not', async () => {
    withCompromised(1);
    const { active } = on.engine;
    const found = await on.run('dry-run');
    on.engine.active = () => {
      const { evaluator, ...rest } = active();
      const judge: typeof evaluator.judge = (kind, { flips: _, ...context }) => evaluator.judge(kind, context);
      return { ...rest, evaluator: { ...evaluator, judge } };
    };
    const plain = await whatIf({ ...on.engine, reader: on.store }, { rules: undefined });
    expect(plain.run.findings?.planDigest).toBe(found.run.findings?.planDigest);
    expect(found.plan).toBeDefined();
  });
});
