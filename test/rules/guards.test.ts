// rules: `guards.yaml` is a part of its rule set: checked like a rule, in the hash, kept with what was decided; several folders add up.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardLines, guardsOf } from '../../src/domain/guards.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { recordedRules } from '../../src/history/replay/gated-again.ts';
import { activate } from '../../src/rules/active/rule-holder.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { filesOf } from '../../src/rules/load/guards-file.ts';
import { loadRules, parseRuleSet } from '../../src/rules/load/read-rule.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'guards-'));
  for (const folder of ['a', 'b/deeper']) mkdirSync(join(dir, folder), { recursive: true });
  put('a/one.yaml', 'id: one\nsubject: device\nwhen: { "==": [{ var: SerialNumber }, C1] }\nthen: ban_device\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (file: string, text: string) => writeFileSync(join(dir, file), text);
const load = (...folders: string[]) => {
  const asked = (folders.length === 0 ? ['a'] : folders).map((name) => ({
    dir: join(dir, name),
    label: folders.length > 1 ? `${name}/` : '',
  }));
  return loadRules(asked.length === 1 ? (asked[0]?.dir as string) : asked, { traits: ACTIONS });
};

const ALL = `ask:
  - Email: ceo@example.com
    reason: may not be locked out without a call
  - Groups: Board
last_device: ask
devices_of_a_person: { per_day: 2 }
`;

describe('guards', () => {
  it('are with every rule of the set, and in words', async () => {
    put('a/guards.yaml', ALL);
    const { rules, problems } = await load();
    expect(problems).toEqual([]);
    const guards = guardsOf(rules);
    expect(guards).toMatchObject({
      ask: [
        {
          selector: { kind: 'user', field: 'Email', value: 'ceo@example.com' },
          reason: 'may not be locked out without a call',
        },
        { selector: { kind: 'user', field: 'Groups', value: 'Board' }, reason: undefined },
      ],
      lastDevice: true,
      perDay: 2,
    });
    expect(guards && guardLines(guards)).toEqual([
      'always asks a person about user ceo@example.com, Groups = Board',
      "asks before it takes a person's last device",
      'asks before it takes more than 2 devices of a person within 24 hours',
    ]);
  });

  it('change the hash of the set, but not that of a rule; a set without them has the hash that it had', async () => {
    const bare = await load();
    put('a/guards.yaml', ALL);
    const guarded = await load();
    put('a/guards.yaml', ALL.replace('per_day: 2', 'per_day: 3'));
    const other = await load();
    expect(new Set([bare.hash, guarded.hash, other.hash]).size).toBe(3);
    expect(guarded.rules[0]?.hash).toBe(bare.rules[0]?.hash);
    rmSync(join(dir, 'a/guards.yaml'));
    expect((await load()).hash).toBe(bare.hash);
  });

  it('are kept with the set that decided, and read again from there', async () => {
    put('a/guards.yaml', ALL);
    put('b/guards.json', '{ "ask": [{ "SerialNumber": "C02" }], "devices_of_a_person": { "per_day": 1 } }');
    const { rules, hash } = await load('a', 'b');
    const { files } = activate(rules, hash);
    put('a/guards.yaml', 'last_device: allow\n');
    const again = recordedRules({ hash, files: files ?? new Map() }, ACTIONS, 'v1');
    expect(again.problems).toEqual([]);
    expect(guardsOf(again.rules.rules)).toEqual(guardsOf(rules));
  });

  it('of several folders all apply: each selector, the smaller number, and `ask` wins', async () => {
    put('a/guards.yaml', ALL);
    put('b/guards.yaml', 'ask: [{ SerialNumber: C02 }]\nlast_device: allow\ndevices_of_a_person: { per_day: 1 }\n');
    const guards = guardsOf((await load('a', 'b')).rules);
    expect(guards?.ask.map(({ selector }) => selector.value)).toEqual(['ceo@example.com', 'Board', 'C02']);
    expect([guards?.lastDevice, guards?.perDay]).toEqual([true, 1]);
  });

  it('that are empty, or remarks alone, ask nobody', async () => {
    for (const text of ['', '# nothing yet\n', '{}\n']) {
      put('a/guards.yaml', text);
      const { problems, rules } = await load();
      expect([problems, guardsOf(rules)?.ask]).toEqual([[], []]);
    }
  });
});

describe('what is wrong with guards is named with its place', () => {
  it.each([
    ['no object', '- Email: a@x\n', '1:1: expected guards: an object with `ask`, `last_device`, `devices_of_a_person`'],
    ['another word', 'asks: []\n', '1:1: there is no `asks` in guards; did you mean `ask`?'],
    ['no list', 'ask: ceo@x\n', '1:1: `ask`: expected a list, such as `- Email: ceo@example.com`, found `"ceo@x"`'],
    ['another field', 'ask:\n  - Emial: a@x\n', '2:5: there is no `Emial` in guards here; did you mean `Email`?'],
    ['two fields', 'ask: [{ Email: a@x, Groups: b }]\n', 'found Email and Groups: write an entry for each'],
    ['no field', 'ask: [{ reason: x }]\n', '; there is none'],
    ['a number', 'ask: [{ SerialNumber: 12 }]\n', '1:9: `ask[0].SerialNumber`: expected a text, found `12`; a text of'],
    ['an empty value', 'ask: [{ Email: "" }]\n', '`ask[0].Email` is empty'],
    ['one twice', 'ask: [{ Email: a@x }, { Email: A@x }]\n', '`ask[1]` is about the same as `ask[0]`'],
    ['another answer', 'last_device: aks\n', '1:1: `last_device`: expected one of ask, allow, found `"aks"`'],
    ['no number', 'devices_of_a_person: { per_day: 0 }\n', '1:24: `devices_of_a_person.per_day`: expected a whole'],
    ['a number without a name', 'devices_of_a_person: 2\n', '1:1: `devices_of_a_person`: expected an object'],
    ['no YAML', 'ask: [\n', 'guards.yaml:'],
  ])('%s', async (_what, text, expected) => {
    put('a/guards.yaml', text);
    const { problems } = await load();
    expect(problems.map(problemLine).join('\n')).toContain(expected);
    expect(problems.map(({ file }) => file)).toContain('guards.yaml');
  });

  it('and so is a file below the top of its folder', async () => {
    put('b/deeper/guards.yaml', ALL);
    const [problem] = (await load('b')).problems;
    expect(problem).toMatchObject({
      file: 'deeper/guards.yaml',
      message: expect.stringContaining('move the file there'),
    });
  });
});

describe('approvals', () => {
  const TWO =
    'approvals:\n  - people: 2\n    groups: [security]\n    for: { rules: [one], actions: [ban_device], from: 3 }\n';

  it('are with every rule of the set, in its hash, in words, and kept with what was decided', async () => {
    const bare = await load();
    put('a/approvals.yaml', TWO);
    const { rules, problems, hash } = await load();
    expect(problems).toEqual([]);
    expect(hash).not.toBe(bare.hash);
    const guards = guardsOf(rules);
    const lines = guards && guardLines(guards);
    expect(lines).toEqual(['asks 2 people of security about plans of one, with ban_device, from 3 targets on']);
    const again = parseRuleSet(filesOf(rules), { traits: ACTIONS });
    expect(guardsOf(again.rules)?.approvals).toEqual(guards?.approvals);
  });

  it.each([
    ['approvals: []', 'approvals.yaml:1:1: `approvals` must not be empty'],
    ['approvals:\n  - {}', 'approvals.yaml:2:5: `approvals[0].people` is required'],
    ['approvals:\n  - people: 0', 'approvals.yaml:2:5: `approvals[0].people` must be at least 1'],
    ['approvals:\n  - people: 2\n    group: x', '`approvals[0]` has an unknown member: `group`'],
    [TWO.replace('[one]', '[on]'), '`approvals[0].for.rules`: there is no rule `on`; did you mean `one`?'],
    [TWO.replace('ban_device', 'ban'), '`approvals[0].for.actions`: there is no action `ban`'],
    [`${TWO}tokens: [{ token: a b, email: x@y }]`, '`tokens[0].token` expected the name of a token'],
    [`${TWO}tokens: [{ token: a, email: x }]`, '`tokens[0].email` expected an e-mail address'],
    [`${TWO}tokens: [{ token: a, email: x@y }, { token: a, email: z@y }]`, '`tokens` names a token twice'],
    ['nobody', 'approvals must be an object'],
  ])('that are wrong refuse the set: %j', async (text, message) => {
    put('a/approvals.yaml', text);
    const { problems } = await load();
    expect(problems.map(problemLine).join('\n')).toContain(message);
  });
});

describe('owners', () => {
  const owners = (...lines: string[]) => ['owners:', ...lines.map((line) => `  - ${line}`), ''].join('\n');
  const owned = async (...folders: string[]) =>
    guardsOf((await load(...folders)).rules)?.approvals?.owners?.map(({ folder, rules }) => [folder, ...rules]);

  beforeEach(() => {
    mkdirSync(join(dir, 'a/fleet/laptops'), { recursive: true });
    const text = 'subject: device\nwhen: { "==": [{ var: SerialNumber }, C1] }\nthen: ban_device\n';
    put('a/fleet/laptops/deep.yaml', `id: deep\nmode: off\n${text}`);
    put('a/fleet/flat.yaml', `id: flat\n${text}`);
    put('b/two.yaml', `id: two\n${text}`);
  });

  it('answer for the rules of the nearest folder, below the folder that their file lies in, as a stored set has it', async () => {
    const lines = [
      '{ folder: fleet, groups: [x] }',
      '{ folder: fleet/laptops, groups: [y] }',
      '{ folder: ., groups: [z] }',
    ];
    put('a/guards.yaml', owners(...lines));
    expect(await owned()).toEqual([
      ['fleet', 'flat'],
      ['fleet/laptops', 'deep'],
      ['.', 'one'],
    ]);
    put('b/guards.yaml', owners('{ folder: ., groups: [b] }'));
    const { rules, hash } = await load('a', 'b');
    expect(await owned('a', 'b')).toEqual([
      ['a/fleet', 'flat'],
      ['a/fleet/laptops', 'deep'],
      ['a', 'one'],
      ['b', 'two'],
    ]);
    const again = recordedRules({ hash, files: activate(rules, hash).files ?? new Map() }, ACTIONS, 'v1');
    expect(guardsOf(again.rules.rules)).toEqual(guardsOf(rules));
    expect(guardLines(guardsOf(rules) as never)).toContain('lets only y answer for the rules of `a/fleet/laptops`');
  });

  it('make another set of one whose rule moves to another folder', async () => {
    put('a/guards.yaml', owners('{ folder: fleet, groups: [x] }', '{ folder: fleet/laptops, groups: [y] }'));
    const { hash } = await load();
    renameSync(join(dir, 'a/fleet/flat.yaml'), join(dir, 'a/fleet/laptops/flat.yaml'));
    put(
      'a/fleet/other.yaml',
      'id: other\nsubject: device\nwhen: { "==": [{ var: SerialNumber }, C1] }\nthen: ban_device\n',
    );
    const moved = await load();
    renameSync(join(dir, 'a/fleet/laptops/flat.yaml'), join(dir, 'a/fleet/flat.yaml'));
    expect(new Set([hash, moved.hash, (await load()).hash]).size).toBe(3);
  });

  it.each([
    [
      'a folder that is not there',
      '{ folder: fleet/laptop, groups: [x] }',
      'there is no rule in a folder `fleet/laptop`; did you mean `fleet/laptops`?',
    ],
    ['another case', '{ folder: Fleet, groups: [x] }', 'there is no rule in a folder `Fleet`; did you mean `fleet`?'],
    ['a way out', '{ folder: ../b, groups: [x] }', 'expected a folder below the rules'],
    ['a way around', '{ folder: fleet/../fleet, groups: [x] }', 'expected a folder below the rules'],
    ['a whole path', '{ folder: /fleet, groups: [x] }', 'expected a folder below the rules'],
    ['a slash at the end', '{ folder: fleet/, groups: [x] }', 'expected a folder below the rules'],
    ['no group', '{ folder: fleet, groups: [] }', '2:22: `owners[0].groups` must not be empty'],
    [
      'a thousand groups',
      `{ folder: fleet, groups: [${Array.from({ length: 1_000 }, (_, at) => `g${at}`)}] }`,
      'at most 100',
    ],
    ['another word', '{ folder: fleet, group: [x] }', '`owners[0]`'],
    [
      'one folder twice',
      '{ folder: fleet, groups: [x] }\n  - { folder: fleet, groups: [y] }',
      '3:7: `owners[1].folder`: the folder `fleet` has its owners already',
    ],
  ])('with %s refuse the set', async (_, line, message) => {
    put('a/guards.yaml', owners(line));
    expect((await load()).problems.map(problemLine).join('\n')).toContain(message);
  });

  it('of a folder behind a link own what it leads to by the name of the link', async () => {
    symlinkSync(join(dir, 'b/two.yaml'), join(dir, 'a/fleet/laptops/linked.yaml'));
    put('a/guards.yaml', owners('{ folder: fleet/laptops, groups: [y] }'));
    expect(await owned()).toEqual([['fleet/laptops', 'deep', 'two']]);
  });
});
