// rules: lists that rules share: read with the set, typed, a part of what a rule means, and kept with what was decided.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { explanationText } from '../../src/faces/report/why-words.ts';
import { recordedRules } from '../../src/history/replay/gated-again.ts';
import { activate } from '../../src/rules/active/rule-holder.ts';
import { explain } from '../../src/rules/explain.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { unusedLists } from '../../src/rules/load/named-lists.ts';
import { KnownRules, loadRules, rulesOf } from '../../src/rules/load/read-rule.ts';
import { runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, TRAITS, verdictOf } from './sample-traits.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lists-'));
  mkdirSync(join(dir, 'lists'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (file: string, text: string) => writeFileSync(join(dir, file), text);
const rule = (when: string, id = 'a-rule', more = '') =>
  put(`${id}.yaml`, `id: ${id}\nsubject: device\nwhen: ${when}\nthen: notify\n${more}`);
const IN = '{ in: [{ var: SerialNumber }, { var: $lists.contractors }] }';
const load = (known?: KnownRules) => loadRules(dir, { traits: TRAITS, known });
const lines = async () => (await load()).problems.map(problemLine);

async function only(): Promise<LoadedRule> {
  const { rules, problems } = await load();
  expect(problems.map(problemLine)).toEqual([]);
  return rules[0] as LoadedRule;
}

describe('a condition on a list', () => {
  beforeEach(() => put('lists/contractors.yaml', 'description: Theirs\nentries: [C1, C2]\n'));

  it('matches who is in it, and not who is in none; without the field it is unknown', async () => {
    rule(IN);
    const loaded = await only();
    const records: Facts[] = [{ SerialNumber: 'C2' }, { SerialNumber: 'C3' }, {}];
    const verdicts = records.map((record) => verdictOf(loaded, record));
    expect(verdicts).toEqual(['match', 'no_match', 'unknown']);
  });

  it('stands in a loop over owners, and in `where`, too', async () => {
    put('lists/types.yaml', 'entries: [Access]\n');
    put('lists/names.json', '{"entries": ["Eve"]}');
    rule('{ some: [{ var: $owners }, { in: [{ var: Name }, { var: $lists.names }] }] }', 'owned');
    rule(
      '{ ">=": [{ event_count: { where: { in: [{ var: type }, { var: $lists.types }] }, within: 1h } }, 1] }',
      'seen',
    );
    const { rules, problems } = await load();
    expect(problems).toEqual([]);
    const owners = new Map([['eve@x.org', { Email: 'eve@x.org', Name: 'Eve' }]]);
    const context = contextOf({ joins: { users: owners, devices: new Map() } });
    expect(verdictOf(rules[0] as LoadedRule, { Emails: ['eve@x.org'] }, context)).toBe('match');
    expect(rules[1]?.lists.map(({ name }) => name)).toEqual(['types']);
  });

  it('is explained by the name of the list and how many entries it has', async () => {
    rule(IN);
    const shown = explain(await only(), { DeviceID: 'd', SerialNumber: 'C1' }, { ...contextOf(), events: [] });
    expect(explanationText(shown)).toContain('SerialNumber in the list contractors (2 entries)');
  });

  it('is tested by the tests of the rule, and json-logic-js agrees, also inside an element', async () => {
    const test = (name: string, serial: string, expected: string) =>
      `  - { name: ${name}, given: { SerialNumber: ${serial} }, expect: ${expected} }\n`;
    rule(IN, 'a-rule', `tests:\n${test('in', 'C1', 'match')}${test('out', 'C9', 'no_match')}`);
    const owner = (name: string) => `owners: [{ Name: ${name} }, { Name: C8 }]`;
    rule(
      '{ some: [{ var: $owners }, { in: [{ var: Name }, { var: $lists.contractors }] }] }',
      'b-rule',
      `tests:\n  - { name: in, ${owner('C1')}, expect: match }\n  - { name: out, ${owner('C9')}, expect: no_match }\n`,
    );
    const { rules } = await load();
    const report = runRuleTests(rules, { mutate: true });
    expect([report.passed, report.failed]).toEqual([4, 0]);
    expect(report.rules.map(({ problems }) => problems)).toEqual([[], []]);
  });

  it('is the same in another thread', async () => {
    rule(IN);
    const { rules } = compileRules([await only()], 'v1').portable();
    const [sent] = rulesOf(structuredClone({ rules }));
    expect(verdictOf(sent as LoadedRule, { SerialNumber: 'C1' })).toBe('match');
  });
});

describe('a changed list', () => {
  const known = new KnownRules();
  it('is another rule and another set, and only for the rules that read it; another description is none', async () => {
    put('lists/contractors.yaml', 'entries: [C1]\n');
    rule(IN);
    rule('{ "==": [{ var: SerialNumber }, C1] }', 'other');
    const hashes = async () => {
      const { rules, hash } = await load(known);
      return [hash, ...rules.map((one) => one.hash)];
    };
    const before = await hashes();
    put('lists/contractors.yaml', 'description: Theirs\nentries: [C1]\n');
    expect(await hashes()).toEqual(before);
    put('lists/contractors.yaml', 'entries: [C1, C2]\n');
    const after = await hashes();
    expect([after[0] === before[0], after[1] === before[1], after[2] === before[2]]).toEqual([false, false, true]);
    const { rules } = await load(known);
    expect(verdictOf(rules[0] as LoadedRule, { SerialNumber: 'C2' })).toBe('match');
  });

  it('does not change what was decided before: the stored set has the list as it was', async () => {
    put('lists/contractors.yaml', 'entries: [C1]\n');
    rule(IN);
    const { rules, hash } = await loadRules(dir, { traits: ACTIONS });
    const { files } = activate(rules, hash);
    put('lists/contractors.yaml', 'entries: [C2]\n');
    const again = recordedRules({ hash, files: files ?? new Map() }, ACTIONS, 'v1');
    expect(again.problems).toEqual([]);
    expect(again.rules.rules.map((one) => one.hash)).toEqual(rules.map((one) => one.hash));
    expect(verdictOf(again.rules.rules[0] as LoadedRule, { SerialNumber: 'C1' })).toBe('match');
  });
});

describe('what is wrong with a list is named with its file, and with the rule that reads it', () => {
  it.each([
    ['no entries', 'description: x\n', '1:1: `entries`: expected a list of values'],
    ['none', 'entries: []\n', '1:1: `entries` is empty: a condition on it would be the same for every subject'],
    [
      'two types',
      'entries:\n  - C1\n  - 12\n',
      '3:5: `entries[1]`: expected a text as the first entry is, found `12`; a text of digits stands in quotes',
    ],
    ['a flag', 'entries: [C1, true]\n', '1:15: `entries[1]`: expected a text or a number, found `true`'],
    ['a value twice', 'entries: [C1, C2, C1]\n', '1:19: `entries[2]`: `"C1"` is `entries[0]` already'],
    ['a space', 'entries: ["C1 "]\n', '1:11: `entries[0]`: it begins or ends with a space'],
    ['an empty text', 'entries: [""]\n', '1:11: `entries[0]`: it is empty'],
    ['another key', 'entrys: [C1]\nentries: [C1]\n', '1:1: there is no `entrys` in a list; did you mean `entries`?'],
    ['a list alone', '- C1\n', '1:1: expected a list: an object with `entries`'],
    [
      'too many',
      `entries: [${Array.from({ length: 10_001 }, (_, at) => `C${at}`)}]`,
      '1:1: `entries`: a list has at most 10000 of them, found 10001',
    ],
    [
      'too large a file',
      `entries: [${'C'.repeat(262_145)}]`,
      '1:1: the file is larger than 256 KiB; a list has one file',
    ],
    ['no YAML', 'entries: [C1', '1:'],
  ])('%s', async (_, text, line) => {
    put('lists/contractors.yaml', text);
    rule(IN);
    const found = await lines();
    expect(found.find((each) => each.startsWith('lists/contractors.yaml:'))).toContain(line);
    expect(found.find((each) => each.startsWith('a-rule.yaml:'))).toContain(
      'the list `contractors` is refused: see what is wrong with `lists/contractors.yaml`',
    );
  });

  it('a name that is no name of a list', async () => {
    put('lists/The Contractors.yaml', 'entries: [C1]\n');
    expect((await lines())[0]).toContain('lists/The Contractors.yaml:1:1: the file of a list is called as the list');
  });

  it('a name twice, also in two folders', async () => {
    put('lists/contractors.yaml', 'entries: [C1]\n');
    const other = mkdtempSync(join(tmpdir(), 'lists-'));
    try {
      mkdirSync(join(other, 'lists'));
      writeFileSync(join(other, 'lists/contractors.json'), '{"entries": ["C2"]}');
      const folders = [dir, other].map((each, at) => ({ dir: each, label: `${at}/` }));
      const { problems } = await loadRules(folders, { traits: TRAITS });
      expect(problems.map(problemLine)).toEqual([
        '1/lists/contractors.json:1:1: the list `contractors` is in `0/lists/contractors.yaml` already; names of lists are unique',
      ]);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it.each([
    [
      'a list that there is not',
      '{ in: [{ var: SerialNumber }, { var: $lists.contractor }] }',
      'there is no list `contractor`; did you mean `contractors`?',
    ],
    ['no name', '{ in: [{ var: SerialNumber }, { var: $lists }] }', 'a list has a name: write `$lists.NAME`'],
    [
      'a default',
      '{ in: [{ var: SerialNumber }, { var: [$lists.contractors, x] }] }',
      '`$lists.contractors` is always there, and takes no default',
    ],
    [
      'a number in a list of texts',
      '{ in: [{ var: TrustData.EntityTrustscore }, { var: $lists.contractors }] }',
      'cannot be in a list (of texts)',
    ],
    [
      'a value that the field never has',
      '{ in: [{ var: Banned }, { var: $lists.contractors }] }',
      'the list `contractors`: `Banned` is "TRUE" or "FALSE", never "C1"',
    ],
    ['a list as a text', '{ "==": [{ var: SerialNumber }, { var: $lists.contractors }] }', 'the list `contractors`'],
  ])('%s', async (_, when, message) => {
    put('lists/contractors.yaml', 'entries: [C1]\n');
    rule(when);
    expect((await lines()).join('\n')).toContain(message);
  });

  it('one that no rule reads is no mistake, and is named', async () => {
    put('lists/contractors.yaml', 'entries: [C1]\n');
    put('lists/partners.yaml', 'entries: [P1]\n');
    rule(IN);
    const { rules, lists, problems } = await load();
    expect([problems, unusedLists(lists, rules).map(({ name }) => name)]).toEqual([[], ['partners']]);
  });
});
