// conformance: endpoints 1 and 2: the lists of end users and devices, paged and whole.
// In: the specification's parameters. Out: rules. They only read.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { devices, PATHS, pick, plainDevice, type Row, users } from './fleet.ts';
import { type Answer, query, type Rule, type Target } from './target.ts';

interface ListTable {
  section: string;
  path: string;
  /** The name of the list within a page. */
  name: string;
  key: string;
  orderBy: Record<string, string>;
}

const USERS: ListTable = {
  section: '1. List end users',
  path: PATHS.endusers,
  name: 'endusers',
  key: 'Email',
  orderBy: { name: 'Name', email: 'Email' },
};
const DEVICES: ListTable = {
  section: '2. List devices',
  path: PATHS.devices,
  name: 'devices',
  key: 'DeviceID',
  orderBy: { serialnumber: 'SerialNumber', devicefriendlyname: 'DeviceFriendlyName', model: 'Model' },
};

async function page(target: Target, table: ListTable, params: Record<string, string | number>): Promise<Row> {
  const answer = await target.get(table.path + query(params));
  equal(answer.status, 200, answer.text.slice(0, 200));
  return answer.json;
}

/** Sorted as the server's own database sorts: by code point, letters of e-mail addresses in any case. */
function isSorted(values: string[], descending: boolean): boolean {
  const bytes = values.map((value) => Buffer.from(value.toLowerCase()));
  const plain = values.map((value) => Buffer.from(value));
  const inOrder = (list: Buffer[]) =>
    list.every((value, index) => {
      const step = index === 0 ? 0 : Buffer.compare(list[index - 1] as Buffer, value);
      return descending ? step >= 0 : step <= 0;
    });
  return inOrder(bytes) || inOrder(plain);
}

function commonRules(table: ListTable): Rule[] {
  const rule = (line: string, check: Rule['check']): Rule => ({ section: table.section, line, check });
  const refuses = (name: string, value: string): Rule =>
    rule(`\`${name}=${value}\` is 400, and the Message names it`, async (target) => {
      const answer: Answer = await target.get(table.path + query({ [name]: value }));
      equal(answer.status, 400);
      match(answer.json.Message, new RegExp(name, 'i'));
    });
  return [
    rule('without Skip and Limit the answer is a JSON array', async (target) => {
      ok(Array.isArray((await target.get(table.path)).json));
    }),
    rule(`with Skip and Limit the answer is an object of \`${table.name}\` and \`count\``, async (target) => {
      const answer = await page(target, table, { Skip: 0, Limit: 3 });
      deepEqual(Object.keys(answer).sort(), ['count', table.name].sort());
      equal(answer[table.name].length, 3);
    }),
    rule('`count` is the number of all matches, not the size of the page', async (target) => {
      const all = await page(target, table, { Skip: 0, Limit: 1 });
      equal(all.count, (await target.get(table.path)).json.length);
    }),
    rule('Skip leaves out as many records, Limit gives as many', async (target) => {
      const both = await page(target, table, { Skip: 0, Limit: 6 });
      const second = await page(target, table, { Skip: 2, Limit: 4 });
      deepEqual(keys(table, second), keys(table, both).slice(2));
    }),
    rule('pages put together are the whole list, each record once', async (target) => {
      const whole = keys(table, { [table.name]: (await target.get(table.path)).json });
      const seen: string[] = [];
      for (let skip = 0; ; skip += 7) {
        const records = keys(table, await page(target, table, { Skip: skip, Limit: 7 }));
        if (records.length === 0) break;
        seen.push(...records);
      }
      deepEqual([...seen].sort(), [...whole].sort());
    }),
    rule('a page past the end is an empty array, never null', async (target) => {
      deepEqual((await page(target, table, { Skip: 10_000_000, Limit: 5 }))[table.name], []);
    }),
    rule('a Limit of 1,000 is served whole', async (target) => {
      const answer = await page(target, table, { Skip: 0, Limit: 1_000 });
      equal(answer[table.name].length, Math.min(1_000, answer.count));
    }),
    rule('parameter names count in any case', async (target) => {
      for (const [skip, limit] of [
        ['skip', 'limit'],
        ['SKIP', 'LIMIT'],
        ['Skip', 'Limit'],
      ] as const) {
        equal((await page(target, table, { [skip]: 1, [limit]: 2 }))[table.name].length, 2);
      }
    }),
    rule('unknown parameters are ignored', async (target) => {
      equal((await page(target, table, { Skip: 0, Limit: 2, colour: 'blue' }))[table.name].length, 2);
    }),
    ...Object.entries(table.orderBy).flatMap(([name, field]) =>
      (['asc', 'desc'] as const).map((order) =>
        rule(`\`OrderBy=${name}\` with \`Order=${order}\` sorts by ${field}`, async (target) => {
          const answer = await page(target, table, { Skip: 0, Limit: 500, OrderBy: name, Order: order });
          ok(
            isSorted(
              answer[table.name].map((each: Row) => each[field]),
              order === 'desc',
            ),
            'it is not sorted',
          );
        }),
      ),
    ),
    rule('`Order` counts in any case', async (target) => {
      deepEqual(
        keys(table, await page(target, table, { Skip: 0, Limit: 9, Order: 'DESC' })),
        keys(table, await page(target, table, { Skip: 0, Limit: 9, Order: 'desc' })),
      );
    }),
    refuses('Skip', '-1'),
    refuses('Limit', 'ten'),
    refuses('Order', 'sideways'),
    refuses('OrderBy', 'shoe_size'),
    rule('a filter that nothing matches gives an empty array', async (target) => {
      deepEqual((await target.get(table.path + query({ Serialnumber: 'no-such-serial' }))).json, []);
    }),
    rule('times are integers of 19 digits', async (target) => {
      match((await target.get(table.path)).text, /"LastLogin":\d{19}[,}]/);
    }),
  ];
}

function keys(table: ListTable, answer: Row): string[] {
  return answer[table.name].map((each: Row) => each[table.key]);
}

const USER_FILTERS: Rule[] = [
  {
    section: USERS.section,
    line: '`Serialnumber` gives the users of the devices of this serial number',
    async check(target) {
      const device = await plainDevice(target);
      const found = await users(target, { Serialnumber: device.SerialNumber });
      deepEqual(found.map((each) => each.Email).sort(), [...device.Emails].sort());
    },
  },
  {
    section: USERS.section,
    line: '`Email` gives the user of this address, in any case',
    async check(target) {
      const [user] = await users(target);
      for (const email of [user.Email, user.Email.toUpperCase()]) {
        deepEqual(
          (await users(target, { Email: email })).map((each) => each.Email),
          [user.Email],
        );
      }
    },
  },
  {
    section: USERS.section,
    line: '`Name` gives the users of this name',
    async check(target) {
      const [user] = await users(target);
      const found = await users(target, { Name: user.Name });
      ok(found.length > 0 && found.every((each) => each.Name === user.Name));
    },
  },
  {
    section: USERS.section,
    line: '`SerialNumbers` are those of the devices that the user is registered on',
    async check(target) {
      const user = pick(await users(target), (each) => each.SerialNumbers.length > 1, 'user of several devices');
      const found = await devices(target, { Email: user.Email });
      deepEqual([...user.SerialNumbers].sort(), found.map((each) => each.SerialNumber).sort());
    },
  },
];

const DEVICE_FILTERS: Rule[] = [
  {
    section: DEVICES.section,
    line: '`Serialnumber` gives the devices of this serial number',
    async check(target) {
      const device = await plainDevice(target);
      const found = await devices(target, { Serialnumber: device.SerialNumber });
      deepEqual(
        found.map((each) => each.DeviceID),
        [device.DeviceID],
      );
    },
  },
  {
    section: DEVICES.section,
    line: '`Email` gives the devices that this user is registered on',
    async check(target) {
      const device = await plainDevice(target);
      const found = await devices(target, { Email: device.Emails[0] });
      ok(found.some((each) => each.DeviceID === device.DeviceID));
      ok(found.every((each) => each.Emails.includes(device.Emails[0])));
    },
  },
  ...(['Model', 'DeviceFriendlyName'] as const).map(
    (name): Rule => ({
      section: DEVICES.section,
      line: `\`${name}\` gives the devices of this ${name === 'Model' ? 'model' : 'friendly name'}`,
      async check(target) {
        const all = await devices(target);
        const value = all[0][name];
        const found = await devices(target, { [name]: value });
        equal(found.length, all.filter((each) => each[name] === value).length);
        ok(found.every((each) => each[name] === value));
      },
    }),
  ),
  {
    section: DEVICES.section,
    line: '`count` of a filtered page is the number of matches',
    async check(target) {
      const [device] = await devices(target);
      const answer = await page(target, DEVICES, { Model: device.Model, Skip: 0, Limit: 1 });
      equal(answer.count, (await devices(target, { Model: device.Model })).length);
    },
  },
];

export const LIST_RULES: Rule[] = [...commonRules(USERS), ...USER_FILTERS, ...commonRules(DEVICES), ...DEVICE_FILTERS];
