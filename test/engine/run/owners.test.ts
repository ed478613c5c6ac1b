// test: acting on devices: their owners, and a user's devices, are known even when no rule's condition reads them.
import { afterEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

function leaverRule(more = ''): LoadedRule {
  const text = `
id: leaver
title: Delete the devices of a leaver
severity: high
subject: user
when: { "==": [{ var: Email }, ann@example.com] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
${more}
tests: [{ name: left, given: { Email: ann@example.com }, expect: match }]
`;
  const parsed = parseRule(text, 'leaver.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

function withDevices(...rules: LoadedRule[]): OnPlatform {
  const started = startOnPlatform({ rules });
  for (const id of ['d1', 'd2'])
    started.platform.addDevice(id, { Emails: ['ann@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
  started.platform.addDevice('d3', { Emails: ['bob@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
  return started;
}

async function devicesForm(): Promise<string | undefined> {
  return (await on.run('dry-run')).run.findings?.snapshot.sources.devices.form;
}

describe('a ban', () => {
  it('does not affect two devices of one owner in one run, whatever the conditions of the rules read', async () => {
    on = withDevices(banRule());
    const { decisions } = await on.run();
    expect(on.platform.effects).toEqual(['ban S-d3']);
    expect(decisions.filter(({ reason }) => reason === 'owners').map(({ target }) => target)).toEqual(['S-d1', 'S-d2']);
  });

  it('by two rules, one with `owners: all`, does not affect two of one owner by the other', async () => {
    on = withDevices(banRule({ id: 'all', more: 'owners: all' }), banRule({ id: 'one', field: 'Other' }));
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
    on.platform.patch('d2', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'ban S-d3']);
  });

  it.each([
    ['owners: one', 'unpaged'],
    ['owners: all', 'paged'],
  ])('with `%s` reads the %s list of devices', async (more, form) => {
    on = withDevices(banRule({ more }));
    expect(await devicesForm()).toBe(form);
  });

  it('in a rule set without effects on devices needs only pages', async () => {
    on = withDevices(banRule({ does: 'notify' }));
    expect(await devicesForm()).toBe('paged');
  });
});

describe('a user', () => {
  function ann(fields: Record<string, string[] | null>): void {
    on.platform.users.set('ann@example.com', { Email: 'ann@example.com', Name: 'Ann', Groups: '', ...fields });
    on.platform.users.set('bob@example.com', {
      Email: 'bob@example.com',
      Name: 'Bob',
      Groups: '',
      SerialNumbers: ['S-d3'],
    });
  }

  it('whose devices are to be deleted loses each of them, whatever the condition reads', async () => {
    on = withDevices(leaverRule());
    ann({ SerialNumbers: ['S-d1', 'S-d2'] });
    const { decisions, plan } = await on.run();
    expect(decisions.map(({ target, reason }) => [target, reason])).toEqual([
      ['S-d1 ann@example.com', 'approval_needed'],
      ['S-d2 ann@example.com', 'approval_needed'],
    ]);
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['delete S-d1 ann@example.com', 'delete S-d2 ann@example.com']);
    expect((await on.run()).decisions).toMatchObject([{ target: 'ann@example.com', reason: 'already_so' }]);
  });

  it.each([
    [{ SerialNumbers: [] }, 'already_so', 'the user has no device left'],
    [{}, 'impossible_target', 'the server does not report which devices the user has'],
    [{ SerialNumbers: null }, 'impossible_target', 'the server does not report which devices the user has'],
  ])('with devices %o is reported with its reason, not skipped silently', async (fields, reason, reasonText) => {
    on = withDevices(leaverRule());
    ann(fields);
    const { decisions, plan } = await on.run();
    expect(decisions).toMatchObject([
      {
        decision: 'skip',
        reason,
        reasonText,
        target: 'ann@example.com',
        effect: { text: 'delete the devices of ann@example.com: none is known' },
      },
    ]);
    expect(plan).toBeUndefined();
  });
});
