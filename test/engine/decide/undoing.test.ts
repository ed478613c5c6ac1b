// test: claims and undoing: who keeps a target banned, which evidence frees it, and how an undo meets an equal proposal of another rule.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Mode } from '../../../src/domain/rule.ts';
import { HOUR, MINUTE, rule, T0 } from './builders.ts';
import { Scene } from './scene.ts';

/** Rules a, b … and device d1; those named match at first, and one round was run. */
function scene(fields: Record<string, Parameters<typeof rule>[1]>, ...matching: string[]): Scene {
  const made = new Scene(...Object.entries(fields).map(([id, more]) => rule(id, more)));
  made.device('d1', { verdicts: Object.fromEntries(matching.map((id) => [id, 'match'])) });
  made.run();
  return made;
}

const undone = [{ draft: { action: 'unban_device', target: 'S-d1', undo: true } }];

describe('a ban', () => {
  it('is undone when its match is over', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match', 'a');
    expect(one.run().acts).toMatchObject(undone);
    expect(one.openClaims()).toEqual([]);
    expect(one.run().acts).toEqual([]);
  });

  it('that two rules propose is one act and two claims, undone when the last of them ends', () => {
    const two = scene({ a: {}, b: {} }, 'a', 'b');
    expect(two.intents.size).toBe(1);
    expect(two.openClaims()).toHaveLength(2);
    two.sees('d1', 'no_match', 'a');
    expect(two.run().acts).toEqual([]);
    two.sees('d1', 'no_match', 'b');
    const { acts } = two.run();
    expect(acts).toMatchObject(undone);
    expect(acts[0]?.draft.basis.map((basis) => basis.rule)).toEqual(['a', 'b']);
  });

  it('is adopted by another rule that matches while it is in force, and stays for as long as that one does', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.sees('d1', 'match', 'b');
    two.run();
    two.sees('d1', 'no_match', 'a');
    expect(two.run().acts).toEqual([]);
    two.sees('d1', 'no_match', 'b');
    expect(two.run().acts).toMatchObject(undone);
  });

  it.each([
    ['whose `for` is not reached', { forMs: HOUR }],
    ['in dry-run', { mode: 'dry-run' }],
  ] as const)('is not adopted by a rule %s', (_, fields) => {
    const two = scene({ a: {}, b: fields }, 'a');
    two.sees('d1', 'match', 'b');
    two.run();
    expect(two.openClaims()).toEqual(['a on S-d1: standing']);
  });

  it('is not adopted in a dry run', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.sees('d1', 'match', 'b');
    two.run('dry-run');
    expect(two.openClaims()).toEqual(['a on S-d1: standing']);
  });

  it('stays when one of its rules does not revert', () => {
    const two = scene({ a: {}, b: { revert: false } }, 'a', 'b');
    two.sees('d1', 'no_match', 'a');
    two.sees('d1', 'no_match', 'b');
    expect(two.run().acts).toEqual([]);
    expect(two.of('d1').state).toBe('TRUE');
    expect(two.openClaims()).toEqual([]);
  });

  it('waits for a person when one of its rules has mode approve, whichever rule claimed last', () => {
    for (const [a, b] of [
      ['approve', 'enforce'],
      ['enforce', 'approve'],
    ] as const) {
      const two = scene({ a: {}, b: {} }, 'a', 'b');
      two.rules = [rule('a', { mode: a }), rule('b', { mode: b })];
      two.sees('d1', 'no_match', 'a');
      two.sees('d1', 'no_match', 'b');
      for (const mode of ['enforce', 'dry-run'] as const) {
        const { acts, planned } = two.run(mode);
        expect(acts).toEqual([]);
        expect(planned).toMatchObject([{ undo: true, held: true, reason: 'approval_needed' }]);
      }
    }
  });

  it('is not undone, nor sealed to be undone, when one of its rules is in dry-run now', () => {
    const two = scene({ a: {}, b: {} }, 'a', 'b');
    two.rules = [rule('a', { mode: 'dry-run' }), rule('b')];
    two.sees('d1', 'no_match', 'a');
    two.sees('d1', 'no_match', 'b');
    const { acts, planned } = two.run();
    expect(acts.map(({ mode }) => mode)).toEqual(['dry-run']);
    expect(planned).toEqual([]);
    expect(two.of('d1').state).toBe('TRUE');
  });

  it('is not undone by a dry run, which leaves its claim open', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match', 'a');
    expect(one.run('dry-run').acts).toMatchObject([{ mode: 'dry-run', draft: { undo: true } }]);
    expect(one.openClaims()).toHaveLength(1);
    expect(one.run().acts).toMatchObject(undone);
  });

  it('is not undone while one of its rules may match again, even before that one acts', () => {
    for (const verdict of ['match', 'unknown', 'error'] as const) {
      const two = scene({ a: {}, b: {} }, 'a', 'b');
      two.rules = [rule('a', { forMs: HOUR }), rule('b')];
      two.sees('d1', 'no_match', 'a');
      two.run();
      two.sees('d1', verdict, 'a');
      two.sees('d1', 'no_match', 'b');
      expect(two.run().acts).toEqual([]);
    }
  });

  it('is not undone for only one of its claims, while the undo of the other one is parked', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.outcomes.set('S-d1', 'parked');
    two.sees('d1', 'no_match', 'a');
    two.run();
    two.sees('d1', 'match', 'b');
    two.run();
    two.outcomes.clear();
    two.sees('d1', 'no_match', 'b');
    for (const mode of ['dry-run', 'enforce'] as const) expect(two.run(mode).acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip in_doubt', 'd1: skip in_doubt']);
    expect(two.openClaims()).toHaveLength(2);
  });

  it('is not sealed for an undo of only one of its claims, while the undo of the other one is rejected', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.rules = [rule('a', { mode: 'approve' }), rule('b')];
    two.sees('d1', 'no_match', 'a');
    two.reject(two.run(), 'S-d1');
    two.sees('d1', 'match', 'b');
    two.run();
    two.sees('d1', 'no_match', 'b');
    for (const mode of ['dry-run', 'enforce'] as const) expect(two.run(mode).planned).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip rejected', 'd1: skip rejected']);
  });

  it('is undone when the subject that claimed last is gone, and the other one does not match', () => {
    const shared = new Scene(rule('a'));
    shared.device('d1', { serial: 'SN-1', verdicts: { a: 'match' } });
    shared.device('d2', { serial: 'SN-1', verdicts: { a: 'match' } });
    shared.run();
    shared.sees('d2', 'no_match');
    shared.run();
    shared.of('d2').present = false;
    shared.run();
    shared.sees('d1', 'no_match');
    expect(shared.run().acts).toMatchObject([{ draft: { action: 'unban_device', target: 'SN-1' } }]);
    expect(shared.openClaims()).toEqual([]);
  });

  it('is undone when one subject of the serial number is long gone and the other one clears', () => {
    const shared = new Scene(rule('a'));
    shared.device('d1', { serial: 'SN-1', verdicts: { a: 'match' } });
    shared.device('d2', { serial: 'SN-1', verdicts: { a: 'match' } });
    shared.run();
    shared.of('d1').present = false;
    shared.run();
    shared.pass(25 * HOUR).run();
    expect(shared.of('d2').state).toBe('TRUE');
    shared.sees('d2', 'no_match');
    expect(shared.pass(MINUTE).run().acts).toMatchObject([{ draft: { action: 'unban_device', target: 'SN-1' } }]);
  });

  it('is not undone on an untrusted source, and is on the next trusted one', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match', 'a');
    one.untrusted();
    expect(one.run().acts).toEqual([]);
    one.trustedAgain();
    expect(one.run().acts).toMatchObject(undone);
  });

  it('whose undo failed is undone later by the same intent', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match', 'a');
    one.outcomes.set('S-d1', 'failed');
    one.run();
    one.outcomes.clear();
    expect(one.run().acts).toMatchObject([{ retryOf: expect.any(String), draft: { undo: true } }]);
    expect(one.of('d1').state).toBe('FALSE');
    expect(one.openClaims()).toEqual([]);
  });

  it('whose match came back before it was undone is kept by the new episode only', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match', 'a');
    one.run('dry-run');
    one.sees('d1', 'match', 'a');
    expect(one.run().acts).toEqual([]);
    one.sees('d1', 'no_match', 'a');
    expect(one.run().acts).toMatchObject(undone);
    expect(one.openClaims()).toEqual([]);
    expect(one.run().inForce).toEqual([]);
  });
});

describe('a rule that goes', () => {
  it('leaves its claims orphaned: nothing is undone, and they are in force again when it is back', () => {
    const one = scene({ a: {} }, 'a');
    const rules = one.rules;
    one.rules = [];
    one.sees('d1', 'no_match', 'a');
    expect(one.run().acts).toEqual([]);
    expect(one.openClaims()).toEqual(['a on S-d1: orphaned']);
    one.rules = rules;
    expect(one.run().acts).toMatchObject(undone);
  });

  it('that is merely not among the rules of this run keeps its claims and decisions', () => {
    const one = scene({ a: {}, b: {} }, 'a');
    one.unjudged = ['a'];
    one.run();
    expect(one.openClaims()).toEqual(['a on S-d1: standing']);
    expect(one.inForce()).toHaveLength(1);
  });

  it('leaves its orphans to a matching rule, which adopts them, whether it claimed before or after', () => {
    for (const before of [true, false]) {
      const two = scene({ a: {}, b: {} }, 'a');
      if (before) two.sees('d1', 'match', 'b');
      two.run();
      two.rules = [rule('b')];
      two.sees('d1', 'match', 'b');
      two.run();
      expect(two.openClaims()).toEqual(['b on S-d1: standing']);
      two.sees('d1', 'no_match', 'b');
      expect(two.run().acts).toMatchObject(undone);
    }
  });
});

const ACTED = T0 - HOUR;

/** A device that a report of an hour ago has banned. */
function banned(fields: Parameters<typeof rule>[1] = {}): Scene {
  const scene = new Scene(rule('r1', fields));
  scene.device('d1', { verdicts: { r1: 'match' }, reportedAt: ACTED });
  scene.run();
  expect(scene.of('d1').state).toBe('TRUE');
  return scene;
}

/** What the next run reads. */
function seen(
  scene: Scene,
  verdict: 'match' | 'no_match' | 'unknown',
  reportedAt: number | null,
  afterMs = MINUTE,
): Scene {
  scene.sees('d1', verdict);
  scene.reported('d1', reportedAt);
  scene.pass(afterMs).run();
  return scene;
}

const isBanned = (scene: Scene) => scene.of('d1').state === 'TRUE';

describe('an undo', () => {
  it.each([
    ['that acted', ACTED],
    ['older than the one that acted', ACTED - HOUR],
    ['without a time', null],
  ])('does not follow from a report %s, however often it is read', (_, at) => {
    const scene = banned();
    for (let round = 0; round < 5; round += 1) seen(scene, 'no_match', at, HOUR);
    expect(isBanned(scene)).toBe(true);
    expect(scene.episodeOf('d1')).toMatchObject({ state: 'frozen' });
    expect(scene.openClaims()).toEqual(['r1 on S-d1: standing']);
  });

  it('follows from a newer report', () => {
    expect(isBanned(seen(banned(), 'no_match', ACTED + 1))).toBe(false);
  });

  it.each([
    ['a day', 24 * HOUR],
    ['six minutes', 6 * MINUTE],
  ])('does not follow from a report that is %s ahead, until that time has come', (_, aheadMs) => {
    const scene = banned({ clearForMs: 30 * MINUTE });
    const at = T0 + aheadMs;
    seen(scene, 'no_match', at, 0);
    expect(scene.episodeOf('d1')).toMatchObject({ state: 'frozen' });
    for (let left = aheadMs; left > 5 * MINUTE; left -= MINUTE)
      seen(scene, 'no_match', at, left > 6 * MINUTE ? MINUTE : 0);
    expect(isBanned(scene)).toBe(true);
    seen(scene, 'no_match', at, MINUTE);
    expect(isBanned(seen(scene, 'no_match', at, 30 * MINUTE))).toBe(false);
  });

  it('asks for a report newer than the newest that matched, not only than the first', () => {
    const scene = seen(banned(), 'match', ACTED + 30 * MINUTE);
    expect(isBanned(seen(scene, 'no_match', ACTED + 20 * MINUTE))).toBe(true);
    expect(isBanned(seen(scene, 'no_match', ACTED + 40 * MINUTE))).toBe(false);
  });

  it('counts `clear_for` from the first newer report: an older one in between begins it anew', () => {
    const scene = banned({ clearForMs: 30 * MINUTE });
    seen(scene, 'no_match', ACTED, 30 * MINUTE);
    seen(scene, 'no_match', ACTED + 2, 30 * MINUTE);
    seen(scene, 'no_match', ACTED + 1, 20 * MINUTE);
    seen(scene, 'no_match', ACTED + 2, MINUTE);
    expect(isBanned(seen(scene, 'no_match', ACTED + 2, 29 * MINUTE))).toBe(true);
    expect(isBanned(seen(scene, 'no_match', ACTED + 2, MINUTE))).toBe(false);
  });

  it.each([
    ['has no time to go by', { reportTimes: [] }],
    ['has a time that the report that acted lacked', {}],
  ])('of a rule that %s follows from a second reading', (_, fields) => {
    const scene = new Scene(rule('r1', fields));
    scene.device('d1', { verdicts: { r1: 'match' }, reportedAt: null });
    scene.run();
    expect(isBanned(seen(scene, 'no_match', ACTED))).toBe(true);
    seen(scene, 'match', null);
    expect(isBanned(seen(scene, 'no_match', null))).toBe(true);
    expect(isBanned(seen(scene, 'no_match', null))).toBe(false);
  });

  it('of an episode that an earlier version began follows from a second reading', () => {
    const scene = banned();
    for (const [id, { reports: _, ...episode }] of scene.episodes) scene.episodes.set(id, episode);
    expect(isBanned(seen(scene, 'no_match', ACTED))).toBe(true);
    expect(isBanned(seen(scene, 'no_match', ACTED))).toBe(false);
  });

  it('asks every claiming rule: an old report of one keeps the state', () => {
    const scene = new Scene(rule('r1'), rule('r2'));
    scene.device('d1', { verdicts: { r1: 'match', r2: 'match' }, reportedAt: ACTED });
    scene.run();
    scene.sees('d1', 'no_match', 'r1');
    scene.reported('d1', ACTED + 1);
    scene.pass(MINUTE).run();
    scene.sees('d1', 'no_match', 'r2');
    scene.pass(MINUTE).run();
    expect(isBanned(scene)).toBe(true);
    scene.reported('d1', ACTED + 2);
    scene.pass(MINUTE).run();
    expect(isBanned(scene)).toBe(false);
  });

  it('that waits for a newer report is a decision that says so, and is over with the report', () => {
    const scene = seen(banned(), 'no_match', ACTED - HOUR);
    expect(scene.inForce()).toMatchObject([
      { action: 'unban_device', verdict: 'no_match', decision: 'skip', reason: 'older_report' },
    ]);
    expect(scene.inForce()[0]?.reasonText).toBe(
      'the report that clears it (MdmData.Timestamp 2027-01-15 06:00:00 UTC) is not newer than the one of 2027-01-15 07:00:00 UTC that ban_device was done for',
    );
    seen(scene, 'no_match', ACTED + 1);
    expect(scene.answers()).toEqual(['d1: act cleared']);
  });

  it('never rests on a report that is not newer than every one that matched', () => {
    const step = fc.record({
      verdict: fc.constantFrom('match' as const, 'no_match' as const, 'unknown' as const),
      at: fc.integer({ min: 0, max: 6 }),
      passMs: fc.constantFrom(MINUTE, 20 * MINUTE, 40 * MINUTE),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.constantFrom(0, 30 * MINUTE), (steps, clearForMs) => {
        const scene = banned({ clearForMs });
        let newestMatch = ACTED;
        for (const { verdict, at, passMs } of steps) {
          const was = isBanned(scene);
          if (!was) return;
          const reportedAt = ACTED + at;
          if (verdict === 'match') newestMatch = Math.max(newestMatch, reportedAt);
          seen(scene, verdict, reportedAt, passMs);
          if (!isBanned(scene)) expect([verdict, reportedAt > newestMatch]).toEqual(['no_match', true]);
        }
      }),
    );
  });
});

describe('after our own undo', () => {
  it('the cooldown does not keep a match from being acted on at once', () => {
    const scene = banned({ cooldownMs: HOUR });
    seen(scene, 'no_match', ACTED + 1);
    expect(isBanned(scene)).toBe(false);
    expect(isBanned(seen(scene, 'match', ACTED + 2))).toBe(true);
  });

  it('a decision that acts again says that it is the second time, for a day', () => {
    const scene = banned();
    seen(scene, 'no_match', ACTED + 1);
    seen(scene, 'match', ACTED + 2);
    expect(scene.inForce()).toMatchObject([{ decision: 'act', reason: 'matches_again' }]);
    seen(scene, 'no_match', ACTED + 3);
    seen(scene, 'match', ACTED + 4, 25 * HOUR);
    expect(scene.inForce()).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
  });
});

describe('an undo of one rule and an equal proposal of another, for one target', () => {
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
});
