// test: loading rules: what a folder may hold, all problems together with their places, and what is refused: constants, rules that see their own effect, a wrong look back.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { KnownRules, loadRules, parseRule, rulesJsonSchema } from '../../src/rules/load/read-rule.ts';
import { compareWithJsonLogic } from './agreement.ts';
import { problemsOf, ruleOf, TRAITS } from './sample-traits.ts';

const GOOD = 'subject: device\nwhen: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }\nthen: ban_device\n';

describe('loading a folder', () => {
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

    it.each([
      ['LastSeen', 'a device', 'LastLogin'],
      ['os_version', 'a device', 'OS'],
      ['hostname', 'a device', 'DeviceFriendlyName'],
      ['TrustScore', 'a device', 'TrustData.EntityTrustscore'],
      ['MdmData.Jailbroken', 'a device', 'MdmData.CompromisedStatus'],
    ])('is refused for a field that is called otherwise here, with its name: %s', (path, kind, meant) => {
      expect(problemsOf({ missing: [path] }).join()).toContain(
        `${kind} has no field \`${path}\`; did you mean \`${meant}\`?`,
      );
    });

    it('is refused for windows that no rule can act in, each with the way to write it', () => {
      const refused = (when_allowed: unknown) => problemsOf({ missing: ['OS'] }, { when_allowed }).join('\n');
      expect(refused('22:00-06:00')).toContain('`when_allowed`: `22:00-06:00`: its time zone is missing');
      expect(refused('22:00-06:00 Berlin')).toContain('there is no time zone `Berlin`');
      expect(refused('at night')).toContain('`at night`: expected `Fri 18:00-Mon 06:00`');
      expect(refused(['22:00-06:00 UTC', 'Mo 09:00-Fri 17:00 UTC'])).toContain('`Mo` is no day: expected Sun, Mon');
      expect(refused('09:00-09:00 UTC')).toContain('it covers the whole day: that is no restriction; leave it out');
      expect(refused(['00:00-12:00 UTC', '12:00-24:00 UTC'])).toContain(
        'leave no time between them: that is no restriction',
      );
      expect(refused('2026-01-01 00:00-2028-01-01 00:00 UTC')).toContain(
        'longer than a year: write windows that come again',
      );
      expect(refused(5)).toContain(
        'expected a window such as "Mon 09:00-Fri 17:00 Europe/Berlin", or a list of these, found `5`',
      );
      expect(refused([])).toContain('expected');
      const hashes = ['22:00-06:00 UTC', '22:00-05:00 UTC'].map(
        (when_allowed) => ruleOf({ missing: ['OS'] }, { when_allowed }).hash,
      );
      expect(new Set(hashes).size).toBe(2);
    });

    it('is refused for a rollout that would never be everybody, or that has nothing to begin with', () => {
      const part = (rollout: object, more = {}) =>
        problemsOf({ missing: ['OS'] }, { rollout: { steps: ['1%', '100%'], each: '24h', ...rollout }, ...more }).join(
          '\n',
        );
      expect(part({ steps: ['10%', '1%', '100%'] })).toContain(
        '`rollout.steps`: each step is larger than the one before, and the first one than 0 %; found 10%, 1%, 100%',
      );
      expect(part({ steps: ['0%', '100%'] })).toContain('the first one than 0 %');
      expect(part({ steps: ['1%', '50%'] })).toContain('`rollout.steps`: the last step is 100%');
      expect(part({ steps: ['50%', '100%', '101%'] })).toContain('no share is above 100%; found 50%, 100%, 101%');
      expect(part({ steps: ['1%', 100] })).toContain('`rollout.steps[1]`: expected a share such as "10%", found `100`');
      expect(part({ steps: ['1.234%', '100%'] })).toContain('expected a share such as "10%", found `"1.234%"`');
      expect(part({ steps: [] })).toContain('`rollout.steps`: expected at least 1 entry');
      expect(part({ each: '59m' })).toContain('`rollout.each`: a step lasts 1h to 30d; found 59m');
      expect(part({ each: '31d' })).toContain('a step lasts 1h to 30d');
      expect(part({ each: 'a day' })).toContain('`rollout.each`');
      expect(part({ brake: { reversed: 0 } })).toContain('`rollout.brake.reversed`: expected at least 1');
      expect(part({ brakes: {} })).toContain('there is no `brakes` in a rule here; did you mean `brake`?');
      expect(part({}, { then: 'notify' })).toContain('`rollout`: its actions change nothing');
      const { rollout } = ruleOf(
        { missing: ['OS'] },
        { then: 'ban_device', rollout: { steps: ['0.01%', '12.5 %', '100%'], each: '30d' } },
      );
      expect(rollout).toMatchObject({ steps: [1, 1_250, 10_000], brake: { reversed: 2, exempted: 3 } });
    });

    it('has a rollout whose meaning is what the rule matches and does', () => {
      const of = (more: object) =>
        ruleOf({ missing: ['OS'] }, { then: 'ban_device', rollout: { steps: ['100%'], each: '1h' }, ...more }).rollout
          ?.meaning;
      const same = [{ title: 'another' }, { mode: 'enforce' }, { rollout: { steps: ['5%', '100%'], each: '2h' } }];
      expect(new Set([{}, ...same].map(of)).size).toBe(1);
      const others = [{ then: ['ban_device', 'notify'] }, { when: { missing: ['Model'] } }];
      expect(new Set([{}, ...others].map(of)).size).toBe(3);
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
        signalWindowMs: 0,
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
      expect(devices.joinedPaths('devices')).toEqual(['Emails', 'MdmData.CompromisedStatus', 'SerialNumber']);
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

  it('a notice has a time that people can keep, reminders before it, and something that is taken from them', () => {
    const WHEN = { '==': [{ var: 'OS' }, 'x'] };
    const banning = (more: object) => problemsOf(WHEN, { then: 'ban_device', ...more }).join('\n');
    const { notice, fix, hash } = ruleOf(WHEN, {
      then: 'ban_device',
      notice: { before: '24h', remind: ['4h', '30m'] },
      fix: { problem: 'It is old', text: 'Update it', url: 'https://help.example.com' },
    });
    expect(notice).toMatchObject({ beforeMs: 86_400_000, remindMs: [14_400_000, 1_800_000], to: 'owner' });
    expect(fix).toEqual({ problem: 'It is old', text: 'Update it', url: 'https://help.example.com' });
    expect(hash).not.toBe(ruleOf(WHEN, { then: 'ban_device' }).hash);
    expect(ruleOf(WHEN, { then: 'ban_device', notice: { before: '5m' } }).notice?.remindMs).toEqual([]);
    expect(ruleOf(WHEN, { then: 'delete_device', notice: { before: '30d' } }).notice).toBeDefined();
    expect(banning({ notice: { before: '4m' } })).toContain('`notice.before`: expected 5m to 30d, found `4m`');
    expect(banning({ notice: { before: '31d' } })).toContain('expected 5m to 30d');
    expect(banning({ notice: { before: 'soon' } })).toContain('`notice.before`');
    expect(banning({ notice: {} })).toContain('`notice.before` is missing');
    expect(banning({ notice: { before: '1h', remind: ['1h'] } })).toContain('expected less than `1h`');
    expect(banning({ notice: { before: '1h', remind: ['5m', '10m'] } })).toContain('`notice.remind[1]`');
    expect(banning({ notice: { before: '1h', remind: ['5m', 'x'] } })).toContain('`notice.remind[1]`');
    expect(banning({ notice: { before: '1d', remind: ['6h', '5h', '4h', '3h', '2h', '1h'] } })).toContain('at most 5');
    expect(banning({ notice: { before: '1h', to: 'manager' } })).toContain('expected owner');
    expect(banning({ fix: { text: 'x', url: 'http://help.example.com' } })).toContain('begins with https://');
    expect(banning({ fix: { text: '' } })).toContain('`fix.text`');
    expect(problemsOf(WHEN, { then: 'notify', notice: { before: '1h' } }).join('\n')).toContain(
      '`notice` is for rules that take something from people',
    );
  });

  it('the JSON Schema that editors read is the one of this format', () => {
    const kept = JSON.parse(readFileSync(new URL('../../rules/rule.schema.json', import.meta.url), 'utf8'));
    expect(kept).toEqual(rulesJsonSchema());
  });
});

describe('what may stand in a rules folder', () => {
  let dir: string;
  let pipes: string[];
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'rule-files-'));
    mkdirSync(join(dir, 'rules'));
    pipes = [];
    writeFileSync(inRules('good.yaml'), `id: good\n${GOOD}`);
  });
  afterEach(() => {
    pipes.forEach(releaseReaders);
    rmSync(dir, { recursive: true, force: true });
  });
  const inRules = (name: string) => join(dir, 'rules', name);

  function makePipe(path: string): void {
    execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    pipes.push(path);
  }

  /** A reader that waits for a writer would keep this process from ending. */
  function releaseReaders(path: string): void {
    try {
      closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch {
      // nobody waits
    }
  }

  async function lines(): Promise<string[]> {
    const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
    expect(rules.map(({ id }) => id)).toEqual(['good']);
    return problems.map(problemLine);
  }

  const NOT_REGULAR = 'it is not a regular file; put the rule into a file, or remove this';

  describe('what is not a regular file is refused at once', () => {
    it.each<[string, () => void | Promise<void>]>([
      ['a pipe that nobody writes to', () => makePipe(inRules('odd.yaml'))],
      [
        'a link to a pipe',
        () => {
          makePipe(join(dir, 'pipe'));
          symlinkSync(join(dir, 'pipe'), inRules('odd.yaml'));
        },
      ],
      ['a link to a device', () => symlinkSync('/dev/zero', inRules('odd.yaml'))],
      ['a link to a folder', () => symlinkSync(dir, inRules('odd.yaml'))],
      ['a socket', () => listening(inRules('odd.yaml'))],
    ])('%s', async (_, make) => {
      await make();
      expect(await lines()).toEqual([`odd.yaml:1:1: ${NOT_REGULAR}`]);
    });

    it('a link to itself', async () => {
      symlinkSync('odd.yaml', inRules('odd.yaml'));
      expect(await lines()).toEqual(['odd.yaml:1:1: the file cannot be read (ELOOP)']);
    });
  });

  describe('a file is read up to 256 KiB', () => {
    it.each([262_145, 2 ** 40])('and refused with %i bytes', async (size) => {
      writeFileSync(inRules('odd.yaml'), '');
      truncateSync(inRules('odd.yaml'), size);
      expect(await lines()).toEqual(['odd.yaml:1:1: the file is larger than 256 KiB; a rule has one file']);
    });

    it('also one whose size is not what the system says', async () => {
      symlinkSync('/proc/kallsyms', inRules('odd.yaml'));
      expect(await lines()).toEqual(['odd.yaml:1:1: the file is larger than 256 KiB; a rule has one file']);
    });
  });

  describe('a folder is read whole or refused', () => {
    it('with sub-folders, but without its examples', async () => {
      for (const folder of ['examples', 'team', 'team/examples']) mkdirSync(inRules(folder));
      writeFileSync(inRules('examples/bad.yaml'), 'no rule');
      writeFileSync(inRules('team/examples/other.yaml'), `id: other\n${GOOD}`);
      const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
      expect([rules.map(({ file }) => file), problems]).toEqual([['good.yaml', 'team/examples/other.yaml'], []]);
      const examples = await loadRules(inRules('examples'), { traits: TRAITS });
      expect(examples.problems).toHaveLength(1);
    });

    it('without the history of a database that lies in it: its evidence is JSON', async () => {
      mkdirSync(inRules('trustward.db.history/evidence'), { recursive: true });
      writeFileSync(inRules('trustward.db.history/evidence/a.json'), '{}');
      const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
      expect([rules.map(({ file }) => file), problems]).toEqual([['good.yaml'], []]);
    });

    it('with folders nested too deep', async () => {
      const deep = `a/${'b/'.repeat(15)}c`;
      mkdirSync(inRules(deep), { recursive: true });
      writeFileSync(inRules(`${deep}/rule.yaml`), `id: deep\n${GOOD}`);
      expect(await lines()).toEqual([`${deep}:1:1: folders are nested deeper than 16 levels; move these rules up`]);
    });

    it('with a link that leads back into it, which is not followed', async () => {
      symlinkSync(join(dir, 'rules'), inRules('again'));
      expect(await lines()).toEqual([]);
    });

    it('with more than 10,000 files', async () => {
      mkdirSync(inRules('many'));
      execFileSync('sh', ['-c', 'seq 10001 | xargs touch'], { cwd: inRules('many') });
      const all = await loadRules(join(dir, 'rules'), { traits: TRAITS });
      expect(all.problems.map(problemLine)).toEqual([
        expect.stringMatching(
          /^[\w./]+:1:1: there are more than 10000 files and folders; give a folder that holds only rules$/,
        ),
      ]);
    });
  });

  function listening(path: string): Promise<void> {
    return new Promise((resolve) => {
      const server = createServer().listen(path, () => resolve());
      server.unref();
      pipes.push(path);
    });
  }
});

const COMPROMISED = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const score = { var: 'TrustData.EntityTrustscore' };
const count = { event_count: { severity: 'ERROR', within: '10m' } };

describe('a condition that is the same whatever the data', () => {
  it.each<[string, unknown]>([
    ['a field is itself', { '==': [{ var: 'Platform' }, { var: 'Platform' }] }],
    ['a field is not itself', { and: [COMPROMISED, { '!=': [{ var: 'Platform' }, { var: 'Platform' }] }] }],
    ['a count is 0 or more', { '>=': [count, 0] }],
    ['a count is below 0', { or: [COMPROMISED, { '<': [count, 0] }] }],
    ['0 is at most a count', { '<=': [0, count] }],
    ['a trust score is 0 or more', { '>=': [score, 0] }],
    ['a trust score is 100 or less', { '<=': [score, 100] }],
    ['a trust score is above 100', { '>': [score, 100] }],
    ['a trust score lies between its ends', { '<=': [0, score, 100] }],
    ['one side of an `or` is true', { or: [COMPROMISED, true] }],
    ['one side of an `and` is false', { and: [COMPROMISED, false] }],
    ['two numbers are compared', { or: [COMPROMISED, { '==': [1, 1] }] }],
    ['both answers of an `if` are the same', { if: [COMPROMISED, true, true] }],
    ['the question of an `if` is answered', { if: [true, COMPROMISED, { '!': COMPROMISED }] }],
    ['a flag is one of both', { in: [{ var: 'MdmData.CompromisedStatus' }, ['TRUE', 'FALSE']] }],
    ['a flag is compared with a level', { '!=': [{ var: 'MdmData.CompromisedStatus' }, { var: 'TrustData.Level' }] }],
    ['the empty pattern matches', { matches: [{ var: 'DeviceFriendlyName' }, ''] }],
    ['a pattern matches anything', { matches: [{ var: 'DeviceFriendlyName' }, '(?s).*'] }],
    ['an event is what it is', { '>=': [{ event_count: { within: '1h', where: { '!': false } } }, 5] }],
  ])('is refused where %s', (_, when) => {
    const problems = problemsOf(when);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/this is always (true|false|the same): /);
  });

  it.each<[string, unknown]>([
    ['a score at one end of its range', { or: [{ '==': [score, 100] }, { '<=': [score, 0] }, { '<': [score, 100] }] }],
    ['a count of none', { '<=': [count, 0] }],
    ['a time in the future', { '<': [{ age: { var: 'LastLogin' } }, 0] }],
    ['a pattern of no characters at all', { matches: [{ var: 'DeviceFriendlyName' }, '^$'] }],
    ['two fields that may agree', { '!=': [{ var: 'Platform' }, { var: 'Model' }] }],
    ['answers that are written out', { if: [COMPROMISED, true, false] }],
    ['a condition compared with its wanted truth', { '==': [COMPROMISED, false] }],
  ])('is allowed: %s', (_, when) => {
    expect(problemsOf(when)).toEqual([]);
  });

  it('is refused for a value that the field cannot have, unless the field is declared to have others', () => {
    const when = { '!=': [{ var: 'Ownership' }, 'Leased'] };
    expect(problemsOf(when)).toEqual([expect.stringContaining('known: Corporate Dedicated,')]);
    expect(problemsOf(when, { declares: { Ownership: 'text' } })).toEqual([]);
  });

  it('is found only where json-logic-js gives one answer, too', () => {
    const { compared, refused } = compareWithJsonLogic(77, 4_000);
    expect(refused).toBeLessThan(compared / 20);
  });
});

describe('rules that would see their own effect, or undo what they do themselves, are refused when they are loaded', () => {
  function problemsOf(subject: 'device' | 'service', when: unknown, then: unknown): string[] {
    const text = JSON.stringify({ id: 'a-rule', subject, when, then });
    const parsed = parseRule(text, 'a-rule.json', { traits: ACTIONS });
    return 'problems' in parsed ? parsed.problems.map(problemLine) : [];
  }

  const patched = (path: string, patch: unknown): string[] =>
    problemsOf('service', { missing: [path] }, { action: 'update_service', with: { patch } });

  describe('a rule that patches a service', () => {
    const tags = { metadata: { tags: { port: '443' } } };
    it.each<[string, unknown]>([
      ['$spec.metadata.description', { metadata: { description: 'x' } }],
      ['Description', { metadata: { description: null } }],
      ['ServiceSpec', { spec: { client_cidrs: null } }],
      ['LastUpdatedAt', { spec: { client_cidrs: null } }],
      ['Port', tags],
      ['$spec.metadata.port', tags],
      ['$spec.metadata.tags', tags],
      ['Domain', { metadata: { tags: null } }],
      ['$spec.spec.backend.target.tls', { spec: { backend: null } }],
      ['OIDCEnabled', { spec: { http_settings: { oidc_settings: { enabled: true } } } }],
    ])('may not read %s when it writes %j', (path, patch) => {
      expect(patched(path, patch)).toEqual([
        expect.stringContaining(`\`when\` reads \`${path}\`, which \`update_service\` itself writes`),
      ]);
    });

    it.each<[string, unknown]>([
      ['Description', tags],
      ['Domain', tags],
      ['$spec.metadata.tags.domain', tags],
      ['$spec.spec.backend.target.tls', { spec: { backend: { target: { port: '443' } } } }],
      ['ServiceName', { metadata: { description: 'x' } }],
    ])('may read %s when it writes %j', (path, patch) => {
      expect(patched(path, patch)).toEqual([]);
    });

    it('gets one problem for a patch that is none', () => {
      expect(patched('$spec.kind', {})).toEqual([expect.stringContaining('at least one member')]);
      expect(patched('$spec.kind', 1)).toEqual([expect.stringContaining('at least one member')]);
    });
  });

  describe('a rule that bans', () => {
    it.each(['TRUE', 'x'])('may not read Banned, also with the default %s', (fallback) => {
      expect(
        problemsOf('device', { '==': [{ var: ['Banned', fallback] }, 'TRUE'] }, 'ban_device').join('\n'),
      ).toContain('`when` reads `Banned`, which `ban_device` itself writes');
    });
  });

  describe('a rule of two actions', () => {
    const when = { missing: ['ServiceName'] };
    const add = (bundle: string) => ({ action: 'add_to_bundle', with: { bundle } });
    const remove = (bundle: string) => ({ action: 'remove_from_bundle', with: { bundle } });

    it('may not do a thing and undo it', () => {
      expect(problemsOf('device', { missing: ['OS'] }, ['ban_device', 'unban_device'])).toEqual([
        expect.stringContaining('`unban_device` undoes `ban_device` of the same rule; name one of them'),
      ]);
      expect(problemsOf('service', when, ['enable_service', 'notify', 'disable_service'])).toHaveLength(1);
      expect(problemsOf('service', when, [add('b1'), remove('b1')])).toHaveLength(1);
    });

    it('may move a service from one bundle to another', () => {
      expect(problemsOf('service', when, [remove('b1'), add('b2')])).toEqual([]);
    });
  });
});

describe('what is refused of the operators that look back, each with the way to write it', () => {
  it.each<[string, unknown, string]>([
    [
      'a value instead of a path',
      { changed_within: [{ var: 'Model' }, '1d'] },
      'write {"changed_within": ["Model", "1d"]}',
    ],
    ['a misspelt path', { unchanged_for: ['Modle', '1d'] }, 'did you mean `Model`?'],
    ['a duration in words', { changed_within: ['Model', '1 day'] }, 'did you mean "1d"?'],
    ['a time longer than a year', { changed_within: ['Model', '400d'] }, 'looks back at most "365d"'],
    ['a whole record', { changed_within: ['TrustData', '1d'] }, 'is a record'],
    ['an element of a list', { changed_within: ['Emails.0', '1d'] }, 'takes `Emails`'],
    ['what is joined', { changed_within: ['$owners', '1d'] }, 'and `$owners` is none'],
    ['a value that the field cannot have', { '==': [{ previous: 'TrustData.Level' }, 'high'] }, 'did you mean "High"?'],
    [
      'an element of a loop',
      { some: [{ var: '$owners' }, { changed_within: ['Email', '1d'] }] },
      'cannot stand inside',
    ],
  ])('%s is refused, with what to write', (_, when, message) => {
    expect(JSON.stringify(problemsOf(when))).toContain(JSON.stringify(message).slice(1, -1));
  });
});

describe('an event operator over what is joined', () => {
  const count = { '>=': [{ event_count: { within: '1h' } }, 2] };
  const ofOwners = (inner: unknown) => ({ some: [{ var: '$owners' }, inner] });

  it('makes the rule read the events, for as long as the window is, and who they are of', () => {
    const { sources, reads } = ruleOf(ofOwners(count));
    expect([...sources].sort()).toEqual(['devices', 'events', 'users']);
    expect([reads.windowMs, [...reads.users]]).toEqual([3_600_000, ['Email']]);
  });

  it.each<[string, unknown]>([
    ['some', ofOwners(count)],
    ['what is filtered', { some: [{ filter: [{ var: '$owners' }, { in_group: 'Staff' }] }, count] }],
    ['count', { '>=': [{ count: [{ var: '$owners' }, count] }, 2] }],
    [
      'reduce',
      {
        '>=': [
          { reduce: [{ var: '$owners' }, { '+': [{ var: 'accumulator' }, { event_count: { within: '1h' } }] }, 0] },
          5,
        ],
      },
    ],
  ])('can stand in %s', (_, when) => {
    expect(problemsOf(when)).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['inside a list of texts', { some: [{ var: 'Emails' }, count] }, 'cannot stand inside another element'],
    [
      'inside a list of an owner',
      ofOwners({ some: [{ var: 'TrustData.Factors' }, count] }),
      'cannot stand inside another element',
    ],
    ['that is always true', ofOwners({ '>=': [{ event_count: { within: '1h' } }, 0] }), 'a count is never below 0'],
    [
      'with a condition that is always the same',
      ofOwners({ '>=': [{ event_count: { within: '1h', where: { '==': [1, 1] } } }, 2] }),
      'this is always',
    ],
  ])('is refused %s', (_, when, message) => {
    expect(problemsOf(when).join('\n')).toContain(message);
  });
});
