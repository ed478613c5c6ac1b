// conformance: endpoints 5, 6 and 7: the event log, with every filter.
// In: the specification's parameters. Out: rules; list and count are held against each other. They only read.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { events, PATHS, pick, type Row } from './fleet.ts';
import { NotChecked, query, type Rule, type Target } from './target.ts';

const LIST = '5. List events';
const COUNT = '6. Count events';
const FEED = '7. Events feed';
const SEVERITIES = ['DEBUG', 'INFO', 'WARN', 'ERROR'];

type Params = Record<string, string | number>;

const count = async (target: Target, params: Params) =>
  (await target.get(PATHS.countEvents + query(params))).json.data as number;
const feed = async (target: Target, params: Params = {}) =>
  (await target.get(PATHS.feed + query({ limit: 1_000, ...params }))).json.data as Row[];

interface FilterTable {
  name: string;
  /** The filter's value, from an event that has one. */
  of(event: Row): string | undefined;
  isPiped: boolean;
}

const FILTERS: FilterTable[] = [
  { name: 'type', of: (event) => event.type, isPiped: true },
  { name: 'sub_type', of: (event) => event.sub_type || undefined, isPiped: false },
  { name: 'user_email', of: (event) => event.user_principal?.user?.email, isPiped: true },
  { name: 'device_id', of: (event) => event.user_principal?.device?.id, isPiped: false },
  { name: 'serialnumber', of: (event) => event.user_principal?.device?.serial_number || undefined, isPiped: true },
  {
    name: 'service_name',
    of: (event) => event.service?.name || event.link?.destination?.service_name || undefined,
    isPiped: true,
  },
  {
    name: 'workload_container_id',
    of: (event) => event.link?.destination?.container_id,
    isPiped: true,
  },
  { name: 'action', of: (event) => event.action || undefined, isPiped: false },
  { name: 'id', of: (event) => event.id, isPiped: false },
];

function filterRules({ name, of, isPiped }: FilterTable): Rule[] {
  const valueIn = async (target: Target) =>
    pick((await events(target)).map(of), (each) => each !== undefined, `event with ${name}`) as string;
  return [
    {
      section: LIST,
      line: `\`${name}\` gives the events of this value`,
      async check(target) {
        const value = await valueIn(target);
        const found = await events(target, { [name]: value });
        ok(found.length > 0 && found.every((each) => of(each) === value));
      },
    },
    {
      section: COUNT,
      line: `\`${name}\` counts what the list gives`,
      async check(target) {
        const value = await valueIn(target);
        const counted = await count(target, { [name]: value });
        equal(Math.min(counted, 1_000), (await events(target, { [name]: value })).length);
      },
    },
    ...(isPiped
      ? [
          {
            section: LIST,
            line: `\`${name}\` takes several values separated by a pipe`,
            async check(target: Target) {
              const values = [...new Set((await events(target)).map(of).filter((each) => each !== undefined))].slice(
                0,
                2,
              );
              const piped = await count(target, { [name]: values.join('|') });
              let sum = 0;
              for (const value of values) sum += await count(target, { [name]: value as string });
              equal(piped, sum);
            },
          },
        ]
      : []),
  ];
}

const rule = (section: string, line: string, check: Rule['check']): Rule => ({ section, line, check });

let made = 0;

/** Submits an event with an external id of its own, where the server takes events; answers that id. */
async function submitted(target: Target): Promise<string> {
  made++;
  const id = `conformance-${process.pid}-${made}`;
  const answer = await target.call('POST', PATHS.events, { type: 'Audit', severity: 'INFO', external_id: id });
  if (answer.status !== 200) throw new NotChecked('the target takes no events');
  return id;
}

const times = (list: Row[]): number[] => list.map((each) => each.created_at);

const LIST_RULES: Rule[] = [
  rule(LIST, 'the answer is an object whose `data` is an array', async (target) => {
    const { json } = await target.get(PATHS.events);
    deepEqual(Object.keys(json), ['data']);
    ok(Array.isArray(json.data));
  }),
  rule(LIST, '`limit` defaults to 10 and `skip` to 0', async (target) => {
    const given = (await target.get(PATHS.events)).json.data;
    equal(given.length, 10);
    equal(given[0].id, (await events(target, { limit: 1 }))[0].id);
  }),
  rule(LIST, '`order` defaults to DESC on created_at', async (target) => {
    const given = times(await events(target));
    deepEqual(
      given,
      [...given].sort((a, b) => b - a),
    );
  }),
  rule(LIST, '`order=ASC` is oldest first, in any case', async (target) => {
    for (const order of ['ASC', 'asc']) {
      const given = times(await events(target, { order }));
      deepEqual(
        given,
        [...given].sort((a, b) => a - b),
      );
    }
  }),
  rule(LIST, '`skip` and `limit` cut a page out of the list', async (target) => {
    const all = await events(target, { order: 'ASC', limit: 8 });
    const page = await events(target, { order: 'ASC', skip: 3, limit: 5 });
    deepEqual(
      page.map((each) => each.id),
      all.slice(3).map((each) => each.id),
    );
  }),
  ...(['before', 'after'] as const).map((bound) =>
    rule(LIST, `\`${bound}\` is a bound in epoch milliseconds, inclusive`, async (target) => {
      const middle = (await events(target))[5].created_at;
      const given = times(await events(target, { [bound]: middle }));
      ok(given.includes(middle));
      ok(given.every((each) => (bound === 'before' ? each <= middle : each >= middle)));
    }),
  ),
  ...SEVERITIES.map((severity) =>
    rule(
      LIST,
      `\`severity=${severity}\` is a minimum: it gives ${SEVERITIES.slice(SEVERITIES.indexOf(severity)).join(', ')}`,
      async (target) => {
        const above = SEVERITIES.slice(SEVERITIES.indexOf(severity));
        // Within a stretch that one answer holds whole, and to which nothing is added meanwhile.
        const newest = (await events(target, { limit: 500 })).slice(1);
        const within = { before: newest[0].created_at - 1, after: newest[newest.length - 1].created_at + 1 };
        const all = await events(target, within);
        const expected = all.filter((each) => above.includes(each.severity)).length;
        equal((await events(target, { ...within, severity })).length, expected);
      },
    ),
  ),
  {
    section: LIST,
    line: '`external_id` gives the events of this external id',
    writes: true,
    async check(target) {
      const id = await submitted(target);
      deepEqual(
        (await events(target, { external_id: id })).map((each) => each.external_id),
        [id],
      );
    },
  },
  ...['severity=LOUD', 'severity=', 'order=UP', 'order=', 'limit=-1', 'skip=many', 'before=yesterday', 'after=1.5'].map(
    (bad) =>
      rule(LIST, `\`${bad}\` is 400, and the Message names it`, async (target) => {
        const answer = await target.get(`${PATHS.events}?${bad}`);
        equal(answer.status, 400);
        match(answer.json.Message, new RegExp(bad.split('=')[0] as string));
      }),
  ),
];

const COUNT_RULES: Rule[] = [
  rule(COUNT, 'the answer is an object whose `data` is an integer', async (target) => {
    ok(Number.isInteger((await target.get(PATHS.countEvents)).json.data));
  }),
  rule(COUNT, 'order, skip and limit are no parameters of it: they are ignored', async (target) => {
    equal(await count(target, { order: 'DESC', skip: 5, limit: 1 }), await count(target, {}));
  }),
  rule(COUNT, '`before` and `after` bound it', async (target) => {
    const [newest] = await events(target, { limit: 1 });
    equal(await count(target, { after: newest.created_at + 1 }), 0);
    ok((await count(target, { before: newest.created_at })) >= 1);
  }),
  rule(COUNT, '`severity` is a minimum', async (target) => {
    const all = await Promise.all(SEVERITIES.map((severity) => count(target, { severity })));
    deepEqual(
      all,
      [...all].sort((a, b) => b - a),
    );
  }),
  {
    section: COUNT,
    line: '`external_id` counts what the list gives',
    writes: true,
    async check(target) {
      equal(await count(target, { external_id: await submitted(target) }), 1);
    },
  },
];

const FEED_RULES: Rule[] = [
  rule(FEED, 'the answer is an object whose `data` is an array', async (target) => {
    ok(Array.isArray((await target.get(PATHS.feed)).json.data));
  }),
  rule(FEED, 'an event has its text in `messages`, not in `message`', async (target) => {
    const [first] = await feed(target);
    deepEqual(['messages' in first, 'message' in first], [true, false]);
  }),
  rule(FEED, '`order` orders by time', async (target) => {
    const given = times(await feed(target, { order: 'ASC' }));
    deepEqual(
      given,
      [...given].sort((a, b) => a - b),
    );
  }),
  ...(['before', 'after'] as const).map((bound) =>
    rule(FEED, `\`${bound}\` is inclusive`, async (target) => {
      const middle = (await feed(target))[5]?.created_at ?? 0;
      const given = times(await feed(target, { [bound]: middle }));
      ok(given.includes(middle));
      ok(given.every((each) => (bound === 'before' ? each <= middle : each >= middle)));
    }),
  ),
  rule(FEED, '`skip` and `limit` cut a page out of it', async (target) => {
    const all = await feed(target, { order: 'ASC', limit: 6 });
    const page = await feed(target, { order: 'ASC', skip: 2, limit: 4 });
    deepEqual(
      page.map((each) => each.id),
      all.slice(2).map((each) => each.id),
    );
  }),
  rule(FEED, 'only time range, order and pagination are supported: other filters are ignored', async (target) => {
    equal((await feed(target, { type: 'NoSuchType' })).length, (await feed(target)).length);
  }),
];

export const EVENT_RULES: Rule[] = [...LIST_RULES, ...COUNT_RULES, ...FILTERS.flatMap(filterRules), ...FEED_RULES];
