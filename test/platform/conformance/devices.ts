// conformance: endpoints 3 and 4: deleting, banning and unbanning devices, with every rule of who is deleted with whom.
// In: the specification's rules. Out: rules that change the target.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { devices, PATHS, pick, plainDevice, type Row, sharedSerial, users } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

const DELETE = '3. Delete an end-user device';
const BAN = '4. Ban or unban devices';
const STATES = 'States and transitions';

async function remove(target: Target, params: Record<string, string>): Promise<void> {
  const answer = await target.call('DELETE', PATHS.deleteDevice + query(params));
  equal(answer.status, 200, answer.text);
}

const exists = async (target: Target, email: string) => (await users(target, { Email: email })).length > 0;
const devicesOf = (target: Target, serial: string) => devices(target, { Serialnumber: serial });

/** A device and one of its users, chosen by how many others each of them has. */
async function pair(
  target: Target,
  hasOtherUsers: boolean,
  hasOtherDevices: boolean,
): Promise<{ device: Row; email: string }> {
  const people = new Map((await users(target)).map((each) => [each.Email, each]));
  const fits = (email: string) => people.get(email)?.SerialNumbers.length > 1 === hasOtherDevices;
  const device = await plainDevice(
    target,
    (each) => each.Emails.length > 1 === hasOtherUsers && each.Emails.some(fits),
  );
  return { device, email: pick(device.Emails as string[], fits, 'user of that kind') };
}

const rule = (section: string, line: string, check: Rule['check']): Rule => ({ section, line, writes: true, check });

const DELETE_RULES: Rule[] = [
  rule(DELETE, 'without SerialNumber it is 400, and nothing is deleted', async (target) => {
    const before = (await devices(target)).length;
    const answer = await target.call('DELETE', PATHS.deleteDevice + query({ Email: 'nobody@example.com' }));
    equal(answer.status, 400);
    match(answer.json.Message, /SerialNumber/);
    equal((await devices(target)).length, before);
  }),
  rule(DELETE, 'a serial number that no device has is 400', async (target) => {
    equal((await target.call('DELETE', PATHS.deleteDevice + query({ SerialNumber: 'no-such-serial' }))).status, 400);
  }),
  rule(DELETE, 'an empty Email is 400, and is not taken for none', async (target) => {
    const device = await plainDevice(target);
    const params = { SerialNumber: device.SerialNumber, Email: '' };
    equal((await target.call('DELETE', PATHS.deleteDevice + query(params))).status, 400);
    equal((await devicesOf(target, device.SerialNumber)).length, 1);
  }),
  rule(DELETE, 'an Email that is not registered on the device is 400, and nothing is deleted', async (target) => {
    const device = await plainDevice(target);
    const other = pick(await users(target), (each) => !device.Emails.includes(each.Email), 'other user');
    const params = { SerialNumber: device.SerialNumber, Email: other.Email };
    equal((await target.call('DELETE', PATHS.deleteDevice + query(params))).status, 400);
    deepEqual((await devicesOf(target, device.SerialNumber))[0].Emails.sort(), device.Emails.sort());
  }),
  rule(DELETE, 'with Email (1): the mapping of that user and that device is deleted', async (target) => {
    const { device, email } = await pair(target, true, true);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    const left = (await devicesOf(target, device.SerialNumber))[0];
    deepEqual(left.Emails.sort(), device.Emails.filter((each: string) => each !== email).sort());
  }),
  rule(DELETE, 'with Email (2): a user who is registered on no other device is deleted', async (target) => {
    const { device, email } = await pair(target, false, false);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    equal(await exists(target, email), false);
  }),
  rule(DELETE, 'with Email (2): a user who is registered on another device remains', async (target) => {
    const { device, email } = await pair(target, false, true);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    const user = (await users(target, { Email: email }))[0];
    ok(user && !user.SerialNumbers.includes(device.SerialNumber));
  }),
  rule(DELETE, 'with Email (3): a device that has no other user is deleted', async (target) => {
    const { device, email } = await pair(target, false, true);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    deepEqual(await devicesOf(target, device.SerialNumber), []);
  }),
  rule(DELETE, 'with Email (3): a device that has another user remains', async (target) => {
    const { device, email } = await pair(target, true, true);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    equal((await devicesOf(target, device.SerialNumber))[0].DeviceID, device.DeviceID);
  }),
  rule(DELETE, 'without Email (1, 2): all mappings of the serial number and the device are deleted', async (target) => {
    const { device } = await pair(target, true, true);
    await remove(target, { SerialNumber: device.SerialNumber });
    deepEqual(await devicesOf(target, device.SerialNumber), []);
    for (const user of await users(target)) ok(!user.SerialNumbers.includes(device.SerialNumber));
  }),
  rule(DELETE, 'without Email (4): users of only that device are deleted, others remain', async (target) => {
    const { device, email } = await pair(target, false, false);
    const shared = await pair(target, false, true);
    await remove(target, { SerialNumber: device.SerialNumber });
    await remove(target, { SerialNumber: shared.device.SerialNumber });
    deepEqual([await exists(target, email), await exists(target, shared.email)], [false, true]);
  }),
  rule(DELETE, 'certificates are revoked with the mapping, and all of them with the device', async (target) => {
    const { device, email } = await pair(target, true, true);
    await remove(target, { SerialNumber: device.SerialNumber, Email: email });
    deepEqual(
      (await certificates(target, device.SerialNumber))
        .filter((each) => each.email === email)
        .map((each) => each.state),
      ['revoked'],
    );
    await remove(target, { SerialNumber: device.SerialNumber });
    ok((await certificates(target, device.SerialNumber)).every((each) => each.state === 'revoked'));
  }),
  rule(DELETE, 'the answer is a JSON string that says it was deleted', async (target) => {
    const device = await plainDevice(target);
    const answer = await target.call('DELETE', `/v1/delete_device${query({ SerialNumber: device.SerialNumber })}`);
    match(answer.json, /deleted/);
  }),
];

/** Certificates are shown by the console alone; on another server there is nothing to look at. */
async function certificates(target: Target, serial: string): Promise<Row[]> {
  const answer = await target.get(`/certificates${query({ SerialNumber: serial })}`);
  return answer.status === 200 ? answer.json.data : [];
}

async function update(target: Target, serial: string, body: unknown) {
  return target.call('POST', PATHS.updateDevice + query({ SerialNumber: serial }), body);
}

const asRead = (device: Row, banned: unknown) => ({
  Model: device.Model,
  Ownership: device.Ownership,
  Platform: device.Platform,
  Architecture: device.Architecture,
  Banned: banned,
});

const BAN_RULES: Rule[] = [
  rule(STATES, 'Device, Banned FALSE → TRUE by `mdm/update_device`, and back', async (target) => {
    const device = await plainDevice(target);
    for (const banned of ['TRUE', 'FALSE']) {
      const answer = await update(target, device.SerialNumber, [asRead(device, banned)]);
      equal(answer.status, 200, answer.text);
      equal((await devicesOf(target, device.SerialNumber))[0].Banned, banned);
    }
  }),
  rule(STATES, 'all end-user devices of the serial number are updated', async (target) => {
    const serial = await sharedSerial(target);
    const all = await devicesOf(target, serial);
    await update(
      target,
      serial,
      all.map((each) => asRead(each, 'TRUE')),
    );
    ok((await devicesOf(target, serial)).every((each) => each.Banned === 'TRUE'));
    await update(target, serial, [{ Banned: 'FALSE' }]);
    ok((await devicesOf(target, serial)).every((each) => each.Banned === 'FALSE'));
  }),
  rule(STATES, 'nothing else of the device changes with a ban', async (target) => {
    const device = await plainDevice(target);
    await update(target, device.SerialNumber, [asRead(device, 'TRUE')]);
    deepEqual({ ...(await devicesOf(target, device.SerialNumber))[0], Banned: 'FALSE' }, device);
    await update(target, device.SerialNumber, [asRead(device, 'FALSE')]);
  }),
  rule(BAN, 'a success is an array with the Message `Success` for each object', async (target) => {
    const device = await plainDevice(target);
    const answer = await update(target, device.SerialNumber, [asRead(device, 'FALSE')]);
    deepEqual(answer.json, [{ Message: 'Success' }]);
  }),
  rule(BAN, 'a single object with a boolean `Banned` is answered with an object', async (target) => {
    const device = await plainDevice(target);
    const answer = await update(target, device.SerialNumber, { ...asRead(device, true), OS: device.OS });
    deepEqual(answer.json, { Message: 'Success' });
    equal((await devicesOf(target, device.SerialNumber))[0].Banned, 'TRUE');
    await update(target, device.SerialNumber, { Banned: false });
  }),
  ...(['Model', 'Ownership', 'Platform', 'Architecture'] as const).map((field) =>
    rule(BAN, `\`${field}\` of the body is text: a number is 400, and nothing is banned`, async (target) => {
      const device = await plainDevice(target);
      const answer = await update(target, device.SerialNumber, [{ [field]: 17, Banned: 'TRUE' }]);
      equal(answer.status, 400);
      match(answer.json.Message, new RegExp(field));
      equal((await devicesOf(target, device.SerialNumber))[0].Banned, 'FALSE');
    }),
  ),
  rule(BAN, '`Banned` with another word is 400, and nothing changes', async (target) => {
    const device = await plainDevice(target);
    const answer = await update(target, device.SerialNumber, [{ Banned: 'yes' }]);
    equal(answer.status, 400);
    match(answer.json.Message, /Banned/);
  }),
  rule(BAN, 'one bad object among good ones: 400, and nothing is half done', async (target) => {
    const device = await plainDevice(target);
    equal((await update(target, device.SerialNumber, [{ Banned: 'TRUE' }, { Banned: 'no' }])).status, 400);
    equal((await devicesOf(target, device.SerialNumber))[0].Banned, 'FALSE');
  }),
  ...(['Model', 'Ownership', 'Platform', 'Architecture', 'OS'] as const).map((field) =>
    rule(BAN, `an empty \`${field}\` is written, or it is 400: a \`Success\` never loses it`, async (target) => {
      const device = await plainDevice(target, (each) => each[field] !== '');
      const answer = await update(target, device.SerialNumber, { [field]: '' });
      if (answer.status !== 400) {
        deepEqual(answer.json, { Message: 'Success' });
        equal((await devicesOf(target, device.SerialNumber))[0][field], '');
        await update(target, device.SerialNumber, { [field]: device[field] });
      }
    }),
  ),
  rule(BAN, '`IsMDMPresent: false` with an empty `MDMVendorName` clears the vendor', async (target) => {
    const v2 = async (serial: string) =>
      (await target.get(`/api/v2/devices${query({ serial_number: serial })}`)).json.data.devices[0];
    const device = await plainDevice(target);
    await update(target, device.SerialNumber, { IsMDMPresent: true, MDMVendorName: 'Vendor' });
    const { mdm_present: present, mdm_vendor_name: vendor } = await v2(device.SerialNumber);
    deepEqual([Number(present), vendor], [1, 'Vendor']);
    await update(target, device.SerialNumber, { IsMDMPresent: false, MDMVendorName: '' });
    const cleared = await v2(device.SerialNumber);
    deepEqual([Number(cleared.mdm_present), cleared.mdm_vendor_name], [0, '']);
  }),
  rule(BAN, '`Banned` and `IsMDMPresent` are also 1 and 0, as lists of version 2 give them', async (target) => {
    const device = await plainDevice(target);
    for (const [sent, banned] of [
      [1, 'TRUE'],
      [0, 'FALSE'],
    ]) {
      const answer = await update(target, device.SerialNumber, { Banned: sent, IsMDMPresent: sent });
      deepEqual(answer.json, { Message: 'Success' });
      equal((await devicesOf(target, device.SerialNumber))[0].Banned, banned);
    }
    equal((await update(target, device.SerialNumber, { Banned: 2 })).status, 400);
  }),
  rule(
    BAN,
    'objects that agree on a field write it; one that no device has, beside another one, is 400',
    async (target) => {
      const serial = await sharedSerial(target);
      const before = await devicesOf(target, serial);
      const body = before.map((each) => ({ ...asRead(each, 'FALSE'), Model: 'Model of the suite' }));
      deepEqual(
        (await update(target, serial, body)).json,
        before.map(() => ({ Message: 'Success' })),
      );
      ok((await devicesOf(target, serial)).every((each) => each.Model === 'Model of the suite'));
      const [first = {}, ...rest] = body;
      const answer = await update(target, serial, [{ ...first, Model: 'Another model' }, ...rest]);
      equal(answer.status, 400, answer.text);
      match(answer.json.Message, /Model/);
      await update(target, serial, [{ Model: before[0].Model }]);
    },
  ),
  rule(
    BAN,
    'a field of the record that no update writes is 400 with another value, and nothing is banned',
    async (target) => {
      const device = await plainDevice(target);
      for (const field of ['SerialNumber', 'DeviceFriendlyName', 'AppVersion']) {
        const answer = await update(target, device.SerialNumber, [{ [field]: 'of the suite', Banned: 'TRUE' }]);
        equal(answer.status, 400, answer.text);
        match(answer.json.Message, new RegExp(field));
      }
      equal((await devicesOf(target, device.SerialNumber))[0].Banned, 'FALSE');
    },
  ),
  rule(BAN, 'a whole record is taken back as it was read', async (target) => {
    const device = await plainDevice(target);
    deepEqual((await update(target, device.SerialNumber, [device])).json, [{ Message: 'Success' }]);
    deepEqual(await devicesOf(target, device.SerialNumber), [device]);
  }),
  rule(BAN, 'without SerialNumber it is 400', async (target) => {
    const answer = await target.call('POST', PATHS.updateDevice, [{ Banned: 'TRUE' }]);
    equal(answer.status, 400);
    match(answer.json.Message, /SerialNumber/);
  }),
  rule(BAN, 'a serial number that no device has is 400', async (target) => {
    equal((await update(target, 'no-such-serial', [{ Banned: 'TRUE' }])).status, 400);
  }),
  rule(BAN, 'a body that is no JSON, or empty, is 400', async (target) => {
    const device = await plainDevice(target);
    for (const body of ['[{', '[]', '""', ''])
      equal((await update(target, device.SerialNumber, body)).status, 400, body);
  }),
  rule(BAN, 'a ban, and an unban, is in the event log', async (target) => {
    const device = await plainDevice(target);
    const read = async () =>
      (await target.get(PATHS.countEvents + query({ serialnumber: device.SerialNumber, type: 'Audit' }))).json
        .data as number;
    const before = await read();
    await update(target, device.SerialNumber, [{ Banned: 'TRUE' }]);
    await update(target, device.SerialNumber, [{ Banned: 'FALSE' }]);
    equal(await read(), before + 2);
  }),
];

export const DEVICE_RULES: Rule[] = [...DELETE_RULES, ...BAN_RULES];
