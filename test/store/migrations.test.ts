// test: rows that an earlier version wrote are found by the tables and indexes of this one.
import { afterEach, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import type { StoredDecision } from '../../src/domain/decision.ts';
import type { PlannedIntent } from '../../src/domain/plan.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { decisionView } from '../../src/faces/report/decision-view.ts';
import { EVENT_COLUMNS, rowOfEvent } from '../../src/store/event-log.ts';
import { DECISION, INTENT, PLAN, RUN, rowOfEpisode } from '../../src/store/rows.ts';
import { migrate, openDatabase, readMigrations, type SqliteDb } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { decision as decisionWith, deviceSeen, plan as planOf } from '../support/filled-store.ts';
import { FakeClock } from '../support/platform.ts';
import { identityPrints, PRINT_KEY } from '../support/print-key.ts';
import { commitOf, decision, episode, event, intent, plan, run } from '../support/stored-nouns.ts';

let db: SqliteDb;
afterEach(() => db.close());

function openedAt(version: number): SqliteDb {
  db = openDatabase(':memory:');
  migrate(
    db,
    readMigrations().filter((migration) => migration.version <= version),
  );
  return db;
}

describe('a database of the tables 20', () => {
  it('finds by each of their names whom it knew, also those that are gone', async () => {
    openedAt(20);
    const row = { kind: 'device', platform: 'macOS', model: 'Mac14,2', first_at: 1, changed_at: 2 };
    const ada = {
      ...row,
      no: 4,
      id: 'D-Ä',
      serial: 'C02',
      name: 'Ada Mac',
      owners: '["Ada@x.org"]',
      print: 7,
      owners_print: 8,
    };
    db.insert('identities', { ...ada, id_key: 'd-ä', serial_key: 'c02', name_key: 'ada mac', gone_at: null });
    const bare = { ...row, no: 9, id: 'e', serial: '', name: '', owners: null, print: 9, owners_print: null };
    db.insert('identities', { ...bare, id_key: 'e', serial_key: null, name_key: null, gone_at: 5 });
    db.insert('identity_owners', { owner_key: 'ada@x.org', no: 4 });
    migrate(db);
    const store = new SqliteStore(db, linkEntry, new FakeClock());
    const named = async (text: string) =>
      (await store.identitiesNamed(text)).map(({ by, identity }) => [by, identity.id]);
    expect(await named('d-Ä')).toEqual([['id', 'D-Ä']]);
    expect(await named('c02')).toEqual([['serial', 'D-Ä']]);
    expect(await named('ADA mac')).toEqual([['name', 'D-Ä']]);
    expect(await named('ada@x.org')).toEqual([['owner', 'D-Ä']]);
    expect(await store.identitiesNamed('e')).toMatchObject([{ identity: { goneAt: 5, firstAt: 1, changedAt: 2 } }]);
    const seen = deviceSeen('D-Ä', { serial: 'C02', name: 'Ada Mac', model: 'Mac14,2', owners: ['Ada@x.org'] });
    expect(await store.presentPrints('device', PRINT_KEY)).toEqual(identityPrints(seen));
  });
});

describe('a database of the tables 18', () => {
  it('has its decisions without a flip', async () => {
    openedAt(18);
    const { counts_with: _unknown, ...runRow } = RUN.rowOf({ ...run, seq: 1 });
    db.insert('runs', runRow);
    const { flip: _, ...row } = DECISION.rowOf({
      ...decision,
      runId: run.id,
      runSeq: 1,
      writtenAt: 1,
      endedSeq: undefined,
    });
    db.insert('decisions', row);
    migrate(db);
    const [stored] = await new SqliteStore(db, linkEntry, new FakeClock()).decisions({ limit: 1 });
    expect(stored).toMatchObject({ id: decision.id, facts: decision.facts });
    expect(decisionView(stored as StoredDecision).flip).toBeNull();
  });
});

describe('a database of the tables 12', () => {
  it('finds by target what its open episodes have seen', async () => {
    openedAt(12);
    const saw = { ...episode, seenSo: ['ban_device S 1', 'notify d1'] };
    db.insert('episodes', rowOfEpisode(saw));
    db.insert('episodes', rowOfEpisode({ ...saw, id: 'e9', state: 'closed', closedAt: 9, closeReason: 'cleared' }));
    migrate(db);
    const store = new SqliteStore(db, linkEntry, new FakeClock());
    expect(await store.episodesThatSaw('S 1')).toEqual([saw]);
    expect(await store.episodesThatSaw('S')).toEqual([]);
  });

  it('counts its attempts to the millisecond', async () => {
    openedAt(12);
    const { refusals: _, refused_with: __, ...row } = INTENT.rowOf(intent);
    db.insert('intents', row);
    const attempt = { intent_id: intent.id, action: 'ban_device', target: 'S-1', rules: '[]' };
    for (const sent_at of [59_999, 60_000, 60_001, 180_000]) db.insert('attempts', { ...attempt, sent_at });
    migrate(db);
    const store = new SqliteStore(db, linkEntry, new FakeClock());
    const counts = [0, 59_999, 60_000, 60_001, 60_002, 180_000, 180_001].map((at) =>
      store.attemptsSince('ban_device', at),
    );
    expect(await Promise.all(counts)).toEqual([4, 4, 3, 2, 1, 1, 0]);
    expect(await store.attemptsSince('unban_device', 0)).toBe(0);
  });
});

describe('a database of the tables 21', () => {
  it('has the same plans, runs and events', async () => {
    openedAt(21);
    const [sealed] = planOf(decisionWith({ target: 'S-1' })).intents;
    const whole = { ...plan, intents: [sealed as PlannedIntent] };
    const { dropped: _, break_glass: _glass, ...planRow } = PLAN.rowOf(whole);
    db.insert('plans', planRow);
    const released = { ...plan, id: 'p9', intents: whole.intents.map((one) => ({ ...one, released: true })) };
    const { dropped: __, break_glass: __glass, ...releasedRow } = PLAN.rowOf(released);
    db.insert('plans', releasedRow);
    db.insert('runs', RUN.rowOf({ ...run, seq: 1 }));
    const { snapshot, tallies, planDigest } = commitOf({}).findings;
    const sql = 'UPDATE runs SET snapshot = ?, tallies = ?, plan_digest = ?';
    db.run(sql, canonicalJson(snapshot), canonicalJson(tallies), planDigest);
    const early = { ...event, id: 'z', createdAtMs: event.createdAtMs - 1 };
    db.insertMany('events', EVENT_COLUMNS, [event, early].map(rowOfEvent));
    migrate(db);
    const clock = new FakeClock();
    clock.now = plan.createdAt;
    const store = new SqliteStore(db, linkEntry, clock);
    expect(await store.plan(plan.id)).toEqual(whole);
    expect(await store.planOutline(plan.id)).toMatchObject({ intents: [{ target: 'S-1' }] });
    expect(await store.planLines({}, { limit: 5 })).toMatchObject([
      { id: 'p9', intents: 1, releases: whole.intents[0]?.basis[0]?.rule },
      { id: plan.id, intents: 1, releases: undefined },
    ]);
    expect((await store.run(run.id))?.findings).toEqual({ snapshot, tallies, planDigest });
    const events = [];
    for await (const some of store.events(0)) events.push(...some);
    expect(events).toEqual([early, event]);
  });
});
