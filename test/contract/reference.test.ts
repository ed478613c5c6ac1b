// contract: a ticket or change number beside what a person commands: in the audit, in records and lists, found by it, and demanded where it is.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/contract/commands.ts';
import { OPERATIONS } from '../../src/contract/table.ts';
import { type Answered, command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const ASK = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve');
const TICKET = 'CHG-4711';
const WHY = ['--reason', 'seen', '--reference', TICKET];

let org: Organization;
const tw = (...args: string[]): Promise<Answered> => command(args, org.env);
const json = async (...args: string[]) => JSON.parse((await tw(...args, '--format', 'json')).out);

beforeAll(async () => {
  org = await startOrganization({ devices: 20, rules: { ban: ASK } });
  for (const index of [0, 1]) org.console.fleet.addDevice({ serial: `HELD-${index}`, mdm_compromised: 'TRUE' });
  await org.run('enforce');
  await org.composition.close();
});
afterAll(() => org.close());

describe('a reference', () => {
  it('is taken by eleven operations, which say so on the command line', () => {
    const taking = Object.values(OPERATIONS).filter(
      (one) => 'body' in one && 'shape' in one.body && Object.hasOwn(one.body.shape as object, 'reference'),
    );
    expect(taking.map(({ id }) => id)).toEqual([
      ...[
        'approvePlan',
        'rejectPlan',
        'applyPlan',
        'addExemption',
        'grantRequest',
        'refuseRequest',
        'stop',
        'resume',
        'resumeRollout',
        'restartRollout',
        'releaseClaims',
      ],
    ]);
    const flags = (id: keyof typeof OPERATIONS) => COMMANDS[id]?.options?.map(({ flag }) => flag);
    for (const { id } of taking) expect(flags(id), id).toContain('--reference <text>');
  });

  it('is in the audit of all of them, and shown where the reason is', async () => {
    const [{ id: plan }] = (await json('plans', '--status', 'pending')).plans;
    await tw('stop', ...WHY);
    expect((await tw('approve', plan, '--only', 'HELD-0', ...WHY)).code).toBe(0);
    const [{ id: rest }] = (await json('plans', '--status', 'pending')).plans;
    await tw('reject', rest, ...WHY);
    expect((await tw('report')).out).toContain(`(seen [${TICKET}])`); // who stopped everything
    await tw('resume', ...WHY);
    const [{ id: part }] = (await json('plans', '--status', 'approved')).plans;
    expect((await tw('plans', part)).out).toContain(`seen [${TICKET}]`);
    expect((await tw('apply', part, '--reference', TICKET)).code).toBe(0);
    await tw('exempt', 'add', 'HELD-1', '--owner', 'Ana', '--until', '3d', ...WHY);
    expect((await tw('exempt', 'list')).out).toContain(`seen [${TICKET}]`);
    expect((await tw('claims', 'release', 'HELD-0', ...WHY)).code).toBe(0);
    expect((await tw('why', 'HELD-0')).out).toContain(`seen [${TICKET}]`);
    expect((await tw('summary')).out).toContain(`seen [${TICKET}]`);
    const { entries } = await json('audit', 'list', '--reference', TICKET);
    const kinds = new Set<string>(entries.map(({ kind }: { kind: string }) => kind));
    expect([...kinds]).toEqual(expect.arrayContaining(['stop.set', 'plan.approved', 'plan.rejected', 'stop.lifted']));
    expect([...kinds]).toEqual(expect.arrayContaining(['plan.applying', 'exemption.added', 'intent.planned']));
    expect(entries.find(({ kind }: { kind: string }) => kind === 'stop.set').body).toMatchObject({
      ...{ reason: 'seen', reference: TICKET },
    });
    expect((await json('audit', 'list', '--reference', 'CHG-1')).entries).toEqual([]);
    expect((await json('audit', 'verify')).ok).toBe(true);
  });

  it('is refused when it is empty, or longer than 200 characters', async () => {
    for (const reference of ['', ' ', 'x'.repeat(201)])
      expect(await tw('stop', '--reason', 'x', '--reference', reference)).toMatchObject({
        ...{ code: 2, err: expect.stringContaining('--reference must') },
      });
  });

  it('is demanded by TRUSTWARD_REQUIRE_REFERENCE=1, and a wrong value is refused by what reads settings', async () => {
    const strict = { ...org.env, TRUSTWARD_REQUIRE_REFERENCE: '1' };
    expect(await command(['stop', '--reason', 'x'], strict)).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('a reference is required') },
    });
    expect((await command(['stop', ...WHY], strict)).code).toBe(0);
    expect((await command(['exempt', 'end', 'none', '--reason', 'x'], strict)).code).toBe(1);
    const wrong = { ...org.env, TRUSTWARD_REQUIRE_REFERENCE: 'yes' };
    expect(await command(['claims', 'release', 'HELD-0', ...WHY], wrong)).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('TRUSTWARD_REQUIRE_REFERENCE') },
    });
  });
});
