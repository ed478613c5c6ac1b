// test: rule tests inside rule files: the shipped rules, coverage, mutants, tests that cannot fail, misspelt fields, formats.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../../src/rules/load/read-rule.ts';
import { formatTestReport, runRuleTests, type TestReport } from '../../src/rules/rule-tests/run-tests.ts';
import { problemsOf, ruleOf, TRAITS } from './sample-traits.ts';

const SHIPPED = fileURLToPath(new URL('../../rules', import.meta.url));
const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };

function run(tests: unknown[], when: unknown = compromised, more: object = {}, mutate = false): TestReport {
  return runRuleTests([ruleOf(when, { tests, ...more })], { mutate });
}

describe('the shipped rules', () => {
  it('pass their tests, which see every condition and notice every mutant', async () => {
    const { rules, problems } = await loadRules(SHIPPED, { traits: TRAITS });
    expect(problems).toEqual([]);
    expect(rules.map((rule) => rule.id)).toEqual([
      'ban-compromised-device',
      'ban-denied-corporate-device',
      'ban-device-unauthorized-access',
      'disable-failing-service',
      'notify-user-unauthorized-access',
      'report-idle-device',
    ]);
    const report = runRuleTests(rules, { mutate: true });
    expect(formatTestReport(report, 'text')).not.toContain('FAIL');
    expect(formatTestReport(report, 'text')).toMatch(/: all well\n$/);
    for (const rule of report.rules) {
      expect([rule.rule, rule.coveredPercent, rule.mutants?.survivors]).toEqual([rule.rule, 100, []]);
      expect(rule.mutants?.tried).toBeGreaterThan(0);
    }
  });
});

describe('a mutant', () => {
  it('of a version is the one before or after it', () => {
    const old = { version_lt: [{ var: 'OS' }, 'macOS 14.5'] };
    const tests = [{ name: 'older', given: { OS: 'macOS 13' }, expect: 'match' }];
    const survivors = run(tests, old, {}, true).rules[0]?.mutants?.survivors;
    expect(survivors).toEqual(expect.arrayContaining(['"macOS 14.5" → "macOS 14.6"', '"macOS 14.5" → "macOS 14.4"']));
    const edges = ['macOS 14.4', 'macOS 14.5'].map((OS, at) => ({
      name: OS,
      given: { OS },
      expect: ['match', 'no_match'][at],
    }));
    expect(run(edges, old, {}, true).rules[0]?.mutants?.survivors).toEqual([]);
  });
});

describe('a test', () => {
  it('that fails is reported', () => {
    const report = run([{ name: 'clean', given: { MdmData: { CompromisedStatus: 'TRUE' } }, expect: 'no_match' }]);
    expect(report).toMatchObject({ ok: false, passed: 0, failed: 1 });
    expect(report.rules[0]?.tests[0]?.message).toBe('expected no_match, got match');
  });

  it('of an unknown fails where the reason is another', () => {
    const given = { MdmData: { CompromisedStatus: null } };
    const right = run([{ name: 'a', given, expect: { verdict: 'unknown', reasons: ['MdmData.CompromisedStatus'] } }]);
    expect(right.rules[0]?.tests[0]?.ok).toBe(true);
    const report = run([{ name: 'a', given, expect: { verdict: 'unknown', reasons: ['OS'] } }]);
    expect(report.rules[0]?.tests[0]?.message).toBe('expected the reason `OS`, got `MdmData.CompromisedStatus`');
  });

  it('that cannot fail, or is not there at all, is reported', () => {
    expect(run([]).rules[0]?.problems).toEqual(['the rule has no tests']);
    const idle = { or: [{ missing: ['OS'] }, { '!': [{ missing: ['OS'] }] }] };
    expect(run([{ name: 'a', expect: 'match' }], idle).rules[0]?.problems).toEqual([
      'its tests cannot fail: no change of facts was found that gives another verdict than match',
    ]);
  });

  it('must expect a match somewhere, and notice mutants', () => {
    const never = run([{ name: 'clean', expect: 'no_match' }]);
    expect(never.ok).toBe(false);
    expect(formatTestReport(never, 'text')).toContain('FAIL no test expects `match`');
    const one = [{ name: 'a', given: { TrustData: { EntityTrustscore: 10 } }, expect: 'match' }];
    const when = { '<': [{ var: 'TrustData.EntityTrustscore' }, 50] };
    const unseen = run(one, when);
    expect(unseen.ok).toBe(true);
    expect(formatTestReport(unseen, 'text')).toMatch(/: conditions not all covered: a-rule \(33 %\)\n$/);
    const mutated = run(one, when, {}, true);
    expect(mutated.ok).toBe(false);
    expect(mutated.rules[0]?.problems).toEqual([
      'no test notices: < → <=',
      'no test notices: 50 → 51',
      'no test notices: 50 → 49',
    ]);
    expect(formatTestReport(mutated, 'text')).toMatch(/: not well: a-rule\n$/);
  });

  it('that is missing for a condition or for a mutant is named', () => {
    const report = run(
      [{ name: 'a', given: { TrustData: { EntityTrustscore: 10 } }, expect: 'match' }],
      { '<': [{ var: 'TrustData.EntityTrustscore' }, 50] },
      {},
      true,
    );
    expect(report.rules[0]?.coverage).toMatchObject([
      { text: 'TrustData.EntityTrustscore < 50', seenTrue: true, seenFalse: false, seenUnknown: false },
    ]);
    expect(report.rules[0]?.mutants?.survivors).toEqual(['< → <=', '50 → 51', '50 → 49']);
    expect(formatTestReport(report, 'text')).toContain(
      'never false or unknown in a test: TrustData.EntityTrustscore < 50',
    );
  });

  it("can give events of owners and of a user's devices, which are not the subject's own", () => {
    const denied = { '>=': [{ event_count: { action: 'Unauthorized', within: '1h' } }, 5] };
    const five = (of?: string) => [{ ...(of && { of }), action: 'Unauthorized', ago: '5m', times: 5 }];
    const owners = [{ Email: 'Ann@example.com' }, {}];
    const tests = [
      { name: 'one', owners, events: five('ann@example.com'), expect: 'match' },
      { name: 'other', owners, events: five('user2@example.com'), expect: 'match' },
      { name: 'own', events: five(), expect: 'no_match' },
      {
        name: 'gap',
        gaps: [{ from: '30m', to: '20m' }],
        expect: { verdict: 'unknown', reasons: ['event_count(action=Unauthorized within 1h) of an owner'] },
      },
      { name: 'no log', unavailable: ['events'], events: five('user1@example.com'), expect: 'unknown' },
    ];
    const report = run(tests, { some: [{ var: '$owners' }, denied] });
    expect(report.ok, formatTestReport(report, 'text')).toBe(true);
    const ofUser = [{ name: 'a', devices: [{ SerialNumber: 'S-9' }], events: five('S-9'), expect: 'match' }];
    expect(
      runRuleTests([ruleOf({ some: [{ var: '$devices' }, denied] }, { tests: ofUser }, 'user')]).rules[0]?.tests,
    ).toMatchObject([{ ok: true }]);
    const nobody = [{ name: 'a', owners, events: five('bo@example.com'), expect: 'match' }];
    expect(problemsOf(denied, { tests: nobody }).join()).toContain(
      'no owner of the device in this test is `bo@example.com`; known: Ann@example.com, user2@example.com',
    );
    expect(problemsOf(denied, { tests: nobody.map(({ owners: _, ...one }) => one) }, 'service').join()).toContain(
      'a service has no owners or devices',
    );
  });

  it('can give the owners of a device, the spec of a service and the age of a time', () => {
    const owners = run(
      [
        { name: 'a', owners: [{ Groups: 'Contractors' }], expect: 'match' },
        { name: 'b', owners: [{}, { Groups: 'Staff' }], expect: 'no_match' },
        { name: 'c', given: { Emails: null }, expect: 'unknown' },
      ],
      { some: [{ var: '$owners' }, { in_group: 'Contractors' }] },
    );
    expect(owners.ok, formatTestReport(owners, 'text')).toBe(true);
    const service = ruleOf(
      { '==': [{ var: '$spec.spec.backend.target.tls' }, false] },
      { tests: [{ name: 'a', given: { $spec: { spec: { backend: { target: { tls: false } } } } }, expect: 'match' }] },
      'service',
    );
    expect(runRuleTests([service]).ok).toBe(true);
    expect(
      run([{ name: 'a', given: { LastLogin: { ago: '91d' } }, expect: 'match' }], {
        '>': [{ age: { var: 'LastLogin' } }, '90d'],
      }).ok,
    ).toBe(true);
  });
});

describe('a report', () => {
  const report = run([
    { name: 'a <b> & "c"', expect: 'match' },
    { name: 'd', given: { MdmData: { CompromisedStatus: 'TRUE' } }, expect: 'match' },
  ]);
  it('in JUnit form escapes names and keeps every failure', () => {
    const xml = formatTestReport(report, 'junit');
    expect(xml).toContain('<testsuite name="a-rule" tests="2" failures="1">');
    expect(xml).toContain('name="a &lt;b&gt; &amp; &quot;c&quot;"');
    expect(xml).toContain('<failure message="expected match, got no_match"/>');
  });
  it('in JSON form is JSON', () => {
    expect(JSON.parse(formatTestReport(report, 'json'))).toMatchObject({ ok: false, passed: 1, failed: 1 });
  });
});

const when = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
const withTest = (test: object, more: object = {}) =>
  problemsOf(when, { ...more, tests: [{ name: 'a', expect: 'no_match', ...test }] });

describe('a test that gives what is not there', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt field', { given: { Ownersip: 'Other' } }, /there is no field `Ownersip`; did you mean `Ownership`\?/],
    ['one within a part', { given: { MdmData: { CompromizedStatus: 'TRUE' } } }, /did you mean `CompromisedStatus`\?/],
    ['one within a list', { given: { TrustData: { Factors: [{ Nmae: 'x' }] } } }, /did you mean `Name`\?/],
    ['one of an owner', { owners: [{ Emial: 'a@acme.example' }] }, /did you mean `Email`\?/],
    ['one of an event', { events: [{ severty: 'ERROR', ago: '1m' }] }, /did you mean `severity`\?/],
    ['devices of a device', { devices: [{ Banned: 'TRUE' }] }, /`devices` are given to rules over a user/],
    ['the spec of a device', { given: { $spec: {} } }, /`\$spec` is a service's/],
  ])('is refused for %s', (_, test, words) => {
    expect(withTest(test)).toEqual([expect.stringMatching(words)]);
  });

  it('is refused for a name that another test has', () => {
    const tests = [1, 2].map(() => ({ name: 'a', expect: 'no_match' }));
    expect(problemsOf(when, { tests })).toEqual([expect.stringMatching(/two tests are named `a`/)]);
  });

  it('is allowed values of a wrong type, and fields that are declared', () => {
    expect(withTest({ given: { LoginCount: 'many', LastLogin: { ago: '3d' }, MdmData: null, OS: { x: 1 } } })).toEqual(
      [],
    );
    expect(withTest({ given: { Region: 'north' } }, { declares: { Region: 'text' } })).toEqual([]);
  });
});
