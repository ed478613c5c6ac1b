// harness: the rules of a simulation: real rule files, compiled by the real evaluator. Each has its own field, so that
// several can match one device together. Beside each is the checker's own definition of its match.

import { digestOf } from '../../src/domain/digest.ts';
import type { Mode } from '../../src/domain/rule.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import type { Profile } from './profile.ts';
import { BUNDLE } from './world.ts';

/** The field of MdmData that makes a device rule match when it is TRUE. */
export const BAN_FIELDS = ['CompromisedStatus', 'Second', 'Third', 'Fourth'] as const;
export type TroubleField = (typeof BAN_FIELDS)[number] | 'Lost';

export const FIELD_OF: { readonly [rule: string]: TroubleField } = {
  'ban-first': 'CompromisedStatus',
  'ban-second': 'Second',
  'ban-third': 'Third',
  'ban-fourth': 'Fourth',
  'delete-lost': 'Lost',
};
/** Rules that change or delete a service permanently, each with the field of its record that matches when TRUE. */
export const SERVICE_FIELD_OF: { readonly [rule: string]: ServiceField } = {
  'tighten-exposed': 'Exposed',
  'delete-retired': 'Retired',
};
export type ServiceField = 'Exposed' | 'Retired';
export const USER_RULE = 'unmap-leaver';
/** Rules over services' events: this many errors within the window match. */
export const ERRORS_MIN: { readonly [rule: string]: number } = { 'disable-failing': 3, 'bundle-flaky': 2 };
export const WINDOW_MS = 600_000;
/** Of rules that warn people: what they say, and the first part of it. */
export const NOTICE_WORDS = '{ before: 5m, remind: [1m] }';
export const NOTICE_MS = 300_000;

const seconds = (ms: number) => `${ms / 1_000}s`;

interface RuleText {
  id: string;
  subject: 'device' | 'user' | 'service';
  when: string;
  then: string;
  mode: Mode;
  more?: { [key: string]: string };
  /** A subject for its own test that matches. */
  given: string;
}

function loadRule({ id, subject, when, then, mode, more = {}, given }: RuleText): LoadedRule {
  const settings = Object.entries({ owners: 'all', cooldown: '0s', limits: '{ max: 100, percent: 100 }', ...more });
  return load(
    id,
    `
id: ${id}
title: Watches ${id}
severity: critical
subject: ${subject}
when: ${when}
then: ${then}
mode: ${mode}
revert: true
${settings.map(([key, value]) => `${key}: ${value}`).join('\n')}
tests:
  - { name: trouble, ${given}, expect: match }
`,
  );
}

const DECLARED = '{ MdmData.Second: text, MdmData.Third: text, MdmData.Fourth: text, MdmData.Lost: text }';

function deviceRule(id: string, then: string, mode: Mode, more: { [key: string]: string } = {}): LoadedRule {
  const field = FIELD_OF[id];
  const when = `{ "==": [{ var: MdmData.${field} }, "TRUE"] }`;
  const given = `given: { MdmData: { ${field}: "TRUE" } }`;
  return loadRule({ id, subject: 'device', when, then, mode, more: { declares: DECLARED, ...more }, given });
}

function serviceRule(id: string, then: string, mode: Mode): LoadedRule {
  const window = `{ event_count: { severity: ERROR, within: ${seconds(WINDOW_MS)} } }`;
  const when = `{ ">=": [${window}, ${ERRORS_MIN[id]}] }`;
  const given = `events: [{ severity: ERROR, ago: 1m, times: ${ERRORS_MIN[id]} }]`;
  return loadRule({ id, subject: 'service', when, then, mode, given });
}

function tendingRule(id: string, then: string, mode: Mode): LoadedRule {
  const field = SERVICE_FIELD_OF[id];
  const when = `{ "==": [{ var: ${field} }, "TRUE"] }`;
  const more = { declares: '{ Exposed: text, Retired: text }' };
  return loadRule({ id, subject: 'service', when, then, mode, more, given: `given: { ${field}: "TRUE" }` });
}

function userRule(mode: Mode, warns: { [key: string]: string }): LoadedRule {
  const when = '{ "==": [{ var: Leaver }, "TRUE"] }';
  const more = { declares: '{ Leaver: text }', ...warns };
  const then = 'delete_device';
  return loadRule({ id: USER_RULE, subject: 'user', when, then, mode, more, given: 'given: { Leaver: "TRUE" }' });
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

/**
 * The rules of a profile: two that enforce, one with approval or one more that enforces, one that is only dry; and one over services' events.
 * With operator commands also actions that cannot be undone (deleting a device, a user's mapping) and that cannot
 * always be read back (a bundle); with tended services, rules that change their specs and that delete them.
 */
export function rulesOf({
  forMs,
  clearForMs,
  cooldownMs,
  limit,
  services,
  seed,
  people,
  tends,
  looks,
  reversals,
  notices,
}: Profile): LoadedRule[] {
  const owners = looks?.ownersOne ? 'one' : 'all';
  const warns = (id: string): { [key: string]: string } =>
    notices?.rules.includes(id) ? { notice: NOTICE_WORDS } : {};
  const first = { owners, cooldown: seconds(cooldownMs), limits: `{ max: ${limit}, percent: 100 }` };
  const second = { for: seconds(forMs), clear_for: seconds(clearForMs) };
  const mode = seed % 2 === 0 ? 'enforce' : 'approve';
  const ban = (id: string, own: Mode, given: { [key: string]: string } = {}) => {
    const more = { ...given, ...warns(id) };
    return once(`${id} ${own} ${JSON.stringify(more)}`, () => deviceRule(id, 'ban_device', own, more));
  };
  const watch = (id: string): { [key: string]: string } => (reversals?.unwatched === id ? { watch: 'false' } : {});
  const rules = [
    ban('ban-first', 'enforce', { ...first, ...watch('ban-first') }),
    ban('ban-second', 'enforce', { ...second, ...watch('ban-second') }),
    ban('ban-third', reversals?.thirdEnforces ? 'enforce' : 'approve'),
    ban('ban-fourth', 'dry-run'),
  ];
  const disable = () => serviceRule('disable-failing', 'disable_service', mode);
  if (services > 0) rules.push(once(`disable ${mode}`, disable));
  if (!people) return rules;
  rules.push(once('delete', () => deviceRule('delete-lost', 'delete_device', 'enforce')));
  const warned = warns(USER_RULE);
  rules.push(once(`unmap ${mode} ${JSON.stringify(warned)}`, () => userRule(mode, warned)));
  const then = `{ action: add_to_bundle, with: { bundle: ${BUNDLE} } }`;
  if (services > 0) rules.push(once('bundle', () => serviceRule('bundle-flaky', then, 'enforce')));
  if (!tends) return rules;
  const patch = '{ action: update_service, with: { patch: { spec: { backend: { tls: true } } } } }';
  rules.push(once(`tighten ${mode}`, () => tendingRule('tighten-exposed', patch, mode)));
  rules.push(once('remove', () => tendingRule('delete-retired', 'delete_service', 'enforce')));
  return rules;
}

/** The rule as somebody sets it to a lesser mode for a while. */
export function inMode(rule: LoadedRule, mode: Mode): LoadedRule {
  return once(`${mode} ${rule.id} ${rule.hash}`, () => ({ ...rule, mode }));
}

/** The rule as somebody edits it, without another meaning. */
export function edited(rule: LoadedRule): LoadedRule {
  return once(`edited ${rule.mode} ${rule.id} ${rule.hash}`, () => ({
    ...rule,
    title: `${rule.title}, said better`,
    hash: digestOf(rule.hash),
  }));
}
