// test: `explain` and `why` beside a run: what they say about one subject is what the run said, from one lookup, and they say as of when.
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../../src/base/time.ts';
import type { StoredDecision } from '../../../src/domain/decision.ts';
import type { Api } from '../../../src/domain/ports.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import type { WhyAnswer } from '../../../src/domain/why.ts';
import { explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { whyOf, whyStored } from '../../../src/engine/explain/why.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { explainedText } from '../../../src/faces/cli/why-text.ts';
import { timeWords } from '../../../src/faces/report/decision-words.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

describe('`explain` beside a run', () => {
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
      org.console.fleet.addEvent({
        type: 'Service',
        subType: 'Access',
        action: 'Denied',
        severity: 'ERROR',
        serviceId,
      });
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
      expect(basis.run).toMatchObject({
        id: run.id,
        seq: 1,
        mode: 'dry-run',
        match: 7,
        subjects: 207,
        wasEdited: false,
      });
      const words = text.replaceAll(/\s+/g, ' ');
      expect(words).toContain('limits, owners, ceilings');
      expect(words).toContain('7 of 207 devices matched');
      expect(words).toContain(`LAST RUN of this rule: run 1 (${timeOf(run.startedAt)}, mode dry-run)`);
      expect(words).toContain("WAITED, because 7 targets at once cross the rule's limit (max 1) (limits)");
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
});

describe('`explain` held against whole runs, right after them', () => {
  const WIDE = 'limits: { max: 1000, percent: 100 }';
  const rule = (id: string, more: string) => `id: ${id}\ntitle: ${id}\nseverity: high\nmode: enforce\n${more}\n`;

  const RULES = {
    ban: `${BAN_COMPROMISED}${WIDE}\n`,
    narrow: rule(
      'ban-named',
      'subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "NAMED"] }\nthen: ban_device\nlimits: { max: 2 }',
    ),
    late: rule(
      'ban-later',
      `subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "LATER"] }\nthen: [ban_device, notify]\nfor: 1h\n${WIDE}`,
    ),
    failing: DISABLE_FAILING,
    up: rule(
      'enable-named',
      `subject: service\nwhen: { "==": [{ var: ServiceName }, "rival"] }\nthen: enable_service\n${WIDE}`,
    ),
    down: rule(
      'disable-named',
      `subject: service\nwhen: { starts_with: [{ var: ServiceName }, "rival"] }\nthen: disable_service\n${WIDE}`,
    ),
    people: rule('tell-people', `subject: user\nwhen: { starts_with: [{ var: Email }, "kim"] }\nthen: notify\n${WIDE}`),
    gone: rule(
      'delete-named',
      `subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "GONE"] }\nthen: delete_device\n${WIDE}`,
    ),
  };

  let org: Organization;
  afterEach(() => org.close());

  async function arrange(env: Record<string, string> = {}): Promise<void> {
    org = await startOrganization({ devices: 60, rules: RULES, env });
    const { fleet } = org.console;
    for (const name of ['kim', 'kim.two', 'lee']) fleet.addUser(`${name}@acme.example`);
    for (const serial of ['A-1', 'A-2', 'A-3']) fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    for (const serial of ['B-1', 'B-2']) fleet.addDevice({ serial, mdm_compromised: 'TRUE' }, ['kim@acme.example']);
    for (const serial of ['NAMED-1', 'NAMED-2', 'NAMED-3', 'LATER-1', 'GONE-1']) fleet.addDevice({ serial });
    fleet.addDevice({ serial: 'NAMED-4', mdm_compromised: 'TRUE', banned: 'TRUE' });
    fleet.addDevice({ serial: 'None', mdm_compromised: 'TRUE' });
    fleet.addDevice({ serial: 'GONE-2', mdm_compromised: 'TRUE' });
    for (const platform of ['Windows', 'macOS'])
      fleet.addDevice({ serial: 'SHARED-1', mdm_compromised: 'TRUE', platform });
    fleet.addService('rival', 'eu-1');
    fleet.addService('rival-two', 'eu-1');
    const serviceId = fleet.addService('payroll', 'eu-1');
    for (let index = 0; index < 6; index += 1)
      fleet.addEvent({ type: 'Service', subType: 'Access', action: 'Denied', severity: 'ERROR', serviceId });
  }

  interface Agreement {
    /** What the last run decided, and what explain says that it recorded: a line for each, in order. */
    ran: string[];
    recorded: string[];
    reasons: Set<string>;
    /** Reasons of the run that deciding one subject did not find. */
    unasked: Set<string>;
  }

  async function agreement(mode: 'dry-run' | 'enforce'): Promise<Agreement> {
    const { run, decisions } = await org.run(mode);
    const subjects = new Map(decisions.map(({ rule, subject }) => [`${rule} ${subject.id}`, { rule, id: subject.id }]));
    const recorded: StoredDecision[] = [];
    const unasked = new Set<string>();
    for (const { rule, id } of subjects.values()) {
      const found = await explainSubject(org.composition.explaining(), rule, id);
      expect(found.basis.run).toMatchObject({ id: run.id, seq: run.seq, mode });
      recorded.push(...found.recorded.decisions);
      const others = found.recorded.decisions.filter((was) => !found.decisions.some((now) => isSame(now, was)));
      expect(found.recorded.differs, `${rule} ${id}`).toBe(others.length > 0);
      for (const { action, target, reason } of others) {
        const now = found.decisions.find((one) => one.action === action && one.target === target);
        expect(now?.notAsked, `${rule} ${target}: ${now?.reason}, ran: ${reason}`).toContain(reason);
        unasked.add(reason);
      }
    }
    const line = ({ id, rule, target, decision, reason, reasonText }: StoredDecision) =>
      `${id} ${rule} ${target}: ${decision} (${reason}) ${reasonText}`;
    return {
      ran: decisions.map(line).sort(),
      recorded: recorded.map(line).sort(),
      reasons: new Set(decisions.map(({ reason }) => reason)),
      unasked,
    };
  }

  type Answer = Pick<StoredDecision, 'action' | 'target' | 'decision' | 'reason'>;

  function isSame(a: Answer, b: Answer): boolean {
    return a.action === b.action && a.target === b.target && a.decision === b.decision && a.reason === b.reason;
  }

  describe('explain, asked right after a run', () => {
    it('names every check that it cannot ask of one subject, and gives what the run recorded', async () => {
      await arrange();
      const { ran, recorded, reasons, unasked } = await agreement('dry-run');
      expect(recorded).toEqual(ran);
      expect([...reasons].sort()).toEqual([
        'already_so',
        'approval_needed',
        'conflict',
        'for_not_reached',
        'impossible_target',
        'limits',
        'other_first',
        'owners',
        'rule_matches',
        'serial_shared',
      ]);
      expect([...unasked].sort()).toEqual(['limits', 'owners']);
    });

    it('does so under a ceiling, an exemption, and a stop', async () => {
      await arrange({ TRUSTWARD_CEILING_RUN: '1,0%' });
      const { engine } = org.composition;
      const operator = { by: 'someone', reason: 'a test' };
      await exempt(
        engine,
        {
          selector: { field: 'SerialNumber', value: 'A-1' },
          owner: 'kim',
          reason: 'a test',
          until: '1d',
          release: false,
        },
        'someone',
      );
      const capped = await agreement('dry-run');
      expect(capped.recorded).toEqual(capped.ran);
      expect([...capped.reasons]).toEqual(expect.arrayContaining(['ceiling', 'exempt']));
      expect([...capped.unasked].sort()).toEqual(['ceiling', 'limits', 'owners']);
      await stopEverything(engine, operator);
      const stopped = await agreement('dry-run');
      expect(stopped.recorded).toEqual(stopped.ran);
      expect([...stopped.reasons]).toContain('stopped');
    });

    it('does so where decisions of an earlier run are unchanged after a part was acted on', async () => {
      await arrange();
      await org.run('enforce');
      const { ran, recorded, reasons } = await agreement('dry-run');
      expect(recorded).toEqual(ran);
      expect([...reasons]).toEqual(expect.arrayContaining(['already_so', 'limits', 'conflict']));
    });
  });
});

/** What is read of the platform for one explanation over a fleet of this size. */
async function readsOf(subject: string, devices: number) {
  const on = startOnPlatform({ rules: [banRule()] });
  for (let number = 1; number <= devices; number += 1) on.platform.addDevice(`d${number}`);
  const reads: string[] = [];
  on.platform.onRead = (what) => reads.push(what);
  const deps = { ...on.engine, reader: on.store, rules: [banRule()], isWhatIf: false };
  const answer = await explainSubject(deps, 'ban', subject).catch((error: Error) => error);
  return { reads, answer };
}

/** The API, with the name of each method that is called. */
function watched(api: Api, called: string[]): Api {
  return new Proxy(api, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        called.push(String(name));
        return value.apply(target, given);
      };
    },
  });
}

describe('explain', () => {
  it('by an unknown id reads no list, and as much of a large fleet as of a small one', async () => {
    const [few, many] = [await readsOf('nobody', 2), await readsOf('nobody', 500)];
    expect(few.answer).toMatchObject({
      code: 'not_found',
      message: 'there is no device `nobody` at http://platform.test, by serial number or by DeviceID',
    });
    expect(many.answer).toEqual(few.answer);
    expect(many.reads).toEqual(['target', 'target']);
    expect(few.reads).toEqual(many.reads);
  });

  it.each(['S-d7', 'd7'])('by a serial number or a DeviceID reads that device alone: %s', async (subject) => {
    const { reads, answer } = await readsOf(subject, 50);
    expect(answer).toMatchObject({ explanation: { subject: { id: 'd7' } } });
    expect(new Set(reads)).toEqual(new Set(['target']));
  });

  it('over the wire finds each form of a name by a lookup', async () => {
    const org = await startOrganization();
    onTestFinished(() => org.close());
    org.console.fleet.addDevice({ serial: 'LOST-1', mdm_compromised: 'TRUE' });
    const deps = org.composition.explaining();
    const called: string[] = [];
    const explained = async (subject: string) => {
      const api = watched(deps.api, called);
      const { explanation } = await explainSubject({ ...deps, api }, 'ban-compromised-device', subject);
      return explanation.subject.id;
    };
    const deviceId = await explained('LOST-1');
    expect(await explained(deviceId)).toBe(deviceId);
    await expect(explained('nobody')).rejects.toMatchObject({ code: 'not_found' });
    expect(new Set(called)).toEqual(new Set(['devicesOfSerial', 'device']));
  });
});

async function banned() {
  const rules = [banRule()];
  const on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  // The serial number of this one is the id of the other.
  on.platform.addDevice('d2', { SerialNumber: 'd1' });
  await on.run();
  return { on, deps: { ...on.engine, reader: on.store, rules, isWhatIf: false } };
}

describe('why by kind and id', () => {
  it('takes the id before the same serial number of another device', async () => {
    const { deps } = await banned();
    const { subject, record } = await whyOf(deps, { kind: 'device', id: 'd1' });
    expect(subject).toMatchObject({ id: 'd1', serial: 'S-d1' });
    expect(record).toMatchObject({ DeviceID: 'd1', Banned: 'TRUE' });
    await expect(whyOf(deps, 'd1')).rejects.toMatchObject({ code: 'usage' });
  });

  it('knows what lists never showed by the decisions about it, and nothing of another kind', async () => {
    const { on, deps } = await banned();
    const reader = new Proxy(on.store, {
      get: (store, name) => {
        if (name === 'identitiesNamed') return async () => [];
        const value = Reflect.get(store, name, store) as unknown;
        return typeof value === 'function' ? value.bind(store) : value;
      },
    });
    const { subject } = await whyOf({ ...deps, reader }, { kind: 'device', id: 'd1' });
    expect(subject).toMatchObject({ kind: 'device', id: 'd1', serial: 'S-d1', name: 'device d1' });
    await expect(whyOf({ ...deps, reader }, { kind: 'user', id: 'd1' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('asks the platform nothing where only the store is asked, and has the rest', async () => {
    const { on, deps } = await banned();
    const reads: string[] = [];
    on.platform.onRead = (what) => reads.push(what);
    const why: WhyAnswer = await whyStored(deps, { kind: 'device', id: 'd1' }, 'not asked');
    expect(reads).toEqual([]);
    expect(why).toMatchObject({ unread: 'not asked', record: undefined, rules: [{ verdict: undefined }] });
    expect(why.claims).toMatchObject([{ target: 'S-d1' }]);
    expect(why.history.length).toBeGreaterThan(0);
  });

  it('shows in which plan its action waits, and not the plans of others', async () => {
    const rules = [banRule({ mode: 'approve' })];
    const on = startOnPlatform({ rules });
    for (const id of ['d1', 'd10']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    on.platform.addDevice('d2');
    const { plan } = await on.run();
    const deps = { ...on.engine, reader: on.store, rules, isWhatIf: false };
    expect((await whyOf(deps, 'd1')).waiting).toMatchObject([{ plan: plan?.id, target: 'S-d1' }]);
    expect((await whyOf(deps, 'd2')).waiting).toEqual([]);
  });
});
