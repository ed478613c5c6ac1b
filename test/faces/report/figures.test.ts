// report: its figures, and a summary of what happened since a time, on a real database.
import { afterEach, describe, expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import { lastingText } from '../../../src/domain/decision.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import { howToGet } from '../../../src/domain/verdict.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { quietHoursText } from '../../../src/faces/report/plan-view.ts';
import { buildSummary, type TimesDue } from '../../../src/faces/report/summary/build.ts';
import { boundRows, trendRows } from '../../../src/faces/report/words.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import {
  addLiveRun,
  addRun,
  decision,
  fakeClock,
  intent,
  openStore,
  plan,
  type RunFill,
  START_MS,
  tally,
} from '../../support/filled-store.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { reportMarkdown, reportText, summaryMarkdown, summaryText } from '../../support/readable.ts';

const DAY_MS = 86_400_000;

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
  const waits = { decision: 'skip', reason: 'for_not_reached', since: START_MS, outcome: undefined } as const;
  const onTrial = { mode: 'dry-run', cappedBy: undefined } as const;

  it.each<[string, RunFill, string]>([
    ['of a dry run', { decisions: acts }, 'Would ban 3 devices of 2 people; nothing was changed.'],
    [
      'with what waits',
      { decisions: [...acts, ban('c', [], hold)] },
      'Would ban 3 devices of 2 people and leave 1 more waiting for a yes; nothing was changed.',
    ],
    [
      'of a dry run that only holds',
      { decisions: [ban('c', [], hold)] },
      'Would leave 1 waiting for a yes; nothing was changed.',
    ],
    [
      'of a live run that only holds',
      { mode: 'enforce', decisions: [ban('c', [], hold), ban('d', [], capped)] },
      'Left 1 waiting for a yes, 1 waiting until a ceiling allows it; nothing was changed.',
    ],
    [
      'of a target that two rules hold, which waits once',
      { mode: 'enforce', decisions: [ban('c', [], hold), ban('d', [], { ...hold, rule: 'other', target: 'c' })] },
      'Left 1 waiting for a yes; nothing was changed.',
    ],
    [
      'of a run during a stop',
      {
        mode: 'enforce',
        decisions: [
          ban('c', [], { ...hold, reason: 'stopped' }),
          ban('d', [], { ...hold, reason: 'conflict' }),
          ban('e', [], { ...hold, reason: 'other_first' }),
        ],
      },
      'Left 1 waiting until the stop is lifted, 2 waiting because of another rule; nothing was changed.',
    ],
    [
      'of a run over data that is not trusted',
      {
        mode: 'enforce',
        sources: { devices: { trusted: false, reasons: [{ source: 'devices', code: 'shrunk', text: '100 to 3' }] } },
        decisions: [ban('c', [], { ...hold, decision: 'skip', reason: 'untrusted_source' })],
      },
      'Nothing to do, but not all data is trusted; nothing was changed.',
    ],
    [
      'of a run after which earlier actions are in doubt',
      {
        mode: 'enforce',
        decisions: ['c', 'd'].map((id) => ban(id, [], { ...hold, decision: 'skip', reason: 'in_doubt' })),
      },
      'Nothing to do, but 2 from earlier runs are not resolved; nothing was changed.',
    ],
    ['of a run without matches', {}, 'Nothing to do; nothing was changed.'],
    [
      'of matches that have not lasted long enough yet',
      {
        decisions: ['a', 'b'].map((id, at) => ban(id, [device(id, [`${id}@x`])], { ...waits, since: START_MS + at })),
        tallies: [tally({ forMs: 3 * DAY_MS })],
      },
      'Would ban 2 devices of 2 people in 3 days if they still match; nothing was changed.',
    ],
    [
      'of a match that paused, which counts anew since then',
      {
        decisions: [
          ban('a', [device('1', [])], {
            ...waits,
            since: START_MS - 2 * DAY_MS,
            reasonText: lastingText(3 * DAY_MS, START_MS),
          }),
        ],
        tallies: [tally({ forMs: 3 * DAY_MS })],
      },
      'Would ban 1 device in 3 days if it still matches; nothing was changed.',
    ],
    [
      'of a live run with such matches, of a rule that asks, and one after an attempt',
      {
        mode: 'enforce',
        decisions: [
          ban('a', [device('1', [])], { ...waits, mode: 'enforce', since: START_MS - 2 * DAY_MS }),
          ban('b', [device('2', [])], { ...waits, mode: 'approve', rule: 'asks', reason: 'cooldown' }),
        ],
        tallies: [tally({ forMs: 3 * DAY_MS }), tally({ rule: 'asks', mode: 'approve' })],
      },
      'Will ban 1 device in 24 h, ask to ban 1 device when the time has come if they still match; nothing was changed.',
    ],
    [
      'of a rule that acts on a share of its subjects, and of one after an attempt',
      {
        decisions: [
          ban('a', [device('1', [])], { ...waits, reason: 'rollout', reasonText: 'step 1 of 2 (1 %): not among them' }),
          ban('b', [device('2', [])], { ...waits, reason: 'cooldown' }),
        ],
        tallies: [tally()],
      },
      'Would ban 1 device when the rollout of the rule has come that far and ban 1 device when the time has come if they still match; nothing was changed.',
    ],
    [
      'of a rule that only reports',
      {
        decisions: ['a', 'b', 'c'].map((id) =>
          ban(id, [device(id, [])], { subject: { kind: 'device', id }, ...onTrial }),
        ),
      },
      '3 devices match a rule that only reports; nothing was changed.',
    ],
    [
      'of a rule that only reports, over data that is not trusted',
      {
        sources: { users: { trusted: false, reasons: [{ source: 'users', code: 'shrunk', text: '100 to 3' }] } },
        decisions: [ban('a', [device('1', [])], { ...waits })],
        tallies: [tally({ mode: 'dry-run', forMs: 3 * DAY_MS })],
      },
      '1 device matches a rule that only reports, but not all data is trusted; nothing was changed.',
    ],
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
      'Acted to ban 2 devices (1 succeeded, 1 failed) and left 1 more waiting for a yes.',
    ],
    ['of a run under way', { finished: false }, 'This run is still under way.'],
  ])('%s', async (_of, fill, sentence) => {
    const report = await reportOf(fill);
    expect(report.sentence).toBe(sentence);
    expect(reportText(report, { width: 200 }).split('\n')[2]).toBe(sentence);
    expect(reportMarkdown(report)).toContain(`\n\n**${sentence}**\n\n`);
  });
});

describe('what several rules hold', () => {
  const held = { decision: 'hold', reason: 'approval_needed', mode: 'approve', outcome: undefined } as const;

  it('waits once: it is counted once, and each rule says which others hold it', async () => {
    const first = ['1', '2', '3'].map((id) => ban(`a${id}`, [device(id)], { ...held, target: id, rule: 'one' }));
    const second = ['2', '3'].map((id) =>
      ban(`b${id}`, [device(id)], { ...held, reason: 'limits', target: id, rule: 'other' }),
    );
    const report = await reportOf({ mode: 'enforce', decisions: [...first, ...second] });
    expect(report.sentence).toBe('Left 3 waiting for a yes; nothing was changed.');
    const text = reportText(report, { width: 200 });
    expect(text).toContain('3 wait for a yes, 0 skipped');
    expect(reportMarkdown(report)).toContain('\n## Waits for a yes (3)\n');
    expect(text).toContain('2 of them also by rule other.');
    expect(text).toContain('All of them also by rule one.');
  });

  it('is not more than what is done anyway', async () => {
    const acts = [ban('a', [device('1')]), ban('b', [device('1')], { ...held, target: 'a', rule: 'other' })];
    expect((await reportOf({ decisions: acts })).sentence).toBe(
      'Would ban 1 device (owners not known); nothing was changed.',
    );
  });
});

describe('what waits for its time', () => {
  it('is not skipped, and has a section of its own', async () => {
    const waits = { decision: 'skip', reason: 'for_not_reached', reasonText: 'it must match for 3d' } as const;
    const skipped = { decision: 'skip', reason: 'exempt' } as const;
    const decisions = [ban('a', [device('1')], waits), ban('b', [device('2')], waits), ban('c', [], skipped)];
    const text = reportText(await reportOf({ decisions }), { width: 400 });
    expect(text).toContain('A live run would act on no match yet, and on 2 matches when their time has come.');
    expect(text).toContain('2 wait for their time, 1 skipped');
    expect(text).toContain('\nWAITS FOR ITS TIME (2)\n');
    expect(text).toContain('\nSKIPPED (1)\n');
  });
});

it('of the newest run goes on with what is left open, and of an earlier one does not', async () => {
  const store = openStore();
  const held = ban('c', [], { decision: 'hold', reason: 'approval_needed', mode: 'approve', outcome: undefined });
  const first = await addRun(store, { id: 'a' });
  const second = await addRun(store, { id: 'b', decisions: [held], plan: plan(held, { runId: 'b' }) });
  expect((await buildReport(store, first)).sentence).toBe('Nothing to do; nothing was changed.');
  expect((await buildReport(store, second)).sentence).toBe(
    'Would leave 1 waiting for a yes; nothing was changed. 1 plan waits for a yes.',
  );
});

it('of a run whose plan was applied later says so', async () => {
  const store = openStore();
  const held = ban('c', [], { decision: 'hold', reason: 'approval_needed', mode: 'approve', outcome: undefined });
  const later = intent({ id: 'later', runId: 'b', planId: 'plan1', approved: true });
  await addRun(store, { id: 'b', decisions: [held], plan: plan(held, { runId: 'b' }), intents: [later] });
  await store.markSent({ intentId: 'later', run: 'b', notes: [] });
  await store.settle({ intentId: 'later', outcome: 'succeeded', note: 'Success', notes: [] });
  expect((await buildReport(store, (await store.run('b')) as RunRecord)).sentence).toContain(
    'nothing was changed then, and 1 action of its plan was begun since: 1 done.',
  );
});

it('shows the times of exemptions as times in a sentence', async () => {
  const report = await reportOf({});
  const exemption = { id: 'x1', about: 'device d1', owner: 'Ana' };
  const operator = {
    ...report.operator,
    exemptionsEnding: [{ ...exemption, expiresAt: '2026-11-22T08:00:00.000Z' }],
    exemptionsUnused: [{ ...exemption, createdAt: '2026-10-01T08:00:00.000Z' }],
  };
  const text = reportText({ ...report, operator }, { width: 400 });
  expect(text).toContain('Exemption x1 of device d1 (Ana) ends at 2026-11-22 08:00:00 UTC.');
  expect(text).toContain('Exemption x1 of device d1 (Ana) has matched nothing since 2026-10-01 08:00:00 UTC.');
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

const MINUTE_MS = 60_000;
const HOSTILE = 'evil\u202e\n# x|<b>@admin';
const at = (minutes: number) => START_MS + minutes * MINUTE_MS;
const time = (minutes: number) => new Date(at(minutes)).toISOString();

/** Scheduled runs, begun at these minutes; each takes three seconds. */
async function scheduled(store: SqliteStore, minutes: readonly number[], error?: string) {
  for (const minute of minutes) {
    const failing = error === undefined ? {} : { error };
    await addRun(store, { id: `run${minute}`, trigger: 'schedule', startedAt: at(minute), ...failing });
  }
}

const everyFiveMinutes: TimesDue = (fromMs, untilMs) =>
  Math.floor(untilMs / (5 * MINUTE_MS)) - Math.floor(fromMs / (5 * MINUTE_MS));

describe('the runs of a summary', () => {
  it('are counted by status, with why some were aborted and where none was made for longer than the schedule allows', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    await scheduled(store, [20], 'the server is gone');
    await scheduled(store, [60, 65]);
    const { runs } = await buildSummary(store, at(4), at(70), [], everyFiveMinutes);
    expect(runs).toEqual({
      completed: 5,
      aborted: 1,
      running: 0,
      afterEvents: 0,
      first: 2,
      last: 7,
      usualMs: 5 * MINUTE_MS,
      aborts: { count: 1, some: [{ run: 5, at: time(20), error: 'the server is gone' }] },
      outages: { count: 1, some: [{ from: new Date(at(20) + 3_000).toISOString(), to: time(60), after: 5 }] },
      isCut: false,
    });
  });

  it('show no outage of a schedule that has no time in a gap, and nothing usual of runs that it did not make', async () => {
    const store = openStore();
    await scheduled(store, [0, 0.1, 0.2, 0.3, 0.4]);
    const { runs } = await buildSummary(store, at(-60), at(1), [], everyFiveMinutes);
    expect(runs).toMatchObject({ completed: 5, usualMs: null, outages: { count: 0 } });
  });

  it('show what is usual since the schedule was changed', async () => {
    const store = openStore();
    await scheduled(store, [
      ...Array.from({ length: 50 }, (_, one) => (one - 50) * 180),
      ...Array.from({ length: 25 }, (_, one) => one * 5),
    ]);
    const { runs } = await buildSummary(store, at(0), at(121), [], everyFiveMinutes);
    expect(runs).toMatchObject({ usualMs: 5 * MINUTE_MS, outages: { count: 0 } });
  });

  it('show nothing usual while most were made by another schedule', async () => {
    const store = openStore();
    await scheduled(store, [-540, -360, -180, 0, 5, 10]);
    const { runs } = await buildSummary(store, at(-600), at(11), [], everyFiveMinutes);
    expect(runs).toMatchObject({ completed: 6, usualMs: null, outages: { count: 0 } });
  });

  it('show no outage before the first scheduled run', async () => {
    const store = openStore();
    await addRun(store, { id: 'by-hand', trigger: 'command', startedAt: at(-60) });
    await scheduled(store, [0, 5, 10, 15]);
    const { runs } = await buildSummary(store, at(-120), at(16), [], everyFiveMinutes);
    expect(runs).toMatchObject({ completed: 5, usualMs: 5 * MINUTE_MS, outages: { count: 0 } });
  });

  it('show an outage that began before the time, and one that lasts', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    const lasting = { from: new Date(at(15) + 3_000).toISOString(), to: null, after: 4 };
    const summary = await buildSummary(store, at(30), at(60), [], everyFiveMinutes);
    expect(summary.runs).toMatchObject({ completed: 0, first: null, outages: { some: [lasting] } });
    expect(summaryText(summary)).toContain('NO RUN since 2026-11-21 09:15:03 UTC, after run 4');
    expect((await buildSummary(store, at(10), at(16), [], everyFiveMinutes)).runs.outages.count).toBe(0);
  });

  it('show an outage of whole runs while looks at the event log still make theirs', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    for (const minute of [17, 20, 26, 40])
      await addRun(store, { id: `look${minute}`, trigger: 'watch', scoped: true, startedAt: at(minute) });
    const summary = await buildSummary(store, at(16), at(60), [], everyFiveMinutes);
    const lasting = { from: new Date(at(15) + 3_000).toISOString(), to: null, after: 4 };
    expect(summary.runs).toMatchObject({ completed: 4, afterEvents: 4, outages: { count: 1, some: [lasting] } });
    expect(summaryText(summary)).toContain(
      '4 runs (run 5 to run 8): 4 completed, 0 aborted, 4 of them after new events',
    );
  });

  it('show no outage where too few scheduled runs were made to know what is usual', async () => {
    const store = openStore();
    await scheduled(store, [0, 60]);
    expect((await buildSummary(store, at(0), at(600), [], everyFiveMinutes)).runs).toMatchObject({
      usualMs: null,
      outages: { count: 0 },
    });
  });
});

describe('a summary', () => {
  async function eventful() {
    const clock = fakeClock();
    const store = openStore(clock);
    await addLiveRun(store);
    clock.advance(10 * MINUTE_MS);
    const held = { decision: 'hold', reason: 'limits', mode: 'enforce' } as const;
    await addRun(store, {
      id: 'run2',
      mode: 'enforce',
      startedAt: at(10),
      decisions: [decision({ id: 'h1', target: HOSTILE, ...held }), decision({ id: 'h2', target: 'S-2', ...held })],
    });
    await addRun(store, { id: 'run3', startedAt: at(11), endedDecisions: ['h2'] });
    const reasons = [{ code: 'shrunk', text: 'devices shrank from 100 to 3' }];
    await store.appendAudit([
      { kind: 'source.untrusted', body: { run: 'run2', source: 'devices', state: 'read', reasons } },
      { kind: 'source.untrusted', body: { run: 'run3', source: 'devices', state: 'read', reasons } },
      { kind: 'plan.expired', body: { plan: 'plan9', was: 'pending' } },
      ...['failed', 'failed', 'succeeded'].map((outcome) => ({
        kind: 'intent.settled' as const,
        body: { intent: 'i9', action: 'unban_device', target: 'S-9', run: 'run2', outcome, note: 'x' },
      })),
      {
        kind: 'intent.settled',
        body: { intent: 'i8', action: 'ban_device', target: 'S-8', run: 'run3', outcome: 'failed' },
      },
      { kind: 'episode.overridden', body: { action: 'ban_device', target: 'S-7', rule: 'ban' } },
      { kind: 'run.started', body: { run: 'run3', by: 'ci' } },
    ]);
    await stopEverything(
      { store, clock, checkpointer: undefined },
      { by: 'ana (token admin)', reason: 'the MDM lies' },
    );
    return { store, clock };
  }

  it('counts by action, rule, plan, person and source, with the ids and run numbers that lead on', async () => {
    const { store } = await eventful();
    expect(await buildSummary(store, at(5), at(20))).toMatchObject({
      calls: [
        { action: 'unban_device', outcome: 'done', count: 1, some: [{ target: 'S-9', intent: 'i9', run: 2 }] },
        { action: 'ban_device', outcome: 'failed', count: 1, some: [{ target: 'S-8', run: 3 }] },
      ],
      held: [
        {
          rules: ['ban-compromised-device'],
          reason: 'limits',
          count: 2,
          inForce: 1,
          some: [{ target: 'S-2', run: 2 }, {}],
        },
      ],
      expired: { plans: { count: 1, some: [{ id: 'plan9' }] }, exemptions: { count: 0 } },
      people: {
        count: 3,
        some: expect.arrayContaining([
          expect.objectContaining({ by: 'ana (token admin)', text: 'stopped everything', reason: 'the MDM lies' }),
          expect.objectContaining({ by: null, text: 'undid what Trustward did: ban S-7, of rule ban' }),
          expect.objectContaining({ by: 'ci', text: 'asked for 1 run (run 3)' }),
        ]),
      },
      untrusted: [{ source: 'devices', code: 'shrunk', readings: 2, firstRun: 2, lastRun: 3 }],
    });
  });

  it('an act of several rules is one act, with all of them', async () => {
    const store = openStore(fakeClock());
    const rules = ['ban', 'second'];
    const decisions = rules.map((rule) => decision({ id: rule, rule, decision: 'hold', reason: 'limits' }));
    await addRun(store, { id: 'run1', startedAt: at(1), decisions });
    const onBoth = (target: string, more: object) =>
      rules.map((rule) => ({ rule, action: 'ban_device', target, ...more }));
    await store.appendAudit([
      ...onBoth('S-7', {}).map((body) => ({ kind: 'episode.overridden' as const, body })),
      ...onBoth('S-8', {}).map((body) => ({ kind: 'episode.overridden' as const, body })),
      ...onBoth('S-9', { by: 'ana' }).map((body) => ({ kind: 'claim.released' as const, body })),
    ]);
    const { held, people } = await buildSummary(store, START_MS, at(20));
    expect(held).toMatchObject([{ rules, reason: 'limits', count: 1, inForce: 1, some: [{ run: 1 }] }]);
    expect([people.count, people.some.map(({ text }) => text).sort()]).toEqual([
      3,
      [
        'released without a call: ban S-9, of rules ban and second',
        'undid what Trustward did: ban S-7, of rules ban and second',
        'undid what Trustward did: ban S-8, of rules ban and second',
      ],
    ]);
  });

  it('names an act once, also when its rules began to hold it in different runs and for different reasons', async () => {
    const store = openStore(fakeClock());
    const hold = (id: string, target: string, rule: string, reason: 'limits' | 'approval_needed') =>
      decision({ id, target, rule, reason, decision: 'hold', outcome: undefined });
    const both = hold('a1', 'S-1', 'ban', 'limits');
    await addRun(store, { id: 'run1', startedAt: at(1), decisions: [both, hold('a2', 'S-2', 'ban', 'limits')] });
    await addRun(store, { id: 'run2', startedAt: at(2), decisions: [hold('b1', 'S-1', 'second', 'approval_needed')] });
    const { held } = await buildSummary(store, START_MS, at(20));
    expect(held).toEqual([
      { rules: ['ban', 'second'], reason: 'approval_needed', count: 1, inForce: 1, some: [{ target: 'S-1', run: 2 }] },
      { rules: ['ban'], reason: 'limits', count: 1, inForce: 1, some: [{ target: 'S-2', run: 1 }] },
    ]);
    const sent = intent({ id: 'done', target: 'S-1', approved: true, createdAt: at(3) });
    await addRun(store, { id: 'run3', startedAt: at(3), endedDecisions: ['a1', 'b1'], intents: [sent] });
    await store.markSent({ intentId: 'done', run: 'run3', notes: [] });
    await store.settle({ intentId: 'done', outcome: 'succeeded', note: 'Success', notes: [] });
    expect((await buildSummary(store, START_MS, at(20))).held.map(({ some }) => some)).toEqual([
      [{ target: 'S-2', run: 1 }],
    ]);
  });

  it('names no run for what a person released', async () => {
    const { store } = await eventful();
    const intent = { intent: 'i7', action: 'unban_device', target: 'S-7' };
    await store.appendAudit([
      { kind: 'intent.planned', body: { ...intent, released: true, by: 'ana' } },
      { kind: 'intent.settled', body: { ...intent, run: 'run3', outcome: 'succeeded', note: 'Success' } },
    ]);
    const summary = await buildSummary(store, at(5), at(20));
    expect(summary.calls[0]?.some[0]).toMatchObject({ intent: 'i7', run: null });
    expect(summaryText(summary)).toContain('S-7 (action i7)');
  });

  it('is one screen of text that no name controls, and the same in Markdown', async () => {
    const { store } = await eventful();
    const summary = await buildSummary(store, at(5), at(20));
    const text = summaryText(summary, { width: 80 });
    expect(text).not.toContain(HOSTILE);
    expect(text.split('\n').length).toBeLessThan(45);
    for (const width of [72, 80, 93, 100, 160]) {
      const lines = summaryText(summary, { width }).split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }
    for (const title of ['RUNS', 'DONE', 'FAILED', 'WAITS', 'EXPIRED', 'WHAT PEOPLE DID', 'NOT TRUSTED'])
      expect(text).toContain(`\n${title}\n  `);
    const markdown = summaryMarkdown(summary);
    expect(markdown).not.toContain(HOSTILE);
    expect(markdown).toContain(
      '## Not trusted\n\n- devices, 2 readings (run 2 to run 3): devices shrank from 100 to 3\n',
    );
  });

  it('of a time without anything says so', async () => {
    const { store } = await eventful();
    expect(summaryText(await buildSummary(store, at(60), at(90)))).toBe(
      'Trustward: summary, 2026-11-21 10:00:00 UTC to 2026-11-21 10:30:00 UTC\n\nRUNS\n  no run\n\nNOTHING ELSE\n  Nothing was done, nothing waits, and nothing expired.\n',
    );
  });

  it('is read over HTTP with scope `read`, of the last 12 hours by default', async () => {
    const { ask, store, clock } = openEndpoint();
    const body = { intent: 'i1', action: 'ban_device', target: 'S-1', outcome: 'succeeded' };
    await store.appendAudit([{ kind: 'intent.settled', body }]);
    clock.advance(13 * 60 * MINUTE_MS);
    const since = (query: string) => bodyOf<{ calls: object[] }>(ask('GET', `/api/summary${query}`, { scope: 'read' }));
    expect((await since('')).calls).toEqual([]);
    expect((await since('?since=14h')).calls).toMatchObject([{ action: 'ban_device', outcome: 'done', count: 1 }]);
    expect((await ask('GET', '/api/summary?since=soon')).status).toBe(400);
    expect((await ask('GET', '/api/summary', { scope: 'none' })).status).toBe(401);
  });
});

describe('quiet hours in the words that `serve` and `doctor` show', () => {
  it('quiet hours show until when alerts wait, only while they do', () => {
    const { windows } = parseWindows('22:00-06:00', 'Europe/Berlin');
    expect(quietHoursText(windows, Date.UTC(2026, 10, 22, 23))).toBe(
      '22:00-06:00 Europe/Berlin; in force until Mon 2026-11-23 06:00 Europe/Berlin (2026-11-23 05:00:00 UTC): alerts wait',
    );
    expect(quietHoursText(windows, Date.UTC(2026, 10, 22, 12))).toBe('22:00-06:00 Europe/Berlin');
  });
});
