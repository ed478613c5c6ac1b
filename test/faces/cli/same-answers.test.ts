// commands: what a person says and reads is the same through the endpoint, through a command with a daemon, and through a command alone.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const APPROVE = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve').replace('ban-compromised', 'ask-compromised');
const LONG = 'x'.repeat(1_001);
const EXEMPT = ['--owner', 'Ana', '--until', '30d', '--unseen'];

let org: Organization;
let plan: string;
let intent: string;
let exemption: string;

beforeAll(async () => {
  org = await startOrganization({ devices: 60, rules: { ban: BAN_COMPROMISED, ask: APPROVE } });
  for (let index = 0; index < 3; index += 1)
    org.console.fleet.addDevice({ serial: `HELD-${index}`, mdm_compromised: 'TRUE' });
  await org.run('enforce');
  const { store } = org.composition.engine;
  plan = (await store.plans({ status: 'pending' }, 1))[0]?.id ?? 'no-plan';
  intent = (await store.intents({}))[0]?.id as string;
  await org.composition.close();
  for (const id of ['one', 'two'])
    await tw('exempt', 'add', 'device', id, ...EXEMPT, '--reason', `travel ${id}`, '--format', 'json');
  exemption = JSON.parse((await tw('exempt', 'list', '--format', 'json')).out).exemptions[0].id;
});
afterAll(() => org.close());

const tw = (...args: string[]) => command(args, org.env);

const MANY = Array.from({ length: 10_001 }, () => 'T');
const APPROVE_MANY = () => ['approve', plan, ...MANY.flatMap((name) => ['--only', name])];

/** Each way to give a reason; `body`: the same for the endpoint. */
const REASONS = (reason: string): [name: string, args: string[], path: string, body: object][] => [
  ['approve', ['approve', plan, '--reason', reason], `plans/${plan}/approve`, { reason }],
  ['reject', ['reject', plan, '--reason', reason], `plans/${plan}/reject`, { reason }],
  ['stop', ['stop', '--reason', reason], 'stop', { reason }],
  ['resume', ['resume', '--reason', reason], 'resume', { reason }],
  ['accept', ['snapshot', 'accept', 'devices', '--reason', reason], 'snapshot/accept', { source: 'devices', reason }],
  [
    'exempt',
    ['exempt', 'add', 'device', 'three', ...EXEMPT, '--reason', reason],
    'exemptions',
    { subject: { kind: 'device', id: 'three' }, owner: 'Ana', until: '30d', unseen: true, reason },
  ],
  ['end', ['exempt', 'end', exemption, '--reason', reason], `exemptions/${exemption}/end`, { reason }],
  [
    'resolve',
    ['intents', 'resolve', intent, '--as', 'done', '--reason', reason],
    `intents/${intent}/resolve`,
    { as: 'done', reason },
  ],
  ['release', ['claims', 'release', 'HELD-0', '--reason', reason], 'claims/release', { target: 'HELD-0', reason }],
  [
    'release of a rule',
    ['claims', 'release', '--rule', 'ban-compromised', '--reason', reason],
    'claims/release',
    { rule: 'ban-compromised', reason },
  ],
];

/** What no endpoint does: these have the database to themselves. */
const ALONE = (reason: string): string[][] => [
  ['history', 'forget', 'HELD-0', '--reason', reason],
  ['audit', 'accept-tables', '--reason', reason],
  ['audit', 'accept-restore', '--reason', reason],
  ['audit', 'new-key', '--reason', reason],
  ['audit', 'archive', '--before', '2020-01-01', '--reason', reason],
];

describe('a reason that is empty, or too long, is refused', () => {
  it('by a command without a daemon', async () => {
    const codes = new Map<string, number>();
    for (const reason of ['', '   ', LONG])
      for (const [name, args] of REASONS(reason)) codes.set(`${name} ${reason.length}`, (await tw(...args)).code);
    expect([...codes].filter(([, code]) => code !== 2)).toEqual([]);
    expect(codes.size).toBe(30);
  });

  it('by a command that has the database to itself', async () => {
    for (const reason of ['', '   ', LONG])
      for (const args of ALONE(reason)) expect(await tw(...args), args.join(' ')).toMatchObject({ code: 2, out: '' });
  });
});

it('a reason is audited without the spaces around it, whichever command it is given to', async () => {
  for (const args of ALONE(' drill \n')) await tw(...args);
  const { entries } = JSON.parse((await tw('audit', 'list', '--format', 'json')).out);
  const reasons = entries.flatMap(({ kind, body }: { kind: string; body: { reason?: string } }) =>
    kind === 'history.forgotten' || kind === 'audit.key_replaced' ? [[kind, body.reason]] : [],
  );
  expect(reasons).toEqual([
    ['audit.key_replaced', 'drill'],
    ['history.forgotten', 'drill'],
  ]);
});

it('another Management API than the database’s is refused also without a daemon, where none would be called', async () => {
  const named = 'https://elsewhere.example.com';
  for (const args of [['stop'], ['resume'], ['snapshot', 'accept', 'devices']])
    expect(await tw(...args, '--reason', 'x', '--api-url', named), args[0]).toEqual({
      code: 2,
      out: '',
      err: `trustward: --api-url is \`${named}\`, and ${org.dbFile} belongs to ${org.console.address}: leave out --api-url, or name another database with --db\n`,
    });
});

it('a part of a plan names at most 10,000 targets without a daemon', async () => {
  expect(await tw(...APPROVE_MANY())).toMatchObject({ code: 2, err: expect.stringContaining('at most 10000') });
});

describe('beside a daemon', () => {
  let daemon: Daemon;
  beforeAll(async () => {
    Object.assign(org.env, {
      TRUSTWARD_TOKEN: 'a-token-of-the-tests',
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_WATCH: '0s',
    });
    await org.restart();
    const { store } = org.composition.engine;
    const completed = async () => (await store.runs(100)).filter(({ status }) => status === 'completed').length;
    const before = await completed();
    daemon = await startDaemon(org.composition);
    await vi.waitUntil(async () => (await completed()) > before, { timeout: 60_000 }); // it begins with a run
  });
  afterAll(() => daemon.stop());

  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${org.env.TRUSTWARD_TOKEN}` };
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${daemon.url}/api/${path}`, { headers, ...sent });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown[]> };
  };

  it('such a reason is refused by the endpoint and by commands as well', async () => {
    const found: string[] = [];
    for (const reason of ['', '   ', LONG])
      for (const [name, args, path, body] of REASONS(reason)) {
        if ((await ask(path, body)).status !== 400) found.push(`endpoint: ${name} ${reason.length}`);
        if ((await tw(...args)).code !== 2) found.push(`command: ${name} ${reason.length}`);
      }
    expect(found).toEqual([]);
  });

  it('another Management API than the daemon’s is refused, and nothing is done; the daemon’s own may be named', async () => {
    const named = 'https://elsewhere.example.com';
    const err = `trustward: --api-url is \`${named}\`, and the daemon at ${daemon.url} on \`${org.dbFile}\` uses the Management API at ${org.console.address}: leave out --api-url, or name another database with --db\n`;
    const before = (await ask('audit')).body.head;
    const explain = ['explain', 'ban-compromised-device', 'HELD-0'];
    for (const args of [['stop', '--reason', 'x'], ['run'], ['reject', plan], explain])
      expect(await tw(...args, '--api-url', named), args[0]).toEqual({ code: 2, out: '', err });
    expect((await ask('audit')).body.head).toEqual(before);
    expect(await tw(...explain, '--api-url', `${org.console.address}/`)).toMatchObject({ code: 0, err: '' });
  });

  it('a part of a plan names at most 10,000 targets, whichever way it is asked for', async () => {
    expect(await ask(`plans/${plan}/approve`, { only: MANY })).toMatchObject({ status: 400 });
    expect(await tw(...APPROVE_MANY())).toMatchObject({ code: 2 });
  });

  it.each([
    ['claims', 'claims list', 'claims?status=open&limit=1000'],
    ['claims', 'claims list --all', 'claims?limit=1000'],
    ['claims', 'claims list --limit 2', 'claims?status=open&limit=2'],
    ['exemptions', 'exempt list', 'exemptions?inForce=true&limit=1000'],
    ['exemptions', 'exempt list --all --limit 1', 'exemptions?limit=1'],
  ])('%s are the same by `%s` and from `/api/%s`', async (key, list, path) => {
    const { out } = await tw(...list.split(' '), '--format', 'json');
    const { body } = await ask(path);
    expect(JSON.parse(out)).toEqual(body);
    expect(body[key]?.length).toBeGreaterThan(0);
  });

  it('a page of a list is continued by its `next`', async () => {
    const all = JSON.parse((await tw('claims', 'list', '--format', 'json')).out).total;
    const ids: string[] = [];
    for (let before: string[] = []; ids.length <= all; ) {
      const page = JSON.parse((await tw('claims', 'list', '--limit', '2', '--format', 'json', ...before)).out);
      ids.push(...page.claims.map(({ id }: { id: string }) => id));
      if (page.next === null) break;
      before = ['--before', page.next];
    }
    expect([ids.length, new Set(ids).size]).toEqual([all, all]);
    const text = (await tw('claims', 'list', '--limit', '2')).out;
    expect(text).toContain(`2 of ${all}; the next ones: --before `);
  });
});
