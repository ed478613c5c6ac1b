// test: the order in which the API lists subjects decides nothing: any permutation of a list gives the same decisions.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE, rule } from './builders.ts';
import { Scene } from './scene.ts';

const device = fc.record({
  serial: fc.constantFrom('S-1', 'S-2', 'S-3', 'S-4', 'S-5', 'none'),
  model: fc.constantFrom('M1', 'M1', 'M2'),
  owners: fc.option(fc.subarray(['ann@example.com', 'bob@example.com']), { nil: undefined }),
  verdicts: fc.record({
    a: fc.constantFrom('match', 'match', 'no_match', 'unknown' as const),
    b: fc.constantFrom('match', 'no_match' as const),
  }),
});

const world = fc.record({
  devices: fc.array(device, { minLength: 2, maxLength: 8 }),
  ceiling: fc.constantFrom(1, 2, 50),
  ending: fc.array(fc.nat(7), { maxLength: 4 }),
  untrusted: fc.boolean(),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

/** Three rounds over devices that are listed in this order. */
function played({ devices, ceiling, ending, untrusted }: World, order: readonly number[]): unknown[] {
  const scene = new Scene(rule('a'), rule('b', { severity: 'low', does: 'delete_device' }));
  scene.ceilings = { run: { max: ceiling, percent: 0 }, day: { max: ceiling + 1, percent: 0 } };
  for (const index of order) scene.device(`d${index}`, structuredClone(devices[index]));
  const rounds = [scene.run()];
  for (const index of ending) if (index < devices.length) scene.sees(`d${index}`, 'no_match', 'a');
  if (untrusted) scene.untrusted();
  rounds.push(scene.pass(MINUTE).run());
  scene.trustedAgain();
  rounds.push(scene.pass(MINUTE).run());
  return rounds;
}

describe('the order of a list', () => {
  it('changes nothing of what is decided, whatever the permutation', () => {
    const both = world.chain((made) => {
      const listed = made.devices.map((_, index) => index);
      return fc.tuple(
        fc.constant(made),
        fc.shuffledSubarray(listed, { minLength: listed.length, maxLength: listed.length }),
      );
    });
    fc.assert(
      fc.property(both, ([made, order]) => {
        expect(played(made, order)).toEqual(
          played(
            made,
            made.devices.map((_, index) => index),
          ),
        );
      }),
      { numRuns: 300 },
    );
  });
});
