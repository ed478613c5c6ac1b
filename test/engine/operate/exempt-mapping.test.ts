// test: a rule about users leaves an exempt device of a user alone, and a dry run, a live one and explain agree on it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { addExemption, type ExemptionRequest } from '../../../src/engine/operate/commands.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const ANN = 'ann@example.com';
const BOB = 'bob@example.com';

/** It reads no device. Its SerialNumbers make them known. */
function leaverRule(): LoadedRule {
  const parsed = parseRule(
    `
id: leaver
subject: user
when: { and: [{ "==": [{ var: Email }, ${ANN}] }, { "!!": { var: SerialNumbers } }] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
`,
    'leaver.yaml',
    { traits: ACTIONS },
  );
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

let on: OnPlatform;
let rule: LoadedRule;

beforeEach(() => {
  rule = leaverRule();
  on = startOnPlatform({ rules: [rule] });
  on.platform.addDevice('d1', { Emails: [ANN, BOB] });
  on.platform.addDevice('d2', { Emails: [ANN] });
  for (const [Email, Name, Groups] of [
    [ANN, 'Ann', 'Leavers'],
    [BOB, 'Bob', 'Board'],
  ] as const)
    on.platform.users.set(Email, { Email, Name, Groups, SerialNumbers: Email === ANN ? ['S-d1', 'S-d2'] : ['S-d1'] });
});
afterEach(() => on.close());

async function explained(): Promise<string[][]> {
  const { api, clock, ids, actions, quiet, daemonMode, settings, store } = on.engine;
  const deps = {
    api,
    clock,
    ids,
    actions,
    quiet,
    daemonMode,
    reader: store,
    rules: [rule],
    settings: { ...settings, ...settings.decide },
  };
  const { decisions } = await explainSubject(deps as unknown as ExplainDeps, rule.id, ANN);
  return decisions.map(({ target, reason }) => [target, reason]);
}

async function decided(mode: 'dry-run' | 'enforce'): Promise<string[][]> {
  return (await on.run(mode)).decisions.map(({ target, reason }) => [target, reason]).sort();
}

const exempt = (about: Pick<ExemptionRequest, 'subject' | 'selector'>) =>
  addExemption(on.engine, { ...about, unseen: true, owner: 'Ana', reason: 'on a ship', until: '30d' }, 'ann');

describe('a device of a user whose devices are to be deleted', () => {
  it.each([
    ['by its serial number', { selector: { field: 'SerialNumber', value: 'S-d1' } }],
    ['by its id', { subject: { kind: 'device', id: 'd1' } }],
    ['by another owner of it', { subject: { kind: 'user', id: BOB } }],
    ['by a group of another owner', { selector: { field: 'Groups', value: 'Board' } }],
  ])('that is exempt %s is left alone, and the other is not', async (_, about) => {
    await exempt(about);
    const expected = [
      [`S-d1 ${ANN}`, 'exempt'],
      [`S-d2 ${ANN}`, 'approval_needed'],
    ];
    expect(await decided('dry-run')).toEqual(expected);
    expect(await decided('enforce')).toEqual(expected);
    expect(await explained()).toEqual(expected);
  });

  it('is read with its owners even without exemptions: they decide whether it is deleted', async () => {
    const { run } = await on.run();
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ state: 'read', form: 'unpaged' });
  });
});
