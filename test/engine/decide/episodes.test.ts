// test: episodes, and what a person did about them: what opens, freezes, clears and closes them, and that a reversal is left alone.
import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, rule, T0 } from './builders.ts';
import { Scene } from './scene.ts';

function banned(fields: Parameters<typeof rule>[1] = {}): Scene {
  const scene = new Scene(rule('r1', fields));
  scene.device('d1', { verdicts: { r1: 'match' } });
  scene.run();
  expect(scene.of('d1').state).toBe('TRUE');
  return scene;
}

describe('an episode', () => {
  it('opens with the first match and keeps its since', () => {
    const scene = banned();
    scene.pass(HOUR).run();
    expect([...scene.episodes.values()]).toMatchObject([{ state: 'matching', since: T0, matchingSince: T0 }]);
    expect(scene.inForce()).toMatchObject([{ since: T0 }]);
  });

  it.each([
    ['unknown', (scene: Scene) => scene.sees('d1', 'unknown')],
    ['error', (scene: Scene) => scene.sees('d1', 'error')],
    ['absence', (scene: Scene) => (scene.of('d1').present = false)],
    [
      'an untrusted source',
      (scene: Scene) => {
        scene.sees('d1', 'no_match');
        scene.untrusted();
      },
    ],
    ['an untrusted source that still shows a match', (scene: Scene) => scene.untrusted()],
    ['a source that could not be read', (scene: Scene) => (scene.unjudged = ['r1'])],
    [
      'a source that is not available',
      (scene: Scene) => {
        scene.of('d1').present = false;
        scene.readings.devices = { state: 'unavailable', trusted: false };
      },
    ],
  ])('is frozen by %s: it does not end and nothing is undone', (_, happen) => {
    const scene = banned();
    happen(scene);
    for (let round = 0; round < 3; round += 1) expect(scene.pass(MINUTE).run().acts).toEqual([]);
    expect(scene.episodeOf('d1')).toMatchObject({ state: 'frozen', stateSince: T0 + MINUTE, since: T0 });
    expect(scene.openClaims()).toEqual(['r1 on S-d1: standing']);
  });

  it('that began ahead of a clock that was set back since waits until its old time comes again', () => {
    const scene = new Scene(rule('r1', { forMs: MINUTE, clearForMs: MINUTE, reportTimes: [] }));
    scene.device('d1', { verdicts: { r1: 'match' } });
    scene.run();
    scene.pass(-30 * HOUR).run();
    expect(scene.pass(MINUTE).run().acts).toHaveLength(1);
    scene.sees('d1', 'no_match');
    scene.run();
    scene.pass(-30 * HOUR).run();
    scene.pass(MINUTE).run();
    expect(scene.episodeOf('d1')?.state).toBe('closed');
  });

  it('counts `for` anew after a freeze', () => {
    const scene = new Scene(rule('r1', { forMs: 10 * MINUTE }));
    scene.device('d1', { verdicts: { r1: 'match' } });
    scene.run();
    scene.sees('d1', 'unknown');
    scene.pass(5 * MINUTE).run();
    scene.sees('d1', 'match');
    scene.pass(5 * MINUTE).run();
    expect(scene.answers()).toEqual(['d1: skip for_not_reached']);
    expect(scene.pass(10 * MINUTE).run().acts).toHaveLength(1);
    expect(scene.episodes.size).toBe(1);
  });

  it('counts `clear_for` anew after a freeze, and undoes only when it is over', () => {
    const scene = banned({ clearForMs: 10 * MINUTE });
    scene.sees('d1', 'no_match');
    scene.pass(MINUTE).run();
    expect(scene.episodeOf('d1')?.state).toBe('clearing');
    scene.sees('d1', 'unknown');
    scene.pass(9 * MINUTE).run();
    scene.sees('d1', 'no_match');
    expect(scene.pass(5 * MINUTE).run().acts).toEqual([]);
    expect(scene.pass(9 * MINUTE).run().acts).toEqual([]);
    expect(scene.pass(MINUTE).run().acts).toMatchObject([{ draft: { action: 'unban_device', undo: true } }]);
  });

  it('that matches again within `clear_for` is the same one, and is not acted on again', () => {
    const scene = banned({ clearForMs: 10 * MINUTE });
    scene.sees('d1', 'no_match');
    scene.pass(MINUTE).run();
    scene.sees('d1', 'match');
    expect(scene.pass(MINUTE).run().acts).toEqual([]);
    expect(scene.episodes.size).toBe(1);
  });

  it('of a subject gone for 24 h closes without an undo', () => {
    const scene = banned();
    scene.of('d1').present = false;
    scene.pass(MINUTE).run();
    scene.pass(24 * HOUR - 1).run();
    expect(scene.episodeOf('d1')?.state).toBe('frozen');
    expect(scene.pass(1).run().acts).toEqual([]);
    expect(scene.episodeOf('d1')).toMatchObject({ state: 'closed', closeReason: 'gone' });
    expect(scene.openClaims()).toEqual([]);
  });

  it('of a subject that was back in between is not gone 24 h after it first was away', () => {
    const scene = banned();
    scene.of('d1').present = false;
    scene.pass(MINUTE).run();
    scene.of('d1').present = true;
    scene.pass(12 * HOUR).run();
    scene.of('d1').present = false;
    scene.pass(HOUR).run();
    scene.pass(23 * HOUR).run();
    expect(scene.episodeOf('d1')?.state).toBe('frozen');
  });

  it('is not gone because its list was not available for days', () => {
    const scene = banned();
    scene.of('d1').present = false;
    scene.readings.devices = { state: 'unavailable', trusted: false };
    for (let day = 0; day < 3; day += 1) scene.pass(24 * HOUR).run();
    expect(scene.episodeOf('d1')?.state).toBe('frozen');
    expect(scene.openClaims()).toHaveLength(1);
  });

  it('goes on when `when` or `then` is edited: the same action is not repeated, a new one is done', () => {
    const scene = banned();
    scene.rules = [
      rule('r1', {
        hash: 'edited',
        then: [
          { action: 'ban_device', with: {} },
          { action: 'notify', with: {} },
        ],
      }),
    ];
    const { acts } = scene.run();
    expect(acts.map(({ draft }) => draft.action)).toEqual(['notify']);
    expect(scene.run().acts).toEqual([]);
    expect(scene.episodes.size).toBe(1);
  });

  it('is followed by another one with its own acts when the match comes back', () => {
    const scene = banned();
    scene.sees('d1', 'no_match');
    scene.run();
    expect(scene.of('d1').state).toBe('FALSE');
    scene.sees('d1', 'match');
    expect(scene.run().acts).toMatchObject([{ draft: { action: 'ban_device' } }]);
    expect(scene.episodes.size).toBe(2);
  });

  it('is written when it changes, and not in every run', () => {
    const scene = banned();
    expect(scene.run().episodes).toEqual([]);
    scene.sees('d1', 'unknown');
    expect(scene.run().episodes).toHaveLength(1);
    expect(scene.run().episodes).toEqual([]);
  });
});

/** Rules a, b … and device d1; those named match at first, and one round was run. */
function scene(fields: Record<string, Parameters<typeof rule>[1]>, ...matching: string[]): Scene {
  const made = new Scene(...Object.entries(fields).map(([id, more]) => rule(id, more)));
  made.device('d1', { verdicts: Object.fromEntries(matching.map((id) => [id, 'match'])) });
  made.run();
  return made;
}

describe('what a person did', () => {
  it('banning a device outside Trustward is not undone when the match ends', () => {
    const one = new Scene(rule('a'));
    one.device('d1', { state: 'TRUE', verdicts: { a: 'match' } });
    one.run();
    one.sees('d1', 'no_match');
    expect(one.run().acts).toEqual([]);
    expect(one.of('d1').state).toBe('TRUE');
  });

  it('lifting our ban overrides the episode until the match has cleared', () => {
    const one = scene({ a: {} }, 'a');
    one.byHand('S-d1', 'FALSE');
    for (let round = 0; round < 3; round += 1) expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.answers()).toEqual(['d1: skip overridden']);
    expect([...one.claims.values()].map(({ status }) => status)).toEqual(['overridden']);
    one.sees('d1', 'no_match');
    one.run();
    one.sees('d1', 'match');
    expect(one.run().acts).toMatchObject([{ draft: { action: 'ban_device' } }]);
  });

  it('lifting our ban overrides what another rule matched before the clock was set back', () => {
    const one = scene({ a: {}, b: { forMs: 2 * MINUTE } }, 'a', 'b');
    one.byHand('S-d1', 'FALSE');
    for (let run = 0; run < 2; run += 1) one.pass(run === 0 ? -10 * MINUTE : MINUTE).run();
    expect(one.answers()).toEqual(['d1: skip overridden', 'd1: skip overridden']);
    expect(one.pass(HOUR).run().acts).toEqual([]);
  });

  it('lifting a ban during whose call the clock was set back holds for another rule, also when the first match ends at once', () => {
    const one = scene({ a: {}, b: { forMs: 2_000 } }, 'a', 'b');
    for (const [id, intent] of one.intents)
      one.intents.set(id, { ...intent, sentAt: one.nowMs, settledAt: one.nowMs - 20_000 });
    one.byHand('S-d1', 'FALSE');
    one.sees('d1', 'no_match', 'a');
    one.ownReads = new Map();
    expect(one.pass(5_000).run().acts).toEqual([]);
    one.ownReads = undefined;
    expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.answers()).toEqual(['d1: skip overridden']);
  });

  it('banning it again after our undo failed and they lifted our ban is not undone', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match');
    one.outcomes.set('S-d1', 'failed');
    expect(one.pass(HOUR).run().acts).toMatchObject([{ draft: { action: 'unban_device' } }]);
    one.sees('d1', 'unknown');
    one.byHand('S-d1', 'FALSE');
    one.pass(HOUR).run();
    one.byHand('S-d1', 'TRUE');
    one.sees('d1', 'no_match');
    expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.openClaims()).toEqual([]);
  });

  it('is not seen in an undo that failed and was done in part: the rest is undone', () => {
    const one = new Scene(rule('a'));
    for (const id of ['d1', 'd2']) one.device(id, { serial: 'S-d1', verdicts: { a: 'match' } });
    one.run();
    one.sees('d1', 'no_match');
    one.sees('d2', 'no_match');
    one.outcomes.set('S-d1', 'failed');
    one.pass(HOUR).run();
    one.of('d1').state = 'FALSE';
    one.outcomes.clear();
    expect(one.pass(HOUR).run().acts).toMatchObject([{ draft: { action: 'unban_device' } }]);
  });

  it('lifting a ban that was theirs overrides it as well', () => {
    const one = new Scene(rule('a'));
    one.device('d1', { state: 'TRUE', verdicts: { a: 'match' } });
    one.run();
    one.byHand('S-d1', 'FALSE');
    expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.answers()).toEqual(['d1: skip overridden']);
  });

  it('lifting our ban right after it is not reversed by a rule that had adopted the ban, and is recognised after the quiet period', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.sees('d1', 'match', 'b');
    two.run();
    two.byHand('S-d1', 'FALSE');
    expect(two.pass(1_000).run().acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip already_acted', 'd1: skip in_doubt']);
    expect(two.pass(MINUTE).run().acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip overridden', 'd1: skip overridden']);
  });

  it.each([
    ['whose `for` is not reached', { forMs: 10 * MINUTE }, 'enforce'],
    ['on trial, which enforces later', { mode: 'dry-run' }, 'enforce'],
    ['that only dry runs have judged', {}, 'dry-run'],
  ] as const)('lifting our ban is not reversed by another rule %s', (_, fields, runMode) => {
    const two = scene({ a: {}, b: fields }, 'a');
    two.sees('d1', 'match', 'b');
    two.run(runMode);
    two.sees('d1', 'unknown', 'b'); // it says nothing while the reversal is seen
    two.byHand('S-d1', 'FALSE');
    two.pass(HOUR).run();
    two.sees('d1', 'match', 'b');
    two.rules = [rule('a'), rule('b')];
    expect(two.pass(HOUR).run().acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip overridden', 'd1: skip overridden']);
  });

  it('lifting our ban is not reversed by another rule that never saw the device banned', () => {
    const two = scene({ a: {}, b: { forMs: 2 * HOUR } }, 'a', 'b');
    two.byHand('S-d1', 'FALSE');
    two.pass(HOUR).run();
    expect(two.pass(2 * HOUR).run().acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip overridden', 'd1: skip overridden']);
  });

  it('lifting our ban is not reversed by another rule, although the match that it was for ended within the quiet period', () => {
    const two = scene({ a: {}, b: { forMs: 2 * HOUR } }, 'a', 'b');
    two.byHand('S-d1', 'FALSE');
    two.sees('d1', 'no_match', 'a');
    two.pass(1_000).run();
    expect(two.pass(3 * HOUR).run().acts).toEqual([]);
    expect(two.answers()).toEqual(['d1: skip overridden']);
    expect(two.openClaims()).toEqual([]);
  });

  it('lifting our ban does not hold against a match that begins later', () => {
    const two = scene({ a: {}, b: {} }, 'a');
    two.byHand('S-d1', 'FALSE');
    two.sees('d1', 'match', 'b');
    expect(two.pass(HOUR).run().acts).toMatchObject([{ draft: { basis: [{ rule: 'b' }] } }]);
  });

  it('is not our own undo: another rule that waited acts when its time has come', () => {
    const two = scene({ a: {}, b: { forMs: 10 * MINUTE } }, 'a');
    two.sees('d1', 'match', 'b');
    two.pass(MINUTE).run();
    two.sees('d1', 'no_match', 'a');
    expect(two.pass(MINUTE).run().acts).toMatchObject([{ draft: { undo: true } }]);
    two.pass(MINUTE).run();
    expect(two.pass(10 * MINUTE).run().acts).toMatchObject([{ draft: { action: 'ban_device' } }]);
  });

  it('is not concluded from a stale read right after the ban, by a rule that did not ban it either', () => {
    const two = scene({ a: {}, b: { forMs: HOUR } }, 'a', 'b');
    two.pass(1).run();
    two.byHand('S-d1', 'FALSE'); // a stale read looks the same
    two.pass(1).run();
    expect([...two.episodes.values()].map(({ overriddenAt }) => overriddenAt)).toEqual([undefined, undefined]);
  });

  it('lifting our ban and banning it themselves is not undone when the match ends', () => {
    const one = scene({ a: {} }, 'a');
    one.byHand('S-d1', 'FALSE');
    one.pass(HOUR).run();
    one.byHand('S-d1', 'TRUE');
    one.pass(HOUR).run();
    one.sees('d1', 'no_match');
    expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.of('d1').state).toBe('TRUE');
  });

  it.each(['unknown', 'no_match'] as const)(
    'lifting our ban and banning it themselves is recognised even while the verdict is %s',
    (verdict) => {
      const one = scene({ a: { clearForMs: HOUR } }, 'a');
      one.sees('d1', verdict);
      one.byHand('S-d1', 'FALSE');
      one.pass(MINUTE).run();
      one.byHand('S-d1', 'TRUE');
      one.pass(MINUTE).run();
      one.sees('d1', 'no_match');
      one.pass(MINUTE).run();
      expect(one.pass(2 * HOUR).run().acts).toEqual([]);
      expect(one.of('d1').state).toBe('TRUE');
    },
  );

  it('is not what our own unban in doubt did', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match');
    one.outcomes.set('S-d1', 'unknown');
    one.run();
    one.byHand('S-d1', 'FALSE'); // its effect, late
    one.sees('d1', 'match');
    one.pass(HOUR).run();
    expect([...one.episodes.values()].some(({ overriddenAt }) => overriddenAt !== undefined)).toBe(false);
  });

  it('lifting our ban after the match ended leaves nothing to undo', () => {
    const one = scene({ a: {} }, 'a');
    one.sees('d1', 'no_match');
    one.byHand('S-d1', 'FALSE');
    expect(one.pass(one.quietMs).run().acts).toEqual([]);
    expect(one.openClaims()).toEqual([]);
  });

  it('is not seen in a read that follows an attempt within the quiet period', () => {
    const one = scene({ a: {} }, 'a');
    one.byHand('S-d1', 'FALSE'); // a stale read looks the same
    one.pass(one.quietMs - 1).run();
    expect(one.answers()).toEqual(['d1: skip already_acted']);
    one.pass(1).run();
    expect(one.answers()).toEqual(['d1: skip overridden']);
  });

  it.each([HOUR, -HOUR])('is seen in a read right after an attempt when the clock jumps by %i ms', (ms) => {
    const one = scene({ a: {} }, 'a');
    one.byHand('S-d1', 'FALSE'); // a stale read looks the same
    one.pass(ms);
    one.jumpedAtMs = one.nowMs;
    one.run();
    expect(one.answers()).toEqual(['d1: skip already_acted']);
    one.agreedForMs = one.quietMs;
    one.pass(one.quietMs).run();
    expect(one.answers()).toEqual(['d1: skip overridden']);
  });

  it('is not concluded from a missing field', () => {
    const one = scene({ a: {} }, 'a');
    one.of('d1').state = undefined;
    one.pass(HOUR).run();
    expect(one.episodeOf('d1')?.overriddenAt).toBeUndefined();
    expect(one.openClaims()).toHaveLength(1);
  });

  it('is named in the audit with the field and both values', () => {
    const one = scene({ a: {} }, 'a');
    one.byHand('S-d1', 'FALSE');
    const note = one
      .pass(HOUR)
      .run()
      .notes.find(({ kind }) => kind === 'episode.overridden');
    expect(note?.body).toMatchObject({ target: 'S-d1', drift: { field: 'Banned', expected: 'TRUE', found: 'FALSE' } });
  });

  it('enabling a service that was disabled is left alone as well', () => {
    const one = new Scene(rule('a', { subject: 'service', does: 'disable_service' }));
    one.service('web', { verdicts: { a: 'match' } });
    one.run();
    expect(one.of('web').state).toBe('FALSE');
    one.of('web').state = 'TRUE';
    expect(one.pass(HOUR).run().acts).toEqual([]);
    expect(one.answers()).toEqual(['web: skip overridden']);
  });
});
