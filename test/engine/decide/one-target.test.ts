// test: two rules with different proposals for one target: which are contrary and hold each other, which goes first, and which
// have nothing to do with each other.
import { describe, expect, it } from 'vitest';
import type { ActionName } from '../../../src/domain/action.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Rule } from '../../../src/domain/rule.ts';
import { HOUR, rule } from './builders.ts';
import { Scene } from './scene.ts';

const BUNDLE = { bundle: 'b1' };
const PATCH = { patch: { metadata: { description: 'one' } } };
const OTHER_PATCH = { patch: { metadata: { description: 'other' } } };

function proposing(id: string, action: ActionName, settings: Facts = {}, fields: Partial<Rule> = {}): Rule {
  const subject = action.endsWith('_device') ? 'device' : 'service';
  return rule(id, { subject, then: [{ action, with: settings }], ...fields });
}

/** One target of which nobody knows the state, and which both rules match. */
function both(a: Rule, b: Rule): Scene {
  const scene = new Scene(a, b);
  const verdicts = { a: 'match', b: 'match' } as const;
  if (a.subject === 'device') scene.device('d1', { state: undefined, verdicts });
  else scene.service('web', { state: undefined, verdicts });
  return scene;
}

type Wished = [action: ActionName, settings?: Facts];
type Row = [a: Wished, b: Wished, saysOfA: string, saysOfB: string];

const HELD = 'hold approval_needed';
const first = (id: string, action: ActionName) =>
  `hold other_first: rule ${id} wants ${action} for the same target first`;
const against = (id: string, action: ActionName) => `hold conflict: rule ${id} wants ${action} for the same target`;

const CONTRARY: [Wished, Wished][] = [
  [['ban_device'], ['unban_device']],
  [['enable_service'], ['disable_service']],
  [
    ['add_to_bundle', BUNDLE],
    ['remove_from_bundle', BUNDLE],
  ],
  [
    ['update_service', PATCH],
    ['update_service', OTHER_PATCH],
  ],
  [['unban_device'], ['delete_device']],
  [['enable_service'], ['delete_service']],
];

const COMPATIBLE: Row[] = [
  [['ban_device'], ['delete_device'], 'act rule_matches', first('a', 'ban_device')],
  [['disable_service'], ['delete_service'], 'act rule_matches', first('a', 'disable_service')],
  [['update_service', PATCH], ['delete_service'], HELD, first('a', 'update_service')],
  [['disable_service'], ['update_service', PATCH], 'act rule_matches', HELD],
  [['enable_service'], ['update_service', PATCH], 'act rule_matches', HELD],
  [['add_to_bundle', BUNDLE], ['disable_service'], 'act rule_matches', 'act rule_matches'],
  [['add_to_bundle', BUNDLE], ['delete_service'], 'act rule_matches', HELD],
  [['add_to_bundle', BUNDLE], ['remove_from_bundle', { bundle: 'b2' }], 'act rule_matches', 'act rule_matches'],
];

function saidOf(scene: Scene, id: string): string {
  const found = scene.decide().decisions.find((one) => one.rule === id);
  const isNaming = found?.reason === 'conflict' || found?.reason === 'other_first';
  const text = isNaming ? `: ${found?.reasonText}` : '';
  return `${found?.decision} ${found?.reason}${text}`;
}

describe('two proposals of one target', () => {
  it.each(CONTRARY)(
    '%j and %j are contrary: both are held, each naming the other, whichever comes first',
    (one, other) => {
      for (const [a, b] of [
        [one, other],
        [other, one],
      ] as const) {
        const scene = both(proposing('a', ...a), proposing('b', ...b));
        expect(saidOf(scene, 'a')).toBe(against('b', b[0]));
        expect(saidOf(scene, 'b')).toBe(against('a', a[0]));
      }
    },
  );

  it.each(COMPATIBLE)('%j and %j do not hold each other for ever: %s, %s', (a, b, saysOfA, saysOfB) => {
    const scene = both(proposing('a', ...a), proposing('b', ...b));
    expect([saidOf(scene, 'a'), saidOf(scene, 'b')]).toEqual([saysOfA, saysOfB]);
    const turned = both(proposing('b', ...b), proposing('a', ...a));
    expect([saidOf(turned, 'a'), saidOf(turned, 'b')]).toEqual([saysOfA, saysOfB]);
  });
});

describe('a ban and a deletion of one device', () => {
  function scene(ban: Partial<Rule> = {}, deletion: Partial<Rule> = {}): Scene {
    const made = new Scene(proposing('ban', 'ban_device', {}, ban), proposing('delete', 'delete_device', {}, deletion));
    made.device('d1', { verdicts: { ban: 'match', delete: 'match' } });
    return made;
  }
  const actions = (planned: readonly { action: ActionName }[]) => planned.map(({ action }) => action);

  it('of two rules are done one after the other: the ban at once, the deletion approved with the ban shown', () => {
    const made = scene();
    const { acts, planned } = made.run();
    expect([acts.map(({ draft }) => draft.action), actions(planned)]).toEqual([['ban_device'], []]);
    made.pass(HOUR);
    const next = made.run();
    expect([next.acts, actions(next.planned)]).toEqual([[], ['delete_device']]);
    expect(next.planned[0]?.effect.text).toContain('; ends the open claims on it: ban_device of rule ban');
  });

  it('of one rule are no conflict of the rule with itself', () => {
    const then = [
      { action: 'ban_device', with: {} },
      { action: 'delete_device', with: {} },
    ] as const;
    const made = new Scene(rule('a', { then: [...then] }));
    made.device('d1', { verdicts: { a: 'match' } });
    expect(made.run().acts.map(({ draft }) => draft.action)).toEqual(['ban_device']);
    expect(actions(made.pass(HOUR).run().planned)).toEqual(['delete_device']);
  });

  it('are asked for one after the other where both wait, and a rejected ban keeps no deletion waiting', () => {
    const made = scene({ mode: 'approve' });
    const first = made.run();
    expect(actions(first.planned)).toEqual(['ban_device']);
    made.reject(first, 'S-d1');
    expect(actions(made.run().planned)).toEqual(['delete_device']);
  });

  it('leave the deletion to its approval where the ban is only tried out', () => {
    expect(actions(scene({ mode: 'dry-run' }).decide().planned)).toEqual(['delete_device']);
  });

  it('are the same in a dry run as in a live one', () => {
    const dry = scene().decide('dry-run');
    expect(actions(dry.planned)).toEqual(['ban_device']);
    expect(dry.decisions.map(({ reason }) => reason)).toEqual(['rule_matches', 'other_first']);
  });

  it('do not keep a ban whose match is over: it is undone, and the deletion waits for its approval after that', () => {
    const made = scene();
    made.sees('d1', 'no_match', 'delete');
    made.run();
    made.pass(HOUR);
    made.sees('d1', 'no_match', 'ban');
    made.sees('d1', 'match', 'delete');
    expect(made.run().acts).toMatchObject([{ draft: { action: 'unban_device', undo: true } }]);
    expect(actions(made.pass(HOUR).run().planned)).toEqual(['delete_device']);
  });

  it('hold no deletion for a ban that is in conflict itself', () => {
    const made = scene();
    made.rules.push(proposing('unban', 'unban_device'));
    made.device('d1', { state: 'TRUE', verdicts: { unban: 'match' } });
    made.run();
    made.pass(HOUR);
    made.of('d1').verdicts = { unban: 'match', ban: 'match', delete: 'match' };
    const { inForce, planned } = made.run();
    expect(inForce.map(({ rule: id, reason }) => `${id}: ${reason}`).sort()).toEqual([
      'ban: conflict',
      'delete: approval_needed',
      'unban: already_so',
    ]);
    expect(actions(planned)).toEqual(['delete_device']);
  });

  it('ask for a new approval of what ends with the device when another rule begins to hold the ban', () => {
    const made = scene();
    made.run();
    made.pass(HOUR).run();
    made.rules.push(proposing('second', 'ban_device'));
    made.sees('d1', 'match', 'second');
    const { inForce } = made.run();
    const text = inForce.find((one) => one.rule === 'delete')?.effect.text;
    expect(text).toContain('ends the open claims on it: ban_device of rule ban, ban_device of rule second');
  });
});
