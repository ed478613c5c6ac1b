// test: the report of a run over the subjects that new events named states nothing about all others.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/contract/report.ts';
import { reportSchema } from '../../../src/contract/report.ts';
import type { Run } from '../../../src/domain/run.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import { buildOutline, buildReport, wholeDecisions } from '../../../src/faces/report/build-report.ts';
import { reportHtmlPieces } from '../../../src/faces/report/html/picture.tsx';
import { runsText } from '../../../src/faces/report/lists-text.ts';
import { reportMarkdown } from '../../../src/faces/report/markdown.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { addRun, decision, openStore, START_MS, tally } from '../../support/filled-store.ts';

const live = { mode: 'enforce', cappedBy: undefined } as const;
const NOT_READ = { state: 'skipped', form: 'none', count: 0 } as const;

let store: SqliteStore;
let whole: RunRecord;
let look: RunRecord;

/** A whole run over ten devices that decided two, and a look that read two devices and decided one more. */
beforeEach(async () => {
  store = openStore();
  const held = { ...live, decision: 'hold', reason: 'limits', outcome: undefined } as const;
  whole = await addRun(store, {
    id: 'whole',
    mode: 'enforce',
    trigger: 'schedule',
    decisions: [decision({ id: 'd1', ...held }), decision({ id: 'd2', target: 'S-2', ...held })],
  });
  look = await addRun(store, {
    id: 'look',
    mode: 'enforce',
    trigger: 'watch',
    scoped: true,
    startedAt: START_MS + 60_000,
    decisions: [decision({ id: 'd3', target: 'S-3', ...live, outcome: 'succeeded' })],
    tallies: [
      {
        ...tally({ rule: 'ban-compromised-device' }),
        match: 1,
        no_match: 1,
        limits: { max: 25, percent: 50, allowed: 5, targets: 3 },
      },
    ],
    sources: {
      devices: { form: 'single', count: 2 },
      users: NOT_READ,
      services: NOT_READ,
      events: { count: 4 },
    },
  });
});

describe('the report of a run after new events', () => {
  it('has what it decided, and neither what earlier runs did nor what they count', async () => {
    const report = await buildReport(store, look);
    expect(reportSchema.parse(report)).toMatchObject({
      run: { trigger: 'watch', scoped: true },
      changes: { since: null, new: 1, gone: 0, changed: 0, still: 0, goneExamples: [] },
      trend: [],
      decisions: [{ target: 'S-3', change: 'new' }],
      summary: { act: 1, hold: 0 },
    });
    expect(Object.keys(report.snapshot.sources)).toEqual(['devices', 'events']);
    expect(report.snapshot.sources.devices).toMatchObject({ form: 'single', count: 2, trusted: true });
  });

  it('is the same as an outline of which the page completes a part', async () => {
    const outline = await buildOutline(store, look);
    const { decisions } = await buildReport(store, look);
    expect(await wholeDecisions(store, outline.decisions)).toEqual(decisions);
  });

  it.each([
    ['text', reportText],
    ['Markdown', reportMarkdown],
    ['HTML', (report: Report) => [...reportHtmlPieces(report)].join('').replace(/<[^>]+>/g, '')],
  ])('says so in %s', async (_format, render) => {
    const text = render(await buildReport(store, look), { width: 300 }).replace(/\s+/g, ' ');
    expect(text).toContain('Trustward: enforcing run after new events, 2026-11-21 09:01:00 UTC');
    expect(text).toContain('Acted to ban 1 device');
    expect(text).toContain('It judged only subjects that new events name: 1 rule; it read 2 devices, 4 events.');
    expect(text).toContain('Everything else was left as it was: no episode ended, and nothing was undone.');
    expect(text).toContain('3 of 5 (with the last whole run; 1 match now)');
    expect(text).toContain('2, each by itself');
    expect(text).toContain('by watch, after new events');
    for (const wrong of ['There is no earlier', 'gone', 'Since run', 'Matches over', 'no rule needs it', 'S-2'])
      expect(text).not.toContain(wrong);
  });

  it('changes nothing about the next whole run, which is compared with the last whole one', async () => {
    const next = await addRun(store, {
      id: 'next',
      mode: 'enforce',
      startedAt: START_MS + 300_000,
      endedDecisions: ['d2'],
    });
    const { changes } = await buildReport(store, { ...next, findings: whole.findings });
    expect(changes).toMatchObject({ since: { run: 'whole', seq: 1 }, new: 1, gone: 1, still: 1 });
  });
});

it('the last run is none over a few subjects', async () => {
  expect(await store.latestRun()).toMatchObject({ id: 'whole' });
});

it('lists show what started a run, and what it left out', () => {
  const counts = { act: 1, hold: 0, skip: 0, done: 1, failed: 0, open: 0 };
  const chosen: Run = { ...look, trigger: 'command' };
  const asked: Run = { ...whole, trigger: 'watch' };
  const text = runsText(
    [look, chosen, asked].map((run) => ({ run, counts })),
    { width: 200 },
  );
  expect(text).toContain('only subjects of new events');
  expect(text).toContain('only ban-compromised-device');
  expect(text).toContain('all subjects, after new events');
});
