// pull: events over whole runs of the real engine: what one run read is available to the next, whichever rules it
// judged.
import { afterEach, describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import {
  BAN_BY_PAGES,
  BAN_COMPROMISED,
  DISABLE_FAILING,
  type Organization,
  startOrganization,
} from '../../support/organization.ts';

const OTHER = DISABLE_FAILING.replace('disable-failing-service', 'other-rule').replace('}, 5]', '}, 50]');

let org: Organization;
afterEach(() => org.close());

function errorsOf(serviceId: string, count: number): void {
  for (let index = 0; index < count; index += 1)
    org.console.fleet.addEvent({
      type: 'Access',
      subType: 'Resource',
      action: 'Unauthorized',
      severity: 'ERROR',
      serviceId,
    });
}

describe('events that a run over chosen rules has read', () => {
  it('count in the next run over all rules, although the log is not read that far back again', async () => {
    const rules = { ban: BAN_COMPROMISED, service: DISABLE_FAILING, other: OTHER };
    org = await startOrganization({ devices: 20, rules, env: { TRUSTWARD_EVENT_OVERLAP: '0s' } });
    const serviceId = org.console.fleet.addService('payroll', 'eu-1');
    await org.run('dry-run');
    errorsOf(serviceId, 5);
    await org.run('dry-run', ['other-rule']);
    const { of } = await org.run('dry-run');
    expect(of('hold').map(({ rule, target }) => [rule, target])).toEqual([['disable-failing-service', serviceId]]);
  });
});

describe('a log that grows while the engine is down', () => {
  it('counts events from before and after a restart together, each once', async () => {
    org = await startOrganization({ devices: 20, rules: { service: DISABLE_FAILING } });
    const serviceId = org.console.fleet.addService('payroll', 'eu-1');
    errorsOf(serviceId, 3);
    expect((await org.run('dry-run')).of('hold')).toEqual([]);
    await org.restart();
    expect((await org.run('dry-run')).of('hold')).toEqual([]);
    errorsOf(serviceId, 2);
    const { of } = await org.run('dry-run');
    expect(Object.values(of('hold')[0]?.facts ?? {})).toContain(5);
  });
});

describe('an edition without events and services', () => {
  it('makes the rules that read them unknown, and devices are still judged', async () => {
    org = await startOrganization({
      devices: 20,
      compromised: 0,
      rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING },
    });
    org.console.fleet.addDevice({ serial: 'BASIC-1', mdm_compromised: 'TRUE' });
    const forbidden = { kind: 'error' as const, status: 403 };
    org.console.faults?.set([
      { ...forbidden, match: { path: '/api/v1/events' } },
      { ...forbidden, match: { path: '/api/v1/registered_services' } },
    ]);
    const { run, of } = await org.run('enforce');
    expect(run.findings?.snapshot.sources).toMatchObject({
      events: { state: 'unavailable' },
      services: { state: 'unavailable' },
      devices: { state: 'read', trusted: true },
    });
    expect(of('act').map(({ target, outcome }) => [target, outcome])).toEqual([['BASIC-1', 'succeeded']]);
  });
});

describe('a console that fails while devices are read', () => {
  const DEVICES = '/api/v1/devices';
  async function runWith(fault: object, ban = BAN_BY_PAGES) {
    org = await startOrganization({ devices: 2_500, compromised: 0, rules: { ban } });
    org.console.fleet.addDevice({ serial: 'FAULT-1', mdm_compromised: 'TRUE' });
    org.console.faults?.set([{ match: { path: DEVICES }, ...fault } as never]);
    return org.run('enforce');
  }

  it('is read again after one shift, and the run acts', async () => {
    const { run, of } = await runWith({ kind: 'shift_pages', by: 1, skip: 1, times: 1 });
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, count: 2_501 });
    expect(of('act')).toHaveLength(1);
  });

  it('makes the run do nothing when pages shift every time, with the reason in the report', async () => {
    const { run, of } = await runWith({ kind: 'shift_pages', by: 3 });
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: false, reasons: [{ code: 'shifted' }] });
    expect(of('act')).toEqual([]);
    expect(org.console.writes()).toEqual([]);
  });

  it('aborts the run when every answer is cut off', async () => {
    await expect(runWith({ kind: 'truncated', how: 'json' })).rejects.toMatchObject({
      code: expect.stringMatching(/^api_/),
    });
    expect((await org.composition.engine.store.latestRun())?.status).toBe('aborted');
    expect(org.console.writes()).toEqual([]);
  });

  it('makes the run do nothing when every whole list is cut off, with the reason in the report', async () => {
    const { run, of } = await runWith({ kind: 'truncated', how: 'json' }, BAN_COMPROMISED);
    expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: false, reasons: [{ code: 'incomplete' }] });
    expect(of('act')).toEqual([]);
    expect(org.console.writes()).toEqual([]);
  });

  it('ends the run without an action on a 401 in the middle', async () => {
    await expect(runWith({ kind: 'unauthorized', skip: 2 })).rejects.toMatchObject({ code: 'api_refused' });
    expect(org.console.writes()).toEqual([]);
  });
});

describe('records that cannot be read', () => {
  /** A fleet of 150, as pages: the whole, the last record again, and nothing past the end. */
  function serve(devices: object[]): void {
    const page = (records: object[]) => JSON.stringify({ devices: records, count: devices.length });
    const garbage = (query: string, records: object[]) =>
      ({
        kind: 'garbage',
        match: { path: `^/api/v1/devices\\?.*[Ss]kip=${query}(&|$)` },
        body: page(records),
      }) as const;
    org.console.faults?.set([garbage('0', devices), garbage('149', devices.slice(149)), garbage('150', [])]);
  }
  const fleet = Array.from({ length: 150 }, (_, index) => ({
    DeviceID: `d${index}`,
    SerialNumber: `S${index}`,
    MdmData: { CompromisedStatus: index === 7 ? 'TRUE' : 'FALSE' },
  }));

  it('are named in the report when 1 of 150, and the others are judged', async () => {
    org = await startOrganization({ devices: 20, rules: { ban: BAN_BY_PAGES } });
    serve([...fleet.slice(0, 3), { SerialNumber: 'no id' }, ...fleet.slice(4)]);
    const { run, of } = await org.run('dry-run');
    expect(of('act').map(({ subject }) => subject.id)).toEqual(['d7']);
    const { store } = org.composition.engine;
    expect(reportText(await buildReport(store, run))).toContain('1 unreadable record (record 4: DeviceID is');
  });

  it('prevent every action when 2 of 150, with the reason in the report', async () => {
    org = await startOrganization({ devices: 20, rules: { ban: BAN_BY_PAGES } });
    serve([{}, {}, ...fleet.slice(2)]);
    const { run, of } = await org.run('enforce');
    expect(of('act')).toEqual([]);
    expect(of('skip', 'untrusted_source').map(({ subject }) => subject.id)).toEqual(['d7']);
    expect(run.findings?.snapshot.sources.devices.reasons).toMatchObject([{ code: 'unreadable_records' }]);
  });
});
