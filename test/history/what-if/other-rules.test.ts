// test: rules B replayed over what a life by rules A recorded do what a life by rules B did, or the replay says why it cannot know.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compare, noFigures, world } from './other-rules.ts';

type World = Parameters<typeof compare>[0];
type Round = World['rounds'][number];
type Change = Round['changes'][number];

const QUIET: Round = { changes: [], lacks: null, isOut: false, minutes: 1 };
const OUT: Round = { ...QUIET, isOut: true };
const BANS: World['a'] = { revert: true, for: '0s', clear_for: '0s', cooldown: '0s', owners: 'one', notice: '' };
const turned = (field: Change['field'], value: Change['value'], ...ids: string[]): Change => ({ ids, field, value });

test.each<[string, World['rounds'], World['a']]>([
  [
    'a device that only a list showed which the recorded run did not trust is acted on, and stays so when it is seen again',
    [
      { ...QUIET, lacks: 'd5', changes: [turned('CompromisedStatus', 'TRUE', 'd6', 'd7', 'd8')] },
      { ...QUIET, changes: [turned('CompromisedStatus', 'FALSE', 'd6', 'd7', 'd8'), turned('Other', 'TRUE', 'd5')] },
      QUIET,
      { ...QUIET, changes: [turned('CompromisedStatus', 'TRUE', 'd6', 'd7', 'd8')] },
      ...[QUIET, QUIET],
    ],
    BANS,
  ],
  [
    'a recorded ban that only a list showed which was not trusted is no state of a device that comes back',
    [
      { ...OUT, changes: [turned('CompromisedStatus', 'TRUE', 'd3', 'd8')] },
      { ...QUIET, minutes: 90 },
      { ...QUIET, lacks: 'd1', changes: [turned('CompromisedStatus', 'TRUE', 'd4')] },
      { ...QUIET, changes: [turned('CompromisedStatus', 'FALSE', 'd1', 'd3', 'd5', 'd8')] },
      { ...QUIET, lacks: 'd3' },
      ...Array(8).fill(OUT),
      { ...OUT, changes: [turned('Other', 'TRUE', 'd3')] },
      ...[OUT, QUIET],
    ],
    { ...BANS, for: '20m' },
  ],
])('%s', async (_, rounds, a) => {
  const figures = noFigures();
  await compare({ rounds, a, b: BANS, mode: 'enforce' }, figures);
  expect(figures.acts).toBe(1);
});

test('what the other rules did in a life of their own, one for one', async () => {
  const figures = noFigures();
  await fc.assert(
    fc.asyncProperty(world, (given) => compare(given, figures)),
    { numRuns: 5 },
  );
  expect(figures.acts).toBeGreaterThan(5);
  expect(figures.untrusted).toBeGreaterThan(0);
}, 120_000);
