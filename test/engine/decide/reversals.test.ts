// test: what a person did: seen, named in the audit, and left alone; and what only looks like it.
import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, rule } from './builders.ts';
import { Scene } from './scene.ts';

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
