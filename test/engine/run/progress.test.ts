// run: how far a run shows to be. In: a whole run with a port that keeps each step. Out: tests; nothing of a run rests on it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProgressStep } from '../../../src/domain/replay.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
const steps: ProgressStep[] = [];

beforeAll(async () => {
  org = await startOrganization({ devices: 40, compromised: 2, rules: { ban: BAN_COMPROMISED } });
  org.composition.engine.progress = (step) => steps.push(step);
  await org.run('enforce');
});
afterAll(() => org.close());

it('a run shows each of its phases in order', () => {
  const phases = steps.map(({ phase }) => phase);
  const changes = phases.filter((phase, index) => phase !== phases[index - 1]);
  expect(changes).toEqual(['reading', 'deciding', 'recording', 'acting', 'settling doubts', 'sealing the audit']);
});

it('a run shows the records of each source, up to the last one', () => {
  const devices = steps.filter(({ what }) => what === 'devices').map(({ done }) => done);
  expect([devices[0], devices.at(-1)]).toEqual([0, 40]);
});

it('a run shows each action before it is attempted, with how many of all are over', async () => {
  const acting = steps.filter(({ phase }) => phase === 'acting');
  const targets = (await org.composition.engine.store.intents({}))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ target }) => `ban_device ${target}`);
  expect(targets).toHaveLength(2);
  expect(acting).toEqual(targets.map((what) => ({ phase: 'acting', what, done: 0, total: 2 }))); // both at once
});
