// pages and texts: one name for each thing, as docs/glossary.md has it. In: a store in which everything waits, failed and is in force. Out: tests.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { inboxText, inboxView, readInbox } from '../../../src/faces/report/inbox.ts';
import { plansText } from '../../../src/faces/report/plan-text.ts';
import { buildSummary } from '../../../src/faces/report/summary/build.ts';
import { ROOT } from '../../support/built.ts';
import { addRun, decision, plan, START_MS, tally } from '../../support/filled-store.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { reportMarkdown, reportText, summaryText } from '../../support/readable.ts';
import { notSaid } from '../../support/words.ts';
import { addActed } from './acted.ts';

async function everything(): Promise<OpenedPages> {
  const pages = openPages();
  await addActed(pages.store, 'run1', [
    { id: '1', outcome: 'unknown', note: 'no answer' },
    { id: '2', outcome: 'parked', note: 'failed three times' },
    { id: '3', outcome: 'failed', note: 'HTTP 500' },
    { id: '4', outcome: 'succeeded', status: 'standing' },
    { id: '5', outcome: 'succeeded', status: 'orphaned' },
  ]);
  const one = (id: string, over: object) =>
    decision({
      id,
      target: `SERIAL-${id}`,
      subject: { kind: 'device', id: `device-${id}` },
      outcome: undefined,
      ...over,
    });
  const asked = one('6', { decision: 'hold', reason: 'approval_needed', mode: 'approve' });
  const others = [
    one('7', { decision: 'hold', reason: 'ceiling', mode: 'enforce' }),
    one('8', { decision: 'hold', reason: 'conflict', mode: 'enforce' }),
    one('9', { decision: 'skip', reason: 'already_acted', mode: 'enforce' }),
    one('a', { decision: 'skip', reason: 'rejected', mode: 'enforce' }),
    one('b', { decision: 'skip', reason: 'for_not_reached', mode: 'enforce' }),
  ];
  const tallies = [tally({ forMs: 60_000, unknown: 2 })];
  await addRun(pages.store, {
    id: 'run2',
    decisions: [asked, ...others],
    plan: plan(asked, { runId: 'run2' }),
    tallies,
  });
  return pages;
}

describe('the words of the glossary', () => {
  it('are those of the pages', async () => {
    const { get } = await everything();
    const paths = ['/', '/inbox', '/runs', '/runs/1', '/runs/2', '/plans', '/plans/plan1', '/rules', '/in-force'];
    const fleet = ['/devices', '/users', '/services', '/audit', '/health', '/tokens'];
    for (const path of [...paths, ...fleet, '/exemptions', '/intents/intent-2', '/intents/intent-4']) {
      const { status, html } = await get(path);
      expect([path, status, notSaid(html)]).toEqual([path, 200, []]);
      expect(html).toContain('href="/guide/glossary.html"');
    }
  });

  it('are those of reports, summaries and lists', async () => {
    const { store } = await everything();
    const { items, ...page } = await readInbox(store, { limit: 50 });
    const texts = [
      summaryText(await buildSummary(store, 0, START_MS + 60_000, [])),
      inboxText({ inbox: items.map(inboxView), ...page }, START_MS, { width: 120 }),
      plansText(await store.plans({}, 10), START_MS, { width: 120 }),
    ];
    for (const run of await store.runs(10)) {
      const report = await buildReport(store, run);
      texts.push(reportText(report), reportMarkdown(report));
    }
    expect(texts.flatMap(notSaid)).toEqual([]);
  });

  it('are those of the picture in the README, which has the words of a report of today', async () => {
    const picture = readFileSync(join(ROOT, 'docs/report.svg'), 'utf8').replaceAll('\u00a0', ' ');
    expect(notSaid(picture)).toEqual([]);
    expect(picture).toMatch(/\d+ wait for a yes, \d+ wait for their time, \d+ skipped, \d+ verdicts unknown\./);
  });

  it('are at most 25, each once and with one sentence, and the README leads to them', () => {
    const rows = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| **'));
    const words = rows.map((row) => row.split('|')[1]?.trim());
    expect(words.length).toBeLessThanOrEqual(25);
    expect(new Set(words).size).toBe(words.length);
    expect(rows.filter((row) => row.split('|').length !== 4 || row.length < 40)).toEqual([]);
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain('](docs/glossary.md)');
  });
});
