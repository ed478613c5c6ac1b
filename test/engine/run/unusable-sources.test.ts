// test: a source that cannot be used for a while takes nothing away: no plan that waits, no doubt that is still to be resolved.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { addExemption } from '../../../src/engine/operate/commands.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const forbidden = () => new AppError('api_forbidden', 'the server answered 403');
const unreachable = () => new AppError('api_unreachable', 'the server did not answer');
const outcomes = async () => (await on.intents()).map(({ outcome }) => outcome);

function start(rule: LoadedRule): void {
  on = startOnPlatform({ rules: [rule] });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' }, Emails: ['ann@example.com'] });
}

/** Compromised, or with errors in the event log. */
function ruleWithEvents(): LoadedRule {
  const parsed = parseRule(
    `
id: ban
title: Ban
severity: critical
subject: device
when:
  or:
    - "==": [{ var: MdmData.CompromisedStatus }, "TRUE"]
    - ">=": [{ event_count: { severity: ERROR, within: 10m } }, 5]
then: ban_device
mode: enforce
cooldown: 0s
limits: { max: 1000, percent: 100 }
tests:
  - { name: compromised, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }
`,
    'ban.yaml',
    { traits: ACTIONS },
  );
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

describe('a doubt', () => {
  it('is resolved although the server offers no event log, as its rule is judged without it', async () => {
    start(ruleWithEvents());
    on.platform.events = () => Promise.reject(forbidden());
    on.platform.answer('S-d1', 'lost');
    await on.run();
    expect(await outcomes()).toEqual(['unknown']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(await outcomes()).toEqual(['succeeded']);
  });

  it('stays a doubt while it cannot be read whether its target is exempt, and is resolved later', async () => {
    start(banRule());
    on.platform.users.set('ann@example.com', { Email: 'ann@example.com', Groups: 'staff' });
    const request = { selector: { field: 'Groups', value: 'board' }, owner: 'ops', reason: 'a test', until: '30d' };
    await addExemption(on.engine, request, 'ann');
    on.platform.answer('S-d1', 'lost');
    await on.run();
    on.clock.pass(QUIET_MS);
    const user = on.platform.user.bind(on.platform);
    let isReadable = true;
    on.platform.onRead = (what) => {
      // After the list: when the doubt is looked at.
      if (what === 'target') isReadable = false;
    };
    on.platform.user = async (email) => {
      if (!isReadable) throw unreachable();
      return user(email);
    };
    await on.run();
    expect(await outcomes()).toEqual(['unknown']);
    on.platform.onRead = () => {};
    on.platform.user = user;
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
  });
});

describe('a plan that waits', () => {
  it('is still the one to answer after a run that could not read the devices', async () => {
    start(banRule({ mode: 'approve' }));
    const { plan } = await on.run();
    on.platform.onRead = (what) => {
      if (what === 'devices') throw unreachable();
    };
    await expect(on.run()).rejects.toThrow('nothing was judged');
    expect((await on.store.plan(plan?.id ?? ''))?.status).toBe('pending');
    on.platform.onRead = () => {};
    expect((await on.run()).plan).toMatchObject({ id: plan?.id, status: 'pending' });
  });
});
