// report: a run in the store becomes the design's JSON shape, whenever it is requested.
import { describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportJson } from '../../../src/faces/report/json.ts';
import { addLiveRun, addRun, decision, intent, openStore, plan, START_MS, tally } from '../../support/filled-store.ts';

describe('buildReport', () => {
  it('describes a dry run in the shape that other programs read', async () => {
    const store = openStore();
    const run = await addRun(store, { decisions: [decision()] });
    const report = JSON.parse(reportJson(await buildReport(store, run)));
    expect(report.run).toMatchObject({
      id: 'run1',
      mode: 'dry-run',
      startedAt: '2026-11-21T09:00:00.000Z',
      finishedAt: '2026-11-21T09:00:03.000Z',
      status: 'completed',
    });
    expect(report.snapshot).toMatchObject({
      devices: 10,
      users: 10,
      services: 10,
      events: 10,
      trusted: true,
      reasons: [],
    });
    expect(report.plan).toMatchObject({ id: null, digest: 'd'.repeat(64), intents: 0 });
    expect(report.rules).toMatchObject([
      { id: 'ban-compromised-device', mode: 'enforce', match: 1, no_match: 9, unknown: 0, error: 0 },
    ]);
    expect(report.decisions).toMatchObject([
      {
        id: 'decision1',
        rule: 'ban-compromised-device',
        subject: { kind: 'device', id: 'device-1' },
        verdict: 'match',
        since: '2026-11-21T08:59:00.000Z',
        decision: 'act',
        reason: 'rule_matches',
        action: 'ban_device',
        target: 'SERIAL-1',
        outcome: 'dry_run',
        facts: { 'MdmData.CompromisedStatus': 'TRUE' },
        unchanged: false,
      },
    ]);
    expect(report.summary).toEqual({
      act: 1,
      hold: 0,
      skip: 0,
      succeeded: 0,
      failed: 0,
      unknown: 0,
      parked: 0,
      dry_run: 1,
      pending: 0,
    });
  });

  it('keeps every digit of a 19-digit time stamp', async () => {
    const store = openStore();
    const facts = { 'MdmData.Timestamp': 1_763_717_000_123_456_789n };
    const run = await addRun(store, { decisions: [decision({ facts })] });
    const report = await buildReport(store, run);
    expect(report.decisions[0]?.facts).toEqual({ 'MdmData.Timestamp': '1763717000123456789' });
    expect(reportJson(report)).toContain('"1763717000123456789"');
  });

  it('counts an action that a read-back found done as succeeded, and one in doubt as unknown', async () => {
    const store = openStore();
    const run = await addRun(store, {
      mode: 'enforce',
      decisions: [
        decision({ id: 'a', mode: 'enforce', outcome: 'confirmed' }),
        decision({ id: 'b', mode: 'enforce', outcome: 'unknown' }),
        decision({ id: 'c', mode: 'enforce', outcome: undefined }),
      ],
    });
    const { summary } = await buildReport(store, run);
    expect(summary).toMatchObject({ act: 3, succeeded: 1, unknown: 1, pending: 1, dry_run: 0 });
  });

  it('still counts what an earlier run left parked, since it needs a person', async () => {
    const store = openStore();
    const doubt = { decision: 'skip' as const, reason: 'in_doubt' as const, outcome: undefined, intentId: 'intent1' };
    const run = await addRun(store, {
      mode: 'enforce',
      decisions: [decision(doubt)],
      intents: [intent({ status: 'settled', outcome: 'parked', attempts: 3 })],
    });
    const { summary } = await buildReport(store, run);
    expect(summary).toMatchObject({ act: 0, skip: 1, parked: 1, unknown: 0 });
  });

  it('shows when the request was made and answered', async () => {
    const store = openStore();
    const run = await addLiveRun(store);
    const report = await buildReport(store, run);
    expect(report.decisions[0]).toMatchObject({
      outcome: 'succeeded',
      outcomeText: 'Success',
      intent: { id: 'intent1', status: 'settled', settledAt: '2026-11-21T09:00:00.000Z' },
    });
  });

  it('shows a decision still in force in a later run, with the run that wrote it', async () => {
    const store = openStore();
    await addRun(store, { id: 'run1', decisions: [decision()] });
    const later = await addRun(store, { id: 'run2', startedAt: START_MS + 60_000, tallies: [tally()] });
    const report = await buildReport(store, later);
    expect(report.decisions).toMatchObject([{ id: 'decision1', unchanged: true, runId: 'run1', runSeq: 1 }]);
  });

  it('shows a decision that a later run ended only in the report of its own run', async () => {
    const store = openStore();
    const first = await addRun(store, { id: 'run1', decisions: [decision()] });
    const second = await addRun(store, { id: 'run2', endedDecisions: ['decision1'], tallies: [tally()] });
    expect((await buildReport(store, second)).decisions).toEqual([]);
    expect((await buildReport(store, first)).decisions).toHaveLength(1);
  });

  it('shows what waits in the plan, also when an earlier run made the plan', async () => {
    const store = openStore();
    const held = decision({ decision: 'hold', reason: 'approval_needed', mode: 'approve', outcome: undefined });
    await addRun(store, { id: 'run1', mode: 'enforce', decisions: [held], plan: plan(held) });
    const rewritten = { ...held, id: 'decision2', reasonText: 'the rule has mode `approve`' };
    const run = await addRun(store, {
      id: 'run2',
      mode: 'enforce',
      endedDecisions: ['decision1'],
      decisions: [rewritten],
      plan: plan(held),
    });
    const report = await buildReport(store, run);
    expect(report.plan).toMatchObject({
      id: 'plan1',
      intents: 1,
      status: 'pending',
      expiresAt: '2026-11-22T09:00:00.000Z',
    });
    expect(report.plan.held).toMatchObject([{ target: 'SERIAL-1', subjects: ['device-1'] }]);
    expect(report.decisions).toMatchObject([{ id: 'decision2', inPlan: true }]);
  });

  it("shows that what a dry run would do is in that run's plan", async () => {
    const store = openStore();
    const acting = decision();
    const reported = decision({ id: 'decision2', rule: 'report-only', cappedBy: undefined });
    const run = await addRun(store, { decisions: [acting, reported], plan: plan(acting, { mode: 'dry-run' }) });
    const report = await buildReport(store, run);
    expect(report.plan).toMatchObject({ intents: 1, held: [] });
    expect(report.decisions).toMatchObject([
      { id: 'decision1', inPlan: true },
      { id: 'decision2', inPlan: false },
    ]);
  });

  it('calls a snapshot trusted when this edition lacks a source', async () => {
    const store = openStore();
    const reasons = [{ source: 'events' as const, code: 'unavailable' as const, text: 'events answered 403' }];
    const run = await addRun(store, { sources: { events: { state: 'unavailable', trusted: false, reasons } } });
    expect((await buildReport(store, run)).snapshot).toMatchObject({ trusted: true, reasons });
  });

  it('reports a run that broke off before its snapshot as just that', async () => {
    const store = openStore();
    const { findings: _findings, planId: _planId, ...run } = await addRun(store);
    const report = await buildReport(store, { ...run, findings: undefined, planId: undefined, status: 'aborted' });
    expect(report.snapshot).toMatchObject({ id: null, devices: 0, trusted: false });
    expect(report).toMatchObject({ rules: [], decisions: [], plan: { id: null, intents: 0 } });
  });
});
