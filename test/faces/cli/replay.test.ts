// commands: `replay` and `rules diff` over a recorded month: what they print, where they end, what they refuse.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/base/time.ts';
import { replaySchema } from '../../../src/contract/replay.ts';
import { forgetSubject } from '../../../src/history/files/forget.ts';
import { historyFolderOf, listHistory } from '../../../src/history/files/segment-files.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { command } from '../../support/in-process.ts';
import { HOUR_MS, recordMonth, wrongAfternoon } from '../../support/recorded-month.ts';

const rule = (more: string) => `
id: ban-not-compliant-device
title: Ban devices that are not compliant
severity: high
subject: device
when: { "==": [{ var: MdmData.CompliantStatus }, "FALSE"] }
then: ban_device
mode: dry-run
revert: true
owners: all
${more}
tests:
  - { name: not compliant, given: { MdmData: { CompliantStatus: "FALSE" } }, expect: match }
`;

const OF_USERS = `
id: leavers
title: Notify of leavers
severity: low
subject: user
when: { in_group: leaver }
then: notify
mode: dry-run
limits: { max: 100, percent: 100 }
`;

let dir: string;
let db: string;
const folder = (name: string) => join(dir, name);
const run = (...args: string[]) => command([...args, '--db', db], {});

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-replay-'));
  db = await recordMonth(dir, { devices: 250, everyMs: 6 * HOUR_MS, happens: wrongAfternoon });
  for (const [name, more] of [
    ['first', 'limits: { max: 100, percent: 100, per_day: 1000 }'],
    ['held', 'limits: { max: 10, percent: 100, per_day: 1000 }'],
    ['warns', 'limits: { max: 100, percent: 100, per_day: 1000 }\nnotice: { before: 24h }'],
    ['tighter', 'for: 6h\nlimits: { max: 10, percent: 100, per_day: 1000 }'],
  ] as const) {
    mkdirSync(folder(name));
    writeFileSync(join(folder(name), 'rule.yaml'), rule(more));
  }
}, 120_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('replay of other rules', () => {
  it('says first what they would have done, to how many, and how many at once', async () => {
    const { code, out } = await run('replay', '--rules', folder('first'));
    expect(code).toBe(0);
    expect(out).toMatch(/^Trustward: replay what if/);
    expect(out.replace(/\s+/g, ' ')).toMatch(/Would have banned 43 devices[^;]*; at most 40 in one run, at /);
  });

  it('holds what limits hold, and names some of whom', async () => {
    const { out } = await run('replay', '--rules', folder('held'), '--format', 'json');
    const found = replaySchema.parse(JSON.parse(out));
    expect(found.sentence).toMatch(/had 40 targets at once, above its limit of 10/);
    expect(found.rules[0]?.held).toMatchObject([{ reason: 'limits', targets: 40 }]);
    expect(found.rules[0]?.held[0]?.examples[0]).toMatchObject({ subject: { kind: 'device' }, action: 'ban_device' });
    expect(found.acts.filter(({ undo }) => !undo)).toHaveLength(3);
  });

  it('names first, beside the result, the lists that its rules need and nobody recorded', async () => {
    mkdirSync(folder('users'));
    writeFileSync(join(folder('users'), 'rule.yaml'), OF_USERS);
    const replay = await run('replay', '--rules', folder('users'), '--format', 'json');
    const line =
      'note: users were not read by any recorded run, so `leavers` is unknown for everybody; `TRUSTWARD_RECORD=users` has runs record them from now on\n';
    expect(replay.err).toBe(line);
    expect(replaySchema.parse(JSON.parse(replay.out)).unread).toMatchObject([{ list: 'users', rules: ['leavers'] }]);
    const diff = await run('rules', 'diff', folder('first'), folder('users'), '--format', 'json');
    expect(diff.err).toBe(line);
    expect(JSON.parse(diff.out).unread).toMatchObject([{ list: 'users', rules: ['leavers'] }]);
    expect((await run('replay', '--rules', folder('first'), '--format', 'json')).err).toBe('');
  });

  it.each(['text', 'json', 'md', 'html', 'csv'])(
    'writes %s, whole and to a file that its owner alone reads',
    async (format) => {
      const file = join(dir, `replay.${format}`);
      const { code, out } = await run('replay', '--rules', folder('first'), '--format', format, '--out', file);
      expect([code, out, statSync(file).mode & 0o777]).toEqual([0, '', 0o600]);
      expect(readFileSync(file, 'utf8')).toContain('S-d1');
    },
  );

  it('refuses a rule that the folder does not have, and a folder that cannot be loaded', async () => {
    expect(await run('replay', '--rules', folder('first'), '--rule', 'nope')).toMatchObject({ code: 1, out: '' });
    expect(await run('replay', '--rules', folder('nowhere'))).toMatchObject({ code: 2, out: '' });
  });

  it('counts which bans a warning would have avoided, by what it is given to assume of people', async () => {
    const notice = async (...more: string[]) => {
      const { out } = await run('replay', '--rules', folder('warns'), '--format', 'json', ...more);
      const { rules, notes } = replaySchema.parse(JSON.parse(out));
      return { notice: rules[0]?.notice, notes };
    };
    const seen = { warned: 43, mended: 40, acted: 3, undelivered: 0 };
    expect(await notice('--mend', '100%,0h')).toMatchObject({ notice: { ...seen, avoided: 3 } });
    expect(await notice('--mend', '0%,0h')).toMatchObject({ notice: { ...seen, avoided: 0 } });
    const { notes } = await notice();
    expect(notes.join(' ')).toContain(
      '50 % of those who are warned, always the same ones, mend what is wrong after 4h',
    );
    for (const [given, error] of [
      [['--rules', folder('warns'), '--mend', '101%,4h'], '--mend `101%,4h`: expected a share of people and how long'],
      [['--rules', folder('warns'), '--mend', '50%'], '--mend `50%`: expected a share of people and how long'],
      [['--mend', '50%,4h'], '--mend: what people did is recorded; give `--rules`'],
    ] as const) {
      const { code, err } = await run('replay', ...given);
      expect([code, err]).toEqual([2, expect.stringContaining(error)]);
    }
  });

  it('changes no file beside the database', async () => {
    const files = () => readdirSync(historyFolderOf(db), { recursive: true }).sort();
    const before = files();
    await run('replay', '--rules', folder('first'));
    expect(files()).toEqual(before);
  });
});

describe('replay as it was', () => {
  it('gives the decisions that were made', async () => {
    const { code, out } = await run('replay', '--format', 'json');
    const found = replaySchema.parse(JSON.parse(out));
    expect([code, found.way, found.differences]).toEqual([0, 'as_was', []]);
    expect(found.runs).toBeGreaterThan(100);
  });

  it('decides fewer runs with --every, and has the facts of all', async () => {
    const { code, out } = await run('replay', '--every', '1d', '--format', 'json');
    expect([code, JSON.parse(out).everyMs]).toEqual([0, 86_400_000]);
  });

  it('refuses a rule that no replayed run had', async () => {
    const { code, err } = await run('replay', '--rule', 'nope');
    expect([code, err]).toEqual([1, expect.stringContaining('`nope`')]);
  });
});

describe('runs after the newest one of the record', () => {
  it('are a gap: of a replay, and of what was so then', async () => {
    const full = join(dir, 'full.db');
    cpSync(db, full);
    cpSync(historyFolderOf(db), historyFolderOf(full), { recursive: true });
    const newest = listHistory(historyFolderOf(full)).segments.slice(-3);
    for (const { file } of newest) rmSync(file);
    const text = `runs ${newest[0]?.last} to ${newest[2]?.last} are not in the record`;
    const replay = async (...args: string[]) => {
      const { code, out } = await command(['replay', '--format', 'json', '--db', full, ...args], {});
      const { gaps, differences } = replaySchema.parse(JSON.parse(out));
      return { code, gaps, differences };
    };
    const gaps = [{ to: isoTime(newest[2]?.fromMs as number), cause: 'not_recorded', text }];
    expect(await replay()).toMatchObject({ code: 0, gaps, differences: [] });
    expect(await replay('--rules', folder('first'))).toMatchObject({ code: 0, gaps });
    for (const asked of ['why', 'facts']) {
      const { code, err } = await command([asked, 'S-d1', '--at', '10m', '--db', full], {});
      expect([code, err]).toEqual([1, expect.stringContaining(text)]);
    }
  });
});

describe('a subject whose records were removed', () => {
  it('is one gap, which is not taken for time without records, and was not in no list', async () => {
    const less = join(dir, 'less.db');
    cpSync(db, less);
    cpSync(historyFolderOf(db), historyFolderOf(less), { recursive: true });
    const there = (...args: string[]) => command([...args, '--db', less], {});
    const subject = { kind: 'device', id: 'd1' } as const;
    const { removed } = forgetSubject(historyFolderOf(less), { subject, atMs: systemClock.nowMs(), standIn: 'nobody' });
    expect(removed).toBeGreaterThan(0);
    for (const rules of [[], ['--rules', folder('first')]]) {
      const { out } = await there('replay', '--format', 'json', ...rules);
      expect(replaySchema.parse(JSON.parse(out)).gaps).toMatchObject([{ cause: 'forgotten' }]);
      const words = (await there('replay', ...rules)).out.replace(/\s+/g, ' ');
      expect(words).toContain('An operator removed the records of 1 subject: what was so of it is not known.');
      expect(words).not.toMatch(/1 gap,/);
    }
    for (const asked of ['why', 'facts'])
      expect(await there(asked, 'S-d1', '--at', '2d')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/was in no list at .*; or its records are those that were removed: /),
      });
  });
});

describe('rules diff', () => {
  it('ends with 0 for the same rules, and 1 for rules that do something else', async () => {
    expect(await run('rules', 'diff', folder('first'), folder('first'))).toMatchObject({ code: 0 });
    const { code, out } = await run('rules', 'diff', folder('first'), folder('tighter'));
    expect(code).toBe(1);
    expect(out.replace(/\s+/g, ' ')).toContain('over the recorded time nobody would be added and 40 subjects would go');
  });

  it('ends with 2 when the two cannot be compared', async () => {
    expect(await run('rules', 'diff', folder('first'), folder('nowhere'))).toMatchObject({ code: 2, out: '' });
    const elsewhere = await command(
      ['rules', 'diff', folder('first'), folder('held'), '--db', join(dir, 'none.db')],
      {},
    );
    expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining('there is no history in') });
  });
});

describe('a time that cannot be replayed', () => {
  it.each([
    [['--since', 'yesterday'], '--since `yesterday`'],
    [['--since', '3d', '--until', '9d'], '--until `9d`: expected a time after --since'],
    [['--since', '2999-01-01'], 'expected a time in the past'],
    [['--every', 'often'], '--every `often`: expected a duration'],
    [['--every', '0s'], '--every `0s`: expected a duration'],
  ])('%s is a mistake in one line', async (args, text) => {
    expect(await run('replay', ...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(text) });
  });

  it('has plain words where nothing is recorded in it, and for a database without a history', async () => {
    const empty = await run('replay', '--since', '300d', '--until', '200d');
    expect(empty).toMatchObject({ code: 0, out: expect.stringContaining('No run is recorded in this time') });
    expect(empty.out.replace(/\s+/g, ' ')).toMatch(/The history goes from .* to /);
    const none = await command(['replay', '--db', join(dir, 'none.db')], {});
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('there is no history in') });
    const off = await command(['replay', '--db', join(dir, 'none.db')], { TRUSTWARD_HISTORY: '0d' });
    expect(off.err).toContain('TRUSTWARD_HISTORY is 0d, so runs are not recorded');
    const kept = await command(['replay', '--db', join(dir, 'none.db')], { TRUSTWARD_HISTORY: '30d' });
    expect(kept.err).toContain('no run was recorded yet');
  });
});
