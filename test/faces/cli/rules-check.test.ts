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

it('a text that is almost a usual value of the field is named, and is no mistake', async () => {
  const when = '{ "in": [{ var: Platform }, [Windows, MacOS]] }';
  writeFileSync(join(dir, 'tried.yaml'), rule(when, '  - { name: mac, given: { Platform: MacOS }, expect: match }'));
  const text = 'Rule `tried` compares `Platform` with "MacOS", which is not a usual value of it. Did you mean "macOS"?';
  expect(await ask('check')).toMatchObject({ code: 0, out: `1 rule can be loaded\n${text}\n` });
  const found = { rule: 'tried', path: 'Platform', value: 'MacOS', meant: 'macOS' };
  expect(JSON.parse((await ask('check', '--format', 'json')).out)).toMatchObject({ almostValues: [found] });
  expect(await ask('test')).toMatchObject({ code: 0, out: expect.stringContaining(text) });
});

it('a rule that fails its own tests is named, for it would be in force all the same', async () => {
  const when = '{ "==": [{ var: OS }, macOS] }';
  writeFileSync(join(dir, 'tried.yaml'), rule(when, '  - { name: wrong, given: {}, expect: match }'));
  const { code, out } = await ask('check');
  expect({ code, out }).toMatchObject({
    code: 0,
    out: expect.stringContaining('rule `tried` fails 1 of its own 1 test,'),
  });
  const failing = [{ rule: 'tried', failed: 1, of: 1 }];
  expect(JSON.parse((await ask('check', '--format', 'json')).out)).toMatchObject({ failing });
});

it('only the rule or the file that is named is tested', async () => {
  const when = '{ "==": [{ var: OS }, macOS] }';
  const failing = rule(when, '  - { name: wrong, given: {}, expect: match }');
  mkdirSync(join(dir, 'more'));
  writeFileSync(join(dir, 'tried.yaml'), rule(when, '  - { name: x, given: { OS: macOS }, expect: match }'));
  writeFileSync(join(dir, 'more/other.yaml'), failing.replace('id: tried', 'id: other'));
  for (const name of ['tried', 'tried.yaml', join(dir, 'tried.yaml')])
    expect(await ask('test', name)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1 passed, 0 failed, 1 rule:/m),
    });
  for (const name of ['other', 'more/other.yaml'])
    expect(await ask('test', name)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^0 passed, 1 failed, 1 rule:/m),
    });
  const none = await ask('test', 'othr');
  expect(none).toMatchObject({ code: 1, out: '' });
  expect(none.err).toContain(`\`${dir}\` has no rule and no file \`othr\`; did you mean \`other\`?`);
});
