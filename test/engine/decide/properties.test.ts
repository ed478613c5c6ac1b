// test: properties of deciding over random rules, fleets and histories, played through many rounds. The checks know nothing of
// how decide works: they look at what was seen, who did what last, and what the rules say.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptsAllowed, share } from '../../../src/domain/action.ts';
import type { Mode, Rule } from '../../../src/domain/rule.ts';
import { HOUR, MINUTE, rule } from './builders.ts';
import { Scene } from './scene.ts';

const RULES = ['a', 'b'];
// Few of each, so that histories meet: chance then finds what a person would have to think of.
const DEVICES = ['d1', 'd2', 'd3', 'd4'];
const SERIALS = ['SN-1', 'SN-1', 'SN-2', 'none'];

const someRule = fc.record({
  mode: fc.constantFrom<Mode>('enforce', 'enforce', 'enforce', 'enforce', 'approve', 'dry-run'),
  forMs: fc.constantFrom(0, 0, 0, 5 * MINUTE),
  clearForMs: fc.constantFrom(0, 0, 5 * MINUTE),
  cooldownMs: fc.constantFrom(0, 0, HOUR),
  revert: fc.constantFrom(true, true, true, true, false),
  owners: fc.constantFrom<Rule['owners']>('one', 'all'),
  limits: fc.constantFrom(
    { max: 1_000, percent: 100 },
    { max: 1_000, percent: 100 },
    { max: 1, percent: 100 },
    { max: 1_000, percent: 20 },
  ),
});

const step = fc.record({
  passMs: fc.constantFrom(MINUTE, 5 * MINUTE, HOUR, 25 * HOUR),
  verdicts: fc.array(
    fc.tuple(
      fc.constantFrom(...DEVICES),
      fc.constantFrom(...RULES),
      fc.constantFrom('match', 'match', 'match', 'no_match', 'no_match', 'unknown', 'error' as const),
    ),
    { maxLength: 6 },
  ),
  hands: fc.array(fc.tuple(fc.constantFrom('SN-1', 'SN-2'), fc.constantFrom('TRUE', 'FALSE')), {
    maxLength: 1,
  }),
  absent: fc.option(fc.constantFrom(...DEVICES), { freq: 6 }),
  untrusted: fc.boolean(),
  mode: fc.constantFrom<Mode>('enforce', 'enforce', 'enforce', 'approve', 'dry-run'),
  missingRule: fc.option(fc.constantFrom(...RULES), { freq: 6 }),
  outcome: fc.constantFrom(
    'succeeded',
    'succeeded',
    'succeeded',
    'succeeded',
    'succeeded',
    'failed',
    'unknown' as const,
  ),
});

const history = fc.record({
  rules: fc.array(someRule, { minLength: 1, maxLength: 2 }),
  owned: fc.boolean(),
  ceiling: fc.constantFrom(1, 50, 50, 50),
  steps: fc.array(fc.tuple(step, fc.nat(3)), { minLength: 4, maxLength: 24, size: 'max' }),
});

type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** Plays a history; `check` is called in every round before anything is done. */
function play({ rules, owned, ceiling, steps }: History, check: (round: Round) => void): Scene {
  const all = rules.map((fields, index) => rule(RULES[index] as string, fields));
  const scene = new Scene(...all);
  scene.ceilings = { run: { max: ceiling, percent: 0 }, day: { max: ceiling * 2, percent: 0 } };
  for (const [index, id] of DEVICES.entries()) {
    scene.device(id, {
      serial: SERIALS[index] as string,
      owners: owned && index > 0 ? ['ann@example.com'] : undefined,
    });
  }
  const lastSet: Round['lastSet'] = new Map();
  for (const [now, trust] of steps) {
    scene.pass(now.passMs);
    for (const [device, id, verdict] of now.verdicts) scene.sees(device, verdict, id);
    for (const id of DEVICES) scene.of(id).present = id !== now.absent;
    if (now.untrusted && trust === 0) scene.untrusted();
    else scene.trustedAgain();
    for (const [serial, state] of now.hands) scene.byHand(serial, state);
    noticeReversals(scene, lastSet);
    scene.rules = all.filter(({ id }) => id !== now.missingRule);
    scene.outcomes.clear();
    for (const serial of SERIALS) scene.outcomes.set(serial, now.outcome);
    const round: Round = { scene, mode: now.mode, lastSet };
    check(round);
    const { acts } = scene.run(now.mode);
    for (const { mode, draft } of acts) {
      if (mode === 'dry-run' || now.outcome !== 'succeeded') continue;
      lastSet.set(draft.target, draft.action === 'ban_device' ? 'TRUE' : 'FALSE');
    }
  }
  return scene;
}

/** What nobody could see, such as a change and its reverse between two looks, is nobody's fault. */
function noticeReversals(scene: Scene, lastSet: Round['lastSet']): void {
  if (scene.readings.devices) return;
  for (const [serial, state] of lastSet) {
    const devices = [...scene.subjects.values()].filter((one) => one.serial === serial);
    if (devices.every((one) => one.present && one.state !== state)) lastSet.delete(serial);
  }
}

interface Round {
  scene: Scene;
  mode: Mode;
  /** By serial number, the state that we set last; gone once a trusted look at all its devices shows another one. */
  lastSet: Map<string, string>;
}

function seen({ scene }: Round, subjectId: string, ruleId: string): string {
  const { present, verdicts } = scene.of(subjectId);
  if (scene.readings.devices) return 'untrusted';
  return present ? (verdicts[ruleId] ?? 'no_match') : 'absent';
}

function always(title: string, check: (given: History) => void): void {
  it(title, () => fc.assert(fc.property(history, check), { numRuns: 200 }));
}

describe('deciding', () => {
  always('acts on nothing but a trusted match of a rule whose mode allows it', (given) => {
    play(given, (round) => {
      for (const { draft, mode } of round.scene.decide(round.mode).acts) {
        if (draft.undo) continue;
        expect(draft.target).not.toBe('none');
        for (const { rule: id, subjectId } of draft.basis) {
          expect(seen(round, subjectId, id)).toBe('match');
          const own = round.scene.rules.find((one) => one.id === id)?.mode;
          if (mode !== 'dry-run') expect(own).toBe('enforce');
        }
      }
    });
  });

  always('undoes nothing that another claim still needs, or whose match is not seen over', (given) => {
    play(given, (round) => {
      for (const { draft } of round.scene.decide(round.mode).acts.filter((act) => act.draft.undo)) {
        const claims = [...round.scene.claims.values()].filter(
          ({ target, status }) => target === draft.target && (status === 'standing' || status === 'orphaned'),
        );
        expect(claims.length).toBeGreaterThan(0);
        for (const claim of claims) {
          expect(round.scene.rules.find(({ id }) => id === claim.rule)?.revert).toBe(true);
          expect(['no_match', 'absent']).toContain(seen(round, claim.subjectId, claim.rule));
        }
        for (const { rule: id, subjectId } of draft.basis) expect(seen(round, subjectId, id)).toBe('no_match');
      }
    });
  });

  always('undoes nothing that a person did', (given) => {
    play(given, (round) => {
      for (const { draft, mode } of round.scene.decide(round.mode).acts) {
        if (draft.undo && mode !== 'dry-run') expect(round.lastSet.get(draft.target)).toBe('TRUE');
      }
    });
  });

  always('keeps limits and ceilings', (given) => {
    play(given, (round) => {
      const { scene, mode } = round;
      const acts = scene.decide(mode).acts.filter((act) => act.mode !== 'dry-run');
      const present = DEVICES.filter((id) => scene.of(id).present).length;
      for (const { id, limits } of scene.rules) {
        const own = acts.filter(({ draft }) => !draft.undo && draft.basis.some((basis) => basis.rule === id));
        expect(own.length).toBeLessThanOrEqual(Math.min(limits.max, share(limits.percent, present)));
      }
      for (const action of ['ban_device', 'unban_device'] as const) {
        const lastDay = scene.attempts.filter(
          (one) => one.action === action && one.at >= scene.nowMs - 24 * HOUR,
        ).length;
        const allowed = attemptsAllowed(scene.ceilings, { subjects: present, thisRun: 0, lastDay });
        expect(acts.filter(({ draft }) => draft.action === action).length).toBeLessThanOrEqual(allowed);
      }
    });
  });

  always('shows in a dry run what a live run does', (given) => {
    const said = (scene: Scene, mode: Mode) =>
      scene
        .decide(mode)
        .acts.filter(({ draft }) =>
          draft.basis.every(({ rule: id }) => scene.rules.find((one) => one.id === id)?.mode === 'enforce'),
        )
        .map(({ draft }) => [
          draft.action,
          draft.target,
          draft.basis.map(({ rule: id, subjectId }) => [id, subjectId]),
        ]);
    play(given, ({ scene }) => expect(said(scene, 'dry-run')).toEqual(said(scene, 'enforce')));
  });

  always('sends nothing to a target while a call to it is in doubt', (given) => {
    play(given, ({ scene, mode }) => {
      const doubtful = new Set(
        [...scene.intents.values()].filter(({ outcome }) => outcome === 'unknown').map(({ target }) => target),
      );
      const open = scene.decide(mode).acts.filter((act) => act.mode !== 'dry-run' && doubtful.has(act.draft.target));
      expect(open).toEqual([]);
    });
  });

  always('writes nothing new when nothing changed', (given) => {
    const scene = play(given, () => {});
    scene.outcomes.clear();
    for (let round = 0; round < 3; round += 1) scene.run();
    expect(scene.run()).toMatchObject({ decisions: [], episodes: [], claims: [], ended: [] });
  });
});
