// commands: `rules check` and `rules test` on a folder: what they print of a rule that a person got wrong, and of one that is right.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { command } from '../../support/in-process.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-rules-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const rule = (when: string, tests: string) => `id: tried
title: A rule that is tried
severity: low
subject: device
when: ${when}
then: notify
tests:
${tests}
`;

const ask = (name: string, ...more: string[]) => command(['rules', name, '--rules', dir, ...more], {});

it('a score compared with a share of 1 is refused at its place, with the score that may be meant', async () => {
  const when = '{ "<": [{ var: TrustData.EntityTrustscore }, 0.5] }';
  writeFileSync(join(dir, 'tried.yaml'), rule(when, '  - { name: low, given: {}, expect: no_match }'));
  const { code, out, err } = await ask('check');
  expect(code).toBe(2);
  expect({ out, err }).toEqual({
    out: '',
    err: 'trustward: tried.yaml:5:52: `TrustData.EntityTrustscore` is a trust score from 0 to 100, not from 0 to 1; did you mean 50?\n',
  });
});

it('a list that no rule reads is named, and is no mistake', async () => {
  mkdirSync(join(dir, 'lists'));
  writeFileSync(join(dir, 'lists/spare.yaml'), 'entries: [C1]');
  writeFileSync(
    join(dir, 'tried.yaml'),
    rule('{ "==": [{ var: OS }, x] }', '  - { name: x, given: {}, expect: no_match }'),
  );
  const line = 'no rule reads the list `spare` (`lists/spare.yaml`)';
  expect(await ask('check')).toMatchObject({ code: 0, out: `1 rule can be loaded\n${line}\n` });
  expect(JSON.parse((await ask('check', '--format', 'json')).out)).toMatchObject({ unusedLists: ['spare'] });
});

it('a timestamp of 0 is missing', async () => {
  const tests = [
    '  - { name: never seen, given: { LastLogin: 0 }, expect: match }',
    '  - { name: seen, given: {}, expect: no_match }',
  ];
  writeFileSync(join(dir, 'tried.yaml'), rule('{ missing: [LastLogin] }', tests.join('\n')));
  const { code, out } = await ask('test');
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('2 passed') });
});

it('the help of the console lists the scopes of keys, and how to make a new one', async () => {
  const { code, out } = await command(['console', '--help'], {});
  expect(code).toBe(0);
  for (const scope of ['Admin', 'ReadOnly', 'ServiceAuthor', 'EventWriter']) expect(out).toContain(scope);
  expect(out).toMatch(/once/);
  expect(out).toContain('--api-key');
});

it('the list names rules that only whole runs judge', async () => {
  const when = '{ "==": [{ var: OS }, macOS] }';
  const tests = '  - { name: x, given: {}, expect: no_match }';
  writeFileSync(join(dir, 'tried.yaml'), rule(when, tests).replace('then:', 'watch: false\nthen:'));
  expect((await ask('list')).out).toContain('whole runs only');
  expect(JSON.parse((await ask('list', '--format', 'json')).out)).toMatchObject([{ id: 'tried', watch: false }]);
});
