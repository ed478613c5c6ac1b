// scenario: a rule about users bans their devices at the reference server, and every answer names the device as the target and the user as the reason.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { commandOrThrow } from '../support/in-process.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

const ANN = 'ann@acme.example';

const RULE = `
id: ban-their-devices
title: Ban all devices of a user one of whose devices is compromised
severity: critical
subject: user
when:
  some: [{ var: $devices }, { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }]
then: ban_devices
mode: enforce
revert: true
owners: all
tests:
  - { name: one of two, devices: [{}, { MdmData: { CompromisedStatus: "TRUE" } }], expect: match }
  - { name: none, devices: [{}], expect: no_match }
`;

let org: Organization;
let [phone, laptop] = ['', ''];

beforeEach(async () => {
  org = await startOrganization({ devices: 60, rules: { ban: RULE } });
  phone = org.console.fleet.addDevice({ serial: 'ANN-PHONE', mdm_compromised: 'TRUE' }, [ANN]);
  laptop = org.console.fleet.addDevice({ serial: 'ANN-LAPTOP' }, [ANN]);
});
afterEach(() => org.close());

it('bans the devices of a matched user, and unbans them when the user is mended', async () => {
  await org.run('enforce');
  expect(org.effects('device_banned').toSorted()).toEqual([phone, laptop].toSorted());
  await org.run('enforce');
  org.console.fleet.patchDevice(phone, { mdm_compromised: 'FALSE' });
  await org.run('enforce');
  await org.run('enforce');
  expect(org.effects('device_unbanned').toSorted()).toEqual([phone, laptop].toSorted());
  expect(org.effects('device_banned')).toHaveLength(2);
});

it('names the device as the target and the user as the reason, in the report, in the plan and in `why`', async () => {
  await org.rule('ban', RULE.replace('mode: enforce', 'mode: approve'));
  const { run } = await org.run('enforce');
  const planId = run.planId ?? '';
  await org.composition.close();
  const columns = { COLUMNS: '160' };
  const text = async (...args: string[]) => (await commandOrThrow(args, { ...org.env, ...columns })).out;
  const report = await text('report');
  expect(report).toContain('Serial number');
  expect(report).toMatch(/ann@acme\.example +│ ANN-LAPTOP/);
  expect(report).toContain('2 devices of 1 person');
  expect(await text('plans', planId)).toMatch(/ban-their-devices +│?\s*│? +ann@acme\.example/);
  const waiting = await text('why', 'ANN-LAPTOP');
  expect(waiting).toContain(`ban-their-devices (approve), about ${ANN}: MATCHES`);
  expect(waiting).toContain('ban_device ANN-LAPTOP waits in plan');
  await text('approve', planId);
  await text('apply', planId);
  expect(await text('why', 'ANN-LAPTOP')).toMatch(
    new RegExp(`ban_device ANN-LAPTOP is undone when rule ban-their-devices no longer matches\\s+${ANN}`),
  );
  expect(await text('why', ANN)).toContain("Ada's MacBook, ANN-PHONE, BANNED");
});
