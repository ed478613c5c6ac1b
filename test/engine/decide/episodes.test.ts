// test: episodes: what opens, freezes, clears and closes them, and what each does to acting and undoing.
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
