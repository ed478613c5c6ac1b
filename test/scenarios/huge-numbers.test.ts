// scenario: numbers of a size that no field has: each is an unknown fact at once, and everything else is judged.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { Api } from '../../src/domain/ports.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { specOf } from '../../src/engine/act/context.ts';
import { stringifyExact } from '../../src/platform/contract.ts';
import { scriptedApi } from '../engine/pull/scripted-api.ts';
import { gather } from '../platform/loopback.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

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
    await ACTIONS.get('ban_device')?.perform(scriptedApi({ updateDevices }), 'ODD', { records } as never, {} as never);
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
