// scenario: a rule that loops over more than it may, beside an ordinary one: its verdict is `error`, and the other rule is acted on.
import { afterEach, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const LOOPING = `
id: looping
title: Loop over every role
severity: low
subject: device
when: { some: [{ var: Tags }, { "==": [{ var: "" }, "x"] }] }
then: notify
mode: enforce
declares: { Tags: texts }
tests:
  - { name: one, given: { Tags: [x] }, expect: match }
`;

let org: Organization;
afterEach(() => org.close());

it('a pathological rule errs alone, and the run goes on', async () => {
  org = await startOrganization({ devices: 40, rules: { ban: BAN_COMPROMISED, looping: LOOPING } });
  org.console.fleet.addDevice({ serial: 'BAD-1', mdm_compromised: 'TRUE' });
  const { engine } = org.composition;
  const { stream } = engine.api;
  engine.api.stream = async function* (source, ...more) {
    for await (const batch of stream.call(engine.api, source, ...more))
      yield batch.map((record) => ({ ...(record as Facts), Tags: new Array<string>(200_000).fill('y') }));
  };
  const { run, of } = await org.run('enforce');
  expect(run.status).toBe('completed');
  expect(run.findings?.tallies).toMatchObject([
    { rule: 'ban-compromised-device', match: 1 },
    { rule: 'looping', match: 0, error: 41 },
  ]);
  expect(of('act').map(({ target, rule }) => [rule, target])).toEqual([['ban-compromised-device', 'BAD-1']]);
  expect(org.effects('device_banned')).toHaveLength(1);
});
