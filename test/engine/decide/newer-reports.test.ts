// test: undoing asks for better evidence than acting did: a report that is newer than the one that acted, or a second reading.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, rule, T0 } from './builders.ts';
import { Scene } from './scene.ts';

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
