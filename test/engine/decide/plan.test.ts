// test: what a plan holds, and that nothing is written again for what stands unchanged.
import { describe, expect, it } from 'vitest';
import type { Mode } from '../../../src/domain/rule.ts';
import { rule } from './builders.ts';
import { Scene } from './scene.ts';

function scene(): Scene {
  const made = new Scene(rule('enforced'), rule('held', { mode: 'approve' }), rule('tried', { mode: 'dry-run' }));
  made.device('d1', { verdicts: { enforced: 'match' } });
  made.device('d2', { verdicts: { held: 'match' } });
  made.device('d3', { verdicts: { tried: 'match' } });
  return made;
}

const targets = (planned: { target: string; held: boolean }[]) =>
  planned.map(({ target, held }) => [target, held]).sort();

describe('what is planned', () => {
  it('in a dry run is all that a person or a live run would do, without what is only tried out', () => {
    expect(targets(scene().decide('dry-run').planned)).toEqual([
      ['S-d1', false],
      ['S-d2', true],
    ]);
  });

  it('in a live run is what waits for a person', () => {
    expect(targets(scene().decide('enforce').planned)).toEqual([['S-d2', true]]);
  });

  it('in a run that the daemon caps to a dry one is what a dry run plans', () => {
    expect(targets(scene().decide('enforce', 'dry-run').planned)).toEqual([
      ['S-d1', false],
      ['S-d2', true],
    ]);
  });

  it('in a dry run of a daemon that holds everything is held too, as in its live runs', () => {
    const planned = (mode: Mode) => scene().decide(mode, 'approve').planned;
    expect(targets(planned('dry-run'))).toEqual([
      ['S-d1', true],
      ['S-d2', true],
    ]);
    expect(targets(planned('dry-run'))).toEqual(targets(planned('enforce')));
  });

  it('by one rule does not wait in a dry run because another rule proposes the same with approval', () => {
    const made = scene();
    made.sees('d1', 'match', 'held');
    const planned = made.decide('dry-run').planned.filter(({ target }) => target === 'S-d1');
    expect(planned.map(({ held, basis }) => [held, basis.map((item) => item.rule)])).toEqual([
      [true, ['held']],
      [false, ['enforced']],
    ]);
    const { acts, planned: waiting } = made.decide('enforce');
    expect(acts.filter(({ mode }) => mode === 'enforce').map(({ draft }) => draft.target)).toEqual(['S-d1']);
    expect(targets(waiting)).toEqual([
      ['S-d1', true],
      ['S-d2', true],
    ]);
  });

  it('names its basis: rule, its hash, subject, episode, decision and facts', () => {
    const made = scene();
    const { planned, decisions, episodes } = made.decide('enforce');
    const held = decisions.find((item) => item.rule === 'held');
    expect(planned[0]?.basis).toEqual([
      {
        rule: 'held',
        ruleHash: 'hash of held',
        subjectId: 'd2',
        episodeId: episodes.find((item) => item.rule === 'held')?.id,
        decisionId: held?.id,
        facts: { 'MdmData.CompromisedStatus': 'TRUE' },
      },
    ]);
  });

  it('of an untrusted source, a conflict or a ceiling is nothing: no approval answers these', () => {
    const made = scene();
    made.untrusted();
    expect(made.decide('dry-run').planned).toEqual([]);
    made.trustedAgain();
    made.ceilings = { run: { max: 0, percent: 0 }, day: { max: 0, percent: 0 } };
    expect(targets(made.decide('dry-run').planned)).toEqual([['S-d2', true]]);
  });
});

describe('a decision in force', () => {
  it.each(['dry-run', 'enforce'] as const)('is written once, however many runs of mode %s follow', (mode) => {
    const made = scene();
    made.run(mode);
    made.run(mode);
    const third = made.run(mode);
    expect(third).toMatchObject({ decisions: [], ended: [], episodes: [], claims: [], notes: [] });
    expect(third.inForce).toHaveLength(3);
    expect(third.acts.every(({ isUnchanged }) => isUnchanged)).toBe(true);
  });

  it('is written again when rule, mode or answer changed, and the old one ends', () => {
    const made = scene();
    made.run();
    made.rules = made.rules.map((one) => (one.id === 'held' ? rule('held', { mode: 'approve', hash: 'edited' }) : one));
    const { decisions, ended } = made.run();
    expect(decisions.map((item) => item.rule)).toContain('held');
    expect(ended).toHaveLength(decisions.length);
  });

  it('ends when the match does', () => {
    const made = scene();
    made.run('dry-run');
    made.sees('d3', 'no_match', 'tried');
    expect(made.run('dry-run').ended).toHaveLength(1);
    expect(made.inForce().map((item) => item.rule)).toEqual(['enforced', 'held']);
  });

  it('of an untrusted source is written for at most 100 subjects a rule', () => {
    const made = new Scene(rule('a'));
    made.devices(150, () => ({ verdicts: { a: 'match' } }));
    made.untrusted();
    expect(made.run().decisions).toHaveLength(100);
    expect(made.run().decisions).toHaveLength(0);
  });
});
