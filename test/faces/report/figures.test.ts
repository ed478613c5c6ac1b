// report: its figures: one sentence, whom it affects, how near the limits it came, and what its rules matched over time.
import { afterEach, describe, expect, it } from 'vitest';
import { howToGet } from '../../../src/domain/verdict.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportMarkdown } from '../../../src/faces/report/markdown.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import { boundRows, trendRows } from '../../../src/faces/report/words.ts';
import { addRun, decision, openStore, plan, type RunFill, tally } from '../../support/filled-store.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

async function reportOf(fill: RunFill) {
  const store = openStore();
  return buildReport(store, await addRun(store, fill));
}

const device = (id: string, owners?: string[]) => ({
  id,
  name: id,
  platform: '',
  model: '',
  ...(owners && { owners }),
});
const ban = (id: string, devices: ReturnType<typeof device>[], over = {}) =>
  decision({ id, target: id, effect: { text: '', devices }, ...over });

describe('the sentence of a report', () => {
  const acts = [
    ban('a', [device('1', ['ana@x'])]),
    ban('b', [device('2', ['ANA@x', 'bob@x']), device('3', ['bob@x'])]),
  ];
  const hold = { decision: 'hold', reason: 'approval_needed', mode: 'approve', outcome: undefined } as const;
  const capped = { ...hold, reason: 'ceiling' } as const;

  it.each<[string, RunFill, string]>([
    ['of a dry run', { decisions: acts }, 'Would ban 3 devices of 2 people; nothing was changed.'],
    [
      'with what waits',
      { decisions: [...acts, ban('c', [], hold)] },
      'Would ban 3 devices of 2 people and hold 1 more for approval; nothing was changed.',
    ],
    [
      'of a dry run that only holds',
      { decisions: [ban('c', [], hold)] },
      'Would hold 1 for approval; nothing was changed.',
    ],
    [
      'of a live run that only holds',
      { mode: 'enforce', decisions: [ban('c', [], hold), ban('d', [], capped)] },
      'Held 1 for approval, 1 until a ceiling allows it; nothing was changed.',
    ],
    ['of a run without matches', {}, 'Nothing to do; nothing was changed.'],
    [
      'of a run that acted',
      {
        mode: 'enforce',
        decisions: [
          ban('a', [device('1', [])], { mode: 'enforce', outcome: 'succeeded' }),
          ban('b', [device('2', [])], { mode: 'enforce', outcome: 'failed' }),
          ban('c', [], hold),
        ],
      },
      'Acted to ban 2 devices (1 succeeded, 1 failed) and held 1 more for approval.',
    ],
    ['of a run under way', { finished: false }, 'This run is still under way.'],
  ])('%s', async (_of, fill, sentence) => {
    const report = await reportOf(fill);
    expect(report.sentence).toBe(sentence);
    expect(reportText(report, { width: 200 }).split('\n')[2]).toBe(sentence);
    expect(reportMarkdown(report)).toContain(`\n\n${sentence}\n\n`);
  });
});

describe('the effect of a group', () => {
  it('counts each device and each person once, and devices whose owners are not known apart', async () => {
    const both = device('1', ['ana@x', 'Bob@x']);
    const report = await reportOf({
      decisions: [ban('a', [both]), ban('b', [both, device('2', ['bob@x']), device('3')])],
    });
    expect(report.effects).toEqual([
      {
        rule: 'ban-compromised-device',
        action: 'ban_device',
        decision: 'act',
        decisions: 2,
        devices: 3,
        people: 2,
        ownersUnknown: 1,
      },
    ]);
    expect(reportText(report)).toContain('3 devices of 2 people (owners of 1 device not known).');
  });

  it('shows what approving would do, and what would still hold it back', async () => {
    const held = ban('a', [device('1', ['ana@x'])], {
      decision: 'hold',
      reason: 'approval_needed',
      mode: 'approve',
      outcome: undefined,
    });
    const report = await reportOf({ mode: 'enforce', decisions: [held], plan: plan(held) });
    const words =
      'Approving and applying it would affect 1 device of 1 person; ceilings, exemptions and a stop still hold it back.';
    expect(reportText(report, { width: 300 })).toContain(words);
    expect(reportMarkdown(report)).toContain(words);
  });
});

describe('limits, ceilings and the trend', () => {
  let org: Organization | undefined;
  afterEach(async () => {
    await org?.close();
    org = undefined;
  });

  it('show what was compared, in a dry run as in the live one after it', async () => {
    org = await startOrganization({ devices: 100, compromised: 3 });
    const { store } = org.composition.engine;
    const reports = [
      await buildReport(store, (await org.run('dry-run')).run),
      await buildReport(store, (await org.run('enforce')).run),
    ];
    for (const { limits, ceilings, rules } of reports) {
      const count = rules[0]?.match as number;
      expect(limits).toEqual([
        {
          rule: 'ban-compromised-device',
          matches: count,
          targets: count,
          max: 25,
          percent: 5,
          allowed: 5,
          crossed: false,
          inDay: { subjects: count, allowed: 10, crossed: false },
        },
      ]);
      expect(ceilings).toEqual([
        { action: 'ban_device', window: 'run', used: count, allowed: 50 },
        { action: 'ban_device', window: '24h', used: count, allowed: 100 },
      ]);
    }
    const third = await buildReport(store, (await org.run('enforce')).run);
    expect(third.limits).toMatchObject([{ matches: 3, targets: 0, crossed: false }]);
    expect(third.ceilings).toMatchObject([
      { window: 'run', used: 0 },
      { window: '24h', used: 3 },
    ]);
    expect(third.trend).toEqual([
      { rule: 'ban-compromised-device', counts: [1, 2, 3].map((seq) => ({ seq, at: expect.any(String), match: 3 })) },
    ]);
  });

  it('show a limit that was crossed, also without its bar', async () => {
    org = await startOrganization({ devices: 100, compromised: 9, rules: { ban: BAN_COMPROMISED } });
    const report = await buildReport(org.composition.engine.store, (await org.run('enforce')).run);
    expect(report.limits).toMatchObject([{ targets: 9, allowed: 5, crossed: true }]);
    expect(reportText(report)).toMatch(/max 25, 5 % +│ 9 of 5, crossed +│ █{20} │/);
    expect(report.ceilings).toEqual([]);
  });

  it('are shown where there are many only from half of what is allowed', () => {
    const limits = [...Array(10).keys()].map((targets) => ({
      rule: `r${targets}`,
      matches: targets,
      targets,
      max: 10,
      percent: 100,
      allowed: 10,
      crossed: false,
      inDay: targets === 9 ? { subjects: 3, allowed: 2, crossed: true } : { subjects: 9, allowed: 20, crossed: false },
    }));
    const { rows, left } = boundRows({ run: { trigger: 'schedule', scoped: false }, limits, ceilings: [] });
    expect(rows.map(({ name }) => name)).toEqual(['r5', 'r6', 'r7', 'r8', 'r9', 'r9']);
    expect(left).toBe(4);
    expect(rows.at(-2)).toMatchObject({ used: '9 of 10', bar: `${'█'.repeat(18)}░░` });
    expect(rows.at(-1)).toMatchObject({ bound: 'per_day 2', used: '3 of 2, crossed' });
  });

  it('draw what matched as more than nothing, and leave out rules that never matched', () => {
    const counts = (...matches: number[]) => matches.map((match, seq) => ({ seq, at: '', match }));
    const rows = trendRows({
      trend: [
        { rule: 'a', counts: counts(0, 1, 50, 100) },
        { rule: 'b', counts: counts(0, 0) },
        { rule: 'c', counts: counts(4) },
      ],
    });
    expect(rows).toEqual([{ rule: 'a', matches: [0, 1, 50, 100], chart: '▁▂▅█', words: '0 to 100, last 100' }]);
  });

  it('are empty in a run of an earlier version, which did not keep them', async () => {
    const report = await reportOf({ decisions: [decision()] });
    expect(report).toMatchObject({ limits: [], ceilings: [] });
    expect(reportText(report)).not.toContain('LIMITS');
  });
});

describe('how to get a missing fact', () => {
  const none = { whys: [], unavailable: [] };
  it.each([
    [{ ...none, fact: 'MdmData.CompromisedStatus' }, /report to the MDM/],
    [{ ...none, fact: 'OS', whys: ['stale' as const] }, /too old/],
    [{ ...none, fact: '$owners', unavailable: ['users' as const] }, /does not offer users \(403\)/],
    [{ ...none, fact: 'event_count({"within":"1h"})' }, /without a gap/],
    [
      { ...none, fact: 'event_count({"within":"1h"})', unavailable: ['events' as const] },
      /does not offer events \(403\)/,
    ],
    [{ ...none, fact: 'Declared.By.A.Rule' }, /trustward explain/],
  ])('%j', (missing, text) => {
    expect(howToGet(missing)).toMatch(text);
  });

  it('is in the report, for facts of the same way together', async () => {
    const missing = { 'MdmData.CompromisedStatus': 2, 'MdmData.CompliantStatus': 1 };
    const report = await reportOf({ tallies: [tally({ unknown: 3, missing })] });
    expect(Object.keys(report.rules[0]?.howTo ?? {})).toEqual(Object.keys(missing).sort());
    expect(reportText(report)).toMatch(/MdmData.CompliantStatus, MdmData.CompromisedStatus: let the device report to/);
    expect(reportMarkdown(report)).toContain('`MdmData.CompliantStatus`, `MdmData.CompromisedStatus`: let the device');
  });
});
