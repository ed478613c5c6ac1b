// commands: plans as people list, read, approve in part and apply them, and the release of a rule: by itself and through a daemon.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { views } from '../../../src/faces/report/index.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { type Answered, command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const APPROVE = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve');
const SERIALS = ['HELD-1', 'HELD-2', 'HELD-3'];
let org: Organization;

async function start(rule: string): Promise<string> {
  org = await startOrganization({ devices: 60, rules: { ban: rule } });
  for (const serial of SERIALS) {
    const owner = `${serial}@acme.example`.toLowerCase();
    org.console.fleet.addUser(owner, serial);
    org.console.fleet.addDevice({ serial, friendly_name: `Laptop ${serial}`, mdm_compromised: 'TRUE' }, [owner]);
  }
  return (await org.run('enforce')).run.planId ?? '';
}

/** Without an engine of ours: the command is the writer. */
const tw = (...args: string[]): Promise<Answered> => command(args, org.env);
const answering = (answer: string, asked: string[] = []) => ({
  asked,
  ask: async (question: string) => {
    asked.push(question);
    return answer;
  },
});
const jsonOf = ({ out }: Answered) => JSON.parse(out);

afterEach(() => org.close());

describe('a plan that waits', () => {
  let plan: string;
  beforeEach(async () => {
    plan = await start(APPROVE);
    await org.composition.close();
  });

  it('is listed first, and shown with its actions, its end and the commands', async () => {
    const list = await tw('plans');
    expect(list.out).toContain(plan);
    expect(list.out).toMatch(/ Ban 3 devices .* ban-compromised-device /);
    expect(list.out).toMatch(/expires in 23h 59m/);
    const { out, code } = await tw('plans', plan.slice(0, 20));
    expect(code).toBe(0);
    expect(out).toContain(`Plan ${plan} is pending: 3 actions, of a live run, of run 1, made `);
    for (const serial of SERIALS)
      expect(out).toMatch(new RegExp(`${serial}\\b[^]*Laptop ${serial}\\b[^]*owner ${serial.toLowerCase()}@acme`));
    expect(out).toContain('the rule has mode `approve`');
    expect(out).toContain('Approving it allows exactly these actions.');
    for (const verb of ['approve', 'reject'])
      expect(out).toMatch(new RegExp(`\n  trustward ${verb} ${plan} --digest [0-9a-f]{16}\n`));
  });

  it('says whose yes it needs before anybody has said it, and refuses the shell for rules with owners', async () => {
    writeFileSync(join(org.rulesDir, 'guards.yaml'), 'owners: [{ folder: ., groups: [endpoint-team] }]\n');
    writeFileSync(join(org.rulesDir, 'approvals.yaml'), 'approvals: [{ people: 2 }]\n');
    const { out } = await tw('plans', plan);
    const text = out.replace(/\s+/g, ' ');
    expect(text).toContain('It needs 2 yeses, and one yes of endpoint-team (owners of `.`); nobody has said yes.');
    expect(text).toContain('With the yes that it needs, it allows exactly these actions.');
    const { code, err } = await tw('approve', plan, '--yes');
    expect([code, err]).toEqual([1, expect.stringContaining('is of the folder `.`, which belongs to endpoint-team')]);
    const asked = ['exempt', 'add', 'device', 'HELD-1', '--owner', 'x', '--reason', 'x', '--until', '1d'];
    expect((await tw(...asked)).err).toContain('an exemption is from all rules: rule `ban-compromised-device`');
  });

  it('is JSON as from the endpoint', async () => {
    const stored = await openedPlan(plan);
    expect(jsonOf(await tw('plans', plan, '--format', 'json'))).toEqual(stored);
    expect(jsonOf(await tw('plans', '--format', 'json'))).toEqual({ plans: [{ ...stored, revisions: null }] });
    expect(jsonOf(await tw('plans', '--status', 'applied', '--format', 'json'))).toEqual({ plans: [] });
    expect(jsonOf(await tw('plans', '--status', 'waiting', '--format', 'json'))).toMatchObject({
      plans: [{ id: plan }],
    });
    expect(await tw('plans', '--status', 'open')).toMatchObject({
      code: 2,
      err: expect.stringContaining('expected pending'),
    });
    expect(await tw('plans', 'zz')).toMatchObject({ code: 1, err: expect.stringContaining('there is no plan `zz`') });
  });

  it('is approved in part, and waits on with the rest', async () => {
    const approved = await tw('approve', plan, '--only', 'held-1', '--reason', 'checked');
    expect(approved).toMatchObject({ code: 0, err: '' });
    const [, rest, part] =
      /^plan (\S+) has the rest and waits: 2 actions\nplan (\S+) is approved: 1 action\n/.exec(approved.out) ?? [];
    expect(rest).toBe(plan);
    expect(await tw('apply', part as string)).toMatchObject({
      code: 0,
      out: expect.stringContaining('ban_device HELD-1: succeeded'),
    });
    const list = jsonOf(await tw('plans', '--format', 'json')) as { plans: { id: string; status: string }[] };
    expect(list.plans.map(({ id, status }) => [id, status])).toEqual(
      expect.arrayContaining([
        [plan, 'pending'],
        [part, 'applied'],
      ]),
    );
    expect(list.plans[0]?.id).toBe(plan);
    const shown = (await tw('plans', plan)).out.replace(/\s+/g, ' ');
    expect(shown).toContain('; since it was made, 1 left.');
    expect(shown).toContain(`Left: ban_device HELD-1: it is approved in plan ${part}.`);
    expect((await tw('report', '1')).out.replace(/\s+/g, ' ')).toContain(
      'It has changed since this run (1 left): it has 2 actions',
    );
    expect(await tw('approve', plan, '--except', 'HELD-9')).toMatchObject({ code: 2 });
  });

  it('is not answered by its id alone after something joined it, and with its digest as far as it was read', async () => {
    const digest = jsonDigest(await tw('plans', plan, '--format', 'json'));
    org.console.fleet.addDevice({ serial: 'HELD-4', mdm_compromised: 'TRUE' });
    await org.restart();
    await org.run('enforce');
    await org.composition.close();
    const refused = await tw('approve', plan);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('(1 joined): read it, and give the digest'),
    });
    expect(await tw('approve', plan, '--digest', '12')).toMatchObject({
      code: 2,
      err: expect.stringContaining('16 to 64'),
    });
    expect((await tw('plans', plan)).out.replace(/\s+/g, ' ')).toContain('carried on once, last by run 2 at');
    const approved = await tw('approve', plan, '--digest', digest.slice(0, 16), '--except', 'HELD-3');
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining(`plan ${plan} has the rest and waits: 2`) });
    const rejected = await tw('reject', plan, '--digest', digest);
    expect(rejected.out).toContain(`plan ${plan} has the rest and waits: 1 action\n`);
    expect(rejected.out).toMatch(/\n {2}ban_device HELD-1: not answered, it is approved in plan \S+\n/);
  });

  it('is approved in part by the address of an owner, and not by a name that a user chose', async () => {
    const refused = await tw('approve', plan, '--except', 'laptop held-2');
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('give its serial number `HELD-2`') });
    const approved = await tw('approve', plan, '--except', 'HELD-2@Acme.example', '--rule', 'ban-compromised-device');
    const [, rest, part] =
      /^plan (\S+) has the rest and waits: 1 action\nplan (\S+) is approved: 2 actions\n/.exec(approved.out) ?? [];
    const applied = (await tw('apply', part as string)).out;
    expect(applied).toContain('ban_device HELD-1: succeeded');
    expect(applied).not.toContain('HELD-2');
    expect((await tw('plans', rest as string)).out).toContain('owner held-2@acme.example');
  });

  it('is counted by rule and action, and its targets are named, before a person at a terminal is asked', async () => {
    const no = answering('');
    const declined = await command(['approve', plan, '--except', 'HELD-3'], org.env, no);
    expect(declined).toMatchObject({ code: 3, out: '' });
    const named = (nth: number) =>
      expect.stringMatching(`^    ban_device HELD-${nth}: Laptop HELD-${nth}, .*@acme.example`);
    const [head, count, ...rest] = declined.err.split('\n');
    expect([head, count]).toEqual([`plan ${plan}: 2 of 3 actions`, '  ban-compromised-device: 2 ban_device']);
    expect(rest.toSorted()).toEqual(['', named(1), named(2), 'nothing is approved: the plan waits on']);
    expect(no.asked).toEqual(['approve? [y/N] ']);
    expect((await openedPlan(plan)).status).toBe('pending');
    const yes = await command(['approve', plan, '--yes'], org.env, answering('n'));
    expect(yes).toMatchObject({ code: 0, out: expect.stringContaining(`plan ${plan} is approved`), err: '' });
    expect(await command(['approve', plan], org.env, answering('y'))).toMatchObject({ code: 1 });
  });

  it('is approved when the person says yes', async () => {
    const yes = await command(['approve', plan], org.env, answering('y'));
    expect(yes).toMatchObject({ code: 0, out: expect.stringContaining(`plan ${plan} is approved`) });
  });
});

describe('a release of a rule', () => {
  beforeEach(async () => {
    await start(BAN_COMPROMISED);
    await org.composition.close();
  });

  it('is a plan that says how many still match, and is approved and applied', async () => {
    const planned = await tw('claims', 'release', '--rule', 'ban-compromised-device', '--reason', 'false alarm');
    expect(planned).toMatchObject({ code: 0, err: '' });
    expect(planned.out).toContain('undoes what rule ban-compromised-device did to 3 targets, and waits:');
    expect(planned.out).toContain('3 of them still match rule ban-compromised-device: they are not acted on again');
    const plan = /^plan (\S+)/.exec(planned.out)?.[1] as string;
    expect((await tw('plans', plan)).out).toContain('undoes what rule ban-compromised-device did');
    await tw('approve', plan);
    const applied = await tw('apply', plan);
    expect(applied).toMatchObject({ code: 0, out: expect.stringContaining('unban_device HELD-1: succeeded') });
    expect(org.effects('device_unbanned')).toHaveLength(3);
    expect((await tw('claims', 'list')).out).toBe('no claims\n');
  });

  it('needs a target or a rule, and a reason with a target', async () => {
    for (const args of [['--reason', 'x'], ['HELD-1', '--rule', 'r'], ['HELD-1']])
      expect(await tw('claims', 'release', ...args)).toMatchObject({ code: 2 });
    expect(await tw('claims', 'release', '--rule', 'none')).toMatchObject({
      code: 1,
      err: 'trustward: rule `none` has nothing in force: `claims list` shows the rules that have\n',
    });
  });
});

describe('through a daemon', () => {
  let daemon: Daemon;
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${org.env.TRUSTWARD_TOKEN}` };
    const answer = await fetch(`${daemon.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as AnsweredShown };
  };

  async function startWith(rule: string): Promise<string> {
    const plan = await start(rule);
    Object.assign(org.env, {
      TRUSTWARD_TOKEN: 'a-token-of-the-tests',
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    });
    await org.restart();
    daemon = await startDaemon(org.composition);
    return plan;
  }
  afterEach(() => daemon.stop());

  it('whose yes a plan needs is what the daemon says, whichever rules are named here', async () => {
    const plan = await startWith(APPROVE);
    const other = mkdtempSync(join(org.dir, 'other-'));
    for (const [folder, people] of [
      [org.rulesDir, 2],
      [other, 3],
    ] as const) {
      writeFileSync(join(folder, 'ban.yaml'), APPROVE);
      writeFileSync(join(folder, 'approvals.yaml'), `approvals: [{ people: ${people} }]\n`);
    }
    await org.composition.rules.reload(async () => {});
    const there = { ...org.env, TRUSTWARD_RULES: other };
    expect((await command(['plans', plan], there)).out).toContain('It needs 2 yeses; nobody');
    for (const args of [['plans', plan], ['plans']])
      expect((await command([...args, '--format', 'json'], there)).out).toContain('"needs": "2 yeses');
  });

  it('a part is approved and applied at once, and the rest waits', async () => {
    const plan = await startWith(APPROVE);
    const { status, body } = await post(`/api/plans/${plan}/approve`, { only: ['HELD-2'], reason: 'checked' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'applied',
      decidedReason: 'checked',
      rest: { status: 'pending', intents: [{}, {}] },
      applied: { intents: [{ target: 'HELD-2', outcome: 'succeeded' }], refused: [] },
    });
    expect(body.rest.id).toBe(plan);
    expect(await post(`/api/plans/${plan}/approve`, { rules: ['none'] })).toMatchObject({ status: 400 });
    const approved = await tw('approve', body.rest.id, '--only', 'HELD-1');
    expect(approved.out).toContain('ban_device HELD-1: succeeded');
    expect(org.effects('device_banned')).toHaveLength(2);
  });

  it('the release of a rule is planned, and applied with its approval', async () => {
    await startWith(BAN_COMPROMISED);
    const { status, body } = await post('/api/claims/release', { rule: 'ban-compromised-device' });
    expect([status, body]).toMatchObject([
      200,
      { kept: [], matching: 3, plan: { status: 'pending', releases: 'ban-compromised-device' } },
    ]);
    expect((await tw('claims', 'release', '--rule', 'ban-compromised-device')).out).toContain(`plan ${body.plan.id} `);
    const approved = await post(`/api/plans/${body.plan.id}/approve`, {});
    expect(approved.body).toMatchObject({ status: 'applied', applied: { refused: [], needless: [] } });
    expect(org.effects('device_unbanned')).toHaveLength(3);
  });
});

const jsonDigest = ({ out }: { out: string }): string => JSON.parse(out).digest;

/** What the tests read by name. */
interface AnsweredShown {
  rest: { id: string };
  plan: { id: string };
}

/** As the endpoint shows it, read from the file. */
async function openedPlan(id: string): Promise<ReturnType<typeof views.plan>> {
  await org.restart();
  try {
    const plan = await org.composition.engine.store.plan(id);
    if (!plan) throw new Error('there is no such plan');
    return JSON.parse(JSON.stringify(views.plan(plan, [], null, undefined, [])));
  } finally {
    await org.composition.close();
  }
}
