// scenario: the API refuses calls (403) although it answers reads: it is shown until it is done, and nothing waits for a cooldown.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

let org: Organization;

beforeEach(async () => {
  const ban = BAN_COMPROMISED.replace('cooldown: 0s', 'cooldown: 6h');
  org = await startOrganization({ devices: 60, compromised: 1, rules: { ban } });
  org.console.faults?.set([{ kind: 'error', status: 403, match: { method: 'POST' } }]);
  await org.composition.close();
});
afterEach(() => org.close());

const run = () => command(['run', '--mode', 'enforce'], org.env);

it('a refused ban is listed, a warning of the doctor, and done by the next run that the API accepts', async () => {
  expect(await run()).toMatchObject({ code: 3 });
  const listed = await command(['intents', 'list', '--format', 'json'], org.env);
  expect(JSON.parse(listed.out).intents).toMatchObject([
    { action: 'ban_device', outcome: 'failed', attempts: 0, refusals: 1, note: expect.stringContaining('status 403') },
  ]);
  const doctor = await command(['doctor'], org.env);
  expect(doctor.out).toMatch(/warning +intents +1 to resolve: ban_device \S+ \(failed\)/);
  org.console.faults?.clear();
  expect(await run()).toMatchObject({ code: 0 });
  expect(org.effects('device_banned')).toHaveLength(1);
  expect((await command(['intents', 'list'], org.env)).out).toBe('no intents\n');
  expect((await command(['doctor'], org.env)).out).not.toContain('intents');
});

it('a ban that is refused again and again ends its runs with 3, waits, and is tried at once when a person says so', async () => {
  await run();
  await run();
  const waiting = await run();
  expect(waiting.code).toBe(3);
  expect(waiting.out).toContain('the server refused it 2 times in a row,');
  org.console.faults?.clear();
  expect((await run()).code).toBe(3);
  expect(org.effects('device_banned')).toEqual([]);
  const { intents } = JSON.parse((await command(['intents', 'list', '--format', 'json'], org.env)).out);
  const resolved = ['intents', 'resolve', intents[0].id, '--as', 'retry', '--reason', 'the role was corrected'];
  expect(await command(resolved, org.env)).toMatchObject({ code: 0 });
  await run();
  expect(org.effects('device_banned')).toHaveLength(1);
  expect((await run()).code).toBe(0);
});

it('another API key is tried at once', async () => {
  for (let runs = 0; runs < 3; runs += 1) await run();
  org.console.faults?.clear();
  const secret = org.console.issueApiKey('the next one', 'Admin');
  const other = await command(['run', '--mode', 'enforce'], { ...org.env, TRUSTWARD_API_KEY: secret });
  expect(other.code).toBe(0);
  expect(org.effects('device_banned')).toHaveLength(1);
});
