// test: lists of subjects have what the last trusted reading showed, in a total order, whatever is filtered, sorted or searched; on both databases.
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { type FleetQuery, hasWords, sortKey, wordKeys, wordRange, wordsOf } from '../../src/domain/fleet.ts';
import { type IdentityChanges, identityOf, type ListedIdentity, NEAR_MAX } from '../../src/domain/identity.ts';
import { factsOf, listedValue } from '../../src/domain/listed-facts.ts';
import { addRun, decision, deviceSeen, intent } from '../support/filled-store.ts';
import { PRINT_KEY } from '../support/print-key.ts';
import { databases, type OpenedStore, type TestedDatabase } from '../support/stores.ts';

const query = (over: Partial<FleetQuery> = {}): FleetQuery => ({
  ...{ kind: 'device', facts: {}, sort: 'name', isDescending: false, limit: 50 },
  ...over,
});
const changes = (changed: Iterable<ListedIdentity>, over: Partial<IdentityChanges> = {}): IdentityChanges[] => [
  { kind: 'device', changed, had: undefined, readAt: 1_000, ...over },
];

const PLATFORMS = ['iOS', 'macOS', 'Windows', 'Tizen', ''];
const NAMES = [
  "Ada's iPhone",
  'ada macbook-15',
  'DESKTOP-7F3',
  'Élodie',
  '',
  'Zoë’s MacBook Pro',
  '<img src=x>',
  '\u202eevil\ud800',
];
const device = (n: number) =>
  identityOf('device', {
    DeviceID: `id-${n}`,
    SerialNumber: `S-${n % 90}`,
    DeviceFriendlyName: `${NAMES[n % NAMES.length]}${n % 3 === 0 ? '' : ` ${n % 7}`}`,
    Platform: PLATFORMS[n % PLATFORMS.length] as string,
    Emails: [`p${n % 11}@x.org`],
    ...(n % 4 === 0 ? {} : { Banned: n % 5 === 0 ? 'TRUE' : 'FALSE' }),
    MdmData: { CompromisedStatus: n % 6 === 0 ? 'TRUE' : 'FALSE' },
    TrustData: { Level: n % 3 === 0 ? 'Low' : 'High' },
  });
const basisOn = (subjectId: string) => ({
  ...{ rule: 'ban-compromised-device', ruleHash: 'b'.repeat(64), subjectId, episodeId: `episode-${subjectId}` },
  ...{ decisionId: 'decision1', facts: {} },
});
const LIST = Array.from({ length: 120 }, (_, n) => device(n));

/** All pages, by small ones. */
async function all({ store }: OpenedStore, asked: FleetQuery): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.fleetPage({ ...asked, limit: 7, after });
    ids.push(...page.rows.map(({ identity }) => identity.id));
    if (page.total !== undefined) expect(page.total).toBeGreaterThanOrEqual(ids.length);
    if (page.next === undefined) return ids;
    after = page.next;
  }
}

describe('names', () => {
  it('are found by the beginning of each word, whatever its case and accents', () => {
    expect(wordsOf("Ada's MacBook-15 Pro")).toEqual(['ada', 'macbook', '15', 'pro']);
    expect(wordsOf('Élodie’s iPhone14')).toEqual(['elodie', 'iphone', '14']);
    expect(wordsOf('!!!')).toEqual([]);
    const subject = { kind: 'device' as const, id: 'x', name: 'Große Straße von Łukasz 東京' };
    for (const word of wordsOf(subject.name)) {
      for (let length = 1; length <= word.length; length += 1) {
        const beginning = word.slice(0, length);
        const [from, end] = wordRange('device', beginning);
        expect(
          wordKeys(subject).some((key) => key >= from && key < end),
          beginning,
        ).toBe(true);
        expect(hasWords(subject, [beginning]), beginning).toBe(true);
      }
    }
    expect(hasWords(subject, ['rasse'])).toBe(false);
  });
  it('are sorted by texts that all databases order alike', () => {
    expect([sortKey({ id: 'B', name: '' }), sortKey({ id: 'x', name: ' Ähre \u{1f600}\ud800' })]).toEqual([
      'b',
      'ahre \ufffd\ufffd',
    ]);
  });
});

describe('facts', () => {
  it('that are missing or of no known value are unknown, and a platform that is not known is another one', () => {
    const facts = factsOf('device', { Banned: true, Platform: 'Tizen', TrustData: { Level: 'Odd' } });
    expect(['banned', 'compromised', 'level', 'platform'].map((name) => listedValue(facts, name as never))).toEqual([
      undefined,
      undefined,
      undefined,
      'other',
    ]);
  });
});

describe.each(databases())('lists on $name', (database) => {
  beforeAll(() => (database.isMissing ? undefined : database.prepare()), 120_000);
  afterAll(() => (database.isMissing ? undefined : database.end()));
  const it = test.skipIf(database.isMissing);
  const openStore = async () => {
    const opened = await database.open();
    onTestFinished(opened.close);
    return opened;
  };

  const ofFacts = (one: ListedIdentity, facts: FleetQuery['facts']) =>
    Object.entries(facts).every(
      ([name, value]) => (listedValue(one.facts, name as never)?.toLowerCase() ?? 'unknown') === value?.toLowerCase(),
    );
  const sorted = (some: readonly ListedIdentity[]) =>
    some.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : sortKey(a) > sortKey(b) ? 1 : 0));

  it('have exactly what the filters let through, sorted, page by page', async () => {
    const opened = await openStore();
    await opened.store.saveIdentities(changes(LIST));
    for (const facts of [
      {},
      { banned: 'true' },
      { banned: 'unknown' },
      { platform: 'ios', level: 'Low' },
      { platform: 'other', compromised: 'true' },
      { level: 'AlwaysAllow' },
    ] satisfies FleetQuery['facts'][]) {
      const wanted = sorted(LIST.filter((one) => ofFacts(one, facts)));
      const ids = await all(opened, query({ facts }));
      expect(
        ids.map((id) => sortKey(LIST.find((one) => one.id === id) as never)),
        JSON.stringify(facts),
      ).toEqual(wanted.map(sortKey));
      expect(new Set(ids)).toEqual(new Set(wanted.map(({ id }) => id)));
      const turned = await all(opened, query({ facts, isDescending: true }));
      expect(turned).toEqual(ids.toReversed());
      const byLevel = await all(opened, query({ facts, sort: 'level' }));
      expect(new Set(byLevel)).toEqual(new Set(ids));
      const levels = byLevel.map((id) => listedValue(LIST.find((one) => one.id === id)?.facts as number, 'level'));
      expect(levels).toEqual(levels.toSorted((a) => (a === 'Low' ? -1 : 1)));
    }
    const page = await opened.store.fleetPage(query({ facts: { banned: 'true' } }));
    expect(page).toMatchObject({ readAt: 1_000, isSorted: true });
    expect([...page.counts.values()].reduce((sum, count) => sum + count, 0)).toBe(120);
  });

  it('are searched by words, by an id, a serial number or an owner, beside other filters', async () => {
    const opened = await openStore();
    await opened.store.saveIdentities(changes(LIST));
    const ids = async (over: Partial<FleetQuery>) => new Set(await all(opened, query(over)));
    const those = (test: (one: ListedIdentity) => boolean) => new Set(LIST.filter(test).map(({ id }) => id));
    expect(await ids({ q: 'mac' })).toEqual(those(({ name }) => /macbook/i.test(name)));
    expect(await ids({ q: 'pro zo' })).toEqual(those(({ name }) => name.startsWith('Zoë')));
    expect(await ids({ q: 'ELOD' })).toEqual(those(({ name }) => name.startsWith('Élodie')));
    expect(await ids({ q: 'id-17' })).toEqual(new Set(['id-17']));
    expect(await ids({ q: 's-41' })).toEqual(those(({ serial }) => serial === 'S-41'));
    expect(await ids({ q: 'img', facts: { banned: 'false' } })).toEqual(
      those((one) => one.name.includes('img') && listedValue(one.facts, 'banned') === 'false'),
    );
    expect(await ids({ owner: 'P3@x.org', q: 'iph' })).toEqual(
      those((one) => one.owners?.[0] === 'p3@x.org' && /iph/i.test(one.name)),
    );
    expect(await ids({ q: 'acbook' })).toEqual(new Set());
    expect(await ids({ kind: 'user', q: 'ada' })).toEqual(new Set());
  });

  it('offer some for a name that nothing has, and one more than is shown where there are more', async () => {
    const opened = await openStore();
    await opened.store.saveIdentities(changes(LIST));
    const found = await opened.store.fleetPage(query({ q: 'elod' }));
    expect(found.rows.length).toBeGreaterThan(NEAR_MAX);
    const like = await opened.store.identitiesLike('elod', ['device', 'service']);
    expect(like.map(({ id }) => id)).toEqual(found.rows.slice(0, NEAR_MAX + 1).map(({ identity }) => identity.id));
  });

  it('of a rule are those that it matches now, and each shows its rules', async () => {
    const opened = await openStore();
    const acted = intent({ basis: [3, 5].map((n) => basisOn(`id-${n}`)) });
    await addRun(opened.store, { mode: 'enforce', decisions: [decision()], intents: [acted] });
    await opened.store.saveIdentities(changes(LIST));
    const page = await opened.store.fleetPage(query({ rule: 'ban-compromised-device' }));
    expect(page.rows.map(({ identity, rules }) => [identity.id, rules])).toEqual([
      ['id-3', ['ban-compromised-device']],
      ['id-5', ['ban-compromised-device']],
    ]);
    expect(page.total).toBe(2);
    const other = await opened.store.fleetPage(query({ rule: 'ban-compromised-device', q: 'elodie' }));
    expect(other.rows.map(({ identity }) => identity.id)).toEqual(['id-3']);
    expect((await opened.store.fleetPage(query({ rule: 'another' }))).rows).toEqual([]);
  });

  it('go on where a page ended while a reading renames, removes and adds, and nobody is shown twice or left out', async () => {
    const opened = await openStore();
    await opened.store.saveIdentities(changes(LIST));
    const first = await opened.store.fleetPage(query({ limit: 40 }));
    const shown = first.rows.map(({ identity }) => identity.id);
    const changed = [deviceSeen('new', { name: 'zz' }), { ...(LIST[0] as ListedIdentity), id: 'other', name: 'aa' }];
    await opened.store.saveIdentities(changes(changed, { readAt: 2_000 }));
    const rest = await opened.store.fleetPage(query({ after: first.next, limit: 200 }));
    const ids = [...shown, ...rest.rows.map(({ identity }) => identity.id)];
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids)).toEqual(new Set([...LIST.map(({ id }) => id), 'new']));
    expect(rest.readAt).toBe(2_000);
  });

  it('follow a changed fact and a new name, and leave out what is gone', async () => {
    const opened = await openStore();
    await opened.store.saveIdentities(changes(LIST));
    const renamed = { ...device(5), name: 'Quartz', facts: factsOf('device', { Banned: 'TRUE', Platform: 'Linux' }) };
    await opened.store.saveIdentities(changes([renamed]));
    expect(await all(opened, query({ q: 'quar', facts: { platform: 'linux', banned: 'true' } }))).toEqual(['id-5']);
    expect(await all(opened, query({ facts: { platform: 'linux' } }))).toEqual(['id-5']);
    await opened.store.presentPrints('device', PRINT_KEY);
    await opened.store.saveIdentities(changes([], { had: { key: PRINT_KEY, has: () => false } }));
    expect((await opened.store.fleetPage(query())).rows).toEqual([]);
    expect((await opened.store.fleetPage(query({ q: 'quar' }))).rows).toEqual([]);
  });

  it('that no reading has filled say so, and a foreign position or filter is refused', async () => {
    const opened = await openStore();
    expect(await opened.store.fleetPage(query({ q: 'x' }))).toMatchObject({ readAt: undefined, rows: [], total: 0 });
    for (const after of [
      '',
      'x',
      Buffer.from('["o",1]').toString('base64url'),
      Buffer.from('{}').toString('base64url'),
    ])
      await expect(opened.store.fleetPage(query({ after }))).rejects.toMatchObject({ code: 'usage' });
    await expect(opened.store.fleetPage(query({ kind: 'user', facts: { banned: 'true' } }))).rejects.toThrow(
      '`banned` is a filter of devices: lists of users have `level`, `rule`',
    );
    await expect(opened.store.fleetPage(query({ kind: 'service', owner: 'a@x.org' }))).rejects.toThrow(
      '`owner` is a filter of devices',
    );
  });
});

describe('more than can be sorted', () => {
  it('are listed as they are found, each once, beside other filters', async () => {
    const opened = await (databases()[0] as TestedDatabase).open();
    const many = Array.from({ length: 2_600 }, (_, n) => ({
      ...device(n),
      name: `mac ${n % 2 === 0 ? 'macbook' : 'mini'} ${n}`,
    }));
    await opened.store.saveIdentities(changes(many));
    const page = await opened.store.fleetPage(query({ q: 'mac' }));
    expect(page).toMatchObject({ total: undefined, isSorted: false });
    const read: string[] = [];
    for (let after: string | undefined; ; ) {
      const some = await opened.store.fleetPage(query({ q: 'mac', facts: { compromised: 'true' }, limit: 90, after }));
      read.push(...some.rows.map(({ identity }) => identity.id));
      if (some.next === undefined) break;
      after = some.next;
    }
    expect(read.length).toBe(new Set(read).size);
    expect(new Set(read)).toEqual(
      new Set(many.filter((one) => listedValue(one.facts, 'compromised') === 'true').map(({ id }) => id)),
    );
    expect((await opened.store.fleetPage(query({ q: 'mac 2599' }))).rows.map(({ identity }) => identity.id)).toEqual([
      'id-2599',
    ]);
  });
});
