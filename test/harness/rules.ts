// harness: the rules of a simulation: real rule files, compiled by the real evaluator. Each names its own trouble field, so
// that several can match one device together. Beside each stands what the checker takes for its trouble, told independently.
import { ACTIONS } from '../../src/act/actions.ts';
import type { Mode } from '../../src/domain/mode.ts';
import { type LoadedRule, parseRule } from '../../src/evaluate/index.ts';
import type { Profile } from './profile.ts';

/** The field of MdmData that a device rule calls trouble when it is TRUE. */
export const TROUBLE_FIELDS = ['CompromisedStatus', 'Second', 'Third', 'Fourth'] as const;
export type TroubleField = (typeof TROUBLE_FIELDS)[number];

export const FIELD_OF: { readonly [rule: string]: TroubleField } = {
  'ban-first': 'CompromisedStatus',
  'ban-second': 'Second',
  'ban-third': 'Third',
  'ban-fourth': 'Fourth',
};
export const SERVICE_RULE = 'disable-failing';
export const ERRORS_MIN = 3;
export const WINDOW_MS = 600_000;

const seconds = (ms: number) => `${ms / 1_000}s`;

function deviceRule(id: string, mode: Mode, more: { [key: string]: string }): LoadedRule {
  const field = FIELD_OF[id];
  const settings = Object.entries({ cooldown: '0s', limits: '{ max: 100, percent: 100 }', ...more });
  return load(
    id,
    `
id: ${id}
title: Ban
severity: critical
subject: device
when: { "==": [{ var: MdmData.${field} }, "TRUE"] }
then: ban_device
mode: ${mode}
revert: true
owners: all
declares: { MdmData.Second: text, MdmData.Third: text, MdmData.Fourth: text }
${settings.map(([key, value]) => `${key}: ${value}`).join('\n')}
tests:
  - { name: trouble, given: { MdmData: { ${field}: "TRUE" } }, expect: match }
`,
  );
}

function serviceRule(mode: Mode): LoadedRule {
  return load(
    SERVICE_RULE,
    `
id: ${SERVICE_RULE}
title: Disable
severity: high
subject: service
when: { ">=": [{ event_count: { severity: ERROR, within: ${seconds(WINDOW_MS)} } }, ${ERRORS_MIN}] }
then: disable_service
mode: ${mode}
revert: true
cooldown: 0s
limits: { max: 100, percent: 100 }
tests:
  - { name: errors, events: [{ severity: ERROR, ago: 1m, times: ${ERRORS_MIN} }], expect: match }
`,
  );
}

function load(id: string, text: string): LoadedRule {
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const loaded = new Map<string, LoadedRule>();

/** Parsed once for equal text: thousands of simulations share a few forms. */
function once(key: string, make: () => LoadedRule): LoadedRule {
  const known = loaded.get(key) ?? make();
  loaded.set(key, known);
  return known;
}

/** The rules of a profile: two that enforce, one to be approved, one that is only dry; and one over services' events. */
export function rulesOf(profile: Profile): LoadedRule[] {
  const { forMs, clearForMs, cooldownMs, limit } = profile;
  const first = { cooldown: seconds(cooldownMs), limits: `{ max: ${limit}, percent: 100 }` };
  const second = { for: seconds(forMs), clear_for: seconds(clearForMs) };
  const rules = [
    once(`first ${JSON.stringify(first)}`, () => deviceRule('ban-first', 'enforce', first)),
    once(`second ${JSON.stringify(second)}`, () => deviceRule('ban-second', 'enforce', second)),
    once('third', () => deviceRule('ban-third', 'approve', {})),
    once('fourth', () => deviceRule('ban-fourth', 'dry-run', {})),
  ];
  if (profile.services > 0) {
    const mode = profile.seed % 2 === 0 ? 'enforce' : 'approve';
    rules.push(once(`service ${mode}`, () => serviceRule(mode)));
  }
  return rules;
}

/** The first rule as somebody sets it to dry-run for a while. */
export function inDryRun(rule: LoadedRule): LoadedRule {
  return once(`dry ${rule.id} ${rule.hash}`, () => ({ ...rule, mode: 'dry-run' }));
}
