// report: a run in the store becomes the JSON shape; what changed since the run before; a look's report; and what `why` answers, as JSON and back.
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { type explained, why } from '../../../src/contract/answers.ts';
import { encodedJson } from '../../../src/contract/operation.ts';
import { type Report, reportSchema } from '../../../src/contract/report.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Run } from '../../../src/domain/run.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import type { ExplainedSubject, WhyAnswer } from '../../../src/domain/why.ts';
import { buildOutline, buildReport, wholeDecisions } from '../../../src/faces/report/build-report.ts';
import { reportHtmlPieces } from '../../../src/faces/report/html/picture.tsx';
import { reportJson } from '../../../src/faces/report/json.ts';
import { runsText } from '../../../src/faces/report/lists-text.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { addLiveRun, addRun, decision, intent, openStore, plan, START_MS, tally } from '../../support/filled-store.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { reportMarkdown, reportText } from '../../support/readable.ts';

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

const LOST = BAN_COMPROMISED.replace('id: ban-compromised-device', 'id: report-lost-device')
  .replace('MdmData.CompromisedStatus }, "TRUE"', 'Model }, "Lost 1"')
  .replace('given: { MdmData: { CompromisedStatus: "TRUE" } }', 'given: { Model: "Lost 1" }');

describe('the changes of a run', () => {
  let org: Organization | undefined;
  afterEach(async () => {
    await org?.close();
    org = undefined;
  });

  it('are none to compare with in the first run, and all its decisions are new', async () => {
    const store = openStore();
    const report = await buildReport(store, await addRun(store, { decisions: [decision()] }));
    expect(report.changes).toEqual({ since: null, new: 1, gone: 0, changed: 0, still: 0, goneExamples: [] });
    expect(report.decisions[0]?.change).toBe('new');
    expect(reportText(report)).toContain('There is no earlier completed dry run over all rules to compare with.');
  });

  it('are counted against the last run of the same kind, not against a live one between', async () => {
    org = await startOrganization({ compromised: 2 });
    const { store } = org.composition.engine;
    await org.run('dry-run');
    await org.run('enforce');
    org.console.fleet.addDevice({ serial: 'NEW-1', mdm_compromised: 'TRUE' });
    const report = await buildReport(store, (await org.run('dry-run')).run);
    expect(report.changes).toMatchObject({ since: { seq: 1 }, new: 1, gone: 0 });
    expect(report.decisions.filter(({ change }) => change === 'new').map(({ target }) => target)).toEqual(['NEW-1']);
  });

  it('name those of rules that are new themselves', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const added = ['s2', 's3'].map((id) =>
      decision({ id, rule: 'new-rule', target: id, subject: { kind: 'device', id } }),
    );
    const more = decision({ id: 's4', target: 's4', subject: { kind: 'device', id: 's4' } });
    const tallies = [tally(), tally({ rule: 'new-rule', match: 2 })];
    const run = async (id: string, decisions: typeof added) =>
      buildReport(store, await addRun(store, { id, startedAt: START_MS + 60_000, decisions, tallies }));
    const report = await run('b', [...added, more]);
    expect(report.changes).toMatchObject({ new: 3, byNewRules: 2, still: 1 });
    expect(reportText(report, { width: 200 })).toMatch(
      /: 3 new \(2 by a rule that is new\), 0 changed, 0 gone, 1 as before\./,
    );
    const next = await run('c', []);
    expect(next.changes).not.toHaveProperty('byNewRules');
  });

  it('name what is gone and why, where that is known', async () => {
    org = await startOrganization({ compromised: 1, rules: { ban: BAN_COMPROMISED, lost: LOST } });
    const { store } = org.composition.engine;
    org.console.fleet.addDevice({ serial: 'LOST-1', model: 'Lost 1' });
    await org.run('dry-run');
    await org.rule('lost', undefined);
    const report = await buildReport(store, (await org.run('dry-run')).run);
    expect(report.changes).toMatchObject({ new: 0, changed: 0, gone: 1, still: 1 });
    expect(report.changes.goneExamples).toMatchObject([
      { rule: 'report-lost-device', target: 'LOST-1', decision: 'act', why: 'the rule is no longer active' },
    ]);
    for (const text of [reportText(report, { width: 200 }), reportMarkdown(report)])
      expect(text.replaceAll('\\', '')).toMatch(/LOST-1 by rule report-lost-device: the rule is no longer active/);
  });

  it('of a run over one rule are those of that rule', async () => {
    org = await startOrganization({ compromised: 1, rules: { ban: BAN_COMPROMISED, lost: LOST } });
    const { store } = org.composition.engine;
    org.console.fleet.addDevice({ serial: 'LOST-1', model: 'Lost 1' });
    await org.run('dry-run');
    await org.run('dry-run', ['ban-compromised-device']);
    const scoped = await buildReport(store, (await org.run('dry-run', ['report-lost-device'])).run);
    expect(scoped.changes).toMatchObject({ since: { seq: 1 }, new: 0, gone: 0, changed: 0, still: 1 });
  });

  it('count what is decided otherwise as changed, neither new nor gone', async () => {
    const store = openStore();
    await addRun(store, { id: 'run1', decisions: [decision()] });
    const held = decision({ id: 'decision2', decision: 'hold', reason: 'limits', outcome: undefined });
    const later = { id: 'run2', startedAt: START_MS + 60_000, endedDecisions: ['decision1'] };
    const report = await buildReport(store, await addRun(store, { ...later, decisions: [held] }));
    expect(report.changes).toMatchObject({ since: { run: 'run1', seq: 1 }, new: 0, gone: 0, changed: 1, still: 0 });
    expect(reportText(report)).toContain('0 new, 1 changed, 0 gone, 0 as before');
  });

  it('do not count a row that was written again with the same content', async () => {
    const store = openStore();
    await addRun(store, { id: 'run1', decisions: [decision()] });
    const again = { id: 'run2', endedDecisions: ['decision1'], decisions: [decision({ id: 'decision2' })] };
    expect((await buildReport(store, await addRun(store, again))).changes).toMatchObject({ changed: 0, still: 1 });
  });

  it('are not counted against a run that was aborted', async () => {
    const store = openStore();
    await addRun(store, { id: 'run1', decisions: [decision()] });
    await addRun(store, { id: 'run2', error: 'no answer', tallies: [tally()] });
    const report = await buildReport(store, await addRun(store, { id: 'run3', tallies: [tally()] }));
    expect(report.changes).toMatchObject({ since: { run: 'run1' }, still: 1 });
  });
});

describe('the report of a run over the subjects that new events named states nothing about all others', () => {
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
      expect(text).toContain('It left everything else unchanged: no match ended, and nothing was undone.');
      expect(text).toContain('3 of 5 (with the last whole run; 1 match in this one)');
      expect(text).toContain('2, each by itself');
      expect(text).toMatch(/by ?watch, after new events/);
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
    const counts = { act: 1, hold: 0, wait: 2, skip: 0, done: 1, failed: 0, open: 0 };
    const chosen: Run = { ...look, trigger: 'command' };
    const asked: Run = { ...whole, trigger: 'watch' };
    const text = runsText(
      [look, chosen, asked].map((run) => ({ run, counts })),
      { width: 200 },
    );
    expect(text).toContain('1 act, 2 later');
    expect(text).toContain('only subjects of new events');
    expect(text).toContain('only ban-compromised-device');
    expect(text).toContain('all subjects, after new events');
  });
});

describe('what `why` answers crosses a process as JSON, and comes back as it was', () => {
  const whyOfJson = (text: string) => z.decode(why, JSON.parse(text));

  const AT = Date.UTC(2026, 10, 23, 9, 30);
  const ANSWER: WhyAnswer = {
    subject: {
      ...{ kind: 'device', id: 'd1', serial: 'S-1', name: 'atMs', platform: 'macOS', model: '', owners: undefined },
      ...{ firstAt: AT - 1_000, changedAt: AT, goneAt: undefined },
    },
    devices: [],
    at: AT,
    unread: undefined,
    // Its names and values are the device's own: nothing in them is taken for a time of ours.
    record: { at: AT, firstAt: 5, LastLogin: 1_700_000_000n },
    states: [],
    claims: [],
    waiting: [],
    unfinished: [],
    exemption: undefined,
    stop: { at: AT, by: 'ada', reason: 'why not' },
    rules: [],
    history: [
      {
        at: AT,
        kind: 'call',
        text: 'x',
        action: undefined,
        target: undefined,
        rules: [],
        run: 1,
        by: undefined,
        id: 'i',
      },
    ],
    next: [],
    commands: [],
  } as unknown as WhyAnswer;

  const EXEMPTION: Exemption = {
    ...{
      id: 'e1',
      subject: undefined,
      selector: { kind: 'device', field: 'Platform', value: 'Linux' },
      owner: 'ada',
      reason: 'kiosks',
    },
    ...{ expiresAt: AT + 1_000, createdAt: AT, createdBy: 'ada', acceptForgeable: true, members: 'prints' },
    ...{ endedAt: undefined, endedBy: undefined, endedReason: undefined, usedAt: AT, warnedAt: undefined },
  };

  type Less = [0, 0, 1, 2, 3];
  /** The places of what `Domain` has and `Json` has not, so many levels deep. */
  type Lost<Domain, Json, Path extends string, Levels extends number> = Levels extends 0
    ? never
    : Domain extends readonly (infer Element)[]
      ? Lost<Element, Json extends readonly (infer Other)[] ? Other : never, `${Path}[]`, Levels>
      : Domain extends object
        ? string extends keyof Domain
          ? never
          : {
              [Key in keyof Domain & string]-?: Key extends KeysOf<Json>
                ? Lost<NonNullable<Domain[Key]>, At<Json, Key>, `${Path}.${Key}`, Less[Levels]>
                : `${Path}.${Key}`;
            }[keyof Domain & string]
        : never;
  type KeysOf<T> = T extends unknown ? keyof T : never;
  type At<T, Key> = T extends unknown ? (Key extends keyof T ? NonNullable<T[Key]> : never) : never;

  it('every field of an answer has a place in its JSON, but for whom an exemption covers', () => {
    expectTypeOf<Lost<Omit<WhyAnswer, 'record'>, z.output<typeof why>, '', 3>>().toEqualTypeOf<
      '.exemption.members' | '.joined.members'
    >();
    expectTypeOf<Lost<ExplainedSubject, z.output<typeof explained>, '', 3>>().toEqualTypeOf<never>();
  });

  describe('the JSON of an answer to why', () => {
    it('about an exempt subject has the exemption, and never the prints of whom it covers', () => {
      const json = JSON.stringify(encodedJson(why, { ...ANSWER, exemption: EXEMPTION }));
      expect(json).not.toContain('prints');
      const { members: _, ...shown } = EXEMPTION;
      expect(whyOfJson(json).exemption).toEqual(JSON.parse(JSON.stringify(shown)));
    });

    const json = JSON.stringify(encodedJson(why, ANSWER));

    it('has ISO times where the answer has times, and leaves the record as the device sent it', () => {
      expect(JSON.parse(json)).toMatchObject({
        at: '2026-11-23T09:30:00.000Z',
        subject: { firstAt: '2026-11-23T09:29:59.000Z' },
        stop: { at: '2026-11-23T09:30:00.000Z' },
        record: { at: AT, firstAt: 5, LastLogin: '1700000000' },
      });
    });

    it('is read back with its times', () => {
      expect(whyOfJson(json)).toMatchObject({ at: AT, stop: { at: AT }, history: [{ at: AT }] });
    });
  });
});
