// fidelity: the rule files of a month, real ones, drawn from a few forms: over records, ages, freshness, events, owners and devices of users, signals and
// facts from elsewhere. In: dice. Out: loaded rules; and the sets that people's edits make of them.
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRuleSet } from '../../../src/rules/load/read-rule.ts';
import type { Dice } from '../../harness/dice.ts';
import { ELSEWHERE_FILES } from './month-elsewhere.ts';
import { BUNDLE, TOKENS } from './month-world.ts';

interface Form {
  id: string;
  subject: 'device' | 'user' | 'service';
  when: string;
  then: string;
  /** Another number for the condition, for an edit that changes what it matches. */
  numbers?: readonly (number | string)[];
  more?: string;
}

const LOST = 'declares: { MdmData.Lost: flag }';
const EXPOSED = 'declares: { Exposed: flag }';
const REVOKED = '[session-revoked, credential-change]';

/** `N` stands for the number. */
const FORMS: readonly Form[] = [
  of('ban-compromised', 'device', '{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }', 'ban_device'),
  of('ban-second', 'device', '{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }', 'ban_device'),
  of(
    'ban-low-trust',
    'device',
    '{ "<": [{ var: TrustData.AccessTrustscore }, N] }',
    'ban_device',
    [25, 40, 60],
    FRESH(),
  ),
  of('ban-silent', 'device', '{ ">": [{ age: { var: MdmData.Timestamp } }, N] }', 'ban_device', ['3d', '7d', '12h']),
  of('ban-failing', 'device', `{ ">=": [${events('WARN', 'N')}, 3] }`, 'ban_device', ['2h', '1d', '3d']),
  of('ban-quiet', 'device', '{ ">": [{ since_last_event: { severity: WARN, within: 10d } }, N] }', 'notify', [
    '1d',
    '4d',
  ]),
  of(
    'ban-of-admins',
    'device',
    '{ and: [{ some: [{ var: $owners }, { in_group: N }] }, { "==": [{ var: TrustData.Level }, Low] }] }',
    'ban_device',
    ['admins', 'board'],
  ),
  of('report-idle', 'device', '{ ">=": [{ age: { var: LastLogin } }, N] }', 'notify', ['2d', '5d']),
  of(
    'report-registered',
    'device',
    '{ and: [{ "==": [{ var: RegisteredStatus }, "TRUE"] }, { "<": [{ var: LoginCount }, N] }] }',
    'notify',
    [2, 4],
  ),
  of('delete-lost', 'device', '{ "==": [{ var: MdmData.Lost }, "TRUE"] }', 'delete_device', [], LOST),
  of(
    'report-token',
    'device',
    `{ "==": [{ var: Note.api_token }, ${TOKENS[0]}] }`,
    'notify',
    [],
    'declares: { Note.api_token: text }',
  ),
  of('report-role', 'device', '{ in: [admin, { var: Roles }] }', 'notify'),
  of('unmap-leaver', 'user', '{ "==": [{ var: Leaver }, "TRUE"] }', 'delete_device', [], 'declares: { Leaver: flag }'),
  of(
    'report-many',
    'user',
    '{ ">=": [{ count: [{ var: $devices }, { "==": [{ var: TrustData.Level }, Low] }] }, N] }',
    'notify',
    [1, 2],
    'owners: all',
  ),
  of('report-failing-user', 'user', `{ ">=": [${events('WARN', 'N')}, 3] }`, 'notify', ['6h', '2d']),
  of('disable-failing', 'service', `{ ">=": [${events('ERROR', 'N')}, 3] }`, 'disable_service', ['10m', '6h', '2d']),
  of(
    'bundle-flaky',
    'service',
    `{ ">=": [${events('ERROR', 'N')}, 2] }`,
    `{ action: add_to_bundle, with: { bundle: ${BUNDLE} } }`,
    ['1h', '1d'],
  ),
  of(
    'tighten-exposed',
    'service',
    '{ "==": [{ var: Exposed }, "TRUE"] }',
    '{ action: update_service, with: { patch: { spec: { backend: { tls: true } } } } }',
    [],
    EXPOSED,
  ),
  of('disable-port', 'service', '{ "<": [{ var: Port }, N] }', 'disable_service', [1024, 8000, 30_000]),
];

const LOOKING_BACK: readonly Form[] = [
  of(
    'ban-fallen',
    'device',
    '{ and: [{ changed_within: [TrustData.Level, N] }, { "==": [{ previous: TrustData.Level }, High] }] }',
    'ban_device',
    ['6h', '1d', '3d'],
  ),
  of('report-unmoved', 'device', '{ unchanged_for: [MdmData.CompromisedStatus, N] }', 'notify', ['12h', '2d', '5d']),
  of(
    'report-freed',
    'device',
    '{ and: [{ changed_within: [Banned, N] }, { "==": [{ var: Banned }, "FALSE"] }] }',
    'notify',
    ['1h', '2d'],
  ),
  of('report-moved-user', 'user', '{ changed_within: [Groups, N] }', 'notify', ['6h', '2d']),
];

/** Over signals of two transmitters and two tables of facts. */
const ELSEWHERE: readonly Form[] = [
  of('ban-revoked', 'device', `{ ">=": [{ signal_count: ${signals('idp', REVOKED)} }, 2] }`, 'ban_device', [
    '6h',
    '2d',
  ]),
  of('report-revoked', 'user', `{ ">=": [{ signal_count: ${signals('idp', REVOKED)} }, 2] }`, 'notify', ['1d', '6d']),
  of(
    'ban-detected',
    'device',
    `{ ">=": [{ signal_count: ${signals('edr', '"https://edr.test/detected"', 'where: { ">=": [{ var: level }, 5] }, within: N')} }, 1] }`,
    'ban_device',
    ['12h', '3d'],
  ),
  of(
    'ban-not-compliant',
    'device',
    `{ "==": [{ last_signal: ${signals('edr', 'device-compliance-change', 'of: current_status, within: N')} }, not-compliant] }`,
    'ban_device',
    ['1d', '5d'],
  ),
  of(
    'report-away',
    'user',
    '{ ">": [{ since_last_signal: { transmitter: idp, event: session-established, within: 10d } }, N] }',
    'notify',
    ['1d', '3d'],
  ),
  of('ban-returned', 'device', '{ in: [{ var: $facts.inventory.status }, [lost, N]] }', 'ban_device', [
    'lost',
    'returned',
  ]),
  of('report-unchecked', 'device', '{ ">": [{ age: { var: $facts.inventory.checked } }, N] }', 'notify', ['1d', '4d']),
  of('report-unlisted', 'device', '{ "!": { exists: [$facts, inventory, encrypted] } }', 'notify'),
  of(
    'ban-of-leaving',
    'device',
    '{ some: [{ var: $owners }, { "==": [{ var: $facts.people.state }, leaving] }] }',
    'ban_device',
  ),
  of(
    'report-risk',
    'user',
    `{ and: [{ ">": [{ "??": [{ var: $facts.people.risk }, 3] }, N] }, { ">=": [{ signal_count: ${signals('idp', REVOKED, 'within: 4d')} }, 1] }] }`,
    'notify',
    [2, 6],
  ),
];

function of(
  id: string,
  subject: Form['subject'],
  when: string,
  then: string,
  numbers?: Form['numbers'],
  more?: string,
): Form {
  return { id, subject, when, then, ...(numbers && { numbers }), ...(more !== undefined && { more }) };
}

function events(severity: string, within: string): string {
  return `{ event_count: { severity: ${severity}, within: ${within} } }`;
}

function signals(transmitter: string, event: string, more = 'within: N'): string {
  return `{ transmitter: ${transmitter}, event: ${event}, ${more} }`;
}

function FRESH(): string {
  return 'fresh: { TrustData.UpdatedAt: 4d }';
}

/** Which forms a month has, and how each is set. */
export class MonthRules {
  current: readonly LoadedRule[];
  /** How many sets there were. */
  edits = 0;
  private readonly all: readonly LoadedRule[];

  /** `elsewhere`: draws rules over signals and facts from elsewhere. `past`: those that look back; absent: there are none. */
  constructor(
    private readonly dice: Dice,
    elsewhere: Dice,
    past?: Dice,
  ) {
    const chosen = FORMS.filter(() => dice.chance(0.45));
    const plain = (chosen.length > 1 ? chosen : FORMS.slice(0, 4)).map((form) => draw(form, dice));
    const others = ELSEWHERE.filter(() => elsewhere.chance(0.5)).map((form) => draw(form, elsewhere));
    this.all = [...plain, ...others, ...(past ? LOOKING_BACK.map((form) => draw(form, past)) : [])];
    this.current = this.all;
  }

  /** A rule is set otherwise, taken out, or all are as they were. */
  edit(): void {
    const { dice } = this;
    this.edits += 1;
    if (this.current.length < 2 || dice.chance(0.2)) {
      this.current = this.all;
      return;
    }
    const one = dice.pick(this.current);
    const form = [...FORMS, ...ELSEWHERE, ...LOOKING_BACK].find(({ id }) => id === one.id) as Form;
    const isRemoved = dice.chance(0.25);
    this.current = this.current.flatMap((rule) => (rule !== one ? [rule] : isRemoved ? [] : [draw(form, dice)]));
  }
}

function draw({ id, subject, when, then, numbers = [], more = '' }: Form, dice: Dice): LoadedRule {
  const number = numbers.length > 0 ? String(dice.pick(numbers)) : '';
  const seldom = (texts: readonly string[]) => (dice.chance(0.35) ? dice.pick(texts) : '0s');
  const owners = more.includes('owners:') || subject !== 'device' || dice.chance(0.3) ? '' : 'owners: all';
  const text = `id: ${id}
title: Watches ${id}
severity: high
subject: ${subject}
when: ${when.replaceAll('N', (_, at: number) => (isNumber(when, at) ? number : 'N'))}
then: ${then}
mode: ${dice.weighted({ enforce: 6, approve: 2, 'dry-run': 1 })}
for: ${seldom(['1h', '8h', '2d'])}
clear_for: ${seldom(['1h', '8h', '2d'])}
cooldown: ${seldom(['1h', '1d', '5d'])}
revert: ${dice.chance(0.8)}
limits: ${dice.chance(0.3) ? `{ max: ${dice.whole(1, 3)}, percent: 100 }` : '{ max: 100, percent: 100 }'}
${[more, owners].filter((line) => line !== '').join('\n')}
tests: []
`;
  return loaded(text, `${id}.yaml`);
}

/** A letter that stands alone. */
function isNumber(text: string, at: number): boolean {
  return !/\w/.test(text[at - 1] ?? '') && !/\w/.test(text[at + 1] ?? '');
}

const known = new Map<string, LoadedRule>();

/** Parsed once for equal text. */
function loaded(text: string, file: string): LoadedRule {
  const before = known.get(text);
  if (before) return before;
  const { rules, problems } = parseRuleSet(new Map([[file, text], ...ELSEWHERE_FILES]), { traits: ACTIONS });
  const [rule] = rules;
  if (!rule || problems.length > 0) throw new Error(`${text}\n${JSON.stringify(problems)}`);
  known.set(text, rule);
  return rule;
}
