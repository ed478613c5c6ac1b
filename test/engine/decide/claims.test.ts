// test: claims: who keeps a target banned, when it is undone, and who takes over.
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
