// rules: `$facts.NAME.field`, from the rule's text to its verdict: checked by the source's schema, unknown wherever the source says nothing for sure.
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../src/domain/facts.ts';
import type { GivenSource } from '../../src/domain/given-facts.ts';
import {
  type GivenRow,
  type GivenTable,
  NO_ROWS,
  packRows,
  REPEATED,
  rowOf,
  rowsOf,
  unreadTable,
} from '../../src/domain/given-table.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { formatTestReport, runRuleTests } from '../../src/rules/rule-tests/run-tests.ts';
import { contextOf, NOW_MS, TRAITS, verdictOf } from './sample-traits.ts';

const source = (name: string, is: GivenSource['key']['is'], fields: GivenSource['fields']): GivenSource => ({
  name,
  key: { is, from: 'key' },
  fields,
  freshMs: 86_400_000,
  everyMs: 3_600_000,
  rowsMax: 1_000,
  origin: { by: 'file', path: 'a.csv', format: 'csv', list: undefined },
});
const INVENTORY = source('inventory', 'serial_number', [
  { name: 'status', type: 'text', from: 'status' },
  { name: 'encrypted', type: 'flag', from: 'encrypted' },
  { name: 'seen', type: 'time', from: 'seen', unit: 'iso' },
  { name: 'cost', type: 'number', from: 'cost' },
]);
const HR = source('hr', 'email', [{ name: 'left', type: 'boolean', from: 'left' }]);
const SOURCES = [INVENTORY, HR];

function read(when: unknown, more: object = {}, subject = 'device') {
  const text = JSON.stringify({ id: 'a-rule', subject, when, then: 'notify', ...more });
  return parseRule(text, 'a-rule.json', { traits: TRAITS, sources: SOURCES });
}
function ruleOf(when: unknown, more: object = {}) {
  const found = read(when, more);
  if ('problems' in found) throw new Error(found.problems.map(problemLine).join('\n'));
  return found.rule;
}
const problemsOf = (...of: Parameters<typeof read>) => {
  const found = read(...of);
  return 'problems' in found ? found.problems.map(({ message }) => message) : [];
};
const RETURNED = { '==': [{ var: '$facts.inventory.status' }, 'returned'] };

const tableOf = (rows: [string, GivenRow][], more: Partial<GivenTable> = {}): GivenTable => ({
  ...{ source: 'inventory', key: 'serial_number', hash: 'x', atMs: NOW_MS, readAt: NOW_MS, freshUntilMs: NOW_MS },
  ...{ doubt: undefined, rows: packRows(rows), ...more },
});
const DEVICE: Facts = { DeviceID: 'd1', SerialNumber: 'C02-Ä1', Emails: ['A@example.com'] };

describe('a condition over facts from elsewhere', () => {
  it('is typed by the schema of the source, and names what it does not know', () => {
    expect(problemsOf({ '==': [{ var: '$facts.inventry.status' }, 'x'] })).toEqual([
      'there is no source `inventry` of facts; did you mean `inventory`?',
    ]);
    expect(problemsOf({ '==': [{ var: '$facts.inventory.statuss' }, 'x'] })).toEqual([
      'a device has no field `$facts.inventory.statuss`; did you mean `$facts.inventory.status`?',
    ]);
    expect(problemsOf({ '==': [{ var: '$facts.inventory.encrypted' }, true] })[0]).toContain('flag');
    expect(problemsOf({ '>': [{ age: { var: '$facts.inventory.status' } }, '1d'] })).toHaveLength(1);
    expect(problemsOf({ var: '$facts.hr.left' })).toEqual([
      'the rows of `hr` are about a user, by email, and not about a device; write {"some": [{"var": "$owners"}, …]} and read it of the element',
    ]);
    expect(problemsOf({ changed_within: ['$facts.inventory.status', '1d'] })[0]).toContain(
      'looks back on a field of the record',
    );
    expect(problemsOf(RETURNED, { fresh: { '$facts.inventory.status': '1d' } })[0]).toContain('takes timestamps');
    expect(problemsOf({ some: [{ var: 'Roles' }, RETURNED] })[0]).toContain('is read of the subject');
    expect(
      problemsOf(RETURNED, {
        tests: [{ name: 'a', given: { $facts: { inventory: 'old', elsewhere: {} } }, expect: 'match' }],
      }),
    ).toEqual([
      'expected a row, null for none, or one of unread, stale, untrusted, repeated; found `"old"`',
      'there is no source `elsewhere` of facts; known: inventory, hr',
    ]);
  });

  it('matches what the row says, by the folded key, and is unknown wherever it does not say it for sure', () => {
    const rule = ruleOf(RETURNED);
    const verdict = (given: GivenTable | undefined, record = DEVICE) =>
      verdictOf(rule, record, contextOf({ given: new Map(given ? [['inventory', given]] : []) }));
    const row = (one: GivenRow) => tableOf([['c02-ä1', one]]);
    expect(verdict(row({ status: 'returned' }))).toBe('match');
    expect(verdict(row({ status: 'in use' }))).toBe('no_match');
    expect(verdict(row({}))).toBe('unknown');
    expect(verdict(row({ status: 5 }))).toBe('unknown');
    expect(verdict(row(REPEATED))).toBe('unknown');
    expect(verdict(tableOf([]))).toBe('unknown');
    expect(verdict(undefined)).toBe('unknown');
    expect(verdict(unreadTable(INVENTORY, ''))).toBe('unknown');
    const known = row({ status: 'returned' });
    expect(verdict({ ...known, freshUntilMs: NOW_MS - 1 })).toBe('unknown');
    expect(verdict({ ...known, doubt: { why: 'untrusted', text: '' } })).toBe('unknown');
    expect(verdict(known, { DeviceID: 'd1' })).toBe('unknown');
    // What a server sends under that name is no fact from elsewhere.
    expect(verdict(undefined, { ...DEVICE, $facts: { inventory: { status: 'returned' } } })).toBe('unknown');
  });

  it('asks for absence of a source that is trusted and fresh alone', () => {
    const asks = [
      { missing: ['$facts.inventory.status'] },
      { '!': { exists: ['$facts', 'inventory', 'status'] } },
      { '==': [{ var: ['$facts.inventory.status', 'none'] }, 'none'] },
      { '==': [{ '??': [{ var: '$facts.inventory.status' }, 'none'] }, 'none'] },
    ].map((when) => ruleOf(when));
    const verdicts = (given?: GivenTable) =>
      asks.map((rule) => verdictOf(rule, DEVICE, contextOf({ given: new Map(given ? [['inventory', given]] : []) })));
    const all = (verdict: string) => asks.map(() => verdict);
    expect(verdicts(tableOf([]))).toEqual(all('match'));
    expect(verdicts(tableOf([['c02-ä1', { cost: 1 }]]))).toEqual(all('match'));
    expect(verdicts(tableOf([['c02-ä1', { status: 'x' }]]))).toEqual(all('no_match'));
    for (const given of [
      undefined,
      tableOf([['c02-ä1', REPEATED]]),
      tableOf([], { freshUntilMs: NOW_MS - 1 }),
      tableOf([], { doubt: { why: 'untrusted', text: '' } }),
      unreadTable(INVENTORY, ''),
    ])
      expect(verdicts(given)).toEqual(all('unknown'));
  });

  it('reads the rows of owners, each by its own key', () => {
    const rule = ruleOf({ some: [{ var: '$owners' }, { '==': [{ var: '$facts.hr.left' }, true] }] });
    const users = new Map(['a@example.com', 'b@example.com'].map((Email) => [Email, { Email }]));
    const hr = tableOf(
      [
        ['b@example.com', { left: true }],
        ['a@example.com', { left: false }],
      ],
      { source: 'hr', key: 'email' },
    );
    const context = contextOf({ joins: { users, devices: new Map() }, given: new Map([['hr', hr]]) });
    expect(verdictOf(rule, DEVICE, context)).toBe('no_match');
    expect(verdictOf(rule, { ...DEVICE, Emails: ['a@example.com', 'B@example.com'] }, context)).toBe('match');
    expect(verdictOf(rule, DEVICE, contextOf({ joins: { users, devices: new Map() } }))).toBe('unknown');
  });

  it('is as fresh as a time of its row says, beside the age of the source', () => {
    const rule = ruleOf(RETURNED, { fresh: { '$facts.inventory.seen': '7d' } });
    const of = (seen?: number) =>
      verdictOf(
        rule,
        DEVICE,
        contextOf({
          given: new Map([['inventory', tableOf([['c02-ä1', { status: 'returned', ...(seen && { seen }) }]])]]),
        }),
      );
    expect(of(NOW_MS - 6 * 86_400_000)).toBe('match');
    expect([of(NOW_MS - 8 * 86_400_000), of(), of(NOW_MS + 2 * 86_400_000)]).toEqual(['unknown', 'unknown', 'unknown']);
  });

  it('is tested by rows, their absence and what is wrong with a source; mutants of it are noticed', () => {
    const when = { and: [RETURNED, { '<': [{ age: { var: 'LastLogin' } }, '1d'] }] };
    const one = (name: string, inventory: unknown, expected: string) => ({
      name,
      given: { $facts: { inventory } },
      expect: expected,
    });
    const tests = [
      one('returned', { status: 'returned' }, 'match'),
      one('in use', { status: 'in use' }, 'no_match'),
      one('no row', null, 'unknown'),
      ...['stale', 'unread', 'untrusted', 'repeated'].map((word) => one(word, word, 'unknown')),
      { name: 'nothing said', expect: { verdict: 'unknown', reasons: ['$facts.inventory.status'] } },
      {
        name: 'long ago',
        given: { $facts: { inventory: { status: 'returned' } }, LastLogin: { ago: '24h' } },
        expect: 'no_match',
      },
      {
        name: 'lately',
        given: { $facts: { inventory: { status: 'returned' } }, LastLogin: { ago: '23h' } },
        expect: 'match',
      },
      { name: 'never', given: { $facts: { inventory: { status: 'returned' } }, LastLogin: 0 }, expect: 'unknown' },
    ];
    const report = runRuleTests([ruleOf(when, { tests })], { mutate: true });
    expect(formatTestReport(report, 'text')).not.toContain('FAIL');
    expect(report.rules[0]).toMatchObject({ ok: true, coveredPercent: 100 });
    const owners = [{ $facts: { hr: { left: true } } }];
    const some = ruleOf(
      { some: [{ var: '$owners' }, { '==': [{ var: '$facts.hr.left' }, true] }] },
      { tests: [{ name: 'a', owners, expect: 'match' }] },
    );
    expect(runRuleTests([some]).rules[0]?.tests[0]).toMatchObject({ ok: true });
  });

  it('is another one where its source means something else', () => {
    const text = JSON.stringify({ id: 'a-rule', subject: 'device', when: RETURNED, then: 'notify' });
    const hashOf = (sources: GivenSource[]) => {
      const found = parseRule(text, 'a.json', { traits: TRAITS, sources });
      return 'rule' in found ? found.rule.hash : undefined;
    };
    expect(hashOf([INVENTORY])).toBe(hashOf([{ ...INVENTORY, everyMs: 1 }, HR]));
    expect(hashOf([INVENTORY])).not.toBe(hashOf([{ ...INVENTORY, freshMs: 1 }]));
  });
});

describe('packed rows', () => {
  it('are found by their keys alone, with every digit, whatever the keys are', () => {
    const keys = Array.from({ length: 5_000 }, (_, at) => `k${at}`);
    const rows: [string, GivenRow][] = [
      ...keys.map((key): [string, GivenRow] => [key, { n: Number(key.slice(1)) }]),
      ['k', { text: 'a\nb', big: 12345678901234567890n, small: 1_768_478_400_000 }],
      ['__proto__', REPEATED],
    ];
    const packed = packRows(rows);
    expect(packed.count).toBe(5_002);
    expect(keys.every((key) => (rowOf(packed, key) as Facts).n === Number(key.slice(1)))).toBe(true);
    expect([rowOf(packed, 'k'), rowOf(packed, '__proto__'), rowOf(packed, 'k5000')]).toEqual([
      rows[5_000]?.[1],
      REPEATED,
      undefined,
    ]);
    expect(new Map(rowsOf(packed))).toEqual(new Map(rows));
    expect([...rowsOf(NO_ROWS)]).toEqual([]);
  });
});
