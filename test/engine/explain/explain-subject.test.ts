// test: `explain` beside a run: what it says about one subject is what the run said, and it says as of when.
import { afterEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/base/time.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import { explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { explainedText } from '../../../src/faces/cli/why-text.ts';
import { timeWords } from '../../../src/faces/report/decision-words.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

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
  it('decides one subject by itself, and shows that the last run held it by the limits of its rule', async () => {
    org = await startOrganization({ rules: { ban: `${BAN_COMPROMISED}limits: { max: 1, per_day: 100 }\n` } });
    await addCompromised(serialsOf(7));
    const { run, of } = await org.run('dry-run');
    expect(of('hold', 'limits')).toHaveLength(7);
    const { decisions, recorded, basis, text } = await explained(DEVICE, 'LOST-3');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
    expect(decisions[0]?.notAsked).toEqual(['conflict', 'limits', 'owners', 'ceiling', 'cleared']);
    const [held] = of('hold', 'limits').filter(({ target }) => target === 'LOST-3');
    expect(recorded).toEqual({ decisions: [held], none: undefined, differs: true });
    expect(basis.run).toMatchObject({ id: run.id, seq: 1, mode: 'dry-run', match: 7, subjects: 207, wasEdited: false });
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain('limits, owners, ceilings');
    expect(words).toContain('7 of 207 devices matched');
    expect(words).toContain(`LAST RUN of this rule: run 1 (${timeOf(run.startedAt)}, mode dry-run)`);
    expect(words).toContain("was HELD, because 7 targets at once cross the rule's limit (max 1) (limits)");
    expect(words).toContain('THIS DIFFERS from now');
  });

  it('is the same as the last run where nothing but this subject was weighed', async () => {
    org = await startOrganization();
    await addCompromised(['ALONE-1']);
    const { of } = await org.run('dry-run');
    const { decisions, recorded, text } = await explained(DEVICE, 'ALONE-1');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches', mode: 'enforce' }]);
    expect(recorded).toEqual({ decisions: of('act'), none: undefined, differs: false });
    expect(text).toContain('WOULD ACT, if a whole run allows it, because the rule matches (rule_matches)');
    expect(text).toContain('would have ACTED in a live run');
    expect(text).toContain('the same as now');
    await org.run('enforce');
    const after = await explained(DEVICE, 'ALONE-1');
    expect(after.decisions).toMatchObject([{ decision: 'skip', notAsked: [] }]);
    expect(after.text).toContain('was DONE (succeeded), because the rule matches');
    expect(after.text).toContain('THIS DIFFERS from now');
  });

  it('shows an unchanged decision with the run that wrote it', async () => {
    org = await startOrganization();
    await addCompromised(['OWNED-1', 'OWNED-2'], ['kim@acme.example']);
    await org.run('dry-run');
    const { of } = await org.run('dry-run');
    expect(of('hold', 'owners')).toHaveLength(2);
    const { recorded, basis, text } = await explained(DEVICE, 'OWNED-2');
    expect(basis.run?.seq).toBe(2);
    expect(recorded.decisions).toMatchObject([{ decision: 'hold', reason: 'owners', runSeq: 1 }]);
    expect(text).toContain('unchanged since run 1');
  });

  it('shows that the last run did not match, and when it was', async () => {
    org = await startOrganization();
    const { run } = await org.run('enforce');
    await addCompromised(['LATE-1']);
    const { decisions, recorded, text } = await explained(DEVICE, 'LATE-1');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
    expect(recorded).toEqual({ decisions: [], none: 'the rule did not match it', differs: true });
    expect(text).toContain(`LAST RUN of this rule: run 1 (${timeOf(run.startedAt)}, mode enforce)`);
    expect(text).toContain('nothing: the rule did not match it');
    expect((await org.run('dry-run')).of('act')).toMatchObject([{ target: 'LATE-1' }]);
  });

  it('names the claim that is in force where nothing is decided about it', async () => {
    org = await startOrganization({ rules: { ban: `${BAN_COMPROMISED}clear_for: 1h\n` } });
    const id = org.console.fleet.addDevice({ serial: 'HEALED-1', mdm_compromised: 'TRUE' });
    await org.run('enforce');
    org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
    const { decisions, claims, text } = await explained(DEVICE, 'HEALED-1');
    expect(decisions).toEqual([]);
    expect(claims).toMatchObject([{ action: 'ban_device', target: 'HEALED-1', status: 'standing' }]);
    expect(text).toContain('in force by this rule: ban_device HEALED-1');
  });

  it('decides nothing by a rule that is off', async () => {
    org = await startOrganization({ rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: off') } });
    await addCompromised(['LOST-1']);
    const { explanation, decisions, text } = await explained(DEVICE, 'LOST-1');
    expect(explanation.verdict).toBe('match');
    expect(decisions).toEqual([]);
    expect(text).toContain('nothing: the rule is off');
  });

  it('skips on a source that the last run did not trust', async () => {
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

  it('knows the events since the last run, and shows when they were read', async () => {
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

  it('finds no gap in the event log since the last run', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    await org.run('dry-run');
    const later = Date.now() + 180_000;
    const deps = org.composition.explaining();
    const found = await explainSubject({ ...deps, clock: { ...deps.clock, nowMs: () => later } }, SERVICE, service);
    expect(found.explanation).toMatchObject({ verdict: 'no_match', facts: [{ value: 0, ageMs: 0 }] });
  });

  it('answers as of the last reading, with its time, while the events cannot be read', async () => {
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

  it('decides nothing by events that cannot be read, as a run does', async () => {
    org = await startOrganization({ rules: { service: DISABLE_FAILING }, env: { TRUSTWARD_PROGRESS_TIMEOUT: '1s' } });
    const service = org.console.fleet.addService('billing', 'global-edge');
    addErrors(service, 6);
    expect((await org.run('dry-run')).of('hold')).toHaveLength(1);
    org.console.faults?.set([{ kind: 'error', match: { path: '/api/v1/events' }, status: 500 }]);
    const { explanation, decisions, recorded, text } = await explained(SERVICE, service);
    expect(explanation.verdict).toBe('match');
    expect(decisions).toEqual([]);
    expect(recorded).toMatchObject({ decisions: [{ reason: 'approval_needed' }], differs: true });
    expect(text).toContain('nothing: a run does not judge by events that it cannot read');
  });

  it('calls a source that this edition does not have unavailable, and no gap', async () => {
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

  it('shows that no run has judged the rule yet', async () => {
    org = await startOrganization();
    await addCompromised(['FIRST-1']);
    const { decisions, recorded, basis, text } = await explained(DEVICE, 'FIRST-1');
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'rule_matches' }]);
    expect(recorded).toEqual({ decisions: [], none: 'no run has judged this rule yet', differs: false });
    expect(basis).toMatchObject({
      run: undefined,
      sources: [{ source: 'devices', seq: undefined }],
      events: undefined,
    });
    expect(text).toContain('LAST RUN: no run has judged this rule yet');
    expect(text).toContain('devices: not read by a run yet, and taken as trusted');
  });

  it('does not claim that a run did not match what it left out of its examples', async () => {
    org = await startOrganization();
    await org.run('dry-run');
    const all = Array.from({ length: 130 }, (_, index) => `LOST-${index}`);
    await addCompromised(all);
    const { of } = await org.run('dry-run');
    const kept = new Set(of('skip', 'untrusted_source').map(({ target }) => target));
    const left = all.find((serial) => !kept.has(serial)) ?? '';
    expect(kept.size).toBe(100);
    expect((await explained(DEVICE, left)).recorded.none).toMatch(/^nothing is recorded: .* examples only$/);
  });
});

function timeOf(ms: number): string {
  return timeWords(isoTime(ms));
}

function reasonIn(run: RunRecord, subject: string): string | undefined {
  return run.findings?.tallies[0]?.examples.find((example) => example.subject === subject)?.reason;
}
