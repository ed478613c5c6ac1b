// test: the questions that need all matches of a run together: conflicts, limits, owners, ceilings, and what is merged.
import { describe, expect, it } from 'vitest';
import { rule } from './builders.ts';
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
      reasonText: 'it would be held: rule a wants disable_service for the same target',
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
      { reason: 'conflict', reasonText: 'rule a holds a claim (disable_service) on the same target' },
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
      const text = "it would be held: 3 targets at once cross the rule's limit (max 1)";
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
