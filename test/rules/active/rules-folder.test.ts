// test: the rules folders while a daemon runs: every change is noticed, a bad set replaces nothing; sets of several folders; the examples to copy from.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { lineOf } from '../../../src/domain/errors.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import {
  type FolderWatch,
  foldersIn,
  LastGoodRules,
  loadRuleFolder,
  RuleHolder,
  realFolders,
  watchFolders,
} from '../../../src/rules/active/rule-holder.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { command } from '../../support/in-process.ts';
import {
  BAN_COMPROMISED,
  DISABLE_FAILING,
  type Organization,
  silentLog,
  startOrganization,
} from '../../support/organization.ts';

describe('the rules folder while a daemon runs', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-rules-'));
    mkdirSync(join(dir, 'rules'));
    writeFileSync(join(dir, 'rules', 'ban.yaml'), BAN_COMPROMISED);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const inRules = (name: string) => join(dir, 'rules', name);

  /** Each `pass` lets the watcher poll once and resolves when it waits for its next poll. */
  function handClock() {
    let waiting: { wake: () => void; notify: () => void } | undefined;
    let asked = () => {};
    const first = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const clock: Clock = {
      nowMs: () => 0,
      monotonicMs: () => 0,
      sleep: (_, signal) =>
        new Promise((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('ended')), { once: true });
          const notify = waiting?.notify ?? asked;
          waiting = { wake: resolve, notify: () => {} };
          notify();
        }),
    };
    const pass = async () => {
      await first;
      await new Promise<void>((notify) => {
        const { wake } = waiting as { wake: () => void };
        waiting = { wake: () => {}, notify };
        wake();
      });
    };
    return { clock, pass };
  }

  describe('the watch on the rules folder', () => {
    let watch: FolderWatch;
    let changes: number;
    let failures: unknown[];
    let onChange: (ending: AbortSignal) => Promise<boolean>;
    let pass: () => Promise<void>;

    beforeEach(async () => {
      [changes, failures, onChange] = [0, [], async () => true];
      const hand = handClock();
      pass = hand.pass;
      const changed = async (ending: AbortSignal) => {
        changes += 1;
        return onChange(ending);
      };
      watch = watchFolders([join(dir, 'rules')], hand.clock, changed, (error) => failures.push(error));
      await pass();
      await pass();
      expect(changes).toBe(1); // the folder as it is
    });
    afterEach(() => watch.stop());

    const cases: [string, () => void][] = [
      ['a file is written again', () => writeFileSync(inRules('ban.yaml'), `${BAN_COMPROMISED}# more\n`)],
      ['a file is added', () => writeFileSync(inRules('more.yaml'), DISABLE_FAILING)],
      ['a file is removed', () => rmSync(inRules('ban.yaml'))],
      [
        'a file of the same size is moved into its place from elsewhere',
        () => {
          writeFileSync(join(dir, 'new.yaml'), BAN_COMPROMISED.replace('critical', 'CRITICAL'));
          renameSync(join(dir, 'new.yaml'), inRules('ban.yaml'));
        },
      ],
      [
        'a file in a new sub-folder',
        () => {
          mkdirSync(inRules('team/a'), { recursive: true });
          writeFileSync(inRules('team/a/x.yaml'), DISABLE_FAILING);
        },
      ],
      [
        'the folder is taken away and made anew',
        () => {
          rmSync(join(dir, 'rules'), { recursive: true });
          mkdirSync(join(dir, 'rules'));
          writeFileSync(inRules('ban.yaml'), BAN_COMPROMISED);
        },
      ],
    ];
    it.each(cases)('notices once that %s', async (_, change) => {
      change();
      for (let looks = 0; looks < 4; looks += 1) await pass();
      expect(changes).toBe(2);
    });

    it('notices a link switched to another version, as in mounted configuration', async () => {
      for (const version of ['v1', 'v2']) {
        mkdirSync(inRules(`..${version}`));
        writeFileSync(inRules(`..${version}/ban.yaml`), BAN_COMPROMISED);
      }
      symlinkSync('..v1', inRules('..data'));
      symlinkSync('..data/ban.yaml', inRules('linked.yaml'));
      for (let looks = 0; looks < 2; looks += 1) await pass();
      expect(changes).toBe(2);
      symlinkSync('..v2', inRules('..new'));
      renameSync(inRules('..new'), inRules('..data'));
      for (let looks = 0; looks < 2; looks += 1) await pass();
      expect(changes).toBe(3);
    });

    it('waits until a changing folder has settled', async () => {
      for (let step = 0; step < 5; step += 1) {
        writeFileSync(inRules('ban.yaml'), `${BAN_COMPROMISED}# step ${step} ${'.'.repeat(step)}\n`);
        await pass();
      }
      expect(changes).toBe(1);
      await pass();
      expect(changes).toBe(2);
    });

    it('reports a failing reload once, tries it again at each poll, and still notices the next change', async () => {
      onChange = () => Promise.reject(new Error('the database is away'));
      writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
      for (let look = 0; look < 4; look += 1) await pass();
      expect(changes).toBe(4);
      expect(failures).toMatchObject([{ message: 'the database is away' }]);
      onChange = async () => true;
      for (let look = 0; look < 3; look += 1) await pass();
      expect(changes).toBe(5);
      rmSync(inRules('more.yaml'));
      await pass();
      await pass();
      expect(changes).toBe(6);
      expect(failures).toHaveLength(1);
    });

    it('loads a folder again that could not be read in time, at each poll and without a complaint', async () => {
      onChange = async () => false;
      writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
      for (let look = 0; look < 4; look += 1) await pass();
      expect(changes).toBe(4);
      onChange = async () => true;
      for (let look = 0; look < 3; look += 1) await pass();
      expect(changes).toBe(5);
      expect(failures).toEqual([]);
    });

    it('ends while a reload waits for the disk', async () => {
      let waiting: () => void;
      const begun = new Promise<void>((resolve) => {
        waiting = resolve;
      });
      onChange = (ending) => {
        waiting();
        return new Promise((_, reject) =>
          ending.addEventListener('abort', () => reject(ending.reason), { once: true }),
        );
      };
      writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
      await pass();
      void pass();
      await begun;
      await watch.stop();
      expect(failures).toEqual([]);
    });
  });

  const unrecorded = async () => {};

  describe('the active rule set', () => {
    const holder = (clock = systemClock) => new RuleHolder(join(dir, 'rules'), ACTIONS, silentLog, clock);

    it('is replaced by a good set', async () => {
      const rules = holder();
      await rules.load();
      writeFileSync(inRules('service.yaml'), DISABLE_FAILING);
      expect(await rules.reload(unrecorded)).toBeUndefined();
      expect(rules.active().rules.map(({ id }) => id)).toEqual(['ban-compromised-device', 'disable-failing-service']);
    });

    it('does not change when the change cannot be recorded', async () => {
      const rules = holder();
      await rules.load();
      const before = rules.active();
      const inForce: string[][] = [];
      const record = (fault?: Error) => async () => {
        inForce.push(rules.active().rules.map(({ id }) => id));
        if (fault) throw fault;
      };
      writeFileSync(inRules('service.yaml'), DISABLE_FAILING);
      await expect(rules.reload(record(new Error('the disk is full')))).rejects.toThrow('the disk is full');
      expect(rules.active()).toBe(before);
      expect(rules.all()).toHaveLength(1);
      writeFileSync(inRules('service.yaml'), 'id: [\n');
      await expect(rules.reload(record(new Error('the disk is full')))).rejects.toThrow('the disk is full');
      expect(rules.refusal).toBeUndefined();
      writeFileSync(inRules('service.yaml'), DISABLE_FAILING);
      await rules.reload(record());
      await rules.reload(record());
      expect(rules.active().rules).toHaveLength(2);
      expect(inForce, 'recorded before it is in force, and once').toEqual(Array(3).fill(['ban-compromised-device']));
    });

    it.each<[string, () => void, RegExp]>([
      ['a broken file', () => writeFileSync(inRules('bad.yaml'), 'id: [\n'), /^bad\.yaml:\d+:\d+: /],
      ['an emptied folder', () => rmSync(inRules('ban.yaml')), /there is no rule in/],
      ['a folder that is gone', () => rmSync(join(dir, 'rules'), { recursive: true }), /does not exist/],
      [
        'a file in the place of the folder',
        () => {
          rmSync(join(dir, 'rules'), { recursive: true });
          writeFileSync(join(dir, 'rules'), 'x');
        },
        /cannot be read \(ENOTDIR\)/,
      ],
    ])('survives %s, and reports it until it is fixed', async (_, spoil, words) => {
      const said: string[] = [];
      const log = { ...silentLog, info: (_: object, message: string) => void said.push(message) };
      const rules = new RuleHolder(join(dir, 'rules'), ACTIONS, log, systemClock);
      await rules.load();
      const before = rules.active();
      spoil();
      expect(await rules.reload(unrecorded)).toMatch(words);
      expect(rules.refusal).toMatchObject([expect.stringMatching(words)]);
      expect(rules.active()).toBe(before);
      rmSync(join(dir, 'rules'), { recursive: true, force: true });
      mkdirSync(join(dir, 'rules'));
      writeFileSync(inRules('ban.yaml'), BAN_COMPROMISED);
      expect(await rules.reload(unrecorded)).toBeUndefined();
      expect(rules.refusal).toBeUndefined();
      expect(said).toEqual(['rules are in order again, unchanged']);
    });

    it('survives a folder that cannot be read in time, records that once, and takes it when it can be read', async () => {
      let isDue = false;
      const asked: number[] = [];
      const sleep: Clock['sleep'] = (ms, signal) => {
        asked.push(ms);
        return isDue ? Promise.resolve() : systemClock.sleep(ms, signal);
      };
      const rules = holder({ ...systemClock, sleep });
      await rules.load();
      const before = rules.active();
      writeFileSync(inRules('service.yaml'), DISABLE_FAILING);
      isDue = true;
      const recorded: (string | undefined)[] = [];
      const record = async ({ refused }: { refused: string | undefined }) => void recorded.push(refused);
      const words = `the rules folder \`${join(dir, 'rules')}\` could not be read within 10 s`;
      for (let look = 0; look < 2; look += 1) expect(await rules.reload(record)).toContain(words);
      expect(recorded).toEqual([expect.stringContaining(words)]);
      expect([rules.isLate, rules.refusal, asked[0]]).toEqual([true, recorded, 10_000]);
      expect(rules.active()).toBe(before);
      isDue = false;
      await vi.waitFor(async () => expect(await rules.reload(record)).toBeUndefined(), 60_000);
      expect(rules.active().rules).toHaveLength(2);
      expect(rules.isLate).toBe(false);
      expect(recorded).toEqual([expect.stringContaining(words), undefined]);
    });

    it('is not read any further when the process ends, and stays as it is', async () => {
      const rules = holder();
      await rules.load();
      writeFileSync(inRules('service.yaml'), 'id: [\n');
      const reading = rules.reload(unrecorded, AbortSignal.abort());
      await expect(reading).rejects.toMatchObject({ code: 'stopped' });
      expect(rules.refusal).toBeUndefined();
    });

    it('is that of an earlier holder while the folder is refused, with windows of its own', async () => {
      const lastGood = new LastGoodRules();
      const open = async (organization = 'acme', loadedWith: string[] = []) => {
        const kept = lastGood.of(organization, loadedWith);
        const rules = new RuleHolder(join(dir, 'rules'), ACTIONS, silentLog, systemClock, 'v1', undefined, kept);
        await rules.begin();
        return rules;
      };
      const before = await open();
      writeFileSync(inRules('bad.yaml'), 'id: [\n');
      const after = await open();
      expect(after.refusal).toEqual([expect.stringMatching(/^bad\.yaml:\d+:\d+: /)]);
      expect(after.active().hash).toBe(before.active().hash);
      expect(after.active().evaluator).not.toBe(before.active().evaluator);
      for (const other of [await open('beta'), await open('acme', ['other folders'])]) {
        expect(other.all()).toEqual([]);
        expect(() => other.active()).toThrow(
          /^no rules are loaded, since the folder was refused \(1 problem: bad\.yaml:\d+\)/,
        );
      }
      rmSync(inRules('bad.yaml'));
      expect((await open('beta')).active().hash).toBe(before.active().hash);
    });

    it('keeps filled event windows for files of the same meaning', async () => {
      const rules = holder();
      await rules.load();
      const { evaluator } = rules.active();
      writeFileSync(inRules('ban.yaml'), `# a remark\n${BAN_COMPROMISED}`);
      await rules.reload(unrecorded);
      expect(rules.active().evaluator).toBe(evaluator);
    });

    it('is another set once a list that a rule reads has changed, and the same while the list is refused', async () => {
      mkdirSync(inRules('lists'));
      writeFileSync(inRules('lists/serials.yaml'), 'entries: [C1]\n');
      const when = '{ in: [{ var: SerialNumber }, { var: $lists.serials }] }';
      writeFileSync(inRules('listed.yaml'), `id: listed\nsubject: device\nwhen: ${when}\nthen: notify\n`);
      const rules = holder();
      await rules.load();
      const { evaluator, files } = rules.active();
      expect([...(files ?? [])].filter(([file]) => file.startsWith('lists/'))).toEqual([
        ['lists/serials.yaml', 'entries: [C1]\n'],
      ]);
      writeFileSync(inRules('lists/serials.yaml'), 'entries: []\n');
      expect(await rules.reload(unrecorded)).toContain('lists/serials.yaml:1:1: `entries` is empty');
      expect(rules.active().evaluator).toBe(evaluator);
      writeFileSync(inRules('lists/serials.yaml'), 'entries: [C1, C2]\n');
      expect(await rules.reload(unrecorded)).toBeUndefined();
      expect(rules.active().evaluator).not.toBe(evaluator);
      expect(rules.namedLists().get('serials')?.entries).toEqual(['C1', 'C2']);
    });

    it('lists a rule of mode off, which is not active', async () => {
      writeFileSync(inRules('service.yaml'), DISABLE_FAILING.replace('mode: approve', 'mode: off'));
      const rules = holder();
      await rules.load();
      expect(rules.all()).toHaveLength(2);
      expect(rules.active().rules).toHaveLength(1);
    });
  });
});

describe('rules of several folders make one set', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-folders-'));
    for (const name of ['shared', 'acme', 'other/acme']) mkdirSync(join(dir, name), { recursive: true });
    writeFileSync(join(dir, 'shared', 'ban.yaml'), BAN_COMPROMISED);
    writeFileSync(join(dir, 'acme', 'disable.yaml'), DISABLE_FAILING);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));
  const folders = (...names: string[]) => names.map((name) => join(dir, name)).join(':');
  const load = (text: string) => loadRuleFolder(text, ACTIONS);
  const faultOf = (text: string) => load(text).then(() => 'loaded', lineOf);

  describe('rules of several folders', () => {
    it('are one set, and each file is called by its folder', async () => {
      const { rules, hash } = await load(folders('shared', 'acme'));
      expect(rules.map(({ file }) => file).sort()).toEqual(['acme/disable.yaml', 'shared/ban.yaml']);
      expect((await load(folders('acme', 'shared'))).hash).toBe(hash);
      expect((await load(folders('shared'))).rules.map(({ file }) => file)).toEqual(['ban.yaml']);
    });
    it('are called by the whole path where the last part is the same', async () => {
      writeFileSync(join(dir, 'other', 'acme', 'ban.yaml'), BAN_COMPROMISED);
      const { rules } = await load(folders('acme', 'other/acme'));
      expect(rules.map(({ file }) => file)).toContain(join(dir, 'other/acme/ban.yaml'));
    });
    it('have each id once: a second one names both files', async () => {
      writeFileSync(join(dir, 'acme', 'own.yaml'), BAN_COMPROMISED);
      expect(await faultOf(folders('shared', 'acme'))).toMatch(
        /^acme\/own\.yaml:\d+:1: the id `[a-z-]+` is used by `shared\/ban\.yaml` already; ids are unique$/,
      );
    });
    it('may have an empty folder among them, and no missing one', async () => {
      expect((await load(folders('shared', 'other'))).rules).toHaveLength(1);
      expect(await faultOf(folders('shared', 'gone'))).toMatch(/^the rules folder `\S+\/gone` does not exist: [^\n]+$/);
      expect(await faultOf(folders('other', 'other/acme'))).toContain('there is no rule in');
    });
    it('show the problems of all of them', async () => {
      writeFileSync(join(dir, 'shared', 'bad.yaml'), 'id: [');
      writeFileSync(join(dir, 'acme', 'bad.yaml'), 'id: [');
      const lines = (await faultOf(folders('shared', 'acme'))).split('\n');
      expect([...new Set(lines.map((line) => line.split(':')[0]))]).toEqual(['acme/bad.yaml', 'shared/bad.yaml']);
    });
  });

  describe('the text of folders', () => {
    it('is one folder where there is one of that very name', () => {
      mkdirSync(join(dir, 'a:b'));
      expect(foldersIn(join(dir, 'a:b'))).toEqual([join(dir, 'a:b')]);
      expect(foldersIn('rules')).toEqual(['rules']);
      expect(foldersIn('no:such::ones')).toEqual(['no', 'such', 'ones']);
    });
    it('is compared by real paths', () => {
      symlinkSync(join(dir, 'shared'), join(dir, 'link'));
      expect(realFolders(folders('link', 'acme'))).toBe(realFolders(folders('shared', 'acme')));
    });
  });
});

const FOLDER = 'rules/examples';
const rules = (...args: string[]) => command(['rules', ...args, '--rules', FOLDER], {});

const LOOKING_BACK = ['report-changed-owner', 'report-fallen-trust', 'report-silent-mdm'];

describe('the example rules', () => {
  let org: Organization;
  beforeAll(async () => {
    org = await startOrganization({ devices: 400, compromised: 4, env: { TRUSTWARD_RULES: FOLDER } });
  });
  afterAll(() => org.close());

  it('load, are twenty-two, and are all in the docs', async () => {
    expect(await rules('check')).toMatchObject({ code: 0, out: '22 rules can be loaded\n' });
    const ids = readdirSync(FOLDER, { withFileTypes: true })
      .flatMap((entry) => (entry.isFile() && !/^(sources|signals)\./.test(entry.name) ? [entry.name] : []))
      .map((name) => name.replace('.yaml', ''));
    expect(ids).toHaveLength(22);
    const rows = [...readFileSync('docs/rules.md', 'utf8').matchAll(/^\| `((?:ban|report)-[a-z-]+)` \|/gm)];
    expect(rows.map(([, id]) => id).sort()).toEqual(ids.sort());
  });

  it('pass their tests, which see every condition and notice every mutant', async () => {
    const { code, out } = await rules('test', '--mutate', '--format', 'json');
    expect(code).toBe(0);
    for (const rule of JSON.parse(out).rules) {
      expect([rule.rule, rule.coveredPercent, rule.mutants.survivors]).toEqual([rule.rule, 100, []]);
      expect(rule.mutants.tried).toBeGreaterThan(0);
    }
  });

  it('are not among the active rules, and change nothing once they are', async () => {
    const active = JSON.parse((await command(['rules', 'list', '--format', 'json'], {})).out);
    const examples = JSON.parse((await rules('list', '--format', 'json')).out);
    const ids = active.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(6);
    expect(examples.filter(({ id }: { id: string }) => ids.includes(id))).toEqual([]);
    expect(new Set(examples.map(({ mode }: { mode: string }) => mode))).toEqual(new Set(['dry-run']));
  });

  it('judge a whole organization without an error', async () => {
    const { run } = await org.run('dry-run');
    const tallies = run.findings?.tallies ?? [];
    expect(tallies).toHaveLength(22);
    for (const { rule, error, match, no_match } of tallies) {
      expect([rule, error]).toEqual([rule, 0]);
      // In a first run nothing is known of the past, and no transmitter was heard.
      const looksBack = [...LOOKING_BACK, 'report-not-compliant-elsewhere'].includes(rule);
      expect(looksBack || match + no_match > 0, `${rule} judged somebody`).toBe(true);
    }
    const matched = tallies.filter(({ match }) => match > 0).map(({ rule }) => rule);
    expect(matched.length, `matched: ${matched}`).toBeGreaterThan(5);
  });
});
