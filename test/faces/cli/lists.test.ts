// commands: TRUSTWARD_API_LISTS=v2, where people look: the rules that lose facts are named, and so is the version; version 1 shows nothing of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const HASTY =
  'rule `ban-compromised-device` undoes what it did with `clear_for: 0s`: one report that is wrong is enough; write at least `clear_for: 30m`';
const LINE =
  'rule `ban-compromised-device` reads `MdmData.CompromisedStatus`, which v2 lists do not have: it is unknown for every device';
const KNOWN = `
id: banned-by-hand
subject: device
severity: low
when: { "==": [{ var: Banned }, "TRUE"] }
then: notify
tests:
  - { name: banned, given: { Banned: "TRUE" }, expect: match }
`;

let org: Organization;
beforeAll(async () => {
  const env = { TRUSTWARD_API_LISTS: 'v2', TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' };
  org = await startOrganization({ devices: 30, rules: { ban: BAN_COMPROMISED, known: KNOWN }, env });
});
afterAll(() => org.close());

const ask = (lists: string, ...args: string[]) => command(args, { ...org.env, TRUSTWARD_API_LISTS: lists });

describe('with v2 lists', () => {
  it('`rules check` names the rules that lose facts, and no others', async () => {
    expect(await ask('v2', 'rules', 'check')).toEqual({
      code: 0,
      err: '',
      out: `2 rules can be loaded\n${LINE}\n${HASTY}\n`,
    });
    expect(JSON.parse((await ask('v2', 'rules', 'check', '--format', 'json')).out)).toEqual({
      ok: true,
      rules: ['ban-compromised-device', 'banned-by-hand'],
      lists: 'v2',
      lost: [{ rule: 'ban-compromised-device', subject: 'device', facts: ['MdmData.CompromisedStatus'] }],
      clearForBelow30m: ['ban-compromised-device'],
    });
  });

  it('`rules check` names none with version 1, and refuses another version', async () => {
    expect(await ask('v1', 'rules', 'check')).toEqual({ code: 0, err: '', out: `2 rules can be loaded\n${HASTY}\n` });
    const { code, err } = await ask('3', 'rules', 'check');
    expect([code, err]).toEqual([2, expect.stringContaining('TRUSTWARD_API_LISTS is `3`: expected v1, v2')]);
  });

  it('`doctor` names the version and warns of each rule', async () => {
    const doctor = async (lists: string) =>
      (JSON.parse((await ask(lists, 'doctor', '--format', 'json')).out).checks as { name: string; text: string }[])
        .filter(({ name }) => name === 'lists')
        .map(({ text }) => text);
    expect(await doctor('v2')).toEqual([
      'devices and users are read from lists of version 2 (TRUSTWARD_API_LISTS)',
      LINE,
    ]);
    expect(await doctor('v1')).toEqual([]);
  });

  it('`facts` marks what they lack', async () => {
    const facts = async (lists: string) => (await ask(lists, 'facts', 'device', '--no-sample')).out;
    expect(await facts('v2')).toMatch(/MdmData\.CompromisedStatus +flag \(TRUE, FALSE, not in v2\)/);
    expect(await facts('v2')).toMatch(/Banned +flag \(TRUE, FALSE\)/);
    expect(await facts('v1')).not.toContain('not in v2');
  });

  it('a report says how to get the fact, `explain` why it is unknown, and `/readyz` how many rules lose some', async () => {
    await org.run('dry-run');
    const report = JSON.parse((await ask('v2', 'report', '--format', 'json')).out);
    expect(report.snapshot.sources.devices).toMatchObject({ lists: 'v2', form: 'paged' });
    const rule = report.rules.find(({ id }: { id: string }) => id === 'ban-compromised-device');
    expect(JSON.stringify(rule)).toContain('set TRUSTWARD_API_LISTS=v1 if the server has the lists of version 1');
    expect((await ask('v2', 'report')).out).toContain('paged (v2 list)');
    const serial = org.console.fleet.addDevice({ serial: 'ASKED', mdm_compromised: 'TRUE' }) && 'ASKED';
    const explained = await ask('v2', 'explain', 'ban-compromised-device', serial);
    expect(explained.out).toContain('`MdmData.CompromisedStatus` is not in v2 lists');
    const daemon = await startDaemon(org.composition);
    const ready = (await (await fetch(`${daemon.url}/readyz`)).json()) as { checks: { name: string; text: string }[] };
    await daemon.stop();
    expect(ready.checks.find(({ name }) => name === 'lists')?.text).toBe(
      'devices and users are read from lists of version 2; rules that lose facts: 1 of 2',
    );
  });
});
