// commands: what `--out` writes is what the name of the file promises.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { outputOf } from '../../../src/faces/cli/io.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-out-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const REPORT = ['text', 'json', 'md', 'csv', 'html'] as const;
const written = (file: string, allowed: readonly string[] = REPORT, format?: string) =>
  outputOf({ out: join(dir, file), ...(format && { format }) }, allowed, 'text');

it.each([
  ['x.html', 'html'],
  ['x.HTM', 'html'],
  ['x.md', 'md'],
  ['run-12.v2.json', 'json'],
  ['x.csv', 'csv'],
  ['x.txt', 'text'],
  ['report', 'text'],
])('without --format, a file `%s` holds %s', (file, format) => {
  expect(written(file)).toBe(format);
});

it('the ending decides only between formats that a command has', () => {
  expect(written('rules.xml', ['text', 'json', 'junit'])).toBe('junit');
  expect(outputOf({ out: join(dir, 'audit.anything') }, ['ndjson'], 'ndjson')).toBe('ndjson');
  expect(() => written('x.html', ['text', 'json', 'md'])).toThrow(
    /^--out: `.*x\.html` ends in `\.html`: expected \.txt, \.json, \.md, or name a format with --format$/,
  );
  expect(() => written('x.pdf')).toThrow('expected .txt, .json, .md, .csv, .html');
});

it('an explicit --format wins', () => {
  expect(written('x.pdf', REPORT, 'csv')).toBe('csv');
  expect(written('x.html', REPORT, 'csv')).toBe('csv');
});
