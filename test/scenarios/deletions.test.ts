// scenario: what a deletion of devices really takes, against the real console over HTTP: shown before, and binding
// afterwards.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerPlan, applyPlan } from '../../src/engine/operate/plans.ts';
import { buildReport } from '../../src/faces/report/build-report.ts';
import { ManagementClient } from '../../src/platform/client.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { systemRandom } from '../../src/runtime/system/ids.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { reportMarkdown, reportText } from '../support/readable.ts';

const [ANN, BOB] = ['ann.deleted@acme.example', 'bob.joined@acme.example'];

const LOST = `
id: lost
subject: device
when: { "==": [{ var: DeviceFriendlyName }, lost] }
then: delete_device
mode: enforce
owners: all
limits: { max: 10, percent: 100 }
tests: [{ name: lost, given: { DeviceFriendlyName: lost }, expect: match }]
`;

const LEAVER = `
id: leaver
subject: user
when: { "==": [{ var: Email }, ${ANN}] }
then: delete_device
mode: enforce
limits: { max: 10, percent: 100 }
tests: [{ name: left, given: { Email: ${ANN} }, expect: match }]
`;

/** Each test adds its own device beside these. */
const NEVER = `
id: never
subject: device
when: { "==": [{ var: DeviceFriendlyName }, never] }
then: notify
tests: [{ name: never, given: { DeviceFriendlyName: never }, expect: match }]
`;

let org: Organization;
let client: ManagementClient;
let lost: string;

beforeEach(async () => {
  org = await startOrganization({ devices: 20, rules: { never: NEVER } });
  const credential = { kind: 'api_key' as const, secret: org.env.TRUSTWARD_API_KEY ?? '' };
  client = new ManagementClient({
    address: org.console.address,
    credential,
    clock: systemClock,
    random: systemRandom,
  });
  lost = org.console.fleet.addDevice({ serial: 'LOST-1', friendly_name: 'lost' }, [ANN]);
  org.console.fleet.addDevice({ serial: 'OTHER-1' }, [ANN]);
});
afterEach(async () => {
  await client.close();
  await org.close();
});

async function planned() {
  const { run } = await org.run('enforce');
  const plan = await org.composition.engine.store.plan(run.planId as string);
  return { run, plan, intents: plan?.intents ?? [] };
}

async function approve(planId: string | undefined): Promise<void> {
  await answerPlan(org.composition.engine, planId as string, 'approve', { by: 'ada', reason: 'looked at it' });
}

const apply = (planId: string | undefined) => applyPlan(org.composition.engine, planId as string, { by: 'ana' });

function taken(): string[] {
  const kinds = ['device_deleted', 'user_deleted', 'mapping_deleted'];
  return org.console.effects().flatMap(({ kind, target }) => (kinds.includes(kind) ? [`${kind} ${target}`] : []));
}

describe('the deletion of a device', () => {
  it('names its owners, their certificates and who is left without a device', async () => {
    await org.rule('lost', LOST);
    const { run, intents } = await planned();
    const deletion = { devices: [lost], owners: [ANN], certificates: 1, users: [] };
    expect(intents).toMatchObject([{ target: 'LOST-1', effect: { deletion } }]);
    const report = await buildReport(org.composition.engine.store, run);
    expect(report.plan.held).toMatchObject([{ effect: { deletion } }]);
    for (const text of [reportMarkdown(report), reportText(report, { width: 300 })])
      expect(text.replaceAll('\\', '')).toContain(`revokes 1 certificate (of ${ANN})`);
  });

  it('of the owner’s last one deletes the owner too, and shows that before', async () => {
    await client.deleteDevice('OTHER-1');
    const before = taken();
    await org.rule('lost', LOST);
    const { plan, intents } = await planned();
    expect(intents).toMatchObject([{ effect: { deletion: { users: [ANN] } } }]);
    expect(intents[0]?.effect.text).toContain(`deletes 1 user left without a device: ${ANN}`);
    await approve(plan?.id);
    await apply(plan?.id);
    expect(taken().slice(before.length).sort()).toEqual(
      [`device_deleted ${lost}`, `mapping_deleted ${lost}`, `user_deleted ${ANN}`].sort(),
    );
  });

  it.each<[string, () => unknown, string]>([
    ['an owner who joined since', () => org.console.fleet.addOwner(lost, BOB), `owners joined since: ${BOB}`],
    [
      'a user who has no other device any more',
      () => client.deleteDevice('OTHER-1'),
      `users would be deleted that were not reviewed: ${ANN}`,
    ],
  ])('does not take %s: it is refused by name', async (_, change, note) => {
    await org.rule('lost', LOST);
    const { plan } = await planned();
    await approve(plan?.id);
    await change();
    const before = taken();
    expect((await apply(plan?.id)).intents).toMatchObject([{ status: 'withdrawn', note }]);
    expect(taken()).toEqual(before);
  });

  it('shows as changed when an owner joins: what was read before does not cover it', async () => {
    await org.rule('lost', LOST);
    const first = await planned();
    org.console.fleet.addOwner(lost, BOB);
    const second = await planned();
    expect(second.plan?.digest).not.toBe(first.plan?.digest);
    expect(second.intents).toMatchObject([
      { effect: { deletion: { owners: [ANN, BOB], certificates: 2, users: [BOB] } } },
    ]);
    expect(second.plan?.id).toBe(first.plan?.id);
    await expect(approve(first.plan?.id)).rejects.toThrow('has changed since it was made (1 changed): read it');
  });
});

describe('the deletion of the devices of a user', () => {
  it('names the devices, and that the user goes with the last of them', async () => {
    await org.rule('leaver', LEAVER);
    org.console.fleet.addOwner(lost, BOB);
    const { plan, intents } = await planned();
    const effects = intents.map(({ target, effect }) => [target, effect.devices.length, effect.deletion]);
    const common = { owners: [ANN], certificates: 1, users: [ANN] };
    expect(effects.sort()).toEqual([
      [`LOST-1 ${ANN}`, 1, { ...common, devices: [] }],
      [`OTHER-1 ${ANN}`, 1, { ...common, devices: [expect.any(String)] }],
    ]);
    await approve(plan?.id);
    await apply(plan?.id);
    expect(await client.user(ANN)).toBeUndefined();
    expect(await client.devicesOfSerial('LOST-1')).toMatchObject([{ DeviceID: lost, Emails: [BOB] }]);
  });

  it('does not delete a device whose other owner has left since', async () => {
    await org.rule('leaver', LEAVER);
    org.console.fleet.addOwner(lost, BOB);
    org.console.fleet.addDevice({ serial: 'BOBS-1' }, [BOB]);
    const { plan } = await planned();
    await approve(plan?.id);
    await client.deleteDevice('LOST-1', BOB);
    const { intents } = await apply(plan?.id);
    expect(intents.find(({ target }) => target.startsWith('LOST-1'))).toMatchObject({
      status: 'withdrawn',
      note: `devices would be deleted that were not reviewed: ${lost}`,
    });
    expect(await client.devicesOfSerial('LOST-1')).toHaveLength(1);
  });
});

describe('a serial number that looks like another one and an address', () => {
  it('is deleted as itself: no owner of that address loses a device', async () => {
    const serial = `OTHER-1 ${ANN}`;
    const hostile = org.console.fleet.addDevice({ serial, friendly_name: 'lost' }, [BOB]);
    org.console.fleet.patchDevice(lost, { friendly_name: 'found' });
    await org.rule('lost', LOST);
    const { plan, intents } = await planned();
    expect(intents).toMatchObject([{ target: serial, effect: { deletion: { devices: [hostile], owners: [BOB] } } }]);
    expect(intents[0]?.effect.text).toContain(`delete serial number ${serial} (1 device)`);
    const before = taken();
    await approve(plan?.id);
    expect((await apply(plan?.id)).intents).toMatchObject([{ outcome: 'succeeded' }]);
    expect(taken().slice(before.length).sort()).toEqual(
      [`device_deleted ${hostile}`, `mapping_deleted ${hostile}`, `user_deleted ${BOB}`].sort(),
    );
    expect(await client.user(ANN)).toMatchObject({ SerialNumbers: expect.arrayContaining(['OTHER-1']) });
  });
});
