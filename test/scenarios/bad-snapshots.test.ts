// scenario: snapshots that must not be trusted: nothing is done on any of them, and the reason is named.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { stringifyExact } from '../../src/platform/contract.ts';
import {
  BAN_BY_PAGES,
  BAN_COMPROMISED,
  DISABLE_FAILING,
  type Organization,
  startOrganization,
} from '../support/organization.ts';

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
