// support: a rule, and what ports answer about it: its tests, a trial of a changed text, a drift. Some names are hostile.
import type { Drift } from '../../src/domain/check.ts';
import type { TriedRule } from '../../src/domain/decision.ts';
import type { Rule } from '../../src/domain/rule.ts';
import type { RuleTestReport } from '../../src/domain/verdict.ts';
import { START_MS } from './filled-store.ts';

export const RULE: Rule = {
  id: 'ban-compromised-device',
  title: 'Ban devices that MDM reports as compromised',
  severity: 'critical',
  subject: 'device',
  when: { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] },
  then: [{ action: 'ban_device', with: {} }],
  mode: 'enforce',
  forMs: 0,
  clearForMs: 0,
  cooldownMs: 3_600_000,
  revert: true,
  limits: { max: 25, percent: 2 },
  owners: 'one',
  watch: true,
  hash: 'b'.repeat(64),
  file: 'ban-compromised-device.yaml',
  sources: ['devices'],
};

export const RULE_TEXT = 'id: ban-compromised-device\n# <why>\n';

export const RULE_REPORT: RuleTestReport = {
  rule: RULE.id,
  file: RULE.file,
  ok: false,
  tests: [
    { name: 'compromised', line: 20, expected: 'match', got: 'match', ok: true, message: undefined },
    { name: 'not', line: 21, expected: 'match', got: 'no_match', ok: false, message: 'expected match, got no_match' },
  ],
  problems: ['no test notices: TRUE → FALSE'],
  coverage: [{ text: 'MdmData.CompromisedStatus == "TRUE"', seenTrue: true, seenFalse: true, seenUnknown: false }],
  coveredPercent: 66,
  mutants: { tried: 4, survivors: ['TRUE → FALSE'] },
};

export const TRIED: TriedRule = {
  rule: RULE,
  asOf: START_MS,
  before: { match: 1, unknown: 0, error: 0, act: 1, hold: 0, skip: 0, waits: 0, cools: 0, outside: 0 },
  after: { match: 2, unknown: 3, error: 0, act: 1, hold: 1, skip: 0, waits: 0, cools: 0, outside: 0 },
  added: [
    {
      kind: 'device',
      id: 'device-2',
      name: '<b>Ben</b>',
      serial: 'SERIAL-2',
      owners: undefined,
      decided: [
        { action: 'ban_device', target: 'SERIAL-2', decision: 'hold', reason: 'limits', reasonText: '2 of 2 devices' },
      ],
      was: [],
      facts: { 'MdmData.CompromisedStatus': 'TRUE' },
    },
  ],
  addedTotal: 1,
  gone: [],
  goneTotal: 0,
  same: 1,
  unknownBy: { 'MdmData.CompromisedStatus': 3 },
  untrusted: [],
};

export const DRIFTED: Omit<Drift, 'key' | 'action' | 'target'> = {
  changed: [{ subject: 'device-1', field: 'MdmData.CompromisedStatus', then: 'TRUE', now: '<b>FALSE</b>' }],
  gone: [],
  refused: {
    check: 'changed-since',
    reason: 'drifted',
    reasonText: 'changed since the plan was made: MdmData.CompromisedStatus was "TRUE" and is "<b>FALSE</b>"',
  },
  unread: undefined,
};
