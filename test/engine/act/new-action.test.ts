// test: actions that the product does not have, each as its one file would be, registered by the registry's own function. From the
// rule to the report nothing else has to know of them; and a version without them meets what they left.
import { afterEach, describe, expect, it } from 'vitest';
import type { Action, ReadBack, TargetTraits } from '../../../src/domain/action.ts';
import { type Facts, ownText, ownTexts } from '../../../src/domain/facts.ts';
import type { TargetReads } from '../../../src/domain/ports.ts';
import { flagText } from '../../../src/domain/subjects.ts';
import { SERIAL } from '../../../src/engine/act/actions/targets.ts';
import { ACTIONS, actionsOf } from '../../../src/engine/act/actions.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';
import { reportMarkdown } from '../../support/readable.ts';

/** A pair that undoes itself, on a kind of target that there is, writing a field that no other action writes. */
function ownership(name: string, inverse: string, value: string): Action {
  return {
    name,
    subjects: ['device'],
    target: SERIAL,
    inverse,
    fieldWritten: 'Ownership',
    valueWritten: value.toUpperCase(),
    changesFleet: true,
    refuseSettings: ({ because, ...others }) =>
      Object.keys(others).length === 0 ? undefined : `${name} takes only \`because\``,
    effect: (target) => `make ${target} ${value}`,
    recipients: ({ because }) => (because === undefined ? [] : ['ops']),
    readBack: async (api, target) => {
      const records = await api.devicesOfSerial(target);
      const so = records.every((record) => flagText(record, 'Ownership') === value.toUpperCase());
      return { state: records.length === 0 ? 'absent' : so ? 'as_intended' : 'otherwise', records, evidence: {} };
    },
    perform: (api, target, { records }) =>
      api.updateDevices(
        target,
        records.map((record) => ({ ...record, Ownership: value })),
      ),
  };
}

/** On a kind of target of its own, which nothing undoes. */
const MAILBOX: TargetTraits = {
  noun: 'Mailbox',
  of: ({ id }) => [`mailto:${id}`],
  identity: (target) => ['mailbox', target],
};

const farewell: Action = {
  name: 'farewell_user',
  subjects: ['user'],
  target: MAILBOX,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  unpaged: () => ['users'],
  changesFleet: true,
  refuseSettings: () => undefined,
  effect: (target) => `take the last device of ${target}`,
  readBack: (api, target) => readUser(api, target),
  perform: (api, target, { records: [user] }) =>
    api.deleteDevice(ownTexts(user as Facts, 'SerialNumbers')?.[0] ?? '', addressOf(target)),
};

async function readUser(api: TargetReads, target: string): Promise<ReadBack> {
  const user = await api.user(addressOf(target));
  if (!user) return { state: 'absent', records: [], evidence: {} };
  const state = ownTexts(user, 'SerialNumbers')?.length === 0 ? 'as_intended' : 'otherwise';
  return { state, records: [user], evidence: { Email: ownText(user, 'Email') ?? null } };
}

function addressOf(target: string): string {
  return target.slice('mailto:'.length);
}

const quarantine = ownership('quarantine_device', 'readmit_device', 'Quarantined');
const readmit = ownership('readmit_device', 'quarantine_device', 'Corporate');
const MORE = actionsOf([...ACTIONS.values(), quarantine, readmit, farewell]);

const TROUBLE = '{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }';
const LEFT = '{ "==": [{ var: Name }, "left"] }';

function parse(then: string, subject = 'device', when = TROUBLE) {
  const text = `
id: new
title: A new one
subject: ${subject}
when: ${when}
then: ${then}
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
`;
  return parseRule(text, 'new.yaml', { traits: MORE });
}

function ruleOf(...given: Parameters<typeof parse>): LoadedRule {
  const parsed = parse(...given);
  if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
  return parsed.rule;
}

let on: OnPlatform;
afterEach(() => on.close());

function start(...rules: LoadedRule[]): void {
  on = startOnPlatform({ rules, actions: MORE });
  const take = on.platform.updateDevices.bind(on.platform);
  on.platform.updateDevices = async (serial, devices) => {
    const answer = await take(serial, devices);
    for (const { DeviceID: id, Ownership: made } of answer.kind === 'done' ? devices : [])
      if (typeof id === 'string' && made !== undefined) on.platform.patch(id, { Ownership: made });
    return answer;
  };
}

function ownershipOf(id: string) {
  return on.platform.devices.get(id)?.Ownership;
}

const answersOf = ({ decisions }: Round) =>
  decisions.map(({ action, target, decision, reason }) => `${action} ${target}: ${decision} ${reason}`);

async function reportOf({ run }: Round): Promise<string> {
  return reportMarkdown(await buildReport(on.store, run), { actions: MORE });
}

describe('an action that is registered', () => {
  it('is decided, done, reported, sent to a webhook, and undone when the rule no longer matches', async () => {
    start(ruleOf('{ action: quarantine_device, with: { because: theft } }'));
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    const first = await on.run();
    expect(answersOf(first)).toEqual(['quarantine_device S-d1: act rule_matches']);
    expect(ownershipOf('d1')).toBe('Quarantined');
    expect(await reportOf(first)).toMatch(/Serial number.*\n.*\n.*S-d1/);
    expect((await on.store.outbox().due(on.clock.now, 10)).map(({ to }) => to)).toEqual(['ops']);
    expect(answersOf(await on.run())).toEqual(['quarantine_device S-d1: skip already_so']);
    on.clock.pass(QUIET_MS);
    on.platform.compromised('d1', 'FALSE');
    expect(answersOf(await on.run())).toEqual(['readmit_device S-d1: act cleared']);
    expect(ownershipOf('d1')).toBe('Corporate');
  });

  it('is left alone where a person reversed it, and is released when a person asks for that', async () => {
    start(ruleOf('quarantine_device'));
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.clock.pass(QUIET_MS);
    on.platform.patch('d1', { Ownership: 'Employee Owned' });
    expect(answersOf(await on.run())).toContain('quarantine_device S-d1: skip overridden');
    const released = await releaseClaims(on.engine, 'S-d2', { by: 'ana', reason: 'a mistake' });
    expect(released).toMatchObject([{ action: 'readmit_device', state: 'released' }]);
    expect([ownershipOf('d1'), ownershipOf('d2')]).toEqual(['Employee Owned', 'Corporate']);
  });

  it('with a target of its own kind that nothing undoes waits for a person, by the name that it gives the target', async () => {
    start(ruleOf('farewell_user', 'user', LEFT));
    on.platform.users.set('ann@x.y', { Email: 'ann@x.y', Name: 'left', SerialNumbers: ['S-1'] });
    const held = await on.run();
    expect(answersOf(held)).toEqual(['farewell_user mailto:ann@x.y: hold approval_needed']);
    expect(await reportOf(held)).toMatch(/\| Mailbox \|.*\n.*\n.*mailto/);
    const { intents } = await on.apply(await on.approve(held.plan));
    expect(intents).toMatchObject([{ action: 'farewell_user', outcome: 'succeeded' }]);
    expect(on.platform.sent).toEqual(['delete S-1 ann@x.y']);
  });

  it('is refused where it does not fit: another subject, other settings, a field that it writes itself', () => {
    start();
    const problemsOf = (...given: Parameters<typeof parse>) => {
      const parsed = parse(...given);
      return 'problems' in parsed ? parsed.problems.map(problemLine).join() : '';
    };
    expect(problemsOf('farewell_user')).toContain('acts on a user');
    expect(problemsOf('{ action: quarantine_device, with: { x: 1 } }')).toContain('takes only `because`');
    expect(problemsOf('quarantine_device', 'device', '{ "==": [{ var: Ownership }, "Stolen"] }')).toContain(
      'itself writes',
    );
  });

  it('has a name of its own, and an inverse that names it', () => {
    start();
    expect(() => actionsOf([quarantine, readmit, { ...farewell, name: 'readmit_device' }])).toThrow('one name');
    expect(() => actionsOf([quarantine])).toThrow('`readmit_device` as its inverse');
  });
});

describe('what an action left that this version does not have', () => {
  async function startWithLeftovers(): Promise<void> {
    start(ruleOf('quarantine_device'));
    for (const id of ['d1', 'd2']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    on.platform.answer('S-d2', 'lost');
    await on.run();
    on.engine.actions = ACTIONS;
    on.rules(banRule());
  }

  it('keeps other calls from its target until a person can be asked, and no run from its end', async () => {
    await startWithLeftovers();
    on.clock.pass(1_000);
    const early = await on.run();
    expect(answersOf(early)).toEqual(['ban_device S-d1: act rule_matches', 'ban_device S-d2: skip in_doubt']);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(answersOf(await on.run())).toContain('ban_device S-d2: act rule_matches');
    const [doubt] = await on.store.intents({ outcome: 'parked' });
    expect(doubt).toMatchObject({
      action: 'quarantine_device',
      target: 'S-d2',
      note: expect.stringContaining('no action'),
    });
    const resolved = await resolveIntent(on.engine, doubt?.id ?? '', 'done', { by: 'ana', reason: 'I looked' });
    expect(resolved.outcome).toBe('confirmed');
  });

  it('stays claimed, and is not released without what undoes it', async () => {
    await startWithLeftovers();
    on.clock.pass(QUIET_MS);
    await on.run();
    const claims = (await on.store.claims({})).map(({ action, target, status }) => `${action} ${target} ${status}`);
    expect(claims).toContain('quarantine_device S-d1 orphaned');
    const asked = releaseClaims(
      on.engine,
      { action: 'quarantine_device', target: 'S-d1' },
      { by: 'ana', reason: 'why' },
    );
    await expect(asked).rejects.toThrow('nothing undoes quarantine_device');
  });
});
