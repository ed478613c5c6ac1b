// scenario: a rule of mode dry-run that would be held: nothing of it waits for a person, in any run.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

let org: Organization;

beforeEach(async () => {
  const ban = BAN_COMPROMISED.replace('mode: enforce', 'mode: dry-run\nlimits: { max: 2, percent: 100 }');
  org = await startOrganization({ devices: 60, compromised: 5, rules: { ban } });
});
afterEach(() => org.close());

it.each(['dry-run', 'enforce'])('beyond its limits is only reported by a run of mode %s', async (mode) => {
  await org.composition.close();
  const { code, out } = await command(['run', '--mode', mode, '--format', 'json'], org.env);
  expect(code).toBe(0);
  const { summary, plan, decisions } = JSON.parse(out);
  expect(summary).toMatchObject({ act: 5, hold: 0, dry_run: 5 });
  expect(plan).toMatchObject({ id: null, intents: 0 });
  expect(decisions[0]).toMatchObject({ decision: 'act', reason: 'limits', outcome: 'dry_run' });
  expect(decisions[0].reasonText).toBe("it would be held: 5 targets at once cross the rule's limit (max 2)");
  const text = (await command(['report'], org.env)).out.replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    '5 matches of rules in mode dry-run are only reported; 5 would be held if the rule were live.',
  );
  expect(text).toContain('0 held for a person');
});
