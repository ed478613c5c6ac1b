// test: the questions that need all matches of a run together, contrary proposals for one target, and what the plan then holds.
import { describe, expect, it } from 'vitest';
import type { ActionName } from '../../../src/domain/action.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Mode, Rule } from '../../../src/domain/rule.ts';
import { HOUR, rule } from './builders.ts';
import { Scene } from './scene.ts';

const matching = { verdicts: { a: 'match' } } as const;

describe('a conflict', () => {
  function rivals(fields: Parameters<typeof rule>[1] = {}): Scene {
    const scene = new Scene(
      rule('a', { subject: 'service', does: 'disable_service' }),
      rule('b', { subject: 'service', does: 'enable_service', ...fields }),
    );
    scene.service('web', { state: undefined, verdicts: { a: 'match', b: 'match' } });
    return scene;
  }

  it('of two rules holds both, each naming the other', () => {
    const { acts, inForce } = rivals().run();
    expect(acts).toEqual([]);
    expect(inForce.map(({ reason, reasonText }) => [reason, reasonText])).toEqual([
      ['conflict', 'rule b wants enable_service for the same target'],
      ['conflict', 'rule a wants disable_service for the same target'],
    ]);
  });

  it('with a rule that is only tried out holds neither, and is reported of that one', () => {
    const { acts, planned, inForce } = rivals({ mode: 'dry-run' }).run();
    expect(acts.map(({ mode, draft }) => [mode, draft.action]).sort()).toEqual([
      ['dry-run', 'enable_service'],
      ['enforce', 'disable_service'],
    ]);
    expect(planned).toEqual([]);
    expect(inForce.find((item) => item.rule === 'b')).toMatchObject({
      decision: 'act',
      reason: 'conflict',
      reasonText: 'it would wait: rule a wants disable_service for the same target',
    });
  });

  it('with an open claim of another rule is held, naming it', () => {
    const scene = rivals();
    scene.of('web').verdicts = { a: 'match' };
    scene.run();
    scene.sees('web', 'unknown', 'a');
    scene.sees('web', 'match', 'b');
    const { acts, inForce } = scene.run();
    expect(acts).toEqual([]);
    expect(inForce).toMatchObject([
      { reason: 'conflict', reasonText: 'rule a has disable_service in force on the same target' },
    ]);
  });

  it('is not concluded from a notification', () => {
    const scene = new Scene(rule('a'), rule('b', { does: 'notify' }));
    scene.device('S-d1', { serial: 'S-d1', verdicts: { a: 'match', b: 'match' } });
    expect(scene.run().acts).toHaveLength(2);
  });
});

describe('a limit', () => {
  function fleet(limits: { max: number; percent: number }, count: number, of: number): Scene {
    const scene = new Scene(rule('a', { limits }));
    scene.devices(of, (index) => (index <= count ? { verdicts: { a: 'match' } } : {}));
    return scene;
  }

  it.each([
    [{ max: 25, percent: 2 }, 1, 40, true],
    [{ max: 25, percent: 2 }, 2, 40, false],
    [{ max: 25, percent: 0 }, 1, 40, false],
    [{ max: 0, percent: 100 }, 1, 40, false],
    [{ max: 3, percent: 100 }, 3, 40, true],
    [{ max: 3, percent: 100 }, 4, 40, false],
    [{ max: 25, percent: 5 }, 5, 100, true],
    [{ max: 25, percent: 5 }, 6, 100, false],
    [{ max: 25, percent: 5 }, 1, 1, true],
  ])('of %o with %i matches among %i is kept: %s', (limits, count, of, kept) => {
    const scene = fleet(limits, count, of);
    const { acts, planned, inForce } = scene.run();
    expect(acts).toHaveLength(kept ? count : 0);
    expect(planned).toHaveLength(kept ? 0 : count); // the whole rule is held, never the first few
    expect(new Set(inForce.map(({ reason }) => reason))).toEqual(new Set([kept ? 'rule_matches' : 'limits']));
  });

  it.each(['dry-run', 'enforce'] as const)(
    'of a rule on trial holds nothing in a run of mode %s: it is reported',
    (mode) => {
      const scene = new Scene(rule('a', { mode: 'dry-run', limits: { max: 1, percent: 100 } }));
      scene.devices(3, () => ({ verdicts: { a: 'match' } }));
      const { acts, planned, inForce } = scene.run(mode);
      expect(acts.map((act) => act.mode)).toEqual(['dry-run', 'dry-run', 'dry-run']);
      expect(planned).toEqual([]);
      const text = "it would wait: 3 targets at once cross the rule's limit (max 1)";
      for (const one of inForce) expect(one).toMatchObject({ decision: 'act', reason: 'limits', reasonText: text });
    },
  );

  it('of one rule does not hold another one', () => {
    const scene = fleet({ max: 1, percent: 100 }, 3, 10);
    scene.rules.push(rule('b'));
    scene.sees('d9', 'match', 'b');
    expect(scene.run().acts).toMatchObject([{ draft: { target: 'S-d9' } }]);
  });

  it('counts targets, not devices of one serial number', () => {
    const scene = new Scene(rule('a', { limits: { max: 1, percent: 100 } }));
    scene.devices(3, () => ({ serial: 'SN-1', ...structuredClone(matching) }));
    expect(scene.run().acts).toHaveLength(1);
  });

  it('counts what is to be done, not what is done already', () => {
    const scene = fleet({ max: 2, percent: 100 }, 2, 10);
    scene.run();
    scene.sees('d3', 'match');
    expect(scene.run().acts).toMatchObject([{ draft: { target: 'S-d3' } }]);
  });

  it('does not hold back an undo', () => {
    const scene = fleet({ max: 2, percent: 100 }, 2, 10);
    scene.run();
    scene.rules = [rule('a', { limits: { max: 0, percent: 0 } })];
    for (const id of ['d1', 'd2']) scene.sees(id, 'no_match');
    expect(scene.run().acts).toHaveLength(2);
  });
});

describe('one owner', () => {
  function owned(fields: Parameters<typeof rule>[1] = {}): Scene {
    const scene = new Scene(rule('a', fields), rule('b'));
    scene.device('d1', { owners: ['Ann@Example.com'], verdicts: { a: 'match' } });
    scene.device('d2', { owners: ['ann@example.com', 'bob@example.com'], verdicts: { a: 'match' } });
    scene.device('d3', { owners: ['cyd@example.com'], verdicts: { a: 'match' } });
    return scene;
  }

  it('does not lose two devices in one run: both wait, the others go on', () => {
    const { acts, inForce } = owned().run();
    expect(acts.map(({ draft }) => draft.target)).toEqual(['S-d3']);
    expect(inForce.filter(({ reason }) => reason === 'owners')).toHaveLength(2);
  });

  it('does when the rule says so', () => {
    expect(owned({ owners: 'all' }).run().acts).toHaveLength(3);
  });

  it('does not lose two devices to two rules either', () => {
    const scene = owned();
    scene.of('d2').verdicts = { b: 'match' };
    expect(scene.run().acts.map(({ draft }) => draft.target)).toEqual(['S-d3']);
  });

  it('does not keep a device because another rule is tried out on the second one', () => {
    const scene = owned();
    scene.rules = [rule('a'), rule('b', { mode: 'dry-run' })];
    scene.of('d2').verdicts = { b: 'match' };
    const live = scene.run().acts.filter(({ mode }) => mode === 'enforce');
    expect(live.map(({ draft }) => draft.target)).toEqual(['S-d1', 'S-d3']);
  });
});

describe('a ceiling', () => {
  it('holds what would cross it, the less severe match first', () => {
    const scene = new Scene(rule('low', { severity: 'low' }), rule('critical', { severity: 'critical' }));
    scene.ceilings = { run: { max: 2, percent: 0 }, day: { max: 100, percent: 0 } };
    scene.devices(4, (index) => ({ verdicts: { [index <= 2 ? 'low' : 'critical']: 'match' } }));
    const { acts, planned, inForce } = scene.run();
    expect(acts.map(({ draft }) => draft.target)).toEqual(['S-d3', 'S-d4']);
    expect(inForce.filter(({ reason }) => reason === 'ceiling')).toHaveLength(2);
    expect(planned).toEqual([]); // no approval gets past it
  });

  it('of 24 hours counts the attempts of earlier runs, and forgets them after a day', () => {
    const scene = new Scene(rule('a'));
    scene.ceilings = { run: { max: 100, percent: 0 }, day: { max: 2, percent: 0 } };
    scene.devices(2, () => structuredClone(matching));
    scene.run();
    scene.device('d3', structuredClone(matching));
    expect(scene.run().acts).toEqual([]);
    expect(scene.pass(24 * 3_600_000 + 1).run().acts).toHaveLength(1);
  });

  it('is predicted by a dry run as a live run keeps it', () => {
    const scene = new Scene(rule('a'));
    scene.ceilings = { run: { max: 1, percent: 0 }, day: { max: 9, percent: 0 } };
    scene.devices(3, () => structuredClone(matching));
    const targets = (mode: 'dry-run' | 'enforce') => scene.decide(mode).acts.map(({ draft }) => draft.target);
    expect(targets('dry-run')).toEqual(targets('enforce'));
    expect(targets('dry-run')).toHaveLength(1);
  });

  it('is not used up by rules that are only tried out', () => {
    const scene = new Scene(rule('a', { mode: 'dry-run', severity: 'critical' }), rule('b', { severity: 'low' }));
    scene.ceilings = { run: { max: 1, percent: 0 }, day: { max: 9, percent: 0 } };
    scene.device('d1', { verdicts: { a: 'match' } });
    scene.device('d2', { verdicts: { b: 'match' } });
    expect(scene.run().acts.filter(({ mode }) => mode === 'enforce')).toMatchObject([{ draft: { target: 'S-d2' } }]);
  });
});

describe('equal proposals', () => {
  it('of several rules and devices are one act that rests on all of them', () => {
    const scene = new Scene(rule('a'), rule('b'));
    scene.device('d1', { serial: 'SN-1', verdicts: { a: 'match', b: 'match' } });
    scene.device('d2', { serial: 'SN-1', verdicts: { b: 'match' } });
    const { acts } = scene.run();
    expect(acts).toHaveLength(1);
    expect(acts[0]?.draft.basis.map(({ rule: id, subjectId }) => `${id} ${subjectId}`).sort()).toEqual([
      'a d1',
      'b d1',
      'b d2',
    ]);
  });

  it('of a rule in dry-run and one that enforces stay apart: the dry one gains no claim', () => {
    const scene = new Scene(rule('a'), rule('b', { mode: 'dry-run' }));
    scene.device('d1', { verdicts: { a: 'match', b: 'match' } });
    scene.run();
    expect(scene.openClaims()).toEqual(['a on S-d1: standing']);
  });
});

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
    expect(next.planned[0]?.effect.text).toContain('; ends what is in force on it: ban_device of rule ban');
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
    expect(text).toContain('ends what is in force on it: ban_device of rule ban, ban_device of rule second');
  });
});

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
