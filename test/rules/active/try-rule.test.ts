// test: a changed rule over the present fleet: what it would match and do, compared with the rule in force, and that nothing is kept.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { changedRule, type TrialEngine, tryRule } from '../../../src/engine/run/try-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const RULE = banRule();
const OTHER = banRule({ id: 'other', field: 'Other' });
const WIDER = RULE.text.replace(
  '{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }',
  '{ "or": [{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }, { "==": [{ var: Model }, "old"] }] }',
);

let on: OnPlatform;
beforeEach(() => {
  on = startOnPlatform({ rules: [RULE, OTHER] });
  on.platform.addDevice('bad', { MdmData: { CompromisedStatus: 'TRUE' } });
  on.platform.addDevice('old', { Model: 'old', Emails: ['ana@example.com'] });
  on.platform.addDevice('good');
  on.platform.addDevice('silent', { MdmData: { CompromisedStatus: null } });
});
afterEach(() => on.close());

async function tried(text: string) {
  const { store, ...rest } = on.engine;
  const engine: TrialEngine = { ...rest, reader: store };
  const loaded = [RULE, OTHER];
  return tryRule(engine, loaded, changedRule(loaded, RULE.id, text, engine.actions, new Map()));
}

describe('a changed rule', () => {
  it('shows whom it matches now and did not before, with what would be decided, why, and the facts', async () => {
    const result = await tried(WIDER);
    expect(result).toMatchObject({
      before: { match: 1, unknown: 1, act: 1, hold: 0 },
      after: { match: 2, act: 2 },
      addedTotal: 1,
      gone: [],
      same: 1,
      untrusted: [],
    });
    expect(result.added).toMatchObject([
      {
        kind: 'device',
        id: 'old',
        name: 'device old',
        serial: 'S-old',
        owners: ['ana@example.com'],
        decided: [{ action: 'ban_device', target: 'S-old', decision: 'act', reason: 'rule_matches' }],
        was: [],
        facts: { Model: 'old' },
      },
    ]);
    expect(result.unknownBy).toEqual({ 'MdmData.CompromisedStatus': 1 });
  });

  it('shows whom it no longer matches; nothing dates what it reads now, so an undo waits for a second reading', async () => {
    await on.run('enforce');
    const narrower = '{ "==": [{ var: Model }, "old"] }';
    const result = await tried(RULE.text.replace('{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }', narrower));
    expect(result).toMatchObject({ addedTotal: 1, goneTotal: 1, same: 0, after: { match: 1 } });
    expect(result.gone).toMatchObject([
      {
        id: 'bad',
        was: [{ action: 'ban_device', decision: 'skip' }],
        decided: [],
      },
    ]);
  });

  it('counts what waits for its time among those that are skipped', async () => {
    const text = RULE.text.replace('mode: enforce', 'mode: enforce\nfor: 3d');
    expect(await tried(text)).toMatchObject({ after: { match: 1, act: 0, skip: 1, waits: 1 } });
  });

  it('counts nothing for mode `off`, and is compared with a rule that is off', async () => {
    expect(await tried(RULE.text.replace('mode: enforce', 'mode: off'))).toMatchObject({
      after: { match: 0, act: 0 },
      goneTotal: 1,
    });
  });

  it.each([false, true])('writes nothing and sends nothing; stopped: %s', async (stopped) => {
    await on.run('dry-run');
    if (stopped) await stopEverything(on.engine, { by: 'ana', reason: 'a drill' });
    const state = async () => ({
      head: await on.store.auditHead(),
      runs: await on.store.runs(10),
      decisions: await on.store.decisions({ limit: 100 }),
      coverage: await on.store.coverage(),
      baseline: await on.store.baseline('devices'),
    });
    const before = await state();
    await tried(WIDER);
    expect(await state()).toEqual(before);
    expect(on.platform.sent).toEqual([]);
  });

  it('is refused as at loading, by line and column, and with another id', async () => {
    const misspelt = RULE.text.replace('MdmData.CompromisedStatus', 'MdmData.CompromisedStatu');
    await expect(tried(misspelt)).rejects.toMatchObject({
      code: 'rules',
      message: expect.stringMatching(/^ban\.yaml:6:\d+: .*MdmData\.CompromisedStatus/),
    });
    await expect(tried(RULE.text.replace('id: ban', 'id: bans'))).rejects.toMatchObject({
      code: 'usage',
      message: 'the text has the id `bans` and not `ban`: keep the id; another id would be another rule',
    });
  });

  it('is not compared when a source that it reads cannot be read', async () => {
    on.platform.onRead = (what) => {
      if (what === 'devices') throw new AppError('api_unreachable', 'no connection');
    };
    await expect(tried(WIDER)).rejects.toMatchObject({ code: 'api_unreachable' });
  });
});
