// test: an undo of one rule and an equal proposal of another, for one target: every combination of their modes. What is done at
// once, what a person is asked, and that a dry run says the same.
import { describe, expect, it } from 'vitest';
import type { Mode } from '../../../src/domain/rule.ts';
import { HOUR, rule } from './builders.ts';
import { Scene } from './scene.ts';

/** Rule a has banned d1, and its match is over; rule b proposes the unban by itself. */
function scene(undoing: Mode, proposing: Mode): Scene {
  const made = new Scene(rule('a'));
  made.device('d1', { verdicts: { a: 'match' } });
  made.run();
  made.pass(HOUR);
  made.rules = [rule('a', { mode: undoing }), rule('b', { mode: proposing, does: 'unban_device' })];
  made.of('d1').verdicts = { a: 'no_match', b: 'match' };
  return made;
}

const byWhom = ({ undo, basis }: { undo: boolean; basis: readonly { rule: string }[] }) =>
  `${undo ? 'undo' : 'proposal'} of ${basis.map((one) => one.rule).join(' and ')}`;

type Row = [undoing: Mode, proposing: Mode, acts: string[], waits: string[], proposal: string];

const TABLE: Row[] = [
  ['enforce', 'enforce', ['undo of a'], [], 'skip cleared'],
  ['enforce', 'approve', ['undo of a'], [], 'skip cleared'],
  ['enforce', 'dry-run', ['undo of a'], [], 'skip cleared'],
  ['approve', 'enforce', ['proposal of b'], ['undo of a'], 'act rule_matches'],
  ['approve', 'approve', [], ['undo of a'], 'skip cleared'],
  ['approve', 'dry-run', [], ['undo of a'], 'act rule_matches'],
  ['dry-run', 'enforce', ['proposal of b'], [], 'act rule_matches'],
  ['dry-run', 'approve', [], ['proposal of b'], 'hold approval_needed'],
  ['dry-run', 'dry-run', [], [], 'skip cleared'],
];

describe('an undo and an equal proposal of another rule', () => {
  it.each(TABLE)('of modes %s and %s: done at once %j, waiting %j', (undoing, proposing, acts, waits, answer) => {
    const made = scene(undoing, proposing);
    const decided = made.decide();
    const live = decided.acts.filter(({ mode }) => mode !== 'dry-run');
    expect(live.map(({ draft }) => byWhom(draft))).toEqual(acts);
    expect(decided.planned.map(byWhom)).toEqual(waits);
    const proposal = decided.decisions.find((one) => one.rule === 'b');
    expect(`${proposal?.decision} ${proposal?.reason}`).toBe(answer);
  });

  it.each(TABLE)('of modes %s and %s: a dry run shows what a live one does', (undoing, proposing, acts, waits) => {
    const { planned } = scene(undoing, proposing).decide('dry-run');
    expect(planned.filter(({ held }) => held).map(byWhom)).toEqual(waits);
    expect(planned.filter(({ held }) => !held).map(byWhom)).toEqual(acts);
  });

  it.each(TABLE.filter(([, , acts]) => acts.length > 0))(
    'of modes %s and %s: is over with what is done at once',
    (undoing, proposing) => {
      const made = scene(undoing, proposing);
      made.run();
      expect(made.of('d1').state).toBe('FALSE');
      made.pass(HOUR);
      const after = made.run();
      expect([after.acts.filter(({ mode }) => mode !== 'dry-run'), after.planned]).toEqual([[], []]);
      expect(made.of('d1').state).toBe('FALSE');
    },
  );

  it.each(TABLE.filter(([, , acts]) => acts.length > 0))(
    'of modes %s and %s: does not bring the ban back when the match of the proposal ends too',
    (undoing, proposing) => {
      const made = scene(undoing, proposing);
      made.run();
      made.pass(HOUR).run();
      made.sees('d1', 'no_match', 'b');
      made.pass(HOUR).run();
      expect([made.of('d1').state, made.openClaims()]).toEqual(['FALSE', []]);
    },
  );

  it('asks for the proposal by itself once a person rejected the undo', () => {
    const made = scene('approve', 'approve');
    made.reject(made.run(), 'S-d1');
    expect(made.run().planned.map(byWhom)).toEqual(['proposal of b']);
  });

  it('tries the undo again when it failed, and the proposal only once the undo is parked', () => {
    const made = scene('enforce', 'enforce');
    made.outcomes.set('S-d1', 'failed');
    made.run();
    expect(made.decide().acts.map(({ draft }) => byWhom(draft))).toEqual(['undo of a']);
    for (const [id, intent] of made.intents)
      if (intent.undo) made.intents.set(id, { ...intent, outcome: 'parked', status: 'settled' });
    expect(made.decide().acts.map(({ draft }) => byWhom(draft))).toEqual(['proposal of b']);
  });

  it('of a bundle are not taken for a conflict, though only one of them names the bundle in its settings', () => {
    const proposing = (id: string, action: 'add_to_bundle' | 'remove_from_bundle') =>
      rule(id, { subject: 'service', then: [{ action, with: { bundle: 'b1' } }] });
    const made = new Scene(proposing('a', 'add_to_bundle'));
    made.service('web', { verdicts: { a: 'match' } });
    made.run();
    made.pass(HOUR);
    made.rules.push(proposing('b', 'remove_from_bundle'));
    made.of('web').verdicts = { a: 'no_match', b: 'match' };
    expect(made.decide().acts.map(({ draft }) => byWhom(draft))).toEqual(['undo of a']);
  });
});
