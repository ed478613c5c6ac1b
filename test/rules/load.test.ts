// test: loading a folder: all problems together, with their places; hostile files; what a rule set asks to be pulled.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { KnownRules, loadRules, parseRule, rulesJsonSchema } from '../../src/rules/load/read-rule.ts';
import { problemsOf, ruleOf, TRAITS } from './sample-traits.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rules-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const load = (): ReturnType<typeof loadRules> => loadRules(dir, { traits: TRAITS });
const parse = (text: string, file = 'x.yaml'): string[] => {
  const parsed = parseRule(text, file, { traits: TRAITS });
  return 'problems' in parsed ? parsed.problems.map(problemLine) : [];
};
const GOOD = 'subject: device\nwhen: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }\nthen: ban_device\n';

describe('a rules folder', () => {
  it('may be empty', async () => {
    expect(await load()).toMatchObject({ rules: [], problems: [] });
  });

  it('is refused where it is missing', async () => {
    dir = join(dir, 'none');
    await expect(load()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is read again where a text, a name or the set of actions differs, and only there', async () => {
    const known = new KnownRules();
    const rulesOf = async (traits: typeof TRAITS) => (await loadRules(dir, { traits, known })).rules;
    writeFileSync(join(dir, 'a.yaml'), `id: a-rule\n${GOOD}`);
    const [first] = await rulesOf(TRAITS);
    expect((await rulesOf(TRAITS))[0]).toBe(first);
    writeFileSync(join(dir, 'a.yaml'), `id: a-rule\nseverity: high\n${GOOD}`);
    const [changed] = await rulesOf(TRAITS);
    expect(changed).toMatchObject({ id: 'a-rule', severity: 'high' });
    const without = new Map([...TRAITS].filter(([name]) => name !== 'ban_device'));
    const refused = await loadRules(dir, { traits: without, known });
    expect(refused.problems.map(({ message }) => message).join()).toContain('ban_device');
  });

  it('gives the problems of every file, and the good rules beside them', async () => {
    mkdirSync(join(dir, 'sub'));
    writeFileSync(join(dir, 'a.yaml'), `id: a-rule\n${GOOD}sevrity: high\n`);
    writeFileSync(
      join(dir, 'sub', 'b.yml'),
      'id: b-rule\nsubject: device\nwhen: { "==": [{ var: Bannd }, "TRUE"] }\nthen: bann_device\n',
    );
    writeFileSync(
      join(dir, 'c.json'),
      '{"id": "c-rule", "subject": "device",\n "when": {"==": [{"var": "OS"}, "x"]}, "then": "notify"}',
    );
    writeFileSync(join(dir, 'notes.txt'), 'not a rule');
    writeFileSync(join(dir, '.hidden.yaml'), 'nor this');
    const { rules, problems } = await load();
    expect(rules.map((rule) => rule.id)).toEqual(['c-rule']);
    expect(problems.map(problemLine)).toEqual([
      'a.yaml:5:1: there is no `sevrity` in a rule; did you mean `severity`?',
      'sub/b.yml:3:18: a device has no field `Bannd`; did you mean `Banned`?',
      'sub/b.yml:4:1: unknown action `bann_device`; did you mean `ban_device`?',
    ]);
  });

  it('has each id once', async () => {
    writeFileSync(join(dir, 'a.yaml'), `id: same\n${GOOD}`);
    writeFileSync(join(dir, 'b.yaml'), `title: B\nid: same\n${GOOD}`);
    const { rules, problems } = await load();
    expect(rules).toHaveLength(1);
    expect(problems.map(problemLine)).toEqual([
      'b.yaml:2:1: the id `same` is used by `a.yaml` already; ids are unique',
    ]);
  });

  it('keeps its hash when a test is added, and changes it with a condition', async () => {
    writeFileSync(join(dir, 'a.yaml'), `id: a\n${GOOD}`);
    const first = await load();
    writeFileSync(join(dir, 'a.yaml'), `id: a\n${GOOD}tests: [{ name: clean, expect: no_match }]\n`);
    expect((await load()).hash).toBe(first.hash);
    writeFileSync(join(dir, 'a.yaml'), `id: a\n${GOOD.replace('"TRUE"', '"FALSE"')}`);
    expect((await load()).hash).not.toBe(first.hash);
  });
});

describe('a file', () => {
  it.each<[string, string, string, string]>([
    ['nested 100,000 deep as YAML', `when: ${'['.repeat(100_000)}`, 'x.yaml', 'nested deeper than'],
    ['nested 100,000 deep as block lists', '- '.repeat(100_000), 'x.yaml', 'nested deeper than'],
    ['nested 100,000 deep as JSON', `${'[1,'.repeat(60_000)}1${']'.repeat(60_000)}`, 'x.json', 'nested deeper than'],
    [
      'with a condition 40 deep',
      `id: x\nsubject: device\nthen: notify\nwhen: ${'{"!": ['.repeat(40)}true${']}'.repeat(40)}`,
      'x.yaml',
      'nested deeper than 32 operators',
    ],
    [
      'with a condition of 2,000 values',
      `id: x\nsubject: device\nthen: notify\nwhen: {in: [{var: LoginCount}, [${'1,'.repeat(2_000)}1]]}`,
      'x.yaml',
      'more than 1000 operators and values',
    ],
    [
      'that doubles itself by aliases',
      `a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: &e [*d, *d]\nf: &f [*e, *e]\ng: &g [*f, *f]\nh: [*g, *g]`,
      'x.yaml',
      'aliases',
    ],
    ['that contains itself', 'a: &a [*a]', 'x.yaml', 'x.yaml:'],
    ['that is too large', `#${'x'.repeat(300_000)}`, 'x.yaml', 'larger than 256 KiB'],
    ['that is no YAML', 'id: [a\nb', 'x.yaml', 'x.yaml:'],
    ['that is no JSON', '{"id": x}', 'x.json', 'x.json:1:8: not JSON: expected a value, found `x}`'],
    ['with a key twice', 'id: a\nid: b', 'x.yaml', 'x.yaml:2:1: this key is given twice'],
    ['that is empty', '', 'x.yaml', 'expected a rule'],
    ['of zero bytes', '\u0000\u0000', 'x.yaml', 'not text'],
    ['that wants to set a prototype', '{"__proto__": {"id": "x"}}', 'x.json', 'there is no `__proto__`'],
  ])('%s is refused with its place', (_, text, file, words) => {
    expect(parse(text, file).join('\n')).toContain(words);
  });

  it('is refused for a duration without a unit, a wrong mode and a missing action, all at once', () => {
    const lines = parse(
      'id: Bad Id\nsubject: device\nwhen: {missing: [OS]}\nmode: enfroce\nfor: 10\ncooldown: 1hour\nfresh: {MdmData.Source: 7d}\n',
    );
    expect(lines).toEqual([
      'x.yaml:1:1: `id`: expected lower-case words joined by hyphens (kebab-case), found `"Bad Id"`',
      'x.yaml:1:1: `then` is missing',
      'x.yaml:4:1: `mode`: expected one of off, dry-run, approve, enforce, found `"enfroce"`; did you mean `enforce`?',
      'x.yaml:5:1: `for`: expected a duration, found `10`; write a number and one of ms, s, m, h, d, w, such as "10m" or "90d"',
      'x.yaml:6:1: `cooldown`: expected a duration, found `"1hour"`; did you mean "1h"?',
      'x.yaml:7:9: `fresh` takes timestamps, but `MdmData.Source` is a text; did you mean `MdmData.Timestamp`?',
    ]);
  });

  it('is refused for an action that cannot act on its subject, or that lacks such settings', () => {
    expect(problemsOf({ missing: ['OS'] }, { then: 'disable_service' })[0]).toContain('acts on a service');
    expect(problemsOf({ missing: ['OS'] }, { then: [{ action: 'ban_device', with: { x: 1 } }] })[0]).toContain(
      'takes no settings',
    );
  });

  it('reads a field that the server added, once it is declared', () => {
    const when = { '==': [{ var: 'MdmData.Encrypted' }, 'FALSE'] };
    expect(problemsOf(when)[0]).toContain('in `declares`');
    expect(problemsOf(when, { declares: { 'MdmData.Encrypted': 'flag' } })).toEqual([]);
    expect(problemsOf(when, { declares: { 'MdmData.Encrypted': 'boolean' } })[0]).toContain('a boolean');
    expect(problemsOf(when, { declares: { 'MdmData.Source': 'flag' } }).join('\n')).toContain('is known already');
  });
});

describe('what must be pulled', () => {
  it('is the unpaged list where a rule needs it, and events only where a rule counts them', () => {
    expect(compileRules([ruleOf({ '<': [{ var: 'LoginCount' }, 1] })]).needs).toEqual({
      sources: new Set(['devices']),
      unpaged: new Set(['devices']),
      owners: false,
      devices: false,
      windowMs: 0,
    });
    const counting = compileRules([
      ruleOf({ '>': [{ event_count: { within: '2h' } }, 1] }),
      ruleOf({ '==': [{ var: 'OS' }, 'x'] }),
    ]);
    expect(counting.needs).toMatchObject({
      sources: new Set(['devices', 'events']),
      unpaged: new Set(),
      windowMs: 7_200_000,
    });
  });

  it('includes the fields of owners that a rule reads', () => {
    const owners = compileRules([
      ruleOf({ some: [{ var: '$owners' }, { and: [{ in_group: 'Admins' }, { '<': [{ var: 'LoginCount' }, 3] }] }] }),
    ]);
    expect(owners.needs).toMatchObject({
      owners: true,
      sources: new Set(['devices', 'users']),
      unpaged: new Set(['devices', 'users']),
    });
    expect(owners.joinedPaths('users')).toEqual(['Email', 'Groups', 'LoginCount']);
    const devices = compileRules([
      ruleOf({ some: [{ var: '$devices' }, { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }] }, {}, 'user'),
    ]);
    expect(devices.needs).toMatchObject({ devices: true, unpaged: new Set(['users']) });
    expect(devices.joinedPaths('devices')).toEqual(['MdmData.CompromisedStatus', 'SerialNumber']);
  });
});

it('a rule is judged between runs unless it says not to, and that is part of its meaning', () => {
  const [watched, unwatched] = ['', 'watch: false\n'].map((line) => {
    const parsed = parseRule(`id: x\n${GOOD}${line}`, 'x.yaml', { traits: TRAITS });
    return 'rule' in parsed ? parsed.rule : undefined;
  });
  expect([watched?.watch, unwatched?.watch]).toEqual([true, false]);
  expect(unwatched?.hash).not.toBe(watched?.hash);
  expect(parse(`id: x\n${GOOD}watch: 30s\n`)).toEqual([expect.stringMatching(/^x\.yaml:5:1: .*watch/)]);
});

it('the JSON Schema that editors read is the one of this format', () => {
  const kept = JSON.parse(readFileSync(new URL('../../rules/rule.schema.json', import.meta.url), 'utf8'));
  expect(kept).toEqual(rulesJsonSchema());
});
