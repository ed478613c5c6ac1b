// sources: a query is read in a transaction that can change nothing, with a time limit; a failure names no password.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { GivenSource } from '../../src/domain/given-facts.ts';
import { sourcesIn, world } from '../support/given-sources.ts';
import { type Cluster, hasNoPostgres, NEEDS_POSTGRES, OWNER, startCluster } from '../support/postgres.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const TYPES = `name: text, devices: number, big: number, active: boolean, seen: { type: time, unit: iso }, made: { type: time, unit: utc }, tags: texts, os: { type: text, from: info.os }`;

describe.skipIf(hasNoPostgres)(`a query${NEEDS_POSTGRES}`, () => {
  let cluster: Cluster;
  let url: string;
  beforeAll(async () => {
    cluster = await startCluster();
    url = cluster.url('postgres');
    await cluster.query(
      `CREATE TABLE owners (mail text, name varchar(40), devices int, big numeric, active boolean, seen timestamptz, made timestamp, tags text[], info jsonb)`,
    );
    await cluster.query(`INSERT INTO owners VALUES ('Ada@Example.com', 'Ada', 3, 9007199254740993, true, '2026-11-28 12:00:00.5+02', '2026-11-28 10:00:00', '{a,"b c"}', '{"os":"macOS"}'),
      ('bob@example.com', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`);
    await cluster.query(`CREATE SEQUENCE s; GRANT ALL ON owners, s TO ${OWNER}`);
  }, 180_000);
  afterAll(() => cluster?.close());

  function source(query: string, more = 'fields: { devices: number }', timeout = '30s'): GivenSource {
    const [one] = sourcesIn(`sources:
  hr:
    key: { email: mail }
    fresh: 1d
    every: 1m
    ${more}
    postgres: { url: { file: hr.url }, query: ${JSON.stringify(query)}, timeout: ${timeout} }
`);
    return one as GivenSource;
  }
  const read = (one: GivenSource, at = url) => {
    const place = world();
    place.put('hr.url', `${at}\n`);
    return place.read(one);
  };

  it('keeps digits, zones, lists and members, and leaves out what is null', async () => {
    const { table, fault } = await read(source('SELECT * FROM owners;', `fields: { ${TYPES} }`));
    expect(fault).toBeUndefined();
    expect(Object.fromEntries(table?.rows ?? [])).toEqual({
      'ada@example.com': {
        ...{ name: 'Ada', devices: 3, big: 9007199254740993n, active: true, tags: ['a', 'b c'], os: 'macOS' },
        ...{ seen: Date.parse('2026-11-28T10:00:00.5Z'), made: Date.parse('2026-11-28T10:00:00Z') },
      },
      'bob@example.com': {},
    });
  });

  it('is fetched in parts, up to the number of rows that is allowed', async () => {
    const many = source(`SELECT 'u' || n || '@example.com' AS mail, n AS devices FROM generate_series(1, 5001) n`);
    expect((await read(many)).table?.rows.get('u5001@example.com')).toEqual({ devices: 5001 });
    expect((await read({ ...many, rowsMax: 5000 })).fault?.text).toBe('it has more than 5000 rows');
  });

  it.each([
    [
      'that changes something',
      `WITH gone AS (DELETE FROM owners RETURNING mail) SELECT mail, 1 AS devices FROM gone`,
      /^the database: DECLARE CURSOR must not contain data-modifying statements in WITH \(0A000\)$/,
    ],
    [
      'that calls what changes something',
      `SELECT setval('s', 9)::text AS mail, 1 AS devices`,
      /^the database: cannot execute setval\(\) in a read-only transaction \(25006\)$/,
    ],
    [
      'of two statements',
      `SELECT 1 AS mail; COMMIT; DELETE FROM owners`,
      /^the database: cannot insert multiple commands into a prepared statement/,
    ],
    ['without a column of a field', `SELECT mail FROM owners`, /^there is no column `devices`$/],
    [
      'with a mistake',
      `SELECT mail, devicez AS devices FROM owners`,
      /^the database: column "devicez" does not exist \(42703\)$/,
    ],
    [
      'that takes too long',
      `SELECT pg_sleep(60)::text AS mail, 1 AS devices`,
      /^the database: canceling statement due to statement timeout|^no answer within 1 s$/,
    ],
  ])('%s is refused', async (_, query, fault) => {
    expect((await read(source(query, undefined, '1s'))).fault?.text).toMatch(fault);
    expect(
      (await cluster.query('SELECT count(*)::int AS n, (SELECT last_value::int FROM s) AS s FROM owners')).rows,
    ).toEqual([{ n: 2, s: 1 }]);
  });

  it('a server that hangs is given up in time, and by the end of the process', async () => {
    const proxy = await TcpProxy.start(Number(new URL(url).port));
    onTestFinished(() => proxy.close());
    proxy.hang();
    const at = new URL(url);
    at.port = String(proxy.port);
    expect((await read(source('SELECT 1 AS mail, 1 AS devices', undefined, '1s'), at.href)).fault?.text).toMatch(
      /^no answer within 1 s$|timeout/,
    );
    const [place, ending] = [world(), new AbortController()];
    place.put('hr.url', at.href);
    setTimeout(() => ending.abort(), 50);
    await place.reader.readDue([source('SELECT 1 AS mail, 1 AS devices', undefined, '60s')], ending.signal);
    expect(place.logged).toEqual([]);
  });

  it.each([
    ['an address that is none', 'postgres://me:hunter2@[', /^the address of the database is none$/],
    ['a database that does not exist', '', /^the database: database "none" does not exist \(3D000\)$/],
    [
      'a port that nobody listens on',
      'postgres://me:hunter2@127.0.0.1:1/x',
      /^the database: connect ECONNREFUSED 127\.0\.0\.1:1 \(ECONNREFUSED\)$/,
    ],
  ])('%s is named without the password', async (_, at, fault) => {
    const { fault: found } = await read(source('SELECT 1 AS mail'), at || cluster.url('none'));
    expect(found?.text).toMatch(fault);
    expect(found?.text).not.toContain('hunter2');
  });
});
