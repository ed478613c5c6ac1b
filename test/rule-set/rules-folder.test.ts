// test: the rules folder while a daemon runs: changes are noticed however they are made, and a bad set replaces nothing.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../src/act/actions.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { RuleHolder } from '../../src/rule-set/rule-holder.ts';
import { type RuleWatch, watchRules } from '../../src/rule-set/rule-watch.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, silentLog } from '../support/organization.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-rules-'));
  mkdirSync(join(dir, 'rules'));
  writeFileSync(join(dir, 'rules', 'ban.yaml'), BAN_COMPROMISED);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const inRules = (name: string) => join(dir, 'rules', name);

/** Each `pass` lets the watcher look once and answers when it waits for its next look. */
function handClock() {
  let waiting: { wake: () => void; told: () => void } | undefined;
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
        const told = waiting?.told ?? asked;
        waiting = { wake: resolve, told: () => {} };
        told();
      }),
  };
  const pass = async () => {
    await first;
    await new Promise<void>((told) => {
      const { wake } = waiting as { wake: () => void };
      waiting = { wake: () => {}, told };
      wake();
    });
  };
  return { clock, pass };
}

describe('the watch on the rules folder', () => {
  let watch: RuleWatch;
  let changes: number;
  let failures: unknown[];
  let onChange: () => Promise<void>;
  let pass: () => Promise<void>;

  beforeEach(async () => {
    [changes, failures, onChange] = [0, [], async () => {}];
    const hand = handClock();
    pass = hand.pass;
    const changed = async () => {
      changes += 1;
      await onChange();
    };
    watch = watchRules(join(dir, 'rules'), hand.clock, changed, (error) => failures.push(error));
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
  it.each(cases)('%s: noticed, once', async (_, change) => {
    change();
    for (let looks = 0; looks < 4; looks += 1) await pass();
    expect(changes).toBe(2);
  });

  it('a link is turned to another version, as mounted configuration is', async () => {
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

  it('a folder that still changes is left until it has settled', async () => {
    for (let step = 0; step < 5; step += 1) {
      writeFileSync(inRules('ban.yaml'), `${BAN_COMPROMISED}# step ${step} ${'.'.repeat(step)}\n`);
      await pass();
    }
    expect(changes).toBe(1);
    await pass();
    expect(changes).toBe(2);
  });

  it('a reload that fails is told once, tried again at each look, and the next change is noticed all the same', async () => {
    onChange = () => Promise.reject(new Error('the database is away'));
    writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
    for (let look = 0; look < 4; look += 1) await pass();
    expect(changes).toBe(4);
    expect(failures).toMatchObject([{ message: 'the database is away' }]);
    onChange = async () => {};
    for (let look = 0; look < 3; look += 1) await pass();
    expect(changes).toBe(5);
    rmSync(inRules('more.yaml'));
    await pass();
    await pass();
    expect(changes).toBe(6);
    expect(failures).toHaveLength(1);
  });
});

const unrecorded = async () => {};

describe('the active rule set', () => {
  const holder = () => new RuleHolder(join(dir, 'rules'), ACTIONS, silentLog);

  it('a good set replaces the one before', async () => {
    const rules = holder();
    await rules.load();
    writeFileSync(inRules('service.yaml'), DISABLE_FAILING);
    expect(await rules.reload(unrecorded)).toBeUndefined();
    expect(rules.active().rules.map(({ id }) => id)).toEqual(['ban-compromised-device', 'disable-failing-service']);
  });

  it('a change is in force although it could not be recorded', async () => {
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
    ['a folder that is gone', () => rmSync(join(dir, 'rules'), { recursive: true }), /is not there/],
    [
      'a file in the place of the folder',
      () => {
        rmSync(join(dir, 'rules'), { recursive: true });
        writeFileSync(join(dir, 'rules'), 'x');
      },
      /cannot be read \(ENOTDIR\)/,
    ],
  ])('%s leaves the last good set active, and says so until it is mended', async (_, spoil, words) => {
    const said: string[] = [];
    const log = { ...silentLog, info: (_: object, message: string) => void said.push(message) };
    const rules = new RuleHolder(join(dir, 'rules'), ACTIONS, log);
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
    expect(said).toEqual(['rules are in order again, as they were']);
  });

  it('files that say the same keep the event windows that were filled', async () => {
    const rules = holder();
    await rules.load();
    const { evaluator } = rules.active();
    writeFileSync(inRules('ban.yaml'), `# a remark\n${BAN_COMPROMISED}`);
    await rules.reload(unrecorded);
    expect(rules.active().evaluator).toBe(evaluator);
  });

  it('a rule of mode off is loaded and listed, and not active', async () => {
    writeFileSync(inRules('service.yaml'), DISABLE_FAILING.replace('mode: approve', 'mode: off'));
    const rules = holder();
    await rules.load();
    expect(rules.all()).toHaveLength(2);
    expect(rules.active().rules).toHaveLength(1);
  });
});
