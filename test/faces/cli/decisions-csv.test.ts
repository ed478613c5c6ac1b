// test: `decisions --format csv` of more decisions than are read at once: each of them, once, newest first.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate, openDatabase } from '../../../src/store/sqlite/database.ts';
import { command } from '../../support/in-process.ts';
import { fillLarge, LARGE_RULES, SMALL } from '../../support/large-database.ts';

const SIZE = { ...SMALL, runs: 20, decisionsOfRun: 600, audit: 10 };

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-csv-'));
  const db = openDatabase(join(dir, 'trustward.db'));
  migrate(db);
  fillLarge(db, SIZE);
  db.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const csv = (...args: string[]) =>
  command(['decisions', '--format', 'csv', ...args], { TRUSTWARD_DB: join(dir, 'trustward.db') });
const idsIn = (text: string) =>
  text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0]);

it('writes every decision once, in the order in which JSON has the newest of them', async () => {
  const ids = idsIn((await csv('--limit', '1000000')).out);
  expect(ids.length).toBe(SIZE.runs * SIZE.decisionsOfRun);
  expect(new Set(ids).size).toBe(ids.length);
  const json = await command(['decisions', '--format', 'json', '--limit', '2500'], {
    TRUSTWARD_DB: join(dir, 'trustward.db'),
  });
  const { decisions } = JSON.parse(json.out) as { decisions: { id: string }[] };
  expect(ids.slice(0, 2_500)).toEqual(decisions.map(({ id }) => id));
});

it.each([1, 999, 1_000, 1_001, 2_000])('ends after %i', async (limit) => {
  expect(idsIn((await csv('--limit', String(limit))).out).length).toBe(limit);
});

it('keeps to its filters on every page', async () => {
  const rule = LARGE_RULES[0] as string;
  const { out } = await csv('--rule', rule, '--limit', '1000000');
  const rules = out
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[1]);
  expect(new Set(rules)).toEqual(new Set([rule]));
  expect((await csv('--rule', 'none', '--limit', '5')).out.trimEnd().split('\r\n')).toHaveLength(1);
});

it('writes a file whole, readable by its owner alone', async () => {
  const file = join(dir, 'decisions.csv');
  expect(await csv('--limit', '3000', '--out', file)).toMatchObject({ code: 0, out: '' });
  expect(idsIn(readFileSync(file, 'utf8')).length).toBe(3_000);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.new`)).toBe(false);
  expect(readdirSync(dir).filter((name) => name.endsWith('.new'))).toEqual([]);
});
