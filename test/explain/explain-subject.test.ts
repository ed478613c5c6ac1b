// test: `explain` beside a run: what it says about one subject is what the run said, and it says as of when.
import { afterEach, describe, expect, it } from 'vitest';
import { explainedText } from '../../src/commands/explained-text.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { explainSubject } from '../../src/explain/explain-subject.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../support/organization.ts';

const SERVICE = 'disable-failing-service';
const DEVICE = 'ban-compromised-device';

let org: Organization;
afterEach(() => org.close());

/** Explains, and holds that nothing was written by it. */
async function explained(rule: string, subject: string) {
  const { store } = org.composition.engine;
  const before = [await store.auditHead(), await store.coverage(), await eventsKept()];
  const found = await explainSubject(org.composition.explaining(), rule, subject);
  expect([await store.auditHead(), await store.coverage(), await eventsKept()]).toEqual(before);
  return { ...found, text: explainedText(found) };
}

async function eventsKept(): Promise<number> {
  let kept = 0;
  for await (const batch of org.composition.engine.store.events(0)) kept += batch.length;
  return kept;
}

async function addCompromised(serials: readonly string[], owners: string[] = []): Promise<void> {
  for (const owner of owners) org.console.fleet.addUser(owner);
  for (const serial of serials) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }, owners);
}

function addErrors(serviceId: string, count: number): void {
  for (let index = 0; index < count; index += 1)
    org.console.fleet.addEvent({ type: 'Service', subType: 'Access', action: 'Denied', severity: 'ERROR', serviceId });
}

const serialsOf = (count: number) => Array.from({ length: count }, (_, index) => `LOST-${index}`);

describe('explain', () => {
  it('says act for one of many that a run held by the limits of its rule', async () => {
    org = await startOrganization({ rules: { ban: `${BAN_COMPROMISED}limits: { max: 1 }\n` } });
    await addCompromised(serialsOf(7));
    const { run, of } = await org.run('dry-run');
    const [held] = of('hold', 'limits');
    const { decisions, basis, text } = await explained(DEVICE, 'LOST-3');
    expect(of('hold', 'limits')).toHaveLength(7);
    expect(decisions).toMatchObject([{ decision: 'hold', reason: 'limits', reasonText: held?.reasonText }]);
    expect(basis.run).toMatchObject({ id: run.id, seq: 1, match: 7, subjects: 207 });
    expect(text).toContain('run 1');
    expect(text).toContain('7 of 207 devices matched');
  });

  it('says hold of a match by the limits when the others were dealt with since', async () => {
    org = await startOrganization({ rules: { ban: `${BAN_COMPROMISED}limits: { max: 3, percent: 50 }\n` } });
    await addCompromised(serialsOf(3));
    await org.run('enforce');
    await addCompromised(['LATE-1']);
    const { decisions } = await explained(DEVICE, 'LATE-1');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
    expect((await org.run('dry-run')).of('act')).toMatchObject([{ target: 'LATE-1' }]);
  });

  it('says act for a second device of an owner', async () => {
    org = await startOrganization();
    await addCompromised(['OWNED-1', 'OWNED-2'], ['kim@acme.example']);
    const { of } = await org.run('dry-run');
    const { decisions } = await explained(DEVICE, 'OWNED-2');
    expect(of('hold', 'owners')).toHaveLength(2);
    expect(decisions).toMatchObject([{ reason: 'owners', reasonText: of('hold', 'owners')[0]?.reasonText }]);
  });

  it('says act beyond a ceiling that others fill', async () => {
    org = await startOrganization({ env: { TRUSTWARD_CEILING_RUN: '2,0%' } });
    await addCompromised(serialsOf(4));
    const { of } = await org.run('dry-run');
    const held = of('hold', 'ceiling');
    expect(held).toHaveLength(2);
    for (const { target, reason, decision } of [...held, ...of('act')])
      expect((await explained(DEVICE, target)).decisions, target).toMatchObject([{ decision, reason }]);
  });

  it('says act on a source that the run did not trust', async () => {
    org = await startOrganization();
    await org.run('dry-run');
    for (const serial of serialsOf(80)) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    const { of } = await org.run('dry-run');
    const [skipped] = of('skip', 'untrusted_source');
    const { decisions, basis, text } = await explained(DEVICE, 'LOST-3');
    expect(decisions).toMatchObject([
      { decision: 'skip', reason: 'untrusted_source', reasonText: skipped?.reasonText },
    ]);
    expect(basis.sources).toMatchObject([{ source: 'devices', seq: 2, state: 'read', trusted: false }]);
    expect(text).toContain('NOT TRUSTED in run 2');
  });

  it('does not know the events since the last run, nor say when they were read', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    await org.run('dry-run');
    addErrors(service, 6);
    const { explanation, text } = await explained(SERVICE, service);
    expect(explanation.verdict).toBe('match');
    expect(explanation.facts).toMatchObject([{ value: 6, source: 'events', ageMs: 0 }]);
    expect(text).toContain('= 6  [events, read just now]');
    expect((await org.run('dry-run')).of('hold')).toMatchObject([{ subject: { id: service } }]);
  });

  it('calls the time since the last run a gap in the event log', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    await org.run('dry-run');
    const later = Date.now() + 180_000;
    const deps = org.composition.explaining();
    const found = await explainSubject({ ...deps, clock: { ...deps.clock, nowMs: () => later } }, SERVICE, service);
    expect(found.explanation).toMatchObject({ verdict: 'no_match', facts: [{ value: 0, ageMs: 0 }] });
  });

  it('gives no answer, or one without its time, while the events cannot be read', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING }, env: { TRUSTWARD_PROGRESS_TIMEOUT: '1s' } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    addErrors(service, 2);
    const { run } = await org.run('dry-run');
    org.console.faults?.set([{ kind: 'error', match: { path: '/api/v1/events' }, status: 500 }]);
    const later = run.startedAt + 180_000;
    const deps = org.composition.explaining();
    const found = await explainSubject({ ...deps, clock: { ...deps.clock, nowMs: () => later } }, SERVICE, service);
    expect(found.explanation).toMatchObject({ verdict: 'no_match', facts: [{ value: 2, ageMs: 180_000 }] });
    const text = explainedText(found);
    expect(text).toContain('= 2  [events, read 3m ago]');
    expect(text).toContain('events cannot be read now');
  });

  it('calls a source that this edition does not have a gap in the event log', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    org.console.faults?.set([{ kind: 'error', match: { path: '/api/v1/events' }, status: 403 }]);
    const { run } = await org.run('dry-run');
    const { explanation, decisions, text } = await explained(SERVICE, service);
    expect(explanation).toMatchObject({ verdict: 'unknown', reason: reasonIn(run, service) });
    expect(explanation.facts).toMatchObject([{ value: undefined, ageMs: undefined }]);
    expect(decisions).toEqual([]);
    expect(text).not.toContain('at least');
    expect(text).not.toContain('gaps');
    expect(text).toContain('were 5 (now unknown)');
  });

  it('hides that no run has judged the rule yet', async () => {
    org = await startOrganization();
    await addCompromised(['FIRST-1']);
    const { decisions, basis, text } = await explained(DEVICE, 'FIRST-1');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
    expect(basis).toEqual({ run: undefined, sources: [], events: undefined });
    expect(text).toContain('no run has judged this rule yet');
  });
});

function reasonIn(run: RunRecord, subject: string): string | undefined {
  return run.findings?.tallies[0]?.examples.find((example) => example.subject === subject)?.reason;
}
