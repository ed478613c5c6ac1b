// pull: secrets in the texts of devices and events, which people type and agents send: kept in no fact, plan, event or
// audit entry.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { readEvent } from '../../../src/engine/pull/pull-events.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { migrate, openDatabase, type SqliteDb } from '../../../src/store/sqlite/database.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { CANARY } from './secret-forms.ts';

/** Reads fields with secrets: by name, in their text, in a list; and one without any. */
function readingRule(): LoadedRule {
  const text = `
id: ban-odd
title: Ban odd devices
severity: high
subject: device
declares: { MdmData.Note: text, MdmData.EnrolToken: text }
when:
  and:
    - { "!=": [{ var: MdmData.Note }, "calm"] }
    - { "!=": [{ var: MdmData.EnrolToken }, "none"] }
    - { "==": [{ var: Model }, "M1"] }
    - { ">=": [{ event_count: { severity: ERROR, within: 10m } }, 1] }
then: ban_device
mode: approve
limits: { max: 10, percent: 100 }
tests:
  - name: odd
    given: { Model: M1, MdmData: { Note: "x", EnrolToken: "y" } }
    events: [{ severity: ERROR, ago: 1m }]
    expect: match
`;
  const parsed = parseRule(text, 'ban-odd.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const HIDDEN = expect.stringMatching(/^\[dropped [0-9a-f]{8}\]$/);

let on: OnPlatform;
let db: SqliteDb;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  on = startOnPlatform({ rules: [readingRule()], db });
  const MdmData = { Note: `lab, pwd=${CANARY}`, EnrolToken: CANARY };
  on.platform.addDevice('d1', { MdmData });
  on.platform.eventLog.push({
    id: 'e1',
    created_at: on.clock.now - 60_000,
    severity: 'ERROR',
    type: 'Access',
    message: `refused: Authorization: Basic ${CANARY}`,
    user_principal: { device: { id: 'd1', serial_number: 'S-d1', api_key: CANARY } },
  });
});
afterEach(() => on.close());

function everything(): string {
  const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
  return JSON.stringify(tables.map(({ name }) => db.all(`SELECT * FROM "${name}"`)));
}

describe('a secret in a text of a device or an event', () => {
  it('is in no fact, plan, event or audit entry; the device is still judged by it', async () => {
    const { plan, decisions, run } = await on.run();
    expect(decisions.map(({ facts }) => facts)).toEqual([
      {
        'MdmData.Note': HIDDEN,
        'MdmData.EnrolToken': HIDDEN,
        Model: 'M1',
        'event_count(severity>=ERROR within 10m)': 1,
      },
    ]);
    expect(run.findings?.snapshot.sources.events.dropped.sort()).toEqual(['message', 'user_principal.device.api_key']);
    expect(everything()).not.toContain(CANARY);
    await on.approve(plan);
    const { refused } = await on.apply(plan);
    expect(refused, 'what was dropped has not drifted').toEqual([]);
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect(everything()).not.toContain(CANARY);
  });

  it('is redacted when a drifted field refuses an approved plan', async () => {
    const { plan } = await on.run();
    await on.approve(plan);
    on.platform.patch('d1', { Model: `M2 pwd=${CANARY}` });
    const { intents } = await on.apply(plan);
    expect(intents).toMatchObject([
      { status: 'withdrawn', note: expect.stringMatching(/Model was "M1" and is "\[dropped [0-9a-f]{8}\]"/) },
    ]);
    expect(on.platform.effects).toEqual([]);
    expect(everything()).not.toContain(CANARY);
  });
});

describe('an event without a secret', () => {
  it('stays unchanged by the search for secrets', () => {
    const event: Facts = {
      id: 'e1',
      created_at: 1_800_000_000_000,
      message: 'Bearer authentication of ana.ruiz@example.com failed: token expired',
      link: { source: { service_name: 'secret-service:8080' } },
      user_principal: { user: { email: 'ana.ruiz@example.com', groups: null }, client: { user_agent: 'x/1 (y; z)' } },
    };
    const dropped = new Set<string>();
    const read = readEvent(event, dropped);
    expect(read).toMatchObject({ ok: true, event: { body: event } });
    expect([...dropped]).toEqual([]);
  });
});
