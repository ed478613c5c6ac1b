// bench: the rules of a simulated year: one that acts and is undone, one that waits for a person, one that notifies, one that counts events,
// one that does not know of some devices, and some that match nothing.

import { ACTIONS } from '../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';

const UNAUTHORIZED = { event_count: { type: 'Access', action: 'Unauthorized', within: '1h' } };

export function yearRules(): LoadedRule[] {
  return [
    rule('contain', { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }, 'ban_device', 'enforce'),
    rule('hold', { '==': [{ var: 'MdmData.Held' }, 'TRUE'] }, 'ban_device', 'approve'),
    rule('notice', { '==': [{ var: 'MdmData.Noticed' }, 'TRUE'] }, 'notify', 'enforce'),
    rule('refused', { '>=': [UNAUTHORIZED, 50] }, 'notify', 'enforce'),
    rule('unencrypted', { '==': [{ var: 'MdmData.Encrypted' }, 'FALSE'] }, 'notify', 'enforce'),
    ...['Windows', 'macOS', 'iOS', 'Android', 'Linux'].map((platform, at) =>
      rule(
        `old-${at}`,
        { and: [{ '==': [{ var: 'Platform' }, platform] }, { '==': [{ var: 'Model' }, 'M0'] }] },
        'notify',
        'enforce',
      ),
    ),
  ];
}

function rule(id: string, when: unknown, does: string, mode: string): LoadedRule {
  const text = JSON.stringify({
    id,
    title: `Rule ${id} of a simulated year`,
    severity: 'medium',
    subject: 'device',
    when,
    then: does,
    mode,
    cooldown: '0s',
    owners: 'all',
    revert: does === 'ban_device',
    limits: { max: 100_000, percent: 100 },
    declares: { 'MdmData.Held': 'text', 'MdmData.Noticed': 'text', 'MdmData.Encrypted': 'text' },
    tests: [{ name: 'sample', given: {}, expect: 'no_match' }],
  });
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}
