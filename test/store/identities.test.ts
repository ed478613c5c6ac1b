// test: identities are found by each of their names in any case, kept up by difference, and a row by enough of its id.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type IdentityChanges, resolveName } from '../../src/domain/identity.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { nameHash } from '../../src/store/identities.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { addRun, deviceSeen, fakeClock, openStore, START_MS } from '../support/filled-store.ts';
import { freshDatabase } from '../support/memory-database.ts';
import { identityPrints, PRINT_KEY, sortedPrints } from '../support/print-key.ts';

const changes = (over: Partial<IdentityChanges> = {}): IdentityChanges => ({
  kind: 'device',
  changed: [],
  had: undefined,
  readAt: 1,
  ...over,
});
let runs = 0;
const commit = (store: SqliteStore, ...identities: IdentityChanges[]) => {
  runs += 1;
  return addRun(store, { id: `run${runs}`, identities });
};
const named = async (store: SqliteStore, text: string) =>
  (await store.identitiesNamed(text)).map(({ by, identity }) => `${by} ${identity.id}`);

/** Two names that one key stands for. */
function alike(): [string, string] {
  const known = new Map<number, string>();
  for (let number = 0; ; number += 1) {
    const name = `name ${number}`;
    const other = known.get(nameHash('name', name));
    if (other !== undefined) return [other, name];
    known.set(nameHash('name', name), name);
  }
}

describe('identities', () => {
  it('of a first list are found as those are that come one by one', async () => {
    const list = Array.from({ length: 60 }, (_, at) => {
      const owners = at % 3 === 0 ? undefined : [`p${at % 7}@x.org`, `P${at % 5}@x.org`, ''];
      return deviceSeen(`Dev-${at}`, { serial: at % 9 === 0 ? '' : `S-${at % 20}`, name: `Name ${at % 11}`, owners });
    });
    const [atOnce, oneByOne] = [openStore(), openStore()];
    await commit(atOnce, changes({ changed: list }));
    for (const seen of list) await commit(oneByOne, changes({ changed: [seen] }));
    for (const text of ['dev-7', 'S-3', 's-0', 'name 4', 'P2@X.org', 'p6@x.org', 'nobody']) {
      // Each has its own order of rows.
      const found = await oneByOne.identitiesNamed(text);
      expect(await atOnce.identitiesNamed(text), text).toHaveLength(found.length);
      expect(await atOnce.identitiesNamed(text), text).toEqual(expect.arrayContaining(found));
    }
    const prints = async (one: SqliteStore) => sortedPrints(await one.presentPrints('device', PRINT_KEY));
    expect(await prints(atOnce)).toEqual(await prints(oneByOne));
  });
  it('whose names share a key are told apart', async () => {
    const store = openStore();
    const [one, other] = alike();
    await commit(store, changes({ changed: [deviceSeen('a', { name: one }), deviceSeen('b', { name: other })] }));
    expect([await named(store, one), await named(store, other)]).toEqual([['name a'], ['name b']]);
    expect(await store.identitiesSelected('DeviceFriendlyName', other)).toMatchObject({ count: 1 });
    await commit(store, changes({ changed: [deviceSeen('a', { name: 'Renamed' })] }));
    expect([await named(store, one), await named(store, 'renamed')]).toEqual([[], ['name a']]);
  });
  it('are found by id, serial number, name and owner, in any case and with spaces around', async () => {
    const store = openStore();
    const mac = deviceSeen('Dev-1', { serial: 'C02', name: 'Ada Mac', owners: ['Ada@Example.com'] });
    await commit(store, changes({ changed: [mac] }));
    expect(await named(store, 'dev-1')).toEqual(['id Dev-1']);
    expect(await named(store, ' c02 ')).toEqual(['serial Dev-1']);
    expect(await named(store, 'ada mac')).toEqual(['name Dev-1']);
    expect(await named(store, 'ADA@example.com')).toEqual(['owner Dev-1']);
    expect(await named(store, '')).toEqual([]);
    expect((await store.identitiesOf(['dev-1', ' c02', 'ada mac', ''])).map(({ id }) => id)).toEqual(['Dev-1']);
    expect(await resolveName(store, 'c02')).toMatchObject({ found: 'one', named: { target: 'C02' } });
  });
  it('keep when they were first shown, and the owners that a reading does not show', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    await commit(store, changes({ changed: [deviceSeen('a', { owners: ['ada@x.org'] })] }));
    clock.advance(1_000);
    await commit(store, changes({ changed: [deviceSeen('a', { name: 'Renamed' })] }));
    const { facts: _, ...seen } = deviceSeen('a', { name: 'Renamed', owners: ['ada@x.org'] });
    expect((await store.identitiesNamed('a')).map(({ identity }) => identity)).toEqual([
      { ...seen, firstAt: START_MS, changedAt: START_MS + 1_000, goneAt: undefined },
    ]);
    expect(await named(store, 'ada@x.org')).toEqual(['owner a']);
  });
  it('that lose an owner are no longer found by it', async () => {
    const store = openStore();
    await commit(store, changes({ changed: [deviceSeen('a', { owners: ['ada@x.org', 'bo@x.org'] })] }));
    await commit(store, changes({ changed: [deviceSeen('a', { owners: ['bo@x.org'] })] }));
    expect([await named(store, 'ada@x.org'), await named(store, 'bo@x.org')]).toEqual([[], ['owner a']]);
  });
  it('that a list no longer has are gone and stay known, until it has them again', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    await commit(store, changes({ changed: [deviceSeen('a'), deviceSeen('b')] }));
    clock.advance(1_000);
    await commit(
      store,
      changes({ had: { key: PRINT_KEY, has: (prints, at) => prints[at] === identityPrints(deviceSeen('a'))[0] } }),
    );
    const gone = async () =>
      (await store.identitiesNamed('Name of b')).map(({ identity: { goneAt, changedAt } }) => [goneAt, changedAt]);
    expect(await gone()).toEqual([[START_MS + 1_000, START_MS + 1_000]]);
    expect(await store.presentPrints('device', PRINT_KEY)).toEqual(identityPrints(deviceSeen('a')));
    await commit(store, changes({ changed: [deviceSeen('b')] }));
    expect(await gone()).toEqual([[undefined, START_MS + 1_000]]);
  });
  it('have the same fingerprints in a process that begins as in one that followed every change', async () => {
    const db = freshDatabase();
    const store = new SqliteStore(db, linkEntry, fakeClock());
    const printsIn = async (one: SqliteStore) => {
      return sortedPrints(await one.presentPrints('device', PRINT_KEY));
    };
    const list = ['a', 'b', 'c', 'd'].map((id) => deviceSeen(id));
    await store.saveIdentities([changes({ changed: list })]);
    await printsIn(store);
    const isOf = (id: string) => (prints: Int32Array, at: number) => prints[at] === identityPrints(deviceSeen(id))[0];
    const isGone = isOf('b');
    for (const [changed, had] of [
      [[deviceSeen('a', { name: 'Renamed' }), deviceSeen('e', { owners: ['ada@x.org'] })], undefined],
      [[], { key: PRINT_KEY, has: (prints: Int32Array, at: number) => !isGone(prints, at) }],
      [[deviceSeen('c', { owners: [] }), deviceSeen('b')], { key: PRINT_KEY, has: () => true }],
      [[deviceSeen('e', { name: 'Other' })], undefined],
    ] as const) {
      await store.saveIdentities([changes({ changed, had })]);
      expect(await printsIn(store)).toEqual(await printsIn(new SqliteStore(db, linkEntry, fakeClock())));
    }
    expect(await printsIn(store)).toHaveLength(5);
    await store.close();
  });
  it('are counted by what a selector selects, as exemptions compare it', async () => {
    const store = openStore();
    const user = { ...deviceSeen('Ada@x.org', { serial: '', name: 'Ada' }), kind: 'user' as const };
    await commit(
      store,
      changes({ changed: ['a', 'b', 'c', 'd'].map((id) => deviceSeen(id)) }),
      changes({ kind: 'user', changed: [user] }),
    );
    expect(await store.identitiesSelected('Platform', 'macOS')).toMatchObject({ count: 4, examples: { length: 3 } });
    expect(await store.identitiesSelected('SerialNumber', 's-A')).toMatchObject({ count: 1 });
    expect(await store.identitiesSelected('Email', 'ada@X.org')).toMatchObject({ count: 1 });
    expect(await store.identitiesSelected('DeviceFriendlyName', 'name of a')).toMatchObject({ count: 0 });
    expect(await store.identitiesSelected('Groups', 'Staff')).toBeUndefined();
  });
});

describe('what a person types of an id', () => {
  const ANN = { by: 'ann', reason: 'seen in the console' };

  let on: OnPlatform;

  beforeEach(() => {
    on = startOnPlatform();
    for (const id of ['d1', 'd2']) {
      on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    }
  });
  afterEach(() => on.close());

  describe('a beginning of an id', () => {
    it('of one intent resolves it; of several it is refused, with each of them named, and none is resolved', async () => {
      for (const serial of ['S-d1', 'S-d2']) on.platform.answer(serial, 'lost');
      await on.run();
      const [first, second] = await on.store.intents({ outcome: 'unknown' });
      const shared = commonBeginning(first?.id ?? '', second?.id ?? '');
      await expect(resolveIntent(on.engine, shared, 'done', ANN)).rejects.toMatchObject({
        code: 'usage',
        message: `intent \`${shared}\` is ambiguous: it begins ${first?.id} (ban_device S-d1, unknown), ${second?.id} (ban_device S-d2, unknown); give more of its id`,
      });
      expect(await on.store.intents({ outcome: 'unknown' })).toHaveLength(2);
      const enough = (first?.id ?? '').slice(0, shared.length + 1);
      expect(await resolveIntent(on.engine, enough, 'done', ANN)).toMatchObject({
        id: first?.id,
        outcome: 'confirmed',
      });
      expect((await on.store.intents({ outcome: 'unknown' })).map(({ id }) => id)).toEqual([second?.id]);
    });

    it('of one run finds its report; of several it names at most five and shows that there are more', async () => {
      const runs = [];
      for (let count = 0; count < 7; count += 1) runs.push((await on.run()).run);
      const last = runs.at(-1);
      expect((await on.store.run(last?.id ?? ''))?.seq).toBe(7);
      await expect(on.store.run('0')).rejects.toMatchObject({
        message: expect.stringContaining('(number 5) and more;'),
      });
      await expect(on.store.run('0')).rejects.toMatchObject({ message: expect.not.stringContaining('(number 6)') });
    });

    it('that is a number is the number of a run, as lists and reports show it, and the beginning of none', async () => {
      const first = await on.run();
      await on.run();
      expect(await on.store.run('1')).toMatchObject({ id: first.run.id, seq: 1 });
      expect((await on.store.run('2'))?.id).not.toBe(first.run.id);
      for (const typed of ['3', '10', '999999999999999999', '1.0', '+1'])
        expect(await on.store.run(typed)).toBeUndefined();
      expect((await on.store.run(first.run.id))?.seq).toBe(1);
    });

    it('that is the whole id of one is that one, whatever else begins so', async () => {
      on.rules(banRule({ mode: 'approve' }));
      const { plan } = await on.run();
      if (!plan) throw new Error('the run made no plan');
      await on.store.changePlan({ ...plan, id: `${plan.id}-more` }, [], []);
      expect((await on.store.plan(plan.id))?.id).toBe(plan.id);
      await expect(on.store.plan(plan.id.slice(0, -1))).rejects.toMatchObject({ code: 'usage' });
    });

    it('that is empty, or has a wildcard in it, is the beginning of none', async () => {
      on.rules(banRule({ mode: 'approve' }));
      await on.run();
      for (const typed of ['', '%', '*', '_', '0%']) {
        expect(await on.store.plan(typed)).toBeUndefined();
        expect(await on.store.run(typed)).toBeUndefined();
        expect(await on.store.intent(typed)).toBeUndefined();
        expect(await on.store.exemption(typed)).toBeUndefined();
      }
    });
  });

  describe('a beginning of a target', () => {
    it('releases no claim, and the refusal names the targets that begin so', async () => {
      await on.run();
      await expect(releaseClaims(on.engine, 'S-d', ANN)).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringMatching(/^nothing is in force on `S-d`: g.*`S-d1`, `S-d2`/),
      });
      await expect(releaseClaims(on.engine, 'T', ANN)).rejects.toMatchObject({
        message: 'nothing is in force on `T`: `claims list` shows those that are',
      });
      expect(await on.store.claims({ status: 'standing' })).toHaveLength(2);
    });
  });

  function commonBeginning(a: string, b: string): string {
    let length = 0;
    while (a[length] === b[length]) length += 1;
    return a.slice(0, length);
  }
});
