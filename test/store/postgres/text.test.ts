// test: every text of JavaScript is stored in PostgreSQL and comes back, as a value and within a document; and a statement's `?` are numbered
// where they are values.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PostgresWork } from '../../../src/store/postgres/postgres-work.ts';
import { fromStored, numbered, toStored } from '../../../src/store/postgres/shared-tables.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

/** With half pairs, the character 0, the mark, and what looks like an escape of JSON. */
const odd = fc.array(
  fc.oneof(
    fc.constantFrom(
      '\0',
      '\u0001',
      '\ud83d',
      '\ude00',
      '\u{1f600}',
      '\\',
      '\\u0000',
      '\\ud800',
      '"',
      '0',
      '1',
      'd800',
      'a',
      'é',
    ),
    fc.string({ unit: 'binary' }),
  ),
  { maxLength: 12 },
);
const text = odd.map((parts) => parts.join(''));

test('a text that is made storable has neither the character 0 nor half of a pair, and comes back', () => {
  fc.assert(
    fc.property(text, (one) => {
      const stored = toStored(one);
      expect(stored).not.toContain('\0');
      expect(Buffer.from(stored).toString()).toBe(stored);
      expect(fromStored(stored)).toBe(one);
    }),
  );
});

test('texts that PostgreSQL has are stored as they are, and keep their order', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(toStored(one)).toBe(one);
      expect(toStored(`${one}\0`) < toStored(`${one}a${other}`)).toBe(true);
    }),
  );
});

test.each([
  ['SELECT ? WHERE a = ? LIMIT ?', 'SELECT $1 WHERE a = $2 LIMIT $3'],
  ["SELECT '?', 'it''s ?', ? -- what?\n, \"a?\", ?", "SELECT '?', 'it''s ?', $1 -- what?\n, \"a?\", $2"],
])('the values of `%s` are numbered', (sql, expected) => {
  expect(numbered(sql)).toBe(expected);
});

describe.skipIf(hasNoPostgres)(`PostgreSQL${NEEDS_POSTGRES}`, () => {
  const database = new InPostgres();
  beforeAll(() => database.prepare(), 180_000);
  afterAll(() => database.end());

  test('gives every text back, as a value, as an element of a list and as a member of a document', async () => {
    const db = new PostgresWork(database.pool, newOrganization());
    const sql = `SELECT CAST(? AS TEXT) AS value, (SELECT value FROM json_each(?)) AS element, json_extract(?, '$.a[0].b') AS member,
      (SELECT inner_one.value ->> '$.b' FROM json_each(?, '$.a') AS outer_one, json_each(outer_one.value) AS inner_one) AS nested`;
    await fc.assert(
      fc.asyncProperty(text, async (one) => {
        const documents = [[one], { a: [{ b: one }] }, { a: [[{ b: one }]] }].map((document) =>
          JSON.stringify(document),
        );
        const found = await db.reading(db.get(sql, one, ...documents));
        expect(found).toEqual({ value: one, element: one, member: one, nested: one });
      }),
      { numRuns: 400 },
    );
  });
});
