// test: action traits and small makers for tests of evaluate/, so that these need no other stage.
import type { ActionTraits } from '../../src/domain/action.ts';
import type { TrustEvent } from '../../src/domain/event.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { signalEventOf } from '../../src/domain/signal.ts';
import type { SubjectKind } from '../../src/domain/subjects.ts';
import type { JudgeContext, VerdictName } from '../../src/domain/verdict.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import type { KnownTransmitter } from '../../src/rules/record-types/signal-types.ts';

export const NOW_MS = 1_768_478_400_000;

function trait(name: ActionTraits['name'], subjects: SubjectKind[], fieldWritten?: string): ActionTraits {
  return {
    name,
    subjects,
    target: { of: ({ id }) => [id], identity: (target) => [name, target] },
    inverse: undefined,
    fieldWritten,
    valueWritten: undefined,
    changesFleet: name !== 'notify',
    ...(fieldWritten !== 'Enabled' && name !== 'notify' && { takesDevice: true }),
    refuseSettings: (settings) => (Object.keys(settings).length > 0 ? `${name} takes no settings` : undefined),
    effect: () => '',
  };
}

export const TRAITS: ReadonlyMap<string, ActionTraits> = new Map(
  [
    trait('ban_device', ['device'], 'Banned'),
    trait('delete_device', ['device', 'user']),
    trait('disable_service', ['service'], 'Enabled'),
    trait('notify', ['device', 'user', 'service']),
  ].map((each) => [each.name, each]),
);

/** As `signals.yaml` has it: `okta` sends some events of the standards and one of its own. */
export const TRANSMITTERS: readonly KnownTransmitter[] = [
  {
    name: 'okta',
    events: [
      ...['session-revoked', 'credential-change', 'device-compliance-change'].map(typeOf),
      'https://okta.example/risk',
    ],
    heartbeatMs: 300_000,
    members: { 'https://okta.example/risk': { score: 'number', seen: 'time_s' } },
  },
];

function typeOf(event: string): string {
  return signalEventOf(event) as string;
}

/** A rule of this condition; throws with all problems when it is refused. */
export function ruleOf(when: unknown, more: Record<string, unknown> = {}, subject: SubjectKind = 'device'): LoadedRule {
  const text = JSON.stringify({ id: 'a-rule', subject, when, then: 'notify', ...more }, (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
  const parsed = parseRule(text, 'a-rule.json', { traits: TRAITS, transmitters: TRANSMITTERS });
  if ('problems' in parsed) throw new Error(parsed.problems.map(problemLine).join('\n'));
  return parsed.rule;
}

/** What is wrong with a rule of this condition, as lines; empty when nothing is. */
export function problemsOf(
  when: unknown,
  more: Record<string, unknown> = {},
  subject: SubjectKind = 'device',
): string[] {
  const text = JSON.stringify({ id: 'a-rule', subject, when, then: 'notify', ...more });
  const parsed = parseRule(text, 'a-rule.json', { traits: TRAITS, transmitters: TRANSMITTERS });
  return 'problems' in parsed ? parsed.problems.map(problemLine) : [];
}

export function contextOf(more: Partial<JudgeContext> = {}): JudgeContext {
  return {
    nowMs: NOW_MS,
    joins: { users: new Map(), devices: new Map() },
    coverage: [{ fromMs: 0, toMs: NOW_MS }],
    unavailable: new Set(),
    isOpen: () => false,
    ...more,
  };
}

/** The verdict of one rule on one record. */
export function verdictOf(
  rule: LoadedRule,
  record: Facts,
  context = contextOf(),
  events: TrustEvent[] = [],
): VerdictName {
  const evaluator = compileRules([rule]);
  evaluator.observe(events);
  const judge = evaluator.judge(rule.subject, context);
  judge.accept(record);
  const tally = judge.finish().tallies[0];
  return (['match', 'no_match', 'unknown', 'error'] as const).find((name) => tally?.[name] === 1) ?? 'error';
}

export function eventOf(id: string, createdAtMs: number, more: Partial<TrustEvent> = {}): TrustEvent {
  return {
    id,
    createdAtMs,
    deviceId: undefined,
    serialNumber: undefined,
    email: undefined,
    serviceId: undefined,
    serviceName: undefined,
    type: 'Access',
    subType: 'Connection',
    action: 'Authorized',
    severity: 'INFO',
    result: '',
    body: { id },
    ...more,
  };
}
