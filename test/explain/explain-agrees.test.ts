// test: `explain` held against whole runs: of every match that a run decided about, right after it, explain says the same.
import { afterEach, describe, expect, it } from 'vitest';
import { explainSubject } from '../../src/explain/explain-subject.ts';
import { stopEverything } from '../../src/operator/commands.ts';
import { exempt } from '../../src/operator/exempt.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../support/organization.ts';

const WIDE = 'limits: { max: 1000, percent: 100 }';
const rule = (id: string, more: string) => `id: ${id}\ntitle: ${id}\nseverity: high\nmode: enforce\n${more}\n`;

const RULES = {
  ban: `${BAN_COMPROMISED}${WIDE}\n`,
  narrow: rule(
    'ban-named',
    'subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "NAMED"] }\nthen: ban_device\nlimits: { max: 2 }',
  ),
  late: rule(
    'ban-later',
    `subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "LATER"] }\nthen: [ban_device, notify]\nfor: 1h\n${WIDE}`,
  ),
  failing: DISABLE_FAILING,
  up: rule(
    'enable-named',
    `subject: service\nwhen: { "==": [{ var: ServiceName }, "rival"] }\nthen: enable_service\n${WIDE}`,
  ),
  down: rule(
    'disable-named',
    `subject: service\nwhen: { starts_with: [{ var: ServiceName }, "rival"] }\nthen: disable_service\n${WIDE}`,
  ),
  people: rule('tell-people', `subject: user\nwhen: { starts_with: [{ var: Email }, "kim"] }\nthen: notify\n${WIDE}`),
  gone: rule(
    'delete-named',
    `subject: device\nwhen: { starts_with: [{ var: SerialNumber }, "GONE"] }\nthen: delete_device\n${WIDE}`,
  ),
};

let org: Organization;
afterEach(() => org.close());

async function arrange(env: Record<string, string> = {}): Promise<void> {
  org = await startOrganization({ devices: 60, rules: RULES, env });
  const { fleet } = org.console;
  for (const name of ['kim', 'kim.two', 'lee']) fleet.addUser(`${name}@acme.example`);
  for (const serial of ['A-1', 'A-2', 'A-3']) fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
  for (const serial of ['B-1', 'B-2']) fleet.addDevice({ serial, mdm_compromised: 'TRUE' }, ['kim@acme.example']);
  for (const serial of ['NAMED-1', 'NAMED-2', 'NAMED-3', 'LATER-1', 'GONE-1']) fleet.addDevice({ serial });
  fleet.addDevice({ serial: 'NAMED-4', mdm_compromised: 'TRUE', banned: 'TRUE' });
  fleet.addDevice({ serial: 'None', mdm_compromised: 'TRUE' });
  fleet.addDevice({ serial: 'GONE-2', mdm_compromised: 'TRUE' });
  for (const platform of ['Windows', 'macOS'])
    fleet.addDevice({ serial: 'SHARED-1', mdm_compromised: 'TRUE', platform });
  fleet.addService('rival', 'eu-1');
  fleet.addService('rival-two', 'eu-1');
  const serviceId = fleet.addService('payroll', 'eu-1');
  for (let index = 0; index < 6; index += 1)
    fleet.addEvent({ type: 'Service', subType: 'Access', action: 'Denied', severity: 'ERROR', serviceId });
}

/** What the last run says and what explain says, a line for each decision; in order, so that they can be compared. */
async function both(
  mode: 'dry-run' | 'enforce',
): Promise<{ ran: string[]; explained: string[]; reasons: Set<string> }> {
  const { decisions } = await org.run(mode);
  const line = (
    about: string,
    one: { action: string; target: string; decision: string; reason: string; reasonText: string },
  ) => `${about}: ${one.action} ${one.target}: ${one.decision} (${one.reason}) ${one.reasonText}`;
  const subjects = new Map(decisions.map(({ rule, subject }) => [`${rule} ${subject.id}`, { rule, id: subject.id }]));
  const explained: string[] = [];
  for (const [about, { rule, id }] of subjects) {
    const found = await explainSubject(org.composition.explaining(), rule, id);
    explained.push(...found.decisions.map((one) => line(about, one)));
  }
  const ran = decisions.map((one) => line(`${one.rule} ${one.subject.id}`, one));
  return { ran: ran.sort(), explained: explained.sort(), reasons: new Set(decisions.map(({ reason }) => reason)) };
}

describe('explain, asked right after a dry run', () => {
  it('says something else than the run of any match', async () => {
    await arrange();
    const { ran, explained, reasons } = await both('dry-run');
    expect(explained).toEqual(ran);
    expect([...reasons].sort()).toEqual([
      'already_so',
      'approval_needed',
      'conflict',
      'for_not_reached',
      'impossible_target',
      'limits',
      'other_first',
      'owners',
      'rule_matches',
      'serial_shared',
    ]);
  });

  it('says something else under a ceiling, an exemption, and a stop', async () => {
    await arrange({ TRUSTWARD_CEILING_RUN: '1,0%' });
    const { engine } = org.composition;
    const operator = { by: 'someone', reason: 'a test' };
    await exempt(
      engine,
      {
        selector: { field: 'SerialNumber', value: 'A-1' },
        owner: 'kim',
        reason: 'a test',
        until: '1d',
        release: false,
      },
      'someone',
    );
    const capped = await both('dry-run');
    expect(capped.explained).toEqual(capped.ran);
    expect([...capped.reasons]).toEqual(expect.arrayContaining(['ceiling', 'exempt']));
    await stopEverything(engine, operator);
    const stopped = await both('dry-run');
    expect(stopped.explained).toEqual(stopped.ran);
    expect([...stopped.reasons]).toContain('stopped');
  });

  it('says something else once a part was acted on', async () => {
    await arrange();
    await org.run('enforce');
    const { ran, explained, reasons } = await both('dry-run');
    expect(explained).toEqual(ran);
    expect([...reasons]).toEqual(expect.arrayContaining(['already_so', 'limits', 'conflict']));
  });
});
