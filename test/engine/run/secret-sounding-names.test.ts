// cycle: fields with the name of a secret (`PasscodeStatus`) and no secret in them: the trust gate, the drift check and
// people see their values like those of any other field, also beside a baseline that an older version stored.
import { afterEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { migrate, openDatabase, readMigrations, type SqliteDb } from '../../../src/store/sqlite/database.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const FIELD = 'PasscodeStatus';
const DEVICES = Array.from({ length: 40 }, (_, index) => `d${index}`);

/** Bans what has the field so. */
function rule(mode: string, value = 'NON_COMPLIANT'): LoadedRule {
  const text = `
id: ban
title: Ban
severity: critical
subject: device
when: { "==": [{ var: MdmData.${FIELD} }, "${value}"] }
then: ban_device
mode: ${mode}
cooldown: 0s
limits: { max: 1000, percent: 100 }
owners: all
declares: { MdmData.${FIELD}: text }
tests:
  - { name: trouble, given: { MdmData: { ${FIELD}: "${value}" } }, expect: match }
`;
  const parsed = parseRule(text, 'ban.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

let on: OnPlatform;
let db: SqliteDb;
afterEach(() => on.close());

function start(given: LoadedRule): void {
  db = openDatabase(':memory:');
  migrate(db);
  on = startOnPlatform({ rules: [given], db, settings: (settings) => ({ ...settings, trust: TRUST_DEFAULT }) });
}
const all = (value: string, of: readonly string[] = DEVICES) => {
  for (const id of of) on.platform.patch(id, { MdmData: { [FIELD]: value } });
};
const fleet = (value: string) => {
  for (const id of DEVICES) on.platform.addDevice(id, { MdmData: { [FIELD]: value } });
};
const storedValues = async () => (await on.store.baseline('devices'))?.values[`MdmData.${FIELD}`];

describe('a field with the name of a secret', () => {
  it.each([
    ['from one state to another', 'COMPLIANT', 'NON_COMPLIANT'],
    ['from one secret to another', 'a1b2-c3d4-e5f6', 'f6e5-d4c3-b2a1'],
  ])('makes the reading untrusted when it turns everywhere at once %s', async (_, before, after) => {
    start(rule('enforce', after));
    fleet(before);
    await on.run();
    const stored = await storedValues();
    on.clock.pass(QUIET_MS);
    all(after);
    const { decisions } = await on.run();
    expect([...new Set(decisions.map(({ reason }) => reason))]).toEqual(['untrusted_source']);
    expect(on.platform.sent).toEqual([]);
    expect(await storedValues()).toEqual(stored);
    expect(Object.values(stored ?? {})).toEqual([40]);
  });

  it('prevents the ban when it recovers before an approved plan is applied', async () => {
    start(rule('approve'));
    on.platform.addDevice('d1', { MdmData: { [FIELD]: 'NON_COMPLIANT' } });
    const { plan } = await on.run();
    expect(plan?.intents[0]?.basis[0]?.facts).toEqual({ [`MdmData.${FIELD}`]: 'NON_COMPLIANT' });
    const approved = await on.approve(plan);
    all('COMPLIANT', ['d1']);
    const { intents } = await on.apply(approved);
    expect(intents).toMatchObject([
      { status: 'withdrawn', note: expect.stringContaining('was "NON_COMPLIANT" and is "COMPLIANT"') },
    ]);
    expect(on.platform.sent).toEqual([]);
  });
});

describe('a baseline of an older version', () => {
  it.each(['COMPLIANT', 'a1b2-c3d4-e5f6'])(
    'that kept `%s` unredacted does not make the source untrusted forever',
    async (value) => {
      start(rule('enforce'));
      fleet(value);
      await on.run();
      const told = await storedValues();
      const asItCame = JSON.stringify({
        [`MdmData.${FIELD}`]: { [value]: 40 },
        'MdmData.AuthToken': { [`${value}9`]: 40 },
      });
      db.run('UPDATE baselines SET fact_values = ?', asItCame);
      const { run } = await on.run();
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, reasons: [] });
      expect(await storedValues()).toEqual(told);
      on.clock.pass(QUIET_MS);
      db.run('UPDATE baselines SET fact_values = ?', asItCame);
      all('NON_COMPLIANT');
      expect((await on.run()).run.findings?.snapshot.sources.devices).toMatchObject({ trusted: false });
      expect(on.platform.sent).toEqual([]);
    },
  );

  it('that hid the field is not compared for it, and still is for other fields', async () => {
    start(rule('enforce'));
    fleet('COMPLIANT');
    await on.run();
    const told = await storedValues();
    const isHidden = { [`MdmData.${FIELD}`]: { '[dropped]': 40 }, Model: { M1: 30, '∅': 10 } };
    db.run('UPDATE baselines SET fact_values = ?', JSON.stringify(isHidden));
    db.exec('PRAGMA user_version = 10');
    migrate(db, readMigrations().slice(0, 11));
    expect((await on.store.baseline('devices'))?.values).toEqual({ Model: { M1: 30, '∅': 10 } });
    const { run } = await on.run();
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, reasons: [] });
    expect(await storedValues()).toEqual(told);
  });

  it('leaves no kept secret in the database under a field that is no longer read', async () => {
    start(rule('enforce'));
    fleet('COMPLIANT');
    await on.run();
    db.run('UPDATE baselines SET fact_values = ?', JSON.stringify({ 'MdmData.AuthToken': { 'a1b2-c3d4-e5f6': 40 } }));
    await on.run();
    expect(JSON.stringify(db.all('SELECT * FROM baselines'))).not.toContain('a1b2-c3d4-e5f6');
  });
});
