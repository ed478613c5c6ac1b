// test: `explain` held against whole runs, right after them: it gives back what the run recorded about every match, and where
// deciding the one subject says something else, the run's reason is among the checks that it names as not asked.
import { afterEach, describe, expect, it } from 'vitest';
import type { StoredDecision } from '../../../src/domain/decision.ts';
import { explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

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

interface Agreement {
  /** What the last run decided, and what explain says that it recorded: a line for each, in order. */
  ran: string[];
  recorded: string[];
  reasons: Set<string>;
  /** Reasons of the run that deciding one subject did not find. */
  unasked: Set<string>;
}

async function agreement(mode: 'dry-run' | 'enforce'): Promise<Agreement> {
  const { run, decisions } = await org.run(mode);
  const subjects = new Map(decisions.map(({ rule, subject }) => [`${rule} ${subject.id}`, { rule, id: subject.id }]));
  const recorded: StoredDecision[] = [];
  const unasked = new Set<string>();
  for (const { rule, id } of subjects.values()) {
    const found = await explainSubject(org.composition.explaining(), rule, id);
    expect(found.basis.run).toMatchObject({ id: run.id, seq: run.seq, mode });
    recorded.push(...found.recorded.decisions);
    const others = found.recorded.decisions.filter((was) => !found.decisions.some((now) => isSame(now, was)));
    expect(found.recorded.differs, `${rule} ${id}`).toBe(others.length > 0);
    for (const { action, target, reason } of others) {
      const now = found.decisions.find((one) => one.action === action && one.target === target);
      expect(now?.notAsked, `${rule} ${target}: ${now?.reason}, ran: ${reason}`).toContain(reason);
      unasked.add(reason);
    }
  }
  const line = ({ id, rule, target, decision, reason, reasonText }: StoredDecision) =>
    `${id} ${rule} ${target}: ${decision} (${reason}) ${reasonText}`;
  return {
    ran: decisions.map(line).sort(),
    recorded: recorded.map(line).sort(),
    reasons: new Set(decisions.map(({ reason }) => reason)),
    unasked,
  };
}

type Answer = Pick<StoredDecision, 'action' | 'target' | 'decision' | 'reason'>;

function isSame(a: Answer, b: Answer): boolean {
  return a.action === b.action && a.target === b.target && a.decision === b.decision && a.reason === b.reason;
}

describe('explain, asked right after a run', () => {
  it('names every check that it cannot ask of one subject, and gives what the run recorded', async () => {
    await arrange();
    const { ran, recorded, reasons, unasked } = await agreement('dry-run');
    expect(recorded).toEqual(ran);
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
    expect([...unasked].sort()).toEqual(['limits', 'owners']);
  });

  it('does so under a ceiling, an exemption, and a stop', async () => {
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
    const capped = await agreement('dry-run');
    expect(capped.recorded).toEqual(capped.ran);
    expect([...capped.reasons]).toEqual(expect.arrayContaining(['ceiling', 'exempt']));
    expect([...capped.unasked].sort()).toEqual(['ceiling', 'limits', 'owners']);
    await stopEverything(engine, operator);
    const stopped = await agreement('dry-run');
    expect(stopped.recorded).toEqual(stopped.ran);
    expect([...stopped.reasons]).toContain('stopped');
  });

  it('does so where decisions of an earlier run are unchanged after a part was acted on', async () => {
    await arrange();
    await org.run('enforce');
    const { ran, recorded, reasons } = await agreement('dry-run');
    expect(recorded).toEqual(ran);
    expect([...reasons]).toEqual(expect.arrayContaining(['already_so', 'limits', 'conflict']));
  });
});
