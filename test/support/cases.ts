// support: random cases of whole runs as plain data: rule sets, fleets, and what happens in their history.
// In: fast-check's chance. Out: data that shrinks well, and the real rule that a shape stands for. It plays nothing.
import fc from 'fast-check';
import type { ActionName } from '../../src/domain/action.ts';
import type { Guards } from '../../src/domain/guards.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { SubjectKind } from '../../src/domain/subjects.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import type { Answer } from './platform.ts';

// Few of each, so that histories meet.
export const DEVICES = ['d1', 'd2', 'd3', 'd4', 'd5'] as const;
export const SERIALS = ['S1', 'S2', 'S3', 'S4'] as const;
export const USERS = ['ana@example.com', 'bo@example.com'] as const;
export const SERVICES = ['v1.c', 'v2.c'] as const;
export const BUNDLE = 'b1';

/** TRUE: matches. FALSE: does not. null: the platform does not show it. */
export type ReportedFlag = 'TRUE' | 'FALSE' | null;
export const FIELDS = ['T1', 'T2'] as const;
export type Field = (typeof FIELDS)[number];

/**
 * The condition of a rule: a field of its subject, a field of a device's owner, a service that fails, or one that is
 * enabled and has the field.
 */
export type Trouble = Field | 'owners' | 'errors' | 'enabled';

export interface Shape {
  subject: SubjectKind;
  trouble: Trouble;
  actions: readonly ActionName[];
  mode: Mode;
  severity: 'low' | 'critical';
  for: '0s' | '30s';
  clearFor: '0s' | '30s';
  cooldown: '0s' | '5m';
  revert: boolean;
  owners: 'one' | 'all';
  limits: '{ max: 100, percent: 100 }' | '{ max: 1, percent: 100 }' | '{ max: 100, percent: 20 }';
  /** It warns people, or begins with a share: `notice: …`, `rollout: …`. */
  more?: string | undefined;
}

export const FAILING_MIN = 2;
const WITH: { readonly [action in ActionName]?: string } = {
  add_to_bundle: `{ bundle: ${BUNDLE} }`,
  remove_from_bundle: `{ bundle: ${BUNDLE} }`,
  update_service: '{ patch: { metadata: { description: changed } } }',
};

const CONDITIONS: { readonly [trouble in Trouble]: string } = {
  T1: '{ "==": [{ var: T1 }, "TRUE"] }',
  T2: '{ "==": [{ var: T2 }, "TRUE"] }',
  owners: '{ some: [{ var: $owners }, { in_group: Trouble }] }',
  errors: `{ ">=": [{ event_count: { severity: ERROR, within: 10m } }, ${FAILING_MIN}] }`,
  enabled: '{ and: [{ "==": [{ var: Enabled }, "TRUE"] }, { "==": [{ var: T1 }, "TRUE"] }] }',
};

const rules = new Map<string, LoadedRule>();

/** The real rule of a shape; parsed once for equal text. `edition` is part of its text, and changes no meaning. */
export function ruleOf(id: string, shape: Shape, edition = 0): LoadedRule {
  const text = `
id: ${id}
title: A rule
severity: ${shape.severity}
subject: ${shape.subject}
when: ${edition === 0 ? CONDITIONS[shape.trouble] : `{ or: [${CONDITIONS[shape.trouble]}, ${CONDITIONS[shape.trouble]}] }`}
then: [${shape.actions.map((action) => `{ action: ${action}${WITH[action] ? `, with: ${WITH[action]}` : ''} }`).join(', ')}]
mode: ${shape.mode}
for: ${shape.for}
clear_for: ${shape.clearFor}
cooldown: ${shape.cooldown}
revert: ${shape.revert}
owners: ${shape.owners}
limits: ${shape.limits}
declares: { T1: text, T2: text }
${shape.more ?? ''}
tests: []
`;
  const known = rules.get(text);
  if (known) return known;
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  rules.set(text, parsed.rule);
  return parsed.rule;
}

const common = {
  mode: fc.constantFrom<Mode>('enforce', 'enforce', 'enforce', 'enforce', 'enforce', 'approve', 'dry-run', 'off'),
  severity: fc.constantFrom('low', 'critical'),
  for: fc.constantFrom('0s', '0s', '0s', '30s'),
  clearFor: fc.constantFrom('0s', '0s', '0s', '30s'),
  cooldown: fc.constantFrom('0s', '0s', '0s', '5m'),
  revert: fc.constantFrom(true, true, true, true, true, false),
  owners: fc.constantFrom('all', 'all', 'all', 'one'),
  limits: fc.constantFrom<Shape['limits'][]>(
    '{ max: 100, percent: 100 }',
    '{ max: 100, percent: 100 }',
    '{ max: 100, percent: 100 }',
    '{ max: 100, percent: 100 }',
    '{ max: 100, percent: 100 }',
    '{ max: 1, percent: 100 }',
    '{ max: 100, percent: 20 }',
  ),
} as const;

const actions = (...all: ActionName[][]) => fc.constantFrom<ActionName[][]>(...all);

const deviceShape = fc.record({
  ...common,
  subject: fc.constant<SubjectKind>('device'),
  trouble: fc.constantFrom<Trouble>('T1', 'T1', 'T1', 'T2', 'T2', 'owners'),
  actions: actions(
    ['ban_device'],
    ['ban_device'],
    ['ban_device'],
    ['ban_device', 'notify'],
    ['unban_device'],
    ['delete_device'],
    ['notify'],
  ),
});
const userShape = fc.record({
  ...common,
  subject: fc.constant<SubjectKind>('user'),
  trouble: fc.constantFrom<Trouble>('T1', 'T2'),
  actions: actions(['delete_device'], ['notify']),
});
const serviceShape = fc.record({
  ...common,
  subject: fc.constant<SubjectKind>('service'),
  trouble: fc.constantFrom<Trouble>('T1', 'T1', 'T2', 'errors'),
  actions: actions(
    ['disable_service'],
    ['disable_service'],
    ['enable_service'],
    ['add_to_bundle'],
    ['remove_from_bundle'],
    ['disable_service', 'add_to_bundle'],
    ['update_service'],
    ['delete_service'],
  ),
});
const enabledShape = fc.record({
  ...common,
  subject: fc.constant<SubjectKind>('service'),
  trouble: fc.constant<Trouble>('enabled'),
  actions: actions(['add_to_bundle'], ['notify']),
});

export const shape: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 7, arbitrary: deviceShape },
  { weight: 1, arbitrary: userShape },
  { weight: 4, arbitrary: serviceShape },
  { weight: 1, arbitrary: enabledShape },
);

const told = fc.constantFrom<ReportedFlag[]>('TRUE', 'TRUE', 'TRUE', 'FALSE', 'FALSE', 'FALSE', null);
const flag = fc.constantFrom('TRUE', 'FALSE', 'FALSE', 'FALSE', 'FALSE');

export const fleet = fc.record({
  devices: fc.tuple(
    ...DEVICES.map((_, index) =>
      fc.record({
        serial: fc.oneof(
          { weight: 8, arbitrary: fc.constant<string>(SERIALS[index % 4] as string) },
          { weight: 1, arbitrary: fc.constantFrom('S1', 'None', '') },
        ),
        platform: fc.constantFrom('macOS', 'macOS', 'macOS', 'macOS', 'macOS', 'macOS', 'Windows'),
        owners: fc.subarray([...USERS], { maxLength: 1 }),
        banned: flag,
        T1: told,
        T2: told,
      }),
    ),
  ),
  users: fc.tuple(...USERS.map(() => fc.record({ T1: told, T2: told, group: fc.constantFrom('Staff', 'Trouble') }))),
  services: fc.tuple(
    ...SERVICES.map(() => fc.record({ T1: told, T2: told, enabled: flag, bundled: fc.boolean(), fails: fc.nat(3) })),
  ),
  listsBundles: fc.constantFrom(true, true, false),
});
export type FleetCase = typeof fleet extends fc.Arbitrary<infer T> ? T : never;

export type Subject = { kind: SubjectKind; id: string };
const idOf = (kind: SubjectKind, ids: readonly string[]) =>
  fc.record({ kind: fc.constant(kind), id: fc.constantFrom(...ids) });
export const subject: fc.Arbitrary<Subject> = fc.oneof(
  { weight: 6, arbitrary: idOf('device', DEVICES) },
  { weight: 3, arbitrary: idOf('service', SERVICES) },
  { weight: 1, arbitrary: idOf('user', USERS) },
);

const doing = <D extends string, T extends object>(name: D, fields: { [key in keyof T]: fc.Arbitrary<T[key]> }) =>
  fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<{ do: D } & T>;

const facts = doing<'facts', { of: Subject; field: Field; told: ReportedFlag }>('facts', {
  of: subject,
  field: fc.constantFrom(...FIELDS),
  told,
});
/** A person bans or unbans a serial number, switches a service, or adds it to or removes it from the bundle. */
const hand = doing<'hand', { of: Subject; bundle: boolean }>('hand', { of: subject, bundle: fc.boolean() });
const stop = doing<'stop', object>('stop', {});
const exempt = doing<'exempt', { of: Subject; release: boolean; selects: boolean }>('exempt', {
  of: subject,
  release: fc.boolean(),
  selects: fc.boolean(),
});
const reload = doing<'reload', { index: number; change: Mode | 'edited' | 'gone' | 'restored' }>('reload', {
  index: fc.nat(4),
  change: fc.constantFrom('edited', 'gone', 'restored', 'restored', 'dry-run', 'approve', 'enforce', 'off'),
});
/** Also in the middle of a run: before the nth read or writing request from now on. */
const sudden = fc.oneof(facts, facts, hand, hand, stop, exempt, reload, reload);
export type Sudden = typeof sudden extends fc.Arbitrary<infer T> ? T : never;

const chosen = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.subarray([0, 1, 2, 3, 4], { minLength: 1, maxLength: 3 }) },
);
const mode = fc.constantFrom<Mode>('enforce', 'enforce', 'enforce', 'enforce', 'approve', 'dry-run');
export const step = fc.oneof(
  {
    weight: 30,
    arbitrary: doing<'run', { mode: Mode; chosen: number[] | null; waits: boolean }>('run', {
      mode,
      chosen,
      waits: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 26, arbitrary: facts },
  { weight: 5, arbitrary: hand },
  {
    weight: 7,
    arbitrary: doing<'pass', { ms: number }>('pass', {
      ms: fc.constantFrom(1_000, 15_000, 15_000, 40_000, 400_000, 25 * 3_600_000),
    }),
  },
  {
    weight: 4,
    arbitrary: doing<'answers', { of: Subject; next: Answer[] }>('answers', {
      of: subject,
      next: fc.array(fc.constantFrom<Answer[]>('lost', 'hidden', 'late', 'failed', 'failed', 'idle'), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
  },
  {
    weight: 6,
    arbitrary: doing<'plan', { answer: 'apply' | 'approve' | 'reject' }>('plan', {
      answer: fc.constantFrom('apply', 'apply', 'apply', 'approve', 'reject'),
    }),
  },
  {
    weight: 1,
    arbitrary: doing<'resolve', { as: 'done' | 'not-done' | 'retry' }>('resolve', {
      as: fc.constantFrom('done', 'not-done', 'retry'),
    }),
  },
  { weight: 1, arbitrary: doing<'release', { nth: number }>('release', { nth: fc.nat(5) }) },
  { weight: 1, arbitrary: exempt },
  { weight: 1, arbitrary: doing<'unexempt', object>('unexempt', {}) },
  { weight: 1, arbitrary: stop },
  { weight: 4, arbitrary: doing<'resume', object>('resume', {}) },
  { weight: 1, arbitrary: reload },
  { weight: 1, arbitrary: doing<'restart', object>('restart', {}) },
  {
    weight: 1,
    arbitrary: doing<'crash', { afterSteps: number }>('crash', { afterSteps: fc.integer({ min: 1, max: 60 }) }),
  },
  {
    weight: 3,
    arbitrary: doing<'amid', { before: 'read' | 'write'; nth: number; what: Sudden }>('amid', {
      before: fc.constantFrom('read', 'write'),
      nth: fc.integer({ min: 1, max: 4 }),
      what: sudden,
    }),
  },
  { weight: 1, arbitrary: doing<'fails', { of: string }>('fails', { of: fc.constantFrom<string[]>(...SERVICES) }) },
);
/** The messages that are due go out; somebody has a subject checked again; a device gets another owner; the guards begin or end. */
export type PeopleStep =
  | { do: 'post'; how: 'delivered' | 'not_sent' | 'refused' | 'doubt' }
  | { do: 'check'; of: Subject }
  | { do: 'give'; of: Subject; owner: string }
  | { do: 'guards'; are: 'on' | 'off' };
export type Step = (typeof step extends fc.Arbitrary<infer T> ? T : never) | PeopleStep;

export interface Case {
  shapes: Shape[];
  fleet: FleetCase;
  daemonMode: Mode;
  ceilings: { run: number; day: number };
  history: Step[];
  guards?: Guards | undefined;
}

export function caseOf(lengths: { min: number; max: number }): fc.Arbitrary<Case> {
  return fc.record({
    shapes: fc.array(shape, { minLength: 1, maxLength: 5 }),
    fleet,
    daemonMode: fc.oneof(
      { weight: 10, arbitrary: fc.constant<Mode>('enforce') },
      { weight: 1, arbitrary: fc.constantFrom<Mode>('approve', 'dry-run') },
    ),
    ceilings: fc.constantFrom({ run: 50, day: 100 }, { run: 50, day: 100 }, { run: 1, day: 100 }, { run: 2, day: 3 }),
    history: fc.array(step, { minLength: lengths.min, maxLength: lengths.max, size: 'max' }),
  });
}
