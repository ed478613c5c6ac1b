// scenario: snapshots that must not be trusted, numbers of any size, and a rule that loops: the reason is named, and nothing is done on doubt.

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import type { TrustEvent } from '../../src/domain/event.ts';
import { type Fact, type Facts, own } from '../../src/domain/facts.ts';
import type { Api } from '../../src/domain/ports.ts';
import { specOf } from '../../src/engine/act/actions/update-service.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { buildReport } from '../../src/faces/report/build-report.ts';
import { reportJson } from '../../src/faces/report/json.ts';
import { stringifyExact } from '../../src/platform/contract.ts';
import { scriptedApi } from '../engine/pull/scripted-api.ts';
import { gather } from '../platform/loopback.ts';
import {
  BAN_BY_PAGES,
  BAN_COMPROMISED,
  DISABLE_FAILING,
  type Organization,
  startOrganization,
} from '../support/organization.ts';
import { reportMarkdown, reportText } from '../support/readable.ts';

describe('snapshots that must not be trusted', () => {
  const DEVICES = '/api/v1/devices';
  const [RULE, PAGED_RULE] = [BAN_COMPROMISED, BAN_BY_PAGES].map((rule) =>
    rule.replace('revert: true', 'revert: true\nlimits: { max: 100000, percent: 100 }'),
  ) as [string, string];

  let org: Organization;
  let fleet: Facts[];

  beforeEach(() => start(PAGED_RULE));
  afterEach(() => org.close());

  async function start(rule: string): Promise<void> {
    org = await startOrganization({ devices: 200, rules: { ban: rule, service: DISABLE_FAILING } });
    for (const serial of ['BAD-1', 'BAD-2']) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    await org.run('enforce'); // the last trusted reading: two banned
    expect(org.console.writes()).toHaveLength(2);
    org.console.fleet.addDevice({ serial: 'BAD-3', mdm_compromised: 'TRUE' });
    fleet = [];
    for await (const batch of org.composition.engine.api.stream('devices')) fleet.push(...(batch as Facts[]));
  }

  /** A whole list in one page, its last record once more where the reader overlaps, and the empty page that ends it. */
  function listed(devices: Facts[]): FaultInput[] {
    const page = (skip: number, records: Facts[]): FaultInput => ({
      kind: 'garbage',
      match: { method: 'GET', path: `^${DEVICES}\\?.*[Ss]kip=${skip}(&|$)` },
      body: stringifyExact({ devices: records, count: devices.length }),
    });
    return [page(0, devices), page(devices.length - 1, devices.slice(-1)), page(devices.length, [])];
  }

  /** The whole list, as it comes without pages. */
  function whole(devices: Facts[]): FaultInput[] {
    return [{ kind: 'garbage', match: { method: 'GET', path: `^${DEVICES}$` }, body: stringifyExact(devices) }];
  }

  const compromised = (device: Facts): Facts => ({
    ...device,
    MdmData: { ...(device.MdmData as Facts), CompromisedStatus: 'TRUE' },
  });
  const clean = (device: Facts): Facts => ({
    ...device,
    MdmData: { ...(device.MdmData as Facts), CompromisedStatus: 'FALSE' },
  });

  describe('a snapshot that must not be trusted', () => {
    const spoilt: [string, string, () => Facts[]][] = [
      ['an empty fleet', 'empty', () => []],
      ['a fleet that shrank by more than a fifth', 'shrunk', () => fleet.slice(0, Math.floor(fleet.length * 0.79))],
      ['a fleet that is compromised all at once', 'fact_moved', () => fleet.map(compromised)],
      ['repeated keys', 'repeated_key', () => [...fleet, ...fleet.slice(0, 3)]],
      [
        'records without readable keys',
        'unreadable_records',
        () => fleet.map((device, index) => (index % 50 === 0 ? { ...device, DeviceID: 7 } : device)),
      ],
    ];
    it.each(spoilt)('%s, in pages: nothing is done, and the reason is named', async (_, code, devices) => {
      org.console.faults?.set(listed(devices()));
      await expectNothingDone(code);
    });

    it.each(spoilt)('%s, as a whole list: nothing is done, and the reason is named', async (_, code, devices) => {
      await org.close();
      await start(RULE);
      org.console.faults?.set(whole(devices()));
      await expectNothingDone(code);
    });

    it('of shifting pages: nothing is done, and the reason is named', async () => {
      for (let more = 0; more < 1_900; more += 1) org.console.fleet.addDevice({ serial: `MORE-${more}` });
      org.console.faults?.set([{ kind: 'shift_pages', match: { path: DEVICES }, by: 1 }]);
      await expectNothingDone('shifted');
    });

    async function expectNothingDone(code: string): Promise<void> {
      const { run, of } = await org.run('enforce');
      const { devices } = run.findings?.snapshot.sources ?? {};
      expect(devices?.trusted).toBe(false);
      expect(devices?.reasons.map((reason) => reason.code)).toContain(code);
      expect(of('act')).toEqual([]);
      expect(org.console.writes()).toHaveLength(2);
    }

    it('of a truncated list judges nothing, and the run reports it', async () => {
      org.console.faults?.set([{ kind: 'truncated', match: { path: DEVICES }, how: 'json' }]);
      const { run } = await org.run('enforce');
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ state: 'failed', trusted: false });
      expect(run.findings?.tallies.find((tally) => tally.rule === 'ban-compromised-device')?.judged).toBe(false);
      expect(org.console.writes()).toHaveLength(2);
    });

    it('in which a quarter of the fleet is suddenly clean unbans nobody', async () => {
      const many = fleet.slice(0, 60).map((device) => device.DeviceID as string);
      for (const id of many) org.console.fleet.patchDevice(id, { mdm_compromised: 'TRUE' });
      const moved = await org.run('enforce');
      expect(moved.run.findings?.snapshot.sources.devices.reasons.map((reason) => reason.code)).toEqual(['fact_moved']);
      org.console.faults?.set(listed(fleet.map(clean).slice(0, 150)));
      const { run } = await org.run('enforce');
      expect(run.findings?.snapshot.sources.devices.trusted).toBe(false);
      expect(org.console.writes()).toHaveLength(2);
      expect(org.effects('device_unbanned')).toEqual([]);
    });

    it('from a server that ignores its filter affects nobody else', async () => {
      org.console.faults?.set([{ kind: 'ignore_filter', match: { method: 'GET', path: DEVICES } }]);
      await org.run('enforce');
      const banned = org.console.writes().slice(2);
      expect(banned.map((write) => new URL(write.address, 'http://x').searchParams.get('SerialNumber'))).toEqual([
        'BAD-3',
      ]);
      expect(JSON.parse(banned[0]?.body ?? '[]')).toHaveLength(1);
    });

    it('without events (403) makes rules that read them unknown, and device rules continue', async () => {
      org.console.faults?.set([{ kind: 'error', status: 403, match: { path: '/api/v1/events' } }]);
      const { run } = await org.run('enforce');
      expect(run.findings?.snapshot.sources.events.state).toBe('unavailable');
      const service = run.findings?.tallies.find((tally) => tally.rule === 'disable-failing-service');
      expect(service).toMatchObject({ match: 0, no_match: 0, unknown: 6 });
      expect(org.console.writes()).toHaveLength(3);
    });
  });
});

describe('numbers of a size that no field has', () => {
  const BAN_REPORTED = `
id: ban-compromised-device
title: Ban devices that were reported with any time
severity: critical
subject: device
when:
  and:
    - "==": [{ var: MdmData.CompromisedStatus }, "TRUE"]
    - ">": [{ var: MdmData.Timestamp }, 0]
then: ban_device
mode: enforce
cooldown: 0s
revert: true
owners: all
limits: { max: 100, percent: 100 }
tests:
  - { name: compromised, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }
`;

  const DIGITS = '7'.repeat(900_000);
  const HUGE = '"HUGE"';

  let org: Organization;
  let fleet: Facts[];
  beforeEach(async () => {
    org = await startOrganization({ devices: 20, rules: { ban: BAN_REPORTED } });
    for (const serial of ['GOOD', 'ODD']) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    fleet = [];
    for await (const batch of org.composition.engine.api.stream('devices')) fleet.push(...(batch as Facts[]));
  });
  afterEach(() => org.close());

  /** The list of devices, in which the odd one has this number. */
  function listedWith(number: string, field: (odd: Facts) => Facts): FaultInput[] {
    const page = (skip: number, records: Facts[]): FaultInput => ({
      kind: 'garbage',
      match: { method: 'GET', path: `^/api/v1/devices\\?.*[Ss]kip=${skip}(&|$)` },
      body: stringifyExact({
        devices: records.map((each) => (each.SerialNumber === 'ODD' ? { ...each, ...field(each) } : each)),
        count: fleet.length,
      }).replace(HUGE, number),
    });
    return [page(0, fleet), page(fleet.length - 1, fleet.slice(-1)), page(fleet.length, [])];
  }

  const withTimestamp = (odd: Facts): Facts => ({ MdmData: { ...(odd.MdmData as Facts), Timestamp: 'HUGE' } });

  describe('a number that no field can hold', () => {
    it.each([
      ['of 900,000 digits', DIGITS],
      ['below zero, of 900,000 digits', `-${DIGITS}`],
      ['of 401 digits', '7'.repeat(401)],
      ['with an exponent', '1e999999999'],
    ])('%s, is an unknown fact; the others are judged and acted on', async (_, number) => {
      org.console.faults?.set(listedWith(number, withTimestamp));
      const { run, of } = await org.run('enforce');
      expect(run.status).toBe('completed');
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, count: fleet.length });
      expect(run.findings?.tallies).toMatchObject([{ judged: true, match: 1, unknown: 1, error: 0 }]);
      expect(of('act').map(({ target }) => target)).toEqual(['GOOD']);
      expect(org.effects('device_banned')).toHaveLength(1);
    });

    it.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
      'in an event, is stored and read as %s',
      async (size) => {
        const { store } = org.composition.engine;
        const nobody = { deviceId: undefined, serialNumber: undefined, email: undefined };
        const nowhere = { serviceId: undefined, serviceName: undefined };
        const kinds = { ...nobody, ...nowhere, type: 'access', subType: '', action: '', severity: 'INFO', result: '' };
        const event: TrustEvent = { id: 'e1', createdAtMs: 1, ...kinds, body: { id: 'e1', size, sizes: [size] } };
        await store.observeEvents({ events: [event], coverage: undefined, forgetBeforeMs: 0 });
        const [stored] = (await gather(store.events(0))).flat();
        expect(stored?.body).toEqual(event.body);
      },
    );

    it('is not sent back: a server would read null', async () => {
      const sent: Facts[] = [];
      const updateDevices: Api['updateDevices'] = async (_, devices) => {
        sent.push(...devices);
        return { kind: 'done', status: 200, text: '' };
      };
      const records = [{ Platform: 'linux', Model: Number.POSITIVE_INFINITY }];
      await ACTIONS.get('ban_device')?.perform(
        scriptedApi({ updateDevices }),
        'ODD',
        { records } as never,
        {} as never,
      );
      expect(sent).toEqual([{ Platform: 'linux', Banned: 'TRUE' }]);
      expect(specOf('{"Replicas":1}')).toEqual({ Replicas: 1 });
      expect(specOf('{"Replicas":1e999}')).toBeUndefined();
    });

    it('in the place of a key, makes that record unreadable, and no other', async () => {
      org.console.faults?.set(listedWith(DIGITS, () => ({ DeviceID: 'HUGE' })));
      const { run } = await org.run('enforce');
      expect(run.findings?.snapshot.sources.devices.unreadable.count).toBe(1);
      expect(run.findings?.snapshot.sources.devices.count).toBe(fleet.length - 1);
    });
  });
});

const ruleOver = (path: string) => `
id: report-exact
title: Report devices whose serial number begins with EXACT
severity: low
subject: device
when:
  and:
    - starts_with: [{ var: SerialNumber }, "EXACT-"]
    - "<": [{ var: ${path} }, { var: $now }]
then: notify
mode: dry-run
limits: { max: 1000, percent: 100 }
tests:
  - { name: other, given: { SerialNumber: "OTHER" }, expect: no_match }
`;

/** Nanoseconds since 2001: 19 digits, of which `JSON.parse` would keep 16 or 17. */
const nanoseconds = fc.bigInt({ min: 1_000_000_000_000_000_000n, max: 1_790_000_000_000_000_000n });

function at(record: Fact | undefined, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}

describe.each([
  ['MdmData.Timestamp', 'mdm_timestamp', 'paged'],
  ['LastLogin', 'last_login', 'unpaged'],
] as const)('a 19-digit %s', (path, column, form) => {
  let org: Organization;
  let made = 0;
  beforeAll(async () => {
    org = await startOrganization({ devices: 40, rules: { exact: ruleOver(path) } });
  });
  afterAll(() => org.close());

  it('keeps its digits in list, decision, store and report', async () => {
    const { store, api } = org.composition.engine;
    await fc.assert(
      fc.asyncProperty(nanoseconds, async (time) => {
        made += 1;
        const id = org.console.fleet.addDevice({ serial: `EXACT-${made}`, [column]: time });
        const [listed] = await api.devicesOfSerial(`EXACT-${made}`);
        expect(at(listed, path)).toBe(time);
        const { run } = await org.run('dry-run');
        expect(run.findings?.snapshot.sources.devices.form).toBe(form);
        const [stored] = await store.decisions({ subjectId: id, limit: 1 });
        expect(stored?.facts[path]).toBe(String(time));
        const report = await buildReport(store, run);
        const shown = report.decisions.find((decision) => decision.subject.id === id);
        expect(shown?.facts[path]).toBe(String(time));
        expect(reportJson(report)).toContain(`"${path}": "${time}"`);
        if (made > 5) return; // the shorter forms end with "and N more"
        const date = new Date(Number(time / 1_000_000n)).toISOString().slice(0, 10);
        expect(reportMarkdown(report)).toMatch(new RegExp(`${path} = \\d+ days \\(${date}\\)`));
        expect(reportText(report, { width: 200 })).toMatch(new RegExp(`${path} = \\d+ days \\(${date}\\)`));
      }),
      { numRuns: 40 },
    );
  });
});

describe('a rule that loops over more than it may, beside an ordinary one', () => {
  const LOOPING = `
id: looping
title: Loop over every role
severity: low
subject: device
when: { some: [{ var: Tags }, { "==": [{ var: "" }, "x"] }] }
then: notify
mode: enforce
declares: { Tags: texts }
tests:
  - { name: one, given: { Tags: [x] }, expect: match }
`;

  let org: Organization;
  afterEach(() => org.close());

  it('a pathological rule errs alone, and the run goes on', async () => {
    org = await startOrganization({ devices: 40, rules: { ban: BAN_COMPROMISED, looping: LOOPING } });
    org.console.fleet.addDevice({ serial: 'BAD-1', mdm_compromised: 'TRUE' });
    const { engine } = org.composition;
    const { stream } = engine.api;
    engine.api.stream = async function* (source, ...more) {
      for await (const batch of stream.call(engine.api, source, ...more))
        yield batch.map((record) => ({ ...(record as Facts), Tags: new Array<string>(200_000).fill('y') }));
    };
    const { run, of } = await org.run('enforce');
    expect(run.status).toBe('completed');
    expect(run.findings?.tallies).toMatchObject([
      { rule: 'ban-compromised-device', match: 1 },
      { rule: 'looping', match: 0, error: 41 },
    ]);
    expect(of('act').map(({ target, rule }) => [rule, target])).toEqual([['ban-compromised-device', 'BAD-1']]);
    expect(org.effects('device_banned')).toHaveLength(1);
  });
});
