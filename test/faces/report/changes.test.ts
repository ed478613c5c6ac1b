// report: what changed since the last comparable run: what is new, gone, otherwise decided, or as before.
import { afterEach, describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportMarkdown } from '../../../src/faces/report/markdown.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import { addRun, decision, openStore, START_MS, tally } from '../../support/filled-store.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

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
