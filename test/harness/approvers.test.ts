// harness: over random walks no plan is approved and no call is sent without the people that the file asks for; planted bugs are found.
// APPROVER_WALKS=500 is the long form: 100,000 steps.
import { expect, it } from 'vitest';
import { type ApproverFigures, sumOf, walkApprovers } from './approvers.ts';

const WALKS = Number(process.env.APPROVER_WALKS ?? 5);
const SEED = Number(process.env.APPROVER_SEED ?? 1);

it('nothing is approved or called without the people that it needs', { timeout: 3_600_000 }, async () => {
  const all: ApproverFigures[] = [];
  for (let walk = 0; walk < WALKS; walk += 1) all.push(await walkApprovers(SEED + walk, 200));
  const { violations, ...figures } = sumOf(all);
  process.stdout.write(`${JSON.stringify(figures)}, violations ${violations.length}\n`);
  expect(violations).toEqual([]);
  expect(figures.calls).toBeGreaterThan(WALKS);
});

it.each(['nobody_is_the_same', 'the_row_is_counted', 'owners_are_forgotten'] as const)(
  'the planted bug %s is found',
  async (bug) => {
    for (let seed = 1; seed <= 20; seed += 1) if ((await walkApprovers(seed, 200, bug)).violations.length > 0) return;
    expect.fail('20 walks did not find it');
  },
);
