// test: facts of a deletion that the server does not show are reported as not known, in dry runs, live ones and explain
// alike; facts that were known at the approval and no longer are refuse it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const ANN = 'ann@example.com';
const BOB = 'bob@example.com';

function deleting(): LoadedRule {
  const text = `
id: lost
subject: device
when: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }
then: delete_device
mode: enforce
limits: { max: 100, percent: 100 }
tests: [{ name: lost, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }]
`;
  const parsed = parseRule(text, 'lost.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

let on: OnPlatform;
let rule: LoadedRule;
beforeEach(() => {
  rule = deleting();
  on = startOnPlatform({ rules: [rule] });
});
afterEach(() => on.close());

function lost(id: string, owners: string[] | null): void {
  on.platform.addDevice(id, { Emails: owners, MdmData: { CompromisedStatus: 'TRUE' } });
}

function user(email: string, serials: string[]): void {
  on.platform.users.set(email, { Email: email, Name: email, Groups: '', SerialNumbers: serials });
}

async function explained(id: string) {
  const { engine } = on;
  const { settings, store } = engine;
  const deps = { ...engine, reader: store, rules: [rule], settings: { ...settings, ...settings.decide } };
  return explainSubject(deps as unknown as ExplainDeps, rule.id, id);
}

describe('the deletion of a device', () => {
  it('with unknown owners shows that, and does not depend on them', async () => {
    lost('d1', null);
    const { plan } = await on.run();
    const [planned] = plan?.intents ?? [];
    expect(planned?.effect).toMatchObject({
      deletion: { devices: ['d1'], owners: null, certificates: null, users: null },
      text: expect.stringContaining('owners not known'),
    });
    on.platform.patch('d1', { Emails: [ANN] });
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['delete S-d1']);
  });

  it('is described alike in a dry run, a live one and explain', async () => {
    lost('d1', [ANN, BOB]);
    on.platform.addDevice('d2', { Emails: [BOB] });
    user(ANN, ['S-d1']);
    user(BOB, ['S-d1', 'S-d2']);
    const effects = [await on.run('dry-run'), await on.run()].map(({ plan }) => plan?.intents[0]?.effect);
    const deletion = { devices: ['d1'], owners: [ANN, BOB], certificates: 2, users: [ANN] };
    expect(effects).toMatchObject([{ deletion }, { deletion }]);
    const { decisions, recorded } = await explained('d1');
    expect(recorded.decisions.map(({ effect }) => effect)).toEqual([effects[1]]);
    // Who is left without a device takes the whole list.
    expect(decisions).toMatchObject([{ effect: { deletion: { ...deletion, users: null } } }]);
  });

  it('counts with the others of its plan: a user who loses one device by each is left without any', async () => {
    for (const id of ['d1', 'd2']) lost(id, [ANN]);
    user(ANN, ['S-d1', 'S-d2']);
    const { plan } = await on.run();
    expect(plan?.intents.map(({ effect }) => effect.deletion?.users)).toEqual([[ANN], [ANN]]);
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.effects).toEqual(['delete S-d1', 'delete S-d2']);
  });

  it('is refused when the users who would be deleted with it are no longer known', async () => {
    lost('d1', [ANN]);
    on.platform.addDevice('d2', { Emails: [ANN] });
    user(ANN, ['S-d1', 'S-d2']);
    const { plan } = await on.run();
    await on.approve(plan);
    on.platform.user = async () => {
      throw new AppError('api_forbidden', 'users are not for this credential');
    };
    const { intents } = await on.apply(plan);
    expect(intents).toMatchObject([
      { status: 'withdrawn', note: expect.stringContaining('the server no longer reports it') },
    ]);
    expect(on.platform.sent).toEqual([]);
  });
});
